"""ONNX models bound to a HEF."""

from __future__ import annotations

import functools
from random import Random

from emu.hef import open_hef
from emu.hef.infos import hef_infos
from emu.reference.binding import BindOptions
from emu.reference.choose import bind_file
from fuzz.files import given
from fuzz.messages import mutate_message
from fuzz.mutation import mutate_bytes
from fuzz.target import Target
from tests.conftest import ROOT

_EXAMPLES = ROOT / "examples"


@functools.cache
def _group() -> object:
    return hef_infos(open_hef(_EXAMPLES / "digits.hef")).network_groups[0]


def read_model(data: bytes) -> str:
    binding = bind_file(_group(), given(data, "model.onnx"), BindOptions())  # type: ignore[arg-type]
    return "incomplete" if binding.missing else "bound"


@functools.cache
def _models() -> list[bytes]:
    import numpy as np
    from onnx import TensorProto, helper, numpy_helper

    weight = numpy_helper.from_array(np.ones((4, 3), np.float32), "w")
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"], "dense"), helper.make_node("Softmax", ["y"], ["z"], "soft")],
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 4])],
        [helper.make_tensor_value_info("z", TensorProto.FLOAT, [1, 3])],
        [weight],
    )
    small = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    return [(_EXAMPLES / "digits.onnx").read_bytes(), small.SerializeToString(deterministic=True)]


def _mutate(data: bytes, random: Random) -> bytes:
    return mutate_message(data, random) if random.random() < 0.9 else mutate_bytes(data, random)


TARGETS = (Target("onnx", _models, read_model, _mutate),)

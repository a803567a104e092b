"""ONNX models, run by onnxruntime (extra `emu[onnx]`): any tensor can be asked for, the file stays as it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from emu.errors import HailoError, HailoStatus, UsageError
from emu.hef.formats import QuantInfo
from emu.reference.tensors import Array, TensorInfo

if TYPE_CHECKING:
    import onnx

MAX_MODEL_BYTES = (1 << 31) - 1  # protobuf's limit, which onnxruntime has too
_ROUND_SINCE = 11  # the opset that has Round


def _libraries() -> tuple[Any, Any]:
    try:
        import onnx
        import onnxruntime
    except ImportError as error:
        raise UsageError(f"an ONNX reference needs the extra emu[onnx]: {error.name} is not installed") from None
    return onnx, onnxruntime


def refused(file: str, error: Exception) -> HailoError:
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return HailoError(HailoStatus.HAILO_INVALID_OPERATION, f"reference model: {lines[0][:300]}", file=file)


class OnnxModel:
    """One model file. UsageError without the extra, HailoError for a file that is no sound model."""

    kind = "onnx"

    def __init__(self, path: Path) -> None:
        self._onnx, self._runtime = _libraries()
        self.file = path.name
        self._session: Any = None
        self._exposed: dict[str, None] = {}
        self._inputs: dict[str, TensorInfo] = {}
        self._tensors: dict[str, TensorInfo] = {}
        try:
            if path.stat().st_size > MAX_MODEL_BYTES:
                raise ValueError(f"{path.stat().st_size} bytes, an ONNX model has at most {MAX_MODEL_BYTES}")
            self._model: onnx.ModelProto = self._onnx.load(str(path))
            self._read()
        except Exception as error:  # protobuf, the file system and onnx's own checks raise many kinds
            raise HailoError(
                HailoStatus.HAILO_OPEN_FILE_FAILURE,
                f"cannot read {path} as an ONNX model: {(str(error).splitlines() or [type(error).__name__])[0][:200]}",
                file=str(path),
            ) from None

    def _read(self) -> None:
        """Inputs and tensors of the graph; ValueError where it has no nodes, names that are no text, or more dimensions
        than an array can have."""
        graph = self._model.graph
        if not graph.node:
            raise ValueError("it has no nodes")
        names = [name for node in graph.node for name in (node.name, node.op_type, *node.input, *node.output)]
        names += [one.name for values in (graph.input, graph.output, graph.initializer) for one in values]
        if not all(isinstance(name, str) for name in names):  # protobuf gives bytes for what is no UTF-8
            raise ValueError("it has names that are no text")
        weights = {one.name for one in graph.initializer} | {one.values.name for one in graph.sparse_initializer}
        self._inputs = {one.name: self._info(one) for one in graph.input if one.name not in weights}
        counts = 0
        for node in graph.node:
            if node.op_type == "Constant":
                continue
            # exporters that name no nodes number them by type, and so do compilers
            name = node.name or f"{node.op_type}_{counts}"
            counts += 1
            for output in node.output:
                if output:
                    self._tensors[output] = TensorInfo(output, None, np.dtype(np.float32), name, node.op_type)

    def _info(self, value: Any) -> TensorInfo:
        kind = value.type.tensor_type
        dims = tuple(
            one.dim_value if one.HasField("dim_value") and one.dim_value > 0 else None for one in kind.shape.dim
        )
        from emu.graph.plan import MOST_DIMENSIONS

        if len(dims) > MOST_DIMENSIONS:
            raise ValueError(f"input {value.name!r:.80} has {len(dims)} dimensions, {MOST_DIMENSIONS} are possible")
        try:
            dtype = np.dtype(self._onnx.helper.tensor_dtype_to_np_dtype(kind.elem_type))
        except KeyError:
            dtype = np.dtype(np.float32)
        return TensorInfo(value.name, dims, dtype)

    @property
    def inputs(self) -> Mapping[str, TensorInfo]:
        return self._inputs

    @property
    def tensors(self) -> Mapping[str, TensorInfo]:
        return self._tensors

    def expose(self, names: Sequence[str]) -> None:
        new = [name for name in names if name not in self._exposed]
        if new:
            self._exposed.update(dict.fromkeys(new))
            self._session = None

    def quantise(self, name: str, qp: QuantInfo, highest: int) -> None:
        opset = max((one.version for one in self._model.opset_import if one.domain in ("", "ai.onnx")), default=1)
        if opset < _ROUND_SINCE:
            raise HailoError(
                HailoStatus.HAILO_NOT_IMPLEMENTED,
                f"edges are quantised in models of opset {_ROUND_SINCE} or later, this one is of {opset}",
                file=self.file,
            )
        graph = self._model.graph
        helper, prefix = self._onnx.helper, f"emu_edge_{len(graph.node)}"

        def constant(what: str, value: float) -> str:
            tensor = self._onnx.numpy_helper.from_array(np.array(value, np.float32), f"{prefix}_{what}")
            graph.initializer.append(tensor)
            return str(tensor.name)

        scale, zp = constant("scale", qp.scale), constant("zp", qp.zp)
        low, high = constant("low", 0.0), constant("high", float(highest))
        steps = (("Div", scale), ("Add", zp), ("Round", ""), ("Max", low), ("Min", high), ("Sub", zp), ("Mul", scale))
        nodes, value = [], name
        for place, (op, operand) in enumerate(steps):
            result = f"{prefix}_{place}"
            nodes.append(helper.make_node(op, [value, operand] if operand else [value], [result], name=result))
            value = result
        for node in graph.node:
            for at, operand in enumerate(node.input):
                if operand == name:
                    node.input[at] = value
        made = next((place for place, node in enumerate(graph.node) if name in node.output), -1)
        for offset, node in enumerate(nodes):
            graph.node.insert(made + 1 + offset, node)
        self._session = None

    def run(self, feeds: Mapping[str, Array], names: Sequence[str]) -> dict[str, Array]:
        self.expose(names)
        if self._session is None:
            self._session = self._open()
        try:
            found = self._session.run(list(names), dict(feeds))
        except Exception as error:  # onnxruntime's own hierarchy hangs below RuntimeError and ValueError alike
            raise refused(self.file, error) from None
        return {name: np.asarray(array) for name, array in zip(names, found, strict=True)}

    def _open(self) -> Any:
        """A session whose outputs are the exposed tensors; one thread, so that sums do not depend on the machine."""
        model = self._onnx.ModelProto()
        model.CopyFrom(self._model)
        known = {one.name for one in model.graph.output}
        for name in self._exposed:
            if name not in known:
                model.graph.output.append(self._onnx.helper.make_empty_tensor_value_info(name))
        options = self._runtime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 4
        try:
            with redirect_stdout(StringIO()):  # where it fails it prints, and tries the same once more
                return self._runtime.InferenceSession(
                    model.SerializeToString(), options, providers=["CPUExecutionProvider"]
                )
        except Exception as error:
            raise refused(self.file, error) from None

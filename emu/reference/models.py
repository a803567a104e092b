"""Opens a reference model by its content: OM and MS by ours, everything else by onnxruntime."""

from __future__ import annotations

from pathlib import Path

from emu.errors import HailoError, HailoStatus
from emu.recognise import Kind, foreign_name, read_head, recognise
from emu.reference.tensors import ReferenceModel


def open_reference(path: Path) -> ReferenceModel:
    """The model in a file. HailoError or GraphError (exit code 3) for what is none, UsageError without `emu[onnx]`."""
    head = read_head(path)
    if recognise(head) in (Kind.OM, Kind.MS):
        from emu.reference.graph_model import GraphModel

        return GraphModel(path)
    what = foreign_name(head)
    if recognise(head) is Kind.HEF and (what is None or what == "an ONNX model") and head[:4] != b"\x01HEF":
        from emu.reference.onnx_model import OnnxModel

        return OnnxModel(path)
    raise HailoError(
        HailoStatus.HAILO_OPEN_FILE_FAILURE,
        f"{path} is {what or 'a HEF'}; a reference is an ONNX, OM or MS model",
        file=str(path),
    )

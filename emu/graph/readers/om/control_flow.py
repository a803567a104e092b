"""Ops of .om models that start streams and jump to labels (metadef, ge_attr_define; hicann/ge, rts_engine)."""

from __future__ import annotations

from collections.abc import Iterable

from emu.errors import GraphStatus
from emu.graph.ops import OpError
from emu.graph.ops.streams import CONDITIONS, Control, ControlKind, checked_streams
from emu.graph.readers.om.ge_attrs import Attrs

KINDS = {
    "StreamActive": ControlKind.ACTIVATE,
    "StreamSwitch": ControlKind.SWITCH,
    "StreamMerge": ControlKind.MERGE,
    "Merge": ControlKind.MERGE,
    "LabelSet": ControlKind.LABEL,
    "LabelGoto": ControlKind.GOTO,
    "LabelGotoEx": ControlKind.GOTO,
    "LabelSwitchByIndex": ControlKind.CHOOSE,
}
OPERANDS = {ControlKind.SWITCH: 2, ControlKind.CHOOSE: 1}


MARKS = {kind for kind in KINDS if kind.startswith("Label")} | {"StreamActive"}


def only_marks(kinds: Iterable[str]) -> bool:
    """Whether a graph that another op runs has control ops, and none but those by which the compiler carries that op
    out on the device: labels at the ends of branches, streams to start (graphengine, graph/label/*_label_maker.cc)."""
    found = {kind for kind in kinds if kind in KINDS}
    return bool(found) and found <= MARKS


def read_control(kind: str, attrs: Attrs, operands: int, streams: int) -> Control:
    """The control op; OpError for attributes that are missing or name a stream that the model has not."""
    what = KINDS[kind]
    if what in OPERANDS and operands != OPERANDS[what]:
        raise OpError(f"has {operands} operands, not {OPERANDS[what]}", status=GraphStatus.GRAPH_STRUCTURE)
    if what is ControlKind.MERGE:
        if not operands:
            raise OpError("has no operand", status=GraphStatus.GRAPH_STRUCTURE)
        return Control(what)
    if what is ControlKind.ACTIVATE:
        started = attrs.integers("active_stream_list")
        return Control(what, streams=checked_streams(started, streams, "active_stream_list"))
    if what is ControlKind.SWITCH:
        started = attrs.integers("true_branch_stream", "active_stream_list")
        if len(started) != 1:
            raise OpError(f"{len(started)} streams, a switch starts one", "active_stream_list")
        condition = attrs.integer("switch_condition")
        if not 0 <= condition < len(CONDITIONS):
            raise OpError(f"unknown condition {condition}", "switch_condition", GraphStatus.GRAPH_UNSUPPORTED)
        return Control(what, streams=checked_streams(started, streams, "active_stream_list"), condition=condition)
    if what is ControlKind.CHOOSE:
        labels = attrs.integers("_label_switch_list")
        if not labels:
            raise OpError("is empty", "_label_switch_list")
        return Control(what, labels=labels)
    return Control(what, labels=(attrs.integer("_label_switch_index"),))

"""Ops that the compiler made of several, where the file lists the types of the members.

The list is in the order of execution; how the members are joined is not in the file. It follows from the operands
where there is one way only: every member's result is read once, by a later member, and the operands of the whole come
in the order in which the members read them. Otherwise what the op does is in its kernel alone.
"""

from __future__ import annotations

from collections.abc import Iterator

from emu.errors import GraphStatus
from emu.graph.ops import Op, OpError
from emu.graph.ops.configured import Fused, Step
from emu.graph.ops.elementwise import Binary, BinaryFunction
from emu.graph.readers.om.ge_pointwise import without_attributes
from emu.graph.readers.om.ge_site import Meaning, OpReader

TYPES = ("_datadump_original_op_types", "_origin_op_types")
IN_DESCRIPTORS = ("Cast", "TransData", "CastT")
"""Members that show in the descriptors of the operands and the result."""

MEMBER_LIMIT = 16

SYMMETRIC = {BinaryFunction.ADD, BinaryFunction.MUL, BinaryFunction.MAXIMUM, BinaryFunction.MINIMUM}


def is_fused(reader: OpReader) -> bool:
    """Whether the op's kernel is that of several ops: fusion_scope is positive then, and negative for all others
    [a3c_pong_model_v1.om, vae_hh_om.om]. Types beside that are those of ops which were folded into constants."""
    scope = reader.attrs.integer("fusion_scope", default=0)
    return (
        scope > 0 or reader.attrs.boolean("_is_compiled_fusion_op", default=False) or reader.node.type == BUFFER_FUSION
    )


def members(reader: OpReader) -> list[str] | None:
    """Types of the members of a fused op that do not show in its descriptors; None where the file lists none."""
    if reader.attrs.find(*TYPES) is None:
        return None
    return [kind for kind in reader.attrs.texts(*TYPES) if kind not in IN_DESCRIPTORS]


BUFFER_FUSION = "AutomaticBufferFusionOp"
"""The type of a fused op that has not kept that of a member."""


def fused(reader: OpReader, listed: list[str], own: Meaning | None) -> Op:
    """The members as one op; OpError where one needs attributes, or they can be joined in several ways.

    `own` reads the attributes of the op, which are those of the member of its type: all operands are that one's where
    it is the first and the others have one operand each.
    """
    functions = [without_attributes(kind) for kind in listed[1:]]
    if own is not None and listed[0] == reader.node.type and without_attributes(listed[0]) is None:
        unary = [op for op in functions if op is not None and op.arity() == (1, 1)]
        if len(unary) == len(functions) and (first := own(reader)) is not None:
            count = len(reader.node.inputs)
            after = (Step(op, (-at - 1,)) for at, op in enumerate(unary))
            return Fused((Step(first, tuple(range(count))), *after), count)
    if len(listed) > MEMBER_LIMIT:
        raise OpError(
            f"{len(listed)} members, at most {MEMBER_LIMIT} are joined", TYPES[0], GraphStatus.GRAPH_UNSUPPORTED
        )
    ops: list[Op] = []
    for kind in listed:
        op = without_attributes(kind)
        if op is None:
            raise OpError(f"the attributes of its member {kind} are not in the file", TYPES[0], GraphStatus.OM_MODEL)
        ops.append(op)
    count = len(reader.node.inputs)
    ways = _distinct(ops, count)
    if len(ways) != 1:
        how = "no way to join" if not ways else "more than one way to join"
        raise OpError(f"{how} {', '.join(listed)} over {count} operands", TYPES[0], GraphStatus.OM_MODEL)
    return Fused(tuple(Step(op, sources) for op, sources in zip(ops, ways[0], strict=True)), count)


Way = tuple[tuple[int, ...], ...]


def _distinct(ops: list[Op], count: int) -> list[Way]:
    """The first two ways to join the members, at most."""
    found: list[Way] = []
    for way in _ways(ops, count, 0, 0, (), ()):
        found.append(way)
        if len(found) == 2:
            break
    return found


def _ways(ops: list[Op], count: int, at: int, used: int, open_: tuple[int, ...], done: Way) -> Iterator[Way]:
    if at == len(ops):
        if used == count and len(open_) == 1:
            yield done
        return
    op = ops[at]
    arity = op.arity()[0]
    result = -(at + 1)
    if arity == 1:
        if used < count:
            yield from _ways(ops, count, at + 1, used + 1, (*open_, result), (*done, (used,)))
        for source in open_:
            rest = tuple(each for each in open_ if each != source)
            yield from _ways(ops, count, at + 1, used, (*rest, result), (*done, (source,)))
        return
    if used + 1 < count:
        yield from _ways(ops, count, at + 1, used + 2, (*open_, result), (*done, (used, used + 1)))
    either = isinstance(op, Binary) and op.function in SYMMETRIC
    for source in open_:
        rest = tuple(each for each in open_ if each != source)
        if used < count:
            yield from _ways(ops, count, at + 1, used + 1, (*rest, result), (*done, (source, used)))
            if not either:
                yield from _ways(ops, count, at + 1, used + 1, (*rest, result), (*done, (used, source)))
        for other in rest:
            if either and other > source:
                continue
            last = tuple(each for each in rest if each != other)
            yield from _ways(ops, count, at + 1, used, (*last, result), (*done, (source, other)))

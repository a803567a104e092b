"""Captures as programs: what a real runtime sent, from the JSON files of `emu actions --json`'s family.

A capture holds the action lists and the geometry of the host memory, but of config buffers only size and hash. The
program made of it therefore has no segments: config channels move opaque bytes of the captured sizes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from emu.errors import HailoError, HailoStatus
from emu.files import read_document
from emu.hw.memory import MAX_CLUSTERS
from emu.hw.profiles import DEVICES
from emu.sequencer.actions import ActionType, Repeated, decode
from emu.sequencer.control import ApplicationHeader, Opcode, decode_request
from emu.sequencer.program import (
    ActionListRecord,
    BoundaryStream,
    ContextProgram,
    ContextType,
    ContinuousBuffer,
    DescriptorList,
    DescriptorProgram,
    Direction,
    NetworkGroupProgram,
    Program,
)

_ACTIVATES_BOUNDARY = (ActionType.ACTIVATE_BOUNDARY_INPUT, ActionType.ACTIVATE_BOUNDARY_OUTPUT)
_OPENS = (ActionType.OPEN_BOUNDARY_INPUT_CHANNEL, ActionType.OPEN_BOUNDARY_OUTPUT_CHANNEL)
_FILE_DEVICE = re.compile(r"\.on-([a-z0-9]+)(?:-(\d+))?\.")
_SILICON_CHUNK = 1461

ACTION_LIST_ADDRESS = 0x80000000
ACTION_LIST_STRIDE = 0x10000


class CapturedRun:
    """A capture ready to run: `program`, and the device layout it was made on (None: the device's own)."""

    def __init__(self, program: Program, layout: int | None, source: str) -> None:
        self.program = program
        self.layout = layout
        self.source = source


def load_capture(path: Path) -> CapturedRun:
    """Read an oracle, synth or silicon capture, or the output of `emu actions --json`.

    HAILO_INVALID_ARGUMENT where the file is not JSON or lacks what a run needs.
    """
    try:
        document = json.loads(read_document(path))
        if not isinstance(document, dict):
            raise ValueError("the document is no object")
        if "contexts" in document:
            return _silicon(document, path.name)
        return _captured(document, path.name)
    except HailoError:
        raise
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, OverflowError, RecursionError) as error:
        raise HailoError(
            HailoStatus.HAILO_INVALID_ARGUMENT, f"not a capture: {type(error).__name__}: {error}", file=str(path)
        ) from None


def _captured(document: Mapping[str, Any], name: str) -> CapturedRun:
    runtime = document.get("hailort") or document["runtime"]
    if runtime not in ("4.23", "5.2"):
        raise ValueError(f"runtime {runtime!r}")
    if not document.get("network_groups"):
        status = document.get("status")
        raise ValueError(f"it holds no network group (the runtime refused with status {status})")
    place = _FILE_DEVICE.search(name)
    device = place[1] if place else document.get("device_arch") or document["device"]
    if device not in DEVICES:
        raise ValueError(f"device {device!r}")
    layout = int(place[2]) if place and place[2] else _cluster_layout(document)
    lists = _descriptor_lists(document)
    # stream names are listed for all groups together, in their order
    pool = [dict(one) for one in document.get("streams", ())]
    groups = tuple(
        _group(index, group, document, runtime, pool) for index, group in enumerate(document["network_groups"])
    )
    return CapturedRun(
        Program(
            runtime=runtime,
            device=device,
            batch=_number({"batch": 1} | dict(document), "batch", 1),
            network_groups=groups,
            descriptor_lists=lists,
            continuous_buffers=tuple(
                ContinuousBuffer(_number(one, "dma"), _number(one, "size"), None)
                for one in document.get("continuous_buffers", ())
            ),
            controls=(),
        ),
        layout,
        name,
    )


def _number(one: Mapping[str, Any], key: str, least: int = 0) -> int:
    """An integer of a capture (some are written as text) that a register or address can hold."""
    value = int(one[key]) if isinstance(one[key], str) else one[key]
    if not isinstance(value, int) or not least <= value < 1 << 64:
        raise ValueError(f"{key} {value!r} is no number from {least} on")
    return value


def _cluster_layout(document: Mapping[str, Any]) -> int | None:
    for settings in (document, document.get("extra_env") or {}, document.get("env") or {}):
        for key in ("clusters", "HAILO_ORACLE_CLUSTERS"):
            if settings.get(key) is not None:
                layout = int(settings[key])
                if not 0 <= layout < 1 << MAX_CLUSTERS:
                    raise ValueError(f"{key} {layout} is no bitmap of {MAX_CLUSTERS} clusters")
                return layout
    return None


def _descriptor_lists(document: Mapping[str, Any]) -> tuple[DescriptorList, ...]:
    programs: dict[int, list[DescriptorProgram]] = {}
    for one in document.get("desc_programs", ()):
        if one.get("phase", "configure") == "configure":
            programs.setdefault(one["desc"], []).append(
                DescriptorProgram(
                    _number(one, "start"),
                    _number(one, "size"),
                    _number(one, "buf"),
                    _number(one, "off"),
                    None,
                    bool(one["irq"]),
                )
            )
    return tuple(
        DescriptorList(
            _number(one, "dma"),
            _number(one, "count", 1),
            _number(one, "page", 1),
            bool(one["circ"]),
            tuple(programs.get(one.get("h", -1), ())),
        )
        for one in document.get("desc_lists", ())
    )


def _group(
    index: int,
    group: Mapping[str, Any],
    document: Mapping[str, Any],
    runtime: str,
    pool: list[dict[str, Any]],
) -> NetworkGroupProgram:
    header = bytes.fromhex(group["application_header"])
    records = tuple(
        ActionListRecord(_number(one, "dma"), _context(one, number))
        for number, one in _numbered(group.get("ddr_action_list", ()))
    )
    contexts = tuple(_context(one, number) for number, one in _numbered(group.get("contexts", ())))
    listed = contexts or tuple(record.context for record in records)
    batch = ApplicationHeader.decode(header, runtime).batch_size
    streams = boundary_streams(listed, runtime, batch, pool)
    name = str(group.get("name") or _group_name(document, index))
    return NetworkGroupProgram(name, index, header, contexts, records, streams, batch)


def _group_name(document: Mapping[str, Any], index: int) -> str:
    names = [line[3:] for line in document.get("stdout", ()) if line.startswith("ng ")]
    return names[index] if index < len(names) else f"network_group_{index}"


def _numbered(contexts: Sequence[Mapping[str, Any]]) -> list[tuple[int, Mapping[str, Any]]]:
    dynamic = 0
    numbered = []
    for context in contexts:
        is_dynamic = context["context_type"] == ContextType.DYNAMIC
        numbered.append((dynamic if is_dynamic else 0, context))
        dynamic += is_dynamic
    return numbered


def _context(context: Mapping[str, Any], index: int) -> ContextProgram:
    data = bytes.fromhex(context["action_list"])
    chunks = tuple(context.get("chunks") or (len(data),))
    if any(not isinstance(size, int) or size < 0 for size in chunks) or sum(chunks) != len(data):
        raise ValueError(f"chunks {list(chunks)} of an action list of {len(data)} bytes")
    return ContextProgram(ContextType(context["context_type"]), index, data, chunks)


def boundary_streams(
    contexts: Sequence[ContextProgram], runtime: str, batch: int, pool: list[dict[str, Any]]
) -> tuple[BoundaryStream, ...]:
    """The boundary streams that the action lists imply; names and frame sizes are taken out of `pool`."""
    opened: dict[int, tuple[Direction, int, int]] = {}
    placed: dict[int, tuple[int, int, int]] = {}
    for context in contexts:
        for located in decode(context.action_list, runtime):
            items = located.entry.items if isinstance(located.entry, Repeated) else (located.entry,)
            for action in items:
                if action.type in _OPENS:
                    is_input = action.type is ActionType.OPEN_BOUNDARY_INPUT_CHANNEL
                    opened.setdefault(
                        action.value("packed_vdma_channel_id"),
                        (
                            Direction.H2D if is_input else Direction.D2H,
                            action.value("dma_address"),
                            action.value("bytes_in_pattern"),
                        ),
                    )
                elif action.type in _ACTIVATES_BOUNDARY and context.context_type is ContextType.DYNAMIC:
                    arguments = action.arguments()
                    placed.setdefault(
                        arguments["packed_vdma_channel_id"],
                        (arguments["stream_index"], arguments.get("network_index", 0), context.index),
                    )
    streams = []
    for packed, (direction, address, transfer) in opened.items():
        stream, network, context_index = placed.get(packed, (0, 0, 0))
        name, frame = _named(pool, direction, stream, transfer)
        # an on-chip NMS output moves its frame in many transfers
        transfers = max(1, frame // transfer) if transfer else 1
        streams.append(
            BoundaryStream(
                name, direction, stream, packed, network, context_index, frame, transfer, transfers, address, batch
            )
        )
    return tuple(sorted(streams, key=lambda stream: stream.direction))


def _named(pool: list[dict[str, Any]], direction: Direction, stream: int, transfer: int) -> tuple[str, int]:
    word = "in" if direction is Direction.H2D else "out"
    for one in pool:
        if one["dir"] == word and int(one["index"]) == stream:
            pool.remove(one)
            return str(one["name"]), _number(one, "hw_frame_size", 1)
    return f"{'input' if direction is Direction.H2D else 'output'} stream {stream}", transfer


def _silicon(document: Mapping[str, Any], name: str) -> CapturedRun:
    """Contexts of a real Hailo-8L; the descriptor lists are those that the actions point to."""
    runtime = "4.23"
    requests = [
        decode_request(bytes.fromhex(one["hex"])) for one in document["controls"] if one["direction"] == "request"
    ]
    header = next(one.parameters[0] for one in requests if one.opcode == Opcode.CONTEXT_SWITCH_SET_NETWORK_GROUP_HEADER)
    contexts = []
    for number, one in _numbered(document["contexts"]):
        data = bytes.fromhex(one["action_list"])
        chunks = one.get("chunks") or [
            min(_SILICON_CHUNK, len(data) - at) for at in range(0, len(data), _SILICON_CHUNK)
        ]
        contexts.append(ContextProgram(ContextType(one["context_type"]), number, data, tuple(chunks)))
    batch = ApplicationHeader.decode(header, runtime).batch_size
    group = NetworkGroupProgram(
        str(document.get("network", name)),
        0,
        header,
        tuple(contexts),
        (),
        boundary_streams(contexts, runtime, batch, []),
        batch,
    )
    return CapturedRun(
        Program(runtime, "hailo8l", batch, (group,), _lists_of_actions(contexts, runtime), (), ()), None, name
    )


def _lists_of_actions(contexts: Sequence[ContextProgram], runtime: str) -> tuple[DescriptorList, ...]:
    lists: dict[int, DescriptorList] = {}
    for context in contexts:
        for located in decode(context.action_list, runtime):
            if isinstance(located.entry, Repeated):
                continue
            arguments = located.entry.arguments()
            # the device refuses a list that has no descriptors or pages
            if arguments.get("total_desc_count") and arguments["desc_page_size"]:
                is_config = located.entry.type is ActionType.ACTIVATE_CFG_CHANNEL
                size = arguments["bytes_in_pattern"]
                address = arguments["dma_address"]
                program = DescriptorProgram(0, size, address, 0, None, is_config)
                lists.setdefault(
                    address,
                    DescriptorList(
                        address,
                        arguments["total_desc_count"],
                        arguments["desc_page_size"],
                        not is_config,
                        (program,) if is_config else (),
                    ),
                )
    return tuple(lists.values())

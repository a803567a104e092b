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

from emu.chips.runtimes import device_names, runtime_names
from emu.errors import HailoError, HailoStatus, UsageError
from emu.files import read_document
from emu.hef.runtime import release_name
from emu.hw.memory import MAX_CLUSTERS
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
from emu.wire.actions import ActionType, Edge, Role, having
from emu.wire.control import Opcode, decode_request
from emu.wire.lists import Repeated
from emu.wire.wire import wire_of

_ACTIVATES_BOUNDARY = having(edge=Edge.BOUNDARY)
_OPENS = having(role=Role.OPEN)
_FILE_DEVICE = re.compile(r"\.on-([a-z0-9]+)(?:-(\d+))?\.")
_SILICON_CHUNK = 1461
_MOST_BATCH = (1 << 16) - 1  # two bytes of the application header
_MOST_DIGITS = 21  # of a number of 64 bits and one more


class CapturedRun:
    """A capture ready to run: `program`, and the device layout it was made on (None: the device's own)."""

    def __init__(self, program: Program, layout: int | None, source: str) -> None:
        self.program = program
        self.layout = layout
        self.source = source


def load_capture(path: str | Path) -> CapturedRun:
    """Read an oracle, synth or silicon capture, or the output of `emu actions --json`.

    HAILO_INVALID_ARGUMENT where the file is not JSON or lacks what a run needs.
    """
    path = Path(path)
    try:
        document = json.loads(read_document(path, b"{"))
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
    try:
        runtime = release_name(str(document.get("hailort") or document["runtime"]))
    except UsageError as error:
        raise ValueError(error.message) from None
    if not document.get("network_groups"):
        status = document.get("status")
        raise ValueError(f"it holds no network group (the runtime refused with status {status})")
    place = _FILE_DEVICE.search(name)
    device = place[1] if place else document.get("device_arch") or document["device"]
    if device not in device_names():
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
            batch=_number({"batch": 1} | dict(document), "batch", 1, _MOST_BATCH),
            network_groups=groups,
            descriptor_lists=lists,
            continuous_buffers=tuple(
                ContinuousBuffer(_number(one, "dma"), _number(one, "size"), None)
                for one in document.get("continuous_buffers", ())
            ),
        ),
        layout,
        name,
    )


def _number(one: Mapping[str, Any], key: str, least: int = 0, most: int = (1 << 64) - 1) -> int:
    """An integer of a capture (some are written as text) that a register or address can hold."""
    value = int(one[key][:_MOST_DIGITS]) if isinstance(one[key], str) else one[key]
    if not isinstance(value, int) or not least <= value <= most:
        raise ValueError(f"{key} {_quoted(value)} is no number from {least} to {most}")
    return value


def _quoted(value: object) -> str:
    return f"{value!r:.40}" if isinstance(value, str) or not isinstance(value, int) else f"{value:.6g}"


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
    batch = wire_of(runtime).header.decode(header).batch_size
    streams = boundary_streams(listed, runtime, batch, pool)
    name = str(group.get("name") or _group_name(document, index))
    # which group asked for the constants is not recorded
    asked = _hw_consts_requests(document) if index == 0 else 0
    return NetworkGroupProgram(name, index, header, contexts, records, streams, batch, hw_consts_requests=asked)


def _hw_consts_requests(document: Mapping[str, Any]) -> int:
    """How often the library asked for the constants; once where a capture has no controls."""
    if "controls" not in document:
        return 1
    phases = [one.get("phase") for one in document["controls"] if one.get("opcode") == Opcode.GET_HW_CONSTS]
    return phases.count("configure")


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
        for located in wire_of(runtime).decode(context.action_list):
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
        if one["dir"] == word and _number(one, "index") == stream:
            pool.remove(one)
            return str(one["name"]), _number(one, "hw_frame_size", 1)
    return f"{'input' if direction is Direction.H2D else 'output'} stream {stream}", transfer


def _silicon(document: Mapping[str, Any], name: str) -> CapturedRun:
    """Contexts of a real Hailo-8L; the descriptor lists are those that the actions point to."""
    requests = [
        decode_request(bytes.fromhex(one["hex"])) for one in document["controls"] if one["direction"] == "request"
    ]
    header = next(one.parameters[0] for one in requests if one.opcode == Opcode.CONTEXT_SWITCH_SET_NETWORK_GROUP_HEADER)
    runtime = _runtime_of(header)
    contexts = []
    for number, one in _numbered(document["contexts"]):
        data = bytes.fromhex(one["action_list"])
        chunks = one.get("chunks") or [
            min(_SILICON_CHUNK, len(data) - at) for at in range(0, len(data), _SILICON_CHUNK)
        ]
        contexts.append(ContextProgram(ContextType(one["context_type"]), number, data, tuple(chunks)))
    batch = wire_of(runtime).header.decode(header).batch_size
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
        Program(runtime, "hailo8l", batch, (group,), _lists_of_actions(contexts, runtime), ()), None, name
    )


def _runtime_of(header: bytes) -> str:
    """The newest runtime whose application header has this size."""
    for name in reversed(runtime_names()):
        if wire_of(name).header.size == len(header):
            return name
    raise ValueError(f"no runtime has an application header of {len(header)} bytes")


def _lists_of_actions(contexts: Sequence[ContextProgram], runtime: str) -> tuple[DescriptorList, ...]:
    lists: dict[int, DescriptorList] = {}
    for context in contexts:
        for located in wire_of(runtime).decode(context.action_list):
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

"""`emu actions`: the compiled action lists of a HEF, or any action list disassembled."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import click
import orjson

from emu.cli.document import print_document, print_utf8
from emu.cli.options import HefOptions, hef_options, open_model
from emu.errors import HailoError, UsageError
from emu.files import read_document
from emu.sequencer.actions import RUNTIMES, Located, Repeated, decode, describe
from emu.sequencer.control import ApplicationHeader
from emu.sequencer.program import ContextProgram, ContextType, NetworkGroupProgram, Program

_RECORD_SIZE = 4104  # of an action list record in DDR (firmware-actions.md 4)
_HEX_FIELDS = frozenset({"dma_address", "address", "mask", "active_apu", "active_ia", "active_sc", "active_l2", "data"})


@click.command()
@click.argument("hef", required=False)
@hef_options
@click.option("--decode", "decode_this", metavar="HEX|FILE", help="Disassemble an action list or a capture.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def command(hef: str | None, common: HefOptions, decode_this: str | None, as_json: bool) -> None:
    """Print the action lists that the runtime sends for a HEF, or disassemble one."""
    if (hef is None) == (decode_this is None):
        raise UsageError("actions takes a HEF, or --decode HEX|FILE")
    if decode_this is not None:
        _disassemble(decode_this, common.runtime, as_json)
        return
    assert hef is not None
    from emu.cli.compiling import compile_model

    _, program = compile_model(open_model(hef), common)
    if as_json:
        for piece in _json_pieces(program):
            print_utf8(piece)
        return
    for line in _text(program):
        click.echo(line)


# --- JSON -----------------------------------------------------------------------------------------------------------


def _json_pieces(program: Program) -> Iterator[bytes]:
    """The JSON document (cli.md, `emu actions`), a context at a time: decoded lists are large."""
    head = {"runtime": program.runtime, "device": program.device, "batch": program.batch}
    tail = {
        "desc_lists": [
            {"count": item.count, "page": item.page_size, "circ": int(item.circular), "dma": item.dma_address}
            for item in program.descriptor_lists
        ],
        "continuous_buffers": [
            {"n": number, "size": item.size, "dma": item.dma_address}
            for number, item in enumerate(program.continuous_buffers)
        ],
    }
    yield orjson.dumps(head)[:-1] + b',"network_groups":['
    for number, group in enumerate(program.network_groups):
        yield b"," * (number > 0)
        yield from _group_pieces(group, program.runtime)
    yield b"]," + orjson.dumps(tail)[1:] + b"\n"


def _group_pieces(group: NetworkGroupProgram, runtime: str) -> Iterator[bytes]:
    head = {"name": group.name, "application_header": group.application_header.hex()}
    yield orjson.dumps(head)[:-1] + b',"contexts":['
    for number, context in enumerate(group.contexts):
        chunks = {"chunks": list(context.chunks)}
        yield b"," * (number > 0) + orjson.dumps(_context(context, runtime) | chunks)
    if group.ddr_action_list:
        yield b'],"ddr_action_list":['
    for number, record in enumerate(group.ddr_action_list):
        place = {"dma": record.dma_address, "size": _RECORD_SIZE, "is_first": 1, "is_last": 1}
        length = {"length": len(record.context.action_list)}
        yield b"," * (number > 0) + orjson.dumps(place | _context(record.context, runtime) | length)
    yield b"]}"


def _context(context: ContextProgram, runtime: str) -> dict[str, Any]:
    return {
        "context_type": int(context.context_type),
        "context_type_name": _type_name(context.context_type),
        "action_list": context.action_list.hex(),
        "actions": _actions(context.actions(runtime)),
    }


def _actions(entries: Iterable[Located]) -> list[dict[str, object]]:
    return [describe(located.entry) for located in entries]


def _type_name(context_type: int) -> str:
    return ContextType(context_type).name.lower()


# --- text -----------------------------------------------------------------------------------------------------------


def _text(program: Program) -> Iterator[str]:
    yield f"runtime {program.runtime}, device {program.device}, batch {program.batch}"
    for group in program.network_groups:
        yield from ("", f"network group {group.name} (application {group.application_index})")
        header = ApplicationHeader.decode(group.application_header, program.runtime)
        yield "  " + ", ".join(f"{name} {getattr(header, name)}" for name in header.__slots__)
        for stream in group.streams:
            yield (
                f"  {stream.direction.name.lower()} stream {stream.name}: index {stream.stream_index}, "
                f"channel {stream.packed_vdma_channel_id}, {stream.hw_frame_size} bytes a frame"
            )
        records = [(record.context, f"in DDR at 0x{record.dma_address:X}") for record in group.ddr_action_list]
        for context, place in [*((context, "") for context in group.contexts), *records]:
            yield "\n".join(["", _heading(context, place), *_lines(context.actions(program.runtime))])
    yield from ("", f"{len(program.descriptor_lists)} descriptor lists")
    for number, item in enumerate(program.descriptor_lists):
        ring = ", ring" if item.circular else ""
        yield f"  {number:4}  0x{item.dma_address:X}  {item.count} descriptors of {item.page_size} bytes{ring}"
    if program.continuous_buffers:
        yield from ("", f"{len(program.continuous_buffers)} continuous buffers")
    for number, buffer in enumerate(program.continuous_buffers):
        yield f"  {number:4}  0x{buffer.dma_address:X}  {buffer.size} bytes"


def _heading(context: ContextProgram, place: str) -> str:
    name = _type_name(context.context_type)
    if context.context_type is ContextType.DYNAMIC:
        name += f" {context.index}"
    count = len(context.chunks)
    chunks = place or f"in {count} chunk{'s' * (count != 1)}: {', '.join(map(str, context.chunks))}"
    return f"  context {name}: {len(context.action_list)} bytes {chunks}"


def _lines(entries: Iterable[Located]) -> Iterator[str]:
    """One action a line behind its byte offset; the items of a repeated block indented."""
    for located in entries:
        entry = located.entry
        if isinstance(entry, Repeated):
            yield f"  {located.offset:6}  REPEATED {len(entry.items)} x {entry.of.name}"
            for item in entry.items:
                yield f"            {_values(item.arguments())}"
        else:
            yield f"  {located.offset:6}  {entry.type.name} {_values(entry.arguments())}".rstrip()


def _values(arguments: dict[str, int]) -> str:
    return " ".join(
        f"{name}=0x{value:X}" if name in _HEX_FIELDS else f"{name}={value}" for name, value in arguments.items()
    )


# --- disassembly ----------------------------------------------------------------------------------------------------


def _disassemble(argument: str, runtime: str | None, as_json: bool) -> None:
    data = _read(argument)
    lists: list[tuple[dict[str, Any], bytes]]
    if data is None:
        lists = [({}, _from_hex(argument, argument))]
    elif data.lstrip()[:1] == b"{":
        runtime, lists = _capture(argument, data, runtime)
    else:
        text = data.strip()
        lists = [({}, _from_hex(text.decode("ascii"), argument) if _is_hex(text) else data)]
    if runtime is None:
        raise UsageError("--decode needs --runtime 4.23 or --runtime 5.2")
    if as_json:
        decoded = [head | {"actions": _actions(decode(item, runtime))} for head, item in lists]
        body: dict[str, Any] = {"runtime": runtime}
        body |= {"contexts": decoded} if any(head for head, _ in lists) else decoded[0]
        print_document(body)
        return
    for head, item in lists:
        if head:
            click.echo(f"network group {head['network_group']}, context {head['context_type_name']}")
        for line in _lines(decode(item, runtime)):
            click.echo(line)


def _read(argument: str) -> bytes | None:
    """The file's bytes; None where the argument is no file but hex itself."""
    if _is_hex(argument.encode()):
        return None
    try:
        return read_document(Path(argument))
    except HailoError as error:
        what = f"no hex, and {error.message}" if len(argument) <= 240 else "neither hex nor a file that can be read"
        raise UsageError(f"--decode {argument[:60]!r} is {what}") from None


def _is_hex(text: bytes) -> bool:
    compact = b"".join(text.split())
    return len(compact) % 2 == 0 and not compact.strip(b"0123456789abcdefABCDEF")


def _from_hex(text: str, name: str) -> bytes:
    try:
        return bytes.fromhex(text)
    except ValueError:
        raise UsageError(f"{name[:60]!r} is not hex") from None


def _capture(name: str, data: bytes, runtime: str | None) -> tuple[str | None, list[tuple[dict[str, Any], bytes]]]:
    """Every action list of a capture, or of the output of `emu actions --json`."""
    try:
        capture = orjson.loads(data)
        lists = [
            (
                {
                    "network_group": str(group.get("name", number)),
                    "context_type": context["context_type"],
                    "context_type_name": _type_name(context["context_type"]),
                },
                bytes.fromhex(context["action_list"]),
            )
            for number, group in enumerate(capture["network_groups"])
            for context in (*group.get("contexts", ()), *group.get("ddr_action_list", ()))
        ]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(f"{name} is JSON, but no capture: {type(error).__name__} {error}", file=name) from error
    found = runtime or capture.get("hailort") or capture.get("runtime")
    if found is not None and found not in RUNTIMES:
        raise UsageError(f"{name} is of runtime {found!r}, expected one of {', '.join(RUNTIMES)}", file=name)
    return found, lists

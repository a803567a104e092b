"""`emu actions`: the compiled action lists of a HEF, or any action list disassembled."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import click
import orjson

from emu.chips.runtimes import runtime_names
from emu.cli.command import Command
from emu.cli.document import print_document, print_utf8
from emu.cli.options import hef_options, open_model
from emu.cli.screen import say
from emu.errors import CommandLineError, HailoError, UsageError
from emu.files import read_document
from emu.hef.runtime import release_name
from emu.host.spec import COMPILING, HefSettings
from emu.sequencer.program import ContextProgram, ContextType, NetworkGroupProgram, Program
from emu.wire.lists import Located, Repeated, describe
from emu.wire.wire import wire_of

_RECORD_SIZE = 4104  # of an action list record in DDR (firmware-actions.md 4)
_HEX_FIELDS = frozenset({"dma_address", "address", "mask", "active_apu", "active_ia", "active_sc", "active_l2", "data"})


@click.command(cls=Command)
@click.argument("hef", required=False)
@hef_options(COMPILING)
@click.option("--decode", "decode_this", metavar="HEX|FILE", help="Disassemble an action list or a capture.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def command(hef: str | None, common: HefSettings, decode_this: str | None, as_json: bool) -> None:
    """Print the action lists that the runtime sends for a HEF, or disassemble one."""
    if (hef is None) == (decode_this is None):
        raise CommandLineError("actions takes a HEF, or --decode HEX|FILE")
    if decode_this is not None:
        common.refuse_but(("runtime",), "what is disassembled")
        _disassemble(decode_this, common.runtime, as_json)
        return
    assert hef is not None
    common.refuse_but(COMPILING, "action lists")
    from emu.cli.compiling import compile_model

    _, program = compile_model(open_model(hef), common)
    if as_json:
        for piece in _json_pieces(program):
            print_utf8(piece)
        return
    say(_text(program))


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
        header = wire_of(program.runtime).header.decode(group.application_header)
        yield "  " + ", ".join(f"{name} {getattr(header, name)}" for name in header._fields)
        for stream in group.streams:
            yield (
                f"  {stream.direction.name.lower()} stream {stream.name}: index {stream.stream_index}, "
                f"channel {stream.packed_vdma_channel_id}, {stream.hw_frame_size} bytes a frame"
            )
        records = [(record.context, f"in DDR at 0x{record.dma_address:X}") for record in group.ddr_action_list]
        for context, place in [*((context, "") for context in group.contexts), *records]:
            yield from ("", _heading(context, place), *_lines(context.actions(program.runtime)))
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
        raise CommandLineError(f"--decode needs {' or '.join(f'--runtime {name}' for name in runtime_names())}")
    if as_json:
        decoded = [head | {"actions": _actions(wire_of(runtime).decode(item))} for head, item in lists]
        body: dict[str, Any] = {"runtime": runtime}
        body |= {"contexts": decoded} if all(head for head, _ in lists) else decoded[0]
        print_document(body)
        return
    if not lists:
        say(f"{argument}: no action list is in it (of a HEF that was refused, nothing is sent)")
    for head, item in lists:
        if head:
            say(f"network group {head['network_group']}, context {head['context_type_name']}")
        say(_lines(wire_of(runtime).decode(item)))


def _read(argument: str) -> bytes | None:
    """The file's bytes; None where the argument is no file but hex itself."""
    if _is_hex(argument.encode()):
        return None
    try:
        return read_document(Path(argument))
    except HailoError as error:
        what = f"no hex, and {error.message}" if len(argument) <= 240 else "neither hex nor a file that can be read"
        raise CommandLineError(f"--decode {argument[:60]!r} is {what}") from None


def _is_hex(text: bytes) -> bool:
    compact = b"".join(text.split())
    return len(compact) % 2 == 0 and not compact.strip(b"0123456789abcdefABCDEF")


def _from_hex(text: str, name: str) -> bytes:
    try:
        return bytes.fromhex(text)
    except ValueError:
        raise CommandLineError(f"{name[:60]!r} is not hex") from None


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
        raise CommandLineError(f"{name} is JSON, but no capture: {type(error).__name__} {error}", file=name) from error
    found = runtime or capture.get("hailort") or capture.get("runtime")
    if found is None:
        return None, lists
    try:
        return release_name(str(found)), lists
    except UsageError as error:
        raise CommandLineError(f"{name}: {error.message}", file=name) from None

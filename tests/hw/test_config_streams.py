"""The registers of streams: what each kind of edge asks for, of both families (chip-config.md 7), typed from there."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from emu.hef.enums import EdgeConnectionType
from emu.hw.config.streams import registers_of, stream_hazards, tables_of
from emu.sequencer.configuration import HAILO1XH, HAILO8, Configuration, ConfigurationList, StreamEdge

NHWC_ROWS, FEATURES = 1, 2


def edge(**values: Any) -> StreamEdge:
    known = {
        "name": "s",
        "is_input": True,
        "connection": EdgeConnectionType.BOUNDARY,
        "sys_index": 3,
        "core_bytes_per_buffer": 0x1230,
        "core_buffers_per_frame": 0x45,
        "width": 20,
        "features": 24,
        "data_bytes": 2,
        "format": 0,
    }
    return StreamEdge(**{name: (known | values)[name] for name in StreamEdge.__struct_fields__})


def configuration(family: str, *edges: StreamEdge, hw_padding: bool = True) -> Configuration:
    lists = (ConfigurationList("preliminary", None, (), ()), ConfigurationList("dynamic_0", 0, (), edges))
    return Configuration(family, lists, hw_padding, True)


@pytest.mark.parametrize(
    ("values", "hw_padding", "padding"),
    [
        ({"format": 0}, True, 20 * 24 * 2),
        ({"format": FEATURES}, True, 20 * 24 * 2),
        ({"format": NHWC_ROWS}, True, 20 * 2),
        ({"format": NHWC_ROWS, "is_input": False}, True, 0),
        ({"format": 3}, True, 0),
        ({"format": 0}, False, 0),
        ({"format": 0, "connection": EdgeConnectionType.INTERMEDIATE}, True, 0),
    ],
)
def test_registers_of_a_hailo8_stream(values: dict[str, Any], hw_padding: bool, padding: int) -> None:
    one = edge(**values)
    assert registers_of(configuration(HAILO8, one, hw_padding=hw_padding), one) == {
        0x30000000 + 12: 0x451230,
        0x300000C4 + 12: padding,
    }


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({}, {0x2C0000A4: 0x451230, 0x2C000144: 0x40002, 0x2C000194: 20}),
        ({"format": FEATURES}, {0x2C0000A4: 0x451230, 0x2C000144: 0x40002, 0x2C000194: 20}),
        ({"is_input": False}, {0x2C000924: 0x451230, 0x2C0009C4: 0x800, 0x2C000A14: 20}),
        ({"is_input": False, "format": FEATURES}, {0x2C000924: 0x451230, 0x2C0009C4: 0x800, 0x2C000A14: 24}),
    ],
)
def test_registers_of_a_1xh_stream(values: dict[str, Any], expected: dict[int, int]) -> None:
    one = edge(**values)
    assert registers_of(configuration(HAILO1XH, one), one) == expected


def _image(family: str, config: Configuration, **changed: int) -> Any:
    """An image that holds what the streams ask for and what unused entries hold, but for the changes."""
    words = {table.base + 4 * at: unused for table, unused in tables_of(family) for at in range(table.entries)}
    for one in config.lists[1].streams:
        words |= registers_of(config, one)
    words |= {0x300002C8: 0, 0x202408E4: 1 << (3 >> 1)}
    words |= {int(name, 16): value for name, value in changed.items()}
    held = SimpleNamespace

    def read(base: int, count: int) -> Any:
        values = [words[base + 4 * at] for at in range(count)]
        return held(words=SimpleNamespace(tolist=lambda: values), written=[True] * count)

    return SimpleNamespace(words=read, word=words.get)


def _found(family: str, **changed: int) -> list[str]:
    config = configuration(family, edge())
    run: Any = SimpleNamespace(records=[1], source=config.lists[0 if family == HAILO1XH else 1])
    if family == HAILO8:
        run.source = config.lists[0]
    return [hazard.what for hazard in stream_hazards(config, run, _image(family, config, **changed))]


@pytest.mark.parametrize("family", [HAILO8, HAILO1XH])
def test_registers_that_agree_say_nothing(family: str) -> None:
    assert _found(family) == []


@pytest.mark.parametrize(
    ("family", "address", "held"),
    [
        (HAILO8, "0x3000000c", 0x451231),
        (HAILO8, "0x30000010", 1),
        (HAILO8, "0x300000c4", 1),
        (HAILO8, "0x300002c8", 0x800000),
        (HAILO8, "0x202408e4", 1),
        (HAILO1XH, "0x2c000098", 1),
        (HAILO1XH, "0x2c000138", 0x40002),
        (HAILO1XH, "0x2c0009b8", 0x800),
        (HAILO1XH, "0x2c000a08", 7),
    ],
)
def test_a_register_that_differs_is_named(family: str, address: str, held: int) -> None:
    (what,) = _found(family, **{address: held})
    assert address in what


def test_unused_entries() -> None:
    """Inputs that no stream uses hold the mode 2, everything else 0."""
    unused = {table.base: value for table, value in tables_of(HAILO1XH)}
    assert unused == {0x2C000098: 0, 0x2C000138: 2, 0x2C000188: 0, 0x2C000918: 0, 0x2C0009B8: 0, 0x2C000A08: 0}
    assert {table.base: value for table, value in tables_of(HAILO8)} == {0x30000000: 0, 0x300000C4: 0}

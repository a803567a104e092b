"""The writer: what it writes is read back equal by the reader, in every container version and layout."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import xxhash
from hypothesis import HealthCheck, given, settings
from msgspec.structs import replace

from emu.errors import EmuError, HailoError, UsageError
from emu.hef import Hef, builder, open_hef
from emu.hef import operations as ops
from emu.hef.container import LAYOUTS
from emu.hef.enums import EdgeLayerDirection, ExtensionType, HwArch
from emu.hef.formats import Shape
from emu.hef.infos import hef_infos
from emu.hef.load import check_load
from emu.hef.pack import Sections, pack
from emu.hef.writer import HefContents, contents_of, write_hef
from tests.conftest import SHARED, needs_shared
from tests.strategies.hefs import Drawn, hefs

VERSIONS = tuple(LAYOUTS)


def opened() -> Iterator[Hef]:
    """Every given file that opens under 5.2 and that holds CCW data the way its container version wants it."""
    for path in sorted([*(SHARED / "hef").glob("*.hef"), *(SHARED / "synth/hef").glob("*.hef")]):
        try:
            hef = open_hef(path, runtime="5.2")
        except EmuError:
            continue
        if path.stem != "inv_ccw_v1":
            yield hef


def ccw_records(hef: Hef) -> list[tuple[int, bytes]]:
    """(channel, bytes) of every CCW write of the file, in order."""
    found = []
    for core_op in hef.core_ops():
        lists = [core_op.preliminary_config.operation, *(context.operations for context in core_op.contexts)]
        for action in (action for items in lists for item in items for action in item.actions):
            if isinstance(action, ops.ActionWriteDataCcwPtr):
                found.append((action.cfg_channel_index, bytes(hef.ccw(action.offset, action.size))))
            elif isinstance(action, ops.ActionWriteDataCcw):
                found.append((action.cfg_channel_index, action.data))
    return found


def is_sound(hef: Hef) -> bool:
    return not Path(hef.name).name.startswith("inv_")


@needs_shared
def test_given_files_are_written_and_read_back_equal() -> None:
    written = 0
    for hef in opened():
        contents = contents_of(hef)
        try:
            data = write_hef(contents, hef.container.version, proto_hash=hef.container.proto_checksum is not None)
        except UsageError as error:
            # pointers that lead out of the CCW section are not written
            assert not is_sound(hef) and "of a section of" in error.message, hef.name
            continue
        again = open_hef(data, runtime="5.2")
        assert contents_of(again) == contents, hef.name
        assert again.container.version == hef.container.version
        written += 1
    assert written >= 350


@needs_shared
@pytest.mark.parametrize("version", VERSIONS)
def test_given_files_move_to_every_container_version(version: int) -> None:
    for hef in opened():
        if not is_sound(hef) or (version != 3 and hef.container.number("additional_info_size")):
            continue
        again = open_hef(write_hef(contents_of(hef), version), runtime="5.2")
        assert again.container.version == version
        assert ccw_records(again) == ccw_records(hef), hef.name
        assert _loads(again) == _loads(hef), hef.name


def _loads(hef: Hef) -> bool:
    try:
        check_load(hef)
    except HailoError:
        return False
    return True


@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(hefs())
def test_drawn_files_are_read_back_equal_and_load(drawn: Drawn) -> None:
    hef = open_hef(drawn.data(), runtime=drawn.runtime)
    hef_infos(hef)
    again = contents_of(hef)
    if drawn.version == 0:
        assert again == drawn.contents
    else:
        # the same file, its CCW records inline again and without what only V3 holds
        plain = replace(again, external_resources=(), additional_info=b"")
        assert write_hef(plain, 0) == write_hef(drawn.contents, 0)
    assert [resource.name for resource in again.external_resources] == list(drawn.resources)
    assert write_hef(again, drawn.version, proto_hash=drawn.proto_hash) == drawn.data()


# --- one small file, in detail --------------------------------------------------------------------------------------


def small(name: str = "net") -> HefContents:
    base = builder.layer_base(Shape(4, 6, 8), sys_index=1)
    context = builder.context(
        [
            builder.operation(
                ops.TriggerNone(), ops.ActionWriteDataCcw(bytes(16), 0), ops.ActionAllowInputDataflow(1, 0)
            )
        ],
        [
            builder.edge_layer(builder.layer_info("net/in", base), EdgeLayerDirection.HOST_TO_DEVICE),
            builder.edge_layer(
                builder.layer_info("net/out", replace(base, sys_index=2)), EdgeLayerDirection.DEVICE_TO_HOST
            ),
        ],
    )
    core = builder.core_op(name, [context], sorted_outputs=["net/out"])
    return builder.hef_contents(HwArch.HAILO8P, [builder.network_group(core)])


def test_v3_aligns_the_ccw_section_and_hashes_the_proto() -> None:
    hef = open_hef(write_hef(small(), 3, proto_hash=True), runtime="5.2")
    assert hef.container.offset_zero_point % 4096 == 0
    assert hef.container.proto_checksum is not None and hef.container.proto_checksum.matches
    assert hef.container.checksum.matches
    assert hef.container.ccws_section_size == 16


def test_external_resources_are_listed_with_their_hash_and_found_again() -> None:
    resources = {"tokenizer": b"abc" * 50, "empty": b"", "other": bytes(range(256))}
    hef = open_hef(write_hef(small(), 3, resources=resources), runtime="5.2")
    assert [resource.name for resource in hef.external_resources] == list(resources)
    for resource in hef.external_resources:
        data = hef.container.external_resource(resource)
        assert data is not None and bytes(data) == resources[resource.name]
        assert resource.xxhash == xxhash.xxh3_64_intdigest(resources[resource.name])


@pytest.mark.parametrize("version", [0, 1, 2])
def test_only_v3_holds_resources_and_a_proto_hash(version: int) -> None:
    with pytest.raises(UsageError):
        write_hef(small(), version, resources={"a": b"b"})
    with pytest.raises(UsageError):
        write_hef(small(), version, proto_hash=True)


def test_an_unknown_version_or_field_is_refused() -> None:
    with pytest.raises(UsageError, match="version 4"):
        write_hef(small(), 4)
    with pytest.raises(UsageError, match="no field 'crc'"):
        pack(2, Sections(b""), overrides={"crc": 1})
    with pytest.raises(UsageError, match="ccws_size has 8 bytes"):
        pack(2, Sections(b""), overrides={"ccws_size": 1 << 64})


def test_a_group_that_contradicts_itself_is_refused() -> None:
    contents = small()
    group = replace(contents.network_groups[0], network_group_name="another")
    with pytest.raises(UsageError, match="network_group_name 'another' reads back as 'net'"):
        write_hef(replace(contents, network_groups=(group,)), 2)
    net_flow = replace(contents, extensions=(*contents.extensions, builder.extension(ExtensionType.HAILO_NET_FLOW)))
    with pytest.raises(UsageError, match=r"core_op CoreOp.* reads back as None"):
        write_hef(net_flow, 2)


def test_a_pointer_out_of_the_section_is_refused() -> None:
    contents = contents_of(open_hef(write_hef(small(), 2), runtime="4.23"))
    with pytest.raises(UsageError, match="CCW bytes 0 to 16 of a section of 8 bytes"):
        write_hef(replace(contents, ccws=bytes(8)), 2)

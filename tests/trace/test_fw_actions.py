"""The measure-fw-actions JSON against fw-trace.md 6.1: every key, every name, addresses, time stamps."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from emu.chips.runtimes import runtime_names
from emu.host.profiler import config_timestamp
from emu.trace.sinks import fw_actions
from emu.wire.actions import (
    ActionType,
    EnableLcuNonDefault,
)
from emu.wire.lists import TIMESTAMP_INIT, Repeated
from emu.wire.wire import wire_of
from tests.conftest import SHARED, needs_shared
from tests.trace.helpers import TWO_CONTEXT, Cli

# fw-trace.md 6.1, typed in from there: type -> keys of "data"
CHANNEL = ["engine_index", "vdma_channel_index"]
STREAM = ["engine_index", "stream_index", "vdma_channel_index"]
LCU = ["cluster_index", "lcu_index"]
DATA = {
    "fetch_cfg_channel_descriptors": ["channel_index", "descriptors_count", "engine_index"],
    "trigger_sequencer": ["cluster_index"],
    "fetch_data_from_vdma_channel": STREAM,
    "enable_lcu_default": LCU,
    "enable_lcu_non_default": LCU,
    "disable_lcu": LCU,
    "activate_boundary_input": STREAM,
    "activate_boundary_output": STREAM,
    "activate_inter_context_input": STREAM,
    "activate_inter_context_output": STREAM,
    "activate_ddr_buffer_input": STREAM,
    "activate_ddr_buffer_output": STREAM,
    "deactivate_vdma_channel": CHANNEL,
    "change_vdma_to_stream_mapping": ["engine_index", "stream_index", "type", "vdma_channel_index"],
    "add_ddr_pair_info": [
        "d2h_engine_index",
        "d2h_vdma_channel_index",
        "h2d_engine_index",
        "h2d_vdma_channel_index",
    ],
    "ddr_buffering_start": [],
    "lcu_interrupt": LCU,
    "sequencer_done_interrupt": ["sequencer_index"],
    "input_channel_transfer_done_interrupt": CHANNEL,
    "output_channel_transfer_done_interrupt": CHANNEL,
    "module_config_done_interrupt": ["module_index"],
    "application_change_interrupt": [],
    "activate_cfg_channel": ["channel_index", "config_stream_index", "engine_index"],
    "deactivate_cfg_channel": ["channel_index", "config_stream_index", "engine_index"],
    "wait_for_dma_idle_action": STREAM,
    "wait_for_nms_idle": ["aggregator_index"],
    "fetch_ccw_bursts": ["ccw_bursts", "config_stream_index"],
    "validate_vdma_channel": CHANNEL,
    "burst_credits_task_start": [],
    "burst_credits_task_reset": [],
    "ddr_buffering_reset": [],
    "open_boundary_input_channel": CHANNEL,
    "open_boundary_output_channel": CHANNEL,
    "enable_nms": ["burst_size", "network_index", "nms_unit_index", "number_of_classes"],
    "write_data_by_type": ["address", "data", "data_type", "mask", "network_index", "shift"],
    "switch_lcu_batch": ["cluster_index", "kernel_done_count", "lcu_index", "network_index"],
    "change boundary input batch": CHANNEL,
    "pause vdma channel": CHANNEL,
    "resume vdma channel": CHANNEL,
    "activate_cache_input": STREAM,
    "activate_cache_output": STREAM,
    "wait_for_cache_updated": [],
    "sleep": ["sleep_time"],
    "halt": [],
}
REPEATED = ["count", "last_executed", "sub_action_type"]
RUN = ["batch_size", "mean_activation_time_ms", "mean_deactivation_time_ms", "network_group_id", "fps", "contexts"]
CONTEXT = [
    "action_list_base_address",
    "action_list_size",
    "batch_counter",
    "idle_time",
    "context_name",
    "actions",
]


def _check_context(context: dict[str, Any]) -> None:
    assert list(context) == CONTEXT
    end = context["action_list_base_address"] + context["action_list_size"]
    for action in context["actions"]:
        sub = ["sub_action_index"] if "sub_action_index" in action else []
        assert list(action) == ["address", "timestamp", "type", *sub, "data"]
        assert context["action_list_base_address"] < action["address"] <= end
        keys = REPEATED if action["type"] == "repeated_action" else DATA[action["type"]]
        assert list(action["data"]) == keys == sorted(keys)


def _check_head(document: dict[str, Any], model: Path) -> None:
    assert list(document)[:5] == ["version", "creation_time", "clock_cycle_MHz", "hef", "runs"]
    assert document["version"] == "2.0"
    assert document["hef"] == {"path": str(model), "file_hash": hashlib.md5(model.read_bytes()).hexdigest()}


def _profile(cli: Cli, folder: Path, *options: object) -> dict[str, Any]:
    target = folder / "runtime_data.json"
    assert cli("run", *options, f"--trace={target}", "--trace-format", "fw-actions") == 0
    text = target.read_text()
    found: dict[str, Any] = json.loads(text)
    assert text == json.dumps(found, indent=4, ensure_ascii=False) + "\n"
    return found


def test_every_key(cli: Cli, tmp_path: Path) -> None:
    document = _profile(cli, tmp_path, TWO_CONTEXT, "--frames", 6)
    _check_head(document, TWO_CONTEXT)
    assert list(document) == ["version", "creation_time", "clock_cycle_MHz", "hef", "runs"]
    assert document["clock_cycle_MHz"] == 200
    (run,) = document["runs"]
    assert list(run) == RUN
    assert (run["batch_size"], run["network_group_id"]) == (1, 0)
    assert run["mean_activation_time_ms"] == run["mean_deactivation_time_ms"] == -1.0
    names = [context["context_name"] for context in run["contexts"]]
    assert names == ["activation", "preliminary", "dynamic_0", "dynamic_1", "batch_switching"]
    for context in run["contexts"]:
        _check_context(context)


def test_time_stamps_are_those_of_the_third_batch(cli: Cli, tmp_path: Path) -> None:
    """In 5 ns ticks since the timer started; a list that the batch did not execute keeps zeros."""
    run = _profile(cli, tmp_path, TWO_CONTEXT, "--frames", 6)["runs"][0]
    trace = tmp_path / "x.jsonl"
    assert cli("run", TWO_CONTEXT, "--frames", 6, f"--trace={trace}") == 0
    batches: dict[str, list[list[int]]] = {}
    for line in trace.read_text().splitlines():
        record = json.loads(line)
        if record.get("kind") == "context_begin":
            batches.setdefault(record["context"], []).append([])
        elif record.get("kind") == "action":
            batches[record["context"]][-1].append(record["ns"])
    contexts = {context["context_name"]: context["actions"] for context in run["contexts"]}
    assert all(action["timestamp"] == 0 for action in contexts["batch_switching"])
    shift = set()
    for name in ("dynamic_0", "dynamic_1"):
        plain = [action for action in contexts[name] if action["type"] != "repeated_action"]
        executed = batches[name][2]
        assert len(plain) == len(executed)
        for action, ns in zip(plain, executed, strict=True):
            if "sub_action_index" not in action:
                shift.add(action["timestamp"] * 5 - ns)
    # the two runs differ by the one control that asks for time stamps, rounded to a tick
    assert max(shift) - min(shift) < 5


def test_the_last_batch_where_there_are_fewer(cli: Cli, tmp_path: Path) -> None:
    run = _profile(cli, tmp_path, TWO_CONTEXT)["runs"][0]
    stamps = [action["timestamp"] for context in run["contexts"][:4] for action in context["actions"]]
    assert all(stamps)
    assert stamps == sorted(stamps)


def test_creation_time(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1795979100")
    assert _profile(cli, tmp_path, TWO_CONTEXT)["creation_time"] == "Sun Nov 29 19:05:00 2026"
    for text in ("yesterday", "", "-1", "1.5", "\u0663", "253402300800", "9" * 6000):
        monkeypatch.setenv("SOURCE_DATE_EPOCH", text)
        assert cli("run", TWO_CONTEXT, f"--trace={tmp_path / 'y'}", "--trace-format", "fw-actions") == 2
        assert cli.out == ""
        assert not (tmp_path / "y").exists()
    monkeypatch.delenv("SOURCE_DATE_EPOCH")
    # the HEF says 2024-01-01 00:00:00
    assert _profile(cli, tmp_path, TWO_CONTEXT)["creation_time"] == "Mon Jan  1 00:00:00 2024"


def test_a_hef_may_say_any_time(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
    source, model = tmp_path / "x.yaml", tmp_path / "x.hef"
    assert cli("disasm", TWO_CONTEXT, "-o", source) == 0
    assert source.read_text().count("timestamp: 1704067200000") == 1
    source.write_text(source.read_text().replace("timestamp: 1704067200000", f"timestamp: {(1 << 64) - 1}"))
    assert cli("asm", source, "-o", model) == 0
    assert _profile(cli, tmp_path, model)["creation_time"] == "Fri Dec 31 23:59:59 9999"


def test_the_dump_of_fw_control(cli: Cli, tmp_path: Path) -> None:
    target = tmp_path / "runtime_data.json"
    assert cli("run", TWO_CONTEXT, "--dump-action-list", target) == 0
    document = json.loads(target.read_text())
    _check_head(document, TWO_CONTEXT)
    assert list(document)[5:] == ["network_groups"]
    assert document["runs"] == []
    ((group,),) = document["network_groups"]
    assert (group["batch_size"], group["fps"]) == (-1, -1.0)
    for context in group["contexts"]:
        _check_context(context)


@pytest.mark.parametrize("runtime", runtime_names())
@pytest.mark.parametrize("kind", [kind for kind in ActionType if kind is not ActionType.REPEATED_ACTION])
def test_every_action_type(kind: ActionType, runtime: str) -> None:
    shift = 5 if runtime[0] == "4" else 6
    made = wire_of(runtime).lists.classes[kind]
    data = b"".join(wire_of(runtime).encode([made(*(_value(name, shift) for name in made.NAMES))]))
    (action,) = _decoded(data, runtime)
    assert list(action["data"]) == DATA[action["type"]]
    assert action["address"] == 0x1000 + 5
    for key, value in action["data"].items():
        if key in EXPECTED:
            assert value == EXPECTED[key], key


def _value(name: str, shift: int) -> int:
    if name.endswith("packed_vdma_channel_id"):
        return 2 << shift | 7
    return {"packed_lcu_id": 0x5B, "is_dummy_stream": 1}.get(name, 3)


EXPECTED = {
    "engine_index": 2,
    "vdma_channel_index": 7,
    "channel_index": 7,
    "cluster_index": 5,
    "lcu_index": 11,
    "type": "dummy",
    "stream_index": 3,
} | {
    f"{side}_{what}": value
    for side in ("d2h", "h2d")
    for what, value in (("engine_index", 2), ("vdma_channel_index", 7))
}
del EXPECTED["cluster_index"]  # of a sequencer it is the argument itself


def _decoded(data: bytes, runtime: str) -> list[dict[str, Any]]:
    context = fw_actions.DownloadedContext("dynamic_0", 0x1000, data, 0, 0)
    document = fw_actions.profile(
        [fw_actions.MeasuredRun(1, 1.0, (context,))],
        runtime=runtime,
        created=0,
        clock_cycle_mhz=200,
        path="x",
        file_hash="",
    )
    actions: list[dict[str, Any]] = document["runs"][0]["contexts"][0]["actions"]
    return actions


def test_repeated_actions() -> None:
    """The header has its own entry, sub-actions the addresses of their payloads and the parent's time stamp."""
    items = tuple(EnableLcuNonDefault(0x10 + n, 0, 1, 2) for n in range(3))
    data = bytearray(b"".join(wire_of("4.23").encode([Repeated(ActionType.ENABLE_LCU_NON_DEFAULT, items)])))
    data[1:5] = (TIMESTAMP_INIT - 77).to_bytes(4, "little")
    data[6] = 2
    header, *subs = _decoded(bytes(data), "4.23")
    assert header == {
        "address": 0x1005,
        "timestamp": 77,
        "type": "repeated_action",
        "data": {"count": 3, "last_executed": 2, "sub_action_type": "enable_lcu_non_default"},
    }
    assert [sub["address"] for sub in subs] == [0x1008, 0x1010, 0x1018]
    assert [sub["sub_action_index"] for sub in subs] == [0, 1, 2]
    assert [sub["data"] for sub in subs] == [{"cluster_index": 1, "lcu_index": n} for n in range(3)]
    assert {sub["timestamp"] for sub in subs} == {77}


def test_the_names_are_all_of_hailorts() -> None:
    names = {fw_actions.type_name(kind) for kind in ActionType}
    assert names == DATA.keys() | {"repeated_action"}


def test_the_request_for_time_stamps() -> None:
    """firmware-actions.md 5.5: u16 big-endian in 4.23; u32 of which 5.2 swaps 16 bits only."""
    old, new = config_timestamp("4.23", 2), config_timestamp("5.2", 2)
    assert old[24:26] == b"\0\2"
    assert old[30:] == b"\1"
    assert new[24:28] == b"\0\2\0\0"
    assert new[32:] == b"\1"


def test_one_hef_only(cli: Cli, tmp_path: Path) -> None:
    target = tmp_path / "x.json"
    assert cli("run", TWO_CONTEXT, TWO_CONTEXT, f"--trace={target}", "--trace-format", "fw-actions") == 2
    assert not target.exists()
    assert cli("run", TWO_CONTEXT, "--trace", "--trace-format", "fw-actions") == 2


@needs_shared
def test_real_lists(cli: Cli, tmp_path: Path) -> None:
    for arguments in (
        [SHARED / "hef" / "face_landmarks_lite_2ctx.v3.hailo1xh.hef", "--frames", 3],
        [SHARED / "hef" / "mnist_cnn.v0.hailo8.hef", "--frames", 3],
        ["--actions", SHARED / "silicon" / "mobilenet_v1.json"],
    ):
        for context in _profile(cli, tmp_path, *arguments)["runs"][0]["contexts"]:
            _check_context(context)

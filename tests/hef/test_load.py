"""Every made-up HEF against what the real HailoRT said at load: shared/synth/STATUS.tsv."""

from __future__ import annotations

import csv

import pytest

from emu.errors import EmuError, HailoError, IncompatibleError
from emu.hef import open_hef
from emu.hef.load import check_load
from tests.conftest import SHARED, needs_shared

STATUS = SHARED / "synth" / "STATUS.tsv"
CRASHES_AT_LOAD = {"inv_empty", "inv_arch_8l_full", "inv_group_empty", "inv_nf_nocore"}


def runs():
    """(name, runtime, from memory) -> (stage, status) of the real runtime, one entry per way of loading."""
    out = {}
    if STATUS.exists():
        with STATUS.open(newline="") as file:
            for row in csv.DictReader(file, delimiter="\t"):
                if row["where"] != "parse-hef":
                    key = row["name"], row["version"], "mem" in row["where"].split(".")
                    out.setdefault(key, (row["stage"], row["status_number"]))
    return out


RUNS = runs()


def load(name, runtime, from_memory):
    hef = open_hef(SHARED / "synth" / "hef" / f"{name}.hef", runtime=runtime, from_memory=from_memory)
    check_load(hef)


@needs_shared
@pytest.mark.parametrize("name, runtime, from_memory", sorted(RUNS))
def test_load_agrees_with_the_real_runtime(name, runtime, from_memory):
    stage, status = RUNS[name, runtime, from_memory]
    if stage == "Hef::create":
        with pytest.raises(HailoError) as caught:
            load(name, runtime, from_memory)
        assert caught.value.number == int(status)
    elif stage == "signal" and name in CRASHES_AT_LOAD:
        with pytest.raises(HailoError) as caught:
            load(name, runtime, from_memory)
        assert caught.value.exit_code == 3
    else:
        load(name, runtime, from_memory)


@needs_shared
def test_the_oracle_was_read():
    assert len({name for name, _, _ in RUNS}) == 367
    assert sum(stage == "Hef::create" for stage, _ in RUNS.values()) > 150


@needs_shared
@pytest.mark.parametrize(
    "name, runtime, exit_code",
    [
        ("strict_ok", "4.23", 4),  # 5.2 supports extension 35
        ("ecc_h8", "4.23", 4),
        ("shared_v2", "4.23", 4),
        ("inv_ext36", "4.23", 3),  # nobody supports it
        ("inv_ext_many", "5.2", 3),
        ("ecc1_ko", "4.23", 3),  # status 8 comes first
        ("inv_noperiph", "5.2", 3),
    ],
)
def test_exit_code_tells_another_runtime_from_a_bad_file(name, runtime, exit_code):
    with pytest.raises(HailoError) as caught:
        load(name, runtime, False)
    assert caught.value.exit_code == exit_code
    assert isinstance(caught.value, IncompatibleError) == (exit_code == 4)


@needs_shared
@pytest.mark.parametrize(
    "name, version, status",
    [
        ("inv_ext7", "4.20", 26),
        ("inv_ext7", "4.21", 92),
        ("inv_sum_v0", "4.20", 26),
        ("inv_sum_v0", "4.21", 91),
        ("inv_magic_v2", "4.20", 26),
        ("inv_argmax_host", "4.20", 26),
        ("ctr_v3a", "4.20", 26),  # V3 is read since 4.21
        ("ctr_v2a", "4.19", 8),  # runtimes.md 3
        ("ctr_v1a", "4.17", 26),
        ("inv_noperiph", "4.20", 0),
        ("ctr_v0_hver0", "4.20", 0),
        ("ctr_v2a", "4.20", 0),
        ("inv_empty", "4.20", 14),
        ("inv_act_unset", "4.20", 8),
    ],
)
def test_older_versions_number_as_they_did(name, version, status):
    """hef-container.md 10: 26 for 91, 92 and 93 up to 4.20."""
    try:
        hef = open_hef(SHARED / "synth" / "hef" / f"{name}.hef", runtime_version=version)
        check_load(hef)
    except EmuError as error:
        assert error.number == status
    else:
        assert status == 0


@pytest.mark.parametrize("version", ["4", "4.5", "4.24", "5.3", "6.0", "new", ""])
def test_an_unknown_version_is_a_wrong_use(version):
    with pytest.raises(EmuError, match="HailoRT") as caught:
        open_hef(b"", runtime_version=version)
    assert caught.value.exit_code == 2

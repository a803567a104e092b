"""Every release from 4.6 on that opens files: by its name, by what it loads, and in what order."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emu.catalog import names
from emu.errors import HailoError, HailoStatus, UsageError
from emu.hef import open_hef
from emu.hef.load import check_load
from emu.hef.runtime import any_release, by_preference, spans
from tests.conftest import DATA

# container V0, extensions 0, 3, 12 and 26: by hef-container.md 4.1 known since 4.6, 4.6, 4.7 and 4.14
SINCE_4_14 = DATA / "hef" / "ctr_v0a.hef"


@pytest.mark.parametrize("name", names("runtimes"))
def test_releases_with_a_file_are_known_whole(name: str) -> None:
    release = any_release(name)
    assert (release.label, release.loads_only) == (name, False)


@given(st.sampled_from((4, 5)), st.integers(0, 30), st.integers(0, 5))
def test_a_label_means_its_release(major: int, minor: int, revision: int) -> None:
    try:
        release = any_release(f"{major}.{minor}.{revision}")
    except UsageError:
        assert not (6 <= minor <= 23 if major == 4 else minor <= 2)
        return
    again = any_release(release.label)
    assert (again.label, again.name, again.loads_only) == (release.label, release.name, release.loads_only)


@pytest.mark.parametrize(
    ("asked", "label", "loads_only"),
    [
        ("4.6", "4.6", True),
        ("4.16.2", "4.16.2", True),
        ("4.20.1", "4.20", False),  # sources differ in the driver's version number only (runtimes.md 1)
        ("5.0.0", "5.0.0", True),  # its differences were not captured (runtimes.md 4)
    ],
)
def test_what_a_user_means(asked: str, label: str, loads_only: bool) -> None:
    release = any_release(asked)
    assert (release.label, release.loads_only) == (label, loads_only)


@pytest.mark.parametrize(
    ("version", "missing"),
    [
        ("4.6", {"KO_RUN_ASAP", "PERIPH_CALCULATION_IN_HAILORT"}),
        ("4.7", {"PERIPH_CALCULATION_IN_HAILORT"}),
        ("4.13", {"PERIPH_CALCULATION_IN_HAILORT"}),
        ("4.14", set()),
        ("4.16", set()),
        ("4.23", set()),
    ],
)
def test_what_an_old_release_loads(version: str, missing: set[str]) -> None:
    hef = open_hef(SINCE_4_14, runtime_version=version)
    assert hef.reopen(version).version == hef.version
    if not missing:
        check_load(hef)
        return
    with pytest.raises(HailoError) as caught:
        check_load(hef)
    assert caught.value.number == HailoStatus.HAILO_INVALID_HEF  # 92 since 4.21 (hef-container.md 10)
    assert caught.value.meaning is HailoStatus.HAILO_HEF_NOT_SUPPORTED
    named = {name for name in ("KO_RUN_ASAP", "PERIPH_CALCULATION_IN_HAILORT") if name in caught.value.message}
    assert named == missing


def test_old_releases_have_their_place() -> None:
    assert by_preference(["4.6", "5.0.1", "4.14", "4.23", "5.2"]) == ["4.23", "5.2", "5.0.1", "4.14", "4.6"]
    assert by_preference(["4.14", "4.6"]) == ["4.14", "4.6"]
    assert spans(["4.14", "4.17.1", "4.18"]) == "4.14 to 4.18"
    assert spans(["4.23", "5.2"]) == "4.23, 5.2"

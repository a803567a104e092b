"""Names that a user types: a unique end stands for the whole, a slip is answered with what was near."""

from __future__ import annotations

import pytest

from emu.naming import full_name, listed, similar, with_full_names

STREAMS = ["yolo/input_layer1", "yolo/conv41", "yolo/conv42", "other/conv41"]


@pytest.mark.parametrize(
    ("name", "whole"),
    [
        ("yolo/conv41", "yolo/conv41"),
        ("conv42", "yolo/conv42"),
        ("conv41", None),  # two of them
        ("onv42", None),  # no part of a name
        ("", None),
        ("nothing", None),
    ],
)
def test_a_unique_end_is_the_whole(name: str, whole: str | None) -> None:
    assert full_name(name, STREAMS) == whole


def test_two_names_for_one_thing_stay_two() -> None:
    assert with_full_names({"conv42": 1}, STREAMS) == {"yolo/conv42": 1}
    assert with_full_names({"conv42": 1, "yolo/conv42": 2}, STREAMS) == {"conv42": 1, "yolo/conv42": 2}


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("conv41", " Did you mean yolo/conv41 or other/conv41?"),
        ("input_layer2", " Did you mean yolo/input_layer1?"),
        ("yolo/convv42", "yolo/conv42"),
        ("zzz", ""),
        ("", ""),
    ],
)
def test_a_slip_is_answered(name: str, said: str) -> None:
    assert said in similar(name, STREAMS) and bool(said) == bool(similar(name, STREAMS))


def test_hundreds_of_names_are_not_listed() -> None:
    assert listed([]) == "none"
    assert listed(["a", "b"]) == "a, b"
    assert listed(map(str, range(40))).endswith("11 and 28 more")

"""What was given as input by name: files of numbers as they are, pictures as frames that are made when asked for."""

from __future__ import annotations

from collections.abc import Sequence

from emu.dataflow.frames import FrameFiles, frame_files, split_argument
from emu.dataflow.vstreams import InputVStream
from emu.errors import UsageError
from emu.hef.infos import NetworkGroupInfo
from emu.images.fit import LETTERBOX
from emu.images.frames import PictureFrames, PictureOptions
from emu.images.read import pictures, stands_for_pictures


def input_files(
    groups: Sequence[NetworkGroupInfo],
    inputs: Sequence[str],
    archive: str | None,
    fit: str | None,
    colour: str | None,
    device_outputs: Sequence[str] = (),
) -> tuple[FrameFiles, dict[str, PictureFrames]]:
    """What was given, and by vstream the pictures among it."""
    picture_options = PictureOptions(fit or LETTERBOX, colour)
    vstreams = {info.name: (group, info) for group in groups for info in group.input_vstreams}
    shown: dict[str, PictureFrames] = {}
    plain: list[str] = []
    for argument in inputs:
        name, path = split_argument(argument, list(vstreams))
        if not stands_for_pictures(path):
            plain.append(argument)
            continue
        if name is None:
            if len(vstreams) != 1:
                raise UsageError(
                    f"--input {argument}: the model has {len(vstreams)} inputs, say which: NAME=PICTURE with "
                    f"{', '.join(vstreams)}"
                )
            (name,) = vstreams
        if name in shown:
            raise UsageError(f"--input {name}: given twice")
        group, info = vstreams[name]
        vstream = InputVStream(group, info)
        shown[name] = PictureFrames(pictures(path), vstream.shape, vstream.user.order, picture_options, name)
    if not shown:
        idle = ["--fit"] * (fit is not None) + ["--colour"] * (colour is not None)
        if idle:
            raise UsageError(f"{', '.join(idle)}: no picture is given")
    found = frame_files(groups, plain, archive, device_outputs)
    twice = [name for name in shown if name in found.inputs]
    if twice:
        raise UsageError(f"--input {twice[0]}: given twice")
    return FrameFiles(found.inputs, found.device_outputs, shown), shown

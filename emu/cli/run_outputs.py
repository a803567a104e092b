"""The files that `emu run` writes once it has run: opened before, so that a place that takes none costs no run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from emu.cli.options import open_output, opened_output
from emu.cli.run_options import RunOptions
from emu.output import Output, make_folder

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from emu.rows import NpyRows, NpzRows


class KeptOutputs:
    """`--outputs` and `--output-dir`: every frame is written when it is done."""

    def __init__(self, archive: NpzRows | None, files: Mapping[str, NpyRows]) -> None:
        self._archive = archive
        self._files = files

    @classmethod
    def opened(cls, options: RunOptions, names: Sequence[str], frames: int, files: ExitStack) -> KeptOutputs | None:
        """For outputs of these names, `frames` of each; None where neither was asked for.

        OutputError where the system refuses one of the files.
        """
        if not options.outputs and not options.output_dir:
            return None
        from emu.arrays import output_file_name
        from emu.rows import NpyRows, NpzRows

        rows: dict[str, NpyRows] = {}
        if options.output_dir:
            folder = make_folder(options.output_dir)
            for position, name in enumerate(names):
                output = opened_output(str(folder / output_file_name(position, name)), files)
                rows[name] = NpyRows(output, frames)
        opened = open_output(options.outputs, files)
        return cls(None if opened is None else NpzRows(opened, frames), rows)

    def add(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """The outputs of the next frame of a group."""
        if self._archive is not None:
            self._archive.add(arrays)
        if self._files:
            for name, array in arrays.items():
                self._files[name].add(array)

    def commit(self) -> None:
        """All frames are there."""
        for rows in self._files.values():
            rows.commit()
        if self._archive is not None:
            self._archive.commit()


class RunOutputs(Struct, frozen=True):
    """Each is None where it was not asked for; what is never committed leaves what stood there."""

    memory: Output | None = None
    action_list: Output | None = None
    profile: Output | None = None

    @classmethod
    def opened(cls, options: RunOptions, profile: str | None, files: ExitStack) -> RunOutputs:
        """`profile`: where a document of the whole run goes. OutputError where the system refuses one of them."""
        return cls(
            open_output(options.dump_memory, files),
            open_output(options.dump_action_list, files),
            open_output(profile, files),
        )

"""What `emu run --record` keeps of a run, so that `emu replay` can do it again: its recipe, its files, how it ended."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from emu import __version__
from emu.errors import CommandLineError, EmuError
from emu.files import is_folder, is_regular, is_there, shown
from emu.host.spec import RunSpec, option_name


def settings(spec: RunSpec, error: EmuError | None, registers: bool = False) -> dict[str, Any]:
    """The run's files with their hashes, its options, how it ended; UsageError for what cannot be read again.

    `registers`: the accesses to those of its card are kept too.
    """
    sources = [spec.actions] if spec.actions is not None else list(spec.models)
    paths = [Path(source).resolve() for source in sources if isinstance(source, str | Path)]
    if len(paths) < len(sources):
        raise CommandLineError("--record needs files: what comes from standard input cannot be read again")
    for path in paths:
        if shown(path) != str(path):
            raise CommandLineError(f"--record keeps the names of files as text, {shown(path)} is none")
    # a replay may be started from elsewhere
    kept = spec.document()
    kept |= {name: tuple(map(_absolute, kept[name])) for name in ("input", "device_output")}
    kept["hef"] = None if spec.hef is None else _absolute(spec.hef)
    kept["inputs"] = None if spec.inputs is None else _absolute(spec.inputs)
    said = spec.reference
    kept["reference"] |= {
        "reference": tuple(map(_absolute, said.reference)),
        "alls": None if said.alls is None else _absolute(said.alls),
    }
    return {
        "files": [{"path": str(path), "md5": md5(path)} for path in paths],
        "options": kept,
        "status": "OK" if error is None else error.line(),
        **({"registers": True} if registers else {}),
    }


def _absolute(argument: str) -> str:
    """`NAME=FILE` or `FILE` with the whole path of the file or folder; as it is where there is none."""
    for begin in (0, *(at + 1 for at, letter in enumerate(argument) if letter == "=")):
        path = Path(argument[begin:])
        if argument[begin:] and is_there(path):
            return argument[:begin] + str(path.resolve())
    return argument


def md5(path: Path) -> str:
    """The hash that a manifest knows a file by."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "md5").hexdigest()


def recipe(spec: RunSpec, measured: bool) -> dict[str, str]:
    """What has to be the same where a checkpoint is resumed, by name; files by what they hold.

    `measured`: the run downloads its action lists.
    """
    kept = spec.document()
    sources = [spec.actions] if spec.actions is not None else list(spec.models)
    found = {f"model {number}": _held(source) for number, source in enumerate(sources, 1)}
    for section in ("common", "reference"):
        kept |= kept.pop(section)
    for name, value in kept.items():
        name = "outputs kept" if name == "keep_outputs" else option_name(name)
        texts = value if isinstance(value, list | tuple) else (value,)
        found[name] = ", ".join(_content(text) if isinstance(text, str) else str(text) for text in texts)
    return found | {"action lists": str(measured), "emu": __version__}


def _held(source: Any) -> str:
    if isinstance(source, bytes):
        return hashlib.md5(source).hexdigest()
    return md5(Path(source)) if isinstance(source, str | Path) else str(source)


def _content(argument: str) -> str:
    """`NAME=FILE` or `FILE` with the hash of a file, of a folder those of its files; as it is where there is none."""
    for begin in (0, *(at + 1 for at, letter in enumerate(argument) if letter == "=")):
        path = Path(argument[begin:])
        if argument[begin:] and is_regular(path):
            return argument[:begin] + md5(path)
        if argument[begin:] and is_folder(path):
            return argument[:begin] + " ".join(md5(one) for one in sorted(path.iterdir()) if is_regular(one))
    return argument

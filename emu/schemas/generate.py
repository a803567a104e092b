"""Write the generated modules of every schema in this folder: `python -m emu.schemas.generate`.

Needs grpcio-tools 1.72 to write: a module runs with the protobuf that its compiler came with and with all later ones,
and that is the oldest that pyproject.toml allows (`tests/schemas/test_protobuf.py`). `--check` writes nothing and tells
whether what is committed is current: it compares descriptors, so another protoc of the same schema counts as current.
"""

from __future__ import annotations

import importlib
import sys
import tempfile
from collections.abc import Iterable, Iterator
from importlib import resources
from pathlib import Path

from google.protobuf import descriptor_pb2

FOLDER = Path(__file__).resolve().parent


def schemas() -> list[Path]:
    """The .proto files of this folder, in name order."""
    return sorted(FOLDER.glob("*.proto"))


def protoc(*arguments: str) -> None:
    """Run the compiler that grpcio-tools brings; raises RuntimeError when it refuses."""
    from grpc_tools import protoc as compiler

    includes = str(resources.files("grpc_tools") / "_proto")
    status = compiler.main(["protoc", f"-I{FOLDER}", f"-I{includes}", *arguments])
    if status != 0:
        raise RuntimeError(f"protoc refused {arguments[-1]} (status {status})")


def write(schema: Path) -> None:
    """Write NAME_pb2.py and its type stub beside NAME.proto."""
    protoc(f"--python_out={FOLDER}", f"--pyi_out={FOLDER}", schema.name)


def is_current(schema: Path) -> bool:
    """Whether the committed module describes exactly what the schema says."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "descriptor"
        protoc(f"--descriptor_set_out={target}", schema.name)
        (wanted,) = descriptor_pb2.FileDescriptorSet.FromString(target.read_bytes()).file
    for message in _messages(wanted.message_type):
        for field in message.field:
            field.ClearField("json_name")  # protoc adds it to descriptor sets, not to generated modules
    module = importlib.import_module(f"emu.schemas.{schema.stem}_pb2")
    return bool(wanted == descriptor_pb2.FileDescriptorProto.FromString(module.DESCRIPTOR.serialized_pb))


def _messages(
    messages: Iterable[descriptor_pb2.DescriptorProto],
) -> Iterator[descriptor_pb2.DescriptorProto]:
    for message in messages:
        yield message
        yield from _messages(message.nested_type)


def main(arguments: list[str]) -> int:
    """Exit status 1 when `--check` finds a module that is out of date."""
    if arguments == ["--check"]:
        stale = [schema.name for schema in schemas() if not is_current(schema)]
        for name in stale:
            print(f"{name}: the generated module is out of date; run python -m emu.schemas.generate")
        return 1 if stale else 0
    for schema in schemas():
        write(schema)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

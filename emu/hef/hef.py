"""An opened HEF: the container and the parsed message, the model built on first use."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, cast

from google.protobuf.message import DecodeError

from emu.errors import HailoError, HailoStatus
from emu.hef import build
from emu.hef.container import Container
from emu.hef.features import SupportedFeatures, supported_features
from emu.hef.model import (
    CoreOp,
    Extension,
    ExternalResource,
    Header,
    IncludedFeatures,
    NetworkGroup,
)
from emu.hef.runtime import V5_2, Runtime, any_release, default_runtime, newest
from emu.hef.source import Origin, Source, open_source
from emu.schemas import hef_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import Iterator


_LARGEST_KEPT = 1 << 24
"""Bytes of a message up to which it is kept beside the model that was built of it."""


class Parsed:
    """The message of a container and the model that is built of it: the same to all runtimes."""

    def __init__(self, container: Container, message: pb.ProtoHEFHef) -> None:
        self._container = container
        self._message: pb.ProtoHEFHef | None = message

    @property
    def message(self) -> pb.ProtoHEFHef:
        if self._message is None:
            self._message = _parse(self._container)
            if self._message is None:
                raise HailoError(
                    HailoStatus.HAILO_HEF_FILE_CORRUPTED,
                    f"{self._container.name} does not parse any more: it was changed while it was in use",
                    file=self._container.name,
                )
        return self._message

    @cached_property
    def header(self) -> Header:
        return build.build_header(self.message.header)

    @cached_property
    def included_features(self) -> IncludedFeatures:
        return build.build_included_features(self.message.included_features)

    @cached_property
    def extensions(self) -> tuple[Extension, ...]:
        return build.build_extensions(self.message.extensions)

    @cached_property
    def optional_extensions(self) -> tuple[Extension, ...]:
        return build.build_extensions(self.message.optional_extensions)

    @cached_property
    def external_resources(self) -> tuple[ExternalResource, ...]:
        return build.build_external_resources(self.message.external_resources)

    @cached_property
    def features(self) -> SupportedFeatures:
        return supported_features(self.header, self.included_features, self.extensions, self.optional_extensions)

    @cached_property
    def network_groups(self) -> tuple[NetworkGroup, ...]:
        net_flow = self.features.hailo_net_flow
        groups = tuple([build.build_network_group(group, net_flow) for group in self.message.network_groups])
        if self._container.hef_proto_size > _LARGEST_KEPT:
            _ = self.external_resources  # what else the model has of it
            self._message = None
        return groups


class Hef:
    """A HEF whose container and protobuf are sound to `runtime`; `open_hef` makes one.

    The properties read the parsed message on first use and never fail on it: what the runtime refuses in it at load
    is for `emu.hef.load.check_load` to say.
    """

    def __init__(self, container: Container, parsed: Parsed, runtime: Runtime) -> None:
        self.container = container
        self.version = runtime
        self._parsed = parsed

    @property
    def name(self) -> str:
        """Where the bytes came from: a path, or `<memory>`."""
        return self.container.name

    @property
    def message(self) -> pb.ProtoHEFHef:
        """The parsed message; a large one is parsed again after the model was built."""
        return self._parsed.message

    @property
    def runtime(self) -> str:
        """The runtime whose compile rules apply, by its name."""
        return self.version.name

    @property
    def header(self) -> Header:
        return self._parsed.header

    @property
    def included_features(self) -> IncludedFeatures:
        return self._parsed.included_features

    @property
    def extensions(self) -> tuple[Extension, ...]:
        return self._parsed.extensions

    @property
    def optional_extensions(self) -> tuple[Extension, ...]:
        return self._parsed.optional_extensions

    @property
    def external_resources(self) -> tuple[ExternalResource, ...]:
        return self._parsed.external_resources

    @property
    def features(self) -> SupportedFeatures:
        """The flags that the extensions set."""
        return self._parsed.features

    @property
    def network_groups(self) -> tuple[NetworkGroup, ...]:
        """The network groups in file order."""
        return self._parsed.network_groups

    @property
    def ordered_network_groups(self) -> tuple[NetworkGroup, ...]:
        """The network groups in the runtime's order, the default group first: before 5.2 that of the file reversed."""
        groups = self.network_groups
        return groups[::-1] if self.version < V5_2 else groups

    def core_ops(self) -> Iterator[CoreOp]:
        """Every core op of the file, alternatives per cluster layout included, in file order."""
        for group in self.network_groups:
            if group.core_op is not None:
                yield group.core_op
                for partial in group.core_op.partial_core_ops:
                    yield partial.core_op

    def core_op_messages(self) -> Iterator[pb.ProtoHEFNetworkGroup | pb.ProtoHEFCoreOp]:
        """Every message that can hold contexts, used by the layout of the file or not; builds nothing."""
        for group in self.message.network_groups:
            yield group
            for partial in group.partial_network_groups:
                yield partial.network_group
            for op in group.ops:
                yield op.core_op
                for other in op.core_op.partial_core_ops:
                    yield other.core_op

    def reopen(self, runtime: str) -> Hef:
        """The same bytes as another release opens them (`any_release`); raises as `open_hef` does."""
        return _open(self.container.source, any_release(runtime), self.container.from_memory, self._parsed)

    def ccw(self, offset: int, size: int) -> memoryview:
        """The CCW bytes of a pointer action, a view of the file; HailoError 14 outside of it."""
        return self.container.ccw(offset, size)


def _parse(container: Container) -> pb.ProtoHEFHef | None:
    """The message, None where protobuf refuses it or the file ends within it."""
    proto = container.proto
    if len(proto) < container.hef_proto_size:
        return None
    message = pb.ProtoHEFHef()
    try:
        message.ParseFromString(cast("bytes", proto))  # any buffer will do, and is not copied; the stub is narrower
    except DecodeError:
        return None
    container.source.give_back()
    return message


def open_hef(
    source: Origin,
    *,
    runtime: str | None = None,
    from_memory: bool = False,
    runtime_version: str | None = None,
) -> Hef:
    """Open a HEF and check its container and protobuf as the runtime does.

    `runtime` names a release (`emu.hef.runtime.release_name`), by default 4.23 for the Hailo-8 family and 5.2 for all
    else (cli.md); `runtime_version` overrides it with any version from 4.6 on (`any_release`), for what that one loads.
    `from_memory` checks as the runtime's memory loader does, whatever the source.

    Raises HailoError 13 or 14 (cannot be opened or read), 91 (corrupt), 92 (not a HEF, unknown version); up to 4.20
    the last two are 26. UsageError for a source or a version that is none.
    """
    version = None if runtime is None else Runtime.named(runtime)
    if runtime_version is not None:
        version = any_release(runtime_version)
    return _open(open_source(source), version, from_memory)


def _open(source: Source, version: Runtime | None, from_memory: bool, parsed: Parsed | None = None) -> Hef:
    container = Container(source, from_memory=from_memory, runtime=version or newest())
    message = None
    if version is None:
        message = _parse(container)
        version = default_runtime(None if message is None else message.header.hw_arch)
    container.validate(version)
    if parsed is not None:
        return Hef(container, parsed, version)
    if message is None:
        message = _parse(container)
    if message is None:
        raise version.refusal(
            HailoStatus.HAILO_HEF_FILE_CORRUPTED,
            f"the {container.hef_proto_size} bytes behind the header do not parse as the protobuf message of a HEF",
            file=container.name,
        )
    return Hef(container, Parsed(container, message), version)

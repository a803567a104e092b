"""The HEFs that clients open, and what is known by them of the applications that run on a card.

None of this is in any call. An application that no HEF was seen for works from its lists alone. What compiles and makes
output bytes is loaded when the first application runs (`emu.card.compiled`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from emu.errors import EmuError

if TYPE_CHECKING:
    from emu.card.compiled import Network
    from emu.host.references import ReferenceFor
    from emu.hw.application import Application
    from emu.hw.device import Device
    from emu.hw.payload import Content
    from emu.sequencer.host import HostSettings
    from emu.timing.model import Flow

_KEPT_HEFS = 64  # files that clients opened last


class _Bound(Struct):
    """What an application of the device is: the application itself, and its network if one was found."""

    application: Application
    network: Network | None


class Networks:
    """What is known of the applications of one card. `compute`: a mode of `emu.host.computing`, None: its default.
    `host`: settings of the client's host that decide what it compiles. `zero_outputs`: in place of made-up ones.

    `opened` is told of the files that clients open; `say` gets what a user should know, a line each.
    """

    def __init__(
        self,
        *,
        reference: ReferenceFor | None = None,
        compute: str | None = None,
        zero_outputs: bool = False,
        host: HostSettings | None = None,
        say: Callable[[str], None] | None = None,
    ) -> None:
        self.refused: EmuError | None = None  # the outputs that were asked for cannot be had
        self.checked: list[tuple[str, str]] = []  # network group and first difference, of each application
        self.reference = reference
        self.compute = compute
        self.zero_outputs = zero_outputs
        self.host = host
        self._say = say or (lambda line: None)
        self._hefs: dict[str, Any] = {}
        self._bound: dict[int, _Bound] = {}
        self._compiled: dict[Any, list[Network]] = {}
        self._said: set[str] = set()

    def opened(self, path: str, source: Any = None) -> None:
        """A client opened a HEF; `source` is what can be opened of it now (None: `path`)."""
        self._hefs.pop(path, None)
        self._hefs[path] = source if source is not None else path
        while len(self._hefs) > _KEPT_HEFS:
            del self._hefs[next(iter(self._hefs))]

    def forget_clients(self) -> None:
        """No client is left: what the next ones open is theirs."""
        self._bound.clear()

    def say_once(self, line: str) -> None:
        """Tell the user, the first time only."""
        if line not in self._said:
            self._said.add(line)
            self._say(line)

    # -- what the device asks

    def bind(self, application: Application, device: Device) -> None:
        """An application is about to run: find out what it is."""
        index = application.index
        bound = self._bound.get(index)
        if bound is not None and bound.application is application:
            return
        network = self._find(application, device)
        self._bound[index] = _Bound(application, network)
        if network is None:
            device.name_streams(index, {})
            device.compute_with(index, None)
            self.checked.append((f"application {index}", "no HEF was seen for it"))
            return
        self.checked.append((network.name, network.difference))
        device.name_streams(index, network.labels)
        try:
            network.choose_outputs(self.reference, self.compute, self.say_once)
        except EmuError as error:
            self.refused = self.refused or error
            self.say_once(f"{network.name}: outputs are made up: {error.line()}")
        model = partial(self._compute, network) if network.outputs is not None else None
        device.compute_with(index, model, network.core_model())

    def _compute(self, network: Network, number: int, arrived: Mapping[str, Content | None]) -> Mapping[str, bytes]:
        """The model of an application (`emu.hw.border.Model`): a frame that it cannot give stays made up."""
        try:
            return network.compute(number, arrived)
        except EmuError as error:
            self.say_once(f"{network.name}: an output stays made up: {error}")
            return {}

    def flow(self, index: int, context: int) -> Flow | None:
        """Timing of a dynamic context; None where nothing is known."""
        network = self.network_of(index)
        flows = network.timing.flows if network is not None else ()
        return flows[context] if context < len(flows) else None

    def network_of(self, index: int) -> Network | None:
        """What was found for an application."""
        bound = self._bound.get(index)
        return None if bound is None else bound.network

    # -- outputs (`emu.card.boundary.OutputBytes`)

    def transfers(self, application: int, channel: int, content: bytes, made_up: bool, per_frame: int) -> list[bytes]:
        """The transfers of one output frame, by the channel's packed id; `content` is what the core gives."""
        network = self.network_of(application)
        if network is not None and channel not in network.streams:
            network = None  # the nearest that was seen is another one
        # an injected fault makes bytes of what is made up
        made_up = made_up or network is None or not network.gives(channel)
        if made_up and self.zero_outputs:
            content = bytes(len(content))
        if network is not None:
            try:
                return network.transfers(channel, content, made_up, per_frame)
            except EmuError as error:
                self.say_once(f"{network.name}: an output goes as the core gives it: {error}")
        size = len(content) // max(per_frame, 1)
        return [content[at * size : (at + 1) * size] for at in range(per_frame)]

    # -- finding out

    def _find(self, application: Application, device: Device) -> Network | None:
        """The group of an opened HEF whose compiled lists are the application's, else the nearest."""
        from emu.card.compiled import compiled

        nearest: Network | None = None
        for path, source in reversed(self._hefs.items()):
            try:
                found = compiled(source, application.header.batch_size, device, self.host, self._compiled)
            except (EmuError, OSError) as error:
                self.say_once(f"{path}: not compiled beside the client: {error}")
                continue
            for network in found:
                compared = network.compared(application, device)
                if not compared.difference:
                    return compared
                if nearest is None and network.contexts == len(application.contexts):
                    nearest = compared
        return nearest

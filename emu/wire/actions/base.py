"""What an action is: its type, its fields, its traits, and the class that makes one of them."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, IntEnum
from operator import itemgetter
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self, cast

from msgspec import Struct
from msgspec.structs import replace

from emu.catalog import forget
from emu.errors import UsageError


class ActionType(IntEnum):
    """context_switch action types; numbers stable since 4.15 (firmware-actions.md 3)."""

    FETCH_CFG_CHANNEL_DESCRIPTORS = 0
    TRIGGER_SEQUENCER = 1
    FETCH_DATA_FROM_VDMA_CHANNEL = 2
    ENABLE_LCU_DEFAULT = 3
    ENABLE_LCU_NON_DEFAULT = 4
    DISABLE_LCU = 5
    ACTIVATE_BOUNDARY_INPUT = 6
    ACTIVATE_BOUNDARY_OUTPUT = 7
    ACTIVATE_INTER_CONTEXT_INPUT = 8
    ACTIVATE_INTER_CONTEXT_OUTPUT = 9
    ACTIVATE_DDR_BUFFER_INPUT = 10
    ACTIVATE_DDR_BUFFER_OUTPUT = 11
    DEACTIVATE_VDMA_CHANNEL = 12
    CHANGE_VDMA_TO_STREAM_MAPPING = 13
    ADD_DDR_PAIR_INFO = 14
    DDR_BUFFERING_START = 15
    LCU_INTERRUPT = 16
    SEQUENCER_DONE_INTERRUPT = 17
    INPUT_CHANNEL_TRANSFER_DONE_INTERRUPT = 18
    OUTPUT_CHANNEL_TRANSFER_DONE_INTERRUPT = 19
    MODULE_CONFIG_DONE_INTERRUPT = 20
    APPLICATION_CHANGE_INTERRUPT = 21
    ACTIVATE_CFG_CHANNEL = 22
    DEACTIVATE_CFG_CHANNEL = 23
    REPEATED_ACTION = 24
    WAIT_FOR_DMA_IDLE_ACTION = 25
    WAIT_FOR_NMS = 26
    FETCH_CCW_BURSTS = 27
    VALIDATE_VDMA_CHANNEL = 28
    BURST_CREDITS_TASK_START = 29
    BURST_CREDITS_TASK_RESET = 30
    DDR_BUFFERING_RESET = 31
    OPEN_BOUNDARY_INPUT_CHANNEL = 32
    OPEN_BOUNDARY_OUTPUT_CHANNEL = 33
    ENABLE_NMS = 34
    WRITE_DATA_BY_TYPE = 35
    SWITCH_LCU_BATCH = 36
    CHANGE_BOUNDARY_INPUT_BATCH = 37
    PAUSE_VDMA_CHANNEL = 38
    RESUME_VDMA_CHANNEL = 39
    ACTIVATE_CACHE_INPUT = 40
    ACTIVATE_CACHE_OUTPUT = 41
    WAIT_FOR_CACHE_UPDATED = 42
    SLEEP = 43
    HALT = 44


_LARGEST_TYPE = 0xFF  # a byte of the action header


class OwnActionType(int):
    """The type of an action that a user adds: a number and a name, as a member of `ActionType` has them."""

    name: str

    @property
    def value(self) -> int:
        return int(self)

    def __repr__(self) -> str:
        return f"<own action {self.name}: {int(self)}>"


def own_type(number: int, name: str) -> ActionType:
    """The type of an action class from outside; UsageError for a number or name that the firmware has, or none may."""
    for kind in ActionType:
        if number == kind or name == kind.name:
            raise UsageError(f"action {number} {name}: the firmware has {kind.name}, which is {kind.value}")
    if not 0 <= number <= _LARGEST_TYPE or not name.isidentifier():
        raise UsageError(f"action {number} {name!r}: a number of one byte and a name like those of others, please")
    made = OwnActionType(number)
    made.name = name
    return cast(ActionType, made)  # which cannot be extended; it is one wherever an action's type is asked for


class Target(Enum):
    """What an action names, starts or waits for."""

    LCU = "LCU"
    SEQUENCER = "sequencer"
    CONFIG = "config bus"
    CONFIG_STREAM = "config stream"
    CHANNEL = "channel"
    NMS = "NMS"
    HOST = "host"
    APPLICATION = "application change"


class Role(Enum):
    """What an action is for; each has one."""

    WAIT = "goes on once what it waits for has happened"
    BARRIER = "acts on everything configured so far: nothing may move across it"
    START = "starts a unit"
    STOP = "stops a unit"
    FETCH = "fetches configuration"
    OPEN = "opens the host side of a boundary channel"
    ACTIVATE = "configures an edge layer"
    CLOSE = "closes a channel"
    SET = "changes one channel, or checks it"
    CONFIG_CHANNEL = "opens a config channel"


class Edge(Enum):
    """The kind of edge layer that an ACTIVATE action configures."""

    BOUNDARY = "boundary"
    INTER_CONTEXT = "inter-context"
    DDR = "DDR"
    CACHE = "cache"


class Field(Struct, frozen=True):
    """A field of an action: its struct code unless the runtime says otherwise, and the unit that its value names.

    `shift`: bits below the cluster's number where the value names a cluster or something in one; -1: it names none.
    """

    code: str
    names: Target | None = None
    shift: int = -1


def _field(code: str, names: Target | None = None, shift: int = -1) -> Any:
    return Field(code, names, shift)


U8, U16, U32, U64 = map(_field, "BHIQ")
CHANNEL = _field("B", Target.CHANNEL)
LCU = _field("B", Target.LCU, 4)
CLUSTER = _field("B", Target.SEQUENCER, 0)
CONFIG_STREAM = _field("B", Target.CONFIG_STREAM)
NMS_UNIT = _field("B", Target.NMS)
INHERITED: Any = "the fields of the base classes stand here"

ACTIONS: dict[ActionType, type[Action]] = {}
_new: Any = tuple.__new__
# constructors that take just as many values, faster than counting them
_CONSTRUCTORS: dict[int, Any] = {
    0: lambda cls: _new(cls),
    1: lambda cls, a: _new(cls, (a,)),
    2: lambda cls, a, b: _new(cls, (a, b)),
    3: lambda cls, a, b, c: _new(cls, (a, b, c)),
    4: lambda cls, a, b, c, d: _new(cls, (a, b, c, d)),
    5: lambda cls, a, b, c, d, e: _new(cls, (a, b, c, d, e)),
}


def _counted(cls: type[Action], *values: int) -> Any:
    if len(values) != len(cls.NAMES):
        raise TypeError(f"{cls.__name__} has {len(cls.NAMES)} fields, {len(values)} values given")
    return _new(cls, values)


class _ActionClass(type):
    """Makes an action class of its annotated fields; no code is generated, so that 44 of them cost little to load."""

    def __new__(mcs, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **traits: Any) -> _ActionClass:
        own = {key for key, value in namespace.items() if isinstance(value, Field)}
        inherited = [item for base in bases for item in getattr(base, "FIELDS", {}).items()]
        fields: dict[str, Field] = {}
        for key, value in namespace.items():
            if value is INHERITED:
                fields.update(inherited)
            elif key in own:
                fields[key] = value
        namespace.pop("_inherited", None)
        fields = fields or dict(inherited)
        namespace.update((key, property(itemgetter(at))) for at, key in enumerate(fields))
        namespace["__slots__"] = ()
        namespace["FIELDS"] = fields
        namespace["NAMES"] = tuple(fields)
        namespace["__new__"] = _CONSTRUCTORS.get(len(fields), _counted)
        made = super().__new__(mcs, name, bases, namespace)
        if traits:
            _declare(made, **traits)
        return made

    def __init__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **traits: Any) -> None:
        super().__init__(name, bases, namespace)


def _declare(
    made: Any,
    *,
    type: ActionType,
    role: Role,
    repeatable: bool,
    starts: Target | None,
    waits_for: Target | None,
    grants: bool = False,
    sets_up: bool = False,
    edge: Edge | None = None,
    inward: bool = False,
) -> None:
    made.type, made.role, made.repeatable, made.starts, made.waits_for = type, role, repeatable, starts, waits_for
    made.grants, made.sets_up, made.edge, made.inward = grants, sets_up, edge, inward
    if isinstance(type, OwnActionType):
        ACTIONS.pop(type, None)
        forget()  # the wires that were made without it
    ACTIONS[type] = made


def remove_own(made: type[Action]) -> None:
    """Lists no longer hold the action; KeyError for one of the firmware, or one that is not there."""
    if not isinstance(made.type, OwnActionType):
        raise KeyError(made.type)
    del ACTIONS[made.type]
    forget()


class Action(tuple[int, ...], metaclass=_ActionClass):
    """One action: the values of its fields in the order of the wire.

    Traits, said by every class: `role`; `repeatable`: the runtime merges runs of it into a REPEATED_ACTION
    (hef-compile.md 4.9); `starts`: the unit whose completion a later wait can be for; `waits_for`: what it waits for.
    `grants`: lets frames flow; `sets_up`: names what a context works with, so that a preliminary list that ran as
    context 0 must have held the same; `edge`: the kind of edge layer that it configures,
    `inward` where its frames go into the core.
    """

    type: ClassVar[ActionType]
    role: ClassVar[Role]
    repeatable: ClassVar[bool]
    starts: ClassVar[Target | None]
    waits_for: ClassVar[Target | None]
    grants: ClassVar[bool]
    sets_up: ClassVar[bool]
    edge: ClassVar[Edge | None]
    inward: ClassVar[bool]
    FIELDS: ClassVar[dict[str, Field]]
    NAMES: ClassVar[tuple[str, ...]]

    if TYPE_CHECKING:

        def __new__(cls, *values: int) -> Self: ...  # TypeError for another number of values than fields

    def __getnewargs__(self) -> tuple[int, ...]:
        return tuple(self)

    def __eq__(self, other: object) -> bool:
        return self.__class__ is other.__class__ and tuple.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = tuple.__hash__

    def __repr__(self) -> str:
        return f"{self.__class__.__name__}({', '.join(f'{name}={value}' for name, value in self.arguments().items())})"

    @property
    def values(self) -> tuple[int, ...]:
        return tuple(self)

    def value(self, name: str) -> int:
        """The field of that name; KeyError for a name that the action has not."""
        if name not in self.FIELDS:
            raise KeyError(name)
        found: int = getattr(self, name)
        return found

    def arguments(self) -> dict[str, int]:
        return dict(zip(self.NAMES, self, strict=True))


def make_action(kind: ActionType, values: tuple[int, ...]) -> Action:
    """The action of that type; TypeError for another number of values than it has fields."""
    return ACTIONS[kind](*values)


def variant(made: type[Action], codes: Mapping[str, str]) -> type[Action]:
    """The action of a runtime that has other fields, or has them in another order: struct codes by name.

    The traits stay; a field that it lacks is an AttributeError.
    """
    fields: dict[str, Any] = {
        name: replace(made.FIELDS[name], code=code) if name in made.FIELDS else Field(code)
        for name, code in codes.items()
    }
    lacking = {name: property(_lacking) for name in made.NAMES if name not in codes}
    return _ActionClass(made.__name__, (made,), {"__doc__": made.__doc__, **fields, **lacking})  # type: ignore[return-value]


def _lacking(action: Action) -> int:
    raise AttributeError(f"{action.type.name} has no such field in this runtime")


class HostBuffer(Action):
    """host_buffer_info (firmware-actions.md 1.1)."""

    buffer_type: int = U8
    dma_address: int = U64
    desc_page_size: int = U16
    total_desc_count: int = U32
    bytes_in_pattern: int = U32


class HostBufferType(IntEnum):
    """host_buffer_type (firmware-actions.md 1)."""

    EXTERNAL_DESC = 0
    CCB = 1


class HostBufferInfo(NamedTuple):
    """host_buffer_info (firmware-actions.md 1.1)."""

    buffer_type: int
    dma_address: int
    desc_page_size: int
    total_desc_count: int
    bytes_in_pattern: int

    @classmethod
    def of(cls, a: Any) -> HostBufferInfo:
        """That of an action which has one."""
        return cls(a.buffer_type, a.dma_address, a.desc_page_size, a.total_desc_count, a.bytes_in_pattern)

    @property
    def descriptors_per_transfer(self) -> int:
        """That its bytes take; none of pages of zero bytes, which are refused when a channel is activated."""
        return -(-self.bytes_in_pattern // self.desc_page_size) if self.desc_page_size else 0

    @property
    def full_descriptors(self) -> int:
        """That its bytes fill; none of pages of zero bytes."""
        return self.bytes_in_pattern // self.desc_page_size if self.desc_page_size else 0


HOST_BUFFER: Mapping[str, str] = {name: field.code for name, field in HostBuffer.FIELDS.items()}


def having(**traits: object) -> frozenset[ActionType]:
    """The types of the actions that have these traits: `having(role=Role.WAIT)`, `having(repeatable=True)`."""
    return frozenset(
        kind for kind, made in ACTIONS.items() if all(getattr(made, trait) == want for trait, want in traits.items())
    )

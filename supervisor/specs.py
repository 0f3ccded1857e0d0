"""Specifications: what to start, when to restart, how long to wait. Checked when they are made."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from enum import Enum, StrEnum
from typing import Any, Final, Literal

from msgspec import Struct

from .errors import ErrorClass
from .exits import ExitReason
from .refusals import InvalidSpec


class RestartType(StrEnum):
    """When a child that ended is started again."""

    PERMANENT = "permanent"  # always
    TRANSIENT = "transient"  # after an abnormal end only
    TEMPORARY = "temporary"  # never, and its specification is forgotten


class ChildType(StrEnum):
    """What a child shows itself as; a function that runs a tree of its own is a supervisor too."""

    WORKER = "worker"
    SUPERVISOR = "supervisor"


class Strategy(StrEnum):
    """Whom the restart of one child concerns."""

    ONE_FOR_ONE = "one_for_one"
    ONE_FOR_ALL = "one_for_all"
    REST_FOR_ONE = "rest_for_one"


class AutoShutdown(StrEnum):
    """Whether the end of significant children ends their supervisor."""

    NEVER = "never"
    ANY_SIGNIFICANT = "any_significant"
    ALL_SIGNIFICANT = "all_significant"


class Brutal(Enum):
    """Type of ``BRUTAL_KILL``."""

    KILL = "brutal_kill"


BRUTAL_KILL: Final = Brutal.KILL
ShutdownTime = float | None | Literal[Brutal.KILL]


class RestartRule(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One row of a restart table: what to do after a crash of this class.

    The wait before the k-th restart in a row is ``delay_s_first * 2 ** (k - 1)`` seconds, at most
    ``delay_s_max``. A life of at least ``delay_s_max`` seconds begins a new row.
    """

    restart: bool
    delay_s_first: float = 0.0
    delay_s_max: float = 30.0

    def __post_init__(self) -> None:
        if not 0 <= self.delay_s_first <= self.delay_s_max:
            raise InvalidSpec(
                f"delay_s_first={self.delay_s_first} must lie between 0 and "
                f"delay_s_max={self.delay_s_max}"
            )


RestartTable = Mapping[ErrorClass, RestartRule]
Restart = RestartType | RestartTable


class ChildSpec(Struct, frozen=True, kw_only=True):
    """A child that is an async function.

    Args:
        id: unique among its siblings, without ``/``.
        start: the body, called with its `Context`. The child lives for as long as it runs.
        restart: a restart type, or a table by error class. With a table a normal end is final, and
            a class that is missing is not restarted.
        shutdown_s: seconds between the request to stop and giving the child up. None: no limit.
            ``BRUTAL_KILL``: cancelled as killed, and given up after the kernel's ``kill_grace_s``.
        significant: its end may end the supervisor, see ``AutoShutdown``.
        wait_ready: the start is done when the body calls ``ctx.ready()``, and fails if it raises
            or returns before. Otherwise it is done at once.
        start_s_max: seconds within which the body must be ready. None: no limit.
        mailbox_max: messages that may wait; more are refused.
        on_demand: hold no task while idle. A message starts the body; when it returns the child
            is idle again, up to the next message. Ends only by an error or by being stopped.
        type: what ``which_children`` and ``count_children`` show it as; nothing else.
    """

    id: str
    start: Callable[[Any], Awaitable[object]]
    restart: Restart = RestartType.PERMANENT
    shutdown_s: ShutdownTime = 5.0
    significant: bool = False
    wait_ready: bool = False
    start_s_max: float | None = None
    mailbox_max: int = 1024
    on_demand: bool = False
    type: ChildType = ChildType.WORKER

    def __post_init__(self) -> None:
        _check_child(self.id, self.restart, self.shutdown_s, self.significant)
        if fault := self._fault():
            raise InvalidSpec(f"child {self.id!r}: {fault}")

    def _fault(self) -> str | None:
        if not callable(self.start):
            return f"start={self.start!r} cannot be called"
        if not _is_a(self.type, ChildType):
            return f"type={self.type!r} is no ChildType"
        if self.mailbox_max < 1:
            return f"mailbox_max={self.mailbox_max} is below 1"
        if self.start_s_max is not None and not (self.wait_ready and self.start_s_max >= 0):
            return f"start_s_max={self.start_s_max} needs wait_ready=True and seconds >= 0"
        if self.on_demand and self.wait_ready:
            return "on_demand=True is ready at once; leave wait_ready out"
        return None


class SupervisorSpec(Struct, frozen=True, kw_only=True):
    """A supervisor over a fixed list of children; as a child itself, it is of type supervisor.

    Args:
        children: in start order. A function is called at every start of this supervisor; what it
            raises fails that start, ``IgnoreStart`` leaves the supervisor out.
        intensity: more than this many restarts within ``period_s`` seconds end the supervisor.
            None: no limit.
        shutdown_s: as for a child; None (default) gives its children the time they need.
    """

    id: str
    children: "Children" = ()
    strategy: Strategy = Strategy.ONE_FOR_ONE
    intensity: int | None = 1
    period_s: float = 5.0
    auto_shutdown: AutoShutdown = AutoShutdown.NEVER
    restart: Restart = RestartType.PERMANENT
    shutdown_s: ShutdownTime = None
    significant: bool = False

    def __post_init__(self) -> None:
        _check_child(self.id, self.restart, self.shutdown_s, self.significant)
        _check_flags(self.id, self.intensity, self.period_s, self.auto_shutdown)
        if not _is_a(self.strategy, Strategy):
            raise InvalidSpec(f"supervisor {self.id!r}: strategy={self.strategy!r} is no Strategy")
        if not callable(self.children):
            check_childspecs(self.children, self.auto_shutdown)


class DynamicSpec(Struct, frozen=True, kw_only=True):
    """A supervisor whose children come by ``start_child`` and are forgotten when they end.

    Children are independent of one another, and are stopped all at the same time.

    Args:
        intensity: limit for all children together; beyond it the supervisor ends and its parent
            decides, so a mass failure is not restarted for ever. None: no such limit.
        child_intensity: restarts of one child within ``child_period_s`` seconds; beyond it that
            child is given up and the supervisor goes on. None: no such limit.
        children_max: children at one time, restarting ones included. None: no limit.
        template: one specification for all; ``start_child`` then takes the id of an instance.
        initial: children to begin with, asked for at every start of this supervisor.
        on_give_up: called with id and reason of a child that ended abnormally for good.
    """

    id: str
    intensity: int | None = 3
    period_s: float = 5.0
    child_intensity: int | None = None
    child_period_s: float = 5.0
    children_max: int | None = None
    template: "ChildSpec | SupervisorSpec | None" = None
    initial: "Callable[[], Iterable[ChildSpec | SupervisorSpec]] | None" = None
    on_give_up: "Callable[[str, ExitReason], None] | None" = None
    auto_shutdown: AutoShutdown = AutoShutdown.NEVER
    restart: Restart = RestartType.PERMANENT
    shutdown_s: ShutdownTime = None
    significant: bool = False

    def __post_init__(self) -> None:
        _check_child(self.id, self.restart, self.shutdown_s, self.significant)
        _check_flags(self.id, self.intensity, self.period_s, self.auto_shutdown)
        _check_flags(self.id, self.child_intensity, self.child_period_s, self.auto_shutdown)
        if self.children_max is not None and self.children_max < 0:
            raise InvalidSpec(
                f"supervisor {self.id!r}: children_max={self.children_max} is below 0"
            )
        if self.template is not None:
            check_childspecs((self.template,), self.auto_shutdown)


Spec = ChildSpec | SupervisorSpec | DynamicSpec
Children = tuple[Spec, ...] | Callable[[], Iterable[Spec]]


def check_childspecs(
    specs: Iterable[Spec], auto_shutdown: AutoShutdown = AutoShutdown.NEVER
) -> tuple[Spec, ...]:
    """Check a list of children without starting anything, and return it.

    Raises:
        InvalidSpec: two share an id, one is no specification, or one is significant where nothing
            can come of it.
    """
    seen: set[str] = set()
    found = tuple(specs)
    for spec in found:
        check_childspec(spec, auto_shutdown)
        if spec.id in seen:
            raise InvalidSpec(f"two children have the id {spec.id!r}")
        seen.add(spec.id)
    return found


def check_childspec(spec: Spec, auto_shutdown: AutoShutdown) -> None:
    """Check whether a supervisor can have this child."""
    if not _is_a(spec, ChildSpec, SupervisorSpec, DynamicSpec):
        raise InvalidSpec(f"{spec!r} is no ChildSpec, SupervisorSpec or DynamicSpec")
    if spec.significant and auto_shutdown is AutoShutdown.NEVER:
        raise InvalidSpec(
            f"child {spec.id!r} is significant, but auto_shutdown of its supervisor is never"
        )


def _is_a(value: object, *kinds: type) -> bool:
    """Check a type that annotations promise already; they are not enforced."""
    return isinstance(value, kinds)


def check_id(id: object) -> None:
    """Check the id of a child.

    Raises:
        InvalidSpec: it could not be part of a path.
    """
    if not isinstance(id, str) or id == "" or "/" in id:
        raise InvalidSpec(f"id={id!r} must be a text that is not empty and has no '/'")


_USUAL = (RestartType, dict)
_NUMBER = (int, float)


def _check_child(id: object, restart: object, shutdown_s: object, significant: object) -> None:
    check_id(id)
    # The usual kinds first: to ask an abstract class, or to join two classes, costs more than all else.
    if not isinstance(restart, _USUAL) and not isinstance(restart, Mapping):
        raise InvalidSpec(
            f"child {id!r}: restart={restart!r} is neither a RestartType nor a table by error class"
        )
    if not (shutdown_s is None or shutdown_s is BRUTAL_KILL or _seconds(shutdown_s)):
        raise InvalidSpec(
            f"child {id!r}: shutdown_s={shutdown_s!r} must be seconds >= 0, None or BRUTAL_KILL"
        )
    if significant is not False and (significant is not True or restart is RestartType.PERMANENT):
        raise InvalidSpec(
            f"child {id!r}: a permanent child never ends for good, so it cannot be significant"
        )


def _seconds(value: object) -> bool:
    return isinstance(value, _NUMBER) and not isinstance(value, bool) and value >= 0


def _check_flags(id: str, intensity: object, period_s: object, auto_shutdown: object) -> None:
    whole = isinstance(intensity, int) and not isinstance(intensity, bool) and intensity >= 0
    if intensity is not None and not whole:
        raise InvalidSpec(
            f"supervisor {id!r}: intensity={intensity!r} must be an integer >= 0 or None"
        )
    if not _seconds(period_s) or period_s == 0:
        raise InvalidSpec(f"supervisor {id!r}: period_s={period_s!r} must be seconds above 0")
    if not isinstance(auto_shutdown, AutoShutdown):
        raise InvalidSpec(f"supervisor {id!r}: auto_shutdown={auto_shutdown!r} is no AutoShutdown")

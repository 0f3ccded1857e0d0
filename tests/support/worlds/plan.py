"""A world as plain data: everything that will go wrong in it, drawn from a seed or made smaller."""

from typing import Literal

from msgspec import Struct

How = Literal[
    "ok",
    "slow",
    "transient",
    "limited",
    "limited_long",
    "invalid",
    "denied",
    "rejected",
    "refused",
    "planning",
    "bug",
    "unknown",
    "cut_before",
    "cut_after",
    "timeout_before",
    "timeout_after",
    "hang_before",
    "hang_after",
    "late",
]
"""How one attempt goes. ``_before`` and ``_after``: its effect, which a ``late`` one has by itself."""

SURE: frozenset[str] = frozenset(
    ("transient", "limited", "limited_long", "invalid", "denied", "rejected", "refused", "planning")
)
"""The attempt raises an error that says that nothing was executed, and nothing was."""

Kind = Literal[
    "read",
    "safe",
    "safe_undoable",
    "keyed",
    "probed",
    "plain",
    "undoable",
    "undoable_keyed",
    "danger",
    "prepared",
    "prepared_keyed",
    "thread_plain",
    "thread_keyed",
    "beside",
    "beside_undoable",
]
"""Tools, by their marks; see `tools`."""

ModelFault = Literal[
    "transient", "limited", "timeout", "denied", "unknown", "bug", "hang", "overflow", "refused"
]


Broken = Literal["", "malformed", "cut_off"]
DeedKind = Literal["send", "cancel", "back"]
StoreFaultKind = Literal["fail", "lost", "slow", "read"]
OnDenied = Literal["conclude", "stop"]


class Call(Struct, frozen=True, omit_defaults=True):
    """A call: of which tool, about what, and how its attempts go; after the last of them, well.

    ``undo`` says the same of its compensation, ``probe`` of its probe. The same ``what`` again is the same
    order, planned anew; how its attempts go is said the first time.
    """

    kind: Kind
    what: str
    tries: tuple[How, ...] = ()
    undo: tuple[How, ...] = ()
    probe: tuple[How, ...] = ()


class Turn(Struct, frozen=True, omit_defaults=True):
    """What the model says next: calls, or a last text. ``faults`` come before it is said.

    ``broken``: its first call has arguments that are no JSON, or it was cut off in the middle.
    """

    calls: tuple[Call, ...] = ()
    says: str = ""
    faults: tuple[ModelFault, ...] = ()
    broken: Broken = ""


Answer = Literal["approve", "deny", "edit", "ignore"]
Habit = Literal["resolve", "abandon", "go_on", "retry", "cancel", "settle", "thaw", "back"]


class Plan(Struct, frozen=True, omit_defaults=True):
    """A session: what its model says, its limits, and how people treat it.

    ``answers`` to requests for approval, and ``habits`` at handovers, are used one after the other; the
    last answer lasts, after the last habit it is left alone.
    """

    id: str
    turns: tuple[Turn, ...]
    start_s: float = 0.0
    limits: dict[str, float] = {}
    on_failure: Literal["undo", "freeze"] = "undo"
    answers: tuple[Answer, ...] = ("approve",)
    habits: tuple[Habit, ...] = ()


class Deed(Struct, frozen=True):
    """Something a user does to a session, so many seconds after the world began."""

    at_s: float
    session: str
    what: DeedKind


Point = Literal["commit_before", "commit_after", "enter", "effect", "model", "round"]


class Kill(Struct, frozen=True):
    """The process dies at the ``at``-th of these in its life; it is started again after ``down_s``."""

    point: Point
    at: int
    down_s: float = 1.0


class StoreFault(Struct, frozen=True):
    """The store goes wrong at the ``at``-th call of its kind in the world, ``times`` times in a row.

    ``fail``: nothing was stored; ``lost``: it was, and the caller gets an error; ``slow``: it takes
    ``delay_s`` seconds before anything is stored.
    """

    at: int
    do: StoreFaultKind
    times: int = 1
    delay_s: float = 1.0


class Jump(Struct, frozen=True):
    """The wall clock is set forward or back."""

    at_s: float
    by_s: float


class Twin(Struct, frozen=True):
    """A second process on the same store, for ``stays_s`` seconds; the first is cut off from the store
    for ``cut_off_s`` seconds from then on."""

    at_s: float
    stays_s: float = 20.0
    cut_off_s: float = 0.0


class Rules(Struct, frozen=True, omit_defaults=True):
    """The policy, and what else is set for the whole world."""

    attempts_max: int = 4
    park_after_s: float | None = 60.0
    expires_s: float | None = 300.0
    on_denied: OnDenied = "conclude"
    retry_s_max: float = 5.0
    breaker_min: int | None = 20
    lease_s: float = 10.0
    ask_s: float = 5.0
    knows_dead: bool = True
    restarts_max: int = 0


class World(Struct, frozen=True, omit_defaults=True):
    """All of it. The seed still draws how long things take, and the order in which tasks run."""

    seed: int
    sessions: tuple[Plan, ...]
    deeds: tuple[Deed, ...] = ()
    kills: tuple[Kill, ...] = ()
    faults: tuple[StoreFault, ...] = ()
    jumps: tuple[Jump, ...] = ()
    twins: tuple[Twin, ...] = ()
    rules: Rules = Rules()

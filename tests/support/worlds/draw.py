"""A world drawn from a seed."""

from random import Random
from typing import Any, TypeVar, get_args

from .plan import (
    Answer,
    Broken,
    Call,
    Deed,
    DeedKind,
    Habit,
    How,
    Jump,
    Kill,
    Kind,
    ModelFault,
    OnDenied,
    Plan,
    Point,
    Rules,
    StoreFault,
    StoreFaultKind,
    Turn,
    Twin,
    World,
)

T = TypeVar("T")

BROKEN: tuple[Broken, ...] = get_args(Broken)
DEEDS: tuple[DeedKind, ...] = get_args(DeedKind)
STORE_FAULTS: tuple[StoreFaultKind, ...] = get_args(StoreFaultKind)
ON_DENIED: tuple[OnDenied, ...] = ("conclude", "conclude", "stop")
KINDS: tuple[Kind, ...] = get_args(Kind)
UNSAFE_KINDS: tuple[Kind, ...] = ("plain", "probed", "undoable", "thread_plain", "prepared")
BESIDE: tuple[Kind, ...] = ("read", "beside", "beside_undoable")
FAULTS: tuple[ModelFault, ...] = get_args(ModelFault)
POINTS: tuple[Point, ...] = get_args(Point)

PASSING: tuple[How, ...] = ("transient", "limited", "limited_long", "cut_before", "cut_after")
DOUBTFUL: tuple[How, ...] = (
    "cut_before",
    "cut_after",
    "timeout_before",
    "timeout_after",
    "hang_before",
    "hang_after",
    "late",
)
FINAL: tuple[How, ...] = ("invalid", "denied", "rejected", "refused", "planning", "bug", "unknown")

HOWS: tuple[tuple[How, ...], ...] = (PASSING, DOUBTFUL, FINAL, ("slow",))
PROBES: tuple[How, ...] = ("transient", "cut_before")

LAST_WORDS = (
    "I am through.",
    "Finished; not everything could be ordered.",
    "That is all.",
)


def draw(seed: int) -> World:
    """Return the world of a seed. Pure."""
    dice = Random(f"world {seed}")
    sessions = tuple(_session(dice, f"s{at}") for at in range(dice.choice((1, 1, 2, 2, 3, 4))))
    return World(
        seed=seed,
        sessions=sessions,
        deeds=_some(dice, 0.3, lambda: _deed(dice, sessions)),
        kills=_some(dice, 0.6, lambda: _kill(dice)),
        faults=_some(dice, 0.5, lambda: _fault(dice)),
        jumps=_some(dice, 0.15, lambda: Jump(_s(dice, 60), dice.choice((-900, -30, 30, 900)))),
        twins=_some(dice, 0.15, lambda: _twin(dice), most=2),
        rules=_rules(dice),
    )


def _some(dice: Random, share: float, one: Any, most: int = 4) -> tuple[Any, ...]:
    """Draw some of a thing, or none: each further one has this chance."""
    found: list[Any] = []
    while len(found) < most and dice.random() < share:
        found.append(one())
    return tuple(found)


def _s(dice: Random, most: float) -> float:
    """Draw seconds, small ones more often."""
    return round(most * dice.random() ** 2, 3)


def _session(dice: Random, name: str) -> Plan:
    turns: list[Turn] = []
    known: list[Call] = []
    for at in range(dice.randint(1, 6)):
        turns.append(_turn(dice, f"{name}t{at}", known))
    turns.append(Turn(says=dice.choice(LAST_WORDS), faults=_model_faults(dice)))
    for at in range(dice.randint(0, 2)):  # what it does when it is sent on
        turns.append(_turn(dice, f"{name}m{at}", known))
        turns.append(Turn(says=dice.choice(LAST_WORDS)))
    answers: tuple[Answer, ...] = get_args(Answer)
    habits: tuple[Habit, ...] = get_args(Habit)
    return Plan(
        id=name,
        turns=tuple(turns),
        start_s=_s(dice, 20),
        limits=_limits(dice),
        on_failure="freeze" if dice.random() < 0.15 else "undo",
        answers=tuple(dice.choices(answers, (6, 2, 1, 1), k=2)),
        habits=tuple(dice.choices(habits, (6, 1, 3, 2, 1, 3, 1, 1), k=dice.randint(0, 5))),
    )


def _turn(dice: Random, name: str, known: list[Call]) -> Turn:
    if known and dice.random() < 0.2:
        again = dice.choice(known)
        return Turn((Call(again.kind, again.what),), faults=_model_faults(dice))
    if dice.random() < 0.25:
        kinds: list[Kind] = [
            dice.choice(BESIDE if dice.random() < 0.7 else KINDS) for _ in range(3)
        ]
    else:
        kinds = [dice.choice(UNSAFE_KINDS if dice.random() < 0.4 else KINDS)]
    calls = tuple(_call(dice, kind, f"{name}c{at}") for at, kind in enumerate(kinds))
    known.extend(calls)
    broken = dice.choices(BROKEN, (30, 1, 1))[0]
    return Turn(calls, faults=_model_faults(dice), broken=broken)


def _call(dice: Random, kind: Kind, what: str) -> Call:
    return Call(
        kind,
        what,
        _tries(dice, 0.35),
        _tries(dice, 0.3),
        tuple(dice.choice(PROBES) for _ in range(dice.choice((0, 0, 0, 1, 5)))),
    )


def _tries(dice: Random, share: float) -> tuple[How, ...]:
    found: list[How] = []
    while len(found) < 5 and dice.random() < share:
        hows: tuple[How, ...] = dice.choices(HOWS, (4, 4, 2, 1))[0]
        found.append(dice.choice(hows))
    return tuple(found)


def _model_faults(dice: Random) -> tuple[ModelFault, ...]:
    return _some(dice, 0.08, lambda: dice.choice(FAULTS))


def _limits(dice: Random) -> dict[str, float]:
    limits: dict[str, float] = {"seconds": dice.choice((3600, 600, 60))}
    if dice.random() < 0.2:
        limits["tool_calls"] = dice.randint(1, 6)
    if dice.random() < 0.1:
        limits["steps"] = dice.randint(1, 4)
    if dice.random() < 0.1:
        limits["retries"] = dice.randint(0, 2)
    if dice.random() < 0.1:
        limits["model_calls"] = dice.randint(1, 6)
    return limits


def _deed(dice: Random, sessions: tuple[Plan, ...]) -> Deed:
    what = dice.choices(DEEDS, (3, 2, 1))[0]
    return Deed(_s(dice, 40), dice.choice(sessions).id, what)


def _twin(dice: Random) -> Twin:
    return Twin(_s(dice, 30), dice.choice((5.0, 20.0, 60.0)), dice.choice((0.0, 3.0, 20.0, 45.0)))


def _kill(dice: Random) -> Kill:
    point = dice.choice(POINTS)
    most = {"commit_before": 40, "commit_after": 40, "round": 800}.get(point, 8)
    return Kill(point, dice.randint(1, most), dice.choice((0.1, 1.0, 20.0)))


def _fault(dice: Random) -> StoreFault:
    do = dice.choices(STORE_FAULTS, (4, 4, 3, 2))[0]
    return StoreFault(dice.randint(1, 60), do, dice.choice((1, 1, 2, 30)), dice.choice((0.5, 4.0)))


def _rules(dice: Random) -> Rules:
    return Rules(
        attempts_max=dice.choice((1, 2, 4)),
        park_after_s=dice.choice((0.5, 60.0, None)),
        expires_s=dice.choice((20.0, 300.0)),
        on_denied=dice.choice(ON_DENIED),
        retry_s_max=dice.choice((0.5, 5.0)),
        breaker_min=dice.choice((2, 20, None)),
        lease_s=dice.choice((5.0, 10.0, 30.0)),
        ask_s=dice.choice((1.0, 5.0)),
        knows_dead=dice.random() < 0.7,
        restarts_max=dice.choice((0, 0, 1)),
    )

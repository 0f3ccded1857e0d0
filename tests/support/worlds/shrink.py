"""A world that breaks a promise, made as small as it gets while it still breaks that one."""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from msgspec.structs import fields, replace

from .plan import Plan, Rules, Turn, World

RUNS_MAX = 600
"""Worlds lived at most to make one smaller."""


def kind_of(violation: str) -> str:
    """Return what a violation is about, without the names in it."""
    return re.sub(r"\b[sm]\d+\S*|\b[a-z_]+ (?=NAME)|\d+", "_", violation)


def shrink(
    world: World, breaks: Callable[[World], Sequence[str]], runs_max: int = RUNS_MAX
) -> World:
    """Return the smallest world found that still breaks the same promise.

    Args:
        breaks: lives a world, and returns its violations.
        runs_max: how many worlds may be lived for it.
    """
    wanted = {kind_of(each) for each in breaks(world)}
    runs = 0
    smaller = True
    while smaller:
        smaller = False
        # What is large is dropped first; after each success, all is tried again on what is left.
        for candidate in _smaller(world):
            if runs == runs_max:
                return world
            runs += 1
            if wanted & {kind_of(each) for each in breaks(candidate)}:
                world, smaller = candidate, True
                break
    return world


def _smaller(world: World) -> Iterator[World]:
    """Yield worlds with one thing less, the largest things first."""
    for name in ("sessions", "kills", "faults", "deeds", "jumps", "twins"):
        for fewer in _fewer(getattr(world, name), least=1 if name == "sessions" else 0):
            yield replace(world, **{name: fewer})
    for at, plan in enumerate(world.sessions):
        for less in _smaller_plan(plan):
            yield replace(world, sessions=_with(world.sessions, at, less))
    for at, fault in enumerate(world.faults):
        if fault.times > 1:
            yield replace(world, faults=_with(world.faults, at, replace(fault, times=1)))
    for at, kill in enumerate(world.kills):
        if kill.at > 1:
            yield replace(world, kills=_with(world.kills, at, replace(kill, at=kill.at // 2)))
            yield replace(world, kills=_with(world.kills, at, replace(kill, at=kill.at - 1)))
    for field in fields(Rules):
        if getattr(world.rules, field.name) != field.default:
            yield replace(world, rules=replace(world.rules, **{field.name: field.default}))


def _smaller_plan(plan: Plan) -> Iterator[Plan]:
    for turns in _fewer(plan.turns):
        yield replace(plan, turns=turns)
    for name in ("habits", "answers"):
        for fewer in _fewer(getattr(plan, name), least=1 if name == "answers" else 0):
            yield replace(plan, **{name: fewer})
    for at, turn in enumerate(plan.turns):
        for less in _smaller_turn(turn):
            yield replace(plan, turns=_with(plan.turns, at, less))
    for limit in plan.limits:
        yield replace(plan, limits={key: each for key, each in plan.limits.items() if key != limit})
    if plan.start_s:
        yield replace(plan, start_s=0.0)
    if plan.on_failure != "undo":
        yield replace(plan, on_failure="undo")


def _smaller_turn(turn: Turn) -> Iterator[Turn]:
    if turn.faults:
        yield replace(turn, faults=())
    if turn.broken:
        yield replace(turn, broken="")
    if len(turn.calls) > 1:
        for calls in _fewer(turn.calls, least=1):
            yield replace(turn, calls=calls)
    for at, call in enumerate(turn.calls):
        for name in ("tries", "undo", "probe"):
            for fewer in _fewer(getattr(call, name)):
                yield replace(turn, calls=_with(turn.calls, at, replace(call, **{name: fewer})))


def _fewer(items: tuple[Any, ...], least: int = 0) -> Iterator[tuple[Any, ...]]:
    """Yield the items without all, halves, and single ones of them."""
    count = len(items)
    if count > max(1, least):
        yield items[:least]
        if count > 3:
            yield items[: count // 2]
            yield items[count // 2 :]
    if count > least:
        for at in reversed(range(count)):
            yield items[:at] + items[at + 1 :]


def _with(items: tuple[Any, ...], at: int, item: Any) -> tuple[Any, ...]:
    return (*items[:at], item, *items[at + 1 :])

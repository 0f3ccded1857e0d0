"""When the other side was down, or refused for being asked too much: spells, found in the attempts of all
sessions together. Pure."""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from itertools import pairwise, takewhile

from msgspec import Struct

from .seen import Seen, Weather

WEIGHT = 2
"""Answers that weigh as much as one failure: in a spell at least a third of the attempts fail."""

ENOUGH = 4
"""Weight of failures above that of answers that makes a spell; less are failures by themselves."""

BEYOND = 6
"""Answers beyond each end that are kept: where a share fails, the first of them may be in the spell still."""

RUNS_MIN = 10
"""Failures, and answers, from which their order shows whether failures come in spells at all."""

WORD_S = 0.05
"""Behind the end that was told, a refusal does not yet disprove it: times are rounded."""

RUNS_FEWER = -1.64
"""Standard deviations below the runs of an order by chance, which one in twenty such orders is."""

DROP = 4
"""Weight of answers above that of failures behind which a spell has ended before them."""


class Spell(Struct, frozen=True, gc=False):
    """A time in which attempts failed.

    Attributes:
        befores: when attempts before it were made that did not fail, the last of them first; at most
            `BEYOND`, and none beyond another failure. None at all: the record begins with it.
        first, last: when the first and the last attempt in it were made that failed.
        afters: the same behind it, the first of them first. None at all: the record ends with it.
        until: the end, where the other side has told it.
        failed, passed: attempts in it.
    """

    kind: Weather
    befores: tuple[float, ...]
    first: float
    last: float
    afters: tuple[float, ...]
    until: float | None = None
    failed: int = 0
    passed: int = 0

    @property
    def before(self) -> float | None:
        """Return when the last attempt before it was made that did not fail."""
        return self.befores[0] if self.befores else None

    @property
    def after(self) -> float | None:
        """Return when the first attempt behind it was made that did not fail."""
        return self.afters[0] if self.afters else None

    @property
    def share(self) -> float:
        """Return the share of attempts in it that fail; that it ends with a failure says nothing of it."""
        if not self.passed:
            return 1.0
        return max(1, self.failed - 1) / (max(1, self.failed - 1) + self.passed)


class Found(Struct, frozen=True):
    """What the attempts at one place show.

    ``alone``: failures outside of every spell; ``outside``: all attempts there.
    """

    spells: tuple[Spell, ...] = ()
    alone: tuple[Seen, ...] = ()
    outside: int = 0


def found_in(seen: Iterable[Seen]) -> Found:
    """Return the spells, and what lies between them."""
    ordered = sorted(seen, key=lambda each: each.begin)
    down = _spells([each for each in ordered if each.weather != "limited"], "down")
    limited = _limits([each for each in ordered if each.weather != "down"])
    spells = sorted([*down, *limited], key=lambda each: each.first)
    alone, outside = _outside(ordered, spells)
    return Found(tuple(spells), tuple(alone), outside)


def _outside(ordered: Sequence[Seen], spells: Sequence[Spell]) -> tuple[list[Seen], int]:
    alone, outside = list[Seen](), 0
    kinds = [[each for each in spells if each.kind == kind] for kind in ("down", "limited")]
    for each in ordered:
        if not any(_within(each, of_kind) for of_kind in kinds):
            outside += 1
            if each.weather != "up":
                alone.append(each)
    return alone, outside


def _within(seen: Seen, spells: Sequence[Spell]) -> bool:
    """Tell whether an attempt belongs to one of these spells, which are in order and apart."""
    at = bisect_right(spells, seen.begin, key=lambda spell: spell.first) - 1
    if at < 0 or seen.begin > spells[at].last:
        return False
    return seen.weather in (spells[at].kind, "up")


def _spells(ordered: Sequence[Seen], kind: Weather) -> list[Spell]:
    """Find stretches in which failures outweigh answers: each from a failure to a failure."""
    if _by_chance([each.weather == kind for each in ordered]):
        return []
    spells: list[Spell] = []
    at = 0
    while at < len(ordered):
        if ordered[at].weather != kind:
            at += 1
            continue
        end, best = _stretch(ordered, at, kind)
        if best >= ENOUGH:
            spells.append(_spell(ordered, at, end, kind))
        at = end + 1
    return spells


def _by_chance(failed: Sequence[bool]) -> bool:
    """Tell whether failures follow each other as often as by chance (Wald and Wolfowitz's test of runs).

    Where many attempts fail, each by itself, two in a row are no outage.
    """
    fails = sum(failed)
    answers = len(failed) - fails
    if min(fails, answers) < RUNS_MIN:
        return False
    runs = 1 + sum(one != other for one, other in pairwise(failed))
    mean = 2 * fails * answers / len(failed) + 1
    deviation = math.sqrt((mean - 1) * (mean - 2) / (len(failed) - 1))
    return runs > mean + RUNS_FEWER * deviation


def _stretch(ordered: Sequence[Seen], start: int, kind: Weather) -> tuple[int, int]:
    """Return where the stretch that starts here ends, and by how much failures outweigh answers."""
    score = best = 0
    end = start
    for at in range(start, len(ordered)):
        score += WEIGHT if ordered[at].weather == kind else -1
        if score > best:
            best, end = score, at
        if score <= 0 or score <= best - DROP:
            break
    return end, best


def _spell(ordered: Sequence[Seen], start: int, end: int, kind: Weather) -> Spell:
    inside = ordered[start : end + 1]
    failed = sum(each.weather == kind for each in inside)
    return Spell(
        kind,
        befores=_answers(ordered[max(0, start - BEYOND) : start][::-1]),
        first=ordered[start].begin,
        last=ordered[end].begin,
        afters=_answers(ordered[end + 1 : end + 1 + BEYOND]),
        failed=failed,
        passed=len(inside) - failed,
    )


def _answers(beyond: Sequence[Seen]) -> tuple[float, ...]:
    """Return when these were made, up to the first that failed."""
    return tuple(each.begin for each in takewhile(lambda each: each.weather == "up", beyond))


def _limits(ordered: Sequence[Seen]) -> list[Spell]:
    """Find the times in which the other side refused for being asked too much.

    Where it has said for how long, it refuses until then; answers in that time make it a share. Where it
    refused again soon behind that, and answered nobody in between, the time goes on, and its word was too
    short: what it says there of ends is not taken for them.
    """
    limited = [each for each in ordered if each.weather == "limited"]
    if not any(each.retry_after for each in limited):
        return _spells(ordered, "limited")
    answered = [each.begin for each in ordered if each.weather == "up"]
    windows: list[_Window] = []
    for each in limited:
        end = each.begin + each.took_s + (each.retry_after or 0.0)
        last = windows[-1] if windows else None
        if last is not None and (each.begin <= last.until or last.went_on(each.begin, answered)):
            last.kept = last.kept and each.begin <= last.until + WORD_S
            last.last, last.until = each.begin, max(last.until, end)
            last.failed += 1
        else:
            windows.append(_Window(each.begin, each.begin, end))
    kept = all(each.kept for each in windows)
    return [_limit(answered, each, kept=kept) for each in windows]


class _Window(Struct):
    """A time of refusing as it grows. ``until``: the end that was told; ``kept``: that was not too short."""

    first: float
    last: float
    until: float
    failed: int = 1
    kept: bool = True

    def went_on(self, at: float, answered: Sequence[float]) -> bool:
        """Tell whether a refusal behind the told end is of the same time: no later behind it than the
        time had lasted by then, and nobody was answered since."""
        soon = at - self.until <= self.until - self.first
        return soon and bisect_left(answered, self.last) == bisect_right(answered, at)


def _limit(answered: Sequence[float], window: _Window, *, kept: bool) -> Spell:
    first, last, until = window.first, window.last, window.until
    start, end = bisect_left(answered, first), bisect_right(answered, last)
    return Spell(
        "limited",
        befores=tuple(answered[max(0, start - BEYOND) : start][::-1]),
        first=first,
        last=last,
        afters=tuple(answered[end : end + BEYOND]),
        until=until if kept else None,
        failed=window.failed,
        passed=(bisect_left(answered, until) if kept else end) - start,
    )

"""Policies compared over many worlds: intervals, differences, and what the record is too thin for. Pure.

Each world is drawn by a seed from what the record allows, and all policies meet the same ones. An
interval holds the given share of the worlds; the difference of two policies is taken within each world.
"""

import math
from collections import Counter
from collections.abc import Callable, Sequence

from msgspec import Struct

from ...supervisor.policy import Policy
from .asked import SEEDS, Outages
from .learning import Learned, Place
from .measures import METRICS, Measures, measured
from .playing import play
from .survival import ENDED_MIN
from .worlds import World

LEVEL = 0.95
SESSIONS_MIN = 20
SESSIONS_MIN_P99 = 100
FAILURES_MIN = 5
UNSURE_MAX = 0.2
"""Share of sessions that may rest on what the record does not tell."""

_OF_FAILURES = frozenset({"retries", "wasted", "peak_per_s", "in_doubt"})


class Estimate(Struct, frozen=True):
    """A number over all worlds: its mean, and the interval; ``cannot_say``: why it is none."""

    value: float
    low: float
    high: float
    cannot_say: str = ""


class Outlook(Struct, frozen=True):
    """What one policy leads to.

    Attributes:
        estimates: by the names in `METRICS`.
        differences: this policy less the first, within each world; empty for the first.
        reasons: sessions that are handed over, on average, by reason.
        peaks: most calls within a second, by upstream.
        unsure: share of sessions whose way rests on what the record does not tell.
    """

    name: str
    estimates: dict[str, Estimate]
    differences: dict[str, Estimate]
    reasons: dict[str, float]
    peaks: dict[str, Estimate]
    unsure: float


class Report(Struct, frozen=True):
    """All policies, on the same worlds. ``level``: share of the worlds that the intervals hold."""

    outlooks: tuple[Outlook, ...]
    level: float
    seeds: int
    seed: int
    outages: Outages
    decisions: int


Playing = Callable[[str, int], None]
"""Is told which policy is about to be played, and how many runs are done."""


def simulate(
    known: Learned,
    policies: Sequence[tuple[str, Policy]],
    *,
    seeds: int = SEEDS,
    seed: int = 1,
    outages: Outages = "replayed",
    on_run: Playing | None = None,
) -> Report:
    """Play the sessions under each policy, in as many worlds as there are seeds."""
    runs: list[list[Measures]] = [[] for _ in policies]
    done = decisions = 0
    for number in range(seed, seed + seeds):
        world = World(known, number, outages=outages)
        for at, (name, policy) in enumerate(policies):
            if on_run is not None:
                on_run(name, done)
            played = play(world, policy)
            runs[at].append(measured(played))
            decisions += played.decisions
            done += 1
    outlooks = tuple(
        _outlook(known, name, mine, runs[0] if at else None)
        for at, ((name, _), mine) in enumerate(zip(policies, runs, strict=True))
    )
    return Report(outlooks, attained(seeds), seeds, seed, outages, decisions)


def attained(seeds: int) -> float:
    """Return the share of worlds that an interval of so many holds: at most `LEVEL`, less for few."""
    return min(LEVEL, max(0.0, (seeds - 1) / (seeds + 1)))


def _outlook(
    known: Learned, name: str, runs: Sequence[Measures], first: Sequence[Measures] | None
) -> Outlook:
    unsure = sum(each.unsure for each in runs) / max(len(runs), 1)
    estimates: dict[str, Estimate] = {}
    differences: dict[str, Estimate] = {}
    for metric in METRICS:
        why = cannot_say(known, metric, unsure)
        mine = [each.numbers[metric] for each in runs]
        estimates[metric] = estimate(mine, why)
        if first is not None:
            pairs = zip(mine, first, strict=True)
            less = [one - other.numbers[metric] for one, other in pairs]
            differences[metric] = estimate(less, why)
    reasons: Counter[str] = Counter()
    for each in runs:
        reasons.update(each.reasons)
    places = sorted({place for each in runs for place in each.peaks})
    peaks = {
        place: estimate(
            [each.peaks.get(place, 0) for each in runs], cannot_say(known, "peak_per_s", unsure)
        )
        for place in places
    }
    shares = {reason: count / len(runs) for reason, count in sorted(reasons.items())}
    return Outlook(name, estimates, differences, shares, peaks, unsure)


def estimate(values: Sequence[float], why: str = "") -> Estimate:
    """Return the mean of one number over the worlds, and the interval between its order statistics."""
    ordered = sorted(values)
    count = len(ordered)
    if not count:
        return Estimate(0.0, 0.0, 0.0, why or "nothing was played")
    out = max(0, math.floor((count + 1) * (1 - LEVEL) / 2) - 1)
    return Estimate(sum(ordered) / count, ordered[out], ordered[count - 1 - out], why)


def cannot_say(known: Learned, metric: str, unsure: float) -> str:
    """Return why the record does not carry a number; empty where it does."""
    sessions = len(known.traces)
    least = SESSIONS_MIN_P99 if metric == "seconds_p99" else SESSIONS_MIN
    if sessions < least:
        return f"{_are(sessions, 'session')} recorded, {least} are needed"
    failures = known.failures + known.faults
    if metric in _OF_FAILURES and failures < FAILURES_MIN:
        return f"{_are(failures, 'failure')} recorded, {FAILURES_MIN} are needed"
    if unsure > UNSURE_MAX:
        return (
            f"{unsure:.0%} of the sessions meet what the record does not tell, such as an outage "
            f"whose end is not in it; {UNSURE_MAX:.0%} may"
        )
    return ""


def verdict(difference: Estimate) -> str:
    """Return what a difference between two policies shows: ``more``, ``less``, ``the same``, ``not shown``
    where worlds differ in it, or ``cannot say``."""
    if difference.cannot_say:
        return "cannot say"
    if difference.low == difference.high == 0.0:
        return "the same"
    if difference.low > 0.0:
        return "more"
    return "less" if difference.high < 0.0 else "not shown"


# ---------------------------------------------------------------- what it rests on


def replayed(known: Learned) -> list[str]:
    """Say what is taken from the record as it is, a line each."""
    lines = [
        (
            f"{_count(len(known.traces), 'session')}: when each began, its calls in order, side by side where they were, "
            "how long each took that was not hindered, its tokens and its own limits"
        ),
        "errors that no waiting mends, at the calls that met them",
    ]
    for name, place in known.places.items():
        if place.failed:
            lines.append(f"{name}: {_weather(place)}")
    if known.apart:
        lines.append(f"tools fail apart from each other at: {', '.join(known.apart)}")
    return lines


def _weather(place: Place) -> str:
    spells = place.found.spells
    outages = [each for each in spells if each.kind == "down"]
    limits = [each for each in spells if each.kind == "limited"]
    unended = sum(each.after is None for each in outages)
    parts: list[str] = []
    if outages:
        ended = f", {unended} without an end in the record" if unended else ""
        parts.append(f"{_count(len(outages), 'outage')}{ended}")
    if limits:
        parts.append(
            _count(len(limits), "time of refusing for too much", "times of refusing for too much")
        )
    alone = len(place.found.alone)
    if alone:
        alone_words = f"{alone} failures by themselves" if alone > 1 else "1 failure by itself"
        parts.append(f"{alone_words} in {_count(place.found.outside, 'attempt')}")
    return ", ".join(parts)


def _are(number: int, noun: str) -> str:
    return f"1 {noun} is" if number == 1 else f"{number} {noun}s are"


def _count(number: int, noun: str, nouns: str = "") -> str:
    return f"{number} {noun if number == 1 else nouns or noun + 's'}"


def assumed(known: Learned, outages: Outages) -> list[str]:
    """Say what no record can tell, and what is taken in its place, a line each."""
    lines = [
        (
            "an attempt fails by when it is made: in an outage as one that is recorded there, a share of them "
            "where some were answered"
        ),
        (
            "the first and the last attempt of an outage bound it; where it began and ended in the gaps around "
            "them is drawn, its end evenly on a scale of ratios"
        ),
        (
            "upstreams do not mind how much they are asked: limits and outages come as recorded, and no policy "
            "makes them worse or better"
        ),
        (
            "a session that was cut off goes on like another of its agent that came further, whatever became of "
            "that one, chosen by chance among those that had made the same calls"
        ),
        ("sub-sessions go on by themselves, and their parents' calls take as long as recorded"),
        (
            "probes, people, compensation, deaths of processes, loops and limits of groups and "
            "tenants are not played"
        ),
    ]
    if outages == "drawn":
        lines.append(
            "outages come at other times than recorded, as often and as long (Kaplan-Meier), where "
            f"{ENDED_MIN} ends are recorded"
        )
    for name, place in known.places.items():
        unended = [each for each in place.found.spells if each.after is None and not each.until]
        if unended and place.lengths.ended >= ENDED_MIN:
            lines.append(
                f"{name}: the outage that does not end in the record lasts as the others did (Kaplan-Meier)"
            )
        elif unended:
            lines.append(
                f"{name}: the outage that does not end in the record ends at once in half of the worlds and "
                f"never in the others; {_are(place.lengths.ended, 'end')} recorded, {ENDED_MIN} would give a curve"
            )
    return lines

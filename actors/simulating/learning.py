"""What the records of all sessions tell of each tool, model and upstream. Pure.

Each number here was seen. What is concluded from it, and what is only assumed, is said in summary.py.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence

from msgspec import Struct

from ...supervisor.failure import Traits
from .seen import CORRECTED, Asked, Seen, Told, Trace, model_told
from .spells import Found, Spell, found_in
from .survival import Curve, Lasted, curve_of
from .traces import Record

SHORTEST_S = 0.1
"""Spells are taken to last at least so long."""

APART_MIN = 3
"""Answers to others, during spells of one tool, from which it is seen that tools of one upstream fail apart."""


class Subject(Struct, frozen=True):
    """A tool, or a model.

    Attributes:
        place: whose weather it has: its upstream, or its own where it has none or fails apart.
        took: seconds of attempts that got an answer.
        failed: its attempts that failed in passing.
        series: how many times in a row it has to be corrected before it succeeds.
        tokens: what one answer of a model consumes, on average.
    """

    name: str
    told: Told
    place: str
    took: tuple[float, ...]
    failed: tuple[Seen, ...]
    series: Curve
    tokens: int = 0


class Place(Struct, frozen=True):
    """The weather at one upstream: what was found, all failures there, how long outages last."""

    found: Found
    failed: tuple[Seen, ...]
    lengths: Curve


class Learned(Struct, frozen=True):
    """All that is known. ``apart``: upstreams whose tools fail apart from each other."""

    traces: tuple[Trace, ...]
    subjects: dict[str, Subject]
    places: dict[str, Place]
    began: float
    until: float
    apart: tuple[str, ...] = ()

    @property
    def failures(self) -> int:
        """Return how many attempts failed in passing."""
        return sum(len(place.failed) for place in self.places.values())

    @property
    def faults(self) -> int:
        """Return how many calls failed in a way that no waiting mends."""
        return sum(step.fault is not None for trace in self.traces for step in trace.steps)


def learned_from(records: Iterable[Record]) -> Learned:
    """Put the records of sessions together, whatever their order."""
    ordered = sorted(records, key=lambda each: (each.trace.at, each.trace.session_id))
    traces = tuple(record.trace for record in ordered)
    told: dict[str, Told] = {}
    seen: dict[str, list[Seen]] = defaultdict(list)
    for record in ordered:
        for name, each in record.told.items():
            # A failure tells the marks, an intent only that it writes.
            if name not in told or each.upstream is not None or not told[name].writes:
                told[name] = each
        for attempt in record.seen:
            seen[attempt.subject].append(attempt)
    for name in {step.subject for trace in traces for step in (*trace.steps, *trace.later)}:
        told.setdefault(name, _untold(name))
    places, apart = _places(told, seen)
    series = _series(traces)
    tokens = _tokens(traces)
    subjects = {
        name: Subject(
            name,
            each,
            places[name],
            tuple(one.took_s for one in seen[name] if one.weather == "up"),
            tuple(one for one in seen[name] if one.weather != "up"),
            series.get(name) or curve_of([]),
            tokens.get(name, 0),
        )
        for name, each in sorted(told.items())
    }
    times = [(one.begin, one.begin + one.took_s) for each in seen.values() for one in each]
    began = min([*(first for first, _ in times), *(each.at for each in traces)], default=0.0)
    ends = (each.at + (each.duration_s or 0.0) for each in traces)
    until = max([*(last for _, last in times), *ends], default=0.0)
    return Learned(traces, subjects, _weathers(places, seen), began, until, apart)


def _untold(name: str) -> Told:
    """Return what holds of a tool that never failed and never wrote: it reads, of its own."""
    if name.startswith("model "):
        return model_told(name.removeprefix("model "))
    return Told(None, Traits(safe_to_retry=True), writes=False)


# ---------------------------------------------------------------- weather


def _places(
    told: dict[str, Told], seen: dict[str, list[Seen]]
) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return whose weather each subject has, and the upstreams whose tools fail apart."""
    members: dict[str, list[str]] = defaultdict(list)
    for name, each in sorted(told.items()):
        members[each.upstream or f"tool {name}"].append(name)
    places: dict[str, str] = {}
    apart: list[str] = []
    for place, names in members.items():
        fail_apart = len(names) > 1 and _apart({name: seen[name] for name in names})
        if fail_apart:
            apart.append(place)
        places |= {name: f"{place}: {name}" if fail_apart else place for name in names}
    return places, tuple(apart)


def _apart(seen: dict[str, list[Seen]]) -> bool:
    """Tell whether others were answered, mostly, while one was down."""
    answered = failed = 0
    for name, attempts in seen.items():
        spells = [each for each in found_in(attempts).spells if each.kind == "down"]
        if not spells:
            continue
        others = [each for other, more in seen.items() if other != name for each in more]
        for spell in spells:
            inside = [each for each in others if spell.first < each.begin < spell.last]
            answered += sum(each.weather == "up" for each in inside)
            failed += sum(each.weather == "down" for each in inside)
    return answered >= APART_MIN and answered > failed


def _weathers(places: dict[str, str], seen: dict[str, list[Seen]]) -> dict[str, Place]:
    attempts: dict[str, list[Seen]] = defaultdict(list)
    for name, place in places.items():
        attempts[place] += seen[name]
    found = {place: found_in(each) for place, each in sorted(attempts.items())}
    return {
        place: Place(
            each,
            tuple(one for one in attempts[place] if one.weather != "up"),
            curve_of([lasted(spell) for spell in each.spells if spell.kind == "down"]),
        )
        for place, each in found.items()
    }


def lasted(spell: Spell) -> Lasted:
    """Return how long an outage lasted; where its end lies between two attempts, the middle on a
    scale of ratios."""
    least = max(spell.last - spell.first, SHORTEST_S)
    if spell.after is None:
        return Lasted(least, ended=False)
    return Lasted(math.sqrt(least * max(spell.after - spell.first, least)), ended=True)


# ---------------------------------------------------------------- corrections


def _tokens(traces: Sequence[Trace]) -> dict[str, int]:
    """Return the mean of what answers consumed, where that is told, by model."""
    told: dict[str, list[int]] = defaultdict(list)
    for trace in traces:
        for step in trace.steps:
            if step.is_model and step.tokens:
                told[step.subject].append(step.tokens)
    return {name: round(sum(each) / len(each)) for name, each in told.items()}


def _series(traces: Sequence[Trace]) -> dict[str, Curve]:
    """Return, for each tool and model, how many rounds in a row had to be amended."""
    lengths: dict[str, list[Lasted]] = defaultdict(list)
    for trace in traces:
        rounds: dict[str, tuple[int, int]] = {}
        for step in (*trace.steps, *trace.later):
            count, last = rounds.get(step.subject, (0, -1))
            if is_correction(step):
                rounds[step.subject] = (count + (last != step.n or step.is_model), step.n)
            elif step.fault is None and count:
                lengths[step.subject].append(Lasted(float(count), ended=True))
                del rounds[step.subject]
        for subject, (count, _) in rounds.items():
            # The next one might have succeeded.
            lengths[subject].append(Lasted(count - 0.5, ended=False))
    return {subject: curve_of(each) for subject, each in lengths.items()}


def is_correction(step: Asked) -> bool:
    """Tell whether the model has to amend this call, or its conversation has to be pruned."""
    return step.fault is not None and step.fault.error_class in CORRECTED

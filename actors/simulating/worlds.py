"""One world that the record allows: what it leaves open is drawn by a seed.

Where outages began and ended between two attempts, and how likely failures by themselves are.
"""

import math
import random
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Sequence

from msgspec import Struct

from ...supervisor.failure import Failure
from .asked import Outages
from .chance import drawn, key_of, mixed
from .learning import SHORTEST_S, Learned, Place, Subject
from .onward import Onward, Way
from .seen import Seen, Trace, Weather
from .spells import Spell
from .survival import ENDED_MIN, longer

NEVER = math.inf


class Hours(Struct, frozen=True, gc=False):
    """A time in which a share of the attempts fails. ``until``: the end that the other side tells."""

    start: float
    end: float
    share: float
    until: float | None = None


class Miss(Struct, frozen=True, gc=False):
    """How an attempt fails: its failure, after so many seconds."""

    failure: Failure
    weather: Weather
    took_s: float


def miss_of(seen: Seen) -> Miss:
    """Return a failed attempt as one that may happen again."""
    assert seen.error_class is not None
    failure = Failure(
        error_class=seen.error_class,
        may_have_executed=seen.executed,
        retry_after=seen.retry_after,
    )
    return Miss(failure, seen.weather, seen.took_s)


class _Climate:
    """The weather at one place, in one world."""

    def __init__(
        self,
        known: Learned,
        place: Place,
        outages: Outages,
        chance: random.Random,
        *,
        lasting: bool,
    ) -> None:
        self.unknown_from = NEVER
        """From when on it is not known whether an outage had ended."""
        self.hours: dict[Weather, list[Hours]] = {"down": [], "limited": []}
        drawn_anew = outages == "drawn" and place.lengths.ended >= ENDED_MIN
        if drawn_anew:
            self.hours["down"] = _drawn(known, place, chance)
        begun: dict[Weather, float] = defaultdict(lambda: -NEVER)
        for spell in place.found.spells:
            if drawn_anew and spell.kind == "down":
                continue
            hours = self._hours(spell, place, chance, begun[spell.kind], lasting=lasting)
            begun[spell.kind] = spell.last
            if hours.end > hours.start:
                self.hours[spell.kind].append(hours)
        self.starts = {kind: [each.start for each in of] for kind, of in self.hours.items()}
        self.alone = [miss_of(each) for each in place.found.alone]
        self.alone_share = _share(len(self.alone), place.found.outside, chance)
        self.misses = _by_weather(place.failed)

    def _hours(
        self, spell: Spell, place: Place, chance: random.Random, after: float, *, lasting: bool
    ) -> Hours:
        """Draw one; it begins behind ``after``, the last failure of the one before it."""
        least = max(spell.last - spell.first, SHORTEST_S)
        inner, outer = reached(spell.befores, spell.first, spell.share, chance.random())
        most = 2.0 * least if outer is None else max(spell.last - outer, least)
        start = spell.last - between(max(spell.last - inner, least), most, chance.random())
        end = self._end(spell, least, place, chance, lasting=lasting)
        share = spell.share
        if spell.passed:
            share = chance.betavariate(max(1, spell.failed - 1), spell.passed)
        return Hours(max(start, after), end, share, spell.until)

    def _end(
        self, spell: Spell, least: float, place: Place, chance: random.Random, *, lasting: bool
    ) -> float:
        inner, outer = reached(spell.afters, spell.last, spell.share, chance.random())
        roll = chance.random()
        if spell.until is not None:
            return spell.until
        if outer is not None:
            inside = max(inner - spell.first, least)
            return spell.first + between(inside, max(outer - spell.first, inside), roll)
        self.unknown_from = min(self.unknown_from, spell.last)
        if place.lengths.ended >= ENDED_MIN and spell.kind == "down":
            length = longer(place.lengths, spell.last - spell.first, roll)
            return NEVER if length is None else max(spell.first + length, spell.last)
        # Both bounds, each in half of the worlds.
        return NEVER if lasting else spell.last + SHORTEST_S

    def inside(self, kind: Weather, now: float) -> Hours | None:
        at = bisect_right(self.starts[kind], now) - 1
        if at < 0:
            return None
        hours = self.hours[kind][at]
        return hours if now < hours.end else None


def reached(
    answers: Sequence[float], edge: float, share: float, roll: float
) -> tuple[float, float | None]:
    """Draw how far a spell reaches beyond the last failure that was seen of it.

    Where only a share of the attempts fails, the next answers may be in it still: each is with the share
    that is answered. Returns the last attempt in it and the first behind it; None: there is none.
    """
    if not answers:
        return edge, None
    inside = 0
    while inside < len(answers) - 1 and roll < (1.0 - share) ** (inside + 1):
        inside += 1
    return (answers[inside - 1] if inside else edge), answers[inside]


def between(least: float, most: float, roll: float) -> float:
    """Draw a length between two, evenly on a scale of ratios: that nobody asked for an hour does not
    make an outage a long one."""
    return least * math.pow(most / least, roll)


def _drawn(known: Learned, place: Place, chance: random.Random) -> list[Hours]:
    """Return outages at other times than recorded: as often, and as long as those that were seen to end."""
    recorded = [each for each in place.found.spells if each.kind == "down"]
    mean_s = (known.until - known.began) / len(recorded)
    found: list[Hours] = []
    at = known.began + chance.expovariate(1.0 / mean_s)
    while at < known.until:
        length = longer(place.lengths, 0.0, chance.random())
        end = NEVER if length is None else at + length
        found.append(Hours(at, end, chance.choice(recorded).share))
        at = end + chance.expovariate(1.0 / mean_s)
    return found


def _share(failed: int, of: int, chance: random.Random) -> float:
    """Draw how likely a failure by itself is; where none was seen, there are none."""
    if not failed:
        return 0.0
    return chance.betavariate(failed, max(of - failed, 0.5))


def _by_weather(failed: Sequence[Seen]) -> dict[Weather, list[Miss]]:
    misses: dict[Weather, list[Miss]] = {"down": [], "limited": []}
    for each in failed:
        misses[each.weather].append(miss_of(each))
    return misses


class World:
    """One world.

    Args:
        seed: of all that the record leaves open. Odd ones take what has no known end to last for ever,
            even ones to end at once; see `survival.ENDED_MIN`.
    """

    def __init__(self, known: Learned, seed: int, *, outages: Outages = "replayed") -> None:
        self.known = known
        self.seed = seed
        self.key = mixed(key_of("world"), seed)
        self.lasting = bool(seed % 2)
        chance = random.Random(f"world {seed}")
        self._climates = {
            name: _Climate(known, place, outages, chance, lasting=self.lasting)
            for name, place in known.places.items()
        }
        self._misses = {
            name: _by_weather(subject.failed) for name, subject in known.subjects.items()
        }
        self._onward = Onward(known, self.key, lasting=self.lasting)

    def fate(self, subject: Subject, now: float, key: int) -> Miss | None:
        """Return how an attempt fails that is made now; None: it gets an answer."""
        climate = self._climates.get(subject.place)
        if climate is None:
            return None
        for kind in climate.hours:
            hours = climate.inside(kind, now)
            if hours is not None and drawn(key, 1) < hours.share:
                return self._missed(subject, climate, kind, hours, now, key)
        if climate.alone_share and drawn(key, 2) < climate.alone_share:
            return climate.alone[int(drawn(key, 3) * len(climate.alone))]
        return None

    def _missed(
        self, subject: Subject, climate: _Climate, kind: Weather, hours: Hours, now: float, key: int
    ) -> Miss:
        misses = self._misses[subject.name][kind] or climate.misses[kind]
        miss = misses[int(drawn(key, 4) * len(misses))]
        if hours.until is None or miss.failure.retry_after is None:
            return miss
        failure = Failure(
            error_class=miss.failure.error_class,
            may_have_executed=miss.failure.may_have_executed,
            retry_after=max(0.0, hours.until - now - miss.took_s),
        )
        return Miss(failure, miss.weather, miss.took_s)

    def unsure(self, subject: Subject, now: float) -> bool:
        """Tell whether the record does not say what the weather is now."""
        climate = self._climates.get(subject.place)
        return climate is not None and now > climate.unknown_from

    def hours(self, place: str, kind: Weather) -> list[Hours]:
        """Return the times in which attempts at a place fail in this world."""
        return self._climates[place].hours[kind]

    def took_s(self, subject: Subject, key: int) -> float:
        """Draw how long an attempt takes that gets an answer; nothing where none was seen."""
        took = subject.took
        return took[int(drawn(key, 5) * len(took))] if took else 0.0

    def onward(self, trace: Trace) -> Way:
        """Return how a session goes on, in this world, that was cut off."""
        return self._onward.of(trace)

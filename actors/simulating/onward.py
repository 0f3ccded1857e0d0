"""How a session would have gone on that was cut off: drawn from others of its agent that came further."""

from collections.abc import Sequence

from msgspec import Struct

from .chance import drawn, key_of, mixed
from .learning import Learned, is_correction
from .seen import Asked, End, Trace
from .survival import ENDED_MIN, longer

ROUNDS_MAX = 100
"""Corrections that are played where none is known to help."""

DONORS_MAX = 50
"""Others that one session goes on like, one behind the other, where each of them was cut off, too."""


class Way(Struct, frozen=True):
    """How a session goes on that was cut off, and ends; ``known``: not merely assumed."""

    steps: tuple[Asked, ...]
    end: End
    reason: str = ""
    known: bool = True


class Onward:
    """How sessions go on in one world.

    Args:
        key: of all draws.
        lasting: corrections that nobody was allowed to make never help; else the next one does.
    """

    def __init__(self, known: Learned, key: int, *, lasting: bool) -> None:
        self._known = known
        self._key = key
        self._lasting = lasting
        self._donors = _donors_of(known.traces)
        self._found: dict[tuple[str, tuple[str, ...]], Sequence[_Donor]] = {}

    def of(self, trace: Trace) -> Way:
        """Return the calls that a session makes behind the one that cut it off, and how it ends.

        It goes on like another of its agent that came further, whatever became of that; where that one was
        cut off too, like a third.
        """
        if trace.later:
            return Way(trace.later, "completed")
        key = mixed(self._key, key_of(trace.session_id))
        steps: list[Asked] = list(trace.steps)
        known = True
        for number in range(DONORS_MAX):
            mended, sure = self._mended(trace, steps, mixed(key, number))
            known = known and sure
            steps += mended
            donor = self._donor(trace, steps, mixed(key, 1000 + number))
            if donor is None:
                return Way(tuple(steps[len(trace.steps) :]), "completed", known=False)
            rest = donor.steps[donor.places[_done(steps)] :]
            if steps and rest and _answered(steps[-1]) and _answered(rest[0]):
                rest = rest[1:]
            steps += rest
            if donor.ends:
                return Way(tuple(steps[len(trace.steps) :]), donor.end, donor.reason, known)
        return Way(tuple(steps[len(trace.steps) :]), "completed", known=known)

    def _mended(self, trace: Trace, steps: Sequence[Asked], key: int) -> tuple[list[Asked], bool]:
        """Return the corrections that follow, and the call that succeeds, and whether that is known."""
        last = steps[-1] if steps else None
        if last is None or not is_correction(last):
            return [], True
        so_far = _rounds(steps, last.subject)
        series = self._known.subjects[last.subject].series
        more, known = ROUNDS_MAX, False
        if series.ended >= ENDED_MIN:
            length = longer(series, so_far - 0.5, drawn(key, 6))
            more, known = ROUNDS_MAX if length is None else int(length) - so_far, True
        elif not self._lasting:
            more = 0
        model = _model_of(trace)
        again = () if last.is_model or model is None else (model,)
        found: list[Asked] = []
        for number in range(min(more, ROUNDS_MAX)):
            wrong = Asked(last.subject, last.n + number + 1, last.is_model, last.fault)
            found += [*again, wrong]
        if more >= ROUNDS_MAX:
            return found, known
        return [*found, *again, Asked(last.subject, last.n + more + 1, last.is_model)], known

    def _donor(self, trace: Trace, steps: Sequence[Asked], key: int) -> "_Donor | None":
        """Draw a session of the same agent that came further: one with the same calls so far, if any."""
        alike = self._alike(trace.agent, _made(steps))
        return alike[int(drawn(key, 7) * len(alike))] if alike else None

    def _alike(self, agent: str, made: tuple[str, ...]) -> "Sequence[_Donor]":
        found = self._found.get((agent, made))
        if found is None:
            done = len(made)
            further = [each for each in self._donors.get(agent, ()) if each.goes_on(done)]
            found = [each for each in further if each.made[:done] == made] or further
            self._found[agent, made] = found
        return found


class _Donor(Struct, frozen=True):
    """A session that others may go on like.

    Attributes:
        made: its calls that succeeded.
        places: where its steps go on behind each of them.
        ends: how it ended is known: it was not cut off by what passes, or by a limit.
    """

    steps: tuple[Asked, ...]
    made: tuple[str, ...]
    places: tuple[int, ...]
    ends: bool
    end: End
    reason: str

    def goes_on(self, done: int) -> bool:
        """Tell whether it shows what follows so many calls."""
        return len(self.made) > done or (self.ends and len(self.made) == done)


def _donors_of(traces: Sequence[Trace]) -> dict[str, list[_Donor]]:
    found: dict[str, list[_Donor]] = {}
    for trace in traces:
        steps = (*trace.steps, *trace.later)
        places = [at + 1 for at, each in enumerate(steps) if _succeeded(each)]
        last = steps[-1] if steps else None
        fails = last is not None and last.fault is not None and not is_correction(last)
        end: End = "completed" if trace.later else trace.end
        donor = _Donor(steps, _made(steps), (0, *places), end != "open" or fails, end, trace.reason)
        found.setdefault(trace.agent, []).append(donor)
    return found


def _made(steps: Sequence[Asked]) -> tuple[str, ...]:
    return tuple(each.subject for each in steps if _succeeded(each))


def _done(steps: Sequence[Asked]) -> int:
    return sum(_succeeded(each) for each in steps)


def _answered(step: Asked) -> bool:
    return step.is_model and step.fault is None


def _succeeded(step: Asked) -> bool:
    return not step.is_model and step.fault is None


def _rounds(steps: Sequence[Asked], subject: str) -> int:
    rounds, last_n = 0, -1
    for step in reversed(steps):
        if step.subject != subject:
            continue
        if not is_correction(step):
            break
        rounds += step.is_model or step.n != last_n
        last_n = step.n
    return rounds


def _model_of(trace: Trace) -> Asked | None:
    """Return a request to the session's model, as it makes one more of."""
    for step in reversed(trace.steps):
        if step.is_model and step.fault is None:
            return Asked(step.subject, step.n, True, tokens=step.tokens)
    return None

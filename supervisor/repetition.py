"""Whether an agent goes round in circles: a pure look at what it called and what came back.

A *step* is one message of the model with the calls in it. A loop is a cycle of one to four steps
that came back again and again, **results included**: a polling tool whose result changes makes
progress. What is weighed are calls whose body ran; a step in which the model had to amend
arguments is a correction, is counted elsewhere, and ends whatever cycle seemed to run.

Arguments are *the same* if they are the same JSON value: key order, spacing and the way a number
is written do not count. They are *nearly the same* if in addition the following does not count:

- in text: case, kinds and amounts of white space, compatibility forms of characters, quotes around
  it and punctuation behind it;
- keys without content: null, empty text, an empty array or object;
- numbers under keys that say how much, or how long, to look: `AMOUNTS`, such as ``limit``.

Every other difference counts, any other number above all: a page, an offset, a line or an id says
*where* to look, and going through such places is work even where each of them answers the same.
Nearly the same steps are a loop only where no write of them succeeded, and have a limit of their
own. A cycle in which a call fails each time has a lower one: what succeeds may be waiting.
"""

import json
import re
import unicodedata
from collections.abc import Iterable
from typing import Any, Literal, TypeGuard

from msgspec import Struct

from .policy import PlanningPolicy

PERIOD_MAX = 4
"""Steps in the longest cycle that is seen."""

NEW_MAX = 64
"""Steps that are kept without having been compared."""

ARGUMENTS_MAX = 64 * 1024
"""Longer arguments count as the same only if their text is: bounds the cost of a step."""

AMOUNTS = re.compile(
    r"(?:max|min)?_?(?:limit|timeout|time_?out|top_?k|retries|attempts|page_?size|per_?page|wait"
    r"|results|tokens|lines|chars|bytes)(?:_?(?:s|ms|sec|seconds|max|min))?",
    re.IGNORECASE,
)
"""Names of arguments that say how much or how long to look, not where."""

_SHOWN_MAX = 160
_KEPT_MAX = 256
"""Characters of arguments whose forms are kept with their step; longer ones are read each time."""

_ODD = re.compile(r"\\|true|false")
_SPACES = re.compile(r"\s+")
_EDGES = " \t\"'`\u2018\u2019\u201c\u201d.,;:!?"

_NONE = [0] * PERIOD_MAX
"""Stands for the counts while no cycle runs; never changed."""

Likeness = Literal["same", "near", "different"]


class Call(Struct, frozen=True, gc=False):
    """One call whose body ran: the arguments as JSON text, and the result as the model saw it.

    ``changed``: it is a write and succeeded. ``failed``: its result was an error.
    """

    tool: str
    arguments: str
    result: str
    changed: bool = False
    failed: bool = False


class Step(Struct, frozen=True, gc=False):
    """The weighed calls of one message; ``counter`` is the checkpoint after its last result."""

    calls: tuple[Call, ...]
    counter: int = 0
    corrected: bool = False
    """A call of it was refused for its arguments."""


class Loop(Struct, frozen=True):
    """A cycle that came back ``repeats`` times with the same results.

    ``steps`` is its last round, ``before`` the counter of the checkpoint at which it began.
    """

    steps: tuple[Step, ...]
    repeats: int
    near: bool = False
    before: int = 0

    @property
    def period(self) -> int:
        """How many steps the cycle has."""
        return len(self.steps)

    def __str__(self) -> str:
        kind = "nearly the same" if self.near else "the same"
        what = "step" if self.period == 1 else f"{self.period} steps"
        came = "came" if self.period == 1 else "in turn came"
        calls = "; ".join(_shown(call) for step in self.steps for call in step.calls)
        return f"{kind} {what} {came} {self.repeats} times with the same results: {calls}"


def find_loop(steps: Iterable[Step], policy: PlanningPolicy) -> Loop | None:
    """Return the loop that a trajectory is in at its end, if it is in one."""
    trail = Trail()
    for step in steps:
        trail.follow(step)
    return trail.loop(policy)


class Trail:
    """What has to be remembered of a trajectory: its last steps, and how long each cycle has run.

    A step costs the same however long the trajectory is, and no limit of a policy makes it longer.
    Steps are compared when somebody asks: of a trajectory that is read from a journal, only its end.

    Args:
        origin: counter of the checkpoint where it begins.
    """

    __slots__ = ("_began", "_near", "_new", "_recent", "_running", "_same", "idle", "idle_since")

    def __init__(self, origin: int = 0) -> None:
        self.idle = 0
        self.idle_since = origin
        self.break_off(origin)

    def break_off(self, counter: int) -> None:
        """Forget the cycles: whatever follows begins at this checkpoint."""
        self._recent = [_Seen.of(Step((), counter))]
        self._new: list[Step] = []
        self._end_cycles()

    def progress(self, counter: int) -> None:
        """The state has changed, by whatever else there is to tell it."""
        self.break_off(counter)
        self.idle, self.idle_since = 0, counter

    def follow(self, step: Step) -> None:
        """Add the next step."""
        for call in step.calls:
            if call.changed:
                self.idle, self.idle_since = 0, step.counter
                break
        else:
            self.idle += 1
        if step.corrected:
            self.break_off(step.counter)
        elif step.calls:
            self._new.append(step)
            if len(self._new) >= NEW_MAX:
                self._catch_up()

    def _catch_up(self) -> None:
        """Compare the steps that nobody has asked about yet."""
        new, self._new = self._new, []
        if len(new) > 1:
            new = self._from_last_break(new)
        for step in new:
            self._see(step)

    def _from_last_break(self, new: list[Step]) -> list[Step]:
        """Return the steps that still matter: those behind the last one that is like none before it.

        No cycle goes on across such a step, so that of all before it only what may be compared again is
        remembered. Where there is none, everything matters.
        """
        seen = [*self._recent, *map(_Seen.of, new)]
        for at in range(len(seen) - 1, len(self._recent) - 1, -1):
            before = seen[max(0, at - PERIOD_MAX) : at]
            if all(seen[at].like(each) == "different" for each in before):
                self._recent = seen[max(0, at - PERIOD_MAX) : at + 1]
                self._end_cycles()
                return new[at + 1 - len(seen) :] if at + 1 < len(seen) else []
        return new

    def _see(self, step: Step) -> None:
        recent, seen = self._recent, _Seen.of(step)
        for before in recent:
            if before.result == seen.result:
                self._compare(seen)
                break
        else:  # as nearly always: the results tell already
            if self._running:
                self._end_cycles()
        recent.append(seen)
        if len(recent) > PERIOD_MAX + 1:
            del recent[0]

    def _end_cycles(self) -> None:
        # For each period: steps in a row that equal the one a period before, and where it began.
        # Nothing while no cycle runs, as nearly always.
        self._same: list[int] = _NONE
        self._near: list[int] = _NONE
        self._began: list[int] = _NONE
        self._running = False

    def _compare(self, seen: "_Seen") -> None:
        recent = self._recent
        for at in range(PERIOD_MAX):
            period = at + 1
            likeness = seen.like(recent[-period]) if period <= len(recent) else "different"
            if likeness == "different":
                if self._running:
                    self._same[at] = self._near[at] = 0
                continue
            if not self._running:
                self._same, self._near, self._began = list(_NONE), list(_NONE), list(_NONE)
                self._running = True
            if not self._near[at]:
                # The round before this one was the first; in front of it lies one step more.
                self._began[at] = recent[-min(period + 1, len(recent))].step.counter
            self._near[at] += 1
            self._same[at] = self._same[at] + 1 if likeness == "same" else 0
        if self._running and not any(self._near):
            self._end_cycles()

    @property
    def is_new(self) -> bool:
        """Whether the last step resembled none of those before it, so that there is no loop."""
        if self._new:
            self._catch_up()
        return not self._running

    def loop(self, policy: PlanningPolicy) -> Loop | None:
        """Return the loop the trajectory is in; the shortest where there are several."""
        if self.is_new:
            return None
        for at in range(PERIOD_MAX):
            if self._same[at] and _reached(self._same[at], at + 1, self._limit(at + 1, policy)):
                return self._found(at, self._same[at], near=False)
        for at in range(PERIOD_MAX):
            # Where all of them are the same, the other limits have been asked.
            merely_near = self._near[at] > self._same[at]
            if merely_near and _reached(self._near[at], at + 1, policy.near_repeats_max):
                return self._found(at, self._near[at], near=True)
        return None

    def _limit(self, period: int, policy: PlanningPolicy) -> int | None:
        failing = any(call.failed for seen in self._recent[-period:] for call in seen.step.calls)
        limits = (policy.repeats_max, policy.failing_repeats_max if failing else None)
        return min((each for each in limits if each is not None), default=None)

    def _found(self, at: int, run: int, *, near: bool) -> Loop:
        period = at + 1
        last = tuple(seen.step for seen in self._recent[-period:])
        return Loop(last, run // period + 1, near, self._began[at])

    def is_idle(self, policy: PlanningPolicy) -> bool:
        """Whether there were too many steps without a change of state."""
        return policy.idle_steps_max is not None and self.idle >= policy.idle_steps_max


def _reached(run: int, period: int, repeats_max: int | None) -> bool:
    return repeats_max is not None and run >= period * (repeats_max - 1)


# ---------------------------------------------------------------- likeness


class _Seen(Struct, gc=False, eq=False):
    """A step of the trail, and the forms of its arguments once they were needed.

    ``result`` is that of its only call; None: it has several, and whoever compares looks at all.
    """

    step: Step
    call: Call | None
    result: str | None
    is_long: bool
    _forms: tuple[Any, Any] | None = None

    @classmethod
    def of(cls, step: Step) -> "_Seen":
        """Return a step as the trail keeps it."""
        if len(step.calls) != 1:
            return cls(step, None, None, False)
        call = step.calls[0]
        return cls(step, call, call.result, len(call.arguments) > _KEPT_MAX)

    def like(self, other: "_Seen") -> Likeness:
        """Compare two steps, as `alike` does."""
        mine, theirs = self.call, other.call
        if mine is None or theirs is None:
            return alike(self.step, other.step)
        if mine.result != theirs.result or mine.tool != theirs.tool:
            return "different"
        if mine.arguments == theirs.arguments:
            return "same"
        if self.is_long or other.is_long:
            return _alike(mine, theirs)
        try:
            left, right = self._forms or self._read(), other._forms or other._read()
        except (ValueError, RecursionError):
            return "different"  # as in `alike_arguments`
        if left[0] == right[0]:
            return "same"
        near = left[1] == right[1] and not (mine.changed or theirs.changed)
        return "near" if near else "different"

    def _read(self) -> tuple[Any, Any]:
        assert self.call is not None
        self._forms = _read_forms(self.call.arguments)
        return self._forms


def alike(one: Step, other: Step) -> Likeness:
    """Compare two steps, results included; the order of the calls in a step does not count."""
    if len(one.calls) != len(other.calls) or not one.calls:
        return "different"
    if len(one.calls) == 1:
        return _alike(one.calls[0], other.calls[0])
    found: Likeness = "same"
    for mine, theirs in zip(_sorted(one), _sorted(other), strict=True):
        likeness = _alike(mine, theirs)
        if likeness == "different":
            return likeness
        if likeness == "near":
            found = likeness
    return found


def _sorted(step: Step) -> list[Call]:
    return sorted(step.calls, key=lambda call: (call.tool, call.result, call.arguments))


def _alike(one: Call, other: Call) -> Likeness:
    if one.tool != other.tool or one.result != other.result:
        return "different"
    likeness = alike_arguments(one.arguments, other.arguments)
    if likeness == "near" and (one.changed or other.changed):
        return "different"
    return likeness


def alike_arguments(one: str, other: str) -> Likeness:
    """Compare the arguments of two calls; the rule is at the top of this file."""
    if one == other:
        return "same"
    if len(one) > ARGUMENTS_MAX or len(other) > ARGUMENTS_MAX:
        return "different"
    try:
        left, right = _read_forms(one), _read_forms(other)
    except (ValueError, RecursionError):
        return "different"  # no JSON: its text is all there is, and it differs
    if left[0] == right[0]:
        return "same"
    return "near" if left[1] == right[1] else "different"


def _read_forms(arguments: str) -> tuple[Any, Any]:
    """Return the exact and the loose form."""
    value = _value_of(arguments)
    # Plain text has one exact form, and without true and false no value equals another by accident.
    plain = arguments.isascii() and not _ODD.search(arguments)
    if not plain:
        return _exact(value), _loose(value)
    return value, _loose_words(value) or _loose(value)


def _loose_words(value: Any) -> dict[str, str] | None:
    """Return the loose form of an object that holds plain words and nothing else; None: it does not."""
    if not _is_object(value):
        return None
    words: dict[str, str] = {}
    for key, each in value.items():
        if type(each) is not str:
            return None
        words[key] = " ".join(each.lower().split()).strip(_EDGES)
    return words if all(words.values()) else None


def _value_of(arguments: str) -> Any:
    """Read a JSON text; the scanner alone is three times as fast where nothing stands around it."""
    if arguments[:1] == "{":
        value, end = _scan(arguments, 0)
        if end == len(arguments):
            return value
    return json.loads(arguments)


_scan = json.JSONDecoder().raw_decode


def _exact(value: Any) -> Any:
    """Return a form in which equal JSON values are equal, and true is not 1."""
    if _is_object(value):
        return {_text(key): _exact(each) for key, each in value.items()}
    if _is_array(value):
        return [_exact(each) for each in value]
    if isinstance(value, str):
        return _text(value)
    return (value,) if isinstance(value, bool) else value


def _text(text: str) -> str:
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def _loose(value: Any) -> Any:
    if _is_object(value):
        parts = {key: _loose(each) for key, each in value.items() if not _is_amount(key, each)}
        return {key: each for key, each in parts.items() if each not in (None, "", [], {})}
    if _is_array(value):
        return [_loose(each) for each in value]
    if isinstance(value, str):
        if value.isascii():
            return " ".join(value.lower().split()).strip(_EDGES)
        plain = unicodedata.normalize("NFKC", value).casefold()
        return _SPACES.sub(" ", plain).strip(_EDGES)
    return (value,) if isinstance(value, bool) else value


def _is_amount(key: str, value: object) -> bool:
    return isinstance(value, int | float) and AMOUNTS.fullmatch(key) is not None


def _is_object(value: object) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict)


def _is_array(value: object) -> TypeGuard[list[Any]]:
    return isinstance(value, list)


def _shown(call: Call) -> str:
    arguments = call.arguments
    if len(arguments) > _SHOWN_MAX:
        arguments = f"{arguments[:_SHOWN_MAX]}…"
    return f"{call.tool}({arguments})"

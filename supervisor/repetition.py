"""Whether an agent goes round in circles: a pure look at what it called and what came back.

A *step* is one message of the model with the calls in it. A loop is a cycle of one to four steps
that came back again and again, **results included**: a polling tool whose result changes makes
progress. What is weighed are calls whose body ran; a step in which the model had to amend
arguments is a correction, is counted elsewhere, and ends whatever cycle seemed to run.

Nearly the same steps are a loop only where no write of them succeeded, and have a limit of their
own. A cycle in which a call fails each time has a lower one: what succeeds may be waiting.

The cost is kept low by not looking. A cycle that runs grows by one with each step, so that nothing
is compared before one could have reached a limit; and then only back to the last step that is like
none before it.
"""

from collections.abc import Iterable
from sys import maxsize as NEVER

from msgspec import Struct

from .likeness import Call, Likeness, Marks, Step, alike
from .policy_sessions import PlanningPolicy

PERIOD_MAX = 4
"""Steps in the longest cycle that is seen."""

NEW_MAX = 24
"""Steps that are kept without having been compared: by default no limit is reached sooner."""

MARKS_MAX = 2 * PERIOD_MAX
"""Arguments whose marks are kept for the next time."""

_SHOWN_MAX = 160

_NONE = [0] * PERIOD_MAX
"""Stands for the counts while no cycle runs; never changed."""

_AT_START = [Step((), 0)]
"""The steps of a trajectory that begins with its session; never changed."""


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

    Args:
        origin: counter of the checkpoint where it begins.
    """

    __slots__ = (
        "_began",
        "_calm",
        "_marks",
        "_near",
        "_new",
        "_recent",
        "_run",
        "_same",
        "idle",
        "idle_since",
    )

    def __init__(self, origin: int = 0) -> None:
        self.idle = 0
        self.idle_since = origin
        self.break_off(origin)

    def break_off(self, counter: int) -> None:
        """Forget the cycles: whatever follows begins at this checkpoint."""
        self._recent = [Step((), counter)] if counter else _AT_START
        self._new: list[Step] = []
        self._calm = PERIOD_MAX  # steps since a call failed; further back than a cycle is long
        self._marks: Marks | None = None
        self._end_cycles()

    def progress(self, counter: int) -> None:
        """The state has changed, by whatever else there is to tell it."""
        self.break_off(counter)
        self.idle, self.idle_since = 0, counter

    def follow(self, step: Step) -> None:
        """Add the next step."""
        self.idle += 1
        failing = False
        for call in step.calls:
            failing |= call.failed
            if call.changed:
                self.idle, self.idle_since = 0, step.counter
        if step.corrected:
            self.break_off(step.counter)
        elif step.calls:
            self._calm = 0 if failing else self._calm + 1
            self._new.append(step)
            if len(self._new) >= NEW_MAX:
                self._catch_up()

    def follow_calm(self, step: Step) -> None:
        """Add a step in which calls succeeded and nothing changed: as `follow`, with fewer questions."""
        self.idle += 1
        self._calm += 1
        self._new.append(step)
        if len(self._new) >= NEW_MAX:
            self._catch_up()

    # ------------------------------------------------------------ comparing

    def _catch_up(self) -> None:
        """Compare the new steps with those before them, from the last one back.

        At a step that is like none before it the rest is left: no cycle goes on across it.
        """
        steps = [*self._recent, *self._new]
        compared: list[tuple[int, list[Likeness]]] = []
        marks = self._marks or Marks()
        for at in range(len(steps) - 1, len(self._recent) - 1, -1):
            row: list[Likeness] = [alike(steps[at], each, marks) for each in _before(steps, at)]
            if row.count("different") == len(row):
                self._end_cycles()
                break
            compared.append((at, row))
        for at, row in reversed(compared):
            self._count(steps, at, row)
        self._recent, self._new = steps[-PERIOD_MAX - 1 :], []
        self._marks = marks if 0 < len(marks) <= MARKS_MAX else None

    def _end_cycles(self) -> None:
        # For each period: steps in a row that equal the one a period before, and where it began.
        self._same = self._near = self._began = _NONE
        self._run = 0  # the longest of them

    def _count(self, steps: list[Step], at: int, likenesses: list[Likeness]) -> None:
        if not self._run:
            self._same, self._near, self._began = list(_NONE), list(_NONE), list(_NONE)
        for place, likeness in enumerate(likenesses):
            if likeness == "different":
                self._same[place] = self._near[place] = 0
                continue
            if not self._near[place]:
                # The round before this one was the first; in front of it lies one step more.
                self._began[place] = steps[max(0, at - place - 2)].counter
            self._near[place] += 1
            self._same[place] = self._same[place] + 1 if likeness == "same" else 0
        self._run = max(self._near)

    # ------------------------------------------------------------ what was found

    def loop(self, policy: PlanningPolicy) -> Loop | None:
        """Return the loop the trajectory is in; the shortest where there are several."""
        # A run grows by at most one with each step: before one can reach a limit, nothing is compared.
        rounds = 1 + self._run + len(self._new)
        if (
            rounds < (policy.repeats_max or NEVER)
            and rounds < (policy.near_repeats_max or NEVER)
            and (rounds < (policy.failing_repeats_max or NEVER) or self._calm >= PERIOD_MAX)
        ):
            return None
        if self._new:
            self._catch_up()
        return self._running(policy) if self._run else None

    def _running(self, policy: PlanningPolicy) -> Loop | None:
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
        failing = any(call.failed for step in self._recent[-period:] for call in step.calls)
        limits = (policy.repeats_max, policy.failing_repeats_max if failing else None)
        return min((each for each in limits if each is not None), default=None)

    def _found(self, at: int, run: int, *, near: bool) -> Loop:
        period = at + 1
        return Loop(tuple(self._recent[-period:]), run // period + 1, near, self._began[at])

    def is_idle(self, policy: PlanningPolicy) -> bool:
        """Whether there were too many steps without a change of state."""
        return policy.idle_steps_max is not None and self.idle >= policy.idle_steps_max


def _before(steps: list[Step], at: int) -> list[Step]:
    """Return the steps that a step is compared with, the last one first."""
    return steps[max(0, at - PERIOD_MAX) : at][::-1]


def _reached(run: int, period: int, repeats_max: int | None) -> bool:
    return repeats_max is not None and run >= period * (repeats_max - 1)


def _shown(call: Call) -> str:
    arguments = call.arguments
    if len(arguments) > _SHOWN_MAX:
        arguments = f"{arguments[:_SHOWN_MAX]}…"
    return f"{call.tool}({arguments})"

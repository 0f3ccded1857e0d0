"""What a drill has found: the matrix of steps and faults, and each broken promise once."""

from typing import Any, Literal

from msgspec import Struct

from .cells import Cell, Step, effects_of
from .promises import PROMISES, Broken, Promise
from .record import BodyRun, Seen
from .untested import Allowed, Untested, count_of, names_of, not_allowed

STORY_LINES_MAX = 40

Verdict = Literal["recovered", "handed over", "broken", "not reached"]


class CellResult(Struct, frozen=True, kw_only=True):
    """What came of one cell.

    ``how`` is the session's outcome in words, ``story`` what its bodies did, line by line. ``lives`` is how
    many processes it took, ``seconds`` how much virtual time.
    """

    step: str
    tool: str
    fault: str
    verdict: Verdict
    how: str
    lives: int = 1
    seconds: float = 0.0
    broken: tuple[Broken, ...] = ()
    story: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return f"{self.step}:{self.fault}"


class Finding(Struct, frozen=True, kw_only=True):
    """A broken promise, and the cells in which it was; ``clean``: without any fault too."""

    promise: Promise
    tool: str
    why: str
    cells: tuple[str, ...]

    @property
    def clean(self) -> bool:
        return CLEAN in self.cells


CLEAN = "clean"
"""Names the run without any fault, in the place of a cell."""


class DrillReport(Struct, frozen=True, kw_only=True):
    """What a drill has found.

    Attributes:
        agent, task, seed: what was drilled.
        clean: how the session ends where nothing goes wrong.
        steps: its steps, as cells name them.
        cells: every cell that was run, in the order of steps and faults.
        findings: each broken promise once.
        untested: what could not be told, tool by tool: where no stub counts its effects, they may have
            happened twice, or not at all, and its compensation may have done nothing.
    """

    agent: str
    task: str
    seed: int
    clean: str
    steps: tuple[Step, ...]
    cells: tuple[CellResult, ...]
    findings: tuple[Finding, ...]
    untested: tuple[Untested, ...]

    @property
    def broken(self) -> bool:
        """Whether any promise was broken."""
        return bool(self.findings)

    @property
    def complete(self) -> bool:
        """Whether all that the tools promise could be checked, in the cells that were asked for."""
        return not self.untested

    def found(self, promise: Promise, tool: str | None = None) -> list[Finding]:
        """Return the findings about a promise, of one tool where it is given."""
        return [
            each for each in self.findings if each.promise == promise and tool in (None, each.tool)
        ]

    def assert_promises(self, *, untested: Allowed = "fail") -> None:
        """Do nothing where every promise was checked, and held.

        Args:
            untested: what may stay unchecked: nothing (``"fail"``), anything (``"allow"``), or all that is
                listed of these tools, such as ``["mail"]``.

        Raises:
            AssertionError: one was broken, or could not be checked; the message lists them all.
            UsageError: ``untested`` is another text.
        """
        parts: list[str] = []
        left = not_allowed(self.untested, untested)
        if self.findings:
            count = len(self.findings)
            parts.append(f"{count} broken {'promise' if count == 1 else 'promises'}:")
            parts += [f"  {finding_line(each)}" for each in self.findings]
        if left:
            parts.append(f"{count_of(left)} could not be checked: {names_of(left)}")
            parts += [f"  {each}" for each in left]
            parts.append(
                "Let the tools talk to an EffectStub, or say what may stay open: "
                'assert_promises(untested="allow"), or untested=[TOOL, ...]'
            )
        if parts:
            raise AssertionError("\n".join(parts))

    def to_data(self) -> dict[str, Any]:
        """Return the report as plain data, for JSON."""
        return {
            "agent": self.agent,
            "task": self.task,
            "seed": self.seed,
            "clean": self.clean,
            "broken": self.broken,
            "complete": self.complete,
            "untested": [
                {"tool": each.tool, "what": list(each.what), "why": each.why}
                for each in self.untested
            ],
            "steps": [
                {"step": each.name, "kind": each.kind, "tool": each.tool} for each in self.steps
            ],
            "cells": [
                {
                    "cell": each.name,
                    "step": each.step,
                    "tool": each.tool,
                    "fault": each.fault,
                    "verdict": each.verdict,
                    "outcome": each.how,
                    "processes": each.lives,
                    "seconds": round(each.seconds, 3),
                    "broken": [_broken_data(one) for one in each.broken],
                    "story": list(each.story),
                }
                for each in self.cells
            ],
            "findings": [
                {
                    "promise": each.promise,
                    "means": PROMISES[each.promise],
                    "tool": each.tool,
                    "why": each.why,
                    "cells": list(each.cells),
                }
                for each in self.findings
            ],
        }


def finding_line(finding: Finding) -> str:
    """Return a broken promise in one line."""
    tool = f"{finding.tool}: " if finding.tool else ""
    more = f" and {len(finding.cells) - 1} more" if len(finding.cells) > 1 else ""
    return f"[{finding.promise}] {tool}{finding.why} (cell {next(iter(finding.cells))}{more})"


def _broken_data(broken: Broken) -> dict[str, str]:
    return {"promise": broken.promise, "tool": broken.tool, "why": broken.why}


def result_of(cell: Cell, seen: Seen, broken: list[Broken]) -> CellResult:
    """Return what came of a cell. Pure."""
    return CellResult(
        step=cell.step.name,
        tool=cell.step.tool,
        fault=cell.fault,
        verdict=verdict_of(seen, broken),
        how=how_ended(seen),
        lives=seen.lives,
        seconds=seen.elapsed_s,
        broken=tuple(broken),
        story=tuple(story_of(seen)),
    )


def story_of(seen: Seen) -> list[str]:
    """Return what the bodies did and how the calls stand, line by line. Pure."""
    lines = [_run_line(each) for each in seen.runs[:STORY_LINES_MAX]]
    if len(seen.runs) > STORY_LINES_MAX:
        lines.append(f"... and {len(seen.runs) - STORY_LINES_MAX} more")
    for each in seen.standings[-STORY_LINES_MAX:]:
        undo = f", {each.undo}" if each.undo else ""
        counted = effects_of(seen, each.call)
        effects = f", {counted} effects" if counted else ""
        lines.append(
            f"{each.tool} {each.call.n}.{each.call.index} stands as {each.state}{undo}{effects}"
        )
    return lines


def _run_line(run: BodyRun) -> str:
    what = {"call": "", "undo": "compensation of ", "probe": "probe of "}[run.kind]
    said = f" {run.said}" if run.said else ""
    fault = " (fault)" if run.planned else ""
    took = f" after {run.elapsed_s:.1f} s" if run.elapsed_s >= 0.1 else ""
    return (
        f"{run.began_s:8.1f} s  {what}{run.tool} {run.call.n}.{run.call.index}"
        f" attempt {run.attempt}: {run.how}{took}{said}{fault}"
    )


def verdict_of(seen: Seen, broken: list[Broken]) -> Verdict:
    if broken:
        return "broken"
    if not seen.struck:
        return "not reached"
    completed = seen.ended is not None and seen.ended.outcome == "completed"
    return "recovered" if completed else "handed over"


def how_ended(seen: Seen) -> str:
    """Return the outcome in words."""
    if seen.ended is None:
        return seen.error or "no outcome"
    words = seen.ended.outcome.replace("_", " ")
    return f"{words} ({seen.ended.reason})" if seen.ended.reason else words


def findings_of(found: list[tuple[str, list[Broken]]]) -> tuple[Finding, ...]:
    """Return each broken promise once, with all the cells that broke it. Pure."""
    cells: dict[Broken, list[str]] = {}
    for name, broken in found:
        for each in broken:
            cells.setdefault(each, []).append(name)
    order = list(PROMISES)
    ordered = sorted(cells, key=lambda each: (order.index(each.promise), each))
    return tuple(
        Finding(promise=each.promise, tool=each.tool, why=each.why, cells=tuple(cells[each]))
        for each in ordered
    )

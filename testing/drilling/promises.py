"""What an agent, its tools and the runtime promise, and what a run is held against. Pure."""

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

from .cells import Cell, effects_of
from .record import Call, Seen

Promise = Literal[
    "once",
    "kept",
    "honest",
    "undone",
    "probe",
    "bounded",
    "cancellable",
    "secret",
    "read only",
    "runtime",
]

PROMISES: Mapping[Promise, str] = {
    "once": "no effect happens twice",
    "kept": "what was reported as done is done, and stays done",
    "honest": "no failure passes for success",
    "undone": "a compensation undoes what it says",
    "probe": "a probe tells the truth",
    "bounded": "every wait has an end of its own",
    "cancellable": "a body ends when it is cancelled",
    "secret": "secrets leave in nothing",
    "read only": "what is declared a read, or a probe, changes nothing",
    "runtime": "the runtime itself does not fail",
}


class Broken(Struct, frozen=True, order=True):
    """A promise that a run has broken: whose, and how."""

    promise: Promise
    tool: str
    why: str


class ToolPromises(Struct, frozen=True):
    """What a tool promises.

    ``shipped``: it came with Ukemi. ``counts``: its stub can tell a repeat. ``undo_judged``: what undoes it
    is held against what is counted, and not believed.
    """

    write: bool = True
    repeatable: bool = False
    probes: bool = False
    compensates: bool = False
    timeout_s: float | None = None
    shipped: bool = False
    counts: bool = True
    undo_judged: bool = True


class Expected(Struct, frozen=True):
    """How many effects each call has where nothing goes wrong, by call and by what was asked for.

    After a correction, or an answer that was cut off, the same call has another number.
    """

    calls: Mapping[Call, tuple[str, int]]
    asked: Mapping[tuple[str, str], int]
    tools: Mapping[str, int]

    def of(self, call: Call, tool: str, arguments: str | None = None) -> int:
        if arguments is not None and (tool, arguments) in self.asked:
            return self.asked[tool, arguments]
        known = self.calls.get(call)
        return known[1] if known is not None and known[0] == tool else self.tools.get(tool, 0)


class Case(Struct, frozen=True):
    """A run with all that is needed to judge it."""

    seen: Seen
    cell: Cell | None
    expected: Expected
    tools: Mapping[str, ToolPromises]

    @property
    def fault(self) -> str:
        return "" if self.cell is None else self.cell.fault

    def planned_for(self, call: Call) -> bool:
        return self.cell is not None and self.cell.step.call == call

    def of(self, tool: str) -> ToolPromises:
        return self.tools.get(tool, ToolPromises())


def expected_effects(clean: Seen) -> Expected:
    """Return how many effects each call has in the clean run."""
    calls = {
        run.call: (run.tool, effects_of(clean, run.call))
        for run in clean.runs
        if run.kind == "call"
    }
    tools: dict[str, int] = {}
    for tool, effects in calls.values():
        tools[tool] = max(effects, tools.get(tool, 0))
    asked: dict[tuple[str, str], int] = {}
    for each in clean.standings:
        key = (each.tool, each.arguments)
        asked[key] = max(asked.get(key, 0), effects_of(clean, each.call))
    return Expected(calls, asked, tools)

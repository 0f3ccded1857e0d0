"""Which faults are tried at which steps. Pure.

The clean run gives the steps: each call of a tool is numbered from 1, each request to the model ``m1``,
``m2``, and each write to the store ``s1``, ``s2``. A cell is a step and a fault, named ``3:kill_after``.
"""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from ...supervisor.errors import ErrorClass, UsageError
from .record import Call, Seen

TOOL_CLASSES = tuple(each.value for each in ErrorClass)
MODEL_CLASSES = (
    "transient",
    "rate_limited",
    "in_doubt_timeout",
    "context_overflow",
    "permission_denied",
    "content_refused",
    "unknown",
)
TOOL_FAULTS = (*TOOL_CLASSES, "outage", "lost", "late", "hang", "kill_before", "kill_after")
PROBE_FAULTS = ("probe_error",)
UNDO = "undo"
UNDO_FAULTS = ("undo_error", "undo_lost", "undo_hang", "undo_kill_before", "undo_kill_after")
DENIED = "denied"
MODEL_FAULTS = (*MODEL_CLASSES, "outage", "cut_off", "lost", "hang", "kill_before", "kill_after")
STORE_FAULTS = ("error", "down", "kill_before", "kill_after")

ALL_FAULTS = tuple(
    dict.fromkeys(
        (
            *TOOL_FAULTS,
            DENIED,
            *PROBE_FAULTS,
            UNDO,
            *UNDO_FAULTS,
            *MODEL_FAULTS,
            *STORE_FAULTS,
        )
    )
)

WHAT = {
    **{each: f"fails before it did anything: {each}" for each in TOOL_CLASSES},
    "cancelled": "a cancellation from inside that nobody asked for",
    "outage": "transient, each time",
    "lost": "it is done, and its answer gets lost",
    "late": "it is done, and its answer comes after the time for it",
    "hang": "no answer ever comes",
    "kill_before": "the process is killed before it",
    "kill_after": "the process is killed after it",
    "denied": "a person denies it",
    "probe_error": "its answer gets lost, and its probe fails once",
    "undo": "what it did has to be undone, for the session fails later",
    "undo_error": "undoing it fails once",
    "undo_lost": "it is undone, and the answer gets lost",
    "undo_hang": "undoing it never ends",
    "undo_kill_before": "the process is killed before it is undone",
    "undo_kill_after": "the process is killed after it was undone",
    "cut_off": "the answer breaks off half-way",
    "error": "the write fails once",
    "down": "this write and all later ones fail",
}
"""What each fault is, for people."""


class Step(Struct, frozen=True):
    """A step of the clean run: ``name`` as in a cell, ``kind`` tool, model or store.

    ``inside``: its body reaches a stub, so that faults strike there.
    """

    name: str
    kind: str
    at: int
    tool: str = ""
    call: Call | None = None
    effects: int = 0
    asked: bool = False
    inside: bool = False
    compensates: bool = False
    probes: bool = False
    timeout_s: float | None = None


class Cell(Struct, frozen=True):
    """One fault at one step."""

    step: Step
    fault: str

    @property
    def name(self) -> str:
        return f"{self.step.name}:{self.fault}"

    @property
    def error_class(self) -> ErrorClass | None:
        """The class that a plain error of this cell is of."""
        if self.fault in ("outage", "probe_error", "undo_error"):
            return ErrorClass.TRANSIENT
        return ErrorClass(self.fault) if self.fault in TOOL_CLASSES else None


class ToolFacts(Struct, frozen=True):
    """What the cells of a tool depend on."""

    compensates: bool = False
    probes: bool = False
    timeout_s: float | None = None


def steps_of(clean: Seen, facts: dict[str, ToolFacts]) -> list[Step]:
    """Return the steps of a clean run, in the order in which they are numbered."""
    calls: dict[Call, str] = {}
    inside: set[Call] = set()
    for run in clean.runs:
        if run.kind == "call":
            calls.setdefault(run.call, run.tool)
            if run.visited:
                inside.add(run.call)
    asked = {each.call for each in clean.requests}
    steps: list[Step] = []
    for at, (call, tool) in enumerate(calls.items(), 1):
        known = facts.get(tool, ToolFacts())
        steps.append(
            Step(
                name=str(at),
                kind="tool",
                at=at,
                tool=tool,
                call=call,
                effects=effects_of(clean, call),
                asked=call in asked,
                inside=call in inside,
                compensates=known.compensates,
                probes=known.probes,
                timeout_s=known.timeout_s,
            )
        )
    for kind, letter, count in (
        ("model", "m", clean.model_calls),
        ("store", "s", clean.store_calls),
    ):
        steps += [Step(name=f"{letter}{at}", kind=kind, at=at) for at in range(1, count + 1)]
    return steps


def effects_of(seen: Seen, call: Call) -> int:
    """Return how many effects the body of a call has taken, those taken back included."""
    return sum(1 for each in seen.changes if each.call == call and each.change == 1)


def faults_of(step: Step) -> Sequence[str]:
    """Return the faults that make sense at a step."""
    match step.kind:
        case "model":
            return MODEL_FAULTS
        case "store":
            return STORE_FAULTS
        case _:
            found = [each for each in TOOL_FAULTS if each != "late" or step.timeout_s is not None]
            found += [DENIED] if step.asked else []
            found += PROBE_FAULTS if step.probes else ()
            found += [UNDO]
            found += UNDO_FAULTS if step.compensates else ()
            return found


def cells_of(
    steps: Iterable[Step], *, only: Sequence[str] = (), named: Sequence[str] = ()
) -> list[Cell]:
    """Return the cells to run, in order.

    Args:
        only: these faults, at every step; empty: all.
        named: these cells and no others.

    Raises:
        UsageError: a fault or a cell of this name does not exist.
    """
    for fault in only:
        if fault not in ALL_FAULTS:
            raise UsageError(f"fault {fault!r} is unknown; there are: {', '.join(ALL_FAULTS)}")
    cells = [Cell(step, fault) for step in steps for fault in faults_of(step)]
    if named:
        known = {cell.name: cell for cell in cells}
        missing = [each for each in named if each not in known]
        if missing:
            raise UsageError(f"there is no cell {missing[0]!r}; {_cells_told(cells, missing[0])}")
        return [known[each] for each in named]
    return [cell for cell in cells if not only or cell.fault in only]


def _cells_told(cells: Sequence[Cell], wanted: str) -> str:
    step = wanted.partition(":")[0]
    own = [cell.fault for cell in cells if cell.step.name == step]
    if own:
        return f"step {step} has: {', '.join(own)}"
    steps = list(dict.fromkeys(cell.step.name for cell in cells))
    return f"steps are: {', '.join(steps)}"

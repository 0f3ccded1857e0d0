"""What one run meets: the fault of its cell, the lives of its process, and what is seen of both."""

import threading
from typing import NoReturn

import anyio

from ...actors.tooling.context import CallContext
from ...stores.base import StoreFailed
from ...supervisor.errors import PermissionDenied
from ..clock import VirtualTimeLoop
from ..effects import EffectStub, Visit
from ..faults import error_of
from .cells import UNDO, Cell
from .planted import Finder
from .record import BodyKind, BodyRun, Call, Change, Leak, Seen

MAIN = "drill"
"""The session's id."""

PLANNED = "planned fault"

OUTSIDE_S = 3600.0 * 24
"""Virtual seconds after which a planned sleep ends where nobody ends it before."""


class Killed(BaseException):
    """The process is dead: nothing after this counts. No `Exception`, so that no body takes it for one."""


class Life:
    """One process of the run: a loop, until it ends or is killed."""

    def __init__(self, loop: VirtualTimeLoop) -> None:
        self.loop = loop
        self.dead = False
        self.asleep = 0
        """Threads that sleep on purpose; nobody need wait for them."""
        self.over = threading.Event()

    def die(self) -> None:
        """Stop the loop where it stands; safe to call from a thread."""
        self.dead = True
        self.loop.call_soon_threadsafe(self.loop.stop)


class World:
    """One run of a cell, or the clean run where there is none.

    It outlives the process that is killed in it, as the world does.
    """

    def __init__(self, cell: Cell | None, finder: Finder) -> None:
        self.cell = cell
        self.finder = finder
        self.seen = Seen()
        self.life: Life | None = None
        self.target_done = False
        """The body of the cell's call has returned."""
        self._open: dict[tuple[str, int, int, str, int], BodyRun] = {}
        self._leaks: set[Leak] = set()
        self.cut_text: str | None = None
        """What the model had said when it was cut off."""
        self._lost_once = False

    # ------------------------------------------------------------ lives

    def live(self) -> Life:
        """Return the life under way.

        Raises:
            Killed: its process was killed, and this is a part of it that does not know yet.
        """
        life = self.life
        if life is None or life.dead:
            raise Killed
        return life

    def kill(self) -> NoReturn:
        """Kill the process.

        Raises:
            Killed: always; what was asked for in it never comes back.
        """
        self.live().die()
        raise Killed

    # ------------------------------------------------------------ the fault

    def is_target(self, call: Call) -> bool:
        return self.cell is not None and self.cell.step.call == call

    def due(self, kind: BodyKind, call: Call) -> str:
        """Return the fault planned for this body, or ``""``. It still has to strike.

        Of a cell about undoing, the call itself is left alone; of one about the probe, its answer is
        lost first.
        """
        cell = self.cell
        if cell is None or cell.step.call != call:
            return ""
        fault = cell.fault
        match kind:
            case "call":
                if fault == "probe_error":
                    return "" if self._lost_once else "lost"
                planned = "" if fault.startswith((UNDO, "denied", "probe")) else fault
            case "undo":
                planned = fault.removeprefix("undo_") if fault.startswith("undo_") else ""
            case "probe":
                planned = "error" if fault == "probe_error" else ""
        if planned == "outage":
            return planned
        return "" if self.seen.struck else planned

    def strike(self, fault: str, run: BodyRun | None) -> None:
        """Raise what a fault raises at this point of a body's run.

        Raises:
            Killed: it kills.
            BaseException: its error.
        """
        assert self.cell is not None  # or no fault was due
        if run is not None:
            run.planned = True
        if fault in ("kill_before", "kill_after"):
            self.seen.struck += 1
            self.kill()
        if fault == "lost":
            # The probe's own fault is still to come where this only leads to it.
            if self.cell.fault == "probe_error":
                self._lost_once = True
            else:
                self.seen.struck += 1
            raise ConnectionResetError(f"{PLANNED}: the answer got lost")
        self.seen.struck += 1
        error_class = self.cell.error_class
        assert error_class is not None  # all that is no error was told apart before
        raise error_of(error_class, PLANNED)

    def ends_now(self) -> bool:
        """Tell whether the session has to fail now, so that what it did is undone."""
        return self.cell is not None and self.cell.fault.startswith(UNDO) and self.target_done

    def end(self) -> NoReturn:
        """Fail a request to the model for good."""
        if self.cell is not None and self.cell.fault == UNDO:
            self.seen.struck = 1
        raise PermissionDenied(f"{PLANNED}: the session cannot go on")

    # ------------------------------------------------------------ bodies

    def enter(self, kind: BodyKind, tool: str, context: CallContext) -> BodyRun:
        """Take down that a body is entered."""
        call = Call(context.session_id, *context.call)
        run = BodyRun(
            kind=kind,
            tool=tool,
            call=call,
            attempt=context.attempt,
            began_s=self.now(),
        )
        self.seen.runs.append(run)
        self._open[call.session, call.n, call.index, kind, context.attempt] = run
        return run

    def now(self) -> float:
        return 0.0 if self.life is None else self.life.loop.time()

    def standing(self, call: Call) -> int:
        """Return how many effects of a call stand."""
        return sum(max(each.change, -1) for each in self.seen.changes if each.call == call)

    def leave(self, run: BodyRun) -> None:
        """Take down that a body has ended."""
        run.elapsed_s = self.now() - run.began_s
        if run.kind == "call" and run.how == "returned" and self.is_target(run.call):
            self.target_done = True

    # ------------------------------------------------------------ stubs

    def before(self, stub: EffectStub, visit: Visit, context: CallContext | None) -> None:
        """A stub is about to take effect: what fails before it does so here."""
        self.live()
        if context is None:
            return
        run = self._run_of(context)
        if run is not None:
            run.visited = True
        kind, call = kind_of(context), Call(context.session_id, *context.call)
        fault = self.due(kind, call)
        if strikes_before(fault):
            self.strike(fault, run)

    def after(
        self, stub: EffectStub, visit: Visit, context: CallContext | None, change: int
    ) -> None:
        """A stub has taken effect: what gets lost after it does so here."""
        if context is None:
            return
        kind, call = kind_of(context), Call(context.session_id, *context.call)
        if change:
            self.seen.changes.append(Change(call, context.tool, kind, change))
        fault = self.due(kind, call)
        if strikes_after(fault):
            self.strike(fault, self._run_of(context))

    def _run_of(self, context: CallContext) -> BodyRun | None:
        call = context.call
        return self._open.get((context.session_id, *call, kind_of(context), context.attempt))

    # ------------------------------------------------------------ what leaves

    def search(self, where: str, text: str | bytes, *, raw: bool = False) -> None:
        """Look for secrets in something that leaves."""
        for name in self.finder.names_in(text):
            leak = Leak(name, where, raw)
            if leak not in self._leaks:
                self._leaks.add(leak)
                self.seen.leaks.append(leak)

    # ------------------------------------------------------------ the store

    def commit_due(self) -> str:
        """Count a write to the store and return the fault planned for it, or ``""``."""
        self.live()
        self.seen.store_calls += 1
        cell, number = self.cell, self.seen.store_calls
        if cell is None or cell.step.kind != "store" or number < cell.step.at:
            return ""
        if cell.fault == "down":
            self.seen.struck += 1
            return "down"
        return cell.fault if number == cell.step.at and not self.seen.struck else ""

    def fail_commit(self, why: str) -> NoReturn:
        self.seen.struck += 1
        raise StoreFailed(f"{PLANNED}: {why}")


def kind_of(context: CallContext) -> BodyKind:
    """Return which of a tool's functions runs."""
    return "undo" if context.undo else "probe" if context.probe else "call"


def strikes_before(fault: str) -> bool:
    """Tell whether a fault strikes before anything was done."""
    return fault not in ("", "lost", "late", "hang", "kill_after")


def strikes_after(fault: str) -> bool:
    """Tell whether a fault strikes once everything was done."""
    return fault in ("lost", "kill_after")


async def never() -> NoReturn:
    """Wait for what never comes; whoever cancels this ends it."""
    while True:  # noqa: ASYNC110 - nothing is waited for, and a wait without a timer stops the clock
        await anyio.sleep(OUTSIDE_S)

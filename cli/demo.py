"""The demo: real work, its process killed in the middle, and everything checked afterwards.

A worker process runs one session that repairs a Python project and a dozen that order goods from a
service in this process. Once enough checkpoints are acknowledged and orders are in flight, it gets
SIGKILL. A second worker goes on, and a few more sessions order what the service answers wrongly, or
not at all; a person in this process is asked where nothing else can tell, and before a large order.
One session's file is rejected by a check, another's answer by the audit. Then what was acknowledged is
compared with what is stored, the shop's book with what was ordered, each failure with the class
it should get, each doubt with how it was settled, and the project's tests are run.

Files, each using only those before it: demo_project_copy, demo_service · demo_agents · demo_faults,
demo_errands, demo_watched · demo_failures, demo_effects, demo_stops, demo_person, demo_worker ·
demo_checks · demo.
"""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import ExitStack, asynccontextmanager, suppress
from pathlib import Path

import anyio
import anyio.abc
import msgspec
from anyio.streams.text import TextReceiveStream
from msgspec import Struct

from ..actors.end_events import SessionCompleted, SessionHandedOver
from ..actors.events import (
    AuditMismatch,
    ChangeDecided,
    Event,
    RetryScheduled,
    SessionResumed,
    SessionStarted,
)
from ..actors.people_events import ApprovalRequested
from ..stores.base import Head, HeadQuery
from ..supervisor.errors import UkemiError, UsageError
from .demo_agents import ShopError, make_agents
from .demo_checks import Checks, Report, acknowledged_in, draw_checks, report_of, stored_counters
from .demo_effects import all_effects, effects_table
from .demo_errands import ERRANDS, KILLED
from .demo_failures import all_met, failures_table
from .demo_faults import MEETINGS
from .demo_person import Person
from .demo_project_copy import copy_project, is_as_copied, restore_tests, run_project_tests
from .demo_service import OrderBook, order_service
from .demo_stops import all_stops, stops_table
from .demo_watched import WATCHED
from .demo_worker import Plan, plan_path
from .errors import DONE, NOT_DONE, CannotRead, ExitStatus
from .listing import sessions_table
from .output import Output
from .progress import Progress
from .stored import reading
from .terminal import Colour, one_line, plural

KILL_AT = 20
"""Checkpoints acknowledged before the worker is killed, at least; orders are in flight then."""

IN_FLIGHT_MIN = 3
KILL_PATIENCE_S = 2.0
WHOLE_S_MAX = 55.0
WHOLE_S_MAX_REAL_MODEL = 1800.0
POLL_S = 0.01
SESSIONS_MAX = 1000
LOG_LINES_SHOWN = 5

KEYS: Mapping[str, tuple[str, ...]] = {
    "openai": ("OPENAI_API_KEY",),
    "anthropic": ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"),
}
"""Where the providers' SDKs look for their keys."""

SHOWN = (
    SessionCompleted
    | SessionHandedOver
    | SessionResumed
    | RetryScheduled
    | ApprovalRequested
    | ChangeDecided
    | AuditMismatch
)


class DemoRequest(Struct, frozen=True, kw_only=True):
    """What ``ukemi demo`` was asked for."""

    store: str | None = None
    model: str | None = None
    keep: str | None = None


async def demo(out: Output, request: DemoRequest) -> ExitStatus:
    """Run the demo; 0 only if every check holds."""
    check_key(request.model, os.environ)
    make_agents("", request.model)  # a model that cannot be had is told here
    if request.store is not None and await anyio.Path(request.store).exists():
        raise CannotRead(f"--store {request.store!r} exists: the demo needs a new one")
    with ExitStack() as cleanup:
        folder = _folder(request, cleanup)
        service, book = cleanup.enter_context(order_service())
        plan = Plan(
            store=request.store or str(folder / "agents.db"),
            service=service,
            workspace=str(folder / "project"),
            copy=str(folder / "copy"),
            acknowledged=str(folder / "acknowledged.txt"),
            model=request.model,
        )
        play = _Play(out, plan, folder, book)
        report = await play.whole(WHOLE_S_MAX if request.model is None else WHOLE_S_MAX_REAL_MODEL)
    if request.keep is not None:
        out.note(f"kept in {request.keep}; look with: ukemi sessions --store {plan.store}", "grey")
    if out.as_json:
        out.data(report)
    return DONE if play.checks.hold else NOT_DONE


def check_key(model: str | None, environ: Mapping[str, str]) -> None:
    """Refuse a provider whose key is not there: every session would end with that.

    Raises:
        UsageError: the environment has no key for this model.
    """
    names = KEYS.get((model or "").partition(":")[0], ())
    if names and not any(environ.get(name) for name in names):
        raise UsageError(f"--model {model!r} needs a key: set {names[0]}")


def _folder(request: DemoRequest, cleanup: ExitStack) -> Path:
    if request.keep is None:
        # A process that was killed may still write a last byte while the folder is removed.
        made = tempfile.TemporaryDirectory(prefix="ukemi-demo-", ignore_cleanup_errors=True)
        return Path(cleanup.enter_context(made))
    folder = Path(request.keep).absolute()
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise CannotRead(f"--keep {request.keep!r} is there already and not an empty folder")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CannotRead(f"--keep {request.keep!r} cannot be made: {error.strerror}") from error
    return folder


class _Play:
    """The acts of the demo, and what is known so far."""

    def __init__(self, out: Output, plan: Plan, folder: Path, book: OrderBook) -> None:
        self.checks = Checks()
        self._out = out
        self._plan = plan
        self._folder = folder
        self._book = book
        self._person = Person(plan.service, plan.store)
        self._progress = Progress(out.stderr, out.aside, several=True, live=out.live)
        self._began = time.monotonic()

    async def whole(self, seconds: float) -> Report:
        """Play all acts within so many seconds; what was not reached fails its check."""
        copy_project(Path(self._plan.workspace))
        copy_project(Path(self._plan.copy))
        await anyio.Path(plan_path(self._folder)).write_bytes(msgspec.json.encode(self._plan))
        before = await run_project_tests(self._plan.workspace)
        self._say(f"the project's tests before: {before.last_line}")
        try:
            with anyio.fail_after(seconds):
                await self._first_act()
                await self._second_act()
        except TimeoutError:
            self._say(f"not done within {seconds:.0f} s; a worker's log may say why", "red")
        finally:
            self._progress.close()
        return await self._reckon()

    # ------------------------------------------------------------ the acts

    async def _first_act(self) -> None:
        """Let a worker begin, and kill it in the middle."""
        async with self._worker(1) as process:
            self._say(f"worker 1 (process {process.pid}) repairs the project and orders goods")
            await self._until_the_middle(process)
            flying = plural(len(self._book.in_flight()), "order")
            with suppress(ProcessLookupError):  # it has ended by itself, which is told below
                process.kill()
            killed = await process.wait() == -signal.SIGKILL
        acknowledged = acknowledged_in(self._plan.acknowledged)
        if killed:
            self.checks.killed_at = len(acknowledged)
            noted = plural(len(acknowledged), "checkpoint")
            text = f"SIGKILL to worker 1: {noted} acknowledged, {flying} in flight"
            self._say(text, "red")
        else:
            await self._say_why(process, 1)
        async with reading(self._plan.store) as store:
            stored = await stored_counters(store, acknowledged)
            heads = await store.heads(HeadQuery(limit=SESSIONS_MAX))
        self.checks.lost |= acknowledged - stored
        running = [each for each in heads if each.status == "running"]
        self.checks.unfinished = {each.session_id: each.epoch for each in running}

    async def _until_the_middle(self, process: anyio.abc.Process) -> None:
        """Wait for enough checkpoints, for the order that is booked and not answered, and, for a
        while, for orders of both kinds in flight."""
        patience: float | None = None
        while process.returncode is None:
            await anyio.sleep(POLL_S)
            if len(acknowledged_in(self._plan.acknowledged)) < KILL_AT:
                continue
            if not all(map(self._book.keeps_waiting, KILLED.orders)):
                continue
            now = time.monotonic()
            patience = now + KILL_PATIENCE_S if patience is None else patience
            flying = self._book.in_flight()
            both = {keyed for _, keyed in flying} == {True, False}
            if (both and len(flying) >= IN_FLIGHT_MIN) or now > patience:
                return

    async def _second_act(self) -> None:
        """Let a second worker go on to the end, and meet the faults of the service."""
        plan = msgspec.structs.replace(self._plan, faults=True)
        await anyio.Path(plan_path(self._folder)).write_bytes(msgspec.json.encode(plan))
        async with self._worker(2) as process:
            count = plural(len(self.checks.unfinished), "session")
            faults = plural(len(MEETINGS) + len(ERRANDS) - 1, "fault")
            self._say(f"worker 2 (process {process.pid}) goes on with {count}, and meets {faults}")
            self._say(f"{plural(len(WATCHED), 'session')} more will have to be stopped")
            if await process.wait() != 0:
                await self._say_why(process, 2)

    async def _reckon(self) -> Report:
        """Compare what was promised with what is there, and tell."""
        restore_tests(Path(self._plan.workspace))
        tests = await run_project_tests(self._plan.workspace)
        acknowledged = acknowledged_in(self._plan.acknowledged)
        heads: list[Head] = []
        try:
            async with reading(self._plan.store) as store:
                heads = await store.heads(HeadQuery(limit=SESSIONS_MAX))
                self.checks.lost |= acknowledged - await stored_counters(store, acknowledged)
                self.checks.met = await all_met(store, list(reversed(heads)))
                self.checks.effects = await all_effects(store, list(reversed(heads)))
                self.checks.stops = await all_stops(store, list(reversed(heads)))
        except UkemiError as error:
            self._say(f"the store cannot be read: {error}", "red")
        self.checks.heads = heads
        self.checks.bookings = self._book.bookings
        self.checks.copy_untouched = is_as_copied(Path(self._plan.copy))
        self.checks.tests_green = tests.green
        self._show(heads, tests.last_line)
        return report_of(self.checks)

    def _show(self, heads: list[Head], tests: str) -> None:
        """Print the table and the checks: on standard output, unless that belongs to the JSON."""
        write = self._out.beside if self._out.as_json else self._out.text
        terminal = self._out.aside if self._out.as_json else self._out.terminal
        write(sessions_table(list(reversed(heads)), time.time_ns() // 1_000_000, terminal))
        write("")
        write(failures_table(self.checks.met, terminal))
        write("")
        write(effects_table(self.checks.effects, self.checks.bookings, terminal))
        write("")
        write(stops_table(self.checks.stops, terminal))
        write("")
        write(draw_checks(self.checks, terminal))
        took = time.monotonic() - self._began
        repeats = plural(self._book.repeats, "repeat")
        write(f"the project's tests: {tests}; the shop recognised {repeats}; {took:.1f} s in all")

    # ------------------------------------------------------------ workers

    @asynccontextmanager
    async def _worker(self, number: int) -> AsyncGenerator[anyio.abc.Process]:
        """Run a worker whose events are told; it is dead when the block is left."""
        # -P: what lies in the folder where somebody types `ukemi demo` is none of ours.
        command = [sys.executable, "-P", "-m", "ukemi", "demo", "--worker", str(self._folder)]
        with open(self._folder / f"worker-{number}.log", "wb") as log:  # noqa: ASYNC230 - once
            process = await anyio.open_process(
                command, stdin=subprocess.DEVNULL, stderr=log, start_new_session=True
            )
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(self._listen, process, group)
                yield process
        finally:
            with anyio.CancelScope(shield=True):
                if process.returncode is None:
                    process.kill()
                await process.aclose()
            self._progress.close()

    async def _say_why(self, process: anyio.abc.Process, number: int) -> None:
        """Tell how a worker ended that should have ended otherwise."""
        self._say(f"worker {number} ended with status {process.returncode}", "red")
        log = await anyio.Path(self._folder / f"worker-{number}.log").read_text("utf-8", "replace")
        for line in log.splitlines()[-LOG_LINES_SHOWN:]:
            self._say(one_line(line), "red")

    async def _listen(self, process: anyio.abc.Process, group: anyio.abc.TaskGroup) -> None:
        """Tell what a worker tells; its questions go to the person."""
        assert process.stdout is not None  # a pipe was asked for
        rest = ""
        async for text in TextReceiveStream(process.stdout, errors="replace"):
            *lines, rest = (rest + text).split("\n")
            for line in lines:
                event = self._told(line)
                if isinstance(event, SessionHandedOver) and event.outcome.reason == "in_doubt":
                    group.start_soon(self._ask, event)
                elif isinstance(event, ApprovalRequested):
                    group.start_soon(self._ask_before, event)

    def _told(self, line: str) -> Event | None:
        """Tell what a worker has told; a line it did not get to finish is passed over."""
        try:
            event: Event = msgspec.json.decode(line, type=Event)
        except msgspec.DecodeError:
            return None
        if isinstance(event, SHOWN):
            self._progress.tell(event)
        elif not isinstance(event, SessionStarted):
            self._progress.follow(event)
        return event

    async def _ask(self, event: SessionHandedOver) -> None:
        """Put the doubts of a session to the person, whose answers go to the store."""
        session_id = event.session_id
        for doubt in event.outcome.dossier.in_doubt:
            try:
                said = await self._person.answer(session_id, doubt)
            except (UkemiError, ShopError, OSError) as error:
                self._say(f"{session_id}: the person could not answer: {error}", "red")
                continue
            if said is not None:
                self._say(f"{session_id}  a person: {said}", "blue")

    async def _ask_before(self, event: ApprovalRequested) -> None:
        """Ask the person about a call that waits; the answer goes to the store."""
        try:
            said = await self._person.judge(event)
        except (UkemiError, ShopError, OSError) as error:
            self._say(f"{event.session_id}: the person could not answer: {error}", "red")
        else:
            self._say(f"{event.session_id}  a person: {said}", "blue")

    def _say(self, text: str, colour: Colour = "bold") -> None:
        self._progress.line(text, colour)

"""One run of the agent's session: from its start to its end, over all the deaths of its process.

Each process is an event loop with a virtual clock. Killed, it stops where it stands and is never
turned again: no clean-up of it runs. What is in the store, in the workspace and in the stubs is there
for the next process, which takes the session over once the lease of the dead one has ended.
"""

import io
import logging
import random
import tempfile
from asyncio import AbstractEventLoop, Task
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, Literal

import anyio
import msgspec
from msgspec import Struct

from ...actors.agent import Agent
from ...actors.approvals.approvals import ApprovalRequest, request_named
from ...actors.budget import Budget
from ...actors.events import (
    AlertRaised,
    CallStuck,
    CheckpointStored,
    SessionRestarted,
    event_to_data,
)
from ...actors.handle import SessionHandle
from ...actors.outcome import HandedOver, Outcome
from ...actors.runtime import Runtime
from ...actors.workspaces import Snapshots
from ...stores.base import SessionUnknown, StoreError, StoreFailed
from ...stores.memory import MemoryStore
from ...supervisor.policy import Policy
from ..clock import VirtualClock, VirtualTimeLoop
from ..effects import reset_all, watch
from .asked import WatchedModel, replayed_by, replies_of
from .cells import DENIED, Cell
from .ending import ended_as, standings_of, told
from .folders import changed, copied, listed
from .outside import AtWork, counted_threads, send_home
from .planted import Finder, Secret, plant_variables, put_back
from .record import Call, Ended, Request, Seen
from .standing_in import StandIn
from .storing import WatchedStore
from .watching import agents_in
from .world import MAIN, Life, World

LEASE_S = 10.0
LIVES_MAX = 6
SLACK_S = 3600.0
"""Virtual seconds beyond the session's own limit before its end is waited for in vain."""
UNLIMITED_S = 7 * 24 * 3600.0

_graves: list[object] = []
"""Loops of dead processes, kept so that nothing of theirs is cleaned up, which would run their bodies on."""


class Setting(Struct, kw_only=True):
    """What every run of a drill has in common."""

    agents: Sequence[Agent]
    main: str
    task: str
    stand_ins: Mapping[str, StandIn]
    secrets: Mapping[str, str]
    variables: Sequence[str]
    wanted: Sequence[Secret]
    policy: Policy | str | Path | None
    budget: Budget
    workspace: Path | None
    seed: int
    patience_s: float
    replies: Sequence[str] = ()


def rehearse(setting: Setting, cell: Cell | None) -> Seen:
    """Run the session once, with the fault of this cell or with none."""
    world = World(cell, Finder(setting.wanted))
    reset_all()
    before = plant_variables(setting.variables, setting.seed)
    with tempfile.TemporaryDirectory(prefix="ukemi-drill-") as folder, ExitStack() as stack:
        stack.callback(put_back, before)
        stack.callback(watch, None)
        at_work = stack.enter_context(counted_threads())
        watch(world)
        printed = _redirect(stack)
        run = _Run(setting, world, Path(folder), at_work)
        run.live_on()
        for name, text in printed.items():
            world.search(name, text.getvalue())
    return world.seen


def _redirect(stack: ExitStack) -> dict[str, io.StringIO]:
    """Catch what is printed and logged: it leaves too."""
    out, err, log = io.StringIO(), io.StringIO(), io.StringIO()
    stack.enter_context(redirect_stdout(out))
    stack.enter_context(redirect_stderr(err))
    handler = logging.StreamHandler(log)
    root = logging.getLogger()
    root.addHandler(handler)
    stack.callback(root.removeHandler, handler)
    return {"standard output": out, "standard error": err, "the log": log}


class _Run:
    """The lives of one run."""

    def __init__(self, setting: Setting, world: World, folder: Path, at_work: AtWork) -> None:
        self._setting = setting
        self._world = world
        self._at_work = at_work
        self._store = WatchedStore(MemoryStore(), world)
        self._folder = folder
        self._workspace = folder / "workspace"
        self._before = copied(setting.workspace, self._workspace)
        self._acknowledged: dict[str, int] = {}
        self._started = False
        self._deciding: Runtime | None = None

    def live_on(self) -> None:
        """Run to the end of the session, with a new process for each that dies."""
        seen, start_s = self._world.seen, 0.0
        for number in range(1, LIVES_MAX + 1):
            seen.lives = number
            life = self._world.life = Life(VirtualTimeLoop(start_s, self._setting.patience_s))
            ended = self._live(life)
            seen.elapsed_s = life.loop.time()
            if ended:
                life.over.set()
                break
            start_s = life.loop.time() + LEASE_S + 1.0
        else:
            seen.error = f"the process was killed {LIVES_MAX} times"
        seen.files = sorted(changed(self._before, listed(self._workspace)))

    def _live(self, life: Life) -> bool:
        """Run one process; False where it was killed."""
        loop = life.loop
        loop.set_exception_handler(_ignored)
        task: Task[None] = loop.create_task(self._session(life))
        task.add_done_callback(lambda _: loop.stop())
        loop.run_forever()
        send_home(loop)
        if life.dead:
            _graves.append((loop, task))
            life.over.set()
            return False
        error = None if task.cancelled() else task.exception()
        if task.cancelled() or error is not None:
            self._world.seen.error = told(error)
            self._world.search("what the runtime raised", told(error))
        # A body that does not end is still in there.
        _graves.append((loop, task))
        return True

    # ------------------------------------------------------------ one process

    async def _session(self, life: Life) -> None:
        runtime = self._runtime()
        life.loop.watch(lambda: self._busy(runtime, life))
        self._deciding = runtime
        async with runtime:
            try:
                handle = await self._start_or_find(runtime)
            except StoreFailed as error:
                self._world.seen.ended = Ended(outcome="refused", reason="store", detail=str(error))
                return
            async with anyio.create_task_group() as group:
                group.start_soon(self._listen, handle)
                with anyio.move_on_after(self._limit_s()) as limit:
                    outcome = await handle.outcome()
                    await self._finish(runtime, handle, outcome)
                if limit.cancelled_caught:
                    self._world.seen.error = f"the session had no end within {self._limit_s():g} s"
                group.cancel_scope.cancel()
            for text in runtime.alerts:
                self._world.search("an alert", text)

    def _busy(self, runtime: Runtime, life: Life) -> bool:
        return self._at_work.count > 0 or len(runtime.threads_running()) > life.asleep

    def _limit_s(self) -> float:
        seconds = self._setting.budget.seconds
        return UNLIMITED_S if seconds is None else seconds + SLACK_S

    def _runtime(self) -> Runtime:
        setting, world = self._setting, self._world
        replies = replies_of(setting.replies) if world.cell is not None else {}

        def model_of(agent: Agent) -> WatchedModel:
            again = replayed_by(agent.model) and world.cell is not None
            return WatchedModel(agent.model, world, replies if again else None)

        return Runtime(
            self._store,
            agents=agents_in(setting.agents, setting.stand_ins, world, model_of),
            policy=setting.policy,
            clock=VirtualClock(),
            secrets=setting.secrets,
            random_source=random.Random(setting.seed),
            lease_s=LEASE_S,
            snapshots=Snapshots(path=self._folder / "kept"),
            on_alert=self._alerted,
            on_approval=self._asked,
        )

    async def _start_or_find(self, runtime: Runtime) -> SessionHandle:
        handle = runtime.session(MAIN)
        if self._started:
            try:
                await self._look_for_loss(handle)
            except SessionUnknown:
                pass  # it died before the session was stored
            else:
                return handle
        setting, self._started = self._setting, True
        return await runtime.start(
            setting.main,
            setting.task,
            session_id=MAIN,
            budget=setting.budget,
            working_directory=self._workspace,
        )

    async def _look_for_loss(self, handle: SessionHandle) -> None:
        """Hold what had been acknowledged against what is stored."""
        stored = (await handle.inspect()).checkpoint
        acknowledged = self._acknowledged.get(MAIN, 0)
        if stored < acknowledged:
            self._world.seen.lost.append(
                f"checkpoint {acknowledged} had been acknowledged, and the store has {stored}"
            )

    async def _listen(self, handle: SessionHandle) -> None:
        world = self._world
        async for event in handle.events():
            world.search(f"the event {event.event}", msgspec.json.encode(event_to_data(event)))
            if isinstance(event, CheckpointStored):
                self._acknowledged[event.session_id] = event.counter
            elif isinstance(event, SessionRestarted):
                world.seen.restarts.append(event.reason)
            elif isinstance(event, CallStuck):
                world.seen.stuck.append(event.tool)

    async def _alerted(self, alert: AlertRaised) -> None:
        self._world.search("an alert", alert.text)

    async def _asked(self, request: ApprovalRequest) -> None:
        """Stand for the person who is asked: everything is approved, but for what a cell denies."""
        world = self._world
        world.live()
        world.search("a request for approval", msgspec.json.encode(request))
        session, call, _ = request_named(request.request)
        assert call is not None  # a request's own name has it
        where = Call(session, *call)
        denied = world.cell is not None and world.cell.fault == DENIED and world.is_target(where)
        world.seen.struck += denied
        verdict: Literal["approve", "deny"] = "deny" if denied else "approve"
        world.seen.requests.append(Request(where, verdict))
        assert self._deciding is not None  # it is what asks
        await self._deciding.decide(request, verdict, by="the drill")

    # ------------------------------------------------------------ the end

    async def _finish(self, runtime: Runtime, handle: SessionHandle, outcome: Outcome) -> None:
        """Take down how the session ended and how each of its calls stands."""
        world = self._world
        world.seen.ended = ended_as(outcome)
        world.search("the outcome", msgspec.json.encode(outcome))
        try:
            for head in await runtime.sessions(limit=1000):
                world.seen.standings += await standings_of(runtime.session(head.session_id))
            if isinstance(outcome, HandedOver):
                await self._look_for_loss(handle)
        except StoreError:
            pass  # a store that is down for good keeps what it has


def _ignored(loop: AbstractEventLoop, context: dict[str, Any]) -> None:
    """What a dead process leaves unanswered is nobody's to hear."""

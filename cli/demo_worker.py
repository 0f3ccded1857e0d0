"""The process of the demo that does the work, and is killed in the middle of it.

It tells its parent what happens, one event a line on standard output, and notes each acknowledged
checkpoint in a file that survives its death.
"""

import os
import sys
from pathlib import Path
from typing import IO

import anyio
import msgspec
from msgspec import Struct

from ..actors.events import CheckpointStored, Event, event_to_data
from ..actors.handle import SessionHandle
from ..actors.outcome import Completed, HandedOver, Outcome
from ..actors.runtime import Runtime
from ..stores.base import SessionExists
from ..supervisor.danger.policy import DangerPolicy, DangerRule
from ..supervisor.danger.risks import DangerCategories
from ..supervisor.policy import Policy
from ..supervisor.policy_failures import RetryPolicy
from .demo_agents import (
    REPAIR_TASK,
    buyer_of,
    make_agents,
    order_session_ids,
    order_task,
)
from .demo_errands import ERRANDS, make_runners
from .demo_faults import MEETINGS, fault_task, make_clerk
from .demo_watched import LARGE_TOOL, UNITS_UNASKED_MAX, WATCHED, make_watched
from .errors import DONE, NOT_DONE, CannotRead, ExitStatus

REPAIR_SESSION = "repair"
QUESTIONS_MAX = 5
"""Questions a session may put to the person before the person gives up."""

ANSWER_POLL_S = 0.1

POLICY = Policy(
    transient=RetryPolicy(delay_s_first=0.1, delay_s_max=2.0),
    # Nobody sits in front of the demo to approve its orders, but for a large one.
    danger=DangerPolicy(
        categories=DangerCategories(money="allow"),
        rules=(DangerRule(tool=LARGE_TOOL, when={"units": f"> {UNITS_UNASKED_MAX}"}, then="ask"),),
    ),
)


class Plan(Struct, frozen=True, kw_only=True):
    """What the parent tells its workers, kept in a file of the demo's folder."""

    store: str
    service: str
    workspace: str
    copy: str
    acknowledged: str
    model: str | None = None
    faults: bool = False


def plan_path(folder: Path) -> Path:
    """Return where the plan is kept."""
    return folder / "plan.json"


async def work(folder: str) -> ExitStatus:
    """Start what has not been started, go on with the rest, until every session has ended."""
    try:
        plan = msgspec.json.decode(
            await anyio.Path(plan_path(Path(folder))).read_bytes(), type=Plan
        )
    except (OSError, msgspec.DecodeError) as error:
        raise CannotRead(f"{folder!r} has no plan of a demo: {error}") from error
    with open(plan.acknowledged, "ab", buffering=0) as acknowledged:  # noqa: ASYNC230 - once
        worker = _Worker(plan, acknowledged)
        completed = await worker.run()
    return DONE if completed else NOT_DONE


class _Worker:
    def __init__(self, plan: Plan, acknowledged: IO[bytes]) -> None:
        self._plan = plan
        self._acknowledged = acknowledged
        self._outcomes: list[Outcome] = []

    async def run(self) -> bool:
        agents = [
            *make_agents(self._plan.service, self._plan.model),
            make_clerk(self._plan.service),
            *make_runners(self._plan.service),
            *make_watched(self._plan.service),
        ]
        async with Runtime(self._plan.store, agents=agents, policy=POLICY) as runtime:
            assigned = [*_assignments(), *_errands(killed=True)]
            later = [*_errands(killed=False), *_faults(), *_watched()] if self._plan.faults else []
            handles = [await self._session(runtime, *each) for each in assigned]
            others = [await self._session(runtime, *each) for each in later]
            async with anyio.create_task_group() as group:
                for handle in handles:
                    group.start_soon(self._follow, runtime, handle, True)
                for handle in others:
                    group.start_soon(self._follow, runtime, handle, False)
        return all(isinstance(each, Completed) for each in self._outcomes)

    async def _watch(self, handle: SessionHandle) -> None:
        """See a session to its end, whatever that is."""
        async for event in handle.events():
            self._tell(event)

    async def _session(
        self, runtime: Runtime, session_id: str, agent: str, task: str
    ) -> SessionHandle:
        """Start a session, or find the one that an earlier worker has started."""
        try:
            return await runtime.start(
                agent, task, session_id=session_id, working_directory=self._place(session_id)
            )
        except SessionExists:
            return runtime.session(session_id)

    def _place(self, session_id: str) -> str:
        on_copy = any(each.on_copy for each in WATCHED if each.session == session_id)
        return self._plan.copy if on_copy else self._plan.workspace

    async def _follow(self, runtime: Runtime, handle: SessionHandle, must_complete: bool) -> None:
        """See a session to its end; what is in doubt waits for a person's answer from elsewhere."""
        for _ in range(QUESTIONS_MAX):
            await self._watch(handle)
            outcome = await handle.outcome()
            if not isinstance(outcome, HandedOver) or outcome.reason != "in_doubt":
                break
            await _answered(runtime, handle.id, outcome)
            handle = runtime.session(handle.id)
        else:
            outcome = await handle.outcome()
        if must_complete:
            self._outcomes.append(outcome)

    def _tell(self, event: Event) -> None:
        if isinstance(event, CheckpointStored):
            # On disk before anybody hears of it: the parent compares it with the store.
            self._acknowledged.write(f"{event.session_id} {event.counter}\n".encode())
            os.fsync(self._acknowledged.fileno())
        _print(msgspec.json.encode(event_to_data(event)))


def _print(line: bytes) -> None:
    sys.stdout.buffer.write(line + b"\n")
    sys.stdout.buffer.flush()


def _assignments() -> list[tuple[str, str, str]]:
    """Return every session of the demo: its name, its agent, its task."""
    orders = [(each, buyer_of(each), order_task(each)) for each in order_session_ids()]
    return [(REPAIR_SESSION, "repairer", REPAIR_TASK), *orders]


def _errands(*, killed: bool) -> list[tuple[str, str, str]]:
    """Return the errands that begin in the worker that is killed, or those that do not."""
    return [(each.session, each.session, each.task) for each in ERRANDS if each.killed == killed]


def _faults() -> list[tuple[str, str, str]]:
    """Return the sessions that meet a fault: name, agent, task."""
    return [(each.session, "clerk", fault_task(each)) for each in MEETINGS]


def _watched() -> list[tuple[str, str, str]]:
    """Return the sessions that somebody has to stop: name, agent, task."""
    return [(each.session, each.session, each.task) for each in WATCHED]


async def _answered(runtime: Runtime, session_id: str, outcome: HandedOver) -> None:
    """Wait until a session has gone on after its question, and has ended again.

    Another process answers, and the whole demo's limit ends the wait. A handle remembers the end it
    has seen; a new one sees what has become of the session since.
    """
    while await runtime.session(session_id).outcome() == outcome:  # noqa: ASYNC110 - nobody tells
        await anyio.sleep(ANSWER_POLL_S)

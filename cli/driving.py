"""The commands that drive sessions: run and resume. An interrupted one can always be resumed."""

import shlex
import signal
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import anyio
from msgspec import Struct

from ..actors.agent import GUARD, Agent
from ..actors.beginning import check_task
from ..actors.budget import Budget
from ..actors.handle import SessionHandle
from ..actors.inspection import Inspection
from ..actors.outcome import Completed, HandedOver, Outcome, outcome_to_data
from ..actors.runtime import Runtime
from ..stores.base import Head, PostQuery, SessionOwned
from ..stores.records import OnFailure
from ..supervisor.errors import UkemiError, UsageError
from .answers import outcome_line, outcome_lines, status_colour, status_words
from .errors import DONE, NOT_DONE, CannotRead, ExitStatus, NotDone
from .loading import load_agent, load_resumable
from .output import Output
from .owners import owned_words
from .progress import Progress
from .steps import spent_of
from .stored import default_store, existing_store, reading
from .terminal import Cell, Column, one_line, plural, table

TOLD_S_MAX = 1.0
"""Seconds given to the last events of a session to be shown after its end."""

REFRESH_S = 0.2
PAGE = 1000
IDS_NAMED_MAX = 10


class RunRequest(Struct, frozen=True, kw_only=True):
    """What ``ukemi run`` was asked for."""

    agent: str
    task: str
    store: str
    budget: Budget | None = None
    policy: str | None = None
    model: str | None = None
    cwd: str | None = None
    on_failure: OnFailure = "undo"
    session_id: str | None = None


class ResumeRequest(Struct, frozen=True, kw_only=True):
    """What ``ukemi resume`` was asked for; no ids: every unfinished session nobody drives."""

    module: str
    ids: Sequence[str]
    store: str
    policy: str | None = None
    model: str | None = None
    say: str | None = None


class Driven(Struct, kw_only=True):
    """A session this command drives, and what has become of it."""

    handle: SessionHandle
    agent: str
    outcome: Outcome | None = None
    checkpoint: int = 0
    spent: Mapping[str, float] = {}
    error: UkemiError | None = None


async def run(out: Output, request: RunRequest) -> ExitStatus:
    """Start a session and show it to its end; 0 only if it completed."""
    name, agents = load_agent(request.agent, request.model)
    check_task(request.task)  # before a store is made for it
    cwd = await _folder(request.cwd)
    progress = Progress(out.stderr, out.aside, live=out.live)
    # One task was asked for: what others have left unfinished in this store is not touched.
    runtime = Runtime(request.store, agents=agents, policy=request.policy, adopt=False)
    async with runtime:
        handle = await runtime.start(
            name,
            request.task,
            session_id=request.session_id,
            budget=request.budget,
            working_directory=cwd,
            on_failure=request.on_failure,
        )
        driven = [Driven(handle=handle, agent=name)]
        finished = await _drive(driven, progress)
    await _close_models(agents)
    _tell_alerts(out, runtime)
    if not finished:
        _tell_how_to_resume(out, driven, request)
    _tell_outcome(out, driven[0])
    return _status(driven)


async def resume(out: Output, request: ResumeRequest) -> ExitStatus:
    """Go on with unfinished sessions of a module's agents; 0 only if all of them completed."""
    agents, guarded = load_resumable(request.module, request.model)
    await existing_store(request.store)
    if request.say is not None and len(request.ids) != 1:
        raise UsageError("--say needs exactly one session id: whom the message is for")
    known = [*(agent.name for agent in agents), *([GUARD] if guarded else [])]
    runtime = Runtime(
        request.store, agents=agents, guarded=guarded, policy=request.policy, adopt=False
    )
    async with runtime:
        driven = await _take_up(out, runtime, request, known)
        several = len(driven) > 1
        progress = Progress(out.stderr, out.aside, several=several, live=out.live)
        finished = await _drive(driven, progress)
    await _close_models(agents)
    _tell_alerts(out, runtime)
    if not finished:
        _tell_how_to_resume(out, driven, request)
    _tell_all(out, driven, single=len(set(request.ids)) == 1)
    return _status(driven)


async def _folder(cwd: str | None) -> Path | None:
    """Return the working directory that was named, absolute: a session may be resumed elsewhere."""
    if cwd is None:
        return None
    folder = anyio.Path(cwd)
    if not await folder.is_dir():
        raise CannotRead(f"--cwd {cwd!r} is no directory")
    return Path(await folder.absolute())


# ---------------------------------------------------------------- which sessions


async def _take_up(
    out: Output, runtime: Runtime, request: ResumeRequest, known: Sequence[str]
) -> list[Driven]:
    if not request.ids:
        return await _take_up_all(out, runtime, request, known)
    decided = await _decided(request.store, request.ids)
    found = [await runtime.session(each).inspect() for each in dict.fromkeys(request.ids)]
    for each in found:
        # Before anything is claimed: nothing is half done where one of them cannot be.
        if each.agent not in known:
            raise UsageError(
                f"session {each.session_id} belongs to agent {each.agent!r}, which"
                f" {request.module!r} does not have; it has: {', '.join(known)}"
            )
        if each.session_id not in decided:
            _check_unfinished(each, request)
    return [await _take_up_one(runtime, request, each) for each in found]


def _check_unfinished(found: Inspection, request: ResumeRequest) -> None:
    if found.status in ("running", "parked") or request.say is not None:
        return
    words = [request.module, found.session_id]
    where = [] if request.store == default_store() else ["--store", request.store]
    ways = [f"{shlex.join(['ukemi', 'resume', *words, *where])} --say TEXT"]
    if found.in_doubt:
        ways.append(f"{shlex.join(['ukemi', 'resolve', found.session_id, *where])} OPTION")
    raise UsageError(
        f"session {found.session_id} is {status_words(found.status)}; go on with it by:"
        f" {', or '.join(ways)}"
    )


async def _take_up_one(runtime: Runtime, request: ResumeRequest, found: Inspection) -> Driven:
    handle = runtime.session(found.session_id)
    try:
        if request.say is not None:
            await handle.send(request.say)
        else:
            handle = await runtime.resume(found.session_id)
    except SessionOwned as error:
        async with reading(request.store) as store:
            head = await store.head(found.session_id)
        raise NotDone(owned_words(head, time.time_ns() // 1_000_000)) from error
    return Driven(handle=handle, agent=found.agent)


async def _take_up_all(
    out: Output, runtime: Runtime, request: ResumeRequest, known: Sequence[str]
) -> list[Driven]:
    """Take up every unfinished session nobody drives, the oldest first, and what was decided."""
    module = request.module
    driven: list[Driven] = []
    strange: list[str] = []
    heads = [*reversed(await _unfinished(runtime)), *await _decided_heads(request.store, known)]
    for head in heads:
        if head.facts.agent not in known:
            strange.append(f"{head.session_id} (agent {head.facts.agent!r})")
            continue
        try:
            handle = await runtime.resume(head.session_id)
        except SessionOwned:
            out.note(f"{head.session_id} is driven by another process", "grey")
        except UkemiError as error:
            out.note(f"{head.session_id} cannot be resumed: {error}", "red")
            driven.append(
                Driven(handle=runtime.session(head.session_id), agent=head.facts.agent, error=error)
            )
        else:
            driven.append(Driven(handle=handle, agent=head.facts.agent))
    if strange:
        text = f"{module!r} does not have the agents of {', '.join(strange)}"
        if not driven:
            raise NotDone(f"nothing was resumed: {text}; it has: {', '.join(known)}")
        out.note(f"left alone: {text}", "yellow")
    return driven


async def _decided(where: str, ids: Sequence[str]) -> set[str]:
    """Return those of the sessions for which a person's decision waits."""
    async with reading(where) as store:
        return {each for each in ids if await store.posts(PostQuery(session_id=each, limit=1))}


async def _decided_heads(where: str, agents: Sequence[str]) -> list[Head]:
    """Return the heads of those that had ended: the decision lets them go on."""
    query = PostQuery(agents=frozenset(agents), limit=PAGE)
    async with reading(where) as store:
        ids = dict.fromkeys(each.post.session_id for each in await store.posts(query))
        heads = [await store.head(session_id) for session_id in ids]
    return [head for head in heads if head.status != "running"]


async def _unfinished(runtime: Runtime) -> list[Head]:
    heads: list[Head] = []
    page: list[Head] | None = None
    while page is None or len(page) == PAGE:
        after = heads[-1].session_id if heads else None
        page = await runtime.sessions(status="running", after=after, limit=PAGE)
        heads += page
    return heads


# ---------------------------------------------------------------- to their ends


async def _drive(driven: Sequence[Driven], progress: Progress) -> bool:
    """Wait for all sessions to end and tell what happens; False if a signal came first."""

    async def all_of_them() -> None:
        async with anyio.create_task_group() as group:
            for each in driven:
                if each.error is None:
                    group.start_soon(_follow, each, progress)

    try:
        return await until_signal(all_of_them, progress.refresh)
    finally:
        progress.close()


async def _follow(driven: Driven, progress: Progress) -> None:
    told = anyio.Event()

    async def tell() -> None:
        async for event in driven.handle.events():
            progress.tell(event)
        told.set()

    async with anyio.create_task_group() as group:
        group.start_soon(tell)
        try:
            driven.outcome = await driven.handle.outcome()
            found = await driven.handle.inspect()
            driven.checkpoint, driven.spent = found.checkpoint, spent_of(found.spent)
        except UkemiError as error:
            driven.error = error
        else:
            with anyio.move_on_after(TOLD_S_MAX):
                await told.wait()
        group.cancel_scope.cancel()


async def until_signal(
    body: Callable[[], Awaitable[None]], tick: Callable[[], None] | None = None
) -> bool:
    """Run the body to its end, or until SIGINT or SIGTERM comes; tell whether it has ended.

    After the first signal the usual handlers are back, so a second one ends the process.
    """
    ended = False

    async def listen() -> None:
        try:
            with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
                async for _ in signals:
                    break
        except NotImplementedError:
            return  # no such thing on this platform: an interrupt ends the process at once
        group.cancel_scope.cancel()

    async def refresh() -> None:
        while tick is not None:
            await anyio.sleep(REFRESH_S)
            tick()

    async with anyio.create_task_group() as group:
        group.start_soon(listen)
        group.start_soon(refresh)
        await body()
        ended = True
        group.cancel_scope.cancel()
    return ended


async def _close_models(agents: Sequence[Agent]) -> None:
    for model in {id(agent.model): agent.model for agent in agents}.values():
        close: Callable[[], Awaitable[None]] | None = getattr(model, "aclose", None)
        if close is not None:
            await close()


# ---------------------------------------------------------------- telling


def _tell_alerts(out: Output, runtime: Runtime) -> None:
    for alert in runtime.alerts:
        out.note(f"alert: {alert}", "red")


def _tell_how_to_resume(
    out: Output, driven: Sequence[Driven], request: RunRequest | ResumeRequest
) -> None:
    """Say that nothing is lost, and the command that goes on."""
    left = [each.handle.id for each in driven if each.outcome is None and each.error is None]
    if isinstance(request, RunRequest):
        module = request.agent.rpartition(":")[0]
    else:
        module = request.module
    ids = left if len(left) <= IDS_NAMED_MAX else []
    words = ["ukemi", "resume", module, *ids, "--store", request.store]
    for option, value in (("--policy", request.policy), ("--model", request.model)):
        words += [option, value] if value is not None else []
    count = plural(len(left), "session")
    out.note(f"interrupted; {count} unfinished, all checkpoints are stored. Go on with:", "yellow")
    out.note(shlex.join(words), "bold")


def _tell_outcome(out: Output, driven: Driven) -> None:
    """Print the answer, and nothing else, on standard output; what a person needs aside."""
    if out.as_json:
        out.data(_data(driven))
    elif isinstance(driven.outcome, Completed):
        out.text(driven.outcome.answer)
    elif driven.outcome is not None:
        for line in outcome_lines(outcome_to_data(driven.outcome), out.aside):
            out.beside(line)
        out.note(f"ukemi show {driven.handle.id} has all of it", "grey")
        if isinstance(driven.outcome, HandedOver) and driven.outcome.dossier.in_doubt:
            out.note(f"ukemi resolve {driven.handle.id} OPTION settles the doubt", "grey")
    elif driven.error is not None:
        out.note(f"{driven.handle.id}: {driven.error}", "red")


def _tell_all(out: Output, driven: Sequence[Driven], *, single: bool) -> None:
    """Tell what became of them; JSON is one object only where one session was asked for by id."""
    if out.as_json and not single:
        out.data([_data(each) for each in driven])
    elif len(driven) == 1:
        _tell_outcome(out, driven[0])
    elif driven:
        columns = (Column("ID"), Column("AGENT"), Column("END", gives_way=True))
        out.text(table(columns, [_row(each) for each in driven], out.terminal))
    else:
        out.note("there is nothing to resume")


def _row(driven: Driven) -> list[Cell]:
    if driven.outcome is not None:
        data = outcome_to_data(driven.outcome)
        end = Cell(one_line(outcome_line(data)), status_colour(str(data["outcome"])))
    elif driven.error is not None:
        end = Cell(one_line(str(driven.error)), "red")
    else:
        end = Cell(status_words("running"), status_colour("running"))
    return [Cell(driven.handle.id), Cell(driven.agent), end]


def _data(driven: Driven) -> dict[str, Any]:
    return {
        "session_id": driven.handle.id,
        "agent": driven.agent,
        "outcome": None if driven.outcome is None else outcome_to_data(driven.outcome),
        "error": None if driven.error is None else str(driven.error),
        "checkpoint": driven.checkpoint,
        "spent": dict(driven.spent),
    }


def _status(driven: Sequence[Driven]) -> ExitStatus:
    return DONE if all(isinstance(each.outcome, Completed) for each in driven) else NOT_DONE

"""The commands that drive sessions: run and resume. An interrupted one can always be resumed."""

import shlex
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import anyio
from msgspec import Struct

from ..actors.agent import GUARD, Agent
from ..actors.beginning import check_budget, check_task
from ..actors.budget import Budget
from ..actors.inspection import Inspection
from ..actors.installing import install
from ..actors.naming import check_own_id
from ..actors.runtime import Runtime
from ..stores.base import Head, PostQuery, SessionOwned
from ..stores.records import OnFailure, SessionStatus
from ..supervisor.errors import UkemiError, UsageError
from .answers import status_words
from .begun_under import policy_for
from .driven import Driven, GoOn, exit_status, tell_all, tell_outcome, tell_unfinished
from .errors import NOT_DONE, CannotRead, ExitStatus, NotDone
from .following import drive
from .left import left_in_store, parked_lines
from .loading import load_agent, load_resumable
from .output import Output
from .owners import owned_words
from .progress import Progress
from .stored import PAGE, all_heads, at_store, default_store, existing_store, reading


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
    no_wait: bool = False

    @property
    def go_on(self) -> GoOn:
        """How the session is gone on with."""
        options = {"--policy": self.policy, "--model": self.model}
        return GoOn(module=self.agent.rpartition(":")[0], store=self.store, options=options)


class ResumeRequest(Struct, frozen=True, kw_only=True):
    """What ``ukemi resume`` was asked for; no ids: every unfinished session nobody drives."""

    module: str
    ids: Sequence[str]
    store: str
    policy: str | None = None
    model: str | None = None
    say: str | None = None
    no_wait: bool = False

    @property
    def go_on(self) -> GoOn:
        """How the sessions are gone on with."""
        options = {"--policy": self.policy, "--model": self.model}
        return GoOn(module=self.module, store=self.store, options=options)


async def run(out: Output, request: RunRequest) -> ExitStatus:
    """Start a session and show it to its end; 0 only if it completed."""
    name, agents = load_agent(request.agent, request.model)
    _check_before(request, name, agents)
    cwd = await _folder(request.cwd)
    progress = Progress(out.stderr, out.aside, live=out.live, at=at_store(request.store))
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
        finished = await drive(runtime, driven, progress, no_wait=request.no_wait)
    await _close_models(agents)
    _tell_alerts(out, runtime, progress)
    await _look_at(request.store, driven)
    tell_unfinished(out, driven, request.go_on, interrupted=not finished)
    tell_outcome(out, driven[0], request.store)
    return exit_status(driven)


def _check_before(request: RunRequest, agent: str, agents: Sequence[Agent]) -> None:
    """Refuse before the runtime would, which makes the store first: what is wrong leaves no file behind.

    Raises:
        UsageError: the task, the id or the budget cannot be.
    """
    check_task(request.task)
    if request.session_id is not None:
        check_own_id(request.session_id, "--session-id ")
    if request.budget is not None:
        check_budget(install(agents, {})[agent], request.budget)


async def resume(out: Output, request: ResumeRequest) -> ExitStatus:
    """Go on with unfinished sessions of a module's agents; 0 only if all of them completed.

    1 also where there are none but parked ones, which are left alone.
    """
    agents, guarded = load_resumable(request.module, request.model)
    await existing_store(request.store)
    if request.say is not None and len(request.ids) != 1:
        raise UsageError("--say needs exactly one session id: whom the message is for")
    known = [*(agent.name for agent in agents), *([GUARD] if guarded else [])]
    policy = await policy_for(out, request.store, request.ids, known, request.policy)
    runtime = Runtime(request.store, agents=agents, guarded=guarded, policy=policy, adopt=False)
    async with runtime:
        driven = await _take_up(out, runtime, request, known)
        parked = [] if request.ids else await _parked(runtime, request, known, driven)
        for line in parked:
            out.note(line, "yellow")
        several, at = len(driven) > 1, at_store(request.store)
        progress = Progress(out.stderr, out.aside, several=several, live=out.live, at=at)
        finished = await drive(runtime, driven, progress, no_wait=request.no_wait)
    await _close_models(agents)
    _tell_alerts(out, runtime, progress)
    await _look_at(request.store, driven)
    tell_unfinished(out, driven, request.go_on, interrupted=not finished)
    nothing = "" if parked else "there is nothing to resume"
    single = len(set(request.ids)) == 1
    tell_all(out, driven, request.store, single=single, nothing=nothing)
    return NOT_DONE if parked and not driven else exit_status(driven)


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
            raise NotDone(
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
    raise NotDone(
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
    heads = [
        *reversed(await _heads(runtime, "running")),
        *await _decided_heads(request.store, known),
    ]
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


async def _parked(
    runtime: Runtime, request: ResumeRequest, known: Sequence[str], driven: Sequence[Driven]
) -> list[str]:
    """Say how many of the module's sessions are parked, and are not taken up for that reason."""
    taken = {each.handle.id for each in driven}
    heads = [
        head
        for head in await _heads(runtime, "parked")
        if head.facts.agent in known and head.session_id not in taken
    ]
    asking = sum(bool(head.facts.requests) for head in heads)
    return parked_lines(asking, len(heads) - asking, request.module, request.store)


async def _heads(runtime: Runtime, status: SessionStatus) -> list[Head]:
    return await all_heads(lambda after: runtime.sessions(status=status, after=after, limit=PAGE))


# ---------------------------------------------------------------- after their ends


async def _look_at(where: str, driven: Sequence[Driven]) -> None:
    """Look up how the store has what has not ended; its runtime has been left."""
    ids = [each.handle.id for each in driven if each.outcome is None]
    found = await left_in_store(where, ids)
    for each in driven:
        left = found.get(each.handle.id)
        if left is not None:
            each.found, each.asks = left.found, left.asks
            each.parked = left.found.status == "parked"


async def _close_models(agents: Sequence[Agent]) -> None:
    for model in {id(agent.model): agent.model for agent in agents}.values():
        close: Callable[[], Awaitable[None]] | None = getattr(model, "aclose", None)
        if close is not None:
            await close()


def _tell_alerts(out: Output, runtime: Runtime, progress: Progress) -> None:
    """Tell the alerts that no session's progress had."""
    for alert in runtime.alerts:
        if alert not in progress.alerts:
            out.note(f"alert: {alert}", "red")

"""Sessions for tests: agents from a script, histories put straight into a store, and what to check.

A history is written through the Store protocol by an owner that is gone, as a killed process
leaves it; the next runtime on the same store adopts it.
"""

import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import anyio
import pytest

from ukemi.actors.agent import Agent
from ukemi.actors.inspection import entries_of, fold
from ukemi.actors.model import AssistantMessage, Message, ModelRequest, ToolMessage
from ukemi.actors.outcome import Outcome
from ukemi.actors.runtime import Runtime
from ukemi.actors.tooling.tools import AnyTool
from ukemi.models import ScriptedModel
from ukemi.models.scripted import Script
from ukemi.stores.base import Append, Create, Done, Facts, Store
from ukemi.stores.records import (
    Answered,
    JournalEntry,
    Resulted,
    Said,
    SessionStatus,
    ToolCall,
    encode_row,
)
from ukemi.supervisor.policy import Policy
from ukemi.supervisor.policy_sessions import PlanningPolicy

NO_UVLOOP = pytest.mark.skipif(find_spec("uvloop") is None, reason="uvloop is not installed")

CASES_FILE = Path(__file__).parent.parent / "data/cases/cases.jsonl"
GONE = "an-owner-that-is-gone"

REAL_BACKENDS = [
    pytest.param(("asyncio", {"use_uvloop": False}), id="asyncio"),
    pytest.param(("asyncio", {"use_uvloop": True}), id="uvloop", marks=NO_UVLOOP),
]
"""Event loops with a real clock that files and processes can be used on."""


PATIENT = Policy(planning=PlanningPolicy(repeats_max=None))
"""For sessions of tests that do the same again and again on purpose."""


class LoopClock:
    """Both clocks from the event loop's own, so that leases end under virtual time too."""

    def now(self) -> float:
        return anyio.current_time()

    def wall_ms(self) -> int:
        return 1_700_000_000_000 + int(anyio.current_time() * 1000)


def case(id: str) -> dict[str, Any]:
    """Return a field case by its id."""
    for line in CASES_FILE.read_text("utf-8").splitlines():
        found: dict[str, Any] = json.loads(line)
        if found["id"] == id:
            return found
    raise KeyError(id)


def agent(
    script: Script, tools: Sequence[AnyTool] = (), *, name: str = "agent", **options: Any
) -> Agent:
    """Return an agent that says what a script tells it and keeps the requests it was sent."""
    options.setdefault("record", True)
    return Agent(name, model=ScriptedModel(script, **options), tools=tools)


def requests(of: Agent) -> list[ModelRequest]:
    """Return the requests an agent's scripted model has had, in order."""
    assert isinstance(of.model, ScriptedModel)
    return list(of.model.requests)


async def ended(runtime: Runtime, session_id: str, within_s: float = 3600.0) -> Outcome:
    """Wait for a session's outcome; a test must not hang where a runtime does.

    The default bound is one of virtual time.
    """
    with anyio.fail_after(within_s):
        return await runtime.session(session_id).outcome()


async def run_one(runtime: Runtime, of: Agent, task: str = "go", **options: Any) -> Outcome:
    """Start a session of an agent and wait for its outcome."""
    handle = await runtime.start(of.name, task, **options)
    return await ended(runtime, handle.id)


# ---------------------------------------------------------------- what is stored


@asynccontextmanager
async def opened(store: Store) -> AsyncGenerator[Store]:
    """Hold a store open for a block."""
    await store.open()
    try:
        yield store
    finally:
        await store.close()


async def put_history(
    store: Store,
    session_id: str,
    rows: Sequence[Sequence[JournalEntry]],
    *,
    agent: str = "agent",
    status: SessionStatus = "running",
    owner: str = GONE,
) -> None:
    """Write a journal into an open store, row by row; nobody alive owns the session then."""
    facts = Facts(agent=agent, title="from a test", created_at_ms=1, updated_at_ms=1)
    first = encode_row(list(rows[0]))
    await _put(store, Create(session_id=session_id, owner=owner, facts=facts, body=first))
    counter = 0
    for seq, row in enumerate(rows[1:], 2):
        counter = max([counter, *(each.counter for each in row if isinstance(each, Resulted))])
        await _put(
            store,
            Append(
                session_id=session_id,
                epoch=1,
                seq=seq,
                counter=counter,
                body=encode_row(list(row)),
                status=status if seq == len(rows) else "running",
            ),
        )


async def _put(store: Store, write: Create | Append) -> None:
    (written,) = await store.commit([write])
    assert isinstance(written, Done), written


def history_of(messages: Iterable[dict[str, Any]], *, ledger: bool = False) -> list[JournalEntry]:
    """Return the journal entries of a case's ``history_on_disk``."""
    entries: list[JournalEntry] = []
    open_calls: dict[str, tuple[int, int]] = {}
    counter = 0
    for n, message in enumerate(messages, 1):
        match message["role"]:
            case "user":
                entries.append(Said(n, message["text"]))
            case "assistant":
                calls = tuple(
                    ToolCall(each["id"], each["tool"], json.dumps(each["args"]))
                    for each in message.get("tool_calls", ())
                )
                open_calls |= {each.id: (n, index) for index, each in enumerate(calls)}
                entries.append(Answered(n, message.get("text", ""), calls, ledger=ledger))
            case _:
                counter += 1
                at, index = open_calls[message["call_id"]]
                entries.append(Resulted(at, index, counter, message["text"]))
    return entries


async def journal(store: Store, session_id: str) -> list[JournalEntry]:
    """Return every entry of a session, in order."""
    return entries_of(await store.load(session_id))


async def conversation(store: Store, session_id: str) -> list[Message]:
    """Return the whole conversation as it is stored, behind the last checkpoint too."""
    return fold(session_id, await journal(store, session_id)).conversation.so_far()


async def raw_rows(store: Store, session_id: str) -> list[tuple[int, int, bytes]]:
    """Return a session's rows as they lie there: sequence number, counter, bytes."""
    return [(row.seq, row.counter, row.body) for row in (await store.load(session_id)).rows]


# ---------------------------------------------------------------- what must hold


def assert_paired(messages: Sequence[Message]) -> None:
    """Each call has exactly one result, right behind its assistant message, in the calls' order."""
    waiting: list[str] = []
    for message in messages:
        if isinstance(message, ToolMessage):
            assert waiting, f"a result without a call: {message}"
            assert message.call_id == waiting.pop(0)
            continue
        assert not waiting, f"{waiting} have no result before {message}"
        if isinstance(message, AssistantMessage):
            waiting = [each.id for each in message.calls]
    assert not waiting, f"{waiting} have no result"


def results(messages: Sequence[Message]) -> list[ToolMessage]:
    """Return the tool messages, in order."""
    return [message for message in messages if isinstance(message, ToolMessage)]


async def until(
    condition: Callable[[], bool | Awaitable[bool]], within_s: float = 10.0, step_s: float = 0.02
) -> None:
    """Wait for something that another thread or process brings about, up to a bound."""
    with anyio.fail_after(within_s):
        while True:
            holds = condition()
            if await holds if isinstance(holds, Awaitable) else holds:
                return
            await anyio.sleep(step_s)


def answers(request: ModelRequest) -> int:
    """Return how many answers of the model a request holds: a script's place, without memory."""
    count: int = getattr(request.messages, "assistant_count")  # noqa: B009
    return count

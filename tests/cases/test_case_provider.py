"""Answers that arrive incomplete or in two attempts, from the wire to the stored session."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path

import pytest
from loopback_llm import Received
from sessions import REAL_BACKENDS, agent, assert_paired, ended, journal, opened, requests, results
from vendors import STREAMS, VENDORS, Vendor

from ukemi import Agent, Completed, Policy, Runtime, TransientError, tool
from ukemi.actors.events import ModelPiece, ModelSuperseded
from ukemi.actors.model import AssistantMessage, Finish, Message, ModelReply
from ukemi.actors.tooling.tools import AnyTool
from ukemi.models import Pieces, call
from ukemi.models.calls import ArrivedCall, read_calls
from ukemi.stores.memory import MemoryStore
from ukemi.stores.records import Answered, JournalEntry, ToolCall, Usage
from ukemi.stores.sqlite import SqliteStore
from ukemi.supervisor.policy_failures import RetryPolicy


@pytest.fixture(params=REAL_BACKENDS)
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, object]]:
    """The vendors' SDKs talk to a real socket."""
    backend: tuple[str, dict[str, object]] = request.param
    return backend


@dataclass(frozen=True)
class Cut:
    """One response of PP-01."""

    rule: str
    finish: str
    name: str
    arguments: str


PP_01 = [
    Cut("cut at the limit", "length", "run", '{"commands": ["npm install", "npm test"'),
    Cut("cut as if whole", "stop", "write", '{"path": "a.md", "text": "# Title\\n...'),
    Cut("complete JSON of a cut answer", "length", "touch", '{"path": "a.md"}'),
    Cut("no arguments at all", "stop", "write", ""),
]


def strict_tools(ran: list[str]) -> list[AnyTool]:
    """Return PP-01's tools: every parameter is required, every body is noted."""

    @tool
    async def run(commands: list[str]) -> str:
        ran.append(f"run {commands}")
        return "ran"

    @tool
    async def write(path: str, text: str) -> str:
        ran.append(f"write {path}")
        return "written"

    @tool
    async def touch(path: str) -> str:
        ran.append(f"touch {path}")
        return "touched"

    return [run, write, touch]


def check_PP_01(
    cut: Cut, messages: Sequence[Message], entries: Sequence[JournalEntry], ran: list[str]
) -> None:
    """Check every statement of PP-01 on a session that went on after the cut-off call."""
    assert ran == []
    assert_paired(messages)
    (result,) = results(messages)
    assert result.is_error
    assert "arrived incomplete" in result.content
    assert ("smaller piece" in result.content) == (cut.finish == "length")
    answered = [each for each in entries if isinstance(each, Answered) and each.calls]
    (stored,) = [one for each in answered for one in each.calls]
    assert isinstance(json.loads(stored.arguments), dict)
    assert stored.name == cut.name


@pytest.mark.parametrize("cut", PP_01, ids=attrgetter("rule"))
@pytest.mark.parametrize("vendor", STREAMS, ids=attrgetter("id"))
async def test_PP_01_over_the_wire_no_body_runs_and_the_model_is_told(
    tmp_path: Path, vendor: Vendor, cut: Cut
) -> None:
    ran: list[str] = []
    script = [
        vendor.answer(calls=[("c1", cut.name, cut.arguments)], finish=cut.finish),
        vendor.answer("I will send it again"),
    ]
    path = tmp_path / "store.db"
    async with vendor.serving(script) as talk:
        of = Agent("agent", model=talk.model, tools=strict_tools(ran))
        async with Runtime(path, agents=[of]) as runtime:
            handle = await runtime.start("agent", "go", session_id="s-1")
            assert await ended(runtime, "s-1", 20.0) == Completed("I will send it again")
            messages = (await handle.checkpoint()).messages
        # The request that told the model: its own wire form holds valid JSON for the call.
        assert_wire_is_valid(vendor, talk.provider.requests[1])
    async with opened(SqliteStore(path)) as store:
        entries = await journal(store, "s-1")
    check_PP_01(cut, messages, entries, ran)


def assert_wire_is_valid(vendor: Vendor, request: Received) -> None:
    messages = request.body["messages"]
    if vendor.name == "openai":
        calls = [one for each in messages for one in each.get("tool_calls") or ()]
        assert [json.loads(one["function"]["arguments"]) for one in calls] == [{}]
        return
    blocks = [
        one for each in messages if isinstance(each["content"], list) for one in each["content"]
    ]
    assert [one["input"] for one in blocks if one["type"] == "tool_use"] == [{}]
    assert [one["is_error"] for one in blocks if one["type"] == "tool_result"] == [True]


@pytest.mark.parametrize("cut", PP_01, ids=attrgetter("rule"))
async def test_PP_01_with_a_scripted_model(store: MemoryStore, cut: Cut) -> None:
    ran: list[str] = []
    tools = strict_tools(ran)
    schemas = agent(["x"], tools)
    async with Runtime(store, agents=[schemas]) as runtime:
        await runtime.start("agent", "go", session_id="probe")
        await ended(runtime, "probe", 20.0)
    finish: Finish = "length" if cut.finish == "length" else "tool_calls"
    calls = read_calls(
        [ArrivedCall("c1", cut.name, cut.arguments)], finish, requests(schemas)[0].tools
    )
    of = agent([ModelReply(calls=calls, finish=finish), "I will send it again"], tools)
    async with Runtime(store, agents=[of]) as runtime:
        handle = await runtime.start("agent", "go", session_id="s-1")
        assert await ended(runtime, "s-1", 20.0) == Completed("I will send it again")
        messages = (await handle.checkpoint()).messages
    async with opened(store):
        entries = await journal(store, "s-1")
    check_PP_01(cut, messages, entries, ran)


async def test_PP_01_the_whole_calls_of_the_same_answer_run(store: MemoryStore) -> None:
    """Of two calls, the one that did not arrive is refused and the other is not held up by it."""
    ran: list[str] = []
    whole = call("touch", path="a.md")
    cut = ToolCall("c2", "write", "{}", "The call arrived incomplete: its end is missing.")
    of = agent([[whole, cut], "done"], strict_tools(ran))
    async with Runtime(store, agents=[of]) as runtime:
        await runtime.start("agent", "go", session_id="s-1")
        assert await ended(runtime, "s-1", 20.0) == Completed("done")
    assert ran == ["touch a.md"]
    assert [each.is_error for each in results(requests(of)[1].messages)] == [False, True]


async def test_PP_01_a_final_answer_cut_at_the_limit_is_asked_for_again(
    store: MemoryStore,
) -> None:
    """Half an answer is no answer, and no endless series of halves either."""
    half = ModelReply(text="the first half of", finish="length")
    of = agent([half, "the whole answer"])
    endless = agent([half] * 10, name="endless")
    async with Runtime(store, agents=[of, endless]) as runtime:
        await runtime.start("agent", "go", session_id="s-1")
        assert await ended(runtime, "s-1", 20.0) == Completed("the whole answer")
        await runtime.start("endless", "go", session_id="s-2")
        outcome = await ended(runtime, "s-2", 20.0)
    assert not isinstance(outcome, Completed)
    assert len(requests(endless)) == 4


# ---------------------------------------------------------------- PP-02

AT_ONCE = Policy(
    transient=RetryPolicy(delay_s_first=0.0, delay_s_max=0.0),
    in_doubt_timeout=RetryPolicy(delay_s_first=0.0, delay_s_max=0.0),
)


class Seen:
    """What a subscriber was told, and what it would show if it does as it is told."""

    def __init__(self) -> None:
        self.events: list[object] = []
        self.shown = ""

    def take(self, event: object) -> None:
        self.events.append(event)
        match event:
            case ModelPiece(text=text):
                self.shown += text
            case ModelSuperseded():
                self.shown = ""
            case _:
                pass


def python_tool(ran: list[str]) -> AnyTool:
    @tool(effect="read")
    async def python(code: str) -> str:
        ran.append(code)
        return "1"

    return python


async def run_and_listen(runtime: Runtime) -> Seen:
    seen = Seen()
    handle = await runtime.start("agent", "go", session_id="s-1")
    async for event in handle.events():
        seen.take(event)
    return seen


async def check_PP_02(store: MemoryStore | SqliteStore, seen: Seen, ran: list[str]) -> Usage:
    """Check PP-02; return what was booked beyond the answers that were used."""
    assert ran == ["print(1)"]
    async with opened(store):
        entries = await journal(store, "s-1")
        spent = (await store.head("s-1")).facts.spent
    answered = [each for each in entries if isinstance(each, Answered)]
    assert [(each.text, [one.name for one in each.calls]) for each in answered] == [
        ("Hello world", ["python"]),
        ("bye", []),
    ]
    assert json.loads(answered[0].calls[0].arguments) == {"code": "print(1)"}
    superseded = [each for each in seen.events if isinstance(each, ModelSuperseded)]
    assert [each.attempt for each in superseded] == [1]
    assert seen.shown == "Hello worldbye"
    used = sum(each.usage.tokens for each in answered)
    assert spent.model_calls == 3
    assert spent.retries == 1
    return Usage(input_tokens=spent.tokens - used)


async def test_PP_02_a_retry_replaces_the_attempt_that_broke_off(store: MemoryStore) -> None:
    ran: list[str] = []
    broken = Pieces(["Hello", " wor"], error=TransientError("connection lost"), usage=Usage(11, 3))
    whole = Pieces(["Hello", " world"], calls=[call("python", code="print(1)")], usage=Usage(11, 9))
    of = agent([broken, whole, "bye"], [python_tool(ran)])
    async with Runtime(store, agents=[of], policy=AT_ONCE) as runtime:
        seen = await run_and_listen(runtime)
    beyond = await check_PP_02(store, seen, ran)
    assert beyond.tokens == 14


class OwnUsage(TransientError):
    """What another library raises: it calls something else by that name."""

    def __init__(self, usage: object) -> None:
        super().__init__("connection lost")
        self.usage = usage


@pytest.mark.parametrize(
    "usage",
    [{"input": 3}, Usage(10.0, 2), Usage("10", 2), Usage(2**70, 1), Usage(-5, 2)],  # type: ignore[arg-type]
    ids=repr,
)
async def test_PP_02_what_an_exception_calls_usage_may_be_something_else(
    usage: object, store: MemoryStore
) -> None:
    of = agent([OwnUsage(usage), ModelReply(text="done", usage=Usage(11, 9))], [])
    async with Runtime(store, agents=[of], policy=AT_ONCE) as runtime:
        await runtime.start("agent", "go", session_id="s-1")
        assert await ended(runtime, "s-1") == Completed("done")
    async with opened(store):
        spent = (await store.head("s-1")).facts.spent
    assert (spent.model_calls, spent.tokens) == (2, 20)


@pytest.mark.parametrize("vendor", STREAMS, ids=attrgetter("id"))
async def test_PP_02_over_the_wire_a_stream_that_broke_in_a_call_is_begun_anew(
    tmp_path: Path, vendor: Vendor
) -> None:
    ran: list[str] = []
    whole = vendor.answer("Hello world", [("c1", "python", '{"code": "print(1)"}')])
    # Inside the second text and the first piece of the arguments, then the connection is gone.
    keep = len(whole.events) // 2
    script = [whole.broken(keep, "cut"), whole, vendor.answer("bye")]
    path = tmp_path / "store.db"
    async with vendor.serving(script) as talk:
        of = Agent("agent", model=talk.model, tools=[python_tool(ran)])
        async with Runtime(path, agents=[of], policy=AT_ONCE) as runtime:
            seen = await run_and_listen(runtime)
        assert len(talk.provider.requests) == 3
        first, second, third = talk.provider.requests
        assert first.body["messages"] == second.body["messages"]
        assert len(third.body["messages"]) > len(second.body["messages"])
    beyond = await check_PP_02(SqliteStore(path), seen, ran)
    # One provider tells the prompt's tokens at the start of a stream; for the other the client
    # estimates what the attempt consumed.
    assert beyond.tokens > 0


@pytest.mark.parametrize("vendor", VENDORS, ids=attrgetter("id"))
async def test_PP_02_the_resumed_session_sends_the_one_message(
    tmp_path: Path, vendor: Vendor
) -> None:
    """After a reload too there is one assistant message, with one call and one result."""
    ran: list[str] = []
    whole = vendor.answer("Hello world", [("c1", "python", '{"code": "print(1)"}')])
    script = [whole, vendor.answer("bye"), vendor.answer("bye again")]
    path = tmp_path / "store.db"
    async with vendor.serving(script) as talk:
        of = Agent("agent", model=talk.model, tools=[python_tool(ran)])
        async with Runtime(path, agents=[of], policy=AT_ONCE) as runtime:
            await runtime.start("agent", "go", session_id="s-1")
            await ended(runtime, "s-1", 20.0)
        async with Runtime(path, agents=[of], policy=AT_ONCE) as runtime:
            await runtime.session("s-1").send("and?")
            assert await ended(runtime, "s-1", 20.0) == Completed("bye again")
            messages = (await runtime.session("s-1").checkpoint()).messages
        assert len(talk.provider.requests) == 3
    assert ran == ["print(1)"]
    said = [each.text for each in messages if isinstance(each, AssistantMessage)]
    assert said[:1] == ["Hello world"]
    assert_paired(messages)

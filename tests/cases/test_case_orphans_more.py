"""Calls without a result, other ways to come by them: ids that repeat, arguments nobody can read, tools that
are gone, and reads that must not be repeated.

From can1357/oh-my-pi#2055, MoonshotAI/kimi-code#705, EtanHey/cmuxlayer#412.
"""

from typing import Literal

import anyio
import pytest
from sessions import (
    LoopClock,
    agent,
    answers,
    assert_paired,
    ended,
    opened,
    put_history,
    requests,
    results,
)

from ukemi import Agent, Completed, HandedOver, Runtime, UsageError, tool
from ukemi.actors.model import ModelRequest
from ukemi.models import call
from ukemi.models.scripted import Reply
from ukemi.stores.memory import MemoryStore
from ukemi.stores.records import Answered, Intended, JournalEntry, Opened, Resulted, Said, ToolCall


def writing(ran: list[str]) -> Agent:
    @tool
    async def write(path: str) -> str:
        ran.append(path)
        return "ok"

    return agent(lambda _: "all right", [write])


async def put(store: MemoryStore, *rows: list[JournalEntry]) -> None:
    async with opened(store):
        await put_history(store, "s-1", [[Opened("agent", 1), Said(1, "go")], *rows])


async def test_two_calls_of_one_message_with_one_id_have_a_result_each(store: MemoryStore) -> None:
    ran: list[str] = []
    calls = (ToolCall("t1", "write", '{"path":"a"}'), ToolCall("t1", "write", '{"path":"b"}'))
    await put(
        store,
        [Answered(2, "", calls, ledger=True)],
        [Intended(2, 0, "write", "d0")],
        [Resulted(2, 0, 1, "wrote a")],
        [Intended(2, 1, "write", "d1")],
    )
    of = writing(ran)
    async with Runtime(store, agents=[of]) as runtime:
        outcome = await ended(runtime, "s-1")
        assert isinstance(outcome, HandedOver) and outcome.reason == "in_doubt"
        await runtime.session("s-1").send("go on")
        assert await ended(runtime, "s-1") == Completed("all right")
    assert_paired(requests(of)[0].messages)
    first, second = results(requests(of)[0].messages)
    assert (first.content, first.is_error) == ("wrote a", False)
    assert second.is_error and second.content.startswith("interrupted, effect unknown")
    assert ran == []


UNREADABLE = {
    "cut off": '{"path": "a',
    "empty": "",
    "no object": "[1]",
    "not a number": '{"path": NaN}',
    "a key twice": '{"path":"a","path":"b"}',
    "half a character": '{"path":"\\ud83d"}',
}
Answer = Literal["send", "done", "retry", "args", "not_done", "abandon"]


@pytest.mark.parametrize("text", list(UNREADABLE.values()), ids=list(UNREADABLE))
@pytest.mark.parametrize("answer", ["send", "done", "retry", "args", "not_done", "abandon"])
async def test_a_call_whose_arguments_cannot_be_read_is_in_doubt_and_kills_no_session(
    store: MemoryStore, text: str, answer: Answer
) -> None:
    ran: list[str] = []
    await put(store, [Answered(2, "", (ToolCall("t1", "write", text),))])
    of = writing(ran)
    async with Runtime(store, agents=[of]) as runtime:
        handle = runtime.session("s-1")
        outcome = await ended(runtime, "s-1")
        assert isinstance(outcome, HandedOver) and outcome.reason == "in_doubt"
        match answer:
            case "send":
                await handle.send("go on")
            case "done":
                await handle.resolve("done", result="it is written")
            case "retry":
                with pytest.raises(UsageError, match="cannot run with these arguments"):
                    await handle.resolve("retry")
                await handle.send("go on")
            case "args":
                await handle.resolve("retry", args={"path": "new"})
            case _:
                await handle.resolve(answer)
        assert await ended(runtime, "s-1") == Completed("all right")
    assert_paired(requests(of)[0].messages)
    assert ran == (["new"] if answer == "args" else [])


@pytest.mark.parametrize("began", [False, True], ids=["not begun", "begun"])
async def test_a_call_of_a_tool_that_is_gone(store: MemoryStore, began: bool) -> None:
    calls = (ToolCall("t1", "rename", '{"tab":"a"}'),)
    intent: list[list[JournalEntry]] = [[Intended(2, 0, "rename", "d")]] if began else []
    await put(store, [Answered(2, "", calls, ledger=True)], *intent)
    of = writing([])
    async with Runtime(store, agents=[of]) as runtime:
        outcome = await ended(runtime, "s-1")
        if began:
            assert isinstance(outcome, HandedOver) and outcome.reason == "in_doubt"
            with pytest.raises(UsageError, match="no such tool any more"):
                await runtime.session("s-1").resolve("retry")
            await runtime.session("s-1").resolve("done", result="it is renamed")
            outcome = await ended(runtime, "s-1")
        assert outcome == Completed("all right")
    assert_paired(requests(of)[0].messages)
    if not began:
        (told,) = results(requests(of)[0].messages)
        assert "there is no tool 'rename'" in told.content


@pytest.mark.parametrize("safe", [True, False])
async def test_a_read_that_says_it_must_not_be_repeated_is_not_after_a_restart(
    store: MemoryStore, safe: bool
) -> None:
    """It takes a job from a queue, say: without an intent nobody would know that it had begun."""
    taken: list[int] = []

    @tool(effect="read", safe_to_retry=safe)
    async def take_job() -> str:
        taken.append(len(taken))
        if len(taken) == 1:
            await anyio.sleep(60.0)
        return "a job"

    def script(request: ModelRequest) -> Reply:
        return "done" if answers(request) else call("take_job")

    of = agent(script, [take_job])
    async with Runtime(store, agents=[of], clock=LoopClock()) as runtime:
        await runtime.start("agent", "go", session_id="s-1")
        await anyio.sleep(1.0)
    async with Runtime(store, agents=[of], clock=LoopClock()) as runtime:
        outcome = await ended(runtime, "s-1")
        if safe:
            assert outcome == Completed("done")
        else:
            assert isinstance(outcome, HandedOver) and outcome.reason == "in_doubt"
            assert (await runtime.session("s-1").inspect()).questions
    assert len(taken) == (2 if safe else 1)


async def test_a_stuck_read_that_must_not_be_repeated_runs_once(store: MemoryStore) -> None:
    """Its session's actor goes on without it, in a new life: from langchain4j/langchain4j#6309."""
    taken: list[int] = []

    @tool(effect="read", safe_to_retry=False, timeout_s=1.0)
    async def take_job() -> str:
        taken.append(len(taken))
        with anyio.CancelScope(shield=True):
            await anyio.sleep(30.0)
        return "a job"

    of = agent([call("take_job"), "done"], [take_job])
    async with Runtime(store, agents=[of], clock=LoopClock()) as runtime:
        handle = await runtime.start("agent", "go", session_id="s-1")
        outcome = await ended(runtime, "s-1")
        assert isinstance(outcome, HandedOver) and outcome.reason == "in_doubt"
        await anyio.sleep(60.0)
        (record,) = (await handle.checkpoint()).tool_history
        assert (record.state, record.late) == ("in_doubt", "succeeded: a job")
    assert taken == [0]

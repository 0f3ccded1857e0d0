"""What a user says while a session runs, when it has ended, and when it is ending."""

import anyio
import pytest
from sessions import agent, assert_paired, conversation, ended, journal, opened, requests
from store_faults import Fault, FaultyStore

from ukemi import (
    Completed,
    HandedOver,
    Runtime,
    SessionHandle,
    Stopped,
    UkemiError,
    UsageError,
    tool,
)
from ukemi.actors.events import MessageReceived
from ukemi.actors.model import AssistantMessage, ModelRequest, ToolMessage, UserMessage
from ukemi.actors.tooling.tools import AnyTool
from ukemi.models import Hang, call
from ukemi.models.scripted import Reply
from ukemi.stores.memory import MemoryStore
from ukemi.stores.records import Said


def wait_tool(seconds: float = 2.0) -> AnyTool:
    @tool(effect="read")
    async def wait() -> str:
        await anyio.sleep(seconds)
        return "waited"

    return wait


def texts(request: ModelRequest) -> list[str]:
    return [each.text for each in request.messages if isinstance(each, UserMessage)]


async def test_a_message_during_a_call_comes_behind_the_result(store: MemoryStore) -> None:
    of = agent([call("wait"), "done"], [wait_tool()])
    async with Runtime(store, agents=[of]) as runtime:
        handle = await runtime.start("agent", "go")
        await anyio.sleep(1.0)
        await handle.send("hurry up")
        assert await ended(runtime, handle.id) == Completed("done")
    messages = requests(of)[1].messages
    assert_paired(messages)
    assert [type(each) for each in messages] == [
        UserMessage,
        AssistantMessage,
        ToolMessage,
        UserMessage,
    ]


async def test_messages_during_a_call_keep_their_order_and_stay_apart(store: MemoryStore) -> None:
    of = agent([call("wait"), "done"], [wait_tool()])
    async with Runtime(store, agents=[of]) as runtime:
        handle = await runtime.start("agent", "go")
        await anyio.sleep(1.0)
        for at in range(5):
            await handle.send(f"message {at}")
        await ended(runtime, handle.id)
    assert texts(requests(of)[1]) == ["go", *[f"message {at}" for at in range(5)]]


async def test_a_message_while_the_model_answers_is_seen_by_the_next_request(
    store: MemoryStore,
) -> None:
    """It came too late for this request; the answer to it must not pass for the answer to all."""
    of = agent(["answer to the first", "answer to both"], delay_s=2.0)
    async with Runtime(store, agents=[of]) as runtime:
        handle = await runtime.start("agent", "first")
        await anyio.sleep(1.0)
        await handle.send("second")
        assert await ended(runtime, handle.id) == Completed("answer to both")
    first, second = requests(of)
    assert texts(first) == ["first"]
    assert texts(second) == ["first", "second"]
    assert second.messages[1] == AssistantMessage("answer to the first")


async def test_a_message_while_the_model_plans_calls_is_seen_behind_their_results(
    store: MemoryStore,
) -> None:
    of = agent([call("wait"), "done"], [wait_tool()], delay_s=2.0)
    async with Runtime(store, agents=[of]) as runtime:
        handle = await runtime.start("agent", "first")
        await anyio.sleep(1.0)
        await handle.send("second")
        assert await ended(runtime, handle.id) == Completed("done")
    messages = requests(of)[1].messages
    assert_paired(messages)
    assert messages[-1] == UserMessage("second")
    assert isinstance(messages[1], AssistantMessage)


async def test_the_same_order_is_read_back_from_the_store(store: MemoryStore) -> None:
    """Where a message goes that came while the model answered is the same after a restart."""
    of = agent(["answer to the first", "answer to both", "and a third"], delay_s=2.0)
    async with Runtime(store, agents=[of]) as runtime:
        handle = await runtime.start("agent", "first", session_id="s-1")
        await anyio.sleep(1.0)
        await handle.send("second")
        await ended(runtime, "s-1")
    async with opened(store):
        before = await conversation(store, "s-1")
    assert before[:3] == list(requests(of)[1].messages)
    assert len(before) == 4
    async with Runtime(store, agents=[of]) as runtime:
        await runtime.session("s-1").send("third")
        await ended(runtime, "s-1")
    assert list(requests(of)[2].messages[: len(before)]) == before


async def test_a_message_while_a_request_is_retried_goes_with_the_next_attempt(
    store: MemoryStore,
) -> None:
    of = agent([ConnectionRefusedError("down"), "answer"])
    async with Runtime(store, agents=[of]) as runtime:
        handle = await runtime.start("agent", "first")
        await anyio.sleep(0.1)
        await handle.send("second")
        assert await ended(runtime, handle.id) == Completed("answer")
    assert texts(requests(of)[1]) == ["first", "second"]


async def test_send_returns_once_the_message_is_stored(store: MemoryStore) -> None:
    faulty = FaultyStore(store)
    of = agent([call("wait"), "done"], [wait_tool(30.0)])
    async with Runtime(faulty, agents=[of]) as runtime:
        handle = await runtime.start("agent", "go", session_id="s-1")
        await anyio.sleep(1.0)
        faulty.plan.append(Fault(at=faulty.commits + 1, hang=True, error=None))
        returned = anyio.Event()

        async def send() -> None:
            await handle.send("hello")
            returned.set()

        async with anyio.create_task_group() as group:
            group.start_soon(send)
            await faulty.hanging.wait()
            await anyio.sleep(1.0)
            assert not returned.is_set()
            faulty.release()
            await returned.wait()
            said = [each.text for each in await journal(store, "s-1") if isinstance(each, Said)]
            assert said == ["go", "hello"]
        await ended(runtime, "s-1")


@pytest.mark.parametrize("how", ["completed", "handed over", "stopped"])
async def test_send_to_an_ended_session_goes_on_with_it(store: MemoryStore, how: str) -> None:
    def script(request: ModelRequest) -> Reply:
        if len(texts(request)) > 1:
            return "done again"
        replies: dict[str, Reply] = {
            "completed": "done",
            "handed over": KeyError("x"),
            "stopped": Hang(),
        }
        return replies[how]

    of = agent(script)
    async with Runtime(store, agents=[of]) as runtime:
        handle = await runtime.start("agent", "go", session_id="s-1")
        await anyio.sleep(1.0)
        if how == "stopped":
            assert await handle.cancel() == Stopped("cancelled")
        first = await ended(runtime, "s-1")
        assert isinstance(
            first, {"completed": Completed, "handed over": HandedOver}.get(how, Stopped)
        )
        await handle.send("and now?")
        assert await ended(runtime, "s-1") == Completed("done again")
        assert await handle.outcome() == Completed("done again")
        (head,) = await runtime.sessions()
        assert (head.status, head.owner) == ("completed", None)


@pytest.mark.parametrize("restarted", [False, True], ids=["same runtime", "next runtime"])
async def test_an_ended_session_can_be_gone_on_with_many_times(
    store: MemoryStore, restarted: bool
) -> None:
    of = agent([f"answer {at}" for at in range(6)])
    async with Runtime(store, agents=[of]) as runtime:
        handle = await runtime.start("agent", "go", session_id="s-1")
        assert await ended(runtime, "s-1") == Completed("answer 0")
        for at in range(1, 3):
            await handle.send(f"question {at}")
            assert await handle.outcome() == Completed(f"answer {at}")
        if not restarted:
            for at in range(3, 6):
                await runtime.session("s-1").send(f"question {at}")
                assert await ended(runtime, "s-1") == Completed(f"answer {at}")
    if restarted:
        async with Runtime(store, agents=[of]) as runtime:
            for at in range(3, 6):
                await runtime.session("s-1").send(f"question {at}")
                assert await ended(runtime, "s-1") == Completed(f"answer {at}")
    assert len(requests(of)) == 6


async def test_two_messages_to_an_ended_session_at_once_are_both_taken(store: MemoryStore) -> None:
    of = agent(lambda request: f"heard {len(texts(request))}", delay_s=0.5)
    async with Runtime(store, agents=[of]) as runtime:
        handle = await runtime.start("agent", "go", session_id="s-1")
        await ended(runtime, "s-1")
        async with anyio.create_task_group() as group:
            for at in range(8):
                group.start_soon(handle.send, f"message {at}")
        assert await ended(runtime, "s-1") == Completed("heard 9")
    async with opened(store):
        said = [each for each in await journal(store, "s-1") if isinstance(each, Said)]
    assert len({each.n for each in said}) == len(said) == 9


@pytest.mark.parametrize("at_s", [0.0, 0.5, 1.0, 1.5])
async def test_a_message_sent_whenever_is_never_left_unanswered(
    store: MemoryStore, at_s: float
) -> None:
    """Also right at the end of the session: then it is the message that reopens it."""

    async def script(request: ModelRequest) -> Reply:
        heard = len(texts(request))
        await anyio.sleep(1.0)
        return f"heard {heard}"

    of = agent(script)
    async with Runtime(store, agents=[of]) as runtime:
        handle = await runtime.start("agent", "go", session_id="s-1")
        await anyio.sleep(at_s)
        await handle.send("and this")
        await anyio.sleep(10.0)
        assert await ended(runtime, "s-1") == Completed("heard 2")


async def test_a_message_sent_while_the_session_is_being_cancelled_reopens_it(
    store: MemoryStore,
) -> None:
    def script(request: ModelRequest) -> Reply:
        return call("stubborn") if len(texts(request)) == 1 else "heard you"

    @tool(effect="read")
    async def stubborn() -> str:
        try:
            await anyio.sleep_forever()
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.sleep(0.5)
        return "never"

    of = agent(script, [stubborn])
    async with Runtime(store, agents=[of]) as runtime:
        handle = await runtime.start("agent", "go", session_id="s-1")
        await anyio.sleep(1.0)
        async with anyio.create_task_group() as group:
            group.start_soon(handle.cancel)
            await anyio.sleep(0.1)
            await handle.send("wait, go on")
        assert await ended(runtime, "s-1") == Completed("heard you")


async def test_a_message_is_an_event(store: MemoryStore) -> None:
    of = agent([call("wait"), "done"], [wait_tool()])
    seen: list[str] = []

    async def listen(handle: SessionHandle) -> None:
        async for event in handle.events():
            if isinstance(event, MessageReceived):
                seen.append(event.text)

    async with Runtime(store, agents=[of]) as runtime, anyio.create_task_group() as group:
        handle = await runtime.start("agent", "go")
        group.start_soon(listen, handle)
        await anyio.sleep(1.0)
        await handle.send("hurry up")
    assert seen == ["hurry up"]


@pytest.mark.parametrize("text", ["", "  \n", None, 7], ids=repr)
async def test_an_empty_message_is_refused(store: MemoryStore, text: object) -> None:
    of = agent(["done"])
    async with Runtime(store, agents=[of]) as runtime:
        handle = await runtime.start("agent", "go")
        await ended(runtime, handle.id)
        with pytest.raises(UsageError, match="empty"):
            await handle.send(text)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


async def test_a_message_to_a_session_nobody_knows_is_refused(store: MemoryStore) -> None:
    async with Runtime(store, agents=[agent(["done"])]) as runtime:
        with pytest.raises(UkemiError, match="s-7"):
            await runtime.session("s-7").send("hello")

"""Running a body: its arguments, its key, its secrets, its context."""

import functools
import random
import threading
from collections.abc import Callable
from typing import Any

import anyio
import pytest

from ukemi.actors.tooling.context import CallContext, calling, current, current_or_none
from ukemi.actors.tooling.threads import Threads
from ukemi.actors.tooling.tools import AnyTool, tool
from ukemi.supervisor.errors import BusinessRejected, UsageError

pytestmark = pytest.mark.realtime  # threads are real


@tool(accepts_key=True, secrets=["token"])
async def pay(amount: float, currency: str = "EUR", *, key: str, token: str) -> str:
    return f"{amount} {currency} {key} {token}"


@tool(accepts_key=True, secrets=["token"])
def pay_in_a_thread(amount: float, *, key: str | None = None, token: str = "none") -> str:
    return f"{amount} {key} {token}"


async def test_key_and_secrets_are_filled_in_and_nothing_else() -> None:
    secrets = {"token": "tok", "other": "oth"}
    given = pay.check('{"amount": 3}')
    assert await pay.call(given, key="k1", secrets=secrets) == "3.0 EUR k1 tok"
    assert await pay_in_a_thread.call({"amount": 3}, key="k1", secrets=secrets) == "3 k1 tok"
    assert await pay_in_a_thread.call({"amount": 3}) == "3 None none"


async def test_what_is_missing_is_named_before_the_body_runs() -> None:
    with pytest.raises(UsageError, match="'pay' was called without token, key"):
        await pay.call({"amount": 3})


async def test_the_model_cannot_send_key_or_secrets() -> None:
    for sent in ('{"amount": 1, "key": "mine"}', '{"amount": 1, "token": "mine"}'):
        with pytest.raises(Exception, match="unknown argument"):
            pay.check(sent)


async def test_a_tool_without_a_key_gets_none() -> None:
    @tool(effect="read")
    async def stock(sku: str) -> str:
        return sku

    assert await stock.call({"sku": "a"}, key="k", secrets={"sku": "stolen"}) == "a"


def wrapped(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return wrapper


async def test_a_plain_wrapper_around_an_async_function_is_awaited() -> None:
    async def stock(sku: str) -> str:
        await anyio.lowlevel.checkpoint()
        return sku

    made: AnyTool = tool(wrapped(stock))
    assert await made.call({"sku": "a"}) == "a"


async def test_sync_bodies_run_in_a_thread_and_async_ones_here() -> None:
    @tool
    def sync() -> int:
        return threading.get_ident()

    @tool
    async def asynchronous() -> int:
        return threading.get_ident()

    assert await sync.call({}) != threading.get_ident()
    assert await asynchronous.call({}) == threading.get_ident()


async def test_errors_of_a_body_come_as_they_are() -> None:
    error = BusinessRejected("sold out")

    @tool
    def sync() -> None:
        raise error

    @tool
    async def asynchronous() -> None:
        raise error

    for made in (sync, asynchronous):
        with pytest.raises(BusinessRejected) as caught:
            await made.call({})
        assert caught.value is error


async def test_the_start_of_a_body_is_told() -> None:
    order: list[str] = []

    @tool
    def sync() -> None:
        order.append("sync")

    @tool
    async def asynchronous() -> None:
        order.append("async")

    await sync.call({}, on_start=lambda: order.append("start"))
    await asynchronous.call({}, on_start=lambda: order.append("start"))
    assert order == ["start", "sync", "start", "async"]


def context_of(session: str) -> CallContext:
    return CallContext(session_id=session, agent="a", tool="whoami", call=(1, 0))


@tool(effect="read")
def whoami_in_a_thread() -> str:
    return current().session_id


@tool(effect="read")
async def whoami() -> str:
    await anyio.lowlevel.checkpoint()
    return current().session_id


async def test_TE_02_each_body_sees_its_own_session() -> None:
    """300 sessions at once, async bodies, their child tasks, and threads."""
    rng = random.Random(1)
    threads = Threads()
    answers: dict[str, list[object]] = {}

    async def child(found: list[object]) -> None:
        found.append(await whoami.call({}))

    async def session(name: str, pause_s: float) -> None:
        found = answers[name] = []
        with calling(context_of(name)):
            await anyio.sleep(pause_s)
            found.append(await whoami_in_a_thread.call({}, threads=threads))
            found.append(await whoami.call({}))
            async with anyio.create_task_group() as children:
                children.start_soon(child, found)
            found.append(await whoami_in_a_thread.call({}, threads=threads))

    async with anyio.create_task_group() as sessions:
        for number in range(300):
            sessions.start_soon(session, f"s{number}", rng.random() * 0.02)
    assert answers == {f"s{number}": [f"s{number}"] * 4 for number in range(300)}
    threads.close()


async def test_outside_of_a_call_there_is_no_context() -> None:
    assert current_or_none() is None
    with pytest.raises(UsageError, match="only while a tool's body runs"):
        current()
    with calling(context_of("s")) as context:
        assert current() is context
        with calling(context_of("inner")):
            assert current().session_id == "inner"
        assert current() is context
    assert current_or_none() is None

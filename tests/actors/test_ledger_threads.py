"""Probes and calls in threads: real ones, so in real time."""

import threading
from typing import Any

import pytest
from sessions import REAL_BACKENDS, agent, run_one, until

from ukemi import NOT_DONE, Completed, HandedOver, NotDone, Runtime, ToolBug, current, tool
from ukemi.models import call
from ukemi.stores.memory import MemoryStore

pytestmark = pytest.mark.realtime

PAID = "receipt 17"


@pytest.fixture(params=REAL_BACKENDS)
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, Any]]:
    backend: tuple[str, dict[str, Any]] = request.param
    return backend


async def test_a_probe_may_be_sync_takes_the_key_and_some_of_the_arguments(
    store: MemoryStore,
) -> None:
    seen: list[tuple[str | None, str, bool]] = []

    def look(order: str, *, key: str | None = None) -> str:
        context = current()
        seen.append((key, order, context.probe))
        assert threading.current_thread() is not threading.main_thread()
        return PAID

    keys: list[str] = []

    @tool(probe=look, accepts_key=True)
    async def pay(order: str, cents: int, *, key: str) -> str:
        keys.append(key)
        raise ToolBug("cut", may_have_executed="maybe")

    payer = agent([call("pay", order="o-1", cents=5), "Done."], [pay])
    async with Runtime(store, agents=[payer]) as runtime:
        assert await run_one(runtime, payer, session_id="one") == Completed("Done.")
    assert seen == [(keys[0], "o-1", True)]


async def test_not_there_is_not_believed_while_the_body_still_runs_here() -> None:
    """A thread cannot be stopped: it may yet do what the probe does not find."""
    go = threading.Event()
    booked: list[str] = []

    async def look(order: str) -> str | NotDone:
        return PAID if order in booked else NOT_DONE

    @tool(probe=look, timeout_s=0.2)
    def pay(order: str) -> str:
        go.wait(30)
        booked.append(order)
        return PAID

    payer = agent([call("pay", order="o-1"), "Done."], [pay])
    store = MemoryStore()
    async with Runtime(store, agents=[payer]) as runtime:
        try:
            outcome = await run_one(runtime, payer, session_id="one")
            assert isinstance(outcome, HandedOver) and outcome.reason == "in_doubt"
            assert any("still running here" in line for line in outcome.dossier.tried)
            assert outcome.dossier.in_doubt[0].still_running
        finally:
            go.set()


async def test_a_thread_that_ends_late_settles_the_call_and_the_record_answers_its_equal() -> None:
    """The session was handed over and is sent on; its model plans the same payment again."""
    go, sent = threading.Event(), list[str]()

    @tool(timeout_s=0.2)
    def pay(order: str) -> str:
        go.wait(30)
        sent.append(order)
        return PAID

    payer = agent([call("pay", order="o-1"), call("pay", order="o-1"), "Done."], [pay])
    async with Runtime(MemoryStore(), agents=[payer]) as runtime:
        outcome = await run_one(runtime, payer, session_id="one")
        assert isinstance(outcome, HandedOver) and outcome.dossier.in_doubt[0].still_running
        go.set()
        handle = runtime.session("one")

        async def settled() -> bool:
            return not (await handle.inspect()).in_doubt

        await until(settled)
        await handle.send("go on")
        assert await handle.outcome() == Completed("Done.")
        first, second = await handle.effects()
    assert sent == ["o-1"]
    assert (first.by, first.state, first.content) == ("late", "succeeded", PAID)
    assert (second.by, second.replayed, second.content) == ("record", True, PAID)

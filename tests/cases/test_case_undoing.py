"""Undoing, other corners: arguments a person changed, effects known late, and code that has changed since.

From extra-org/extra#139, microprofile/microprofile-lra#64, discovery-ukraine/saga-lara-flow#53,
cgreeno/temporalex#77, PostHog/posthog#102610 and anomalyco/opencode#50188.
"""

import anyio
import pytest
from msgspec import Struct
from sessions import LoopClock, agent, answers, ended, run_one

from ukemi import (
    BusinessRejected,
    Completed,
    HandedOver,
    PermissionDenied,
    Runtime,
    Stopped,
    tool,
)
from ukemi.actors import AlertRaised
from ukemi.actors.model import ModelRequest
from ukemi.actors.tooling.tools import AnyTool
from ukemi.models import call
from ukemi.models.scripted import Reply
from ukemi.stores.memory import MemoryStore


@tool
async def fail() -> str:
    raise PermissionDenied("no right")


class Payments:
    """A payment that hangs once, and can be paid back: by what it returned, and what it really ran with."""

    def __init__(self) -> None:
        self.paid: list[int] = []
        self.back: list[tuple[int, object]] = []

        async def refund(cents: int, result: dict[str, str]) -> None:
            self.back.append((cents, result))

        @tool(timeout_s=1.0, compensate=refund)
        async def pay(cents: int) -> dict[str, str]:
            self.paid.append(cents)
            if len(self.paid) == 1:
                await anyio.sleep(60.0)
            return {"payment": f"pay-{cents}"}

        def script(request: ModelRequest) -> Reply:
            said: list[Reply] = [call("pay", cents=5), call("fail"), "no"]
            return said[min(answers(request), 2)]

        self.agent = agent(script, [pay, fail])


async def test_what_is_undone_is_what_ran_and_not_what_the_model_asked_for(
    store: MemoryStore,
) -> None:
    payments = Payments()
    async with Runtime(store, agents=[payments.agent], clock=LoopClock()) as runtime:
        handle = await runtime.start("agent", "go", session_id="s-1")
        await anyio.sleep(10.0)
        await handle.resolve("retry", args={"cents": 3})
        outcome = await ended(runtime, "s-1")
    assert isinstance(outcome, HandedOver) and outcome.reason == "permission"
    assert payments.paid[-1] == 3
    assert payments.back == [(3, {"payment": "pay-3"})]
    (effect,) = outcome.dossier.effects
    assert (effect.standing, effect.arguments) == ("compensated", '{"cents":3}')
    assert outcome.dossier.undone == "all"


class Late:
    """An effect that comes long after its deadline, in a body that does not end before."""

    def __init__(self) -> None:
        self.release = anyio.Event()
        self.cancelled: list[tuple[str, str]] = []

        async def cancel(order: str, result: str) -> None:
            self.cancelled.append((order, result))

        @tool(timeout_s=1.0, compensate=cancel)
        async def insert(order: str) -> str:
            with anyio.CancelScope(shield=True):
                await self.release.wait()
            return "row 9"

        def script(request: ModelRequest) -> Reply:
            return "no" if answers(request) else call("insert", order="o-1")

        self.agent = agent(script, [insert])


@pytest.mark.parametrize("end", ["handed over", "cancelled"])
async def test_an_effect_that_comes_after_the_end_is_frozen_and_a_person_may_undo_it(
    store: MemoryStore, end: str
) -> None:
    late = Late()
    async with Runtime(store, agents=[late.agent], clock=LoopClock()) as runtime:
        handle = await runtime.start("agent", "go", session_id="s-1")
        if end == "cancelled":
            await anyio.sleep(0.5)
            assert isinstance(await handle.cancel(), Stopped)
        else:
            assert isinstance(await ended(runtime, "s-1"), HandedOver)
        await anyio.sleep(60.0)
        assert late.cancelled == [], "its body has not ended, so there is nothing to undo yet"
        late.release.set()
        await anyio.sleep(1.0)
        facts = await handle.inspect()
        assert (facts.in_doubt, facts.undone, late.cancelled) == ((), "none", [])
        assert facts.frozen is not None and "2.0 insert took effect" in facts.frozen
        assert any("it is to be undone" in each for each in runtime.alerts)
        await handle.resolve("compensate")
        await ended(runtime, "s-1")
        facts = await handle.inspect()
        assert (facts.frozen, facts.undone) == (None, "all")
    assert late.cancelled == [("o-1", "row 9")]


async def test_what_was_frozen_after_the_end_stays_once_the_session_completes(
    store: MemoryStore,
) -> None:
    late = Late()
    async with Runtime(store, agents=[late.agent], clock=LoopClock()) as runtime:
        handle = await runtime.start("agent", "go", session_id="s-1")
        await ended(runtime, "s-1")
        late.release.set()
        await anyio.sleep(1.0)
        assert (await handle.inspect()).frozen is not None
        await handle.send("go on")
        assert await ended(runtime, "s-1") == Completed("no")
        assert (await handle.inspect()).frozen is None
    assert late.cancelled == []


@pytest.mark.parametrize("error", [BusinessRejected("refused"), PermissionDenied("no right")])
async def test_a_call_that_was_still_running_when_another_failed_is_undone_too(
    store: MemoryStore, error: Exception
) -> None:
    undone: list[str] = []

    async def cancel(result: str) -> None:
        undone.append(result)

    @tool(overlap=True, compensate=cancel)
    async def slow() -> str:
        await anyio.sleep(3.0)
        return "slow one"

    @tool(overlap=True)
    async def refused() -> str:
        raise error

    of = agent(
        [[call("slow"), call("refused")], "blocked, because it was refused"], [slow, refused]
    )
    async with Runtime(store, agents=[of], clock=LoopClock()) as runtime:
        outcome = await run_one(runtime, of)
    assert isinstance(outcome, HandedOver) and outcome.dossier.undone == "all"
    assert undone == ["slow one"]


class ChargeOfOld(Struct):
    id: str


class Charge(Struct):
    """What a charge returns since the release: the account as well."""

    id: str
    account: str


def old_tools() -> list[AnyTool]:
    async def refund(result: ChargeOfOld) -> None:
        raise AssertionError("that release is gone")

    async def unbook(cents: int) -> None:
        raise AssertionError("that release is gone")

    @tool(compensate=refund)
    async def charge() -> ChargeOfOld:
        return ChargeOfOld("c-1")

    @tool(compensate=unbook)
    async def book(cents: int) -> str:
        return "booked"

    @tool(effect="read")
    async def look() -> str:
        await anyio.sleep_forever()
        return "never"

    return [charge, book, look]


def new_tools() -> list[AnyTool]:
    async def refund(result: Charge) -> None:
        raise AssertionError("it cannot be called with what is stored")

    async def unbook(amount: int) -> None:
        raise AssertionError("it cannot be called with what is stored")

    @tool(compensate=refund)
    async def charge() -> Charge:
        return Charge("c-1", "a-1")

    @tool(compensate=unbook)
    async def book(amount: int) -> str:
        return "booked"

    @tool(effect="read")
    async def look() -> str:
        raise PermissionDenied("no right")

    return [charge, book, look]


async def test_compensations_that_no_longer_fit_what_is_stored_reach_a_person_and_stop_no_other(
    store: MemoryStore,
) -> None:
    released: list[str] = []

    async def release(seat: str) -> None:
        released.append(seat)

    @tool(compensate=release)
    async def reserve(seat: str) -> str:
        return "reserved"

    script: list[Reply] = [
        call("reserve", seat="12A"),
        call("charge"),
        call("book", cents=5),
        call("look"),
        "no",
    ]
    old = agent(script, [reserve, *old_tools()])
    async with Runtime(store, agents=[old], clock=LoopClock()) as runtime:
        await runtime.start("agent", "go", session_id="s-1")
        await anyio.sleep(1.0)
    new = agent(script, [reserve, *new_tools()])
    told: list[str] = []

    async def on_alert(alert: AlertRaised) -> None:
        told.append(alert.text)

    async with Runtime(store, agents=[new], clock=LoopClock(), on_alert=on_alert) as runtime:
        outcome = await ended(runtime, "s-1")
    assert isinstance(outcome, HandedOver) and outcome.dossier.undone == "some"
    standings = {each.tool: (each.standing, each.detail) for each in outcome.dossier.effects}
    assert standings["reserve"][0] == "compensated"
    assert standings["charge"][0] == standings["book"][0] == "compensation failed"
    assert "account" in standings["charge"][1] and "amount: missing" in standings["book"][1]
    assert len(outcome.dossier.questions) == 2 and len(told) >= 2
    assert released == ["12A"]

"""Alerts reach the application's hook at least once each, and no session waits for it."""

from typing import get_args

import anyio
import pytest
from sessions import agent, run_one
from store_faults import FaultyStore

from ukemi import (
    Budget,
    Completed,
    Dossier,
    HandedOver,
    Outcome,
    PermissionDenied,
    Policy,
    RetryPolicy,
    Runtime,
    Stopped,
    StoreFailed,
    TransientError,
    tool,
)
from ukemi.actors import AlertRaised
from ukemi.actors.handover.dossier import TELLS_ITSELF, notice_of
from ukemi.actors.teller import ATTEMPTS_MAX, HOOK_S_MAX, LOOK_S, OnAlert, delay_s
from ukemi.models import call
from ukemi.models.scripted import Script
from ukemi.stores.base import WARNINGS_MAX, Done, Leave, Renew, Warn, Warned, WarningQuery
from ukemi.stores.memory import MemoryStore
from ukemi.supervisor.decide import Reason


@tool
async def order(sku: str) -> str:
    raise PermissionDenied("the key has expired")


DOSSIER = Dossier(failed_step="s", input="i", upstream_error="e", tried=("t",), options=())
SCRIPT: Script = [call("order", sku="A"), "Done."]
NOBODY = WarningQuery(owner="nobody", now_ms=1 << 60)


class Pager:
    """A hook that fails so often, takes so long, and remembers what it was told."""

    def __init__(self, fails: int = 0, takes_s: float = 0.0) -> None:
        self.fails, self.takes_s = fails, takes_s
        self.calls: list[float] = []
        self.told: list[AlertRaised] = []

    async def __call__(self, alert: AlertRaised) -> None:
        self.calls.append(anyio.current_time())
        await anyio.sleep(self.takes_s)
        if len(self.calls) <= self.fails:
            raise ConnectionError("no signal")
        self.told.append(alert)


async def handed_over(store: MemoryStore | FaultyStore, hook: OnAlert, wait_s: float = 0) -> None:
    of = agent(SCRIPT, [order])
    async with Runtime(store, agents=[of], on_alert=hook) as runtime:
        assert isinstance(await run_one(runtime, of, session_id="one"), HandedOver)
        await anyio.sleep(wait_s)


async def kept(store: MemoryStore) -> list[str]:
    await store.open()
    return [each.text for each in await store.warnings(NOBODY)]


async def test_the_hook_is_told_once_and_the_store_forgets_it(store: MemoryStore) -> None:
    pager = Pager()
    await handed_over(store, pager)
    (alert,) = pager.told
    assert "the key has expired" in alert.text and alert.session_id == "one" and alert.name
    assert await kept(store) == []


async def test_it_is_in_the_store_before_it_is_told(store: MemoryStore) -> None:
    seen: list[list[str]] = []

    async def hook(alert: AlertRaised) -> None:
        seen.append([each.name for each in await store.warnings(NOBODY)])
        assert seen[-1] == [alert.name]

    await handed_over(store, hook)
    assert len(seen) == 1


async def test_a_failing_hook_is_asked_again_after_longer_and_longer_waits(
    store: MemoryStore,
) -> None:
    pager = Pager(fails=3)
    await handed_over(store, pager, wait_s=60)
    waits = [after - before for before, after in zip(pager.calls, pager.calls[1:], strict=False)]
    assert waits == pytest.approx([1, 2, 4])
    assert len(pager.told) == 1 and await kept(store) == []


async def test_what_the_hook_never_took_is_told_by_the_next_runtime(store: MemoryStore) -> None:
    """Bounded in this one; not lost by that."""
    broken = Pager(fails=1000)
    await handed_over(store, broken, wait_s=3600)
    assert len(broken.calls) == ATTEMPTS_MAX
    assert len(await kept(store)) == 1
    pager = Pager()
    async with Runtime(store, agents=[agent(SCRIPT, [order])], on_alert=pager):
        await anyio.sleep(LOOK_S)
    (alert,) = pager.told
    assert "the key has expired" in alert.text and await kept(store) == []


async def test_a_runtime_that_lives_takes_over_from_one_that_is_gone(store: MemoryStore) -> None:
    """Not while the other's lease lasts: it may be in the middle of telling it."""
    pager = Pager()
    async with Runtime(store, agents=[agent(SCRIPT, [order])], on_alert=pager):
        now_ms = 1 << 60
        warn = Warn(name="w", owner="other", text="look", at_ms=1, session_id="s")
        await store.commit([Renew(owner="other", lease_until_ms=now_ms), warn])
        await anyio.sleep(3 * LOOK_S)
        assert pager.told == []
        await store.commit([Leave(owner="other")])
        await anyio.sleep(LOOK_S + 1)
        assert [each.text for each in pager.told] == ["look"]
        await anyio.sleep(3 * LOOK_S)
        assert len(pager.told) == 1


async def test_a_slow_hook_holds_up_no_session_and_is_given_up(store: MemoryStore) -> None:
    slow = Pager(takes_s=10 * HOOK_S_MAX)
    of = agent(SCRIPT, [order])
    async with Runtime(store, agents=[of], on_alert=slow) as runtime:
        began = anyio.current_time()
        for number in range(20):
            await run_one(runtime, of, session_id=f"s-{number}")
        assert anyio.current_time() - began < HOOK_S_MAX / 10
        await anyio.sleep(HOOK_S_MAX + delay_s(1) + 1)
        assert len(slow.calls) == 2 and not slow.told
    assert len(await kept(store)) == 1


async def test_a_store_that_fails_is_told_from_memory_and_not_at_each_attempt(
    store: MemoryStore,
) -> None:
    class NoDisk(FaultyStore):
        broken = False

        async def commit(self, writes):  # type: ignore[no-untyped-def]
            if self.broken:
                raise StoreFailed("no disk")
            return await super().commit(writes)

    pager = Pager()
    faulty = NoDisk(store)
    of = agent(["Done.", "Again."])
    async with Runtime(faulty, agents=[of], on_alert=pager) as runtime:
        assert await run_one(runtime, of, session_id="one") == Completed("Done.")
        faulty.broken = True
        with pytest.raises(StoreFailed):
            await runtime.session("one").send("more")
        await anyio.sleep(30)
        faulty.broken = False
        await anyio.sleep(60)
    about = [each.text for each in pager.told if "the store failed" in each.text]
    assert 1 <= len(about) <= 2


async def test_without_a_hook_nothing_is_kept(store: MemoryStore) -> None:
    of = agent(SCRIPT, [order])
    async with Runtime(store, agents=[of]) as runtime:
        await run_one(runtime, of, session_id="one")
        assert "alerts" not in [each.id for each in runtime.tree().children]
        assert len(runtime.alerts) == 1
    assert await kept(store) == []


async def test_secrets_do_not_reach_the_hook(store: MemoryStore) -> None:
    @tool(secrets=["token"])
    async def pay(to: str, *, token: str) -> str:
        raise PermissionDenied(f"key {token} has expired")

    pager = Pager()
    of = agent([call("pay", to="ann"), "Done."], [pay])
    secrets = {"token": "sk-very-secret-1"}
    async with Runtime(store, agents=[of], on_alert=pager, secrets=secrets) as runtime:
        await run_one(runtime, of, session_id="one")
    assert pager.told and "very-secret" not in pager.told[0].text


async def test_the_oldest_make_room(store: MemoryStore) -> None:
    await store.open()
    many = [
        Warn(name=f"w-{number}", owner="gone", text="t", at_ms=number)
        for number in range(WARNINGS_MAX + 5)
    ]
    assert await store.commit([*many, many[-1], Warned(name="nothing")]) == [Done()] * (
        len(many) + 2
    )
    found = await store.warnings(WarningQuery(owner="me", now_ms=1, limit=10_000))
    assert [each.name for each in found] == [each.name for each in many[5:]]


# ---------------------------------------------------------------- sessions that need a person


async def test_each_session_that_needs_a_person_is_told_of(store: MemoryStore) -> None:
    """A spent budget is no alert, and still somebody has to decide; the same end twice is told once."""
    pager = Pager()
    of = agent([call("order", sku="A")] * 9, [order])
    async with Runtime(store, agents=[of], on_alert=pager) as runtime:
        for name in ("one", "two"):
            await run_one(runtime, of, session_id=name, budget=Budget(tool_calls=0))
        assert runtime.alerts == ()
        await runtime.session("two").resolve("go_on", result="Try once more.")
        await runtime.session("two").outcome()
    told = [(each.session_id, each.text) for each in pager.told]
    assert [name for name, _ in told] == ["one", "two", "two"]
    assert told[0][1].startswith("session one of agent agent was handed over (budget): budget tool")


async def test_an_outage_is_told_of_once(store: MemoryStore) -> None:
    @tool(effect="read")
    async def look(city: str) -> str:
        raise TransientError("busy")

    pager = Pager()
    of = agent([call("look", city="Bonn")] * 60, [look])
    policy = Policy(transient=RetryPolicy(attempts_max=1))
    async with Runtime(store, agents=[of], on_alert=pager, policy=policy) as runtime:
        for number in range(20):
            await run_one(runtime, of, session_id=f"s-{number}")
    (alert,) = pager.told
    assert "session s-0" in alert.text and "(blocked)" in alert.text


async def test_a_session_that_leaves_questions_open_is_told_of(store: MemoryStore) -> None:
    began = anyio.Event()

    @tool
    async def pay(to: str) -> str:
        began.set()
        await anyio.sleep(60)
        return to

    pager = Pager()
    of = agent([call("pay", to="ann"), "Done."], [pay])
    async with Runtime(store, agents=[of], on_alert=pager) as runtime:
        session = await runtime.start("agent", "go", session_id="one")
        await began.wait()
        await session.cancel()
    assert [each.text for each in pager.told] == [
        "session one of agent agent has ended and left a question open for a person"
    ]


ENDS: list[tuple[Outcome, int, str | None]] = [
    (Completed("yes"), 0, None),
    (Completed("yes"), 2, "left 2 questions open"),
    (Stopped("cancelled"), 0, None),
    (Stopped("cancelled"), 1, "left a question open"),
    *((HandedOver(reason, DOSSIER, "why"), 0, None) for reason in sorted(TELLS_ITSELF)),
    *(
        (HandedOver(reason, DOSSIER, "why"), 0, f"handed over ({reason.replace('_', ' ')}): why")
        for reason in get_args(Reason)
        if reason not in TELLS_ITSELF
    ),
]


@pytest.mark.parametrize(("outcome", "left_open", "said"), ENDS, ids=lambda value: str(value)[:30])
def test_who_is_needed(outcome: Outcome, left_open: int, said: str | None) -> None:
    notice = notice_of("s-1", "buyer", outcome, left_open)
    if said is None:
        assert notice is None
    else:
        assert notice is not None and said in notice.text and "s-1" in notice.text


@pytest.mark.parametrize("when", ["before", "after"])
async def test_wherever_the_first_runtime_is_cut_off_somebody_is_told(when: str) -> None:
    """At each commit of a session that is handed over; twice is fine, never is not."""
    at, reached = 0, True
    while reached:
        at, reached = at + 1, False
        store = MemoryStore()
        pager = Pager()
        scope = anyio.CancelScope()

        def cut(number: int, now: str, at: int = at, scope: anyio.CancelScope = scope) -> None:
            nonlocal reached
            if (number, now) == (at, when):
                reached = True
                scope.cancel()

        of = agent([call("order", sku="A")] * 5, [order])
        with scope:
            async with Runtime(
                FaultyStore(store, on_commit=cut), agents=[of], on_alert=pager
            ) as runtime:
                await run_one(runtime, of, session_id="one")
        async with Runtime(store, agents=[of], on_alert=pager) as runtime:
            known = [head.session_id for head in await runtime.sessions()]
            if known:
                assert isinstance(await runtime.session("one").outcome(), HandedOver)
            await anyio.sleep(LOOK_S + 1)
        assert bool(pager.told) == bool(known), at
        assert await kept(store) == []
    assert at > 5

"""Sessions that end other than completed undo what they did: in reverse, once, whatever is killed."""

import secrets
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, suppress
from random import Random
from typing import Any

import anyio
import pytest
from sessions import (
    GONE,
    LoopClock,
    agent,
    assert_paired,
    ended,
    journal,
    opened,
    put_history,
    raw_rows,
    requests,
    run_one,
)
from store_faults import Fault, FaultyStore

from ukemi import (
    Agent,
    Budget,
    BusinessRejected,
    Completed,
    HandedOver,
    Outcome,
    PermissionDenied,
    Policy,
    RateLimited,
    Runtime,
    Stopped,
    StoreError,
    TransientError,
    UsageError,
    tool,
)
from ukemi.actors import CompensationFinished, CompensationStarted, NoteMessage, SessionFrozen
from ukemi.actors.outcome import Dossier
from ukemi.actors.tooling.context import current
from ukemi.actors.tooling.tools import AnyTool
from ukemi.actors.undo.plan import NO_SNAPSHOT, undo_key_of
from ukemi.models import Hang, call
from ukemi.models.scripted import Script
from ukemi.stores.base import AlreadyDecided
from ukemi.stores.memory import MemoryStore
from ukemi.stores.records import (
    Ended,
    Frozen,
    JournalEntry,
    Undoing,
    Undone,
    Unwinding,
    decode_row,
)
from ukemi.supervisor.policy_failures import RetryPolicy
from ukemi.supervisor.policy_sessions import RestartPolicy, StoragePolicy


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore(secrets.token_hex(8))


class Desk:
    """A desk that books and cancels: what it was asked for, in order.

    Args:
        faults: raised by cancellations in turn, by what is cancelled; None: it goes through.
    """

    def __init__(self, **faults: Sequence[Exception | float | None]) -> None:
        self.log: list[str] = []
        self.keys: list[str] = []
        self.at: list[float] = []
        self._faults = {name: list(faults) for name, faults in faults.items()}

        async def cancel(what: str, result: str) -> str:
            return await self._cancel(what, result)

        async def cancel_keyed(what: str, result: str, *, key: str) -> str:
            self.keys.append(key)
            return await self._cancel(what, result)

        @tool(name="cancel", safe_to_retry=True)
        async def cancel_safely(what: str, result: str) -> str:
            return await self._cancel(what, result)

        @tool(compensate=cancel)
        async def book(what: str) -> str:
            return self._book(what)

        @tool(compensate=cancel_keyed)
        async def book_keyed(what: str) -> str:
            return self._book(what)

        @tool(compensate=cancel_safely)
        async def book_safe(what: str) -> str:
            return self._book(what)

        @tool
        async def mail(what: str) -> str:
            self.log.append(f"mail {what}")
            return "sent"

        @tool
        async def ticket() -> str:
            raise BusinessRejected("sold out")

        @tool
        async def locked() -> str:
            raise PermissionDenied("no such right")

        @tool
        async def broken() -> str:
            raise TypeError("a bug")

        @tool
        async def strange() -> str:
            raise RuntimeError("xyzzy")

        @tool(timeout_s=1.0)
        async def silent() -> str:
            await anyio.sleep(100)
            return ""

        @tool(undo="rollback")
        async def scribble(what: str) -> str:
            self.log.append(f"scribble {what}")
            return "written"

        self.tools: list[AnyTool] = [
            book,
            book_keyed,
            book_safe,
            mail,
            ticket,
            locked,
            broken,
            strange,
            silent,
            scribble,
        ]

    def _book(self, what: str) -> str:
        self.log.append(f"book {what}")
        return f"number of {what}"

    async def _cancel(self, what: str, result: str) -> str:
        assert result == f"number of {what}", "what the call returned came from the store"
        self.log.append(f"cancel {what}")
        self.at.append(anyio.current_time())
        faults = self._faults.get(what)
        fault = faults.pop(0) if faults else None
        if isinstance(fault, Exception):
            raise fault
        if fault is not None:
            await anyio.sleep(fault)
        return f"{what} is cancelled"

    def agent(self, *script: Any) -> Agent:
        return agent(list(script), self.tools)

    def cancelled(self, what: str) -> int:
        return self.log.count(f"cancel {what}")


def book(what: str, kind: str = "book") -> Any:
    return call(kind, what=what)


BLOCKED = (book("car"), book("room"), call("ticket"), "blocked, because it is sold out")


@asynccontextmanager
async def running(store: Any, of: Agent, policy: Policy | None = None) -> AsyncGenerator[Runtime]:
    async with Runtime(store, agents=[of], policy=policy, clock=LoopClock()) as runtime:
        yield runtime


async def kept(store: MemoryStore, kind: type[Any], session_id: str = "one") -> list[Any]:
    async with opened(store):
        return [each for each in await journal(store, session_id) if isinstance(each, kind)]


def dossier_of(outcome: Outcome) -> Dossier:
    assert isinstance(outcome, HandedOver)
    return outcome.dossier


def standings(outcome: Outcome) -> dict[str, str]:
    """How each effect stands, by what was booked."""
    return {
        each.arguments.partition(':"')[2].partition('"')[0]: each.standing
        for each in dossier_of(outcome).effects
    }


# ---------------------------------------------------------------- which ends undo


ENDINGS: dict[str, tuple[str, Sequence[Any], dict[str, Any]]] = {
    "blocked": ("blocked", BLOCKED, {}),
    "permission": ("permission", (book("car"), book("room"), call("locked")), {}),
    "bug": ("bug", (book("car"), book("room"), "refused"), {}),
    "budget": ("budget", (book("car"), book("room"), book("more")), {"budget": Budget(steps=2)}),
}


@pytest.mark.parametrize("name", list(ENDINGS))
async def test_a_handover_undoes_what_was_done_in_reverse_order(
    store: MemoryStore, name: str
) -> None:
    reason, script, options = ENDINGS[name]
    desk = Desk()
    if name == "bug":
        script = script[:2]  # the script is exhausted: a fault in a program
    of = desk.agent(*script)
    async with running(store, of) as runtime:
        outcome = await run_one(runtime, of, session_id="one", **options)
    assert isinstance(outcome, HandedOver) and outcome.reason == reason
    assert desk.log == ["book car", "book room", "cancel room", "cancel car"]
    assert standings(outcome) == {"car": "compensated", "room": "compensated"}
    assert outcome.dossier.undone == "all"
    assert outcome.dossier.effects[0].detail == "car is cancelled"


async def test_a_completed_session_undoes_nothing(store: MemoryStore) -> None:
    desk = Desk()
    of = desk.agent(book("car"), "I have booked the car.")
    async with running(store, of) as runtime:
        assert isinstance(await run_one(runtime, of, session_id="one"), Completed)
        assert (await runtime.session("one").inspect()).undone == "nothing to undo"
    assert desk.log == ["book car"]


async def test_what_is_kept_costs_no_entry_and_is_listed(store: MemoryStore) -> None:
    desk = Desk()
    of = desk.agent(call("mail", what="hello"), call("ticket"), "blocked, because it is sold out")
    async with running(store, of) as runtime:
        outcome = await run_one(runtime, of, session_id="one")
    assert standings(outcome) == {"hello": "kept"}
    assert dossier_of(outcome).undone == "nothing to undo"
    assert not await kept(store, Unwinding | Undoing | Undone | Frozen)  # type: ignore[arg-type]


async def test_all_is_not_said_where_something_is_kept(store: MemoryStore) -> None:
    desk = Desk()
    of = desk.agent(book("car"), call("mail", what="hello"), call("locked"))
    async with running(store, of) as runtime:
        outcome = await run_one(runtime, of, session_id="one")
    assert standings(outcome) == {"car": "compensated", "hello": "kept"}
    assert dossier_of(outcome).undone == "some"


async def test_files_are_reported_as_not_rolled_back(store: MemoryStore) -> None:
    desk = Desk()
    of = desk.agent(call("scribble", what="notes"), book("car"), call("locked"))
    async with running(store, of) as runtime:
        outcome = await run_one(runtime, of, session_id="one")
    assert standings(outcome) == {"notes": "not rolled back", "car": "compensated"}
    (notes, _) = dossier_of(outcome).effects
    assert notes.detail == NO_SNAPSHOT
    assert dossier_of(outcome).undone == "some"


# ---------------------------------------------------------------- going on afterwards


async def test_the_model_is_told_and_goes_on_truthfully(store: MemoryStore) -> None:
    desk = Desk()
    of = desk.agent(book("car"), call("locked"), book("car"), "Understood.")
    async with running(store, of) as runtime:
        await run_one(runtime, of, session_id="one")
        await runtime.session("one").send("the right is there now, go on")
        assert isinstance(await ended(runtime, "one"), Completed)
    messages = requests(of)[2].messages
    assert_paired(messages)
    (note,) = [each.text for each in messages if isinstance(each, NoteMessage)]
    assert 'call 2.0 book{"what": "car"}: compensated' in note.replace('{"what":"', '{"what": "')
    assert "not in effect any more" in note
    assert desk.log == ["book car", "cancel car", "book car"]


async def test_what_completed_is_not_undone_by_what_fails_later(store: MemoryStore) -> None:
    desk = Desk()
    of = desk.agent(book("car"), "I have booked the car.", book("room"), call("locked"))
    async with running(store, of) as runtime:
        await run_one(runtime, of, session_id="one")
        await runtime.session("one").send("and a room")
        outcome = await ended(runtime, "one")
    assert desk.log == ["book car", "book room", "cancel room"]
    assert standings(outcome) == {"car": "kept", "room": "compensated"}
    assert dossier_of(outcome).undone == "all", "of the part that failed"


async def test_an_effect_is_not_undone_again_at_the_next_end(store: MemoryStore) -> None:
    desk = Desk(car=[RuntimeError("gateway down")])
    of = desk.agent(book("car"), call("locked"), call("locked"))
    async with running(store, of) as runtime:
        await run_one(runtime, of, session_id="one")
        await runtime.session("one").send("go on")
        outcome = await ended(runtime, "one")
        await runtime.session("one").cancel()
    assert desk.cancelled("car") == 1
    assert standings(outcome) == {"car": "compensation failed"}


# ---------------------------------------------------------------- cancelled


async def test_a_cancelled_session_undoes_what_it_did_before_cancel_returns(
    store: MemoryStore,
) -> None:
    desk = Desk(car=[5.0])
    of = agent([book("car"), Hang()], desk.tools)
    async with running(store, of) as runtime:
        handle = await runtime.start("agent", "go", session_id="one")
        await anyio.sleep(1.0)
        began = anyio.current_time()
        assert await handle.cancel() == Stopped("cancelled", "all")
        assert anyio.current_time() - began == pytest.approx(5.0)
        assert (await handle.inspect()).undone == "all"
    assert desk.log == ["book car", "cancel car"]


async def test_a_second_cancel_does_not_cut_a_compensation_off(store: MemoryStore) -> None:
    desk = Desk(car=[5.0])
    of = agent([book("car"), Hang()], desk.tools)
    async with running(store, of) as runtime:
        handle = await runtime.start("agent", "go", session_id="one")
        await anyio.sleep(1.0)
        async with anyio.create_task_group() as group:
            group.start_soon(handle.cancel)
            await anyio.sleep(2.0)
            assert await handle.cancel() == Stopped("cancelled", "all")
    assert desk.cancelled("car") == 1
    assert [each.state for each in await kept(store, Undone)] == ["compensated"]


async def test_a_caller_who_gives_up_waiting_changes_nothing(store: MemoryStore) -> None:
    desk = Desk(car=[5.0])
    of = agent([book("car"), Hang()], desk.tools)
    async with running(store, of) as runtime:
        handle = await runtime.start("agent", "go", session_id="one")
        await anyio.sleep(1.0)
        with anyio.move_on_after(1.0):
            await handle.cancel()
        assert await ended(runtime, "one") == Stopped("cancelled", "all")
    assert desk.cancelled("car") == 1


async def test_a_spent_budget_does_not_stop_it_and_is_not_used_by_it(store: MemoryStore) -> None:
    desk = Desk(car=[50.0])
    of = agent([book("car"), Hang()], desk.tools)
    async with running(store, of) as runtime:
        outcome = await run_one(runtime, of, session_id="one", budget=Budget(seconds=10.0))
        assert isinstance(outcome, HandedOver) and outcome.reason == "budget"
        assert (await runtime.session("one").inspect()).spent.seconds == pytest.approx(10.0)
    assert standings(outcome) == {"car": "compensated"}


async def test_leaving_the_runtime_is_no_end_and_undoes_nothing(store: MemoryStore) -> None:
    desk = Desk()
    of = agent([book("car"), Hang()], desk.tools)
    async with running(store, of) as runtime:
        await runtime.start("agent", "go", session_id="one")
        await anyio.sleep(1.0)
    assert desk.log == ["book car"]


# ---------------------------------------------------------------- failing


async def test_a_failed_one_is_on_record_and_the_others_go_on(store: MemoryStore) -> None:
    desk = Desk(room=[RuntimeError("gateway down")])
    of = desk.agent(*BLOCKED)
    async with running(store, of) as runtime:
        outcome = await run_one(runtime, of, session_id="one")
        facts = await runtime.session("one").inspect()
        assert any("compensation of call 3.0 book failed" in each for each in runtime.alerts)
    assert desk.log == ["book car", "book room", "cancel room", "cancel car"]
    assert standings(outcome) == {"car": "compensated", "room": "compensation failed"}
    (failed,) = [each for each in facts.compensations if each.standing == "compensation failed"]
    assert failed.detail == "RuntimeError: gateway down" and failed.may_have_run
    assert facts.undone == dossier_of(outcome).undone == "some"
    assert any("call 3.0" in each for each in facts.questions)
    assert dossier_of(outcome).options[0].name == "compensated"


async def test_a_passing_failure_is_waited_out_where_it_certainly_did_not_run(
    store: MemoryStore,
) -> None:
    away = TransientError("connection refused", may_have_executed="no")
    desk = Desk(car=[away, away])
    of = desk.agent(book("car"), call("locked"))
    async with running(store, of) as runtime:
        outcome = await run_one(runtime, of, session_id="one")
    assert desk.cancelled("car") == 3
    assert standings(outcome) == {"car": "compensated"}
    assert [each.state for each in await kept(store, Undone)] == ["again", "again", "compensated"]
    assert [each.attempt for each in await kept(store, Undoing)] == [1, 2, 3]


@pytest.mark.parametrize(("kind", "attempts"), [("book", 1), ("book_keyed", 4), ("book_safe", 4)])
async def test_one_that_may_have_run_is_repeated_only_where_that_does_no_harm(
    store: MemoryStore, kind: str, attempts: int
) -> None:
    broken = TransientError("connection reset", may_have_executed="maybe")
    desk = Desk(car=[broken] * 9)
    of = desk.agent(book("car", kind), call("locked"))
    async with running(store, of) as runtime:
        outcome = await run_one(runtime, of, session_id="one")
    assert desk.cancelled("car") == attempts
    (end,) = dossier_of(outcome).effects
    assert (end.standing, end.attempts, end.may_have_run) == ("compensation failed", attempts, True)
    assert set(desk.keys) <= {undo_key_of("one", (2, 0))}


async def test_the_time_for_all_attempts_is_bounded(store: MemoryStore) -> None:
    away = RateLimited("come back", retry_after=50.0, may_have_executed="no")
    desk = Desk(car=[away] * 9)
    of = desk.agent(book("car"), call("locked"))
    policy = Policy(rate_limited=RetryPolicy(attempts_max=None, time_budget_s=120.0))
    async with running(store, of, policy) as runtime:
        began = anyio.current_time()
        outcome = await run_one(runtime, of, session_id="one")
        assert anyio.current_time() - began < 121.0
    assert standings(outcome) == {"car": "compensation failed"}
    assert all(b - a >= 50.0 for a, b in zip(desk.at, desk.at[1:], strict=False))


async def test_one_that_does_not_end_is_in_doubt(store: MemoryStore) -> None:
    desk = Desk(car=[1e6])
    of = desk.agent(book("car"), book("room"), call("locked"))
    async with running(store, of) as runtime:
        began = anyio.current_time()
        outcome = await run_one(runtime, of, session_id="one")
        assert anyio.current_time() - began < 62.0
    assert standings(outcome) == {"car": "compensation in doubt", "room": "compensated"}
    assert dossier_of(outcome).undone == "some"


RETURNS: list[tuple[object, str]] = [
    ({"ok": False, "error": "invoice is paid", "status": 409}, "compensation failed"),
    ({"ok": False, "error": "the flux is out of tune"}, "compensation failed"),
    ({"status": "failed", "refund": "r-1"}, "compensation failed"),
    (False, "compensation failed"),
    (None, "compensated"),
    (True, "compensated"),
    ({"code": "R-17"}, "compensated"),
]


@pytest.mark.parametrize(("told", "standing"), RETURNS, ids=[str(each[0]) for each in RETURNS])
async def test_a_return_that_tells_of_a_failure_is_one(
    store: MemoryStore, told: object, standing: str
) -> None:
    async def cancel(what: str) -> object:
        return told

    @tool(compensate=cancel)
    async def order(what: str) -> str:
        return "ordered"

    @tool
    async def locked() -> str:
        raise PermissionDenied("no")

    of = agent([call("order", what="car"), call("locked")], [order, locked])
    async with running(store, of) as runtime:
        outcome = await run_one(runtime, of, session_id="one")
    assert standings(outcome) == {"car": standing}


async def test_a_body_knows_that_it_compensates(store: MemoryStore) -> None:
    seen: list[tuple[bool, tuple[int, int], str]] = []

    async def cancel(what: str) -> None:
        context = current()
        seen.append((context.undo, context.call, context.tool))

    @tool(compensate=cancel)
    async def order(what: str) -> str:
        return "ordered"

    of = agent([call("order", what="car"), Hang()], [order])
    async with running(store, of) as runtime:
        handle = await runtime.start("agent", "go", session_id="one")
        await anyio.sleep(1.0)
        await handle.cancel()
    assert seen == [(True, (2, 0), "order")]


async def test_what_happens_is_told(store: MemoryStore) -> None:
    desk = Desk()
    of = desk.agent(book("car"), call("locked"))
    async with running(store, of) as runtime:
        handle = await runtime.start("agent", "go", session_id="one")
        events = [event async for event in handle.events()]
    told = [event.event for event in events]
    assert told.index("session.unwinding") < told.index("compensation.started")
    assert told.index("compensation.finished") < told.index("session.handed_over")
    (finished,) = [event for event in events if isinstance(event, CompensationFinished)]
    assert (finished.n, finished.tool, finished.state) == (2, "book", "compensated")
    assert sum(isinstance(event, CompensationStarted) for event in events) == 1


# ---------------------------------------------------------------- frozen


async def test_with_a_call_in_doubt_nothing_is_undone_until_it_is_settled(
    store: MemoryStore,
) -> None:
    desk = Desk()
    of = desk.agent(book("car"), call("silent"), call("locked"))
    async with running(store, of) as runtime:
        handle = await runtime.start("agent", "go", session_id="one")
        outcome = await ended(runtime, "one")
        assert isinstance(outcome, HandedOver) and outcome.reason == "in_doubt"
        assert desk.log == ["book car"]
        assert standings(outcome) == {"car": "frozen"}
        assert outcome.dossier.undone == "none"
        assert outcome.dossier.frozen == "not known whether it took effect: 3.0 silent"
        assert (await handle.inspect()).frozen == outcome.dossier.frozen
        with pytest.raises(UsageError, match=r"3\.0 silent; resolve that first"):
            await handle.resolve("compensate")
        await handle.resolve("not_done", call=(3, 0))
        outcome = await ended(runtime, "one")
        assert isinstance(outcome, HandedOver) and outcome.reason == "permission"
    assert desk.log == ["book car", "cancel car"]
    assert standings(outcome) == {"car": "compensated"} and outcome.dossier.frozen is None


async def test_cancelling_with_a_doubt_freezes_too(store: MemoryStore) -> None:
    desk = Desk()
    of = desk.agent(book("car"), call("silent"))
    async with running(store, of) as runtime:
        handle = await runtime.start("agent", "go", session_id="one")
        await anyio.sleep(0.5)
        assert await handle.cancel() == Stopped("cancelled", "none")
        facts = await handle.inspect()
    assert desk.log == ["book car"] and facts.frozen is not None
    assert [(each.n, each.standing) for each in facts.compensations] == [(2, "frozen")]


async def test_where_the_task_says_so_all_is_frozen_and_a_person_can_undo_it(
    store: MemoryStore,
) -> None:
    desk = Desk()
    of = desk.agent(*BLOCKED)
    async with running(store, of) as runtime:
        handle = await runtime.start("agent", "go", session_id="one", on_failure="freeze")
        events = [event async for event in handle.events()]
        assert [e.effects for e in events if isinstance(e, SessionFrozen)] == [2]
        outcome = await handle.outcome()
        assert standings(outcome) == {"car": "frozen", "room": "frozen"}
        assert desk.log == ["book car", "book room"]
        assert dossier_of(outcome).options[0].name == "compensate"
        await handle.resolve("compensate")
        outcome = await ended(runtime, "one")
    assert desk.log == ["book car", "book room", "cancel room", "cancel car"]
    assert isinstance(outcome, HandedOver) and outcome.reason == "blocked"
    assert standings(outcome) == {"car": "compensated", "room": "compensated"}
    assert outcome.dossier.undone == "all" and outcome.dossier.frozen is None


async def test_a_frozen_session_may_also_go_on(store: MemoryStore) -> None:
    desk = Desk()
    of = desk.agent(book("car"), call("locked"), "Understood.")
    async with running(store, of) as runtime:
        handle = await runtime.start("agent", "go", session_id="one", on_failure="freeze")
        await ended(runtime, "one")
        await handle.send("never mind the rest")
        assert isinstance(await ended(runtime, "one"), Completed)
        facts = await handle.inspect()
    assert desk.log == ["book car"]
    assert facts.frozen is None and facts.undone == "nothing to undo"


async def test_a_subsession_is_frozen_with_its_parents_task(store: MemoryStore) -> None:
    desk = Desk()
    helper = agent([book("car"), call("locked")], desk.tools, name="helper")
    boss = agent([call("helper", task="book"), Hang()], [helper.as_tool()], name="boss")
    async with Runtime(store, agents=[helper, boss], clock=LoopClock()) as runtime:
        await runtime.start("boss", "go", session_id="one", on_failure="freeze")
        await anyio.sleep(1.0)
        assert (await runtime.session("one.2.0").inspect()).frozen == "the task says so"
    assert desk.log == ["book car"]


async def test_an_unknown_way_to_fail_is_refused(store: MemoryStore) -> None:
    async with running(store, agent(["hi"])) as runtime:
        with pytest.raises(UsageError, match="on_failure='panic' is unknown; use one of undo"):
            await runtime.start("agent", "go", on_failure="panic")  # type: ignore[arg-type]


# ---------------------------------------------------------------- a person settles it


async def failed_twice(runtime: Runtime, of: Agent) -> None:
    outcome = await run_one(runtime, of, session_id="one")
    assert set(standings(outcome).values()) == {"compensation failed"}


def failing(times: int = 1) -> Desk:
    down = [RuntimeError("gateway down")] * times
    return Desk(car=list(down), room=list(down))


@pytest.mark.parametrize(
    ("option", "standing"), [("compensated", "compensated"), ("abandon", "abandoned")]
)
async def test_a_person_says_how_it_stands(store: MemoryStore, option: str, standing: str) -> None:
    desk = failing()
    of = desk.agent(*BLOCKED)
    async with running(store, of) as runtime:
        await failed_twice(runtime, of)
        handle = runtime.session("one")
        await handle.resolve(option, call=(3, 0), result="seen to at the desk", by="ann")
        outcome = await ended(runtime, "one")
        assert isinstance(outcome, HandedOver) and outcome.reason == "blocked"
        assert standings(outcome) == {"car": "compensation failed", "room": standing}
        (_, room) = outcome.dossier.effects
        assert (room.by, room.detail) == ("person", "seen to at the desk")
        facts = await handle.inspect()
        assert len(facts.questions) == 1 and facts.status == "handed_over"
    assert desk.cancelled("room") == 1


async def test_a_person_lets_it_run_again(store: MemoryStore) -> None:
    desk = failing()
    of = desk.agent(*BLOCKED)
    async with running(store, of) as runtime:
        await failed_twice(runtime, of)
        await runtime.session("one").resolve("compensate", call=(2, 0))
        outcome = await ended(runtime, "one")
    assert (desk.cancelled("car"), desk.cancelled("room")) == (2, 1)
    assert standings(outcome) == {"car": "compensated", "room": "compensation failed"}
    assert dossier_of(outcome).effects[0].attempts == 2


async def test_a_person_may_let_it_run_again_as_often_as_it_fails(store: MemoryStore) -> None:
    desk = failing(2)
    of = desk.agent(*BLOCKED)
    async with running(store, of) as runtime:
        await failed_twice(runtime, of)
        for standing in ("compensation failed", "compensated"):
            await runtime.session("one").resolve("compensate", call=(2, 0))
            outcome = await ended(runtime, "one")
            assert standings(outcome)["car"] == standing
    assert (desk.cancelled("car"), desk.cancelled("room")) == (3, 1)


async def test_a_session_without_compensations_has_nothing_to_say_about(
    store: MemoryStore,
) -> None:
    of = agent(["hi"])
    async with running(store, of) as runtime:
        await run_one(runtime, of, session_id="one")
        with pytest.raises(UsageError, match="no compensation that waits for a person"):
            await runtime.session("one").resolve("compensate")


async def test_while_the_session_runs_it_goes_on_after_that(store: MemoryStore) -> None:
    desk = Desk(car=[RuntimeError("gateway down")])
    of = desk.agent(book("car"), call("locked"), call("silent"), "Done.")
    async with running(store, of) as runtime:
        await run_one(runtime, of, session_id="one")
        handle = runtime.session("one")
        await handle.send("go on")
        await anyio.sleep(0.5)
        await handle.resolve("compensate")
        await handle.send("and then")
        outcome = await ended(runtime, "one")
        assert (await handle.inspect()).compensations[0].standing == "compensated"
    assert isinstance(outcome, HandedOver) and outcome.reason == "in_doubt"
    assert desk.log == ["book car", "cancel car", "cancel car"]


async def test_words_that_fit_nothing_are_refused(store: MemoryStore) -> None:
    desk = failing()
    of = desk.agent(*BLOCKED)
    async with running(store, of) as runtime:
        await failed_twice(runtime, of)
        handle = runtime.session("one")
        with pytest.raises(UsageError, match=r"several compensations wait \(3.0 book, 2.0 book\)"):
            await handle.resolve("compensated")
        with pytest.raises(UsageError, match=r"no compensation of call 9\.0 waits"):
            await handle.resolve("abandon", call=(9, 0))
        await handle.resolve("compensated", call=(3, 0))
        await handle.resolve("compensated")
        with pytest.raises(AlreadyDecided, match=r"call 2\.0 was decided before"):
            await handle.resolve("compensate")
    assert desk.cancelled("room") == desk.cancelled("car") == 1


# ---------------------------------------------------------------- killed


def everything(kind: str = "book") -> tuple[Any, ...]:
    return (book("car", kind), book("room", kind), call("ticket"), "blocked, because sold out")


async def prefixes(store: MemoryStore, session_id: str) -> list[list[list[JournalEntry]]]:
    """Return what is stored after each row from the start of the unwinding to before the end."""
    async with opened(store):
        rows = [decode_row(body) for _, _, body in await raw_rows(store, session_id)]
    first = next(i for i, row in enumerate(rows) if any(isinstance(e, Unwinding) for e in row))
    return [rows[: end + 1] for end in range(first, len(rows) - 1)]


@pytest.mark.parametrize("kind", ["book", "book_keyed", "book_safe"])
async def test_killed_after_any_row_the_next_process_goes_on_with_it(
    store: MemoryStore, kind: str
) -> None:
    """What has its end is not run again; what has its intent alone only where that does no harm."""
    desk = Desk()
    async with running(store, desk.agent(*everything(kind))) as runtime:
        await run_one(runtime, desk.agent(*everything(kind)), session_id="one")
    for rows in await prefixes(store, "one"):
        entries = [entry for row in rows for entry in row]
        over = {(each.n, each.index) for each in entries if isinstance(each, Undone)}
        begun = {(each.n, each.index) for each in entries if isinstance(each, Undoing)} - over
        again = Desk()
        of = again.agent()
        other = MemoryStore(secrets.token_hex(8))
        async with opened(other):
            await put_history(other, "one", rows)
            async with running(other, of) as runtime:
                outcome = await ended(runtime, "one")
        assert isinstance(outcome, HandedOver) and outcome.reason == "blocked"
        for what, at in (("room", (3, 0)), ("car", (2, 0))):
            ran = again.cancelled(what)
            if at in over:
                assert (ran, standings(outcome)[what]) == (0, "compensated")
            elif at in begun and kind == "book":
                assert (ran, standings(outcome)[what]) == (0, "compensation in doubt")
            else:
                assert (ran, standings(outcome)[what]) == (1, "compensated")
        assert again.log == sorted(again.log, reverse=True), "room before car"
        assert all(key in (undo_key_of("one", at) for at in ((2, 0), (3, 0))) for key in again.keys)
        assert sum(isinstance(each, Ended) for each in await kept(other, Ended)) == 1


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("number", range(1, 8))
async def test_a_store_that_dies_anywhere_makes_nothing_run_twice(
    store: MemoryStore, number: int, when: Any
) -> None:
    """The store is gone from its k-th write on; effects are counted over both lives."""
    desk = Desk()
    faulty = FaultyStore(store)
    started = anyio.Event()

    def watch(script: Script) -> Agent:
        return agent(script, desk.tools)

    of = watch([book("car"), book("room"), Hang()])
    async with running(faulty, of) as runtime:
        handle = await runtime.start("agent", "go", session_id="one")
        await anyio.sleep(1.0)
        faulty.plan = [Fault(at=faulty.commits + number, when=when, always=True)]
        started.set()
        with anyio.move_on_after(30.0), suppress(StoreError):
            await handle.cancel()
    faulty.plan.clear()
    await anyio.sleep(15.0)  # the lease of the one that died
    async with running(faulty, watch([Hang()])) as runtime:
        with anyio.move_on_after(100.0):
            await ended(runtime, "one")
        facts = await runtime.session("one").inspect()
    assert desk.cancelled("car") <= 1 and desk.cancelled("room") <= 1
    if facts.status == "running":
        assert desk.log == ["book car", "book room"], "the cancellation was not stored: no end"
        return
    undone = await kept(store, Undone)
    assert {(each.n, each.index) for each in undone} == {(2, 0), (3, 0)}
    for each in undone:
        ran = desk.cancelled({2: "car", 3: "room"}[each.n])
        assert ran == 1 if each.state == "compensated" else each.state == "in_doubt"


async def test_a_store_that_fails_once_in_between_makes_no_doubt(store: MemoryStore) -> None:
    """The intent could not be stored, so the body certainly did not run; the next life runs it."""
    desk = Desk()
    faulty = FaultyStore(store)
    of = agent([book("car"), Hang()], desk.tools)
    async with running(faulty, of) as runtime:
        handle = await runtime.start("agent", "go", session_id="one")
        await anyio.sleep(1.0)
        at = faulty.commits + 2
        faulty.plan = [Fault(at=number, when="before") for number in range(at, at + 12)]
        assert await handle.cancel() == Stopped("cancelled", "all")
    assert desk.log == ["book car", "cancel car"]


async def test_what_an_earlier_life_waited_for_is_waited_for(store: MemoryStore) -> None:
    """The other side's own wait holds over a restart."""
    busy = RateLimited("come back", retry_after=60.0, may_have_executed="no")
    desk = Desk(car=[busy])
    of = agent([book("car"), Hang()], desk.tools)
    async with running(store, of) as runtime:
        handle = await runtime.start("agent", "go", session_id="one")
        await anyio.sleep(1.0)
        with anyio.move_on_after(5.0):
            await handle.cancel()
    async with running(store, of) as runtime:
        await ended(runtime, "one")
    assert desk.at[1] - desk.at[0] >= 60.0
    assert desk.cancelled("car") == 2


async def test_a_message_waits_until_an_unwinding_that_was_killed_is_over(
    store: MemoryStore,
) -> None:
    desk = Desk()
    async with running(store, desk.agent(*everything())) as runtime:
        await run_one(runtime, desk.agent(*everything()), session_id="one")
    rows = (await prefixes(store, "one"))[0]
    again = Desk()
    of = again.agent("Understood: I have booked nothing.")
    other = MemoryStore(secrets.token_hex(8))
    async with opened(other):
        await put_history(other, "one", rows, owner=GONE)
        async with Runtime(other, agents=[of], clock=LoopClock(), adopt=False) as runtime:
            await runtime.session("one").send("what now?")
            await ended(runtime, "one")
    assert again.log == ["cancel room", "cancel car"]
    texts = [type(each).__name__ for each in requests(of)[0].messages[-2:]]
    assert texts == ["NoteMessage", "UserMessage"]


# ---------------------------------------------------------------- the session's own actor dies


class DyingSource(Random):
    """Chance that fails once it is broken, which is a fault in the session's own loop."""

    broken = False

    def random(self) -> float:
        if self.broken:
            raise ZeroDivisionError("a fault of our own")
        return super().random()


async def test_a_session_whose_actor_keeps_dying_undoes_what_it_did(store: MemoryStore) -> None:
    desk, source = Desk(), DyingSource()

    @tool(effect="read")
    async def flaky() -> str:
        source.broken = True
        raise TransientError("busy")

    of = agent([book("car"), call("flaky")], [*desk.tools, flaky])
    policy = Policy(restarts=RestartPolicy(intensity=2, period_s=60.0))
    async with Runtime(
        store, agents=[of], policy=policy, clock=LoopClock(), random_source=source
    ) as runtime:
        outcome = await run_one(runtime, of, session_id="one")
    assert isinstance(outcome, HandedOver) and outcome.reason == "restarts"
    assert standings(outcome) == {"car": "compensated"}
    assert desk.log == ["book car", "cancel car"]


async def test_one_that_does_not_even_end_when_cancelled_is_left_behind_in_doubt(
    store: MemoryStore,
) -> None:
    """A new life goes on with the others, and what the body says in the end is written down."""
    let_go = anyio.Event()
    log: list[str] = []

    async def cancel(what: str) -> str:
        log.append(f"cancel {what}")
        while what == "room" and not let_go.is_set():
            with anyio.CancelScope(shield=True):
                await let_go.wait()
        return f"{what} is cancelled"

    @tool(compensate=cancel, timeout_s=2.0)
    async def order(what: str) -> str:
        return "ordered"

    of = agent([call("order", what="car"), call("order", what="room"), Hang()], [order])
    async with running(store, of) as runtime:
        handle = await runtime.start("agent", "go", session_id="one")
        await anyio.sleep(1.0)
        assert await handle.cancel() == Stopped("cancelled", "some")
        states = {each.n: each.standing for each in (await handle.inspect()).compensations}
        assert states == {2: "compensated", 3: "compensation in doubt"}
        let_go.set()
        await anyio.sleep(5.0)
        states = {each.n: each.standing for each in (await handle.inspect()).compensations}
        assert states == {2: "compensated", 3: "compensated"}
    assert log == ["cancel room", "cancel car"]


# ---------------------------------------------------------------- what is kept of it


async def test_retention_keeps_what_a_compensation_may_need(store: MemoryStore) -> None:
    """A long result of an early call, many steps ago: whole, since a person may try again."""
    seen: list[int] = []

    async def cancel(result: str) -> None:
        seen.append(len(result))
        if len(seen) == 1:
            raise RuntimeError("gateway down")

    @tool(compensate=cancel)
    async def order() -> str:
        return "x" * 100_000

    @tool
    async def locked() -> str:
        raise PermissionDenied("no such right")

    @tool(effect="read")
    async def look(x: int) -> str:
        return f"seen {x}"

    script = [call("order"), *(call("look", x=x) for x in range(80)), call("locked")]
    of = agent(script, [order, look, locked])
    policy = Policy(storage=StoragePolicy(checkpoints_kept=2))
    async with running(store, of, policy) as runtime:
        await run_one(runtime, of, session_id="one")
    async with running(store, of, policy) as runtime:
        assert (await runtime.sessions())[0].oldest_counter > 1, "the retention has been applied"
        await runtime.session("one").resolve("compensate")
        outcome = await ended(runtime, "one")
    assert seen == [100_000, 100_000]
    assert dossier_of(outcome).undone == "all"

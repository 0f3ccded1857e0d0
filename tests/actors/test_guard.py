"""Guarded calls: a function outside any agent's session runs once in its scope, or somebody is asked."""

import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Literal

import anyio
import pytest
from guard_world import Bank
from sessions import agent, journal, opened, put_history, until

from ukemi import (
    ApprovalRequest,
    Budget,
    BusinessRejected,
    CallFailed,
    CallStopped,
    Completed,
    Denied,
    Guarded,
    HandedOver,
    HandedOverError,
    InDoubt,
    InvalidArgument,
    PermissionDenied,
    Policy,
    Runtime,
    SessionOwned,
    SessionUnknown,
    TransientError,
    UsageError,
    guard,
    tool,
)
from ukemi.stores.memory import MemoryStore
from ukemi.stores.records import Answered, Intended, JournalEntry, Opened, Said, ToolCall
from ukemi.supervisor.danger.policy import DangerPolicy, DangerRule

DONE = "o-1: 100 cents"


async def within(call: Awaitable[Any], seconds: float = 3600.0) -> Any:
    with anyio.fail_after(seconds):
        return await call


# ---------------------------------------------------------------- once


async def test_equal_calls_of_a_scope_run_once(store: MemoryStore) -> None:
    bank = Bank()
    async with Runtime(store) as runtime:
        pay = runtime.guard(bank.pay, scope="order-1")
        assert await pay("o-1") == DONE
        again = await pay.detailed(cents=100, order="o-1")
        assert (again.value, again.replayed, again.call) == (DONE, True, (2, 0))
        assert await pay("o-1", 200) == "o-1: 200 cents"
        assert bank.booked == ["o-1", "o-1"]
        assert await runtime.session("order-1").outcome() == Completed("")
    async with Runtime(store) as runtime:
        found = await guard(bank.pay, runtime=runtime, scope="order-1").detailed("o-1")
        assert (found.value, found.replayed, found.by, found.attempts) == (DONE, True, "", 1)
        assert await runtime.guard(bank.pay, scope="order-2")("o-1") == DONE
    assert len(bank.booked) == 3


async def test_a_first_call_is_not_marked_as_replayed(store: MemoryStore) -> None:
    async with Runtime(store) as runtime:
        found = await runtime.guard(Bank().pay, scope="order-1").detailed("o-1")
        assert (found.replayed, found.by, found.attempts) == (False, "", 1)


async def test_a_call_id_tells_equal_calls_apart_that_are_meant_to_be_two(
    store: MemoryStore,
) -> None:
    bank = Bank()
    async with Runtime(store) as runtime:
        for call_id in ("", "second", "", "second"):
            await runtime.guard(bank.pay, scope="order-1", call_id=call_id)("o-1")
    assert bank.booked == ["o-1", "o-1"]


async def test_calls_with_other_ids_are_not_closed_by_a_doubt_and_not_answered_by_it(
    store: MemoryStore,
) -> None:
    bank = Bank(60.0)
    async with Runtime(store) as runtime:
        first, second = (
            runtime.guard(bank.pay, scope="order-1", call_id=each) for each in ("1", "2")
        )
        with pytest.raises(InDoubt):
            await first("o-1")
        assert not (await second.detailed("o-1")).replayed
        await runtime.session("order-1").resolve("done", result="by hand")
        assert await first("o-1") == "by hand"
        assert not (await runtime.guard(bank.pay, scope="order-1", call_id="3").detailed("o-1")).by
    assert len(bank.booked) == 3


async def test_of_equal_calls_at_once_one_runs(store: MemoryStore) -> None:
    bank = Bank(1.0)
    found: list[bool] = []
    async with Runtime(store) as runtime:
        pay = runtime.guard(bank.pay, scope="order-1")

        async def ask() -> None:
            found.append((await pay.detailed("o-1")).replayed)

        async with anyio.create_task_group() as group:
            for _ in range(5):
                group.start_soon(ask)
    assert bank.booked == ["o-1"] and sorted(found) == [False, True, True, True, True]


async def test_different_calls_of_a_scope_run_one_after_the_other(store: MemoryStore) -> None:
    running: list[int] = []
    most: list[int] = []

    @tool
    async def step(i: int) -> int:
        running.append(i)
        most.append(len(running))
        await anyio.sleep(1)
        running.remove(i)
        return i

    async with Runtime(store) as runtime, anyio.create_task_group() as group:
        for i in range(5):
            group.start_soon(runtime.guard(step, scope="order-1"), i)
    assert most == [1] * 5


async def test_reads_run_each_time(store: MemoryStore) -> None:
    bank = Bank(kind="read")
    async with Runtime(store) as runtime:
        look = runtime.guard(bank.pay, scope="order-1")
        assert await look("o-1") == await look("o-1") == DONE
        entries = await journal(store, "order-1")
    assert bank.attempts == 2
    assert not any(isinstance(each, Intended) for each in entries)


# ---------------------------------------------------------------- results


@dataclass
class Receipt:
    number: int
    lines: list[str]


async def test_results_are_the_same_when_they_are_replayed(store: MemoryStore) -> None:
    @tool
    async def receipt(n: int) -> Receipt:
        return Receipt(n, ["a", "b"])

    @tool
    async def nothing() -> None:
        return None

    @tool
    async def long() -> str:
        return "x" * 200_000

    async def plain(n: int) -> Any:
        return {"n": n, "of": [1, 2]}

    def sync(n: int) -> tuple[int, int]:
        return n, n

    wanted: list[tuple[Callable[..., Any], dict[str, int], object]] = [
        (receipt, {"n": 7}, Receipt(7, ["a", "b"])),
        (nothing, {}, None),
        (long, {}, "x" * 200_000),
        (plain, {"n": 1}, {"n": 1, "of": [1, 2]}),
        (sync, {"n": 3}, (3, 3)),
    ]
    async with Runtime(store) as runtime:
        for function, given, result in wanted:
            called = runtime.guard(function, scope="order-1")
            assert await called(**given) == result
            assert await called(**given) == result


async def test_what_cannot_be_read_back_is_refused_before_it_runs(store: MemoryStore) -> None:
    class Opaque:
        pass

    async def make() -> Opaque:
        return Opaque()

    async with Runtime(store) as runtime:
        with pytest.raises(UsageError, match="cannot be read from what is stored"):
            runtime.guard(make, scope="order-1")


async def test_a_tool_that_says_itself_that_it_failed(store: MemoryStore) -> None:
    answers = [{"paid": False}, {"paid": True}]

    @tool(success=lambda value: value["paid"])
    async def pay() -> dict[str, bool]:
        return answers.pop(0)

    async with Runtime(store) as runtime:
        call = runtime.guard(pay, scope="order-1")
        with pytest.raises(CallFailed) as caught:
            await call()
        assert caught.value.content == '{"paid":false}'
        assert await call() == {"paid": True}


# ---------------------------------------------------------------- failures


async def test_wrong_arguments_are_told_before_anything_is_stored(store: MemoryStore) -> None:
    bank = Bank(kind="keyed")
    async with Runtime(store) as runtime:
        pay = runtime.guard(bank.pay, scope="order-1")
        with pytest.raises(InvalidArgument) as caught:
            await pay("o-1", cents="many")
        assert caught.value.fields == ("cents",)
        with pytest.raises(InvalidArgument):
            await pay()
        with pytest.raises(InvalidArgument):
            await pay("o-1", key="mine")
        with pytest.raises(UsageError, match="currency"):
            await pay("o-1", currency="EUR")
        with pytest.raises(SessionUnknown):
            await store.head("order-1")


@pytest.mark.parametrize(
    "error",
    [
        InvalidArgument("no such order", fields=("order",)),
        BusinessRejected("the card is blocked"),
    ],
)
async def test_what_the_caller_can_mend_is_raised_and_may_be_called_again(
    store: MemoryStore, error: InvalidArgument | BusinessRejected
) -> None:
    bank = Bank(error)
    async with Runtime(store) as runtime:
        pay = runtime.guard(bank.pay, scope="order-1")
        with pytest.raises(type(error), match=error.message) as caught:
            await pay("o-1")
        assert (caught.value.fields, caught.value.may_have_executed) == (error.fields, "no")
        assert await runtime.session("order-1").outcome() == Completed("")
        assert await pay("o-1") == DONE
    assert bank.booked == ["o-1"]


async def test_what_a_person_has_to_mend_comes_with_its_dossier(store: MemoryStore) -> None:
    bank = Bank(PermissionDenied("the key has expired"))
    async with Runtime(store) as runtime:
        pay = runtime.guard(bank.pay, scope="order-1")
        with pytest.raises(HandedOverError, match="the key has expired") as caught:
            await pay("o-1")
        assert (caught.value.reason, caught.value.error_class) == (
            "permission",
            "permission_denied",
        )
        assert caught.value.dossier.failed_step == "call 2.0 pay"
        outcome = await runtime.session("order-1").outcome()
        assert isinstance(outcome, HandedOver) and outcome.dossier == caught.value.dossier
        assert await pay("o-1") == DONE
        assert await runtime.session("order-1").outcome() == Completed("")


async def test_passing_failures_are_waited_out_by_the_policy(store: MemoryStore) -> None:
    down = TransientError("busy")
    bank = Bank(down, down)
    async with Runtime(store) as runtime:
        found = await runtime.guard(bank.pay, scope="order-1").detailed("o-1")
        assert (found.value, found.attempts, found.replayed) == (DONE, 3, False)
        bank.faults += [down] * 4
        with pytest.raises(HandedOverError) as caught:
            await runtime.guard(bank.pay, scope="order-2")("o-1")
        assert caught.value.error_class == "transient"
        assert await runtime.guard(bank.pay, scope="order-2")("o-1") == DONE


async def test_a_long_wait_is_parked_and_the_caller_waits_on(store: MemoryStore) -> None:
    bank = Bank(TransientError("closed for the night", retry_after=100.0))
    async with Runtime(store) as runtime:
        started = anyio.current_time()
        found = await within(runtime.guard(bank.pay, scope="order-1").detailed("o-1"))
        assert (found.value, found.attempts) == (DONE, 2)
        assert anyio.current_time() - started >= 100


async def test_a_budget_holds_for_the_whole_scope(store: MemoryStore) -> None:
    bank = Bank()
    async with Runtime(store, groups={"shop": Budget.only(tool_calls=3)}) as runtime:
        pay = runtime.guard(bank.pay, scope="order-1", budget=Budget(tool_calls=2), group="shop")
        await pay("o-1")
        await pay("o-2")
        with pytest.raises(HandedOverError, match="tool_calls") as caught:
            await pay("o-3")
        assert caught.value.reason == "budget"
        assert await pay("o-1") == DONE  # what is recorded costs nothing
        other = runtime.guard(bank.pay, scope="order-2", group="shop")
        await other("o-4")
        with pytest.raises(HandedOverError, match="shop"):
            await other("o-5")
    assert bank.booked == ["o-1", "o-2", "o-4"]


# ---------------------------------------------------------------- in doubt


async def doubtful(runtime: Runtime, bank: Bank, scope: str = "order-1") -> InDoubt:
    with pytest.raises(InDoubt) as caught:
        await runtime.guard(bank.pay, scope=scope)("o-1")
    return caught.value


async def test_a_call_in_doubt_is_not_run_again_and_a_person_is_asked(store: MemoryStore) -> None:
    bank = Bank(60.0)
    async with Runtime(store) as runtime:
        for _ in range(2):
            doubt = await doubtful(runtime, bank)
            assert (doubt.scope, doubt.call) == ("order-1", (2, 0))
            assert doubt.dossier is not None and doubt.dossier.in_doubt[0].tool == "pay"
        assert (await runtime.session("order-1").inspect()).questions
        assert [each.status for each in await runtime.sessions(agent="guard")] == ["handed_over"]
    async with Runtime(store) as runtime:
        await doubtful(runtime, bank)
    assert bank.attempts == 1


@pytest.mark.parametrize("restart", [False, True])
@pytest.mark.parametrize("option", ["done", "not_done", "retry", "abandon"])
async def test_the_call_ends_as_a_person_has_decided(
    store: MemoryStore, option: str, restart: bool
) -> None:
    bank = Bank(60.0)
    async with Runtime(store) as runtime:
        await doubtful(runtime, bank)
        if not restart:
            await self_resolved(runtime, bank, option)
    if restart:
        async with Runtime(store) as runtime:
            await self_resolved(runtime, bank, option)


async def self_resolved(runtime: Runtime, bank: Bank, option: str) -> None:
    pay = runtime.guard(bank.pay, scope="order-1")
    result = "as the bank says" if option == "done" else None
    await runtime.session("order-1").resolve(option, result=result)
    if option == "abandon":
        for _ in range(2):
            with pytest.raises(Denied, match="leaves it"):
                await within(pay("o-1"))
        assert bank.attempts == 1
        return
    found = await within(pay.detailed("o-1"))
    assert found.value == ("as the bank says" if option == "done" else DONE)
    assert found.by == {"done": "person", "not_done": "", "retry": "again"}[option]
    assert found.replayed == (option != "not_done")
    assert bank.attempts == (1 if option == "done" else 2)


async def test_other_calls_go_on_beside_a_doubt_which_stays_with_its_person(
    store: MemoryStore,
) -> None:
    bank = Bank(60.0)
    async with Runtime(store) as runtime:
        await doubtful(runtime, bank)
        assert await runtime.guard(bank.pay, scope="order-1")("o-2") == "o-2: 100 cents"
        outcome = await runtime.session("order-1").outcome()
        assert isinstance(outcome, HandedOver) and outcome.reason == "in_doubt"
        bank.faults.append(BusinessRejected("closed"))
        with pytest.raises(BusinessRejected):
            await runtime.guard(bank.pay, scope="order-1")("o-3")
        await runtime.session("order-1").resolve("done", result="yes")
        assert await within(runtime.session("order-1").outcome()) == Completed("")


async def test_a_key_or_a_probe_settles_it_without_a_person(store: MemoryStore) -> None:
    async with Runtime(store) as runtime:
        keyed = Bank(60.0, kind="keyed")
        assert await within(runtime.guard(keyed.pay, scope="order-1")("o-1")) == DONE
        assert keyed.booked == ["o-1"] and keyed.attempts == 2 and len(set(keyed.keys)) == 1
    async with Runtime(store) as runtime:
        probed = Bank(60.0, kind="probed")
        found = await within(runtime.guard(probed.pay, scope="order-2").detailed("o-1"))
        assert (found.value, found.by, found.replayed) == (DONE, "probe", True)
        assert probed.attempts == 1


# ---------------------------------------------------------------- approvals


async def asked_for(runtime: Runtime) -> ApprovalRequest:
    async def is_asked() -> bool:
        return bool(await runtime.approvals(agent="guard"))

    await until(is_asked)
    (request,) = await runtime.approvals(agent="guard")
    return request


@pytest.mark.parametrize("restart", [False, True])
@pytest.mark.parametrize("verdict", ["approve", "edit", "deny"])
async def test_a_dangerous_call_waits_for_a_person(
    store: MemoryStore, verdict: str, restart: bool
) -> None:
    bank = Bank(kind="dangerous")
    if restart:
        async with Runtime(store) as runtime:
            with anyio.move_on_after(10.0):
                await runtime.guard(bank.pay, scope="order-1")("o-1")
        assert not bank.attempts
    async with Runtime(store) as runtime:
        pay = runtime.guard(bank.pay, scope="order-1")

        async def decide() -> None:
            request = await asked_for(runtime)
            assert (request.session_id, request.tool, request.category) == (
                "order-1",
                "pay",
                "money",
            )
            args = {"order": "o-1", "cents": 50} if verdict == "edit" else None
            await runtime.decide(request, "deny" if verdict == "deny" else "approve", args=args)

        async with anyio.create_task_group() as group:
            group.start_soon(decide)
            await _as_decided(pay, verdict)
        await _as_decided(pay, verdict)
    assert bank.attempts == (verdict != "deny")


async def _as_decided(pay: Guarded[Any], verdict: str) -> None:
    if verdict == "deny":
        with pytest.raises(Denied, match=r"pay \(scope order-1, call 2\.0\): denied"):
            await within(pay("o-1"))
    else:
        cents = 50 if verdict == "edit" else 100
        assert await within(pay("o-1")) == f"o-1: {cents} cents"


async def test_a_decision_given_while_nobody_calls_is_found_by_the_next_call(
    store: MemoryStore,
) -> None:
    bank = Bank(kind="dangerous")
    async with Runtime(store) as runtime:
        with anyio.move_on_after(10.0):
            await runtime.guard(bank.pay, scope="order-1")("o-1")
        await runtime.decide(await asked_for(runtime), "approve")
        await anyio.sleep(5.0)
        assert bank.booked == ["o-1"]
        assert (await runtime.guard(bank.pay, scope="order-1").detailed("o-1")).replayed


@pytest.mark.parametrize("on_denied", ["conclude", "stop"])
async def test_what_a_rule_denies_is_denied_at_once(
    store: MemoryStore, on_denied: Literal["conclude", "stop"]
) -> None:
    bank = Bank(kind="dangerous")
    rule = DangerRule(category="money", then="deny")
    rules = Policy(danger=DangerPolicy(rules=(rule,), on_denied=on_denied))
    async with Runtime(store, policy=rules) as runtime:
        with pytest.raises(Denied):
            await within(runtime.guard(bank.pay, scope="order-1")("o-1"), 5.0)
    assert not bank.attempts


# ---------------------------------------------------------------- cancelled


async def test_a_cancelled_caller_leaves_at_once_and_the_call_goes_on(store: MemoryStore) -> None:
    bank = Bank(3.0)
    async with Runtime(store) as runtime:
        pay = runtime.guard(bank.pay, scope="order-1")
        started = anyio.current_time()
        with anyio.move_on_after(1.0) as scope:
            await pay("o-1")
        assert scope.cancelled_caught and anyio.current_time() - started == pytest.approx(1.0)
        assert await pay("o-1") == DONE
    assert bank.attempts == 1


async def test_a_cancelled_scope_says_so(store: MemoryStore) -> None:
    bank = Bank(TransientError("busy"), 3.0)
    errors: list[Exception] = []
    async with Runtime(store) as runtime:
        pay = runtime.guard(bank.pay, scope="order-1")

        async def ask() -> None:
            try:
                await pay("o-1")
            except (CallStopped, InDoubt) as error:
                errors.append(error)

        async with anyio.create_task_group() as group:
            group.start_soon(ask)
            await anyio.sleep(0.1)  # it waits for its second attempt
            await runtime.session("order-1").cancel()
        async with anyio.create_task_group() as group:
            group.start_soon(ask)
            await anyio.sleep(0.1)  # its body is running
            await runtime.session("order-1").cancel()
    assert [type(each) for each in errors] == [CallStopped, InDoubt]


# ---------------------------------------------------------------- whose scope it is


async def test_names_that_cannot_be_are_refused(store: MemoryStore) -> None:
    bank, other = Bank(), Bank()
    outside = Runtime("memory:")
    with pytest.raises(UsageError, match="async with"):
        outside.guard(bank.pay, scope="order-1")
    with pytest.raises(UsageError, match="guarded calls"):
        Runtime("memory:", agents=[agent(["hi"], name="guard")])
    buyer = agent(["hi"], name="buyer")
    known = {"shop": Budget.only(tool_calls=3)}
    async with Runtime(
        store, agents=[buyer], secrets={"token": "t0p-s3cret"}, groups=known
    ) as runtime:
        await (await runtime.start("buyer", "go", session_id="s-1")).outcome()
        with pytest.raises(UsageError, match="session of agent 'buyer'"):
            await runtime.guard(bank.pay, scope="s-1")("o-1")
        with pytest.raises(UsageError, match="two tools are called 'pay'"):
            runtime.guard(other.pay, scope="order-1")
        with pytest.raises(UsageError, match="scope='a b'"):
            runtime.guard(bank.pay, scope="a b")
        with pytest.raises(UsageError, match="give scope="):
            runtime.guard(bank.pay)  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]
        with pytest.raises(UsageError, match="call_id"):
            runtime.guard(bank.pay, scope="order-1", call_id="x" * 300)
        with pytest.raises(UsageError, match="group"):
            runtime.guard(bank.pay, scope="order-1", group="unknown")
        with pytest.raises(UsageError, match="secret"):
            await runtime.guard(bank.pay, scope="order-1")("t0p-s3cret")
    assert not bank.attempts


async def test_secrets_are_filled_in_and_shown_to_nobody(store: MemoryStore) -> None:
    seen: list[str] = []

    @tool(secrets=["token"])
    async def pay(order: str, *, token: str) -> str:
        seen.append(token)
        return f"paid with {token}"

    async with Runtime(store, secrets={"token": "t0p-s3cret"}) as runtime:
        assert "t0p-s3cret" not in await runtime.guard(pay, scope="order-1")("o-1")
    assert seen == ["t0p-s3cret"]
    assert "t0p-s3cret" not in repr(await _entries(store, "order-1"))


async def _entries(store: MemoryStore, scope: str) -> list[JournalEntry]:
    async with opened(store):
        return await journal(store, scope)


async def test_a_scope_that_another_runtime_drives_is_left_to_it(store: MemoryStore) -> None:
    bank = Bank(3.0)
    async with Runtime(store) as mine, Runtime(store) as other, anyio.create_task_group() as group:
        group.start_soon(mine.guard(bank.pay, scope="order-1"), "o-1")
        await anyio.sleep(1.0)
        for order in ("o-1", "o-2"):
            with pytest.raises(SessionOwned):
                await other.guard(bank.pay, scope="order-1")(order)
        await anyio.sleep(3.0)
        assert await other.guard(bank.pay, scope="order-1")("o-1") == DONE
        assert await other.guard(bank.pay, scope="order-1")("o-2") == "o-2: 100 cents"
    assert bank.booked == ["o-1", "o-2"]


async def test_two_runtimes_that_call_at_once_run_it_once(store: MemoryStore) -> None:
    bank, found = Bank(), list[str]()

    async def ask(runtime: Runtime) -> None:
        while True:
            try:
                found.append(await runtime.guard(bank.pay, scope="order-1")("o-1"))
            except SessionOwned:
                await anyio.sleep(0.01)
            else:
                return

    async with Runtime(store) as mine, Runtime(store) as other, anyio.create_task_group() as group:
        for _ in range(10):
            group.start_soon(ask, mine)
            group.start_soon(ask, other)
    assert found == [DONE] * 20 and bank.attempts == 1


async def test_a_long_scope_keeps_what_was_done_in_it(store: MemoryStore) -> None:
    bank = Bank()
    async with Runtime(store) as runtime:
        pay = runtime.guard(bank.pay, scope="order-1")
        for i in range(80):
            await pay(f"o-{i}")
        assert (await pay.detailed("o-0")).replayed
    assert bank.attempts == 80


# ---------------------------------------------------------------- after a crash


async def left_behind(store: MemoryStore, *more: JournalEntry) -> None:
    """Put a scope into the store as a process leaves it that was killed in its first call."""
    asked = ToolCall("", "pay", '{"order":"o-1"}')
    begun: list[JournalEntry] = [
        Opened("guard", 1, on_failure="freeze"),
        Said(1, "pay"),
        Answered(2, calls=(asked,), ledger=True),
    ]
    async with opened(store):
        await put_history(store, "order-1", [begun, *([each] for each in more)], agent="guard")


async def test_what_a_killed_process_left_goes_on_where_its_tool_is_declared(
    store: MemoryStore,
) -> None:
    bank = Bank()
    await left_behind(store)
    async with Runtime(store, guarded=[bank.pay]) as runtime:
        assert await within(runtime.session("order-1").outcome()) == Completed("")
        assert bank.booked == ["o-1"]
        assert await runtime.guard(bank.pay, scope="order-1")("o-1") == DONE
    assert bank.attempts == 1


async def test_what_a_killed_process_left_waits_for_its_tool(store: MemoryStore) -> None:
    bank = Bank()
    await left_behind(store)
    async with Runtime(store) as runtime:
        assert any("'pay' is not guarded here" in each for each in runtime.alerts)
        assert (await store.head("order-1")).status == "running"
        assert await runtime.guard(bank.pay, scope="order-1")("o-1") == DONE
    assert bank.booked == ["o-1"]


async def test_a_guard_for_another_scope_is_enough_to_go_on(store: MemoryStore) -> None:
    bank = Bank()
    await left_behind(store)
    async with Runtime(store, lease_s=3.0) as runtime:
        runtime.guard(bank.pay, scope="order-2")
        await anyio.sleep(5.0)
        assert (await store.head("order-1")).status == "completed"
    assert bank.booked == ["o-1"]


async def test_a_decision_waits_for_the_tool_it_needs(store: MemoryStore) -> None:
    bank = Bank(60.0)
    async with Runtime(store) as runtime:
        await doubtful(runtime, bank)
    async with Runtime(store) as runtime:
        # As the command line gives it: there is no such tool in this process yet.
        await runtime.session("order-1").resolve("retry")
        await anyio.sleep(5.0)
        assert bank.attempts == 1
        found = await within(runtime.guard(bank.pay, scope="order-1").detailed("o-1"))
        assert (found.value, found.by) == (DONE, "again")
    assert bank.attempts == 2


async def test_a_decision_that_is_being_applied_is_waited_for(store: MemoryStore) -> None:
    bank = Bank(60.0)
    async with Runtime(store) as runtime:
        await doubtful(runtime, bank)
    async with Runtime(store) as runtime:
        await runtime.session("order-1").resolve("done", result="by hand")
    # Entering takes it up beside everything else, and the call comes before that is done.
    async with Runtime(store, guarded=[bank.pay]) as runtime:
        assert await runtime.guard(bank.pay, scope="order-1")("o-1") == "by hand"
    assert bank.attempts == 1


@pytest.mark.parametrize("booked", [False, True], ids=["before the effect", "after the effect"])
@pytest.mark.parametrize("kind", ["plain", "keyed", "probed", "safe", "read"])
async def test_killed_between_any_two_entries_it_runs_once_or_is_in_doubt(
    kind: str, booked: bool
) -> None:
    """Every prefix of a whole run's journal, with and without the effect where it may be there."""
    whole = MemoryStore(secrets.token_hex(8))
    model = Bank(kind=kind)
    async with Runtime(whole) as runtime:
        await runtime.guard(model.pay, scope="order-1")("o-1")
    entries = await _entries(whole, "order-1")
    for kept in range(3, len(entries) + 1):
        await _from_prefix(entries[:kept], kind, booked=booked)


async def _from_prefix(entries: list[JournalEntry], kind: str, *, booked: bool) -> None:
    store, bank = MemoryStore(secrets.token_hex(8)), Bank(kind=kind)
    intent = next((each for each in entries if isinstance(each, Intended)), None)
    has_result = any(type(each).__name__ == "Resulted" for each in entries)
    if has_result or (booked and intent is not None):
        await bank.book("o-1", 100, (intent.key if intent else None) or "")
    ended = type(entries[-1]).__name__ == "Ended"
    rows = [entries[:3], *([each] for each in entries[3:])]
    async with opened(store):
        await put_history(
            store, "order-1", rows, agent="guard", status="completed" if ended else "running"
        )
    in_doubt = kind == "plain" and intent is not None and not has_result
    before = bank.attempts
    async with Runtime(store) as runtime:
        pay = runtime.guard(bank.pay, scope="order-1")
        for _ in range(2):
            if in_doubt:
                with pytest.raises(InDoubt):
                    await within(pay("o-1"))
            else:
                assert await within(pay("o-1")) == DONE
    may_repeat = kind in ("safe", "read")
    assert may_repeat or len(bank.booked) == (1 if booked or not in_doubt else 0)
    if has_result and kind != "read":
        assert bank.attempts == before

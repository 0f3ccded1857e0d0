"""People decide what a machine must not: asked before the call, bound to its arguments, used once."""

import json
import secrets
from collections.abc import Sequence
from typing import Any

import anyio
import pytest
from sessions import LoopClock, agent, ended, journal, opened, requests, results, run_one, until

from ukemi import (
    AlreadyDecided,
    ApprovalRequest,
    Budget,
    Completed,
    HandedOver,
    Policy,
    RequestClosed,
    Runtime,
    Stopped,
    TransientError,
    UsageError,
    tool,
)
from ukemi.actors import (
    ApprovalDecided,
    ApprovalRequested,
    Event,
    SessionParked,
    ToolMessage,
)
from ukemi.actors.approvals.approvals import request_name, request_named
from ukemi.actors.keeper import ASK_S, TELL_EVERY_S
from ukemi.actors.pruning.summaries import facts_of
from ukemi.actors.state import SessionState
from ukemi.actors.tooling.tools import AnyTool
from ukemi.models import Reply, Script, call
from ukemi.stores.memory import MemoryStore
from ukemi.stores.records import Answered, Decided, Intended, Judged, Requested
from ukemi.supervisor.danger.policy import DangerPolicy, DangerRule
from ukemi.supervisor.policy_failures import RetryPolicy

PAY: list[Reply] = [call("pay", to="ann", amount=3), "Paid."]
PAY_AGAIN: Script = [PAY[0], call("pay", amount=3, to="ann"), "Paid twice."]


def _account(to: str, amount: int = 1) -> str:
    return f"account {to}"


class Bank:
    """Tools whose bodies count: paying needs a person, looking does not."""

    def __init__(self, **marks: Any) -> None:
        self.paid: list[tuple[str, int]] = []
        self.looked = 0
        self.failures = 0
        marks.setdefault("danger", "money")
        marks.setdefault("resource", _account)

        @tool(**marks)
        async def pay(to: str, amount: int = 1) -> str:
            """Pay somebody."""
            if self.failures:
                self.failures -= 1
                raise TransientError("the bank is busy")
            self.paid.append((to, amount))
            return f"paid {amount}"

        @tool(effect="read")
        async def look(at: str) -> str:
            """Look at something."""
            self.looked += 1
            return f"{at} looks fine"

        @tool(resource=_account)
        async def close(to: str) -> str:
            """Close an account."""
            self.paid.append((to, 0))
            return "closed"

        self.tools: list[AnyTool] = [pay, look, close]


class Place:
    """A store that outlives its runtimes, with one agent."""

    def __init__(self, bank: Bank, script: Script = PAY, policy: Policy | None = None) -> None:
        self.name = f"memory:{secrets.token_hex(8)}"
        self.bank, self.of = bank, agent(script, bank.tools)
        self.policy = policy

    def runtime(self, **options: Any) -> Runtime:
        return Runtime(
            self.name, agents=[self.of], policy=self.policy, clock=LoopClock(), **options
        )

    async def entries(self, kind: type, session_id: str = "one") -> list[Any]:
        async with opened(MemoryStore(self.name.removeprefix("memory:"))) as store:
            return [each for each in await journal(store, session_id) if isinstance(each, kind)]

    def told(self) -> list[ToolMessage]:
        """Return the results that the model has seen."""
        return results(list(requests(self.of)[-1].messages))


def danger(*rules: DangerRule, **options: Any) -> Policy:
    return Policy(danger=DangerPolicy(rules=rules, **options))


async def asked(runtime: Runtime, count: int = 1) -> list[ApprovalRequest]:
    """Return what people are asked, once that many requests are open and their sessions parked."""

    async def there() -> bool:
        parked = await runtime.sessions(status="parked")
        return sum(len(each.facts.requests) for each in parked) == count

    await until(there, 60.0, 0.05)
    return await runtime.approvals()


# ---------------------------------------------------------------- asked, and decided


async def test_a_call_waits_parked_until_a_person_approves_it() -> None:
    place = Place(Bank())
    seen: list[Event] = []
    async with place.runtime() as runtime:
        session = await runtime.start("agent", "pay ann", session_id="one")

        async def watch() -> None:
            seen.extend([event async for event in session.events()])

        found: list[ApprovalRequest] = []
        async with anyio.create_task_group() as group:
            group.start_soon(watch)
            found += await asked(runtime)
            assert place.bank.paid == []
            assert runtime.tree().children[-1].children == ()  # no task
            await runtime.decide(found[0], "approve", by="eve")
            assert await ended(runtime, "one") == Completed("Paid.")
        assert await runtime.approvals() == []
    assert place.bank.paid == [("ann", 3)]
    (request,) = found
    assert (request.tool, request.category, request.agent) == ("pay", "money", "agent")
    assert json.loads(request.arguments) == {"to": "ann", "amount": 3}
    assert request.title == "pay ann" and "money" in request.risk and "money" in request.rule
    kinds = [type(each) for each in seen]
    order = [ApprovalRequested, SessionParked, ApprovalDecided]
    assert [kind for kind in kinds if kind in order] == order
    (decision,) = [each for each in seen if isinstance(each, ApprovalDecided)]
    assert (decision.verdict, decision.by, decision.edited) == ("approved", "eve", False)


async def test_what_was_decided_is_in_the_journal_with_digest_person_and_time() -> None:
    place = Place(Bank())
    async with place.runtime() as runtime:
        await runtime.start("agent", "pay", session_id="one")
        (request,) = await asked(runtime)
        await runtime.decide(request, "approve", by="eve")
        await ended(runtime, "one")
    (question,) = await place.entries(Requested)
    (decided,) = await place.entries(Decided)
    (judged,) = await place.entries(Judged)
    (intent,) = await place.entries(Intended)
    assert question.digest == request.digest == judged.digest == intent.digest
    assert (decided.by, decided.at_ms) == (judged.by, judged.at_ms) == ("eve", judged.at_ms)
    assert judged.at_ms > question.at_ms


async def test_a_denied_call_gets_one_result_and_its_resource_is_closed() -> None:
    script: Script = [
        *(PAY[0], call("close", to="ann"), call("look", at="ann"), call("close", to="bob")),
        "blocked: paying was denied",
    ]
    place = Place(Bank(), script)
    async with place.runtime() as runtime:
        await runtime.start("agent", "pay", session_id="one")
        await runtime.decide((await asked(runtime))[0], "deny", why="too much", by="eve")
        outcome = await ended(runtime, "one")
    assert isinstance(outcome, HandedOver) and outcome.reason == "approval"
    assert outcome.detail == "blocked: paying was denied"
    assert place.bank.paid == [("bob", 0)] and place.bank.looked == 1
    denial, closed, read, other = place.told()
    assert denial.is_error and "eve has denied this call: too much" in denial.content
    assert closed.is_error and "account ann" in closed.content
    assert not read.is_error and not other.is_error


async def test_an_equal_call_after_a_denial_is_refused_and_nobody_is_asked_again() -> None:
    place = Place(Bank(resource=None), PAY_AGAIN)
    async with place.runtime() as runtime:
        await runtime.start("agent", "pay", session_id="one")
        await runtime.decide((await asked(runtime))[0], "deny")
        await ended(runtime, "one")
    assert place.bank.paid == [] and len(await place.entries(Requested)) == 1


async def test_an_equal_call_after_an_approved_one_asks_anew() -> None:
    """Used once: what was approved was that call."""
    place = Place(Bank(), PAY_AGAIN)
    async with place.runtime() as runtime:
        await runtime.start("agent", "pay", session_id="one")
        await runtime.decide((await asked(runtime))[0], "approve")
        (second,) = await asked(runtime)
        assert place.bank.paid == [("ann", 3)]
        await runtime.decide(second, "deny")
        await ended(runtime, "one")
    assert place.bank.paid == [("ann", 3)]
    first, second_asked = await place.entries(Requested)
    assert first.digest == second_asked.digest


async def test_retries_of_the_call_are_the_same_use() -> None:
    place = Place(
        Bank(safe_to_retry=True),
        policy=Policy(
            transient=RetryPolicy(delay_s_first=100.0, delay_s_max=100.0, time_budget_s=None)
        ),
    )
    place.bank.failures = 2
    async with place.runtime() as runtime:
        await runtime.start("agent", "pay", session_id="one")
        await runtime.decide((await asked(runtime))[0], "approve")
        assert await ended(runtime, "one") == Completed("Paid.")
    assert len(await place.entries(Requested)) == 1
    assert place.bank.paid == [("ann", 3)]


async def test_waiting_for_a_person_does_not_count() -> None:
    place = Place(Bank())
    async with place.runtime() as runtime:
        await runtime.start("agent", "pay", session_id="one", budget=Budget(seconds=30.0))
        (request,) = await asked(runtime)
        await anyio.sleep(300.0)
        await runtime.decide(request, "approve")
        assert await ended(runtime, "one") == Completed("Paid.")
        assert (await runtime.session("one").inspect()).spent.seconds < 1.0


# ---------------------------------------------------------------- rules


async def test_a_rule_that_denies_needs_nobody() -> None:
    rule = DangerRule(tool="pay", when={"amount": "> 2"}, then="deny")
    place = Place(Bank(), policy=danger(rule))
    async with place.runtime() as runtime:
        outcome = await run_one(runtime, place.of, session_id="one")
    assert isinstance(outcome, HandedOver) and outcome.reason == "blocked"
    assert place.bank.paid == [] and await place.entries(Requested) == []
    (denial,) = place.told()
    assert "the policy does not allow this call" in denial.content


async def test_a_rule_that_allows_needs_nobody_and_sees_defaults() -> None:
    rule = DangerRule(tool="pay", when={"amount": "<= 1"}, then="allow")
    place = Place(Bank(), [call("pay", to="ann"), "Paid."], danger(rule))
    async with place.runtime() as runtime:
        assert await run_one(runtime, place.of) == Completed("Paid.")
    assert place.bank.paid == [("ann", 1)]


@pytest.mark.parametrize("by", ["rule", "person", "time"])
async def test_on_denied_stop_ends_the_session(by: str) -> None:
    rules = [DangerRule(tool="pay", then="deny")] if by == "rule" else []
    place = Place(Bank(), policy=danger(*rules, on_denied="stop", expires_s=60.0))
    async with place.runtime() as runtime:
        await runtime.start("agent", "pay", session_id="one")
        if by == "person":
            await runtime.decide((await asked(runtime))[0], "deny")
        assert await ended(runtime, "one") == Stopped("denied")
        assert len(requests(place.of)) == 1
        await runtime.session("one").send("then just say so")
        assert isinstance(await ended(runtime, "one"), Completed)
    assert place.bank.paid == []


async def test_a_rule_that_came_meanwhile_denies_what_was_approved() -> None:
    place = Place(Bank())
    async with place.runtime() as runtime:
        await runtime.start("agent", "pay", session_id="one")
        (request,) = await asked(runtime)
        runtime.reload_policy(danger(DangerRule(tool="pay", then="deny")))
        await runtime.decide(request, "approve")
        assert isinstance(await ended(runtime, "one"), HandedOver)
    assert place.bank.paid == []


async def test_a_tool_whose_defaults_changed_asks_again() -> None:
    """The digest is compared right before the call: what was approved is not what would run."""
    place = Place(Bank(), [call("pay", to="ann"), "Paid."])
    async with place.runtime() as runtime:
        await runtime.start("agent", "pay", session_id="one")
        (first,) = await asked(runtime)
    other = Bank()

    @tool(danger="money")
    async def pay(to: str, amount: int = 1000) -> str:
        other.paid.append((to, amount))
        return "paid"

    place.of = agent([call("pay", to="ann"), "Paid."], [pay])
    async with place.runtime() as runtime:
        await runtime.decide(first, "approve")

        async def again() -> bool:
            return [each.request for each in await runtime.approvals()] == ["one:2.0.2"]

        await until(again, 60.0, 0.05)
        assert other.paid == []
        await runtime.decide("one", "approve")
        assert await ended(runtime, "one") == Completed("Paid.")
    assert other.paid == [("ann", 1000)]


# ---------------------------------------------------------------- edits


async def test_an_edit_is_a_new_digest_and_the_model_is_told() -> None:
    place = Place(Bank())
    async with place.runtime() as runtime:
        await runtime.start("agent", "pay", session_id="one")
        (request,) = await asked(runtime)
        await runtime.decide(request, "approve", args={"to": "ann", "amount": 2}, by="eve")
        assert isinstance(await ended(runtime, "one"), Completed | HandedOver)
        (effect,) = await runtime.session("one").effects()
    assert place.bank.paid == [("ann", 2)]
    assert json.loads(effect.arguments) == {"to": "ann", "amount": 2}
    (judged,) = await place.entries(Judged)
    (intent,) = await place.entries(Intended)
    assert judged.digest == intent.digest != request.digest
    (told,) = place.told()
    assert "run with other arguments, as eve decided" in told.content


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ({"to": "ann", "amount": "many"}, "amount"),
        ({"to": "ann", "amount": 3, "bcc": "x"}, "bcc"),
        ({"to": "ann", "amount": 5000}, "must not run"),
    ],
    ids=["wrong type", "unknown argument", "denied by a rule"],
)
async def test_an_edit_that_cannot_run_is_refused_and_the_request_stays(
    args: dict[str, Any], message: str
) -> None:
    rule = DangerRule(tool="pay", when={"amount": "> 1000"}, then="deny")
    place = Place(Bank(), policy=danger(rule))
    async with place.runtime() as runtime:
        await runtime.start("agent", "pay", session_id="one")
        (request,) = await asked(runtime)
        with pytest.raises(UsageError, match=message):
            await runtime.decide(request, "approve", args=args)
        (still,) = await asked(runtime)
        assert still == request
        await runtime.decide(still, "approve")
        assert await ended(runtime, "one") == Completed("Paid.")
    assert place.bank.paid == [("ann", 3)]


async def test_an_edited_call_keeps_its_arguments_over_a_retry_and_a_restart() -> None:
    place = Place(
        Bank(safe_to_retry=True),
        policy=Policy(
            transient=RetryPolicy(delay_s_first=100.0, delay_s_max=100.0, time_budget_s=None)
        ),
    )
    place.bank.failures = 1
    async with place.runtime() as runtime:
        await runtime.start("agent", "pay", session_id="one")
        await runtime.decide((await asked(runtime))[0], "approve", args={"to": "bob", "amount": 1})
        await until(lambda: place.bank.failures == 0, 60.0, 0.05)
    async with place.runtime() as runtime:
        await ended(runtime, "one")
    assert place.bank.paid == [("bob", 1)]


async def test_what_a_person_has_run_again_is_held_against_the_rules_too() -> None:
    """A doubt is settled by running the call once more: that is an approval, but no rule yields."""
    rules = (
        DangerRule(tool="pay", when={"amount": "<= 10"}, then="allow"),
        DangerRule(tool="pay", when={"amount": "> 1000"}, then="deny"),
    )
    bank = Bank()

    @tool(danger="money", timeout_s=1.0)
    async def pay(to: str, amount: int) -> str:
        bank.paid.append((to, amount))
        await anyio.sleep(5.0 if amount == 3 else 0.0)
        return "paid"

    place = Place(bank, policy=danger(*rules))
    place.of = agent(PAY, [pay])
    async with place.runtime() as runtime:
        outcome = await run_one(runtime, place.of, session_id="one")
        assert isinstance(outcome, HandedOver) and outcome.reason == "in_doubt"
        session = runtime.session("one")
        with pytest.raises(UsageError, match="must not run"):
            await session.resolve("retry", args={"to": "ann", "amount": 5000})
        await session.resolve("retry", args={"to": "ann", "amount": 500})
        assert isinstance(await ended(runtime, "one"), Completed)
    assert bank.paid == [("ann", 3), ("ann", 500)]


# ---------------------------------------------------------------- time


async def test_a_request_that_nobody_decides_counts_as_denied() -> None:
    place = Place(Bank(), policy=danger(expires_s=100.0))
    async with place.runtime() as runtime:
        await runtime.start("agent", "pay", session_id="one")
        (request,) = await asked(runtime)
        outcome = await ended(runtime, "one")
        assert isinstance(outcome, HandedOver) and outcome.reason == "approval"
        with pytest.raises(RequestClosed):
            await runtime.decide(request, "approve")
    (judged,) = await place.entries(Judged)
    assert judged.verdict == "expired" and judged.at_ms >= (request.expires_at_ms or 0)
    assert "did not answer in time (expired)" in place.told()[0].content
    assert place.bank.paid == []


async def test_without_an_expiry_it_waits_for_as_long_as_it_takes() -> None:
    place = Place(Bank(), policy=danger(expires_s=None))
    async with place.runtime() as runtime:
        await runtime.start("agent", "pay", session_id="one")
        (request,) = await asked(runtime)
        assert request.expires_at_ms is None
        await anyio.sleep(300.0)
    async with place.runtime() as runtime:
        await anyio.sleep(300.0)
        await runtime.decide(request, "approve")
        assert await ended(runtime, "one") == Completed("Paid.")


async def test_an_answer_after_the_time_is_refused_though_nobody_closed_the_request() -> None:
    place = Place(Bank(), policy=danger(expires_s=100.0))
    async with place.runtime() as runtime:
        await runtime.start("agent", "pay", session_id="one")
        (request,) = await asked(runtime)
    await anyio.sleep(200.0)
    async with place.runtime(adopt=False) as runtime:
        with pytest.raises(RequestClosed, match="expired at"):
            await runtime.decide(request, "approve")
        assert place.bank.paid == []


async def test_an_answer_given_in_time_counts_though_it_arrives_late() -> None:
    """Given while no runtime lived, and found when its time was over."""
    place = Place(Bank(), policy=danger(expires_s=100.0))
    async with place.runtime() as runtime:
        await runtime.start("agent", "pay", session_id="one")
        (request,) = await asked(runtime)
    nobody = Runtime(place.name, agents=[], clock=LoopClock())
    async with nobody:
        await nobody.decide(request, "approve", by="eve")
    await anyio.sleep(200.0)
    async with place.runtime() as runtime:
        assert await ended(runtime, "one") == Completed("Paid.")
    assert place.bank.paid == [("ann", 3)]


# ---------------------------------------------------------------- several calls


async def test_calls_that_run_side_by_side_do_not_wait_for_a_person() -> None:
    message = [call("pay", to="ann", amount=1), call("look", at="a"), call("look", at="b")]
    place = Place(Bank(overlap=True), [message, "Done."])
    async with place.runtime() as runtime:
        await runtime.start("agent", "go", session_id="one")
        await asked(runtime)
        assert place.bank.looked == 2
        await runtime.decide("one", "approve")
        await ended(runtime, "one")
    assert place.bank.looked == 2 and place.bank.paid == [("ann", 1)]


async def test_a_call_after_one_that_waits_keeps_its_place() -> None:
    message = [call("pay", to="ann", amount=1), call("close", to="bob")]
    place = Place(Bank(), [message, "Done."])
    async with place.runtime() as runtime:
        await runtime.start("agent", "go", session_id="one")
        await asked(runtime)
        assert place.bank.paid == []
        await runtime.decide("one", "approve")
        await ended(runtime, "one")
    assert place.bank.paid == [("ann", 1), ("bob", 0)]


@pytest.mark.parametrize("order", [(0, 1), (1, 0)], ids=["first first", "last first"])
@pytest.mark.parametrize("overlap", [False, True], ids=["in order", "side by side"])
async def test_each_of_several_calls_has_its_own_request(
    order: Sequence[int], overlap: bool
) -> None:
    message = [call("pay", to="ann", amount=1), call("pay", to="bob", amount=2)]
    place = Place(Bank(overlap=overlap), [message, "Done."])
    async with place.runtime() as runtime:
        await runtime.start("agent", "go", session_id="one")
        found = await asked(runtime, 2)
        with pytest.raises(UsageError, match=r"one:2\.0, one:2\.1"):
            await runtime.decide("one", "approve")
        await runtime.decide(found[order[0]], "approve")
        ready = overlap or order[0] == 0
        await asked(runtime, 1)
        assert len(place.bank.paid) == ready
        await runtime.decide("one", "approve")
        assert isinstance(await ended(runtime, "one"), Completed)
    assert sorted(place.bank.paid) == [("ann", 1), ("bob", 2)]


# ---------------------------------------------------------------- decided once


async def test_a_second_decision_is_told_who_was_first_and_an_equal_one_is_no_error() -> None:
    place = Place(Bank())
    async with place.runtime() as runtime:
        await runtime.start("agent", "pay", session_id="one")
        (request,) = await asked(runtime)
        await runtime.decide(request, "approve", by="eve")
        await runtime.decide(request.request, "approve", by="sam")
        with pytest.raises(AlreadyDecided, match=r"by eve at .*: approve"):
            await runtime.decide(request, "deny", by="sam")
        await ended(runtime, "one")
        with pytest.raises(AlreadyDecided, match="by eve"):
            await runtime.decide(request, "deny", by="sam")
    assert len(await place.entries(Decided)) == 1


async def test_equal_arguments_typed_in_another_order_are_the_same_decision() -> None:
    place = Place(Bank())
    async with place.runtime() as runtime:
        await runtime.start("agent", "pay", session_id="one")
        (request,) = await asked(runtime)
        await runtime.decide(request, "approve", args={"to": "bob", "amount": 2})
        await runtime.decide(request, "approve", args={"amount": 2, "to": "bob"})
        with pytest.raises(AlreadyDecided):
            await runtime.decide(request, "approve", args={"amount": 3, "to": "bob"})
        with pytest.raises(AlreadyDecided):
            await runtime.decide(request, "approve", args={"amount": True, "to": "bob"})
        with pytest.raises(AlreadyDecided):
            await runtime.decide(request, "approve")
        await ended(runtime, "one")
    assert place.bank.paid == [("bob", 2)]


@pytest.mark.parametrize("name", ["one:9.9", "one:2.0.7", "one"], ids=["call", "number", "none"])
async def test_what_is_not_asked_cannot_be_decided(name: str) -> None:
    place = Place(Bank(), ["Nothing to do."])
    async with place.runtime() as runtime:
        await run_one(runtime, place.of, session_id="one")
        with pytest.raises(RequestClosed):
            await runtime.decide(name, "approve")
        with pytest.raises(UsageError, match="verdict"):
            await runtime.decide(name, "maybe")  # type: ignore[arg-type]
        with pytest.raises(UsageError, match="args="):
            await runtime.decide(name, "deny", args={})


async def test_a_session_that_is_cancelled_asks_nobody_any_more() -> None:
    place = Place(Bank())
    async with place.runtime() as runtime:
        await runtime.start("agent", "pay", session_id="one")
        (request,) = await asked(runtime)
        assert await runtime.session("one").cancel() == Stopped("cancelled")
        assert await runtime.approvals() == []
        with pytest.raises(RequestClosed):
            await runtime.decide(request, "approve")
    assert place.bank.paid == []


async def test_a_message_meanwhile_opens_nothing_and_is_not_lost() -> None:
    place = Place(Bank())
    async with place.runtime() as runtime:
        session = await runtime.start("agent", "pay", session_id="one")
        await asked(runtime)
        await session.send("and be quick")
        (request,) = await asked(runtime)
        assert place.bank.paid == []
        await runtime.decide(request, "approve")
        assert await ended(runtime, "one") == Completed("Paid.")
    assert any("be quick" in getattr(each, "text", "") for each in requests(place.of)[-1].messages)


async def test_inspect_lists_the_open_question_and_what_became_of_it() -> None:
    place = Place(Bank())
    async with place.runtime() as runtime:
        session = await runtime.start("agent", "pay", session_id="one")
        (request,) = await asked(runtime)
        found = await session.inspect()
        assert found.questions == (f"may pay (call 2.0) run? {request.risk}",)
        (fact,) = found.approvals
        assert (fact.request, fact.state) == (request.request, "open")


# ---------------------------------------------------------------- elsewhere


async def test_another_process_is_told_through_the_store() -> None:
    """One runtime drives the session, another one over the same store lists and decides."""
    place = Place(Bank())
    other = Runtime(place.name, agents=[], clock=LoopClock())
    async with place.runtime() as runtime, other:
        await runtime.start("agent", "pay", session_id="one")
        (request,) = await asked(other)
        await other.decide(request, "approve", by="eve")
        with anyio.fail_after(2 * ASK_S + 1.0):
            assert await ended(runtime, "one") == Completed("Paid.")


async def test_a_runtime_that_adopts_nothing_goes_on_with_its_own() -> None:
    place = Place(Bank(), policy=danger(expires_s=None))
    other = Runtime(place.name, agents=[], clock=LoopClock())
    async with place.runtime(adopt=False) as runtime, other:
        await runtime.start("agent", "pay", session_id="one")
        await other.decide((await asked(other))[0], "approve")
        assert await ended(runtime, "one") == Completed("Paid.")


async def test_a_sub_session_asks_too_and_its_wait_does_not_count_for_it() -> None:
    bank = Bank()
    inner = agent(PAY, bank.tools, name="inner")

    place = Place(bank)
    outer = agent([call("inner", task="pay"), "Delegated."], [inner.as_tool()], name="outer")
    async with Runtime(place.name, agents=[outer, inner], clock=LoopClock()) as runtime:
        await runtime.start("outer", "go", session_id="one", budget=Budget(seconds=None))

        async def there() -> bool:
            return len(await runtime.approvals()) == 1

        await until(there, 60.0, 0.05)
        (request,) = await runtime.approvals()
        assert request.agent == "inner"
        await anyio.sleep(500.0)
        await runtime.decide(request, "approve")
        assert await ended(runtime, "one") == Completed("Delegated.")
        head = (await runtime.sessions(agent="inner"))[0]
        assert head.facts.spent.seconds < 1.0
    assert bank.paid == [("ann", 3)]


# ---------------------------------------------------------------- telling people


class Telling:
    """A function that tells people, and fails as often as it is told to."""

    def __init__(self, failures: int = 0) -> None:
        self.told: list[str] = []
        self.failures = failures

    async def __call__(self, request: ApprovalRequest) -> None:
        if self.failures:
            self.failures -= 1
            raise RuntimeError("the chat is down")
        self.told.append(request.request)


async def test_people_are_told_once_over_restarts() -> None:
    place, telling = Place(Bank()), Telling()
    async with place.runtime(on_approval=telling) as runtime:
        await runtime.start("agent", "pay", session_id="one")
        await asked(runtime)
        await anyio.sleep(3 * TELL_EVERY_S)
    async with place.runtime(on_approval=telling) as runtime:
        await anyio.sleep(3 * TELL_EVERY_S)
        await runtime.session("one").send("still there?")
        await asked(runtime)
    assert telling.told == ["one:2.0"]


async def test_a_function_that_fails_is_called_again_and_an_alert_says_so() -> None:
    place, telling = Place(Bank()), Telling(2)
    async with place.runtime(on_approval=telling) as runtime:
        await runtime.start("agent", "pay", session_id="one")
        await until(lambda: bool(telling.told), 5 * TELL_EVERY_S, 1.0)
        assert any("the chat is down" in alert for alert in runtime.alerts)
        await anyio.sleep(3 * TELL_EVERY_S)
        assert telling.told == ["one:2.0"]


async def test_a_function_that_does_not_end_holds_up_nobody_else() -> None:
    place = Place(Bank())

    async def hang(request: ApprovalRequest) -> None:
        await anyio.sleep(500.0)

    async with place.runtime(on_approval=hang) as runtime:
        await runtime.start("agent", "pay", session_id="one")
        with anyio.fail_after(60.0):
            await asked(runtime)
        assert any("no end within 10 s" in alert for alert in runtime.alerts)


async def test_requests_from_before_there_was_anybody_to_tell_are_told() -> None:
    place, telling = Place(Bank()), Telling()
    async with place.runtime() as runtime:
        await runtime.start("agent", "pay", session_id="one")
        await asked(runtime)
    async with place.runtime(on_approval=telling):
        await until(lambda: bool(telling.told), 2 * TELL_EVERY_S, 1.0)


async def asked_while_nobody_was_there(place: Place) -> None:
    """Leave a session whose request nobody was told of, until its time is over."""
    async with place.runtime() as runtime:
        await runtime.start("agent", "pay", session_id="one")
        await asked(runtime)
    await anyio.sleep(2 * 86400.0)


async def test_a_request_that_expired_before_anybody_was_told_is_told_as_expired() -> None:
    place, told = Place(Bank()), list[ApprovalRequest]()
    await asked_while_nobody_was_there(place)

    async def tell(request: ApprovalRequest) -> None:
        told.append(request)

    async with place.runtime(on_approval=tell) as runtime:
        await ended(runtime, "one")
    assert [(each.request, each.expired) for each in told] == [("one:2.0", True)]
    assert place.bank.paid == []


async def test_where_telling_of_an_expired_one_fails_an_alert_names_it() -> None:
    place, telling = Place(Bank()), Telling(100)
    await asked_while_nobody_was_there(place)
    async with place.runtime(on_approval=telling) as runtime:
        await ended(runtime, "one")
        (alert,) = (each for each in runtime.alerts if "on_approval" in each)
    assert "one:2.0" in alert
    assert "its time is over, so it counts as denied" in alert


async def test_one_that_could_not_be_told_in_time_is_told_once_more_as_expired() -> None:
    place = Place(Bank(), policy=danger(expires_s=100.0))
    told: list[tuple[str, bool]] = []

    async def tell(request: ApprovalRequest) -> None:
        told.append((request.request, request.expired))
        if not request.expired:
            raise RuntimeError("the chat is down")

    async with place.runtime(on_approval=tell) as runtime:
        await runtime.start("agent", "pay", session_id="one")
        await ended(runtime, "one")
    assert told[0] == ("one:2.0", False)
    assert told[-1] == ("one:2.0", True)
    assert told.count(told[-1]) == 1


async def test_a_function_may_decide_at_once() -> None:
    place = Place(Bank())
    deciding: list[Runtime] = []

    async def approve(request: ApprovalRequest) -> None:
        await deciding[0].decide(request, "approve", by="the machine")

    async with place.runtime(on_approval=approve) as runtime:
        deciding.append(runtime)
        assert await run_one(runtime, place.of) == Completed("Paid.")
    assert place.bank.paid == [("ann", 3)]


# ---------------------------------------------------------------- secrets


async def test_secrets_are_not_shown_to_whoever_decides() -> None:
    place = Place(Bank(), [call("pay", to="ann hunter22secret", amount=1), "Paid."])
    async with place.runtime(secrets={"unused": "hunter22secret"}) as runtime:
        await runtime.start("agent", "pay", session_id="one")
        (request,) = await asked(runtime)
        assert "hunter22secret" not in repr(request)
    (question,) = await place.entries(Requested)
    assert "hunter22secret" not in repr(question)


# ---------------------------------------------------------------- pure parts


@pytest.mark.parametrize("session_id", ["s-1", "one.2.0", "a:b", "x:1.0y"])
@pytest.mark.parametrize("number", [1, 2, 17])
def test_a_name_means_the_request_it_was_made_of(session_id: str, number: int) -> None:
    name = request_name(session_id, (12, 3), number)
    assert request_named(name) == (session_id, (12, 3), number)


def test_a_name_without_a_call_means_the_session() -> None:
    assert request_named("s-1") == ("s-1", None, 0)
    with pytest.raises(UsageError):
        request_named("")


def test_what_is_pruned_says_what_waits_for_a_person() -> None:
    state = SessionState("one")
    answered = Answered(2, calls=(call("pay", to="ann"),), ledger=True)
    for entry in (answered, Requested(2, 0, "pay", "d", '{"to":"ann"}', 1)):
        state.apply(entry)
    assert facts_of(state) == (
        'On record:\n- call 2.0 pay({"to":"ann"}): waits for a person\'s approval'
    )

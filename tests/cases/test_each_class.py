"""Each class of failure put into a running session, among others: the table's directive happens.

And nothing else does: the sessions beside it complete, the tree stands, nobody was restarted.
"""

from operator import attrgetter

import anyio
import pytest
from failing import Upstream
from msgspec import Struct
from sessions import agent, ended, journal, opened, requests, results

from ukemi import (
    Agent,
    BusinessRejected,
    Completed,
    ContentRefused,
    ContextOverflow,
    ErrorClass,
    Failed,
    HandedOver,
    InDoubtTimeout,
    InvalidArgument,
    ModelReply,
    Outcome,
    PermissionDenied,
    PlanningFailure,
    Policy,
    RateLimited,
    ResourceExhausted,
    Runtime,
    ToolBug,
    TransientError,
    tool,
)
from ukemi.actors.events import AlertRaised, SessionRestarted
from ukemi.models import Reply, ScriptedModel, call
from ukemi.stores.memory import MemoryStore
from ukemi.stores.records import JournalEntry, Resulted, Retried
from ukemi.supervisor.policy_failures import ConclusionPolicy

C = ErrorClass
BYSTANDERS = 5


class Cancelled(Failed):
    """Somebody on the other side cancelled the request; our session was not cancelled."""

    error_class = C.CANCELLED


class Unheard(Failed):
    """Nobody knows this."""

    error_class = C.UNKNOWN


class Case(Struct, kw_only=True):
    """What a class leads to, for a read and for an unsafe write that may have taken effect."""

    error_class: ErrorClass
    error: Exception
    directive: str
    reason: str | None = None
    asked: int = 1
    unsafe: str = "in_doubt"
    model: str | None = None
    model_asked: int | None = None
    alert: bool = False
    model_alert: bool = False

    @property
    def name(self) -> str:
        return self.error_class.value


CASES = [
    Case(
        error_class=C.TRANSIENT,
        error=TransientError("busy", may_have_executed="maybe"),
        directive="retry",
        reason="blocked",
        asked=4,
    ),
    Case(
        error_class=C.RATE_LIMITED,
        error=RateLimited("slowly", retry_after=2.0, may_have_executed="maybe"),
        directive="retry",
        reason="blocked",
        asked=4,
    ),
    Case(
        error_class=C.IN_DOUBT_TIMEOUT,
        error=InDoubtTimeout("no answer"),
        directive="retry",
        reason="blocked",
        asked=4,
    ),
    Case(
        error_class=C.INVALID_ARGUMENT,
        error=InvalidArgument("no such product", fields=["sku"], may_have_executed="maybe"),
        directive="correct",
        model="bug",
        model_alert=True,
    ),
    Case(
        error_class=C.CONTEXT_OVERFLOW,
        error=ContextOverflow("too long", may_have_executed="maybe"),
        directive="correct",
        model="context",
    ),
    Case(
        error_class=C.PERMISSION_DENIED,
        error=PermissionDenied("no right", may_have_executed="maybe"),
        directive="hand_over",
        reason="permission",
        unsafe="permission",
        alert=True,
    ),
    Case(
        error_class=C.RESOURCE_EXHAUSTED,
        error=ResourceExhausted("disk full"),
        directive="hand_over",
        reason="bug",
        unsafe="bug",
        alert=True,
    ),
    Case(
        error_class=C.BUSINESS_REJECTED,
        error=BusinessRejected("insufficient stock"),
        directive="conclude",
        reason="blocked",
        unsafe="blocked",
        model_asked=11,
    ),
    Case(
        error_class=C.CONTENT_REFUSED,
        error=ContentRefused("not this"),
        directive="conclude",
        reason="blocked",
        unsafe="blocked",
        model_asked=2,
    ),
    Case(
        error_class=C.PLANNING,
        error=PlanningFailure("in circles", may_have_executed="maybe"),
        directive="hand_over",
        reason="planning",
        unsafe="planning",
    ),
    Case(
        error_class=C.CANCELLED,
        error=Cancelled("cancelled there", may_have_executed="maybe"),
        directive="pass_through",
        model="blocked",
    ),
    Case(
        error_class=C.BUG,
        error=ToolBug("NoneType has no attribute"),
        directive="hand_over",
        reason="bug",
        unsafe="bug",
        alert=True,
    ),
    Case(
        error_class=C.UNKNOWN,
        error=Unheard("whatever", may_have_executed="maybe"),
        directive="hand_over",
        reason="unknown",
        unsafe="unknown",
        alert=True,
    ),
]


def test_the_table_has_every_class() -> None:
    assert [case.error_class for case in CASES] == list(ErrorClass)


class Seen:
    """How the session with the failure ended, and what was seen of it."""

    def __init__(self, outcome: Outcome, entries: list[JournalEntry], alerts: int) -> None:
        self.outcome = outcome
        self.alerts = alerts
        self.records = [each for each in entries if isinstance(each, Retried)]
        self.results = [each for each in entries if isinstance(each, Resulted)]


def bystander() -> Agent:
    """Works on while the other one fails: its steps take as long as the other's waits."""

    @tool(effect="read")
    async def work() -> str:
        await anyio.sleep(1.0)
        return "worked"

    return agent([call("work")] * 5 + ["done"], [work], name="bystander")


async def run_among_others(store: MemoryStore, of: Agent) -> Seen:
    """Run the session among others of the same runtime; whatever touches those fails the test."""
    other = bystander()
    async with Runtime(store, agents=[of, other]) as runtime:
        others = [await runtime.start("bystander", "go") for _ in range(BYSTANDERS)]
        handle = await runtime.start(of.name, "go", session_id="failing")
        events = [event async for event in handle.events()]
        for each in others:
            assert await ended(runtime, each.id) == Completed("done")
            seen = [event async for event in each.events()]
            assert not [event for event in seen if isinstance(event, SessionRestarted)]
            # Five seconds of work took five seconds, whatever went on beside it.
            assert (await each.inspect()).spent.seconds == pytest.approx(5.0)
        outcome = await ended(runtime, "failing")
        states = {child.id: child.state for child in runtime.tree().children}
        assert set(states) == {"checkpoint", "budget", "timers", "sessions"}
        assert not [event for event in events if isinstance(event, SessionRestarted)]
        told = sum(isinstance(event, AlertRaised) for event in events)
        assert told == len(runtime.alerts)
    async with opened(store):
        return Seen(outcome, await journal(store, "failing"), told)


@pytest.mark.parametrize("case", CASES, ids=attrgetter("name"))
async def test_a_read_that_fails(store: MemoryStore, case: Case) -> None:
    upstream = Upstream([case.error])
    of = agent([call("fetch"), "blocked, because of that"], [upstream.tool()], name="failing")
    seen = await run_among_others(store, of)
    assert len(upstream.asked_at) == case.asked
    assert seen.records[0].directive == case.directive
    assert seen.records[0].error_class == case.name
    assert len(seen.records) == case.asked
    assert seen.alerts == case.alert
    (result,) = seen.results
    assert (result.state, result.error_class) == ("failed", case.name)
    if case.reason is None:
        assert seen.outcome == Completed("blocked, because of that")
        assert case.error.args[0] in results(requests(of)[-1].messages)[-1].content
    else:
        assert isinstance(seen.outcome, HandedOver)
        assert seen.outcome.reason == case.reason
        assert all((seen.outcome.dossier.failed_step, seen.outcome.dossier.upstream_error))
    if case.directive == "hand_over":
        assert len(requests(of)) == 1


@pytest.mark.parametrize("case", CASES, ids=attrgetter("name"))
async def test_an_unsafe_write_that_fails_and_may_have_taken_effect(
    store: MemoryStore, case: Case
) -> None:
    """It runs once, whatever the class says."""
    upstream = Upstream([case.error])
    script: list[Reply] = [call("fetch"), "blocked, because of that"]
    of = agent(script, [upstream.tool(effect="write")], name="failing")
    seen = await run_among_others(store, of)
    assert len(upstream.asked_at) == 1
    assert isinstance(seen.outcome, HandedOver)
    assert seen.outcome.reason == case.unsafe
    (result,) = seen.results
    concluded = case.directive == "conclude"
    assert result.state == ("failed" if concluded else "in_doubt")
    assert bool(seen.outcome.dossier.in_doubt) != concluded


@pytest.mark.parametrize("case", CASES, ids=attrgetter("name"))
async def test_a_model_that_fails(store: MemoryStore, case: Case) -> None:
    upstream = Upstream([case.error])
    of = Agent("failing", model=ScriptedModel(upstream.model))
    seen = await run_among_others(store, of)
    assert isinstance(seen.outcome, HandedOver)
    assert seen.outcome.reason == (case.model or case.reason)
    assert len(upstream.asked_at) == (case.model_asked or case.asked)
    assert seen.alerts == (case.alert or case.model_alert)
    assert seen.records[0].error_class == case.name


async def test_a_model_refused_once_reports_that_it_is_blocked(store: MemoryStore) -> None:
    """It is told, answers, and its answer is a handover, not a success."""
    upstream = Upstream([ContentRefused("not this"), "blocked, because the filter refused it"])
    of = Agent("failing", model=ScriptedModel(upstream.model, record=True))
    seen = await run_among_others(store, of)
    assert isinstance(seen.outcome, HandedOver)
    assert seen.outcome.reason == "blocked"
    assert seen.outcome.detail == "blocked, because the filter refused it"
    assert "not this" in str(requests(of)[-1].messages[-1])


async def test_a_model_whose_request_is_wrong_is_a_fault_that_names_its_fields(
    store: MemoryStore,
) -> None:
    """Nobody there could amend it, so the person who made it is told what is wrong."""
    upstream = Upstream([InvalidArgument("no such value", fields=["temperature", "tools[0].name"])])
    of = Agent("failing", model=ScriptedModel(upstream.model))
    seen = await run_among_others(store, of)
    assert isinstance(seen.outcome, HandedOver)
    assert seen.outcome.reason == "bug"
    assert seen.outcome.detail.endswith("at fault: temperature, tools[0].name")
    assert "no such value" in seen.outcome.dossier.upstream_error
    assert seen.records[0].error_class == C.INVALID_ARGUMENT


REFUSED = ModelReply(text="I will not help with that", finish="refused")


@pytest.mark.parametrize("refusal", [ContentRefused("I will not help with that"), REFUSED])
@pytest.mark.parametrize("conclusions_max", [0, 1, 2])
async def test_both_forms_of_refusal_go_the_same_way(
    store: MemoryStore, refusal: Exception | ModelReply, conclusions_max: int
) -> None:
    """As an error or as an answer: told as often as the policy says, then a person."""
    of = Agent("failing", model=ScriptedModel([refusal] * 3, record=True))
    policy = Policy(content_refused=ConclusionPolicy(conclusions_max=conclusions_max))
    async with Runtime(store, agents=[of], policy=policy) as runtime:
        handle = await runtime.start("failing", "go", session_id="failing")
        outcome = await handle.outcome()
        entries = await journal(store, "failing")
    assert isinstance(outcome, HandedOver)
    assert (outcome.reason, outcome.detail) == ("blocked", f"refused {conclusions_max + 1} times")
    assert "I will not help with that" in outcome.dossier.upstream_error
    assert len(requests(of)) == conclusions_max + 1
    records = [each for each in entries if isinstance(each, Retried)]
    expected = ["conclude"] * conclusions_max + ["hand_over"]
    assert [each.directive for each in records] == expected
    assert {each.error_class for each in records} == {"content_refused"}


async def test_a_refusal_as_an_answer_is_reported_once_and_never_a_success(
    store: MemoryStore,
) -> None:
    script: list[Reply] = [REFUSED, "blocked, because the provider refuses it"]
    of = Agent("failing", model=ScriptedModel(script, record=True))
    seen = await run_among_others(store, of)
    assert isinstance(seen.outcome, HandedOver)
    assert seen.outcome.reason == "blocked"
    assert seen.outcome.detail == "blocked, because the provider refuses it"
    assert "I will not help with that" in str(requests(of)[-1].messages[-1])

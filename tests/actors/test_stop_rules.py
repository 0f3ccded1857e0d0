"""When a session stops: each rule ends in a handover that names its reason, or says why it stopped.

A table of all of them, from real runs. Recovery that keeps failing, a budget that is spent, a right or
a setting that is missing, danger that cannot be taken back: none of it goes on by itself.
"""

import random
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any

import anyio
import pytest
from msgspec import Struct
from sessions import agent, run_one

from ukemi import (
    Agent,
    Budget,
    BusinessRejected,
    ContextOverflow,
    HandedOver,
    ModelReply,
    ModelRequest,
    Outcome,
    PermissionDenied,
    Policy,
    RateLimited,
    ResourceExhausted,
    RetryPolicy,
    Runtime,
    Stopped,
    TransientError,
    tool,
)
from ukemi.models import ScriptedModel, call
from ukemi.models.scripted import Script
from ukemi.stores.memory import MemoryStore
from ukemi.supervisor.danger.policy import DangerPolicy, DangerRule
from ukemi.supervisor.decide import Reason
from ukemi.supervisor.policy_sessions import PlanningPolicy


def failing(error: BaseException, **marks: Any) -> Agent:
    """An agent whose one tool always fails so."""

    @tool(**marks)
    async def order(sku: str) -> str:
        raise error

    return agent([call("order", sku=f"A-{number}") for number in range(12)], [order])


def model(*answers: Any) -> Agent:
    return Agent("agent", model=ScriptedModel([*answers] * 12))


def slow(**marks: Any) -> Agent:
    @tool(**marks)
    async def order(sku: str) -> str:
        await anyio.sleep(1000)
        return "ordered"

    return agent([call("order", sku="A"), "Done."], [order])


def talking(*script: Any) -> Agent:
    @tool(effect="read")
    async def look(city: str) -> str:
        return "the same"

    answers: Script = [*script]
    return agent(answers, [look])


def dangerous() -> Agent:
    @tool(danger="money")
    async def order(sku: str) -> str:
        raise AssertionError("it must not run")

    return agent([call("order", sku="A"), "It was denied."], [order])


class Dying(random.Random):
    """What draws the waits is broken, so the session's own actor dies of each passing failure."""

    def random(self) -> float:
        raise RuntimeError("no dice")


class Rule(Struct, frozen=True, kw_only=True):
    """A rule: what happens, and how the session ends.

    ``alerts``: how many; a handover that asks somebody to mend something is one as well.
    """

    rule: str
    agent: Callable[[], Agent]
    reason: Reason
    detail: str = ""
    options: Sequence[str] = ()
    budget: Budget = Budget()
    policy: Policy = Policy()
    runtime: Sequence[tuple[str, Any]] = ()
    alerts: int = 0


ONCE = Policy(transient=RetryPolicy(attempts_max=1), rate_limited=RetryPolicy(attempts_max=2))
LOOKS = [call("look", city="Bonn") for _ in range(12)]

RULES = [
    # ------------------------------------------------------------ recovery keeps failing
    Rule(
        rule="retries used up",
        agent=lambda: failing(TransientError("busy"), effect="read"),
        reason="blocked",
        detail="attempts: 4 failed",
        options=["retry", "retry", "go_on", "cancel"],
    ),
    Rule(
        rule="the server's own wait is longer than the time budget",
        agent=lambda: failing(RateLimited("later", retry_after=4000.0), effect="read"),
        reason="blocked",
        detail="time budget",
        options=["retry", "retry", "go_on", "cancel"],
    ),
    Rule(
        rule="a policy without retries",
        agent=lambda: failing(TransientError("busy"), effect="read"),
        policy=ONCE,
        reason="blocked",
        detail="attempts: 1 failed",
    ),
    Rule(
        rule="corrections used up",
        agent=lambda: talking(*[call("look", town="x") for _ in range(6)]),
        reason="planning",
        detail="3 corrections in a row did not help",
        options=["go_on", "cancel"],
    ),
    Rule(
        rule="the same call over and over",
        agent=lambda: talking(*LOOKS),
        policy=Policy(planning=PlanningPolicy(repeats_max=3)),
        reason="planning",
        options=["go_on", "cancel"],
    ),
    Rule(
        rule="restarts of the trajectory used up",
        agent=lambda: talking(*LOOKS, *LOOKS),
        policy=Policy(planning=PlanningPolicy(repeats_max=3, restarts_max=1)),
        reason="planning",
    ),
    Rule(
        rule="the session's own actor keeps dying",
        agent=lambda: model(TransientError("busy")),
        runtime=[("random_source", Dying())],
        reason="restarts",
        options=["retry", "go_on", "cancel"],
        alerts=1,
    ),
    Rule(
        rule="a context that cannot be made to fit",
        agent=lambda: model(ContextOverflow("too long")),
        reason="context",
        options=["go_on", "cancel"],
    ),
    # ------------------------------------------------------------ a budget is spent
    *(
        Rule(
            rule=f"the budget of {name} is spent",
            agent=of,
            budget=Budget.only(**{name: limit}),
            reason="budget",
            detail=name,
        )
        for name, limit, of in (
            ("steps", 1, lambda: talking(*LOOKS)),
            ("model_calls", 1, lambda: talking(*LOOKS)),
            ("tool_calls", 1, lambda: talking(*LOOKS)),
            ("tokens", 1, lambda: talking("Done.")),
            ("seconds", 5.0, lambda: slow(effect="read")),
            ("active_seconds", 5.0, lambda: slow(effect="read")),
            ("retries", 1, lambda: failing(TransientError("busy"), effect="read")),
            ("corrections", 0, lambda: talking(*[call("look", town="x")] * 3)),
        )
    ),
    # ------------------------------------------------------------ a right or a setting is missing
    Rule(
        rule="a tool may not",
        agent=lambda: failing(PermissionDenied("no right to order")),
        reason="permission",
        options=["retry", "retry", "go_on", "cancel"],
        alerts=1,
    ),
    Rule(
        rule="the model's key is wrong",
        agent=lambda: model(PermissionDenied("bad key")),
        reason="permission",
        alerts=1,
    ),
    # ------------------------------------------------------------ danger, and what cannot be taken back
    Rule(
        rule="a write that may have taken effect",
        agent=lambda: slow(timeout_s=1.0),
        reason="in_doubt",
        detail="",
        options=["done", "not_done", "retry", "retry", "abandon", "go_on", "cancel"],
    ),
    Rule(
        rule="refused by the other side",
        agent=lambda: agent(
            [call("order", sku="A"), "Blocked: sold out."], [failing_order(BusinessRejected("out"))]
        ),
        reason="blocked",
        detail="Blocked: sold out.",
        options=["go_on", "cancel"],
    ),
    Rule(
        rule="an error nobody knows",
        agent=lambda: failing(RuntimeError("flux capacitor"), effect="read"),
        reason="unknown",
        options=["retry", "retry", "go_on", "cancel"],
        alerts=1,
    ),
    Rule(
        rule="the machine has no more room",
        agent=lambda: failing(ResourceExhausted("no space left"), effect="read"),
        reason="bug",
        detail="out of a resource",
        alerts=1,
    ),
]


def failing_order(error: BaseException):  # type: ignore[no-untyped-def]
    @tool
    async def order(sku: str) -> str:
        raise error

    return order


async def ended(rule: Rule, store: MemoryStore) -> tuple[Outcome, int]:
    of = rule.agent()
    given = dict(rule.runtime)
    async with Runtime(store, agents=[of], policy=rule.policy, **given) as runtime:
        outcome = await run_one(runtime, of, session_id="one", budget=rule.budget)
        return outcome, len(runtime.alerts)


@pytest.mark.parametrize("rule", RULES, ids=attrgetter("rule"))
async def test_each_rule_ends_in_a_handover_with_its_reason(rule: Rule, store: MemoryStore) -> None:
    outcome, alerts = await ended(rule, store)
    assert isinstance(outcome, HandedOver)
    assert outcome.reason == rule.reason, outcome.detail
    assert rule.detail in outcome.detail
    dossier = outcome.dossier
    assert dossier.failed_step and dossier.input and dossier.upstream_error
    assert dossier.tried and dossier.options
    if rule.options:
        assert [each.name for each in dossier.options] == list(rule.options)
    assert alerts == rule.alerts


async def test_a_budget_of_a_group_is_named() -> None:
    of = talking(*LOOKS)
    async with Runtime("memory:", agents=[of], groups={"team": Budget.only(steps=2)}) as runtime:
        session = await runtime.start("agent", "go", group="team")
        outcome = await session.outcome()
    assert isinstance(outcome, HandedOver) and outcome.reason == "budget"
    assert "steps of group team" in outcome.detail


class Dear:
    """A model that costs a dollar each time."""

    name = "dear"

    async def complete(self, request: ModelRequest, /) -> ModelReply:
        raise AssertionError("not within this budget")


@pytest.mark.parametrize(("on_denied", "ends"), [("conclude", "blocked"), ("stop", "denied")])
async def test_danger_that_a_rule_denies_is_never_run(
    store: MemoryStore, on_denied: Any, ends: str
) -> None:
    """By default the agent reports it and a person is told; where the policy says so, it is over."""
    rules = (DangerRule(category="money", then="deny"),)
    policy = Policy(danger=DangerPolicy(rules=rules, on_denied=on_denied))
    of = dangerous()
    async with Runtime(store, agents=[of], policy=policy) as runtime:
        outcome = await run_one(runtime, of)
    if on_denied == "stop":
        assert outcome == Stopped("denied")
        return
    assert isinstance(outcome, HandedOver) and outcome.reason == ends
    assert outcome.dossier.failed_step == "call 2.0 order"
    assert [each.name for each in outcome.dossier.options] == ["go_on", "cancel"]

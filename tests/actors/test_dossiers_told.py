"""What a handover tells: the step, its input, the words of the other side, what was tried."""

import uuid

import anyio
import pytest
from sessions import agent, run_one

from ukemi import Budget, BusinessRejected, HandedOver, ModelRequest, Runtime, UsageError, tool
from ukemi.models import call


def store() -> str:
    return f"memory:{uuid.uuid4().hex}"


@tool(effect="read")
async def look(city: str) -> str:
    await anyio.sleep(100)
    return city


@tool
async def pay(to: str) -> str:
    await anyio.sleep(100)
    return to


@tool
async def order(sku: str) -> str:
    raise BusinessRejected("sold out")


async def handed_over(of: object, **options: object) -> HandedOver:
    async with Runtime(store(), agents=[of]) as runtime:  # type: ignore[list-item]
        outcome = await run_one(runtime, of, **options)  # type: ignore[arg-type]
    assert isinstance(outcome, HandedOver)
    return outcome


async def test_a_deadline_names_the_call_and_its_arguments() -> None:
    outcome = await handed_over(
        agent([call("look", city="Bonn"), "x"], [look]), budget=Budget(seconds=5)
    )
    assert outcome.dossier.failed_step == "call 2.0 look"
    assert outcome.dossier.input == '{"city":"Bonn"}'
    assert not outcome.dossier.in_doubt


async def test_a_deadline_that_leaves_a_doubt_says_so_first() -> None:
    outcome = await handed_over(
        agent([call("pay", to="ann"), "x"], [pay]), budget=Budget(seconds=5)
    )
    assert outcome.reason == "budget"
    assert "in doubt" in outcome.dossier.options[0].what
    assert outcome.dossier.in_doubt[0].tool == "pay"


async def test_a_limit_of_calls_names_the_call_that_did_not_fit() -> None:
    outcome = await handed_over(
        agent([call("look", city="Bonn"), "x"], [look]), budget=Budget(tool_calls=0)
    )
    assert outcome.dossier.input == '{"city":"Bonn"}'
    assert "tool_calls" in outcome.detail


async def test_blocked_tells_whose_refusal_it_was() -> None:
    outcome = await handed_over(agent([call("order", sku="A"), "blocked, sold out"], [order]))
    assert outcome.reason == "blocked" and outcome.detail == "blocked, sold out"
    assert outcome.dossier.failed_step == "call 2.0 order"
    assert outcome.dossier.input == '{"sku":"A"}'
    assert "sold out" in outcome.dossier.upstream_error


async def test_used_up_corrections_are_what_was_tried() -> None:
    wrong = [call("look", town="x") for _ in range(5)]
    outcome = await handed_over(agent([*wrong, "x"], [look]))
    assert outcome.reason == "planning"
    assert outcome.dossier.tried == ("the model has corrected its call in 3 rounds",)


async def test_a_small_budget_of_tokens_can_be_used() -> None:
    """The answer is held to what is left, so the limit need not hold the largest answer."""
    talker = agent(["Done."])
    async with Runtime(store(), agents=[talker]) as runtime:
        outcome = await run_one(runtime, talker, budget=Budget(tokens=1000))
        assert not isinstance(outcome, HandedOver), outcome


async def test_a_budget_too_small_for_the_conversation_says_what_it_needs() -> None:
    outcome = await handed_over(agent(["Done."]), task="x" * 4000, budget=Budget(tokens=500))
    assert "0 of 500 used, and the next piece of work needs up to 1001" in outcome.detail


class Wrong:
    """A model that does not keep the protocol."""

    name = "wrong"

    async def complete(self, request: ModelRequest, /) -> str:
        return "text"


async def test_a_model_that_returns_something_else_is_told_apart() -> None:
    from ukemi import Agent

    outcome = await handed_over(Agent("agent", model=Wrong()))  # type: ignore[arg-type]
    assert outcome.reason == "bug"
    assert "must return a ModelReply" in outcome.dossier.upstream_error


BAD: list[tuple[dict[str, object], dict[str, object], str]] = [
    ({"tenants": {"acme": Budget.only(steps=5)}}, {"tenant": "acmee"}, "tenant 'acmee' has no"),
    ({"groups": {"g": Budget.only()}}, {"group": "h"}, "group 'h' has no budget"),
    ({}, {"working_directory": "/nowhere/at/all"}, "working_directory='/nowhere/at/all'"),
]


@pytest.mark.parametrize(("given", "started", "said"), BAD, ids=[said for *_, said in BAD])
async def test_what_cannot_be_meant_is_refused_at_the_start(
    given: dict[str, object], started: dict[str, object], said: str
) -> None:
    talker = agent(["Done."])
    async with Runtime(store(), agents=[talker], **given) as runtime:  # type: ignore[arg-type]
        with pytest.raises(UsageError, match=said):
            await runtime.start("agent", "go", **started)  # type: ignore[arg-type]
        assert await runtime.sessions() == []


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        ({"steps": 2.5}, "steps=2.5 is counted"),
        ({"cost_usd": float("inf")}, "cost_usd=inf"),
        ({"tokens": 10**400}, "beyond counting"),
    ],
    ids=["half a step", "infinite money", "endless tokens"],
)
def test_limits_nobody_can_count_are_refused(limits: dict[str, float], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        Budget.only(**limits)


def test_secrets_are_texts_and_are_not_shown() -> None:
    with pytest.raises(UsageError, match="secret 'token' is of type int") as caught:
        Runtime("memory:", secrets={"token": 51234})  # type: ignore[dict-item]
    assert "51234" not in str(caught.value)


def test_one_agent_is_not_a_list_of_agents() -> None:
    with pytest.raises(UsageError, match="give a list"):
        Runtime("memory:", agents=agent(["x"]))  # type: ignore[arg-type]


async def test_a_runtime_that_was_left_says_so() -> None:
    runtime = Runtime(store(), agents=[agent(["x"])])
    async with runtime:
        pass
    with pytest.raises(UsageError, match="was left; make a new one"):
        await runtime.start("agent", "go")

"""A handover always carries its five parts, whatever the reason and however little is known."""

from itertools import product
from typing import get_args

import pytest

from ukemi import Agent, Budget, Dossier, Failure, HandedOver, PermissionDenied, Runtime, tool
from ukemi.actors.budget import Account, Refusal
from ukemi.actors.handover.dossier import TEXT_MAX, Trouble, hand_over, over_budget
from ukemi.actors.state import SessionState
from ukemi.models import ScriptedModel, call
from ukemi.supervisor.decide import Reason
from ukemi.supervisor.errors import ErrorClass

REASONS: tuple[Reason, ...] = get_args(Reason)
FAILURES = (None, Failure(error_class=ErrorClass.UNKNOWN, type_name="Odd", message=""))
INPUTS = ("", '{"sku":"A-17"}', "x" * 100_000)


def dossier_of(trouble: Trouble) -> Dossier:
    return hand_over(trouble, SessionState("s"), Account("session s", Budget(steps=3))).dossier


@pytest.mark.parametrize(
    ("reason", "failure", "given"),
    list(product(REASONS, FAILURES, INPUTS)),
    ids=lambda value: str(value)[:20],
)
def test_the_five_parts_are_there(reason: Reason, failure: Failure | None, given: str) -> None:
    """None is empty, none is longer than a person reads; the budget is beside them."""
    trouble = Trouble(
        reason=reason, detail="it failed", step="call 2.0 order", input=given, failure=failure
    )
    dossier = dossier_of(trouble)
    assert dossier.failed_step == "call 2.0 order"
    assert 0 < len(dossier.input) <= TEXT_MAX
    assert dossier.upstream_error == ("Odd: " if failure else "it failed")
    assert dossier.tried and all(dossier.tried)
    assert dossier.options and all(dossier.options)
    assert dossier.budget["steps of session s"] == "0 of 3"


def test_a_spent_budget_is_named_as_the_error() -> None:
    """There is no upstream: the limit is what refused."""
    refusal = Refusal("steps", "session s", 3.0, 3.0)
    dossier = dossier_of(over_budget(refusal, "begin a step"))
    assert dossier.upstream_error == "budget steps of session s: 3 of 3 used"


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_dossier_says_which_call_failed_with_what_and_why(anyio_backend: str) -> None:
    """From a real run: step, arguments, the upstream's words, and what can be done."""

    @tool
    async def order(sku: str) -> str:
        """Order a product."""
        raise PermissionDenied(f"the account may not order {sku}")

    buyer = Agent("buyer", model=ScriptedModel([call("order", sku="A-17")]), tools=[order])
    async with Runtime("memory:", agents=[buyer]) as runtime:
        session = await runtime.start("buyer", "Order an A-17")
        outcome = await session.outcome()
    assert isinstance(outcome, HandedOver) and outcome.reason == "permission"
    dossier = outcome.dossier
    assert (dossier.failed_step, dossier.input) == ("call 2.0 order", '{"sku":"A-17"}')
    assert dossier.upstream_error == "PermissionDenied: the account may not order A-17"
    assert "grant the right" in dossier.options[0].what

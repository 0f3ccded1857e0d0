"""A person decides what a machine must not: a payment is asked about, parked, and approved.

The session costs nothing while it waits, and the answer may come from anywhere: from code, as here,
from a chat that `on_approval` has told, or from the command line (``ukemi approve REQUEST``).
"""

import anyio

from ukemi import (
    Agent,
    ApprovalRequest,
    Completed,
    HandedOver,
    ModelRequest,
    Policy,
    Runtime,
    SessionHandle,
    tool,
)
from ukemi.models import Reply, ScriptedModel, call
from ukemi.supervisor.danger.policy import DangerPolicy, DangerRule

paid: list[tuple[str, int]] = []
asked: list[ApprovalRequest] = []


def account(to: str, amount: int) -> str:
    return f"account {to}"


@tool(danger="money", resource=account)
async def pay(to: str, amount: int) -> str:
    """Pay somebody; returns what was paid."""
    paid.append((to, amount))
    return f"paid {amount} to {to}"


async def clerk(request: ModelRequest) -> Reply:
    task, *rest = request.messages
    amount = int(getattr(task, "text", "").split()[-1])
    if not rest:
        return call("pay", to="ann", amount=amount)
    result = getattr(request.messages[-1], "content", "")
    return f"blocked: {result.splitlines()[0]}" if "denied" in result else "The payment was made."


async def tell(request: ApprovalRequest) -> None:
    """Stands for a message in a chat, with two buttons."""
    asked.append(request)
    print(f"{request.request}: {request.risk}: {request.tool}{request.arguments}")


async def parked(session: SessionHandle) -> None:
    async for event in session.events():
        if event.event == "session.parked":
            return


# Small sums need nobody, huge ones are never paid; between the two, a person is asked.
policy = Policy(
    danger=DangerPolicy(
        rules=(
            DangerRule(tool="pay", when={"amount": "<= 10"}, then="allow"),
            DangerRule(tool="pay", when={"amount": "> 10000"}, then="deny"),
        )
    )
)


async def main() -> None:
    agent = Agent("clerk", model=ScriptedModel(clerk), tools=[pay])
    async with Runtime("memory:", agents=[agent], policy=policy, on_approval=tell) as runtime:
        small = await runtime.start("clerk", "Pay ann 7")
        assert isinstance(await small.outcome(), Completed) and not asked

        session = await runtime.start("clerk", "Pay ann 500", session_id="middle")
        await parked(session)
        (request,) = await runtime.approvals()
        assert request == asked[0] and paid == [("ann", 7)]
        # Approved, but with another sum: that is what runs, and the model is told.
        await runtime.decide(request, "approve", args={"to": "ann", "amount": 400}, by="eve")
        assert isinstance(await session.outcome(), Completed)
        assert paid == [("ann", 7), ("ann", 400)]

        session = await runtime.start("clerk", "Pay ann 600", session_id="denied")
        await parked(session)
        await runtime.decide("denied", "deny", why="not this month", by="eve")
        outcome = await session.outcome()
        assert isinstance(outcome, HandedOver) and outcome.reason == "approval"
        print(outcome.detail)

        huge = await (await runtime.start("clerk", "Pay ann 50000")).outcome()
        assert isinstance(huge, HandedOver) and huge.reason == "blocked"
        assert len(asked) == 2 and len(paid) == 2


if __name__ == "__main__":
    anyio.run(main)

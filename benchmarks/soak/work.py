"""What the sessions of a soak do: a plan drawn from each session's name, tools of every kind, faults.

A tag names a call of a plan, over all attempts and processes. Faults are drawn anew each time.
"""

from random import Random

import anyio

from ukemi import NOT_DONE, Agent, ModelRequest, NotDone, RateLimited, TransientError, tool
from ukemi.actors.model import AssistantMessage
from ukemi.actors.tooling.tools import AnyTool
from ukemi.models import Reply, ScriptedModel, call

from .books import Effects

READS = ("look", "crunch")
WRITES = ("pay", "order", "ship", "reserve", "transfer")
KINDS = (*READS, *READS, *WRITES, "part")
TENANTS = ("acme", "bolt", "crux")


def plan_of(session_id: str) -> list[tuple[str, str]]:
    """Return the calls of a session, each the name of a tool and its tag."""
    chance = Random(session_id)
    kinds = KINDS if "." not in session_id else (*READS, "pay", "order")
    count = chance.randint(2, 8)
    return [(chance.choice(kinds), f"{session_id}/{at}") for at in range(count)]


def tenant_of(session_id: str) -> str:
    """Return whose session it is; most are one tenant's."""
    return Random(f"tenant {session_id}").choice((*TENANTS, "acme", "acme", "acme"))


def script(request: ModelRequest) -> Reply:
    """Make the next call of the plan, whatever became of the last; then say that it is done."""
    chance = Random()
    if chance.random() < 0.01:
        raise TransientError("the model is busy")
    at = sum(isinstance(each, AssistantMessage) for each in request.messages)
    plan = plan_of(request.session_id)
    if at >= len(plan):
        return "done"
    name, tag = plan[at]
    return call("part", task=tag) if name == "part" else call(name, tag=tag)


def agents_of(effects: Effects) -> list[Agent]:
    """Return the agents: one that has sub-sessions of the other."""
    chance = Random()

    def cut(share: float, error: Exception) -> None:
        if chance.random() < share:
            raise error

    @tool(effect="read", upstream="catalogue")
    async def look(tag: str) -> str:
        await anyio.sleep(chance.uniform(0.0, 0.004))
        cut(0.05, TransientError("busy"))
        cut(0.02, RateLimited("too many", retry_after=0.4))  # long enough to be parked
        return f"seen {tag}"

    @tool(effect="read")
    def crunch(tag: str) -> str:
        return f"{tag} {sum(range(chance.randint(10, 1000)))}"

    @tool(effect="write", upstream="bank")
    async def pay(tag: str) -> str:
        cut(0.02, ConnectionRefusedError("nobody listens"))
        effects.take(tag)
        await anyio.sleep(chance.uniform(0.0, 0.002))
        cut(0.02, ConnectionResetError("no answer"))
        return f"paid {tag}"

    @tool(effect="write", accepts_key=True, upstream="shop")
    async def order(tag: str, *, key: str) -> str:
        effects.take(tag, key)
        await anyio.sleep(chance.uniform(0.0, 0.002))
        cut(0.05, ConnectionResetError("no answer"))
        return f"ordered {tag}"

    async def shipped(tag: str) -> str | NotDone:
        return f"shipped {tag}" if effects.of.get(tag) else NOT_DONE

    @tool(effect="write", upstream="shop", probe=shipped)
    async def ship(tag: str) -> str:
        effects.take(tag)
        cut(0.03, ConnectionResetError("no answer"))
        return f"shipped {tag}"

    async def unreserve(tag: str) -> str:
        effects.take(f"undo:{tag}")
        return "freed"

    @tool(effect="write", compensate=unreserve)
    async def reserve(tag: str) -> str:
        effects.take(tag)
        return f"reserved {tag}"

    @tool(effect="write", danger="money")
    async def transfer(tag: str) -> str:
        effects.take(tag)
        return f"transferred {tag}"

    tools: list[AnyTool] = [look, crunch, pay, order, ship, reserve, transfer]
    part = Agent("part", model=ScriptedModel(script, record=False), tools=tools)
    main = Agent("main", model=ScriptedModel(script, record=False), tools=[*tools, part.as_tool()])
    return [main, part]

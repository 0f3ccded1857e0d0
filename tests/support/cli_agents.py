"""Agents for tests of the command line; a module as a user would write it."""

import anyio

from ukemi import Agent, PermissionDenied, current, tool
from ukemi.models import ScriptedModel, call


@tool(effect="read")
async def look(sku: str) -> int:
    """Units of an article in stock."""
    return 12


@tool(effect="write")
async def put(sku: str, units: int) -> str:
    """Put an article into the basket."""
    return f"{units} x {sku}"


@tool(effect="read")
async def locked() -> str:
    """Something behind a door."""
    raise PermissionDenied("the key is missing")


@tool(effect="read")
async def wait_for_go() -> str:
    """Wait until somebody has made the file "go" in the working directory."""
    if not await anyio.Path(current().working_directory, "go").exists():
        await anyio.sleep_forever()
    return "gone"


clerk = Agent(
    "clerk",
    model=ScriptedModel([call("look", sku="A-17"), call("put", sku="A-17", units=3), "put 3"]),
    tools=[look, put],
)
visitor = Agent("visitor", model=ScriptedModel([call("locked"), "in"]), tools=[locked])
waiter = Agent("waiter", model=ScriptedModel([call("wait_for_go"), "served"]), tools=[wait_for_go])
chief = Agent(
    "chief", model=ScriptedModel([call("clerk", task="put three"), "done"]), tools=[clerk.as_tool()]
)
others = [Agent("talker", model=ScriptedModel(lambda request: f"heard {len(request.messages)}"))]

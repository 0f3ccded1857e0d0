"""What is given to a session while it comes to rest is given to it all the same, once."""

import anyio
import pytest
from sessions import agent, ended

from ukemi import Completed, Runtime, tool
from ukemi.actors.model import ModelRequest, UserMessage
from ukemi.actors.session import Session
from ukemi.actors.sessions import Change
from ukemi.models import call
from ukemi.models.scripted import Reply
from ukemi.stores.memory import MemoryStore
from ukemi.stores.records import Said


@pytest.mark.parametrize("rests", ["parks", "ends"])
async def test_a_change_to_a_session_that_comes_to_rest_meanwhile_is_made_anew(
    store: MemoryStore, rests: str
) -> None:
    """A decision is read from the store, and before it is written down, its session has parked."""

    @tool(effect="write", danger="money")
    async def pay() -> str:
        return "paid"

    async def script(request: ModelRequest) -> Reply:
        said = [each.text for each in request.messages if isinstance(each, UserMessage)]
        if len(request.messages) == 1:
            await anyio.sleep(1.0)
            return call("pay") if rests == "parks" else "nothing to do"
        return f"heard {said[-1]}"

    seen: list[Session] = []

    async def make(session: Session) -> Change:
        seen.append(session)
        if len(seen) == 1:
            await session.retired.wait()  # longer than the session runs
        return Change([Said(session.journal.take_n(), "one more thing")], reopens=True)

    async with Runtime(store, agents=[agent(script, [pay])]) as runtime:
        await runtime.start("agent", "go", session_id="s")
        sessions = runtime._core.running.sessions  # pyright: ignore[reportPrivateUsage]
        with anyio.fail_after(30):
            assert await sessions.change("s", make)
        assert len(seen) == 2 and seen[0] is not seen[1]
        for request in await runtime.approvals():
            await runtime.decide(request, "approve")
        assert await ended(runtime, "s") == Completed("heard one more thing")


async def test_a_change_that_cannot_be_made_leaves_a_session_that_came_to_rest_alone(
    store: MemoryStore,
) -> None:
    async def make(session: Session) -> Change:
        await session.retired.wait()
        raise LookupError("nothing to change")

    async def script(request: ModelRequest) -> Reply:
        await anyio.sleep(1.0)
        return "done"

    async with Runtime(store, agents=[agent(script)]) as runtime:
        await runtime.start("agent", "go", session_id="s")
        sessions = runtime._core.running.sessions  # pyright: ignore[reportPrivateUsage]
        with anyio.fail_after(30), pytest.raises(LookupError):
            await sessions.change("s", make)
        assert await ended(runtime, "s") == Completed("done")

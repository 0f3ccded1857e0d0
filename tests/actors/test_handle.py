"""What a handle tells of a session that others go on with."""

from ukemi import Agent, Completed, Runtime
from ukemi.models import ScriptedModel


async def test_an_old_handle_learns_how_a_session_ended_that_another_has_reopened() -> None:
    agent = Agent("talker", model=ScriptedModel(["first answer", "second answer"]))
    async with Runtime("memory:", agents=[agent]) as runtime:
        old = await runtime.start("talker", "go")
        assert await old.outcome() == Completed("first answer")

        other = runtime.session(old.id)
        await other.send("go on")
        assert await other.outcome() == Completed("second answer")

        assert await old.outcome() == Completed("second answer")
        last = [event async for event in old.events()][-1]
        assert last.event == "session.completed"
        assert (await old.inspect()).outcome == Completed("second answer")


async def test_a_handle_tells_the_end_it_has_seen_after_the_runtime_was_left() -> None:
    agent = Agent("talker", model=ScriptedModel(["an answer"]))
    async with Runtime("memory:", agents=[agent]) as runtime:
        handle = await runtime.start("talker", "go")
        await handle.outcome()
    assert await handle.outcome() == Completed("an answer")

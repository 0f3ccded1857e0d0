"""How does one agent hand work to others, and what happens when one of them reaches a limit?

An editor hands two chapters to sub-sessions of a reader, which run side by side. Whatever they
consume also counts against the editor's budget. The second chapter has no end, so that its reader
runs into its own limit of four steps. It is not retried and not hidden: the editor is told why,
must not work round it, and reports what it has. The outcome is handed over to a person, who
decides that one chapter is enough.
"""

import anyio

from ukemi import Agent, Budget, Completed, HandedOver, ModelRequest, Runtime, tool
from ukemi.actors.model import ToolMessage, UserMessage
from ukemi.models import Reply, ScriptedModel, call

PAGES = {"one": ["It was a dark night.", "The end."], "two": ["Once more,"] * 100}


@tool(effect="read")
async def page(chapter: str, number: int) -> str:
    """Read one page of a chapter."""
    return PAGES[chapter][number]


def read(request: ModelRequest) -> Reply:
    """Read page after page until a chapter ends."""
    task = request.messages[0]
    assert isinstance(task, UserMessage)
    pages = [each.content for each in request.messages if isinstance(each, ToolMessage)]
    if pages and pages[-1] == "The end.":
        return " ".join(pages)
    return call("page", chapter=task.text, number=len(pages))


def edit(request: ModelRequest) -> Reply:
    """Have both chapters read at once, then report what came of it."""
    read = [each for each in request.messages if isinstance(each, ToolMessage)]
    if not read:
        return [call("reader", task="one"), call("reader", task="two")]
    if isinstance(request.messages[-1], UserMessage):
        return f"Chapter one: {read[0].content}"
    return f"blocked, because of chapter two: {read[1].content.splitlines()[0]}"


reader = Agent("reader", model=ScriptedModel(read), tools=[page])
editor = Agent(
    "editor",
    model=ScriptedModel(edit),
    tools=[reader.as_tool(description="Reads a chapter.", budget=Budget(steps=4))],
)


async def main() -> None:
    async with Runtime("memory:", agents=[editor, reader]) as runtime:
        session = await runtime.start("editor", "Sum it up", budget=Budget(model_calls=20))
        outcome = await session.outcome()
        assert isinstance(outcome, HandedOver) and outcome.reason == "blocked"
        print(outcome.detail)
        print("used:", outcome.dossier.budget)

        # A sub-session is named after its call, and is a session like any other.
        for head in await runtime.sessions(parent=session.id):
            part = await runtime.session(head.session_id).inspect()
            print(part.session_id, part.status, part.spent.steps, "steps")
        assert outcome.dossier.budget[f"model_calls of session {session.id}"] == "10 of 20"

        await session.send("One chapter is enough.")
        outcome = await session.outcome()
        print(outcome)
        assert outcome == Completed("Chapter one: It was a dark night. The end.")


anyio.run(main)

"""A module of agents as text, whose session ends in doubt: its call is cut off, effect unknown."""

POST_OFFICE = """\
import anyio
from ukemi import Agent, tool
from ukemi.models import ScriptedModel, call


@tool(effect="write", timeout_s=0.05)
async def post(to: str) -> str:
    "Post the letter."
    await anyio.sleep(60)
    return "posted"


sender = Agent("sender", model=ScriptedModel([call("post", to="Ann"), "Done."]), tools=[post])
"""

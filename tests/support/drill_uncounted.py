"""Agents whose tools are mistaken, and talk to nothing that counts."""

from ukemi import Agent, tool
from ukemi.models import ScriptedModel, call

booked: list[str] = []


def book_nothing_back(seat: str) -> None:
    """The second mistake: it says that the booking is cancelled."""


@tool(safe_to_retry=True, compensate=book_nothing_back, timeout_s=5)
async def book(seat: str) -> str:
    """Book a seat. The first mistake: each repeat is another booking, which nothing counts."""
    booked.append(seat)
    return f"booked {seat}"


mailer = Agent("mailer", model=ScriptedModel([call("book", seat="1"), "Done."]), tools=[book])


@tool
async def wait(seat: str) -> str:
    """Have no limit."""
    return seat


waiter = Agent("waiter", model=ScriptedModel([call("wait", seat="1"), "Done."]), tools=[wait])

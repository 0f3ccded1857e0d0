"""A module of agents as text, whose session waits for a person before it pays."""

BANK = """\
from pathlib import Path
from ukemi import Agent, tool
from ukemi.models import ScriptedModel, call


@tool(danger="money")
async def pay(to: str, amount: int) -> str:
    "Pay somebody."
    with Path("paid.txt").open("a") as file:
        file.write(f"{to} {amount}\\n")
    return "paid"


clerk = Agent("clerk", model=ScriptedModel([call("pay", to="Ann", amount=3), "Done."]), tools=[pay])
"""

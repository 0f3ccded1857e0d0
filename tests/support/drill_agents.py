"""An agent and stubs for the tests of the command; nothing in it talks to anything."""

from ukemi import Agent, tool
from ukemi.models import ScriptedModel, call
from ukemi.testing import EffectStub, Reply

shop = EffectStub(name="shop")


class Shop:
    """A stub of the user's own that counts."""

    def __init__(self) -> None:
        self.effects = 0

    def order(self, sku: str) -> str:
        self.effects += 1
        return f"order {self.effects} of {sku}"

    def cancel(self, result: str) -> None:
        self.effects -= 1

    def forget(self, result: str) -> None:
        """Say that it is cancelled."""


own = Shop()


def cancel(result: str) -> None:
    raise AssertionError("the real one: it must not run")


@tool(timeout_s=5, compensate=cancel)
async def order(sku: str) -> str:
    """Order it."""
    raise AssertionError("the real one: it must not run")


script: list[Reply] = [call("order", sku="a"), "Done."]
buyer = Agent("buyer", model=ScriptedModel(script), tools=[order])

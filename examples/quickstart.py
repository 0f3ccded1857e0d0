import anyio

from ukemi import Agent, Runtime, tool
from ukemi.models import ScriptedModel, call


@tool(effect="write", accepts_key=True)
async def order(sku: str, units: int, *, key: str) -> str:
    """Order a product; returns the order's number."""
    if key not in booked:
        booked.add(key)
        raise ConnectionResetError("the order is booked, but the answer got lost")
    return "4711"  # the second attempt came with the same key: nothing is booked twice


async def main() -> None:
    model = ScriptedModel([call("order", sku="A-17", units=3), "Ordered: 4711."])
    async with Runtime("memory:", agents=[Agent("buyer", model=model, tools=[order])]) as runtime:
        session = await runtime.start("buyer", "Order three A-17")
        print(await session.outcome(), "| bookings:", len(booked))


booked = set[str]()
anyio.run(main)

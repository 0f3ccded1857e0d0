"""Ukemi pays an order: a guarded call whose scope is the order.

python -m benchmarks.payments_ukemi STORE URL ORDER (plain | probe | key) (go | before | behind | again)
"""

import json
import sys

import anyio

from ukemi import NOT_DONE, InDoubt, NotDone, Runtime, tool
from ukemi.actors.tooling.tools import AnyTool

from .payments_bank import GO, charge, charges


def payment(url: str, how: str, fate: str) -> AnyTool:
    """Return the payment, declared as far as its bank goes along."""

    async def pay(order: str) -> str:
        return await anyio.to_thread.run_sync(charge, url, order, "", fate)

    async def pay_keyed(order: str, *, key: str) -> str:
        return await anyio.to_thread.run_sync(charge, url, order, key, fate)

    async def look(order: str) -> str | NotDone:
        found = await anyio.to_thread.run_sync(charges, url, order)
        return f"paid {order}" if found else NOT_DONE

    match how:
        case "key":
            return tool(name="pay", accepts_key=True)(pay_keyed)
        case "probe":
            return tool(probe=look)(pay)
        case _:
            return tool(pay)


async def main(words: list[str]) -> None:
    store, url, order, how, fate = words
    pay = payment(url, how, GO if fate == "again" else fate)
    async with Runtime(store, guarded=[pay]) as runtime:
        try:
            found = await runtime.guard(pay, scope=order)(order)
        except InDoubt:
            print(json.dumps({"told": "in doubt, a person is asked", "doubt": True}))
        else:
            print(json.dumps({"told": found}))


if __name__ == "__main__":
    anyio.run(main, sys.argv[1:])

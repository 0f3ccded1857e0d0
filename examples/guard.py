"""How does a service's own code call something that must not happen twice, without any agent?

``pay`` below is what the handler of ``POST /orders/ID/payment`` would be. The client's requests may
come twice, the bank's line may go dead behind the booking, the process may be killed at any point: the
order's number is the scope, and in a scope equal calls run once. Run it with ``python examples/guard.py``.
"""

import tempfile
from pathlib import Path

import anyio

from ukemi import BusinessRejected, InDoubt, Runtime, SessionOwned, tool


class Bank:
    """What the bank has booked, by key; the line goes dead behind the first booking of each order."""

    def __init__(self) -> None:
        self.booked: dict[str, int] = {}
        self.lines_cut: set[str] = set()

    def book(self, key: str, order: str, cents: int) -> str:
        if cents > 100_000:
            raise BusinessRejected("over the limit of the card")
        self.booked.setdefault(key, cents)
        if order not in self.lines_cut:
            self.lines_cut.add(order)
            raise ConnectionResetError("the line went dead")
        return f"payment of {self.booked[key]} cents for {order}"


bank = Bank()


@tool(accepts_key=True, upstream="bank")
async def charge(order: str, cents: int, *, key: str) -> str:
    """Charge the customer's card; a key is booked once."""
    return bank.book(key, order, cents)


async def send_by_fax(order: str) -> str:
    """Order from a supplier who takes no keys, and cannot be asked what has arrived."""
    return bank.book(f"fax {len(bank.booked)}", order, 0)


async def pay(runtime: Runtime, order: str, cents: int) -> tuple[int, str]:
    """Answer a request with its status and text."""
    try:
        return 200, await runtime.guard(charge, scope=order)(order, cents)
    except BusinessRejected as error:
        return 402, error.message
    except SessionOwned:
        return 409, "another process has this order in hand; ask again"


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "orders.db"
        async with Runtime(store, guarded=[charge, send_by_fax]) as runtime:
            first = await pay(runtime, "order-1", 4200)
            # The line went dead, and the same key was sent again: one booking.
            assert first == (200, "payment of 4200 cents for order-1")
            assert await pay(runtime, "order-2", 500_000) == (402, "over the limit of the card")

            fax = runtime.guard(send_by_fax, scope="order-3")
            try:
                await fax("order-3")
            except InDoubt as doubt:
                print(f"a person is asked: {doubt}")
            booked = len(bank.booked)

        # The next process. The client asks again, and gets what is recorded.
        async with Runtime(store, guarded=[charge, send_by_fax]) as runtime:
            assert await pay(runtime, "order-1", 4200) == first
            # What is in doubt is not sent again; `ukemi resolve order-3 done` says this:
            await runtime.session("order-3").resolve("done", result="received, says the supplier")
            answer = await runtime.guard(send_by_fax, scope="order-3").detailed("order-3")
            assert (answer.value, answer.by) == ("received, says the supplier", "person")
            assert len(bank.booked) == booked == 2
    print(f"bookings: {len(bank.booked)}")


if __name__ == "__main__":
    anyio.run(main)

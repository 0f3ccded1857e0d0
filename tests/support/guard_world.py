"""A service's own payment function for tests of guarded calls: what it books, and how it goes wrong."""

from collections.abc import Callable

import anyio

from ukemi import NOT_DONE, NotDone, Tool, tool
from ukemi.actors.tooling.tools import AnyTool


class Bank:
    """What was booked, under which keys; each fault in ``faults`` befalls one attempt.

    A fault is raised, or, where it is a number, waited for that many seconds after the booking.
    """

    def __init__(self, *faults: Exception | float, kind: str = "plain") -> None:
        self.booked: list[str] = []
        self.keys: list[str] = []
        self.attempts = 0
        self.faults = list(faults)
        self.pay: AnyTool = _MAKERS[kind](self)

    async def book(self, order: str, cents: int, key: str = "") -> str:
        self.attempts += 1
        fault = self.faults.pop(0) if self.faults else None
        if isinstance(fault, Exception):
            raise fault
        self.keys.append(key)
        if not key or self.keys.count(key) == 1:
            self.booked.append(order)
        if fault is not None:
            await anyio.sleep(fault)
        return f"{order}: {cents} cents"

    async def look(self, order: str, cents: int) -> str | NotDone:
        return f"{order}: {cents} cents" if order in self.booked else NOT_DONE


def _plain(bank: Bank) -> Tool[..., object]:
    @tool(timeout_s=5.0)
    async def pay(order: str, cents: int = 100) -> str:
        return await bank.book(order, cents)

    return pay


def _dangerous(bank: Bank) -> Tool[..., object]:
    @tool(timeout_s=5.0, danger="money")
    async def pay(order: str, cents: int = 100) -> str:
        return await bank.book(order, cents)

    return pay


def _keyed(bank: Bank) -> Tool[..., object]:
    @tool(timeout_s=5.0, accepts_key=True)
    async def pay(order: str, cents: int = 100, *, key: str) -> str:
        return await bank.book(order, cents, key)

    return pay


def _probed(bank: Bank) -> Tool[..., object]:
    @tool(timeout_s=5.0, probe=bank.look)
    async def pay(order: str, cents: int = 100) -> str:
        return await bank.book(order, cents)

    return pay


def _safe(bank: Bank) -> Tool[..., object]:
    @tool(timeout_s=5.0, safe_to_retry=True)
    async def pay(order: str, cents: int = 100) -> str:
        return await bank.book(order, cents)

    return pay


def _read(bank: Bank) -> Tool[..., object]:
    @tool(timeout_s=5.0, effect="read")
    async def pay(order: str, cents: int = 100) -> str:
        return await bank.book(order, cents)

    return pay


_MAKERS: dict[str, Callable[[Bank], Tool[..., object]]] = {
    "plain": _plain,
    "dangerous": _dangerous,
    "keyed": _keyed,
    "probed": _probed,
    "safe": _safe,
    "read": _read,
}

"""A process that makes one guarded payment, for tests that kill it in the middle of it.

    python guard_child.py STORE BOOKINGS (plain | keyed | probed) (die | pay)

``BOOKINGS`` gets a line for each booking; a key is booked once. ``die`` kills the process with SIGKILL
right after the booking, before anything can be recorded. What the caller gets is told on stdout.
"""

import os
import signal
import sys
from pathlib import Path

import anyio

from ukemi import NOT_DONE, InDoubt, NotDone, Runtime, tool
from ukemi.actors.tooling.tools import AnyTool


class Bank:
    """Books into a file; the process dies after a booking where it is told to."""

    def __init__(self, file: Path, *, dies: bool) -> None:
        self._file, self._dies = file, dies

    def _lines(self) -> list[str]:
        return self._file.read_text().splitlines() if self._file.exists() else []

    def book(self, line: str) -> str:
        if line not in self._lines() or line.endswith(" "):
            with self._file.open("a") as file:
                file.write(f"{line}\n")
        if self._dies:
            os.kill(os.getpid(), signal.SIGKILL)
        return f"paid {line.split()[0]}"

    async def look(self, order: str) -> str | NotDone:
        return f"paid {order}" if f"{order} " in self._lines() else NOT_DONE

    def tool(self, kind: str) -> AnyTool:
        """Return the payment, marked as its kind says."""

        async def pay(order: str) -> str:
            return self.book(f"{order} ")

        async def pay_keyed(order: str, *, key: str) -> str:
            return self.book(f"{order} {key}")

        match kind:
            case "keyed":
                return tool(name="pay", accepts_key=True)(pay_keyed)
            case "probed":
                return tool(probe=self.look)(pay)
            case _:
                return tool(pay)


async def main(store: str, bookings: str, kind: str, how: str) -> None:
    pay = Bank(Path(bookings), dies=how == "die").tool(kind)
    async with Runtime(store, guarded=[pay]) as runtime:
        try:
            found = await runtime.guard(pay, scope="order-1").detailed("o-1")
        except InDoubt:
            print("in doubt")
        else:
            print(f"{found.value}, replayed" if found.replayed else found.value)


if __name__ == "__main__":
    anyio.run(main, sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4])

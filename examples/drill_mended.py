"""The agent of ``drill_planted.py`` with its five mistakes mended: the drill finds nothing in it.

Run it with ``python examples/drill_mended.py``, or from this folder with
``ukemi drill drill_mended:clerk "Book seat 12A" --stub '*=own'``.
"""

from ukemi import NOT_DONE, Agent, tool
from ukemi.actors.tooling.marks import NotDone
from ukemi.models import ScriptedModel, call
from ukemi.testing import OWN, EffectStub, Reply, drill


def booked(seat: str) -> str:
    return f"booking of {seat}"


def charged(cents: int) -> str:
    return f"charge of {cents}"


# What the tools talk to: stand-ins that count what took effect.
airline = EffectStub(booked, name="airline", once_per=("key",))
bank = EffectStub(charged, name="bank", once_per=None)
post = EffectStub("sent", name="post", once_per=("key",))


async def release(result: str) -> None:
    """Takes the booking by what the call returned, and finds it however often it is asked."""
    airline.cancel(result)


def was_charged(cents: int) -> str | NotDone:
    """Asks for what was charged, in the form in which it was."""
    found = bank.find(cents=cents)
    return NOT_DONE if found is None else str(found)


@tool(effect="read", timeout_s=10)
async def seat_map() -> str:
    """Seats that are free."""
    return str(airline.tell(seat="12A"))


@tool(accepts_key=True, compensate=release, secrets=["token"], timeout_s=20)
async def book(seat: str, *, key: str, token: str) -> str:
    """Book a seat."""
    assert token, "goes to the airline, and nowhere else"
    return str(await airline(seat=seat, key=key))


@tool(probe=was_charged, timeout_s=20)
async def charge(cents: int) -> str:
    """Charge the card of the customer."""
    return str(await bank(cents=cents))


@tool(accepts_key=True, timeout_s=20)
async def mail(text: str, *, key: str) -> str:
    """Mail the customer; a key is mailed once."""
    return str(await post(text=text, key=key))


SCRIPT: list[Reply] = [
    call("seat_map"),
    call("book", seat="12A"),
    call("charge", cents=9900),
    call("mail", text="Seat 12A is yours"),
    "The seat is booked.",
]

clerk = Agent("clerk", model=ScriptedModel(SCRIPT), tools=[seat_map, book, charge, mail])


def main() -> None:
    report = drill(clerk, "Book seat 12A", stubs={"*": OWN})
    report.assert_promises()
    print(f"{len(report.cells)} faults, and every promise held")


if __name__ == "__main__":
    main()

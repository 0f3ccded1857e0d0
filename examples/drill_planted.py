"""What does a drill find? An agent with five mistakes that no ordinary run shows.

It books a seat, charges a card and sends a mail. Where nothing goes wrong, it works: the mistakes sit in
what runs only after a failure. Run it with ``python examples/drill_planted.py``, or from this folder
with ``ukemi drill drill_planted:clerk "Book seat 12A" --stub '*=own'``. Mended: ``drill_mended.py``.
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
post = EffectStub("sent", name="post", once_per=None)


async def release(result: str) -> None:
    """Mistake 1: a compensation that nobody has ever run, and that fails."""
    number = int(result.rpartition(" ")[2])  # the seat is no number
    airline.undo(f"booking of {number}")


def was_charged(cents: int) -> str | NotDone:
    """Mistake 2: a probe that lies; it looks for text among numbers."""
    found = bank.find(cents=str(cents))
    return NOT_DONE if found is None else str(found)


@tool(effect="read")
async def seat_map() -> str:
    """Seats that are free. Mistake 3: no timeout, so no answer is waited for until the session ends."""
    return str(airline.tell(seat="12A"))


@tool(accepts_key=True, compensate=release, secrets=["token"], timeout_s=20)
async def book(seat: str, *, key: str, token: str) -> str:
    """Book a seat. Mistake 4: a secret in the text of an error."""
    try:
        return str(await airline(seat=seat, key=key))
    except Exception as error:
        error.add_note(f"asked for {seat} with {token}")
        raise


@tool(probe=was_charged, timeout_s=20)
async def charge(cents: int) -> str:
    """Charge the card of the customer."""
    return str(await bank(cents=cents))


@tool(safe_to_retry=True, timeout_s=20)
async def mail(text: str) -> str:
    """Mail the customer. Mistake 5: said to be safe to repeat, and each repeat is a second mail."""
    return str(await post(text=text))


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
    for finding in report.findings:
        print(f"{finding.promise}: {finding.tool}: {finding.why}")
    assert report.found("undone", "book"), "the compensation that fails"
    assert report.found("probe", "charge"), "the probe that lies"
    assert report.found("bounded", "seat_map"), "the missing timeout"
    assert report.found("secret", "book"), "the secret in an error"
    assert report.found("once", "mail"), "the tool that is not safe to repeat"


if __name__ == "__main__":
    main()

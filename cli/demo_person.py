"""The person of the demo: answers what is in doubt as `ukemi resolve` does, and requests as `ukemi approve`."""

from io import StringIO

import anyio.to_thread
import msgspec
from msgspec import Struct

from ..actors.outcome import DoubtfulCall
from ..actors.people_events import ApprovalRequested
from ..stores.decisions import Decide, Resolve
from .approvals import Answer
from .approvals import answer as give
from .demo_agents import numbers_of, post_order, stock_of
from .output import Output
from .resolve import ResolveRequest, resolve

PERSON = "the demo's person"

Question = tuple[str, int, int]
"""A session and its call: number and index."""


class Person(Struct):
    """Who is asked, and what about so far. One question is answered once."""

    service: str
    store: str
    asked: set[Question] = set()

    async def answer(self, session_id: str, doubt: DoubtfulCall) -> str | None:
        """Find out about a call in doubt and give the answer to the store; whoever drives the
        session takes it from there. Returns what was said, None where that was said before.

        Raises:
            UkemiError: the store does not take the answer.
            OSError, ShopError: the shop cannot be asked.
        """
        question = session_id, doubt.n, doubt.index
        if question in self.asked:
            return None
        self.asked.add(question)
        text = await anyio.to_thread.run_sync(look_into, self.service, doubt)
        said = Resolve("done", (doubt.n, doubt.index), text, None)
        request = ResolveRequest(session_id=session_id, said=said, by=PERSON, store=self.store)
        await resolve(Output(StringIO(), StringIO()), request)
        return text

    async def judge(self, asked: ApprovalRequested) -> str:
        """Decide whether a call may run, and give that to the store. Returns what was decided.

        Raises:
            UkemiError: the store does not take the answer.
            OSError, ShopError: the shop cannot be asked.
        """
        said, text = await anyio.to_thread.run_sync(look_at, self.service, asked)
        given = Answer(request=asked.request, decision=said, by=PERSON, store=self.store)
        await give(Output(StringIO(), StringIO()), given)
        return text


def look_at(service: str, asked: ApprovalRequested) -> tuple[Decide, str]:
    """Do what a person does who is asked about an order: approve what the shop can deliver."""
    wanted = msgspec.json.decode(asked.arguments)
    there = stock_of(service, str(wanted["sku"]))
    what = f"{wanted['order']}: {wanted['units']} x {wanted['sku']}, {there} in stock"
    if there >= wanted["units"]:
        return Decide("approve"), f"approved {what}"
    return Decide("deny", result=f"only {there} in stock"), f"denied {what}"


def look_into(service: str, doubt: DoubtfulCall) -> str:
    """Do what a person does with an order in doubt: look into the shop's book, or order by hand."""
    wanted = msgspec.json.decode(doubt.arguments)
    order = str(wanted["order"])
    numbers = numbers_of(service, order)
    if numbers:
        return f"{order} was booked after all, its number is {numbers[0]}."
    number = post_order(service, order, wanted["sku"], wanted["units"], f"by-hand-{order}")
    return f"{order} was not booked; I ordered it by hand, its number is {number}."

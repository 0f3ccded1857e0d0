"""The demo's sessions whose orders take effect without anybody being told so, or have to be undone.

An order is booked and its answer never comes, or the process dies before it does: then a probe finds
it, or, where there is none, a person. And an order that is of no use alone is cancelled when the
one beside it is refused.
"""

from msgspec import Struct

from ..actors.agent import Agent
from ..actors.tooling.marks import NOT_DONE, NotDone
from ..actors.tooling.tools import AnyTool, tool
from ..models import ScriptedModel
from .demo_agents import (
    HTTP_S_MAX,
    ORDER_INSTRUCTIONS,
    cancel_at_shop,
    order_tools,
    post_order,
    settled_numbers_of,
    think_and_order,
)
from .demo_service import SILENT, SILENT_S_MAX

HASTE_S = 1.0
"""Seconds after which the hasty one hangs up; the shop has been asked by then, or is waited for."""

UNITS = 5


class Errand(Struct, frozen=True, kw_only=True):
    """A session, what it orders, and how its effects end.

    Attributes:
        skus: the articles, an order of each.
        tool: what it orders with.
        by: who says in the end that its first order took effect; see `EffectRecord.by`.
        compensated: its first order is cancelled, and the session handed over.
        killed: it begins in the worker that is killed, and only then when its order is booked.
    """

    session: str
    skus: tuple[str, ...]
    tool: str
    by: str = ""
    compensated: bool = False
    killed: bool = False

    @property
    def orders(self) -> list[str]:
        """The names of its orders."""
        return [f"{self.session}-{at}" for at in range(1, len(self.skus) + 1)]

    @property
    def task(self) -> str:
        """What it is told to do."""
        pairs = zip(self.orders, self.skus, strict=True)
        lines = [f"{order}: {UNITS} x {sku}" for order, sku in pairs]
        return "\n".join(["Please order:", *lines])


TIMED_OUT = Errand(session="late-answer", skus=(SILENT,), tool="order_in_haste", by="probe")
KILLED = Errand(
    session="no-answer", skus=(SILENT,), tool="order_with_patience", by="probe", killed=True
)
ASKED = Errand(session="no-key", skus=("H-000",), tool="order_by_form", by="person")
UNDONE = Errand(session="all-or-none", skus=("A-17", "S-409"), tool="order_part", compensated=True)

ERRANDS = (KILLED, TIMED_OUT, ASKED, UNDONE)


def errand_orders() -> list[str]:
    """Return the names of the orders that should stand in the end."""
    return [order for each in ERRANDS if not each.compensated for order in each.orders]


def cancelled_orders() -> list[str]:
    """Return the names of the orders that should be booked, and cancelled."""
    return [each.orders[0] for each in ERRANDS if each.compensated]


# ---------------------------------------------------------------- who runs them


def make_runners(service: str) -> list[Agent]:
    """Return an agent for each errand, of its name; scripted, whatever model the others use."""
    stock, _, form = order_tools(service)
    ways = {
        TIMED_OUT: probed_tool(service, TIMED_OUT.tool, HASTE_S),
        KILLED: probed_tool(service, KILLED.tool, SILENT_S_MAX),
        ASKED: form,
        UNDONE: part_tool(service),
    }
    return [
        Agent(
            errand.session,
            model=ScriptedModel(think_and_order),
            tools=[stock, way],
            instructions=ORDER_INSTRUCTIONS,
        )
        for errand, way in ways.items()
    ]


def probed_tool(service: str, name: str, patience_s: float) -> AnyTool:
    """Return a tool that orders without a key, and can find out whether an order is there."""

    def find(order: str) -> str | NotDone:
        numbers = settled_numbers_of(service, order)
        return numbers[0] if numbers else NOT_DONE

    @tool(
        name=name,
        effect="write",
        probe=find,
        danger="money",
        upstream="wholesale",
        timeout_s=SILENT_S_MAX + HTTP_S_MAX,
    )
    def order(order: str, sku: str, units: int) -> str:
        """Place an order under its name; returns its number."""
        return post_order(service, order, sku, units, None, patience_s=patience_s)

    return order


def part_tool(service: str) -> AnyTool:
    """Return a tool whose orders are cancelled if a later step of the session fails."""

    def cancel(result: str) -> str:
        cancel_at_shop(service, result)
        return f"{result} is cancelled"

    @tool(
        effect="write",
        accepts_key=True,
        compensate=tool(name="cancel_part", safe_to_retry=True)(cancel),
        danger="money",
        upstream="wholesale",
        timeout_s=HTTP_S_MAX,
    )
    def order_part(order: str, sku: str, units: int, *, key: str) -> str:
        """Place an order under its name, of use only with the others; returns its number."""
        return post_order(service, order, sku, units, key)

    return order_part

"""The demo's sessions that order from a supplier who goes wrong, each in another way.

What the supplier does stands in `demo_service`; its answers are raised as a plain HTTP client
raises them, and nobody tells Ukemi what kind of failure they are.
"""

import re

from msgspec import Struct

from ..actors.agent import Agent
from ..actors.model import ModelRequest, ToolMessage, UserMessage
from ..actors.tooling.tools import AnyTool, tool
from ..models import Reply, ScriptedModel, call
from ..supervisor.errors import ErrorClass
from .demo_agents import HTTP_S_MAX, MODEL_DELAY_S, post_order

_C = ErrorClass
ASKED_UNITS = 80


class Meeting(Struct, frozen=True):
    """A session and the fault it meets: the article, the class it is, whether it is overcome."""

    session: str
    sku: str
    error_class: ErrorClass
    overcome: bool

    @property
    def order(self) -> str:
        """The name of its order."""
        return f"{self.session}a"


MEETINGS = (
    Meeting("fault-429", "Q-429", _C.RATE_LIMITED, True),
    Meeting("fault-503", "U-503", _C.TRANSIENT, True),
    Meeting("fault-drop", "H-000", _C.IN_DOUBT_TIMEOUT, True),
    Meeting("fault-400", "A-400", _C.INVALID_ARGUMENT, True),
    Meeting("fault-403", "P-403", _C.PERMISSION_DENIED, False),
    Meeting("fault-409", "S-409", _C.BUSINESS_REJECTED, False),
    Meeting("fault-500", "Z-500", _C.BUSINESS_REJECTED, False),
    Meeting("fault-unknown", "Z-999", _C.UNKNOWN, False),
)


def fault_orders() -> list[str]:
    """Return the names of the orders that the supplier should end with."""
    return [each.order for each in MEETINGS if each.overcome]


def fault_task(meeting: Meeting) -> str:
    """Return the task of a session that meets a fault."""
    return f"Please order from the supplier: {meeting.order}: {ASKED_UNITS} x {meeting.sku}"


# ---------------------------------------------------------------- who meets them


def make_clerk(service: str) -> Agent:
    """Return the agent that orders from the supplier; scripted, whatever model the others use."""
    return Agent(
        "clerk",
        model=ScriptedModel(say_clerk, delay_s=MODEL_DELAY_S),
        tools=[supplier_tool(service)],
        instructions="You order from the supplier, each order once, and say its number.",
    )


def supplier_tool(service: str) -> AnyTool:
    """Return the tool that orders at this address; another upstream than the shop's."""

    @tool(
        effect="write", accepts_key=True, danger="money", upstream="supplier", timeout_s=HTTP_S_MAX
    )
    def order_supplies(order: str, sku: str, units: int, *, key: str) -> str:
        """Place an order with the supplier under its name; returns its number."""
        return post_order(service, order, sku, units, key)

    return order_supplies


_WANTED = re.compile(r"(\S+): (\d+) x (\S+)$")
_AT_MOST = re.compile(r"at most (\d+)")


def say_clerk(request: ModelRequest) -> Reply:
    """Place the order; with fewer units where the supplier asks for that, and say so; report how it went."""
    results = [each for each in request.messages if isinstance(each, ToolMessage)]
    task = next(each.text for each in request.messages if isinstance(each, UserMessage))
    ((order, units, sku),) = _WANTED.findall(task)
    if not results:
        return call("order_supplies", order=order, sku=sku, units=int(units))
    last = results[-1]
    fewer = _AT_MOST.search(results[0].content)
    if not last.is_error:
        only = "" if fewer is None else f", {fewer[1]} units, the most that the supplier takes"
        return f"Ordered: {order} is {last.content}{only}"
    if fewer is not None and len(results) == 1:
        return call("order_supplies", order=order, sku=sku, units=int(fewer[1]))
    return f"blocked, because the supplier refused {order}: {last.content.splitlines()[0]}"

"""The demo's agents: one repairs a project, the others order goods. Scripted, or on a real model.

The scripts decide by the request alone, so they go on in another process where they stopped.
"""

import http.client
import json
import re
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote, urlsplit

import anyio

from ..actors.agent import Agent
from ..actors.model import (
    AssistantMessage,
    Message,
    Model,
    ModelRequest,
    NoteMessage,
    ToolMessage,
    UserMessage,
)
from ..actors.tooling.context import current
from ..actors.tooling.tools import AnyTool, tool
from ..models import Reply, ScriptedModel, call, parse_model
from ..stores.records import ToolCall
from ..tools import list_files, read_file, write_file
from .demo_project_copy import run_project_tests

REPAIR_TASK = (
    "Some tests of the Python project in your working directory fail. Find the faults in till/ and "
    "mend them; do not change the tests. Finish when run_tests reports OK."
)
REPAIR_INSTRUCTIONS = (
    "You repair small Python projects. Look at the files, run the tests, rewrite what is wrong with "
    "write_file (it takes the whole new file), and run the tests again."
)
ORDER_INSTRUCTIONS = (
    "You order goods. For each order of the task, ask for the stock, then place the order once, "
    "under the order's name. Never place an order again that was cut off: a person looks into it "
    "and you are told. At the end say the number of each order."
)
HTTP_S_MAX = 10.0
MODEL_DELAY_S = 0.08
PACES, PACE_S = 5, 0.08
TESTS_TIMEOUT_S = 40.0

ARTICLES = ("A-17", "B-04", "C-33", "D-20", "E-51", "F-08")
ORDER_SESSIONS = 12
ORDERS_PER_SESSION = 2


# ---------------------------------------------------------------- who does what


def order_session_ids() -> list[str]:
    """Return the names of the sessions that order goods."""
    return [f"order-{number:02d}" for number in range(1, ORDER_SESSIONS + 1)]


def orders_of(session_id: str) -> list[tuple[str, str, int]]:
    """Return a session's orders: name, article and units of each."""
    number = int(session_id.rpartition("-")[2])
    return [
        (
            f"{session_id}{'ab'[at]}",
            ARTICLES[(number + 3 * at) % len(ARTICLES)],
            1 + (number + at) % 5,
        )
        for at in range(ORDERS_PER_SESSION)
    ]


def order_task(session_id: str) -> str:
    """Return the task of a session that orders goods."""
    lines = [f"{name}: {units} x {sku}" for name, sku, units in orders_of(session_id)]
    return "\n".join(["Please order:", *lines])


def buyer_of(session_id: str) -> str:
    """Return which agent orders: every third has only the old form, which knows no keys."""
    return "old-form" if int(session_id.rpartition("-")[2]) % 3 == 0 else "buyer"


def make_agents(service: str, model: str | None) -> list[Agent]:
    """Return the demo's agents, talking to the order service at this address.

    Raises:
        UsageError: the word names no model, or its SDK is missing.
    """
    real = None if model is None else parse_model(model)
    stock, place_order, order_by_form = order_tools(service)

    def brain(script: Any) -> Model:
        return real or ScriptedModel(script, delay_s=MODEL_DELAY_S)

    return [
        Agent(
            "repairer",
            model=brain(say_repair),
            tools=[list_files, read_file, write_file, run_tests],
            instructions=REPAIR_INSTRUCTIONS,
        ),
        Agent(
            "buyer",
            model=brain(think_and_order),
            tools=[stock, place_order],
            instructions=ORDER_INSTRUCTIONS,
        ),
        Agent(
            "old-form",
            model=brain(think_and_order),
            tools=[stock, order_by_form],
            instructions=ORDER_INSTRUCTIONS,
        ),
    ]


# ---------------------------------------------------------------- tools


@tool(effect="read", timeout_s=TESTS_TIMEOUT_S)
async def run_tests() -> str:
    """Run the project's tests; tells the exit status and what was printed."""
    run = await run_project_tests(current().working_directory)
    return f"exit status {run.status}\n{run.printed}"


def order_tools(service: str) -> tuple[AnyTool, AnyTool, AnyTool]:
    """Return the tools of the shop at this address: stock, and two ways to order."""

    @tool(effect="read", upstream="shop", timeout_s=HTTP_S_MAX)
    def stock(sku: str) -> int:
        """Units of an article in stock."""
        return stock_of(service, sku)

    @tool(effect="write", accepts_key=True, danger="money", upstream="shop", timeout_s=HTTP_S_MAX)
    def place_order(order: str, sku: str, units: int, *, key: str) -> str:
        """Place an order under its name; returns its number."""
        return post_order(service, order, sku, units, key)

    @tool(effect="write", danger="money", upstream="shop", timeout_s=HTTP_S_MAX)
    def order_by_form(order: str, sku: str, units: int) -> str:
        """Place an order under its name with the old form; returns its number."""
        return post_order(service, order, sku, units, None)

    return stock, place_order, order_by_form


def post_order(
    service: str,
    order: str,
    sku: str,
    units: int,
    key: str | None,
    *,
    patience_s: float = HTTP_S_MAX,
) -> str:
    """Order at the shop, with a key that makes a repeat harmless or without."""
    body = {"order": order, "sku": sku, "units": units}
    answer = ask_shop(service, "POST", "/orders", body, key, patience_s=patience_s)
    return str(answer["number"])


def stock_of(service: str, sku: str) -> int:
    """Return how many units of an article the shop has."""
    return int(ask_shop(service, "GET", f"/stock/{quote(sku)}")["units"])


def cancel_at_shop(service: str, number: str) -> None:
    """Have an order cancelled; one that is cancelled already stays so."""
    ask_shop(service, "POST", "/cancel", {"number": number})


def numbers_of(service: str, order: str) -> list[str]:
    """Return the numbers under which the shop has booked an order."""
    return [str(each) for each in ask_shop(service, "GET", f"/orders/{quote(order)}")["numbers"]]


def settled_numbers_of(service: str, order: str) -> list[str]:
    """Return the same, and give an order that may be on its way the time to come in."""
    return [str(each) for each in ask_shop(service, "GET", f"/settled/{quote(order)}")["numbers"]]


class ShopError(Exception):
    """The shop answered with an error; what kind of failure that is says nobody here."""

    def __init__(self, status_code: int, headers: dict[str, str], body: str) -> None:
        super().__init__(f"status {status_code}: {body}")
        self.status_code = status_code
        self.headers = headers
        self.body = body


def ask_shop(
    service: str,
    method: str,
    path: str,
    body: object = None,
    key: str | None = None,
    *,
    patience_s: float = HTTP_S_MAX,
) -> dict[str, Any]:
    """Send one request to the shop.

    Raises:
        ShopError: it answered with an error.
        OSError, http.client.HTTPException: there was no connection, or no whole answer.
    """
    connection = http.client.HTTPConnection(urlsplit(service).netloc, timeout=patience_s)
    headers = {"Content-Type": "application/json"} | ({"Idempotency-Key": key} if key else {})
    connection.connect()
    try:
        connection.request(method, path, json.dumps(body) if body else None, headers)
        answer = connection.getresponse()
        text = answer.read().decode(errors="replace")
    finally:
        connection.close()
    if answer.status >= 400:
        raise ShopError(answer.status, dict(answer.headers), text)
    data: dict[str, Any] = json.loads(text)
    return data


# ---------------------------------------------------------------- the script of an order


_ORDER_LINE = re.compile(r"^(\S+): (\d+) x (\S+)$", re.MULTILINE)
_NUMBER = re.compile(r"K-\d+")


async def think_and_order(request: ModelRequest) -> Reply:
    """Answer as `say_order`, each session at its own pace, so that they are never all in step."""
    digits = "".join(char for char in request.session_id if char.isdigit())
    await anyio.sleep(int(digits or 0) % PACES * PACE_S)
    return say_order(request)


def say_order(request: ModelRequest) -> Reply:
    """Go through the orders of the task: ask for the stock, place the order, say its number."""
    messages = request.messages
    task = next(message.text for message in messages if isinstance(message, UserMessage))
    wanted = _ORDER_LINE.findall(task)
    way = next(each.name for each in request.tools if each.name != "stock")
    for order, units, sku in wanted:
        if _call_about(messages, "stock", sku) is None:
            return call("stock", sku=sku)
        if _call_about(messages, way, order) is None:
            return call(way, order=order, sku=sku, units=int(units))
    said = {order: _number_of(messages, way, order) for order, _, _ in wanted}
    missing = [order for order, number in said.items() if number is None]
    if missing:
        return f"blocked, because nobody could say the number of {', '.join(missing)}"
    return "Ordered: " + ", ".join(f"{order} is {number}" for order, number in said.items())


def _call_about(messages: Sequence[Message], name: str, subject: str) -> ToolCall | None:
    """Return the call of this tool about this order or article, if there was one."""
    for message in messages:
        for each in message.calls if isinstance(message, AssistantMessage) else ():
            if each.name == name and subject in json.loads(each.arguments).values():
                return each
    return None


def _number_of(messages: Sequence[Message], way: str, order: str) -> str | None:
    """Return an order's number: what the shop answered, or what a person found out."""
    asked = _call_about(messages, way, order)
    told = re.compile(rf"{re.escape(order)}\b[^.]*?({_NUMBER.pattern})")
    for message in messages:
        match message:
            case ToolMessage(is_error=False) if asked is not None and message.call_id == asked.id:
                found = _NUMBER.search(message.content)
            case UserMessage() | NoteMessage():
                found = told.search(message.text)
            case _:
                continue
        if found is not None:
            return found[found.lastindex or 0]
    return None


# ---------------------------------------------------------------- the script of the repair

FIXES = {
    "till/money.py": (
        "int(cents or 0)",
        'int(cents.ljust(2, "0"))',
    ),
    "till/discount.py": (
        "    if pieces >= 10:\n        return 5\n    if pieces >= 100:\n        return 12\n",
        "    if pieces >= 100:\n        return 12\n    if pieces >= 10:\n        return 5\n",
    ),
    "till/receipt.py": (
        "    lines: list[tuple[str, int, int]] = []\n",
        "    def __init__(self) -> None:\n        self.lines: list[tuple[str, int, int]] = []\n",
    ),
}


def say_repair(request: ModelRequest) -> Reply:
    """Look around, then for each faulty file: read it with its test, rewrite it, run the tests."""
    turn = sum(isinstance(message, AssistantMessage) for message in request.messages)
    opening: list[list[ToolCall]] = [
        [call("list_files", path="."), call("list_files", path="till")],
        [call("run_tests")],
    ]
    if turn < len(opening):
        return opening[turn]
    which, stage = divmod(turn - len(opening), 3)
    if which < len(FIXES):
        path = list(FIXES)[which]
        match stage:
            case 0:
                test = path.replace("till/", "tests/test_")
                return [call("read_file", path=test), call("read_file", path=path)]
            case 1:
                return call("write_file", path=path, text=_mended(request.messages, path))
            case _:
                return call("run_tests")
    return _report(request.messages)


def _mended(messages: Sequence[Message], path: str) -> str:
    """Return the file as it was last read, with its fault mended."""
    old, new = FIXES[path]
    return _last_result(messages, "read_file").replace(old, new)


def _last_result(messages: Sequence[Message], name: str) -> str:
    found = [each for each in messages if isinstance(each, ToolMessage) and each.name == name]
    return found[-1].content if found else ""


def _report(messages: Sequence[Message]) -> str:
    tested = _last_result(messages, "run_tests")
    if tested.startswith("exit status 0"):
        return f"Three faults are mended, in {', '.join(FIXES)}; all tests pass."
    return f"The tests still fail: {tested.splitlines()[-1] if tested else 'they never ran'}"

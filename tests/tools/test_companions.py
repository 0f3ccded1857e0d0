"""How a function beside a tool is called: by the names it takes, checked where the tool is defined."""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, TypedDict

import msgspec
import pytest

from ukemi.actors.tooling.companions import Companion
from ukemi.actors.tooling.results import render_result
from ukemi.actors.tooling.tools import tool
from ukemi.supervisor.errors import ToolBug, UsageError


@dataclass
class Order:
    number: str
    units: int


class Seat(TypedDict):
    row: int


class Opaque:
    """A type no JSON can be read into."""


def companion(compensate: Callable[..., Any], **marks: Any) -> Companion:
    @tool(name="order", compensate=compensate, **marks)
    def order(sku: str, units: int = 1) -> str: ...  # type: ignore[empty-body]

    assert order.compensation is not None
    return order.compensation


# ---------------------------------------------------------------- what it is given


def nothing() -> None: ...
def argument(sku: str) -> None: ...
def optional(units: int) -> None: ...
def returned(result: str) -> None: ...
def keyed(sku: str, *, key: str) -> None: ...
def anything(**given: Any) -> None: ...
def with_default(sku: str, reason: str = "failed") -> None: ...


class Given(msgspec.Struct):
    rule: str
    function: Callable[..., Any]
    given: dict[str, object]


GIVEN = [
    Given("a function of nothing gets nothing", nothing, {}),
    Given("arguments go by their names", argument, {"sku": "A"}),
    Given("what the model left out is the tool's default", optional, {"units": 1}),
    Given("what the call returned is the result", returned, {"result": "O-1"}),
    Given("a key goes to whoever takes one", keyed, {"sku": "A", "key": "k"}),
    Given(
        "what takes all gets all but the key", anything, {"sku": "A", "units": 1, "result": "O-1"}
    ),
    Given("its own defaults stay its own", with_default, {"sku": "A"}),
]


@pytest.mark.parametrize("case", GIVEN, ids=attrgetter("rule"))
def test_what_it_is_given(case: Given) -> None:
    found = companion(case.function).given({"sku": "A"}, result=("O-1", None), key="k")
    assert found == case.given


def test_secrets_of_the_tool_go_to_whoever_names_them() -> None:
    def cancel(sku: str, token: str) -> None: ...

    @tool(compensate=cancel, secrets=["token"])
    def order(sku: str, token: str) -> str: ...  # type: ignore[empty-body]

    assert order.compensation is not None
    found = order.compensation.given({"sku": "A"}, secrets={"token": "t"})
    assert found == {"sku": "A", "token": "t"}


def test_a_tool_as_compensation_brings_its_own_marks() -> None:
    @tool(safe_to_retry=True, timeout_s=3.0, upstream="desk")
    def cancel(sku: str) -> None: ...

    found = companion(cancel, timeout_s=20.0, upstream="shop")
    assert (found.safe_to_retry, found.timeout_s, found.upstream) == (True, 3.0, "desk")
    plain = companion(argument, timeout_s=20.0, upstream="shop")
    assert (plain.safe_to_retry, plain.timeout_s, plain.upstream) == (False, 20.0, "shop")


# ---------------------------------------------------------------- what was recorded comes back


def as_order(result: Order) -> None: ...
def as_seat(result: Seat) -> None: ...
def as_text(result: str) -> None: ...
def as_bytes(result: bytes) -> None: ...
def as_number(result: int) -> None: ...
def as_maybe(result: str | None) -> None: ...
def as_none(result: None) -> None: ...
def as_it_is(result) -> None: ...  # type: ignore[no-untyped-def]


RECORDED: list[tuple[Callable[..., Any], object, object]] = [
    (as_order, Order("O-1", 3), Order("O-1", 3)),
    (as_seat, {"row": 3}, {"row": 3}),
    (as_text, "O-1", "O-1"),
    (as_text, 7, "7"),
    (as_bytes, b"O-1", b"O-1"),
    (as_number, 7, 7),
    (as_maybe, "O-1", "O-1"),
    (as_maybe, None, None),
    (as_none, None, None),
    (as_it_is, {"row": [1, 2]}, {"row": [1, 2]}),
    (as_it_is, "O-1", "O-1"),
    (as_it_is, Order("O-1", 3), {"number": "O-1", "units": 3}),
]


@pytest.mark.parametrize(("function", "value", "back"), RECORDED)
def test_a_recorded_result_comes_back_as_what_it_is_annotated_with(
    function: Callable[..., Any], value: object, back: object
) -> None:
    kept = render_result(value)
    found = companion(function).given({"sku": "A"}, result=(kept.content, kept.value_type))
    assert found["result"] == back and type(found["result"]) is type(back)


def test_a_person_may_give_the_result_as_json() -> None:
    given = companion(as_order).given({}, result=('{"number":"O-1","units":3}', None))
    assert given["result"] == Order("O-1", 3)


def test_a_result_of_another_type_is_a_fault_and_nothing_has_run() -> None:
    with pytest.raises(ToolBug, match="not of the type") as caught:
        companion(as_order).given({}, result=("[1]", "list"))
    assert caught.value.may_have_executed == "no"


# ---------------------------------------------------------------- what cannot work is refused


def stranger(payment_id: str) -> None: ...
def positional(sku: str, /) -> None: ...
def opaque(result: Opaque) -> None: ...
def yields(sku: str) -> Any:
    yield sku


REFUSED: list[tuple[Callable[..., Any], str]] = [
    (stranger, "compensate=stranger needs 'payment_id'.*arguments of order .sku, units.*result"),
    (positional, "positional-only sku"),
    (opaque, "annotates 'result' .*cannot be read"),
    (yields, "yields"),
]


@pytest.mark.parametrize(("function", "said"), REFUSED)
def test_what_could_not_be_called_is_refused_where_it_is_declared(
    function: Callable[..., Any], said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        companion(function)


def test_a_tool_whose_argument_is_called_result_cannot_be_told_from_its_result() -> None:
    with pytest.raises(UsageError, match="give the argument another name"):

        @tool(compensate=as_text)
        def store(result: str) -> None: ...


# ---------------------------------------------------------------- running


@pytest.mark.realtime
@pytest.mark.anyio
async def test_a_sync_one_runs_in_a_thread_and_an_async_one_here() -> None:
    seen: list[threading.Thread] = []

    def sync(sku: str) -> None:
        seen.append(threading.current_thread())

    async def asynchronous(sku: str) -> None:
        seen.append(threading.current_thread())

    for function in (sync, asynchronous):
        one = companion(function)
        await one.call(one.given({"sku": "A"}))
    here = threading.current_thread()
    assert seen[0] is not here and seen[1] is here

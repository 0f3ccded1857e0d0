"""The tools of one agent: names, schemas, secrets, and which calls run side by side."""

from typing import Any, NamedTuple

import pytest

from ukemi.actors.tooling.toolbox import Toolbox
from ukemi.actors.tooling.tools import tool
from ukemi.stores.records import ToolCall
from ukemi.supervisor.errors import InvalidArgument, UsageError


@tool(effect="read")
def stock(sku: str) -> int:
    """Units in stock."""
    return len(sku)


@tool(effect="read")
def price(sku: str) -> int:
    return len(sku)


@tool
def place_order(sku: str) -> str:
    return sku


@tool(secrets=["token"])
def pay(sku: str, *, token: str) -> str:
    return sku + token


@tool(secrets=["hint"])
def ship(sku: str, *, hint: str = "") -> str:
    return sku + hint


def plain(sku: str) -> str:
    return sku


BOX = Toolbox([stock, price, place_order])


def test_schemas_are_what_the_model_needs() -> None:
    first = BOX.schemas()[0]
    assert (first.name, first.description) == ("stock", "Units in stock.")
    assert first.parameters == stock.parameters
    assert [one.name for one in BOX.schemas()] == ["stock", "price", "place_order"]
    assert BOX.schemas() is BOX.schemas()
    assert len(BOX) == 3
    assert "stock" in BOX
    assert list(BOX) == [stock, price, place_order]
    assert Toolbox([]).schemas() == ()


def test_two_tools_of_one_name_are_refused() -> None:
    other = tool(name="stock")(plain)
    with pytest.raises(UsageError) as caught:
        Toolbox([stock, other])
    for part in ("'stock'", "test_toolbox.stock", "test_toolbox.plain", "name="):
        assert part in str(caught.value)


@pytest.mark.parametrize("value", [plain, lambda: None, 7, None, "stock"])
def test_what_is_no_tool_is_refused(value: Any) -> None:
    with pytest.raises(UsageError, match="@tool"):
        Toolbox([stock, value])


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("stocks", "did you mean stock?"),
        ("place-order", "did you mean place_order?"),
        ("fly_to_the_moon", "the tools are: stock, price, place_order"),
        ("", "the tools are: stock"),
        ("x" * 100_000, "the tools are: stock"),
        ("a\ud83d", "the tools are"),
    ],
)
def test_an_unknown_tool_is_an_error_the_model_can_mend(name: str, says: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        BOX.get(name)
    assert says in str(caught.value)
    assert len(str(caught.value)) < 500
    assert caught.value.fields == ("name",)
    assert BOX.get("stock") is stock


def test_without_tools_the_message_says_so() -> None:
    with pytest.raises(InvalidArgument, match="the tools are: none"):
        Toolbox([]).get("stock")


def test_a_long_list_of_names_is_bounded() -> None:
    box = Toolbox([tool(name=f"t{n}")(plain) for n in range(100)])
    with pytest.raises(InvalidArgument, match="and 80 more"):
        box.get("fly")


def test_secrets_go_to_the_tools_that_name_them_and_to_no_other() -> None:
    box = Toolbox([stock, pay, ship], secrets={"token": "tok-123456", "other": "oth-123456"})
    assert box.secrets_for(pay) == {"token": "tok-123456"}
    assert box.secrets_for(stock) == box.secrets_for(ship) == {}
    assert box.mask("tok-123456 oth-123456") == "*** ***"


def test_a_secret_that_is_missing_is_told_at_once() -> None:
    with pytest.raises(UsageError, match=r"'pay' needs the secret 'token'.*secrets="):
        Toolbox([pay], secrets={"tokens": "x"})
    Toolbox([ship])  # its secret has a default


class Waves(NamedTuple):
    rule: str
    calls: str
    waves: list[list[int]]


WAVES = [
    Waves("no call", "", []),
    Waves("reads go together", "r q r", [[0, 1, 2]]),
    Waves("writes go one by one", "w w", [[0], [1]]),
    Waves("a write waits for the reads in front of it", "r q w", [[0, 1], [2]]),
    Waves("reads behind a write wait for it", "w r q", [[0], [1, 2]]),
    Waves("reads do not pass a write", "r w q r", [[0], [1], [2, 3]]),
    Waves("an unknown tool disturbs nobody", "r ? q", [[0, 1, 2]]),
    Waves("an incomplete call disturbs nobody", "r ! q", [[0, 1, 2]]),
]
NAMES = {"r": "stock", "q": "price", "w": "place_order", "?": "nobody", "!": "place_order"}


@pytest.mark.parametrize("case", WAVES, ids=lambda case: case.rule)
def test_calls_run_side_by_side_where_their_tools_allow(case: Waves) -> None:
    calls = [
        ToolCall(str(n), NAMES[sign], problem="cut off" if sign == "!" else None)
        for n, sign in enumerate(case.calls.split())
    ]
    assert BOX.waves(calls) == case.waves
    assert [index for wave in case.waves for index in wave] == list(range(len(calls)))

"""Arguments of a call: checked against the types, and brought into one canonical form."""

import json
import random
from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
import pytest

from ukemi.actors.tooling.arguments import (
    BYTES_MAX,
    DEPTH_MAX,
    FORM,
    canonical_arguments,
    canonical_defaults,
    digest,
    parse_object,
)
from ukemi.actors.tooling.tools import tool
from ukemi.supervisor.errors import InvalidArgument


class Item(msgspec.Struct):
    sku: str
    units: int = 1

    def __post_init__(self) -> None:
        if self.units > 100:
            raise ValueError("units is above 100")


@tool
def order(
    sku: str,
    units: Annotated[int, msgspec.Meta(ge=1)] = 1,
    mode: Literal["fast", "slow"] = "slow",
    items: list[Item] | None = None,
    labels: dict[str, int] | None = None,
    at: datetime | None = None,
    free: Any = None,
) -> None:
    """Order something."""


@tool
def nothing() -> None:
    """Take no arguments."""


def test_arguments_become_what_the_function_takes() -> None:
    sent = (
        '{"sku": "A-17", "items": [{"sku": "b"}], "at": "2026-01-02T03:04:05Z", "free": [1, null]}'
    )
    found = order.check(sent)
    assert found["sku"] == "A-17"
    assert found["items"] == [Item("b", 1)]
    assert isinstance(found["at"], datetime)
    assert found["free"] == [1, None]


def test_what_was_not_sent_is_left_to_the_functions_defaults() -> None:
    assert order.check('{"sku": "a"}') == {"sku": "a"}
    assert order.check('{"sku": "a", "items": null}') == {"sku": "a", "items": None}
    assert nothing.check("{}") == {}


class Wrong(NamedTuple):
    rule: str
    arguments: str
    fields: tuple[str, ...]
    says: tuple[str, ...]


WRONG = [
    Wrong("missing", "{}", ("sku",), ("sku: missing",)),
    Wrong("wrong type", '{"sku": 7}', ("sku",), ("sku: Expected `str`, got `int`",)),
    Wrong("unknown", '{"sku": "a", "skus": 1}', ("skus",), ("skus: unknown", "takes: sku, units")),
    Wrong("unknown where there are none", '{"a": 1}', ("a",), ("takes: none",)),
    Wrong(
        "several at once",
        '{"units": "x", "colour": 1}',
        ("sku", "units", "colour"),
        ("sku: missing", "units: Expected `int`", "colour: unknown"),
    ),
    Wrong("below a bound", '{"sku": "a", "units": 0}', ("units",), (">= 1",)),
    Wrong("a fraction", '{"sku": "a", "units": 1.5}', ("units",), ("got `float`",)),
    Wrong("null", '{"sku": null}', ("sku",), ("got `null`",)),
    Wrong("a boolean for a number", '{"sku": "a", "units": true}', ("units",), ("got `bool`",)),
    Wrong(
        "inside an array",
        '{"sku": "a", "items": [{"sku": "a"}, {"sku": 1}]}',
        ("items[1].sku",),
        ("`str`",),
    ),
    Wrong(
        "missing inside",
        '{"sku": "a", "items": [{}]}',
        ("items[0]",),
        ("missing required field `sku`",),
    ),
    Wrong("inside an object", '{"sku": "a", "labels": {"x": "y"}}', ("labels[...]",), ("`int`",)),
    Wrong(
        "a type's own rule",
        '{"sku": "a", "items": [{"sku": "a", "units": 101}]}',
        ("items[0]",),
        ("above 100",),
    ),
    Wrong(
        "not one of the words",
        '{"sku": "a", "mode": "warp"}',
        ("mode",),
        ("'warp'", "'fast', 'slow'"),
    ),
    Wrong("no date", '{"sku": "a", "at": "tomorrow"}', ("at",), ("RFC3339",)),
    Wrong("NaN", '{"sku": "a", "units": NaN}', (), ("NaN is no number",)),
    Wrong("an infinity", '{"sku": "a", "free": -Infinity}', (), ("-Infinity",)),
    Wrong("a number beyond floats", '{"sku": "a", "free": 1e999}', ("free",), ("out of range",)),
    Wrong(
        "a number of many digits", '{"sku": "a", "units": ' + "9" * 5000 + "}", (), ("4300 digits",)
    ),
    Wrong("a key twice", '{"sku": "a", "sku": "b"}', ("sku",), ("'sku' occurs twice",)),
    Wrong(
        "a key twice inside",
        '{"sku": "a", "free": [{"x": 1, "x": 1}]}',
        ("x",),
        ("'x' occurs twice",),
    ),
    Wrong(
        "nested too deeply",
        '{"sku": "a", "free": ' + "[" * 64 + "]" * 64 + "}",
        (),
        ("at most 64 levels",),
    ),
    Wrong("nested without end", '{"free": ' + "[" * 200_000, (), ("at most 64 levels",)),
    Wrong("half a character", '{"sku": "\\ud83d"}', (), ("half a character",)),
    Wrong(
        "half a character as a key",
        '{"sku": "a", "free": {"\\ud83d": 1}}',
        (),
        ("half a character",),
    ),
    Wrong("half a character, not escaped", '{"sku": "\ud83d"}', (), ("half a character",)),
    Wrong("a control character", '{"sku": "a\nb"}', (), ("not valid JSON",)),
    Wrong("no object", '["a"]', (), ("expected a JSON object, got an array",)),
    Wrong("text", '"a"', (), ("got text",)),
    Wrong("null alone", "null", (), ("got null",)),
    Wrong("a number alone", "7", (), ("got a number",)),
    Wrong("nothing", "", (), ("no arguments arrived",)),
    Wrong("white space", " \n", (), ("no arguments arrived",)),
    Wrong("cut off", '{"sku": "A-1', (), ("not valid JSON",)),
    Wrong("something behind", '{"sku": "a"} and', (), ("not valid JSON",)),
    Wrong("single quotes", "{'sku': 'a'}", (), ("not valid JSON",)),
    Wrong("too long", '{"sku": "' + "a" * BYTES_MAX + '"}', (), (f"at most {BYTES_MAX}",)),
]


@pytest.mark.parametrize("case", WRONG, ids=lambda case: case.rule)
def test_arguments_that_do_not_fit_are_refused(case: Wrong) -> None:
    """Each wrong argument is named; the message says what was expected and what came."""
    checked = nothing if "none" in case.rule and "where" in case.rule else order
    with pytest.raises(InvalidArgument) as caught:
        checked.check(case.arguments)
    assert caught.value.fields == case.fields
    for part in case.says:
        assert part in str(caught.value)
    assert len(str(caught.value)) < 1000
    assert caught.value.may_have_executed == "no"
    str(caught.value).encode()


@pytest.mark.parametrize(
    "arguments",
    [
        '{"sku": "a", "mode": "' + "w" * 100_000 + '"}',
        '{"sku": "a", "' + "k" * 100_000 + '": 1}',
        '{"sku": "a", ' + ", ".join(f'"k{n}": 1' for n in range(5000)) + "}",
        '{"sku": "a", "' + "k" * 9000 + '": 1, "' + "k" * 9000 + '": 2}',
    ],
    ids=["value", "key", "many keys", "key twice"],
)
def test_huge_values_are_not_echoed(arguments: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        order.check(arguments)
    assert len(str(caught.value)) < 2000


def test_depth_is_allowed_up_to_its_bound() -> None:
    inside = DEPTH_MAX - 1
    parse_object('{"a": ' + "[" * inside + "]" * inside + "}")
    with pytest.raises(InvalidArgument):
        parse_object('{"a": ' + "[" * (inside + 1) + "]" * (inside + 1) + "}")


def test_brackets_in_text_are_not_depth() -> None:
    assert order.check(json.dumps({"sku": "[" * 500}))["sku"] == "[" * 500


SAME = [
    ("key order", '{"a": 1, "b": 2}', '{"b": 2, "a": 1}'),
    ("key order inside", '{"x": {"a": 1, "b": 2}}', '{"x": {"b": 2, "a": 1}}'),
    ("white space", '{"a":1}', ' {\n"a" : 1 } '),
    ("a whole number as a fraction", '{"a": 1}', '{"a": 1.0}'),
    ("a whole number with an exponent", '{"a": 1}', '{"a": 1e0}'),
    ("exponents", '{"a": 1500}', '{"a": 1.5E+3}'),
    ("fractions", '{"a": 0.5}', '{"a": 5e-1}'),
    ("zeros behind", '{"a": 0.50}', '{"a": 0.5}'),
    ("negative zero", '{"a": -0.0}', '{"a": 0}'),
    ("zero with an exponent", '{"a": 0e99}', '{"a": 0}'),
    ("large numbers", '{"a": 1e30}', '{"a": 1' + "0" * 30 + "}"),
    ("integers beyond 64 bits", '{"a": 123456789012345678901}', '{"a": 1.23456789012345678901e20}'),
    ("the last one written as an integer", '{"a": 100000000000000000}', '{"a": 1e17}'),
    ("escapes", '{"a": "A\\u00e9"}', '{"a": "\\u0041é"}'),
    ("Unicode form", '{"a": "é"}', '{"a": "e\u0301"}'),
    ("Unicode form of keys", '{"é": 1}', '{"e\u0301": 1}'),
    ("Unicode form in arrays", '{"a": ["é"]}', '{"a": ["e\u0301"]}'),
    ("surrogate pairs", '{"a": "😀"}', '{"a": "\\ud83d\\ude00"}'),
]
DIFFERENT = [
    ("values", '{"a": 1}', '{"a": 2}'),
    ("sign", '{"a": 1}', '{"a": -1}'),
    ("text and number", '{"a": 1}', '{"a": "1"}'),
    ("true and one", '{"a": true}', '{"a": 1}'),
    ("null and nothing", '{"a": null}', "{}"),
    ("array order", '{"a": [1, 2]}', '{"a": [2, 1]}'),
    ("nested arrays", '{"a": [[1], 2]}', '{"a": [1, [2]]}'),
    ("digits a float cannot hold", '{"a": 0.1}', '{"a": 0.10000000000000001}'),
    ("digits beyond 64 bits", '{"a": 10000000000000000000000001}', '{"a": 1e25}'),
    ("case", '{"a": "x"}', '{"a": "X"}'),
    ("white space in text", '{"a": "x"}', '{"a": "x "}'),
    ("compatibility forms", '{"a": "ﬁ"}', '{"a": "fi"}'),
]


@pytest.mark.parametrize(("one", "other"), [row[1:] for row in SAME], ids=[row[0] for row in SAME])
def test_spellings_of_the_same_arguments_share_a_digest(one: str, other: str) -> None:
    assert canonical_arguments(one) == canonical_arguments(other)
    assert digest("order", one) == digest("order", other)


@pytest.mark.parametrize(
    ("one", "other"), [row[1:] for row in DIFFERENT], ids=[row[0] for row in DIFFERENT]
)
def test_different_arguments_have_different_digests(one: str, other: str) -> None:
    assert canonical_arguments(one) != canonical_arguments(other)
    assert digest("order", one) != digest("order", other)


def test_a_digest_belongs_to_one_tool() -> None:
    assert digest("order", "{}") != digest("pay", "{}")
    assert digest("order", "{}").startswith(FORM) and len(digest("order", "{}")) == len(FORM) + 64


GOLDEN = {
    ("order", '{"sku":"A-17","units":3}'): (
        "2:99357753b7dc813d64a847263bdf769b04db7a5e905ba4041b6ecd64344bdf01"
    ),
    ("pay", '{"cents":4.20e3,"to":"caf\u0065\u0301","deep":[{"b":-0.0,"a":null}]}'): (
        "2:127b41fbae6296e1d3d76246e8c9c765b0bafd825017a04e81c0b9ea6d7a9878"
    ),
}


@pytest.mark.parametrize(("call", "stored"), GOLDEN.items(), ids=["plain", "every form"])
def test_a_stored_digest_stays_what_it_is(call: tuple[str, str], stored: str) -> None:
    """Digests lie in stores. Where this fails, the form has changed: give it another mark."""
    assert digest(*call) == stored


@tool(safe_to_retry=True)
def plan(sku: str, units: int = 1, gift: bool = False, tags: tuple[str, ...] = ()) -> str:
    return sku


ONE_CALL = [
    '{"sku":"a"}',
    '{"sku":"a","units":1}',
    '{"units":1.0,"sku":"a"}',
    '{"sku":"a","gift":false,"tags":[]}',
]


@pytest.mark.parametrize("other", ONE_CALL)
def test_what_is_left_out_counts_as_its_default(other: str) -> None:
    assert digest("plan", other, plan.defaults) == digest("plan", ONE_CALL[0], plan.defaults)


@pytest.mark.parametrize("other", ['{"sku":"a","units":2}', '{"sku":"a","gift":true}', "{}"])
def test_what_is_sent_counts_as_sent(other: str) -> None:
    assert digest("plan", other, plan.defaults) != digest("plan", ONE_CALL[0], plan.defaults)


def test_defaults_that_are_no_plain_data_are_left_out() -> None:
    assert dict(canonical_defaults({"a": object(), "b": 1.50, "c": float("nan")})).keys() >= {"b"}
    assert "a" not in canonical_defaults({"a": object()})


def test_keys_that_become_one_are_refused() -> None:
    with pytest.raises(InvalidArgument, match="twice"):
        canonical_arguments('{"é": 1, "e\u0301": 2}')


def test_an_exponent_without_end_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="too large"):
        canonical_arguments('{"a": 1e99999999999999999999}')
    assert canonical_arguments('{"a": 1e99999}') == b'{"a":1e99999}'


@pytest.mark.parametrize("seed", range(20))
def test_a_canonical_form_is_valid_json_and_its_own_canonical_form(seed: int) -> None:
    """Law over random trees: it says the same, and doing it twice changes nothing."""
    tree = {"root": _tree(random.Random(seed), 4)}
    once = canonical_arguments(json.dumps(tree))
    assert _exact(once) == _exact(json.dumps(tree))
    assert canonical_arguments(once.decode()) == once


def _exact(text: str | bytes) -> Any:
    return json.loads(text, parse_float=Decimal, parse_int=Decimal)


def _tree(rng: random.Random, depth: int) -> Any:
    kind = rng.randrange(7 if depth else 5)
    if kind == 0:
        return rng.randrange(-(10 ** rng.randrange(1, 25)), 10 ** rng.randrange(1, 25))
    if kind == 1:
        return rng.choice([0.5, 1e-7, 12.25, 1e22, -3.0])
    if kind == 2:
        return rng.choice(["", "é", "a b", "日本", "\x7f", "\\"])
    if kind in (3, 4):
        return rng.choice([None, True, False])
    if kind == 5:
        return [_tree(rng, depth - 1) for _ in range(rng.randrange(4))]
    return {rng.choice("abcdef"): _tree(rng, depth - 1) for _ in range(rng.randrange(4))}

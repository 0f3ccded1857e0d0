"""What `@tool` makes of a definition, and what it refuses."""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Any, Literal, NamedTuple, TypedDict

import msgspec
import pytest

from ukemi.actors.tooling.marks import Declared, Marks
from ukemi.actors.tooling.tools import AnyTool, Tool, tool
from ukemi.supervisor.errors import UsageError


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


@dataclass
class Item:
    sku: str
    units: int = 1


class Address(msgspec.Struct):
    street: str
    title: str = ""


class Extra(TypedDict, total=False):
    note: str


class Opaque:
    """A type no JSON can be read into."""


def unannotated(sku, units: int) -> None: ...  # type: ignore[no-untyped-def]


def variadic(*skus: str) -> None: ...


def keywords(**skus: str) -> None: ...


def positional(sku: str, /) -> None: ...


def opaque(thing: Opaque) -> None: ...


def opaque_inside(things: list[Opaque]) -> None: ...


def plain(sku: str) -> None: ...


def with_key(sku: str, *, key: str) -> None: ...


def key_in_front(key: str) -> None: ...


def numbered_key(*, key: int) -> None: ...


def with_token(sku: str, *, token: str) -> None: ...


def numbered_token(sku: str, *, token: int) -> None: ...


def unresolved(sku: "Nowhere") -> None: ...  # type: ignore[name-defined]  # noqa: F821


def yielding(sku: str):  # type: ignore[no-untyped-def]
    yield sku


class Service:
    def stock(self, sku: str) -> int:
        """Units in stock."""
        return len(sku)

    async def __call__(self, sku: str) -> str:
        return sku


@tool
def already(sku: str) -> str:
    return sku


class Refused(NamedTuple):
    rule: str
    function: Any
    marks: dict[str, Any]
    says: tuple[str, ...]


REFUSED = [
    Refused(
        "a parameter without annotation", unannotated, {}, ("'unannotated'", "'sku'", "sku: str")
    ),
    Refused("*args", variadic, {}, ("'variadic'", "*skus", "list")),
    Refused("**kwargs", keywords, {}, ("'keywords'", "**skus", "dict")),
    Refused("a positional-only parameter", positional, {}, ("'positional'", "sku", "drop the /")),
    Refused(
        "a type JSON has no form for", opaque, {}, ("'opaque'", "'thing'", "Opaque", "use str")
    ),
    Refused("such a type inside another", opaque_inside, {}, ("'things'", "Opaque")),
    Refused("a type that is not there", unresolved, {}, ("'unresolved'", "Nowhere", "module")),
    Refused("an unbound method", Service.stock, {}, ("'self'", "tool(service.stock)")),
    Refused("a partial", functools.partial(plain, sku="a"), {}, ("partial", "small function")),
    Refused("a static method object", staticmethod(plain), {}, ("@staticmethod",)),
    Refused("a class", Item, {}, ("Item", "function")),
    Refused("no function at all", 7, {}, ("7", "function")),
    Refused("a generator", yielding, {}, ("yields", "return")),
    Refused("a tool", already, {}, ("already",)),
    Refused("an object without a name", Service(), {}, ("Service", "name=")),
    Refused("a lambda's name", lambda: None, {}, ("'<lambda>'", "name=")),
    Refused("a name with a space", plain, {"name": "order it"}, ("'order it'", "64 letters")),
    Refused("an empty name", plain, {"name": ""}, ("''", "64 letters")),
    Refused("a name too long", plain, {"name": "x" * 65}, ("64 letters",)),
    Refused("a name with a line end", plain, {"name": "order\n"}, ("64 letters",)),
    Refused("an unknown mark", plain, {"efect": "read"}, ("efect", "effect")),
    Refused(
        "an unknown effect", plain, {"effect": "maybe"}, ("'plain'", "'maybe'", "'read', 'write'")
    ),
    Refused("an effect that is no word", plain, {"effect": None}, ("effect=None",)),
    Refused(
        "an unknown undo", plain, {"undo": "revert"}, ("'revert'", "'rollback'", "'compensate'")
    ),
    Refused("no time at all", plain, {"timeout_s": 0}, ("timeout_s=0", "above 0", "None")),
    Refused("a negative time", plain, {"timeout_s": -1.0}, ("-1.0",)),
    Refused("an endless time", plain, {"timeout_s": float("inf")}, ("inf", "None")),
    Refused("a time that is no number", plain, {"timeout_s": float("nan")}, ("nan",)),
    Refused("a time in words", plain, {"timeout_s": "5"}, ("'5'",)),
    Refused("a time that is a boolean", plain, {"timeout_s": True}, ("True",)),
    Refused("a probe in words", plain, {"probe": "ask"}, ("probe='ask'", "function")),
    Refused("a compensation in words", plain, {"compensate": "undo"}, ("compensate='undo'",)),
    Refused("a success check in words", plain, {"success": "ok"}, ("success='ok'",)),
    Refused("undo by a function nobody gave", plain, {"undo": "compensate"}, ("compensate=",)),
    Refused(
        "a mark that is neither yes nor no", plain, {"safe_to_retry": "yes"}, ("'yes'", "True or")
    ),
    Refused("overlap in words", plain, {"overlap": 1}, ("overlap=1", "True or False")),
    Refused("staged in words", plain, {"staged": "yes"}, ("staged='yes'",)),
    Refused("an empty danger", plain, {"danger": " "}, ("danger=' '",)),
    Refused("an upstream that is no word", plain, {"upstream": 3}, ("upstream=3",)),
    Refused("a resource that is neither", plain, {"resource": 3}, ("resource=3", "function")),
    Refused("a key nobody takes", plain, {"accepts_key": True}, ("*, key: str",)),
    Refused(
        "a key that is not keyword-only", key_in_front, {"accepts_key": True}, ("*, key: str",)
    ),
    Refused("a key that is no text", numbered_key, {"accepts_key": True}, ("*, key: str",)),
    Refused(
        "a key without its mark", with_key, {}, ("'with_key'", "accepts_key=True", "another name")
    ),
    Refused("a secret that is no parameter", plain, {"secrets": ["token"]}, ("'token'", "sku")),
    Refused("a secret that is no text", numbered_token, {"secrets": ["token"]}, ("'token'", "str")),
    Refused("secrets as one word", plain, {"secrets": "token"}, ("'token'", "list")),
    Refused(
        "the key as a secret", with_key, {"accepts_key": True, "secrets": ["key"]}, ("idempotency",)
    ),
    Refused(
        "a read with a key",
        with_key,
        {"effect": "read", "accepts_key": True},
        ("accepts_key", "write"),
    ),
    Refused("a read with a probe", plain, {"effect": "read", "probe": plain}, ("probe", "write")),
    Refused(
        "a read to compensate",
        plain,
        {"effect": "read", "compensate": plain},
        ("compensate", "write"),
    ),
    Refused("a read to undo", plain, {"effect": "read", "undo": "rollback"}, ("undo", "write")),
    Refused("a staged read", plain, {"effect": "read", "staged": True}, ("staged", "write")),
    Refused(
        "a probe for a tool that simply runs again",
        plain,
        {"safe_to_retry": True, "probe": plain},
        ("safe_to_retry=True", "probe="),
    ),
]


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.rule)
def test_a_definition_that_cannot_work_is_refused(case: Refused) -> None:
    """The message names the tool or the value, and the way out."""
    with pytest.raises(UsageError) as caught:
        tool(**case.marks)(case.function) if case.marks else tool(case.function)
    for part in case.says:
        assert part in str(caught.value)


class Settled(NamedTuple):
    rule: str
    given: dict[str, Any]
    marks: dict[str, Any]


SETTLED = [
    Settled(
        "a tool without marks is a write, unsafe to repeat, alone, kept",
        {},
        {"effect": "write", "safe_to_retry": False, "overlap": False, "undo": "keep"},
    ),
    Settled(
        "a read may be repeated and run beside others",
        {"effect": "read"},
        {"effect": "read", "safe_to_retry": True, "overlap": True},
    ),
    Settled(
        "a read may say otherwise",
        {"effect": "read", "safe_to_retry": False, "overlap": False},
        {"safe_to_retry": False, "overlap": False},
    ),
    Settled("a write may say otherwise", {"overlap": True}, {"overlap": True}),
    Settled("what can be compensated is", {"compensate": plain}, {"undo": "compensate"}),
    Settled(
        "what can be compensated may be kept",
        {"compensate": plain, "undo": "keep"},
        {"undo": "keep", "compensate": plain},
    ),
    Settled("seconds may be whole", {"timeout_s": 5}, {"timeout_s": 5.0}),
    Settled(
        "the rest stays as given",
        {"danger": "money", "upstream": "bank", "staged": True},
        {"danger": "money", "upstream": "bank", "staged": True},
    ),
]


@pytest.mark.parametrize("case", SETTLED, ids=lambda case: case.rule)
def test_marks_that_are_left_out_follow_from_the_others(case: Settled) -> None:
    made: AnyTool = tool(**case.given)(plain)
    assert {key: getattr(made.marks, key) for key in case.marks} == case.marks


def test_every_mark_can_be_declared() -> None:
    """`Declared` and `Marks` know the same names, so none is forgotten."""
    assert set(Declared.__struct_fields__) == set(Marks.__struct_fields__)


def everything(
    text: str,
    number: float,
    whole: int = 3,
    yes: bool = False,
    word: Literal["a", "b"] = "a",
    colour: Colour = Colour.RED,
    several: list[Item] | None = None,
    labels: dict[str, int] | None = None,
    address: Address | None = None,
    extra: Extra | None = None,
    bounded: Annotated[int, msgspec.Meta(ge=1, le=9, description="one digit")] = 1,
    anything: object = None,
) -> None:
    """Do everything.

    More about it.

    Args:
        text: what to say
        number (float): how
            often
        nobody: is no parameter

    Returns:
        Nothing.
    """


def test_the_schema_comes_from_the_type_hints() -> None:
    made = tool(everything)
    assert made.parameters["type"] == "object"
    assert made.parameters["required"] == ["text", "number"]
    assert made.parameters["additionalProperties"] is False
    nothing = {"type": "null"}
    assert made.parameters["properties"] == {
        "text": {"type": "string", "description": "what to say"},
        "number": {"type": "number", "description": "how often"},
        "whole": {"type": "integer", "default": 3},
        "yes": {"type": "boolean", "default": False},
        "word": {"enum": ["a", "b"], "default": "a"},
        "colour": {"$ref": "#/$defs/Colour", "default": "red"},
        "several": {
            "anyOf": [{"type": "array", "items": {"$ref": "#/$defs/Item"}}, nothing],
            "default": None,
        },
        "labels": {
            "anyOf": [{"type": "object", "additionalProperties": {"type": "integer"}}, nothing],
            "default": None,
        },
        "address": {"anyOf": [{"$ref": "#/$defs/Address"}, nothing], "default": None},
        "extra": {"anyOf": [{"$ref": "#/$defs/Extra"}, nothing], "default": None},
        "bounded": {
            "type": "integer",
            "minimum": 1,
            "maximum": 9,
            "description": "one digit",
            "default": 1,
        },
        "anything": {"default": None},
    }
    assert made.parameters["$defs"]["Colour"] == {"enum": ["blue", "red"]}
    address = made.parameters["$defs"]["Address"]["properties"]
    assert address["title"] == {"type": "string", "default": ""}, "a property may be called title"
    assert msgspec.json.decode(msgspec.json.encode(made.parameters)) == made.parameters


def test_the_description_is_the_docstring_without_the_parameters() -> None:
    assert (
        tool(everything).description == "Do everything.\n\nMore about it.\n\nReturns:\n    Nothing."
    )
    assert tool(plain).description == ""


def test_key_and_secrets_are_not_shown_to_the_model() -> None:
    @tool(accepts_key=True, secrets=["token"])
    def pay(amount: float, *, key: str, token: str) -> None: ...

    assert list(pay.parameters["properties"]) == ["amount"]
    assert pay.parameters["required"] == ["amount"]


def test_a_default_that_says_nothing_to_a_model_is_left_out() -> None:
    missing: Any = object()
    nothing: Any = None

    @tool
    def find(name: str = missing, count: int = nothing) -> None: ...

    assert find.parameters["properties"] == {
        "name": {"type": "string"},
        "count": {"type": "integer"},
    }
    assert "required" not in find.parameters


def test_a_tool_is_called_like_its_function() -> None:
    @tool(effect="read")
    def stock(sku: str, units: int = 1) -> str:
        """Units in stock."""
        return sku * units

    assert stock("a", 2) == stock(sku="a", units=2) == "aa"
    assert stock.__name__ == stock.name == "stock"
    assert stock.__doc__ == "Units in stock."
    assert stock.__wrapped__("b") == "b"
    assert repr(stock) == "<tool stock (read)>"


def test_a_tool_cannot_be_changed() -> None:
    made = tool(plain)
    for change in ("marks", "name", "anything"):
        with pytest.raises(AttributeError, match="'plain' cannot be changed"):
            setattr(made, change, None)
    with pytest.raises(AttributeError, match="cannot be changed"):
        del made.name
    with pytest.raises(AttributeError):
        made.marks.effect = "read"  # type: ignore[misc]  # pyright: ignore[reportAttributeAccessIssue]


class Accepted(NamedTuple):
    rule: str
    made: Callable[[], AnyTool]
    name: str
    is_async: bool


async def asynchronous(sku: str) -> str:
    return sku


ACCEPTED = [
    Accepted("a function", lambda: tool(plain), "plain", False),
    Accepted("an async function", lambda: tool(asynchronous), "asynchronous", True),
    Accepted("a bound method", lambda: tool(Service().stock), "stock", False),
    Accepted("an async object", lambda: tool(name="serve")(Service()), "serve", True),
    Accepted("a lambda with a name", lambda: tool(name="nothing")(lambda: None), "nothing", False),
]


@pytest.mark.parametrize("case", ACCEPTED, ids=lambda case: case.rule)
def test_what_can_be_a_tool(case: Accepted) -> None:
    made = case.made()
    assert isinstance(made, Tool)
    assert (made.name, made.is_async) == (case.name, case.is_async)
    assert list(made.parameters["properties"]) in (["sku"], [])

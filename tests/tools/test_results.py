"""A tool's result as the model and the store get it."""

import enum
import hashlib
import time
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, NamedTuple
from uuid import UUID

import msgspec
import pydantic
import pytest

from ukemi.actors.model import ToolMessage
from ukemi.actors.secrets import Mask
from ukemi.actors.tooling.results import CONTENT_BYTES_MAX, ResultLimits, render_result
from ukemi.stores.records import Entry, Resulted, decode_row, encode_row
from ukemi.supervisor.errors import ToolBug


class Colour(enum.Enum):
    RED = "red"


@dataclass
class Order:
    sku: str
    units: int


class Shipment(msgspec.Struct):
    order: Order
    at: datetime


class Invoice(pydantic.BaseModel):
    total: Decimal


class Page:
    def to_text(self) -> str:
        return "as a page"


class Opaque:
    pass


class Row(NamedTuple):
    rule: str
    value: Any
    content: str
    value_type: str | None


HERE = __name__
ROWS = [
    Row("text as it is", "A-17 ordered", "A-17 ordered", None),
    Row("nothing", None, "", None),
    Row("bytes", b"abc", "abc", None),
    Row("a byte array", bytearray(b"abc"), "abc", None),
    Row("a view of bytes", memoryview(b"abc"), "abc", None),
    Row("a number", 7, "7", "int"),
    Row("a boolean", False, "false", "bool"),
    Row("a list", [1, "a", None], '[1,"a",null]', "list"),
    Row("a set, in a stable order", {"c", "a", "b"}, '["a","b","c"]', "set"),
    Row("a tuple", (1, 2), "[1,2]", "tuple"),
    Row("a dict, in a stable order", {"b": 1, "a": 2}, '{"a":2,"b":1}', "dict"),
    Row("keys that are numbers", {1: "a"}, '{"1":"a"}', "dict"),
    Row("a dataclass", Order("a", 1), '{"sku":"a","units":1}', f"{HERE}.Order"),
    Row(
        "a Struct",
        Shipment(Order("a", 1), datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)),
        '{"order":{"sku":"a","units":1},"at":"2026-01-02T03:04:05Z"}',
        f"{HERE}.Shipment",
    ),
    Row("a date", date(2026, 1, 2), '"2026-01-02"', "datetime.date"),
    Row("a Decimal", Decimal("1.10"), '"1.10"', "decimal.Decimal"),
    Row("an enum", Colour.RED, '"red"', f"{HERE}.Colour"),
    Row("a UUID", UUID(int=1), '"00000000-0000-0000-0000-000000000001"', "uuid.UUID"),
    Row("a pydantic model", Invoice(total=Decimal("1.5")), '{"total":"1.5"}', f"{HERE}.Invoice"),
    Row("what shows itself", Page(), "as a page", f"{HERE}.Page"),
    Row("an integer beyond 64 bits", 2**70, str(2**70), "int"),
    Row("no number", [float("nan")], "[null]", "list"),
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.rule)
def test_results_become_text(row: Row) -> None:
    found = render_result(row.value)
    assert (found.content, found.value_type) == (row.content, row.value_type)
    assert found.blob is None
    assert found.changed == ()


def test_a_set_without_an_order_is_shown_all_the_same() -> None:
    assert render_result({1, "a"}).content in ('[1,"a"]', '["a",1]')


def endless() -> Any:
    found: list[Any] = []
    found.append(found)
    return found


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (Opaque(), f"{HERE}.Opaque"),
        ([Opaque()], "list"),
        (1j, "complex"),
        (ValueError("x"), "ValueError"),
        ((n for n in (1, 2)), "generator"),
        ({(1, 2): 3}, "dict"),
        (endless(), "list"),
    ],
    ids=["object", "object inside", "complex", "exception", "generator", "tuple key", "itself"],
)
def test_what_has_no_text_is_a_bug_that_names_the_type(value: Any, name: str) -> None:
    """The body did run: the error says so."""
    with pytest.raises(ToolBug, match=f"returned {name}") as caught:
        render_result(value)
    assert caught.value.may_have_executed == "yes"


class Hostile(NamedTuple):
    rule: str
    value: str | bytes
    shows: str
    says: str


HOSTILE = [
    Hostile("NUL", "a\0b", "a␀b", "NUL"),
    Hostile("UTF-16", b"\xff\xfeA\0B\0", "AB", "UTF-16"),
    Hostile("lone surrogate", "a\ud83d", "a\\ud83d", "lone surrogate"),
    Hostile("separators", "a\u2028b\x85c", "a\\u2028b\\x85c", "U+2028"),
    Hostile("escape sequences", "\x1b[31mred", "␛[31mred", "escape"),
    Hostile("NUL in 10 MB", "\0" * 10_000_000, "␀␀", "NUL"),
    Hostile("halves in 1 MB", "\ud83d" * 333_333, "\\ud83d\\ud83d", "lone surrogate"),
]


@pytest.mark.parametrize("case", HOSTILE, ids=lambda case: case.rule)
def test_TX_01_hostile_results_can_be_stored_and_sent(case: Hostile) -> None:
    found = render_result(case.value)
    assert case.shows in found.content
    assert f"[replaced: {', '.join(found.changed)}]" in found.content
    assert case.says in found.content.rpartition("[replaced: ")[2]
    assert len(found.content.encode()) <= CONTENT_BYTES_MAX

    row: list[Any] = [Resulted(n=1, index=0, counter=1, content=found.content)]
    entry: Entry = decode_row(encode_row(row))[0]
    assert isinstance(entry, Resulted)
    assert entry.content == found.content
    msgspec.json.encode(ToolMessage("id", "tool", found.content)).decode("utf-8")

    assert found.blob is not None, "the original is kept aside"
    digest, full = found.blob
    assert hashlib.sha256(full).hexdigest() == digest
    original = (
        case.value if isinstance(case.value, bytes) else case.value.encode("utf-8", "surrogatepass")
    )
    assert full == original


def test_TX_01_of_10_MB_the_model_gets_an_excerpt_and_the_rest_is_kept_once() -> None:
    text = "head" + "x" * 10_000_000 + "tail"
    found = render_result(text)
    assert found.content.startswith("head")
    assert found.content.endswith("tail")
    assert CONTENT_BYTES_MAX * 0.95 < len(found.content) <= CONTENT_BYTES_MAX
    kept = found.content.count("x")
    assert f"[... {10_000_000 - kept} bytes missing ...]" in found.content
    assert found.blob == (hashlib.sha256(text.encode()).hexdigest(), text.encode())
    assert found.changed == ()


@pytest.mark.parametrize("limit", [1024, 1500, 2000, 32 * 1024])
@pytest.mark.parametrize(
    "value", ["é\0" * 40_000, "\u2028" * 20_000, "😀" * 20_000, "\ud83d\0x" * 9999]
)
def test_a_result_never_outgrows_its_bound(value: str, limit: int) -> None:
    """Replacements are longer than what they stand for; the bound holds all the same."""
    found = render_result(value, ResultLimits(content_bytes_max=limit))
    assert limit // 3 < len(found.content.encode()) <= limit
    assert "bytes missing" in found.content


def test_half_a_character_inside_a_structure_is_made_visible() -> None:
    found = render_result({"\ud83d": ["a\ud83d", 1, {"b": None}]})
    assert found.content == '{"\\\\ud83d":["a\\\\ud83d",1,{"b":null}]}'
    found.content.encode()


def test_SC_02_secrets_are_hidden_before_anything_is_cut() -> None:
    """Wherever the cut falls, neither the excerpt nor what is kept aside holds any of it."""
    secret = "zz9 unusual/format+8842"
    hide = Mask([secret])
    for shift in range(40):
        text = "x" * (750 + shift) + secret * 100 + "y" * 5000
        for value in (text, text.encode(), b"\xff" + text.encode(), {"a": text, secret: 1}):
            found = render_result(value, ResultLimits(content_bytes_max=1600), mask=hide)
            assert found.blob is not None
            for seen in (found.content, found.blob[1].decode()):
                assert "unusual" not in seen
                assert "zz9" not in seen
            assert "***" in found.blob[1].decode()
    assert render_result("nothing to hide", mask=hide).content == "nothing to hide"
    assert render_result(b"a\0", mask=hide).blob == render_result(b"a\0").blob


@pytest.mark.realtime
def test_TX_01_10_MB_do_not_hold_up_the_event_loop() -> None:
    took: list[float] = []
    for _ in range(3):
        start = time.perf_counter()
        render_result("x" * 10_000_000, mask=Mask(["some-secret-value"]))
        took.append(time.perf_counter() - start)
    assert min(took) < 0.2

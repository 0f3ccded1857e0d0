"""Which calls are whole, and the ids they have on the wire: tables."""

import random
from itertools import product
from typing import get_args

import msgspec
import pytest

from ukemi.actors.model import Finish, ToolSchema
from ukemi.models.calls import ArrivedCall, WireIds, read_calls, unique_ids

OPEN = ToolSchema("open", "", {"type": "object", "required": ["path"]})
CLOCK = ToolSchema("clock", "", {"type": "object"})
DOTTED = ToolSchema("files.list", "", {"type": "object"})
TOOLS = (OPEN, CLOCK, DOTTED)

WHOLE = [
    ("a JSON object", "open", '{"path": "a"}'),
    ("white space around it", "open", ' {"path": "a"}\n'),
    ("an object of another shape: validation is the tool's", "open", '{"way": 1}'),
    ("nothing, where nothing is required", "clock", ""),
    ("an unknown tool: the session refuses it", "typo", "{}"),
    ("a name the provider was given", "files.list", "{}"),
]


@pytest.mark.parametrize(("name", "text"), [row[1:] for row in WHOLE], ids=[r[0] for r in WHOLE])
def test_whole_calls(name: str, text: str) -> None:
    (call,) = read_calls([ArrivedCall("c1", name, text)], "stop", TOOLS)
    assert (call.problem, call.name) == (None, name)
    assert call.arguments == (text.strip() or "{}")


REFUSED = [
    ("truncated", ArrivedCall("c", "open", '{"path": "a'), "not one JSON object"),
    ("trailing text", ArrivedCall("c", "open", '{"path": "a"} ok'), "not one JSON object"),
    ("single quotes", ArrivedCall("c", "open", "{'path': 'a'}"), "not one JSON object"),
    ("a number that is none", ArrivedCall("c", "open", '{"n": NaN}'), "not one JSON object"),
    ("null", ArrivedCall("c", "open", "null"), "not one JSON object"),
    ("a lone surrogate", ArrivedCall("c", "open", '{"path": "\ud83d"}'), "bad characters"),
    ("empty", ArrivedCall("c", "open", " "), "path must be given"),
    ("its end never came", ArrivedCall("c", "clock", "{}", whole=False), "end is missing"),
    ("another kind", ArrivedCall("c", "x", "", unsupported="custom"), "'custom' are not"),
    ("no name", ArrivedCall("c", "", "{}"), "no tool named ''"),
]


@pytest.mark.parametrize(
    ("call", "says"), [row[1:] for row in REFUSED], ids=[r[0] for r in REFUSED]
)
def test_refused_calls(call: ArrivedCall, says: str) -> None:
    (read,) = read_calls([call], "stop", TOOLS)
    assert read.problem is not None
    assert says in read.problem
    assert read.arguments == "{}"


TEXTS = ["", "{}", '{"path": "a"}', '{"path": "a', "[]", "null", '"x"', "\ud83d", "{" * 2000]
FINISHES: tuple[Finish, ...] = get_args(Finish)


@pytest.mark.parametrize("finish", FINISHES)
def test_laws_of_reading(finish: Finish) -> None:
    """Arguments are always one valid JSON object; a cut answer has no call without a problem."""
    for text, tool in product(TEXTS, TOOLS):
        (call,) = read_calls([ArrivedCall("", tool.name, text)], finish, TOOLS)
        assert isinstance(msgspec.json.decode(call.arguments), dict)
        assert call.id
        assert call.problem is None or call.arguments == "{}"
        if finish in ("length", "refused"):
            assert call.problem is not None


IDS = [
    ("different ids stay", ["a", "b"], ["a", "b"]),
    ("the second of two gets another", ["a", "a"], ["a", "a_2"]),
    ("never one that a later call has", ["a", "a", "a_2"], ["a", "a_3", "a_2"]),
    ("a missing one is given", ["", "b", ""], ["call_0", "b", "call_2"]),
    ("and is not one that is there", ["", "call_0"], ["call_0_2", "call_0"]),
]


@pytest.mark.parametrize(("ids", "unique"), [row[1:] for row in IDS], ids=[row[0] for row in IDS])
def test_ids_of_one_message(ids: list[str], unique: list[str]) -> None:
    assert unique_ids(ids) == unique


@pytest.mark.parametrize("seed", range(20))
def test_unique_ids_are_unique_and_keep_the_first(seed: int) -> None:
    rng = random.Random(seed)
    ids = [rng.choice(["", "a", "a_2", "a_3", "call_0", "call_1"]) for _ in range(12)]
    made = unique_ids(ids)
    assert len(set(made)) == len(ids)
    for id in set(ids) - {""}:
        assert made[ids.index(id)] == id


def test_orph_02_results_are_paired_by_position_and_id() -> None:
    """A provider that numbers its calls from 1 in every turn: each result finds its own call."""
    ids = WireIds(strict=True)
    assert ids.open(["call-1"]) == ["call-1"]
    assert ids.close("call-1") == "call-1"
    assert ids.open(["call-1"]) == ["call-1_2"]
    assert ids.close("call-1") == "call-1_2"


def test_equal_ids_in_one_message_are_answered_in_their_order() -> None:
    ids = WireIds(strict=False)
    assert ids.open(["a", "a"]) == ["a", "a_2"]
    assert [ids.close("a"), ids.close("a")] == ["a", "a_2"]


def test_strict_ids_are_plain_and_always_the_same() -> None:
    """The wire form of a transcript's start never changes, or the provider's cache is lost."""
    turns = [["functions.open:0"], ["a b", "a_b"], ["functions.open:0"]]
    made = [[ids.open(turn) for turn in turns] for ids in (WireIds(strict=True) for _ in range(2))]
    assert made[0] == made[1]
    assert made[0] == [["functions_open_0"], ["a_b", "a_b_2"], ["functions_open_0_2"]]


def test_loose_ids_go_back_as_the_provider_gave_them() -> None:
    ids = WireIds(strict=False)
    assert ids.open(["functions.open:0"]) == ["functions.open:0"]
    assert ids.open(["functions.open:0"]) == ["functions.open:0"]

"""The quick look at arguments that msgspec has read never passes what the strict reading refuses."""

import random
from typing import Any

import msgspec
import pytest

from ukemi.actors.tooling.arguments import BYTES_MAX, DEPTH_MAX, DIGITS_MAX, is_plain, parse_object
from ukemi.actors.tooling.tools import tool
from ukemi.supervisor.errors import InvalidArgument

KEYS = ("a", "b", "c")
PIECES = (
    *("{", "}", "[", "]", ":", ",", '"', " ", "\n", "\t", "\r", "\x0b", "\x01", "\x1f", "\x7f"),
    *("1", "0", "-", "+", ".", "e", "E", "01", "1.", ".5", "1e999", "-0", "9" * 30, "0x1", "1_0"),
    *("NaN", "Infinity", "-Infinity", "true", "false", "null", "'a'", "//", "/**/", "\ufeff"),
    *('"a"', '"b"', '"c"', '"x"', '"a":1', '"b":"y"', '"c":":"', '{"a":[],"b":{}}', '"\\ud800"'),
    *('"\\u0061":1', '"é"', '"\x1f"', "[" * DEPTH_MAX, "9" * (DIGITS_MAX + 1)),
)


def msgspec_reads(text: str) -> int | None:
    """Return how many of the keys msgspec finds, or None where it refuses the text."""
    try:
        found: dict[str, Any] = msgspec.json.decode(text, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return None
    return len(found) if set(found) <= set(KEYS) else None


@pytest.mark.parametrize("seed", range(4))
def test_what_the_quick_look_passes_is_never_refused(seed: int) -> None:
    """Texts of random pieces, most of them inside an object."""
    dice, passed = random.Random(seed), 0
    for _ in range(40_000):
        text = "".join(dice.choices(PIECES, k=dice.randrange(1, 9)))
        if dice.random() < 0.7:
            text = f'{{"a":{text}}}'
        keys = msgspec_reads(text)
        if keys is not None and is_plain(text, keys):
            parse_object(text)
            passed += 1
    assert passed > 500


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        pytest.param('{"a":1,"a":2}', 1, id="a key sent twice"),
        pytest.param('{"a":{"b":1,"b":2}}', 1, id="a key sent twice inside"),
        pytest.param('{"a":"\\ud800"}', 1, id="half a character"),
        pytest.param('{"a":' + "[" * 70 + "]" * 70 + "}", 1, id="nested too deeply"),
        pytest.param('{"a":' + "9" * 4400 + "}", 1, id="a number too long"),
        pytest.param('{"a":"x:y"}', 1, id="a colon in a text: looked at again, and taken"),
    ],
)
def test_the_quick_look_is_in_doubt(text: str, keys: int) -> None:
    assert not is_plain(text, keys)


def test_arguments_too_long_are_refused_before_they_are_read() -> None:
    @tool(effect="read")
    def look(a: str) -> str:
        return a

    with pytest.raises(InvalidArgument, match="characters are too many"):
        look.check('{"a":"' + "x" * BYTES_MAX + '"}')

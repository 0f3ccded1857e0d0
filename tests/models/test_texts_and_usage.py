"""Half characters, estimates and prices: tables."""

import pytest

from ukemi.actors.model import Prices
from ukemi.models.text import PieceJoiner, clean, clean_deep
from ukemi.models.usage import attach_usage, count, estimate_tokens, priced
from ukemi.stores.records import Usage

HALVES = [
    ("plain text stays", "caf\u00e9", "caf\u00e9"),
    ("a pair is joined", "\ud83d\ude00", "\U0001f600"),
    ("a first half alone", "a\ud83db", "a\ufffdb"),
    ("a second half alone", "a\ude00", "a\ufffd"),
    ("halves in the wrong order", "\ude00\ud83d", "\ufffd\ufffd"),
    ("NUL is a character", "a\x00b", "a\x00b"),
]


@pytest.mark.parametrize(("text", "clear"), [row[1:] for row in HALVES], ids=[r[0] for r in HALVES])
def test_texts_encode(text: str, clear: str) -> None:
    assert clean(text) == clear
    assert clean_deep({text: [text, 1, None]}) == {clear: [clear, 1, None]}


@pytest.mark.parametrize("text", [row[1] for row in HALVES], ids=[row[0] for row in HALVES])
@pytest.mark.parametrize("size", [1, 2, 3])
def test_pieces_join_to_the_same_text(text: str, size: int) -> None:
    """Wherever a text is cut; a half at its very end is never shown."""
    joiner = PieceJoiner()
    shown = [joiner.push(text[at : at + size]) for at in range(0, len(text), size)]
    assert "".join(shown) == clean(text.rstrip("\ud83d"))


@pytest.mark.parametrize(
    ("text", "tokens"), [("", 0), ("a", 1), ("a" * 400, 100), ("\u4f60" * 4, 3), ("\ud83d", 1)]
)
def test_estimates_round_up(text: str, tokens: int) -> None:
    assert estimate_tokens(text) == tokens


def test_a_cost_that_is_told_is_kept() -> None:
    prices = Prices(input_usd=1.0, output_usd=1.0)
    assert priced(Usage(input_tokens=5, cost_usd=9.0), prices).cost_usd == 9.0
    assert priced(Usage(input_tokens=5), None).cost_usd == 0.0
    assert priced(Usage(input_tokens=5), prices).cost_usd == pytest.approx(5e-6)


@pytest.mark.parametrize("odd", [None, "many", -1, 1.5, {}], ids=repr)
def test_odd_counts_are_none(odd: object) -> None:
    assert count({"n": odd}, "n") == 0
    assert count(None, "n") == 0


def test_an_exception_that_takes_no_attribute_is_left_alone() -> None:
    class Slotted(Exception):
        __slots__ = ()

        def __setattr__(self, name: str, value: object) -> None:
            raise AttributeError(name)

    error = Slotted()
    attach_usage(error, Usage(input_tokens=1))
    assert not hasattr(error, "usage")

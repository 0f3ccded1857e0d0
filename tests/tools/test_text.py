"""Cleaning and cutting text: what comes out is whole, bounded, and says what was done."""

import random
import re
import unicodedata
from typing import NamedTuple

import pytest

from ukemi.actors.text import (
    SEQUENCE_MAX,
    Unit,
    clean,
    head_of,
    is_border,
    is_hostile,
    shorten,
    size,
    tail_of,
)

UNITS: tuple[Unit, ...] = ("bytes", "chars")


class Dirty(NamedTuple):
    rule: str
    value: str | bytes
    text: str
    changed: tuple[str, ...]


DIRTY = [
    Dirty("plain text stays", "a b\tc\r\nd é 日本 😀", "a b\tc\r\nd é 日本 😀", ()),
    Dirty("nothing stays nothing", "", "", ()),
    Dirty("NUL", "a\0b", "a␀b", ("NUL",)),
    Dirty("escape sequence", "\x1b[31mred\x1b[0m", "␛[31mred␛[0m", ("escape",)),
    Dirty("line separator", "a\u2028b", "a\\u2028b", ("line separator U+2028",)),
    Dirty("paragraph separator", "a\u2029b", "a\\u2029b", ("paragraph separator U+2029",)),
    Dirty("next line", "a\x85b", "a\\x85b", ("next line U+0085",)),
    Dirty("bell and delete", "\a\x7f", "␇␡", ("control character",)),
    Dirty("C1 control", "\x9b31m", "\\x9b31m", ("control character",)),
    Dirty("lone high half", "a\ud83d", "a\\ud83d", ("lone surrogate",)),
    Dirty("lone low half", "\ude00a", "\\ude00a", ("lone surrogate",)),
    Dirty("halves in the wrong order", "\ude00\ud83d", "\\ude00\\ud83d", ("lone surrogate",)),
    Dirty("two halves that fit", "\ud83d\ude00", "😀", ("surrogate pair",)),
    Dirty("several kinds, each once", "\0\0\x1b\0", "␀␀␛␀", ("NUL", "escape")),
    Dirty("bytes of UTF-8", "é😀".encode(), "é😀", ()),
    Dirty("UTF-16", b"\xff\xfe\x41\x00\x42\x00", "AB", ("byte order mark of UTF-16",)),
    Dirty("UTF-16, big end first", b"\xfe\xff\x00\x41", "A", ("byte order mark of UTF-16",)),
    Dirty("UTF-32", "A".encode("utf-32"), "A", ("byte order mark of UTF-32",)),
    Dirty("UTF-8 with a mark", b"\xef\xbb\xbfa", "a", ("byte order mark of UTF-8",)),
    Dirty("bytes of something else", b"caf\xe9", "caf\\xe9", ("bytes that are not UTF-8",)),
    Dirty("half a character in bytes", b"a\xf0\x9f", "a\\xf0\\x9f", ("bytes that are not UTF-8",)),
    Dirty(
        "half a unit of UTF-16",
        b"\xff\xfeA\0B",
        "A\\x42",
        ("byte order mark of UTF-16", "bytes that are not UTF-16"),
    ),
    Dirty(
        "a half encoded in UTF-8", b"\xed\xa0\xbd", "\\xed\\xa0\\xbd", ("bytes that are not UTF-8",)
    ),
]


@pytest.mark.parametrize("case", DIRTY, ids=lambda case: case.rule)
def test_TX_01_hostile_text_is_replaced_visibly_and_named(case: Dirty) -> None:
    found = clean(case.value)
    assert found.text == case.text
    assert found.changed == case.changed
    found.text.encode()


@pytest.mark.parametrize("seed", range(10))
def test_TX_01_any_bytes_and_any_code_points_become_text(seed: int) -> None:
    """Law: the result encodes, is clean, and a change is named exactly where there was one."""
    rng = random.Random(seed)
    for _ in range(200):
        raw = rng.randbytes(rng.randrange(30))
        points = [chr(rng.choice([rng.randrange(256), rng.randrange(0x110000)])) for _ in range(20)]
        for value in (raw, "".join(points)):
            found = clean(value)
            found.text.encode()
            assert clean(found.text) == type(found)(found.text), "cleaning twice changes nothing"
            same = found.text == value if isinstance(value, str) else found.text.encode() == value
            assert same == (not found.changed)


FLAG = "🇩🇪"
FAMILY = "👩‍👩‍👧"
WORKS = [
    ("field case", "x" * 999 + "😀" + "y" * 500),
    ("flags", "x" * 995 + FLAG * 5 + "y" * 500),
    ("flags alone", FLAG * 700),
    ("accents", "x" * 995 + "e\u0301" * 10 + "y" * 500),
    ("families", "x" * 990 + FAMILY * 4 + "y" * 500),
    ("line ends", "x" * 995 + "\r\n" * 10 + "y" * 500),
    ("Hangul", "x" * 995 + "\u1112\u1161\u11ab" * 5 + "y" * 500),
]


@pytest.mark.parametrize("tail", [0.0, 0.3], ids=["head", "head and tail"])
@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize(("name", "text"), WORKS, ids=[row[0] for row in WORKS])
def test_TX_02_no_cut_falls_inside_a_character(
    name: str, text: str, unit: Unit, tail: float
) -> None:
    for limit in range(990, 1011):
        found = shorten(text, limit, unit=unit, tail=tail)
        assert size(found.text, unit) <= limit
        found.text.encode()
        assert "\ufffd" not in found.text
        head, last = _around_marker(found.text, found.missing, unit)
        assert bool(last) == bool(tail)
        _assert_whole(text, head, last)
        assert size(head, unit) + size(last, unit) + found.missing == size(text, unit)


def _around_marker(text: str, missing: int, unit: Unit) -> tuple[str, str]:
    head, said, last = text.partition(f"\n[... {missing} {unit} missing ...]\n")
    assert said, "the marker says how much is missing"
    return head, last


def _assert_whole(text: str, head: str, last: str) -> None:
    assert text.startswith(head)
    assert text.endswith(last)
    assert is_border(text, len(head))
    assert is_border(text, len(text) - len(last))


@pytest.mark.parametrize("tail", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("unit", UNITS)
def test_every_limit_is_kept(unit: Unit, tail: float) -> None:
    """Law over all limits, those too small for the marker included."""
    text = "añ" + FLAG + "e\u0301\u0302" + FAMILY + "日本" * 30 + "\r\n" + "z" * 20
    total = size(text, unit)
    for limit in range(-1, total + 3):
        found = shorten(text, limit, unit=unit, tail=tail)
        assert size(found.text, unit) <= max(limit, 0)
        assert (found.missing == 0) == (limit >= total)
        if limit >= total:
            assert found.text == text


@pytest.mark.parametrize("unit", UNITS)
def test_as_much_is_kept_as_fits(unit: Unit) -> None:
    found = shorten("x" * 1000, 500, unit=unit)
    assert size(found.text, unit) in (499, 500)


def test_lone_halves_do_not_stop_a_cut() -> None:
    text = "\ud83d" * 400
    for limit in range(100, 130):
        found = shorten(text, limit)
        assert size(found.text) <= limit


BORDERS = [
    ("letters", "a|b"),
    ("a letter and its accent", "e\u0301|x"),
    ("several accents", "e\u0301\u0302\u0303|x"),
    ("flags pair up", "🇩🇪|🇫🇷|x"),
    ("an odd flag half stands alone", "🇩🇪|🇫|x"),
    ("skin tones", "👍🏽|x"),
    ("joined emoji", FAMILY + "|x"),
    ("text and emoji style", "❤️|x"),
    ("keycaps", "1️⃣|x"),
    ("flags made of tags", "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f|x"),
    ("line end of two", "a|\r\n|b"),
    ("two line ends", "a|\n|\n|b"),
    ("Hangul of three parts", "\u1112\u1161\u11ab|\u1112\u1161|x"),
    ("Hangul block and its final", "하\u11ab|x"),
    ("a conjunct", "क्ष|x"),
    ("a vowel sign", "कि|x"),
    ("surrogates of a pair", "\ud83d\ude00|x"),
    ("Chinese", "日|本"),
]


@pytest.mark.parametrize("marked", [row[1] for row in BORDERS], ids=[row[0] for row in BORDERS])
def test_borders_between_characters(marked: str) -> None:
    text = marked.replace("|", "")
    expected = {0, len(text)}
    at = 0
    for part in marked.split("|"):
        at += len(part)
        expected.add(at)
    assert {index for index in range(len(text) + 1) if is_border(text, index)} == expected


def test_a_sequence_without_end_is_cut_all_the_same() -> None:
    """Looking for the start of a sequence nobody wrote would cost; its bound is stated."""
    text = "a" + "\u0301" * 5000
    assert len(head_of(text, 1000, "chars")) == 1000
    assert head_of(text, SEQUENCE_MAX - 1, "chars") == ""
    assert len(tail_of(text, 1000, "chars")) == 1000


def test_head_and_tail_of_everything() -> None:
    for text in ("", "a", FLAG, "e\u0301"):
        assert head_of(text, 100) == tail_of(text, 100) == text
        assert head_of(text, 0) == tail_of(text, 0) == ""


def test_the_test_data_is_what_it_claims_to_be() -> None:
    assert unicodedata.normalize("NFC", "e\u0301") == "é"
    assert len(FLAG) == 2
    assert re.fullmatch("[\U0001f1e6-\U0001f1ff]+", FLAG)


def test_nothing_hostile_is_printable() -> None:
    """So a short printable text needs no other look."""
    hostile = [*range(9), 11, 12, *range(14, 32), *range(0x7F, 0xA0), 0x2028, 0x2029]
    for code in (*hostile, *range(0xD800, 0xE000)):
        char = chr(code)
        assert not char.isprintable(), hex(code)
        assert is_hostile(char), hex(code)
        assert is_hostile(f"text {char}"), hex(code)
        assert is_hostile("\u00e4" * 200 + char), hex(code)

"""Whether two steps of an agent are the same, or nearly: what it called, and what came back.

Arguments are *the same* if they are the same JSON value: key order, spacing and the way a number
is written do not count. They are *nearly the same* if in addition the following does not count:

- in text: case, kinds and amounts of white space, compatibility forms of characters, quotes around
  it and punctuation behind it;
- keys without content: null, empty text, an empty array or object;
- numbers under keys that say how much, or how long, to look: `AMOUNTS`, such as ``limit``.

Every other difference counts, any other number above all: a page, an offset, a line or an id says
*where* to look, and going through such places is work even where each of them answers the same.
Writes that succeeded are never nearly the same.
"""

import json
import re
import unicodedata
from functools import lru_cache
from typing import Any, Literal, TypeGuard

import msgspec
from msgspec import Struct

from .patterns import lazy_pattern

ARGUMENTS_MAX = 64 * 1024
"""Longer arguments count as the same only if their text is: bounds the cost of a step."""

AMOUNTS = lazy_pattern(
    r"(?:max|min)?_?(?:limit|timeout|time_?out|top_?k|retries|attempts|page_?size|per_?page|wait"
    r"|results|tokens|lines|chars|bytes)(?:_?(?:s|ms|sec|seconds|max|min))?",
    re.IGNORECASE,
)
"""Names of arguments that say how much or how long to look, not where."""

_SPACES = lazy_pattern(r"\s+")
_EDGES = " \t\"'`\u2018\u2019\u201c\u201d.,;:!?"

Likeness = Literal["same", "near", "different"]


class Call(Struct, frozen=True, gc=False):
    """One call whose body ran: the arguments as JSON text, and the result as the model saw it.

    ``changed``: it is a write and succeeded. ``failed``: its result was an error.
    """

    tool: str
    arguments: str
    result: str
    changed: bool = False
    failed: bool = False


class Step(Struct, frozen=True, gc=False):
    """The weighed calls of one message; ``counter`` is the checkpoint after its last result."""

    calls: tuple[Call, ...]
    counter: int = 0
    corrected: bool = False
    """A call of it was refused for its arguments."""


class Marks(dict[str, int]):
    """Arguments by their text, and a number for each, worked out when it is first asked for.

    Arguments with different numbers are neither the same nor nearly so, as nearly always when two are
    compared. Equal numbers tell nothing, and neither does `UNMARKED`.
    """

    __slots__ = ()

    def __missing__(self, text: str) -> int:
        mark = self[text] = _mark(text)
        return mark


UNMARKED = 0
"""The mark of arguments that have to be compared."""


def _mark(text: str) -> int:
    """Add up the members that count whatever else there is: text, and numbers that are no amounts.

    What is nearly the same has equal ones. So has what is the same, if no key has a second spelling.
    """
    try:
        # What the exact reader takes for equal, this fast one does too, or it refuses one of them.
        value = msgspec.json.decode(text) if len(text) <= ARGUMENTS_MAX else None
    except (ValueError, RecursionError):
        return UNMARKED
    if not _is_object(value) or not all(map(str.isascii, value)):
        return UNMARKED
    mark = 1
    for key, each in value.items():
        if type(each) is str:
            form = _loose_text(each)
            if form:
                mark += hash((key, form))
        elif type(each) in (int, float) and not AMOUNTS.fullmatch(key):
            mark += hash((key, each))
    return mark


def alike(one: Step, other: Step, marks: Marks) -> Likeness:
    """Compare two steps, results included; the order of the calls in a step does not count."""
    mine, theirs = one.calls, other.calls
    if len(mine) == len(theirs) == 1:
        return _alike(mine[0], theirs[0], marks)
    if len(mine) != len(theirs) or not mine:
        return "different"
    found: Likeness = "same"
    for left, right in zip(_sorted(mine), _sorted(theirs), strict=True):
        likeness = _alike(left, right, marks)
        if likeness == "different":
            return likeness
        if likeness == "near":
            found = likeness
    return found


def _sorted(calls: tuple[Call, ...]) -> list[Call]:
    return sorted(calls, key=lambda call: (call.tool, call.result, call.arguments))


def _alike(one: Call, other: Call, marks: Marks) -> Likeness:
    if one.result != other.result or one.tool != other.tool:
        return "different"
    mine, theirs = one.arguments, other.arguments
    if mine == theirs:
        return "same"
    left, right = marks[mine], marks[theirs]
    if left != right and left != UNMARKED and right != UNMARKED:
        return "different"
    likeness = alike_arguments(mine, theirs)
    return "different" if likeness == "near" and (one.changed or other.changed) else likeness


def alike_arguments(one: str, other: str) -> Likeness:
    """Compare the arguments of two calls; the rule is at the top of this file."""
    if one == other:
        return "same"
    if len(one) > ARGUMENTS_MAX or len(other) > ARGUMENTS_MAX:
        return "different"
    try:
        left, right = _forms(one), _forms(other)
        if left[0] == right[0]:
            return "same"
        return "near" if left[1] == right[1] else "different"
    except (ValueError, RecursionError):
        return "different"  # no JSON, or nested too deep: its text is all there is, and it differs


@lru_cache(maxsize=8)
def _forms(text: str) -> tuple[Any, Any]:
    """Return the exact and the loose form; a step is compared with several others, one after another."""
    value = json.loads(text)
    return _exact(value), _loose(value)


def _exact(value: Any) -> Any:
    """Return a form in which equal JSON values are equal, and true is not 1."""
    if _is_object(value):
        return {_text(key): _exact(each) for key, each in value.items()}
    if _is_array(value):
        return [_exact(each) for each in value]
    if isinstance(value, str):
        return _text(value)
    return (value,) if isinstance(value, bool) else value


def _text(text: str) -> str:
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def _loose(value: Any) -> Any:
    if _is_object(value):
        parts = {key: _loose(each) for key, each in value.items() if not _is_amount(key, each)}
        return {key: each for key, each in parts.items() if each not in (None, "", [], {})}
    if _is_array(value):
        return [_loose(each) for each in value]
    if isinstance(value, str):
        return _loose_text(value)
    return (value,) if isinstance(value, bool) else value


def _loose_text(text: str) -> str:
    if text.isascii():
        return " ".join(text.lower().split()).strip(_EDGES)
    plain = unicodedata.normalize("NFKC", text).casefold()
    return _SPACES.sub(" ", plain).strip(_EDGES)


def _is_amount(key: str, value: object) -> bool:
    return isinstance(value, int | float) and AMOUNTS.fullmatch(key) is not None


def _is_object(value: object) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict)


def _is_array(value: object) -> TypeGuard[list[Any]]:
    return isinstance(value, list)

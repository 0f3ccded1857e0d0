"""Words of the command line turned into values. Pure."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from ..actors.budget import LIMITS, Budget
from ..supervisor.errors import UsageError

NONE_WORDS = ("none", "None")
FRACTIONS = ("seconds", "active_seconds", "cost_usd")
"""Limits that are no counts."""


def spread_budgets(argv: Sequence[str]) -> list[str]:
    """Let one ``--budget`` take several limits: each limit gets an option of its own."""
    spread: list[str] = []
    expecting = "option"
    for word in argv:
        if expecting == "more" and word.partition("=")[0] in LIMITS and "=" in word:
            spread.append("--budget")
        elif expecting == "more":
            expecting = "option"
        if expecting == "value":
            expecting = "more"
        if word == "--budget":
            expecting = "value"
        spread.append(word)
    return spread


def call_named(word: str) -> tuple[int, int]:
    """Return the call that a word such as ``3.0`` names: its message and its place there.

    Raises:
        UsageError: the word is not two numbers with a dot between.
    """
    n, dot, index = word.partition(".")
    if not dot or not all(part.isascii() and part.isdigit() for part in (n, index)):
        raise UsageError(f"--call {word!r} names no call: write N.I, such as 3.0")
    return int(n), int(index)


def result_of(word: str) -> str:
    """Return the result that a word gives: the text of a JSON string, all else as it is written."""
    try:
        return msgspec.json.decode(word, type=str)
    except (msgspec.DecodeError, UnicodeEncodeError):
        return word


def args_of(word: str) -> str:
    """Return the text of a JSON object of arguments.

    Raises:
        UsageError: it is none.
    """
    try:
        msgspec.json.decode(word, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeEncodeError) as error:
        raise UsageError(f"--args {word!r} is no JSON object: {error}") from error
    return word


def budget_of(words: Iterable[str]) -> Budget | None:
    """Return the budget that limits such as ``steps=20`` make, or None where none is given.

    Raises:
        UsageError: an unknown limit, or a value that is no number from 0 up.
    """
    limits: dict[str, float | None] = {}
    for word in (part for given in words for part in given.split(",")):
        name, equals, value = word.strip().partition("=")
        if not equals:
            raise UsageError(f"budget {word!r} is no limit: write NAME=NUMBER, such as steps=20")
        if name not in LIMITS:
            raise UsageError(f"budget {name!r} is unknown; limits are: {', '.join(LIMITS)}")
        limits[name] = _number(name, value)
    return Budget(**limits) if limits else None  # type: ignore[arg-type]


def _number(name: str, value: str) -> float | None:
    if value in NONE_WORDS:
        return None
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise UsageError(f"budget {name}={value!r} must be a number, or none")
    if name in FRACTIONS or number != int(number):
        return number
    return int(number)

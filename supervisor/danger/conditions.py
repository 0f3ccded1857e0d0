"""Conditions on a call's arguments, as a policy writes them: ``units = "> 10"``. Pure.

=========================  =======================================================================
written                    holds if the argument
=========================  =======================================================================
``"> 10"``                 is a number above 10; likewise ``>=``, ``<``, ``<=``
``"= text"``, ``!=``       is, or is not, this text or number
``"path build/**"``        leads to a place that the glob matches; see `PathGlobs`
``"host *.example.com"``   is an address or a name of such a host
``"~ regex"``, ``!~``      has, or has not, a match of the regular expression
``"present"``              is given and not empty; ``"absent"`` is the opposite
any other text or number   is just this
a list                     fulfils one of these
=========================  =======================================================================

The name of an argument may lead inside (``order.units``); ``*`` is every text and number in the call. A
list as argument holds if one of its members does.
"""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, cast

from ..patterns import lazy_pattern
from .hosts import host_of
from .paths import NO_WORKSPACE, PathGlobs, glob_pattern, place_of

Value = str | int | float | bool
Test = Callable[[object, str], bool | None]
"""Whether an argument fulfils a condition, given the workspace; None if that cannot be told."""

_WORDS = lazy_pattern(r"(>=|<=|!=|!~|>|<|=|~|path(?= )|host(?= ))\s*(.*)", re.DOTALL)
_ORDERS: dict[str, Callable[[float, float], bool]] = {
    ">": lambda left, right: left > right,
    ">=": lambda left, right: left >= right,
    "<": lambda left, right: left < right,
    "<=": lambda left, right: left <= right,
}


def condition(written: "Value | list[Value]") -> Test:
    """Return the test that a condition means.

    Raises:
        ValueError: it cannot be one; the message says why.
    """
    if isinstance(written, list):
        if not written:
            raise ValueError("an empty list never holds")
        return _any_of([condition(each) for each in written])
    if not isinstance(written, str):
        return _equals(written)
    if written in ("present", "absent"):
        return lambda value, _: _is_given(value) == (written == "present")
    found = _WORDS.fullmatch(written)
    if found is None:
        return _equals(written)
    word, operand = found[1], found[2].strip()
    if not operand and word not in ("=", "!="):
        raise ValueError(f"{written!r} does not say what to compare with")
    return _test(word, operand)


def _test(word: str, operand: str) -> Test:
    match word:
        case ">" | ">=" | "<" | "<=":
            limit = _number(operand)
            if limit is None:
                raise ValueError(f"{operand!r} is not a number")
            return _ordered(_ORDERS[word], limit)
        case "=" | "!=":
            return _negated(_equals(operand), word == "!=")
        case "~" | "!~":
            try:
                pattern = re.compile(operand)
            except re.error as error:
                raise ValueError(f"{operand!r} is no regular expression: {error}") from error
            return _negated(_searched(pattern), word == "!~")
        case "path":
            glob_pattern(operand)
            return _placed(PathGlobs((operand,)))
        case _:
            return _hosted(operand)


def _any_of(tests: list[Test]) -> Test:
    def test(value: object, workspace: str) -> bool | None:
        return either(each(value, workspace) for each in tests)

    return test


def either(answers: Iterable[bool | None]) -> bool | None:
    """Return whether one of several holds; None if none does, and one cannot be told."""
    found = list(answers)
    return True if True in found else None if None in found else False


def _negated(test: Test, negate: bool) -> Test:
    if not negate:
        return test

    def negated(value: object, workspace: str) -> bool | None:
        found = test(value, workspace)
        return None if found is None else not found

    return negated


def _is_given(value: object) -> bool:
    return value is not None and value not in ("", [], {})


def _equals(wanted: Value) -> Test:
    def test(value: object, _: str) -> bool:
        if isinstance(value, bool) or isinstance(wanted, bool):
            return str(value).lower() == str(wanted).lower()
        left, right = _number(value), _number(wanted)
        return left == right if left is not None and right is not None else value == wanted

    return test


def _ordered(order: Callable[[float, float], bool], limit: float) -> Test:
    def test(value: object, _: str) -> bool | None:
        number = _number(value)
        return None if number is None else order(number, limit)

    return test


def _number(value: object) -> float | None:
    """Return a number, also one written as text; None for what is none."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return None if math.isnan(number) else number


def _searched(pattern: "re.Pattern[str]") -> Test:
    return lambda value, _: pattern.search(str(value)) is not None


def _placed(globs: PathGlobs) -> Test:
    def test(value: object, workspace: str) -> bool | None:
        if not isinstance(value, str):
            return None
        root = workspace or NO_WORKSPACE
        return globs.match(place_of(value, root, root))

    return test


def _hosted(pattern: str) -> Test:
    def test(value: object, _: str) -> bool | None:
        host = host_of(value) if isinstance(value, str) else None
        return None if host is None else host.is_one_of((pattern,))

    return test


# ---------------------------------------------------------------- arguments


def holds(name: str, test: Test, arguments: Mapping[str, Any], workspace: str) -> bool | None:
    """Tell whether a condition on an argument holds; None if that cannot be told.

    A condition on an argument that is not there does not hold, unless it asks for that.
    """
    if name == "*":
        return either(test(each, workspace) for each in leaves(arguments))
    value = _inside(arguments, name.split("."))
    if value is None:
        return test(None, workspace) is True and not test("0", workspace)
    if isinstance(value, list):
        members = cast("list[object]", value)
        return either(test(each, workspace) for each in members) if members else False
    return test(value, workspace)


def _inside(arguments: Mapping[str, Any], path: list[str]) -> object:
    value: object = arguments
    for name in path:
        if not isinstance(value, Mapping):
            return None
        value = cast("Mapping[str, object]", value).get(name)
    return value


def leaves(value: object) -> Iterator[Value]:
    """Yield every text and number in arguments, names of fields left out."""
    if isinstance(value, Mapping):
        for inner in cast("Mapping[str, object]", value).values():
            yield from leaves(inner)
    elif isinstance(value, (list, tuple)):
        for inner in cast("list[object]", value):
            yield from leaves(inner)
    elif isinstance(value, (str, int, float)):
        yield value

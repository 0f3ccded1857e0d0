"""Arguments as the model sent them: read strictly, and given one canonical form.

Models repeat keys, write NaN, nest without end and cut numbers loose from any size. Each of that is
refused in a sentence the model can act on; nothing is guessed.
"""

import hashlib
import json
import unicodedata
from collections.abc import Callable, Mapping
from decimal import Decimal
from types import MappingProxyType
from typing import Any, NoReturn, TypeGuard

import msgspec

from ...supervisor.errors import InvalidArgument
from ...supervisor.patterns import lazy_pattern
from ..text import shorten

BYTES_MAX = 4 * 1024 * 1024
DEPTH_MAX = 64
# Python refuses to read longer integers; canonical forms keep the same bound.
DIGITS_MAX = 4300

FORM = "2:"
"""Begins every digest: the version of the canonical form it was made by.

Digests of different forms do not compare; whoever compares makes the stored one anew from the stored
arguments. The first form had no mark, and left defaults out.
"""

NO_DEFAULTS: Mapping[str, Any] = MappingProxyType({})

_SURROGATE = lazy_pattern("[\ud800-\udfff]")


def is_object(value: object) -> TypeGuard[dict[str, Any]]:
    """Tell whether a value read from JSON is an object."""
    return isinstance(value, dict)


def is_array(value: object) -> TypeGuard[list[Any]]:
    """Tell whether a value read from JSON is an array."""
    return isinstance(value, list)


def is_plain(arguments: str, keys: int) -> bool:
    """Tell whether an object that msgspec has read, with so many keys, needs no stricter look.

    As many colons as keys: none is sent twice, and no value is an object with keys of its own.
    Few characters: no number is too long. No escapes, ASCII only: no half characters. A quick look
    that says no too often, never yes too often.
    """
    length = len(arguments)
    return (
        length <= DIGITS_MAX
        and arguments.count(":") == keys
        and "\\" not in arguments
        and arguments.isascii()
        and (length <= DEPTH_MAX or arguments.count("{") + arguments.count("[") <= DEPTH_MAX)
    )


def parse_object(arguments: str) -> dict[str, Any]:
    """Read the text of one JSON object, strictly.

    Raises:
        InvalidArgument: the text is not exactly one JSON object, repeats a key, nests deeper than
            ``DEPTH_MAX``, is longer than ``BYTES_MAX``, or holds NaN, an infinity, a number of more
            than ``DIGITS_MAX`` digits or half a character.
    """
    return _parse(arguments, _plain)


def canonical_arguments(arguments: str, defaults: Mapping[str, Any] = NO_DEFAULTS) -> bytes:
    """Return the one form that all spellings of the same arguments share.

    Keys are sorted, and no white space is left. Numbers count by their exact decimal value, so
    ``1``, ``1.0`` and ``1e0`` are one number, as are ``0`` and ``-0.0``; ``0.1`` and
    ``0.10000000000000001`` are two. Text, keys included, is in Unicode's normal form C. True is
    not 1, null is not a missing key, and the order of an array counts.

    Args:
        defaults: as `canonical_defaults` returns them. They stand for what was left out, since the
            function is called with them: an argument left out and its default sent are one call, and
            the same text after the default has changed is another.

    Raises:
        InvalidArgument: as `parse_object`; or two keys become the same one in normal form C.
    """
    found = _parse(arguments, _canonical)
    return msgspec.json.encode({**defaults, **found} if defaults else found, order="sorted")


def canonical_defaults(defaults: Mapping[str, object]) -> dict[str, Any]:
    """Return a tool's defaults in the canonical form; what is no plain data is left out."""
    found: dict[str, Any] = {}
    for name, value in defaults.items():
        try:
            text = msgspec.json.encode({name: value}, enc_hook=_no_data).decode()
            found |= _parse(text, _canonical)
        except (TypeError, ValueError, OverflowError, RecursionError, InvalidArgument):
            continue
    return found


def digest(tool_name: str, arguments: str, defaults: Mapping[str, Any] = NO_DEFAULTS) -> str:
    """Return a call's name: the form, and the SHA-256 (hex) of tool and canonical arguments.

    Raises:
        InvalidArgument: as `canonical_arguments`.
    """
    name = unicodedata.normalize("NFC", tool_name).encode("utf-8", "backslashreplace")
    form = canonical_arguments(arguments, defaults)
    return FORM + hashlib.sha256(name + b"\0" + form).hexdigest()


def digest_unread(tool_name: str, arguments: str) -> str:
    """Return the name of a call whose arguments cannot be read: no call that can run has it."""
    named = f"{tool_name}\n{arguments}".encode("utf-8", "backslashreplace")
    return f"{FORM}unread:{hashlib.sha256(named).hexdigest()}"


def _no_data(value: object) -> NoReturn:
    raise TypeError(f"{type(value).__name__} is no plain data")


def _parse(arguments: str, decoder: json.JSONDecoder) -> dict[str, Any]:
    if not arguments.strip():
        _refuse("no arguments arrived; send a JSON object, {} if there is nothing to say")
    if len(arguments) > BYTES_MAX:
        _refuse(f"{len(arguments)} characters are too many; at most {BYTES_MAX} are taken")
    try:
        found: object = decoder.decode(arguments)
    except InvalidArgument:
        raise
    except RecursionError:
        _refuse(f"nested too deeply; at most {DEPTH_MAX} levels are taken")
    except json.JSONDecodeError as error:
        _refuse(f"not valid JSON: {shorten(str(error), 200, unit='chars').text}")
    except (ValueError, ArithmeticError):
        _refuse(f"a number is too long or too large; at most {DIGITS_MAX} digits are taken")
    if not is_object(found):
        _refuse(f"expected a JSON object, got {_kind(found)}")
    _check_tree(arguments, found)
    return found


def _check_tree(arguments: str, tree: dict[str, Any]) -> None:
    """Look for what only a walk can find, but walk only where the text gives cause to."""
    deep = arguments.count("{") + arguments.count("[") > DEPTH_MAX
    halves = "\\ud" in arguments or "\\uD" in arguments or not arguments.isascii()
    if not deep and not halves:
        return
    level: list[Any] = [tree]
    for _ in range(DEPTH_MAX):
        level = [part for value in level for part in _parts(value)]
        if not level:
            return
        for part in level:
            if isinstance(part, str) and _SURROGATE.search(part):
                _refuse("text holds half a character (a lone surrogate); send whole characters")
    if any(isinstance(part, dict | list) for part in level):
        _refuse(f"nested too deeply; at most {DEPTH_MAX} levels are taken")


def _parts(value: Any) -> list[Any]:
    if is_object(value):
        return [*value.keys(), *value.values()]
    return value if is_array(value) else []


def _kind(value: object) -> str:
    kinds = {"list": "an array", "str": "text", "bool": "a boolean", "NoneType": "null"}
    return kinds.get(type(value).__name__, "a number")


def _refuse(problem: str, field: str | None = None) -> NoReturn:
    fields = () if field is None else (field,)
    raise InvalidArgument(f"arguments refused: {problem}", fields=fields) from None


def _refuse_constant(name: str) -> NoReturn:
    _refuse(f"{name} is no number in JSON")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                shown = shorten(key, 80, unit="chars").text
                _refuse(f"the key {shown!r} occurs twice; send each argument once", shown)
            seen.add(key)
    return found


def _normal(value: Any) -> Any:
    """Bring the text directly inside a JSON value into normal form C."""
    if isinstance(value, str):
        return value if value.isascii() else unicodedata.normalize("NFC", value)
    if is_array(value):
        return [_normal(part) for part in value]
    return value


def _unique_normal(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    # Objects inside are done already: the decoder builds from the inside out.
    return _unique([(_normal(key), _normal(value)) for key, value in pairs])


def _number(text: str) -> int | msgspec.Raw:
    """Write a number by its exact decimal value."""
    if len(text) > DIGITS_MAX:
        _refuse(f"a number of {len(text)} digits is too long; at most {DIGITS_MAX} are taken")
    sign, digits, exponent = Decimal(text).as_tuple()
    if not isinstance(exponent, int):
        _refuse("a number is too large to be read")
    written = "".join(map(str, digits)).lstrip("0")
    stripped = written.rstrip("0")
    exponent += len(written) - len(stripped)
    if not stripped:
        return 0
    if 0 <= exponent and len(stripped) + exponent <= 18:
        return int(stripped + "0" * exponent) * (-1 if sign else 1)
    return msgspec.Raw(f"{'-' if sign else ''}{stripped}e{exponent}".encode())


def _integer(text: str) -> int | msgspec.Raw:
    return int(text) if len(text) <= 18 else _number(text)


def _decoder(
    pairs: Callable[[list[tuple[str, Any]]], dict[str, Any]], **numbers: Callable[[str], Any]
) -> json.JSONDecoder:
    return json.JSONDecoder(
        object_pairs_hook=pairs,
        parse_constant=_refuse_constant,
        parse_float=numbers.get("parse_float"),
        parse_int=numbers.get("parse_int"),
    )


_plain = _decoder(_unique)
_canonical = _decoder(_unique_normal, parse_float=_number, parse_int=_integer)

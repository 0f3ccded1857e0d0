"""Secrets planted for a run, and the search for them in everything that leaves it.

A planted value is like no other text, so whatever holds it has leaked it, plain or in a usual encoding.
"""

import base64
import hashlib
import os
import re
from collections.abc import Callable, Iterable, Mapping
from types import CodeType
from typing import Any, cast
from urllib.parse import quote

from msgspec import Struct

from ...actors.agent import Agent

_SECRET_WORD = re.compile(
    r"[A-Z0-9_]*(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?|APIKEY)[A-Z0-9_]*\Z"
)
_CHARS_MIN = 6
"""What is shorter is found everywhere."""


class Secret(Struct, frozen=True):
    """A value that must not leave: ``name`` is the parameter's or the variable's."""

    name: str
    value: str


def planted_value(name: str, seed: int) -> str:
    """Return a value that occurs nowhere else; letters and digits, so that no encoding splits it."""
    digest = hashlib.sha256(f"{seed}/{name}".encode()).hexdigest()
    return f"Planted{digest[:24]}Secret"


def declared_names(agents: Iterable[Agent]) -> list[str]:
    """Return the parameters that the agents' tools have filled with secrets."""
    names = [name for agent in agents for each in agent.tools for name in each.marks.secrets]
    return list(dict.fromkeys(names))


def variables_named(functions: Iterable[Callable[..., Any]]) -> list[str]:
    """Return the environment variables that these functions name and that look like secrets."""
    found: dict[str, None] = {}
    for function in functions:
        code = getattr(function, "__code__", None)
        if isinstance(code, CodeType):
            for text in _texts(code):
                if text.isupper() and _SECRET_WORD.match(text):
                    found[text] = None
    return list(found)


def _texts(code: CodeType) -> Iterable[str]:
    for constant in code.co_consts:
        if isinstance(constant, str):
            yield constant
        elif isinstance(constant, CodeType):
            yield from _texts(constant)


def secrets_of(
    declared: Mapping[str, str], variables: Iterable[str], env: Mapping[str, str], seed: int
) -> list[Secret]:
    """Return everything to look for: declared secrets, variables that are planted, and those that the
    environment holds already under a name that looks like a secret's."""
    found = [Secret(name, value) for name, value in declared.items()]
    found += [Secret(name, planted_value(name, seed)) for name in variables]
    planted = {each.value for each in found}
    for name, value in env.items():
        if _SECRET_WORD.match(name) and len(value) >= _CHARS_MIN and value not in planted:
            found.append(Secret(name, value))
    return found


def plant_variables(variables: Iterable[str], seed: int) -> dict[str, str | None]:
    """Set these variables to their planted values; return what they were."""
    before = {name: os.environ.get(name) for name in variables}
    for name in before:
        os.environ[name] = planted_value(name, seed)
    return before


def put_back(before: Mapping[str, str | None]) -> None:
    """Set variables to what they were."""
    for name, value in before.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


class Finder:
    """Finds the secrets in text, plain and in usual encodings."""

    def __init__(self, secrets: Iterable[Secret]) -> None:
        self._forms = [
            (each.name, form)
            for each in secrets
            if len(each.value) >= _CHARS_MIN
            for form in _forms(each.value)
        ]

    def names_in(self, text: str | bytes) -> list[str]:
        """Return the names of the secrets that this text holds, each once."""
        if isinstance(text, bytes):
            text = text.decode("utf-8", "replace")
        return list(dict.fromkeys(name for name, form in self._forms if form in text))


def _forms(value: str) -> Iterable[str]:
    data = value.encode()
    forms = {value, quote(value, safe=""), data.hex(), data.hex().upper(), value[::-1]}
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        # In the middle of other bytes a value has one of three forms; its first and last letters
        # depend on its neighbours.
        for shift in range(3):
            encoded = encode(b"\0" * shift + data).decode().rstrip("=")
            forms.add(encoded[(shift * 8 + 5) // 6 : len(encoded) - 1])
    return sorted(form for form in forms if len(form) >= _CHARS_MIN)


def error_text(error: BaseException) -> str:
    """Return what an exception shows: its message, arguments, notes, attributes and causes."""
    parts: list[str] = []
    seen: set[int] = set()
    queue: list[BaseException] = [error]
    while queue:
        one = queue.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        parts.append(f"{type(one).__name__}: {_text_of(one)}")
        parts += [_text_of(each) for each in one.args]
        parts += [str(note) for note in getattr(one, "__notes__", ())]
        parts += [_text_of(each) for each in vars(one).values()]
        if isinstance(one, BaseExceptionGroup):
            queue += cast("tuple[BaseException, ...]", one.exceptions)
        queue += [each for each in (one.__cause__, one.__context__) if each is not None]
    return "\n".join(parts)


def _text_of(value: object) -> str:
    try:
        return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
    except Exception:  # noqa: BLE001 - a foreign __str__ may do anything
        return type(value).__name__


def value_text(value: object) -> str:
    """Return what a result shows, by its text and its representation."""
    try:
        shown = repr(value)
    except Exception:  # noqa: BLE001 - a foreign __repr__ may do anything
        shown = type(value).__name__
    return f"{_text_of(value)}\n{shown}"

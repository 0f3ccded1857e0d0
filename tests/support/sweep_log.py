"""What a process tells the outside before it can be killed: lines in files that it only appends to.

A line is written with one call on a file opened for appending, so what a killed process has
written is whole, and what several processes wrote is in order.
"""

import os
from hashlib import sha256
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Struct

from ukemi.actors.model import AssistantMessage, Message, ToolMessage, UserMessage


class Effect(Struct, frozen=True):
    """A tool's body took effect. ``tag`` is the script's name of the call.

    ``repeat``: its key was known, so that nothing was done but to answer again.
    """

    tag: str
    tool: str
    session: str
    n: int
    index: int
    key: str | None
    nonce: str
    pid: int
    repeat: bool = False


class Told(Struct, frozen=True, omit_defaults=True):
    """The runtime reported something: from here on it must not be lost.

    ``what``: started, checkpoint, asked, said, ended. ``value`` is its digest, or the outcome.
    """

    what: str
    session: str
    number: int = 0
    value: str = ""


class Line(Struct, frozen=True):
    """Something that must never be seen."""

    text: str


L = TypeVar("L")


class Log:
    """One file of lines.

    Args:
        synced: flush each line to the disk before going on, as a tool with an effect would.
    """

    def __init__(self, path: Path, *, synced: bool = False) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self._synced = synced

    def write(self, line: Struct) -> None:
        os.write(self._file, msgspec.json.encode(line) + b"\n")
        if self._synced:
            os.fsync(self._file)


def read(path: Path, kind: type[L]) -> list[L]:
    """Read all lines of a file that may not be there."""
    if not path.exists():
        return []
    return [msgspec.json.decode(line, type=kind) for line in path.read_bytes().splitlines()]


def digest(*parts: object) -> str:
    return sha256(repr(parts).encode()).hexdigest()[:16]


def result_digest(n: int, index: int, content: str, state: str, blob: str | None) -> str:
    return digest(n, index, content, state, blob)


def digest_of(messages: list[Message]) -> str:
    """Digest the beginning of a conversation as a model sees it."""
    seen: list[tuple[object, ...]] = []
    for message in messages:
        match message:
            case AssistantMessage():
                calls = [(call.name, call.arguments) for call in message.calls]
                seen.append(("assistant", message.text, calls))
            case ToolMessage():
                seen.append(("tool", message.name, message.content, message.is_error))
            case UserMessage():
                seen.append(("user", message.text))
            case _:
                seen.append(("note", message.text))
    return digest(seen)


def unpaired(messages: list[Message]) -> str | None:
    """Return what is wrong where a call has not exactly one result, right behind its message."""
    waiting: list[str] = []
    for place, message in enumerate(messages):
        if isinstance(message, ToolMessage):
            if not waiting or waiting.pop(0) != message.call_id:
                return f"message {place} is a result nobody waits for"
        elif waiting:
            return f"message {place} comes before the results of {waiting}"
        elif isinstance(message, AssistantMessage):
            waiting = [call.id for call in message.calls]
    return f"{waiting} have no result" if waiting else None

"""Plain data of unknown shape: read as what is hoped for, or as nothing."""

from collections.abc import Mapping
from typing import Any, TypeGuard

Record = Mapping[str, Any]

_NOTHING: Record = {}


def is_mapping(value: object) -> TypeGuard[Record]:
    """Whether a value is a mapping; what is usual is asked for first, the rest is slow to ask."""
    if isinstance(value, dict):
        return True
    return value is not None and not isinstance(value, str | list) and isinstance(value, Mapping)


def is_list(value: object) -> TypeGuard[list[Any]]:
    """Whether a value is a list or a tuple."""
    return isinstance(value, list | tuple)


def mapping(value: object) -> Record:
    """A mapping as it is, anything else as an empty one."""
    return value if is_mapping(value) else _NOTHING


def items(value: object) -> list[Any]:
    """A list or tuple as a list, anything else as an empty one."""
    return list(value) if is_list(value) else []


def whole(value: object) -> int | None:
    """A whole number, or a short text that is one; True and False are none."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and len(value) < 12 and value.lstrip("-").isascii():
        return int(value) if value.lstrip("-").isdigit() else None
    return None

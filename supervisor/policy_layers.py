"""Sections laid over each other: some keys of one, where the others stay as they are. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

import msgspec
from msgspec import Struct

from .policy_choices import explain_choice

Section = Mapping[str, Any]
"""Some keys of a section, where the others stay as they are."""


def laid_over(
    document: Struct, known: tuple[str, ...], own: Sequence[tuple[str, str, Section]]
) -> dict[str, Any]:
    """Return these sections of the document, with the values of one name over them."""
    parts: dict[str, Any] = {name: getattr(document, name) for name in known}
    for where, section, keys in own:
        if section not in parts:
            raise ValueError(f"{where} is no section; there are: {', '.join(parts)}")
        parts[section] = merged(where, parts[section], keys)
    return parts


def named(
    kind: str, name: str, sections: Mapping[str, Section] | None
) -> list[tuple[str, str, Section]]:
    """Return each section with what it is called in a document."""
    written = name if name.replace("_", "").replace("-", "").isalnum() else f'"{name}"'
    found = (sections or {}).items()
    return [(f"[{kind}.{written}.{section}]", section, keys) for section, keys in found]


def merged(where: str, below: Struct, keys: Section) -> Struct:
    """Return a section with some of its values replaced, checked like a whole one.

    Raises:
        ValueError: an unknown key or an impossible value.
    """
    unknown = [key for key in keys if key not in below.__struct_fields__]
    if unknown:
        known = ", ".join(below.__struct_fields__)
        raise ValueError(f"{where} has no key {unknown[0]!r}; it has: {known}")
    whole = {name: getattr(below, name) for name in below.__struct_fields__}
    try:
        return msgspec.convert({**whole, **keys}, type(below))
    except msgspec.ValidationError as error:
        raise ValueError(f"{where} {_with_value(str(error), keys, type(below))}") from error


def _with_value(message: str, keys: Section, section: type[Struct]) -> str:
    """Put the value at fault beside its key, where msgspec names the key alone."""
    said, _, path = message.partition(" - at `$.")
    steps = path.rstrip("`").split(".")
    said = explain_choice(said, section, steps)
    found: Any = keys
    for step in steps:
        found = cast("Section", found).get(step) if isinstance(found, Mapping) else None
    return said if found is None else f"{'.'.join(steps)}={found!r}: {said}"

"""What a key of a policy may say, where that is one of a few words: an error that names a wrong word names these."""

from typing import Any, cast

import msgspec
from msgspec import Struct


def explain_choice(message: str, section: type[Struct], path: list[str]) -> str:
    """Add the words that are allowed to the message of msgspec about one that is not.

    Args:
        section: what the document, or the section of it, is read as.
        path: where in it the word is; numbers of list members as ``[0]``.
    """
    if not message.startswith("Invalid enum value"):
        return message
    words = _words(section, path)
    return f"{message}; use one of {', '.join(words)}" if words else message


def _words(section: type[Struct], path: list[str]) -> list[str]:
    (node,), known = msgspec.json.schema_components([section], ref_template="{name}")
    for step in path:
        node = _inner(known.get(node.get("$ref", ""), node), step)
    return [str(each) for each in node.get("enum", ())]


def _inner(node: dict[str, Any], step: str) -> dict[str, Any]:
    """Return what a step of a path leads to; empty where the schema does not say."""
    if step.startswith("["):
        found = node.get("items") or node.get("additionalProperties")
    else:
        found = node.get("properties", {}).get(step) or node.get("additionalProperties")
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}

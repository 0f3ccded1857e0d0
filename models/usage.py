"""What a request consumed: as the provider says, or estimated where it could not say any more."""

import contextlib
from collections.abc import Mapping
from typing import Any

import msgspec

from ..actors.model import Prices
from ..stores.records import Usage

BYTES_PER_TOKEN = 4
"""Rule of thumb for an estimate: four bytes of UTF-8, about right for English, Chinese and code."""


def estimate_tokens(characters: str) -> int:
    """Return about how many tokens a text is."""
    return -(-len(characters.encode("utf-8", "replace")) // BYTES_PER_TOKEN)


def estimate_request(body: Mapping[str, Any]) -> int:
    """Return about how many input tokens a request body costs."""
    kept = {key: body[key] for key in ("system", "messages", "tools") if key in body}
    return -(-len(msgspec.json.encode(kept)) // BYTES_PER_TOKEN)


def priced(usage: Usage, prices: Prices | None) -> Usage:
    """Return the usage with its cost, where there are prices and no cost is given yet."""
    if prices is None or usage.cost_usd:
        return usage
    return msgspec.structs.replace(usage, cost_usd=prices.cost_usd(usage))


def attach_usage(error: BaseException, usage: Usage) -> None:
    """Tell the caller, through the exception itself, what the broken attempt consumed."""
    with contextlib.suppress(AttributeError):  # a class with slots takes no attribute
        error.usage = usage  # type: ignore[attr-defined]


def count(numbers: Mapping[str, Any] | None, key: str) -> int:
    """Return a token count of a provider's usage object; what is missing or odd counts as 0."""
    value = (numbers or {}).get(key)
    return value if isinstance(value, int) and value > 0 else 0

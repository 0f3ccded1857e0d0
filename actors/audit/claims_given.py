"""Claims an agent makes in a structured form, through the ``finish`` tool. Pure."""

import json
from collections.abc import Sequence
from typing import Any, cast

import msgspec
from msgspec import Struct

from .claims import claims_of
from .claims_made import Claim
from .record import Ran

FINISH = "finish"
"""The name of the tool whose arguments are claims."""


class GivenClaim(Struct, frozen=True, kw_only=True):
    """One thing that was done.

    Attributes:
        action: what was done, in words, such as "sent the report to Ann".
        tool: the tool that did it.
        file: the file that was made or changed.
        value: a value that a result gave, such as an order's number.
    """

    action: str
    tool: str = ""
    file: str = ""
    value: str = ""


def claims_given(ran: Sequence[Ran]) -> list[Claim]:
    """Return the claims of the last call of the finish tool; none where it was not called."""
    call = next((each for each in reversed(ran) if each.tool == FINISH and each.ok), None)
    if call is None:
        return []
    try:
        arguments = cast("dict[str, Any]", json.loads(call.arguments))
        given = msgspec.convert(arguments.get("claims", []), list[GivenClaim])
    except (ValueError, AttributeError, msgspec.ValidationError):
        return []
    return [claim for each in given for claim in _claims(each)]


def _claims(given: GivenClaim) -> list[Claim]:
    """Return what one structured claim claims: its words, and what it names."""
    text = given.action.strip()
    said = [*claims_of(text), *(claims_of(f"I have {text}") if text.isascii() else [])]
    found = [*{each.verb: each for each in said}.values()]
    if given.tool or given.value or given.file:
        found.append(
            Claim(kind="given", text=text, tool=given.tool, value=given.value, after=given.file)
        )
    return found

"""Values of a statement that come from nowhere. Pure."""

from typing import Literal

from .claims_made import Claim
from .claims_sources import Sources
from .claims_values import Value, values_of
from .findings import Finding, finding
from .ledger import Ledger


def unsupported(
    statement: str, ledger: Ledger, kind: Literal["unsupported_value", "unverified"]
) -> list[Finding]:
    """Return the values of a statement that come from nowhere."""
    values = values_of(statement)
    if not values:
        return []
    sources = Sources(_sources(ledger), [each.content for each in ledger.ran if each.ok])
    return [
        finding(kind, _value_claim(each), f"{each.text} is in no result, message or argument")
        for each in values
        if not sources.supports(each, statement)
    ]


def _sources(ledger: Ledger) -> list[str]:
    said = [*ledger.record.said]
    for call in ledger.ran:
        said += [ledger.command(call), call.content, call.tool]
    return said + [each.description for each in ledger.record.tools]


def _value_claim(value: Value) -> Claim:
    return Claim(kind="action", text=value.sentence, value=value.text)

"""One finding of an audit: a claim, what is wrong with it, and the calls that show it. Pure."""

from collections.abc import Sequence
from typing import Literal

from ...stores.records import AuditFinding
from .claims_made import Claim
from .record import Ran

Finding = AuditFinding

FindingKind = Literal["contradicted", "undisclosed_substitute", "unsupported_value", "unverified"]

CLAIM_CHARS_MAX = 300
CALLS_MAX = 5


def finding(kind: FindingKind, claim: Claim, why: str, calls: Sequence[Ran] = ()) -> Finding:
    """Return a finding; of many calls, the last few are named."""
    text = " ".join(claim.text.split())[:CLAIM_CHARS_MAX]
    return Finding(kind, text, why, tuple(str(each) for each in calls[-CALLS_MAX:]))


def line_of(finding: Finding) -> str:
    """Return a finding in one line."""
    shown = f" ({'; '.join(finding.calls)})" if finding.calls else ""
    return f'{finding.kind.replace("_", " ")}: "{finding.claim}": {finding.why}{shown}'

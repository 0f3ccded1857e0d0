"""Staged calls as the journal tells of them: what each would change, and what was decided.

Between the archive and the result a call is *open* here, and every later life goes on from there.
"""

from msgspec import Struct

from ...stores.records import StagedCheck, StagedResult
from ..ledger import CallId


class StagedCall(Struct):
    """A staged call that has run and has no result yet."""

    result: StagedResult
    check: StagedCheck | None = None

    @property
    def may_be_committed(self) -> bool:
        """Whether its commit may have begun."""
        return self.check is not None and not self.check.problem

    @property
    def is_files(self) -> bool:
        """Whether what it would change is files; else its tool's ``commit`` does it."""
        return bool(self.result.tree)


class StagedCalls:
    """The staged calls of a session, folded. Changed by `apply` and `ended` alone."""

    __slots__ = ("open", "rejected")

    def __init__(self) -> None:
        self.open: dict[CallId, StagedCall] = {}
        self.rejected = 0

    def apply(self, entry: StagedResult | StagedCheck) -> None:
        """Fold one entry in."""
        call = (entry.n, entry.index)
        if isinstance(entry, StagedResult):
            self.open[call] = StagedCall(entry)
            return
        self.rejected += bool(entry.problem)
        if call in self.open:
            self.open[call].check = entry

    def ended(self, call: CallId) -> None:
        """Note that a call has its result."""
        self.open.pop(call, None)

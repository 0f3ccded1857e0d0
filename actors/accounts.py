"""The budget actor and the book of accounts it owns.

Reserving and settling are plain calls on the book, since a call cannot interleave; only alarms go
through the actor's mailbox.
"""

from collections.abc import Callable, Mapping

from ..stores.records import Spent
from ..supervisor import Context
from ..supervisor.errors import UsageError
from .budget import LIMITS, Account, Budget, Refusal

NOTHING = Spent()


def _shared(kind: str, budgets: Mapping[str, Budget]) -> dict[str, Account]:
    for name, budget in budgets.items():
        if not isinstance(budget, Budget):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise UsageError(f"{kind}s: {name!r} has {budget!r}, which is no Budget")
    return {f"{kind} {name}": Account(f"{kind} {name}", each) for name, each in budgets.items()}


class Book:
    """Accounts of all active sessions, and of the groups and tenants above them.

    Args:
        groups: budgets of groups by name; a group without one has no limits.
        tenants: likewise for tenants.

    Raises:
        UsageError: one of them is no Budget.
    """

    def __init__(self, groups: Mapping[str, Budget], tenants: Mapping[str, Budget]) -> None:
        self._sessions: dict[str, Account] = {}
        self._shared = {**_shared("group", groups), **_shared("tenant", tenants)}

    def open(
        self,
        session_id: str,
        budget: Budget,
        *,
        parent: str | None = None,
        group: str | None = None,
        tenant: str | None = None,
        own: Spent = NOTHING,
        counted: Spent = NOTHING,
    ) -> Account:
        """Open the account of a session below its parent's, its group's and its tenant's.

        Args:
            own: what it consumed up to now.
            counted: the part of it that the accounts above know already: what its row said when
                they were summed up, and again at its last end.
        """
        parents = self._above(parent, group, tenant) if parent or self._shared else ()
        account = Account(f"session {session_id}", budget, parents=parents, own=own)
        if parents:
            for above in account.chain[1:]:
                above.adopt(difference(own, counted))
        self._sessions[session_id] = account
        return account

    def _above(
        self, parent: str | None, group: str | None, tenant: str | None
    ) -> tuple[Account, ...]:
        names = [f"group {group}", f"tenant {tenant}"]
        parents = [self._shared[name] for name in names if name in self._shared]
        if parent is not None and parent in self._sessions:
            parents.insert(0, self._sessions[parent])
        return tuple(parents)

    def check_known(self, **names: str | None) -> None:
        """Refuse a misspelt group or tenant: it would be one without limits.

        Raises:
            UsageError: others of its kind have budgets here, and it has none.
        """
        for kind, name in names.items():
            known = [each for each in self._shared if each.startswith(f"{kind} ")]
            if name is not None and known and f"{kind} {name}" not in self._shared:
                said = ", ".join(each.removeprefix(f"{kind} ") for each in known)
                raise UsageError(
                    f"{kind} {name!r} has no budget here; {kind}s= has: {said} "
                    "(Budget.only() is a budget without limits)"
                )

    def close(self, session_id: str) -> None:
        """The session is not active any more; what it consumed stays booked above it."""
        self._sessions.pop(session_id, None)

    def get(self, session_id: str) -> Account | None:
        """Return the account of an active session."""
        return self._sessions.get(session_id)

    @property
    def shares(self) -> list[tuple[str, str]]:
        """The groups and tenants that have budgets, as ``("group", name)`` and ``("tenant", name)``."""
        return [(kind, name) for kind, _, name in (each.partition(" ") for each in self._shared)]

    def sum_up(self, kind: str, name: str, spent: Spent) -> None:
        """Count what the stored sessions of a group or tenant have consumed, when the runtime starts."""
        self._shared[f"{kind} {name}"].adopt(spent)


def difference(spent: Spent, before: Spent) -> Spent:
    """Return what came on top."""
    return Spent(*(max(0, getattr(spent, name) - getattr(before, name)) for name in LIMITS))


class BudgetActor:
    """Owns the book and raises one alarm for each limit of a group or tenant that is spent."""

    def __init__(self, book: Book, raise_alert: Callable[[str], None]) -> None:
        self.book = book
        self._raise_alert = raise_alert
        self._raised: set[tuple[str, str]] = set()

    async def run(self, ctx: Context[Refusal]) -> None:
        """Serve until the runtime stops."""
        while True:
            refusal = await ctx.receive()
            limit = (refusal.account, refusal.limit)
            if limit not in self._raised:
                self._raised.add(limit)
                self._raise_alert(str(refusal))

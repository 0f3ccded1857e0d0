"""What groups and tenants have consumed: the sums over the sessions that share a budget. Pure."""

from collections.abc import Sequence
from typing import Literal

from msgspec import structs

from ..supervisor.errors import UsageError
from .base import Facts
from .records import Spent

Share = tuple[int, str]
"""Whose consumption it is: 0 and a group, or 1 and a tenant."""


def share_of(group: str | None, tenant: str | None) -> Share:
    """Return whose consumption is asked for.

    Raises:
        UsageError: not just one of both is named.
    """
    if group is not None and tenant is None:
        return 0, group
    if tenant is not None and group is None:
        return 1, tenant
    raise UsageError(f"give one of group={group!r} and tenant={tenant!r}")


def shares(facts: Facts) -> list[Share]:
    """Return whose budgets a session shares."""
    return [
        (kind, name) for kind, name in enumerate((facts.group, facts.tenant)) if name is not None
    ]


class Sums:
    """What several sessions have consumed; sums of durations and costs may be off by rounding."""

    __slots__ = ("values",)

    def __init__(self, values: Sequence[float] | None = None) -> None:
        self.values = list(values or [0] * len(Spent.__struct_fields__))

    def add(self, spent: Spent, sign: Literal[1, -1] = 1) -> None:
        """Add what one session consumed, or take it off."""
        for at, value in enumerate(structs.astuple(spent)):
            self.values[at] += sign * value

    def spent(self) -> Spent:
        """Return the sums; to nine places, so that nothing is not a little less than nothing."""
        return Spent(*(round(each, 9) + 0 for each in self.values))  # type: ignore[arg-type]

"""Budgets: what a session may consume, and the arithmetic of reserving and settling.

Everything here is synchronous and pure but for the account's own numbers; a reservation cannot
interleave with another, so a limit holds under any concurrency.
"""

import math
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

import msgspec
from msgspec import Struct

from ..stores.records import Spent
from ..supervisor.errors import UsageError
from .nothing import NO_NAMES

LIMITS = (
    "seconds",
    "active_seconds",
    "steps",
    "model_calls",
    "tool_calls",
    "tokens",
    "cost_usd",
    "retries",
    "corrections",
)
"""Names of the limits, in the order of the fields of `Spent` and of `Budget`."""

MEASURES = frozenset({"seconds", "active_seconds", "cost_usd"})
"""Limits that are measured; all others are counted."""

LIMIT_MAX = 10**15

INDEX: Mapping[str, int] = {name: index for index, name in enumerate(LIMITS)}
SECONDS, ACTIVE_SECONDS, STEPS, MODEL_CALLS, TOOL_CALLS, TOKENS, COST_USD, RETRIES, _ = range(9)
"""Places of the limits, for the step path: there a name is not looked up again each time."""

NOTHING = Spent()


Amounts = tuple[tuple[int, float], ...]
"""What to set aside, by place."""

_TIMES_END = 2

NOTHING_HELD = [0.0] * len(LIMITS)
"""What nothing is set aside of, for all accounts; never written to."""


class Budget(Struct, frozen=True, kw_only=True):
    """Limits of one session, group or tenant; None is no limit.

    Attributes:
        seconds: time the session takes, waiting for a person not counted; monotonic.
        active_seconds: time spent inside models and tools, added up.
        steps: turns in which the model calls tools.
        model_calls: requests to the model, failed ones and repeats included.
        tool_calls: tool bodies started, repeats included.
        tokens: input and output tokens of all requests.
        cost_usd: what the requests cost; needs a model that knows its prices.
        retries: repeats of failed calls and requests.
        corrections: calls the model had to amend.
    """

    seconds: float | None = 3600.0
    active_seconds: float | None = None
    steps: int | None = 100
    model_calls: int | None = None
    tool_calls: int | None = None
    tokens: int | None = None
    cost_usd: float | None = None
    retries: int | None = None
    corrections: int | None = None

    def __post_init__(self) -> None:
        for name in LIMITS:
            _check(name, getattr(self, name))

    @classmethod
    def only(cls, **limits: float) -> "Budget":
        """Return a budget with these limits and no others; for groups and tenants.

        Raises:
            UsageError: a limit of this name does not exist, or its value is impossible.
        """
        unknown = [name for name in limits if name not in LIMITS]
        if unknown:
            raise UsageError(f"budget has no limit {unknown[0]!r}; it has {', '.join(LIMITS)}")
        return budget_from(limits)

    def limits(self) -> dict[str, float]:
        """Return the limits that are set, by name."""
        return dict(limits_of(self))


class Refusal(Struct, frozen=True):
    """A reservation that does not fit: which limit, whose, and how much of it is gone.

    ``wanted`` is what the next piece of work would have needed.
    """

    limit: str
    account: str
    used: float
    cap: float
    wanted: float = 0.0

    def __str__(self) -> str:
        said = f"budget {self.limit} of {self.account}: {self.used:g} of {self.cap:g} used"
        if self.wanted and self.used < self.cap:
            return f"{said}, and the next piece of work needs up to {self.wanted:g}"
        return said


def budget_from(limits: Mapping[str, float]) -> Budget:
    """Return the budget that has these limits and no others."""
    return Budget(**{name: limits.get(name) for name in LIMITS})  # type: ignore[arg-type]


class Reservation(Struct):
    """Amounts set aside on an account and all those above it, until settled."""

    account: "Account"
    amounts: Amounts
    open: bool = True


@lru_cache(maxsize=256)
def limits_of(budget: Budget) -> dict[str, float]:
    """Return the limits that are set, by name: one dictionary for all who have them, never written to."""
    values = zip(LIMITS, msgspec.structs.astuple(budget), strict=True)
    return {name: value for name, value in values if value is not None}


@lru_cache(maxsize=256)
def _caps_of(budget: Budget) -> tuple[tuple[float | None, ...], Amounts]:
    """Return the limits by place, and those that are set; thousands of sessions share a budget's."""
    caps: tuple[float | None, ...] = tuple(getattr(budget, limit) for limit in LIMITS)
    return caps, tuple((i, cap) for i, cap in enumerate(caps) if cap is not None)


class Account:
    """Consumption of one session, group or tenant against its budget.

    ``own`` is what the holder itself consumed, ``used`` includes everything below it, ``held`` is
    reserved and not yet settled. What is booked here is booked once on each account above.
    """

    __slots__ = (
        "_above",
        "budget",
        "capped",
        "caps",
        "held",
        "is_capped",
        "name",
        "own",
        "soft_told",
        "sums_time",
        "used",
    )

    def __init__(
        self,
        name: str,
        budget: Budget,
        *,
        parents: tuple["Account", ...] = (),
        own: Spent | None = None,
    ) -> None:
        self.name = name
        self.budget = budget
        self.caps, self.capped = _caps_of(budget)
        # Groups and tenants add up the seconds below them; a parent session's clock runs by itself.
        self.sums_time = name.startswith(("group ", "tenant "))
        # Without itself, which would be a circle that only a collection frees.
        self._above: tuple[Account, ...] = ()
        self.is_capped = bool(self.capped)
        if parents:
            self._above = tuple(unique(above for parent in parents for above in parent.chain))
            self.is_capped = any(account.capped for account in self.chain)
        # Counted things are whole numbers, here as in their records.
        self.own: list[Any] = list(msgspec.structs.astuple(own or NOTHING))
        # The same, and not only equal, while there is nobody above or below.
        self.used = list(self.own) if self._above else self.own
        for above in self._above:
            above.part()
        self.held = NOTHING_HELD
        self.soft_told = NO_NAMES

    @property
    def chain(self) -> "tuple[Account, ...]":
        """The account, and those above it."""
        return (self, *self._above)

    def part(self) -> None:
        """From now on others consume what is used here, too."""
        if self.used is self.own:
            self.used = list(self.own)

    def reserve(self, **amounts: float) -> Reservation | Refusal:
        """Set amounts aside on the whole chain, or on none of it."""
        return self.hold(tuple((INDEX[name], each) for name, each in amounts.items() if each))

    def hold(self, amounts: Amounts) -> Reservation | Refusal:
        """Reserve, by place."""
        for account in self.chain:
            refusal = account.refusal(amounts)
            if refusal is not None:
                return refusal
        if amounts:
            for account in self.chain:
                account.set_aside(amounts)
        return Reservation(self, amounts)

    def set_aside(self, amounts: Amounts) -> None:
        """Reserve on this account alone, whether or not it fits."""
        if self.held is NOTHING_HELD:
            self.held = [*NOTHING_HELD]
        for index, amount in amounts:
            self.held[index] += amount

    def take(self, index: int) -> Refusal | None:
        """Reserve and book one of something that is certain to be consumed."""
        if self.used is self.own and self.caps[index] is None:
            self.own[index] += 1
            return None
        for account in self.chain:
            cap = account.caps[index]
            if cap is not None and account.used[index] + account.held[index] + 1 > cap + 1e-9:
                return Refusal(LIMITS[index], account.name, account.used[index], cap)
        self.add(index, 1)
        return None

    def refusal(self, amounts: Amounts) -> Refusal | None:
        """Return why these amounts do not fit on this account, if they do not."""
        for index, amount in amounts:
            cap = self.caps[index]
            # A hair of tolerance: sums of cents must not fail at the last bit.
            if cap is not None and self.used[index] + self.held[index] + amount > cap + 1e-9:
                return Refusal(LIMITS[index], self.name, self.used[index], cap, amount)
        return None

    def settle(self, reservation: Reservation, **actual: float) -> None:
        """Give a reservation back and book what was really consumed; a second call does nothing."""
        if self.release(reservation):
            self.book(**actual)

    def release(self, reservation: Reservation) -> bool:
        """Give a reservation back; False where that was done before."""
        if not reservation.open:
            return False
        reservation.open = False
        for account in self.chain:
            for index, amount in reservation.amounts:
                account.held[index] = max(0.0, account.held[index] - amount)
        return True

    def book(self, **actual: float) -> None:
        """Book consumption that has happened, whether or not it still fits."""
        for name, amount in actual.items():
            self.add(INDEX[name], amount)

    def add(self, index: int, amount: float) -> None:
        """Book one kind of consumption, by place."""
        self.own[index] += amount
        if self.used is self.own:
            return
        for account in self.chain:
            if index >= _TIMES_END or account is self or account.sums_time:
                account.used[index] += amount

    def adopt(self, spent: Spent) -> None:
        """Count what a session below consumed before its account was opened here."""
        self.part()
        for index, amount in enumerate(_values(spent)):
            if self.sums_time or index >= _TIMES_END:
                self.used[index] += amount

    def left(self, limit: str) -> float:
        """Return what is left of a limit over the whole chain; infinity where there is none."""
        index = INDEX[limit]
        left = math.inf
        for account in self.chain:
            if account.caps[index] is not None:
                left = min(left, account.own_left(index))
        return left

    def own_left(self, index: int) -> float:
        cap = self.caps[index]
        return math.inf if cap is None else cap - self.used[index] - self.held[index]

    def limits(self, limit: str) -> bool:
        """Whether anything in the chain has this limit."""
        index = INDEX[limit]
        if not self._above:
            return self.caps[index] is not None
        return any(account.caps[index] is not None for account in self.chain)

    def tightest(self, limit: str) -> Refusal:
        """Return the account of the chain with the least left, as a refusal."""
        index = INDEX[limit]
        account = min(self.chain, key=lambda account: account.own_left(index))
        return Refusal(limit, account.name, account.used[index], account.caps[index] or 0.0)

    def crossed(self, share: float) -> list[Refusal]:
        """Return limits of the chain whose soft share has been used, each once."""
        found: list[Refusal] = []
        for account in self.chain:
            for index, cap in account.capped:
                if account.used[index] < share * cap:
                    continue
                told = f"{account.name}:{LIMITS[index]}"
                if told not in self.soft_told:
                    self.soft_told |= {told}
                    found.append(Refusal(LIMITS[index], account.name, account.used[index], cap))
        return found

    def spent(self) -> Spent:
        """Return the holder's own consumption as a record."""
        return Spent(*self.own)


def unique(accounts: Iterable["Account"]) -> list["Account"]:
    """Return accounts in order, each once: a group above both parent and child counts once."""
    return list({id(account): account for account in accounts}.values())


def _values(spent: Spent) -> tuple[float, ...]:
    return tuple(float(getattr(spent, name)) for name in LIMITS)


def _check(name: str, value: object) -> None:
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise UsageError(f"budget {name}={value!r} must be a number, or None for no limit")
    if value < 0 or (isinstance(value, float) and not math.isfinite(value)):
        raise UsageError(f"budget {name}={value!r} must be zero or more, or None for no limit")
    if value > LIMIT_MAX:
        raise UsageError(f"budget {name}={value!r} is beyond counting; use None for no limit")
    if name not in MEASURES and value != int(value):
        raise UsageError(f"budget {name}={value!r} is counted, so it must be a whole number")

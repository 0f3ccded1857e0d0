"""The sections of the policy that say how much may happen at once, and what an upstream may be asked.

Data, checked when it is made.
"""

from msgspec import Struct

from .policy_checks import check_count, check_least, check_share


class AdmissionPolicy(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How many sessions one process drives.

    Attributes:
        sessions_max: sessions that take their turns; those parked and their sub-sessions do not
            count. None: no limit.
        waiting_max: sessions that are stored and wait for a place, or are being stored. While
            there are as many, `Runtime.start` waits.
    """

    sessions_max: int | None = 100_000
    waiting_max: int = 10_000

    def __post_init__(self) -> None:
        check_count("sessions_max", self.sessions_max)
        check_count("waiting_max", self.waiting_max, limitless=False)


class TenancyPolicy(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How many of these sessions may be one tenant's."""

    sessions_max: int | None = None

    def __post_init__(self) -> None:
        check_count("sessions_max", self.sessions_max)


class ConcurrencyPolicy(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How many calls to one upstream may be under way."""

    calls_max: int | None = None

    def __post_init__(self) -> None:
        check_count("calls_max", self.calls_max)


class RetryBudgetPolicy(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How many repeats one upstream gets from all sessions together.

    One is let through if, with it, those of the last ``window_s`` seconds are at most
    ``retries_min`` and ``share_max`` of the first calls. One that has succeeded is not counted any
    more, and while a breaker paces a recovery, its pace is the limit. ``share_max`` None: no limit.
    """

    share_max: float | None = 0.2
    retries_min: int = 100
    window_s: float = 10.0

    def __post_init__(self) -> None:
        check_least("share_max", self.share_max, 0)
        check_least("retries_min", self.retries_min, 1)
        check_least("window_s", self.window_s, 0.1)


class BreakerPolicy(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """When calls to an upstream are held back, and how they are let through again.

    It opens when, of the calls that ended in ``window_s`` seconds, ``failures_min`` and a share of
    ``failure_share`` failed in passing or timed out. After ``open_s`` seconds one call is tried.
    Once that succeeds, those held back are let through over twenty seconds, at ``recovery_per_s``
    or faster where they are many; None: at once. ``failures_min`` None: it never opens.
    """

    failures_min: int | None = 20
    failure_share: float = 0.5
    window_s: float = 30.0
    open_s: float = 10.0
    recovery_per_s: float | None = 20.0

    def __post_init__(self) -> None:
        check_least("failures_min", self.failures_min, 1)
        check_share("failure_share", self.failure_share)
        check_least("window_s", self.window_s, 0.1)
        check_least("open_s", self.open_s, 0.1)
        check_least("recovery_per_s", self.recovery_per_s, 0.1)


class UpstreamPolicy(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What all sessions together may ask of one upstream."""

    retry_budget: RetryBudgetPolicy = RetryBudgetPolicy()
    breaker: BreakerPolicy = BreakerPolicy()
    concurrency: ConcurrencyPolicy = ConcurrencyPolicy()

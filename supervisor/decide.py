"""Which recovery a failure gets: a pure function of failure, history and policy.

The table is DESIGN section 5 in code; chance comes in as ``roll``, time as elapsed seconds.
"""

from typing import Literal, assert_never

from msgspec import Struct

from .errors import ErrorClass
from .failure import Failure, Traits
from .policy import Policy, RetryPolicy

Reason = Literal[
    "budget",
    "in_doubt",
    "permission",
    "planning",
    "blocked",
    "context",
    "mismatch",
    "approval",
    "unknown",
    "bug",
    "restarts",
]
"""Why a person is needed."""


class History(Struct, frozen=True, kw_only=True):
    """What has been tried: attempts of this call (at least 1), seconds since its first attempt,
    and corrections of this tool in a row."""

    attempts: int = 1
    elapsed_s: float = 0.0
    corrections: int = 0


class Retry(Struct, frozen=True, tag="retry"):
    """Make the same call again after this many seconds."""

    delay_s: float


class Correct(Struct, frozen=True, tag="correct"):
    """Give the cleaned error to the model, which amends the arguments."""

    left: int | None


class Conclude(Struct, frozen=True, tag="conclude"):
    """The model must report "blocked, because ..."; the effect stays closed."""


class HandOver(Struct, frozen=True, tag="hand_over"):
    """A person decides."""

    reason: Reason
    detail: str


class PassThrough(Struct, frozen=True, tag="pass_through"):
    """Cancelled on purpose: no fault, not counted, not retried."""


Directive = Retry | Correct | Conclude | HandOver | PassThrough


def decide(
    failure: Failure, traits: Traits, history: History, policy: Policy, roll: float
) -> Directive:
    """Return what happens next.

    Args:
        roll: a number from 0 up to 1, drawn anew for each decision; spreads the waits.
    """
    match failure.error_class:
        case ErrorClass.TRANSIENT:
            return _retry(failure, traits, history, policy.transient, roll)
        case ErrorClass.RATE_LIMITED:
            return _retry(failure, traits, history, policy.rate_limited, roll)
        case ErrorClass.IN_DOUBT_TIMEOUT:
            return _retry(failure, traits, history, policy.in_doubt_timeout, roll)
        case ErrorClass.INVALID_ARGUMENT:
            return _correct(history, policy)
        case ErrorClass.BUSINESS_REJECTED | ErrorClass.CONTENT_REFUSED:
            return Conclude()
        case ErrorClass.CANCELLED:
            return PassThrough()
        case ErrorClass.PERMISSION_DENIED:
            return HandOver("permission", "a right, a key or a setting is missing")
        case ErrorClass.PLANNING:
            return HandOver("planning", "the agent makes no progress")
        case ErrorClass.CONTEXT_OVERFLOW:
            return HandOver("context", "the conversation is larger than the model takes")
        case ErrorClass.BUG:
            return HandOver("bug", "a fault in a program")
        case ErrorClass.RESOURCE_EXHAUSTED:
            return HandOver("bug", "this machine is out of a resource")
        case ErrorClass.UNKNOWN:
            return HandOver("unknown", "an error nobody recognises is never retried")
        case _:
            assert_never(failure.error_class)


def _retry(
    failure: Failure, traits: Traits, history: History, policy: RetryPolicy, roll: float
) -> Directive:
    if failure.may_have_executed != "no" and not traits.repeatable:
        return HandOver("in_doubt", "the call may have taken effect and is not safe to repeat")
    if policy.attempts_max is not None and history.attempts >= policy.attempts_max:
        return HandOver("blocked", f"{history.attempts} attempts failed")
    delay_s = wait_s(failure.retry_after, history.attempts, policy, roll)
    if policy.time_budget_s is not None and history.elapsed_s + delay_s > policy.time_budget_s:
        return HandOver(
            "blocked", f"the next wait of {delay_s:.1f} s is past {policy.time_budget_s:g} s"
        )
    return Retry(delay_s)


def wait_s(retry_after: float | None, attempts: int, policy: RetryPolicy, roll: float) -> float:
    """Return the wait before the next attempt, in seconds.

    Exponential with equal jitter: half of the capped delay is fixed, half is drawn, so the waits
    still spread at the cap. The server's own wait is a floor, with the drawn part on top.
    """
    doubled = policy.delay_s_first * 2.0 ** min(attempts - 1, 60)
    capped = min(doubled, policy.delay_s_max)
    return max(capped / 2, retry_after or 0.0) + capped / 2 * roll


def _correct(history: History, policy: Policy) -> Directive:
    limit = policy.invalid_argument.corrections_max
    if limit is None:
        return Correct(None)
    if history.corrections >= limit:
        return HandOver("planning", f"{history.corrections} corrections in a row did not help")
    return Correct(limit - history.corrections)

"""Which recovery a failure gets: a pure function of failure, history and policy.

The table is DESIGN section 5 in code; chance comes in as ``roll``, time as elapsed seconds.
"""

from typing import Literal, assert_never

from msgspec import Struct

from .errors import ErrorClass
from .failure import Failure, Traits
from .overflow import overflow_in
from .policy import Policy
from .policy_failures import (
    ConclusionPolicy,
    CorrectionPolicy,
    OverflowPolicy,
    ReportPolicy,
    RetryPolicy,
)

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


FIELDS_NAMED = 5
"""Fields at fault that a detail names; the failure has them all."""


class History(Struct, frozen=True, kw_only=True):
    """What has been tried: attempts of this call (at least 1), seconds since its first attempt,
    rounds in a row in which this tool had to be corrected, before this one, and how often in this
    trajectory content was refused, and prunes in a row without an answer of the model."""

    attempts: int = 1
    elapsed_s: float = 0.0
    corrections: int = 0
    conclusions: int = 0
    prunes: int = 0


class Retry(Struct, frozen=True, tag="retry"):
    """Make the same call again after this many seconds."""

    delay_s: float


class Correct(Struct, frozen=True, tag="correct"):
    """Give the cleaned error to the model, which amends the arguments."""

    left: int | None


class Conclude(Struct, frozen=True, tag="conclude"):
    """The model must report "blocked, because ..."; the effect stays closed in this trajectory."""


class Prune(Struct, frozen=True, tag="prune"):
    """Show the model less of the conversation, and go on.

    ``keep_share`` is what shall be left of what fits. What fits is ``fits_share`` of what was
    refused, or ``limit`` in the provider's unit, as far as the refusal tells.
    """

    keep_share: float
    fits_share: float | None = None
    limit: int | None = None


class HandOver(Struct, frozen=True, tag="hand_over"):
    """A person decides; ``alert_every_s`` is set where it is an alert too, once in that time."""

    reason: Reason
    detail: str
    alert_every_s: float | None = None


class PassThrough(Struct, frozen=True, tag="pass_through"):
    """Cancelled on purpose: no fault, not counted, not retried."""


Directive = Retry | Correct | Conclude | Prune | HandOver | PassThrough


def decide(
    failure: Failure, traits: Traits, history: History, policy: Policy, roll: float
) -> Directive:
    """Return what happens next.

    Args:
        policy: what holds for this tool of this agent; see `resolve`.
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
            return _wrong(failure, traits, history, policy)
        case ErrorClass.BUSINESS_REJECTED:
            return _conclude(history, policy.business_rejected)
        case ErrorClass.CONTENT_REFUSED:
            return _conclude(history, policy.content_refused)
        case ErrorClass.CANCELLED:
            return _passed(failure, traits)
        case ErrorClass.PLANNING:
            return HandOver("planning", "the agent makes no progress")
        case ErrorClass.PERMISSION_DENIED:
            detail = "a right, a key, a quota or a setting is missing"
            return _report("permission", detail, policy.permission_denied)
        case ErrorClass.CONTEXT_OVERFLOW:
            return _overflow(failure, traits, history, policy)
        case ErrorClass.BUG:
            return _report("bug", "a fault in a program", policy.bug)
        case ErrorClass.RESOURCE_EXHAUSTED:
            detail = "this machine is out of a resource"
            return _report("bug", detail, policy.resource_exhausted)
        case ErrorClass.UNKNOWN:
            detail = "an error nobody recognises is never retried"
            return _report("unknown", detail, policy.unknown)
        case _:
            assert_never(failure.error_class)


def in_doubt(failure: Failure, traits: Traits) -> bool:
    """Tell whether a call may have taken effect and must not run again to find out."""
    return failure.may_have_executed != "no" and not traits.repeatable


def _doubt() -> Directive:
    return HandOver("in_doubt", "the call may have taken effect and is not safe to repeat")


def _retry(
    failure: Failure, traits: Traits, history: History, policy: RetryPolicy, roll: float
) -> Directive:
    if in_doubt(failure, traits):
        return _doubt()
    if policy.attempts_max is not None and history.attempts >= policy.attempts_max:
        return HandOver("blocked", f"attempts: {history.attempts} failed, and no more are allowed")
    delay_s = wait_s(failure.retry_after, history.attempts, policy, roll)
    end_s = history.elapsed_s + delay_s
    if policy.time_budget_s is not None and end_s > policy.time_budget_s:
        return HandOver(
            "blocked",
            f"time budget: after the next wait of {delay_s:.1f} s, {end_s:.1f} s would have passed "
            f"of {policy.time_budget_s:g} s",
        )
    return Retry(delay_s)


def wait_s(retry_after: float | None, attempts: int, policy: RetryPolicy, roll: float) -> float:
    """Return the wait before the next attempt, in seconds.

    Exponential up to the cap, where a share of each delay is drawn by chance, so that the waits
    still spread at the cap. The server's own wait is a floor, with the drawn part on top: a hint
    may lengthen the wait and never shortens it.
    """
    doubled = policy.delay_s_first * 2.0 ** min(attempts - 1, 60)
    capped = min(doubled, policy.delay_s_max)
    drawn = capped * policy.jitter
    return max(capped - drawn, retry_after or 0.0) + drawn * roll


def _correct(
    failure: Failure, traits: Traits, history: History, policy: CorrectionPolicy
) -> Directive:
    if in_doubt(failure, traits):
        # Amended and sent again it might take effect twice.
        return _doubt()
    limit = policy.corrections_max
    if limit is None:
        return Correct(None)
    if history.corrections >= limit:
        return HandOver("planning", f"{history.corrections} corrections in a row did not help")
    return Correct(limit - history.corrections)


def _wrong(failure: Failure, traits: Traits, history: History, policy: Policy) -> Directive:
    """The model amends the calls it made; its own request is made by a program, as it would be again."""
    if not traits.is_model:
        return _correct(failure, traits, history, policy.invalid_argument)
    named = ", ".join(failure.fields[:FIELDS_NAMED])
    at_fault = f"; at fault: {named}" if named else ""
    return _report("bug", f"the provider refuses the request as it is made{at_fault}", policy.bug)


def _overflow(failure: Failure, traits: Traits, history: History, policy: Policy) -> Directive:
    """A conversation is pruned; a tool's request the model has made itself, and makes smaller."""
    if traits.is_model:
        return _prune(failure, history, policy.context_overflow)
    directive = _correct(failure, traits, history, policy.invalid_argument)
    if isinstance(directive, HandOver) and directive.reason == "planning":
        detail = f"the request is too large; {directive.detail}"
        return _report("context", detail, policy.context_overflow)
    return directive


def _prune(failure: Failure, history: History, policy: OverflowPolicy) -> Directive:
    if history.prunes >= policy.prunes_max:
        detail = (
            f"the conversation is larger than the model takes; {history.prunes} prunes in a row "
            "did not help"
        )
        return _report("context", detail, policy)
    told = overflow_in(failure.message)
    return Prune(policy.keep_share, told.share, told.limit)


def _conclude(history: History, policy: ConclusionPolicy) -> Directive:
    limit = policy.conclusions_max
    if limit is not None and history.conclusions >= limit:
        return HandOver("blocked", f"refused {history.conclusions + 1} times")
    return Conclude()


def _passed(failure: Failure, traits: Traits) -> Directive:
    """Nobody is at fault; but whether the call took effect must be known all the same.

    Nobody here cancels a model's request and goes on, so it was the other side, and there is no
    answer to go on with. A key settles nothing here: this attempt is not repeated, and another call has
    another key.
    """
    if traits.is_model:
        return HandOver("blocked", "the other side cancelled the model's request; never repeated")
    doubtful = failure.may_have_executed != "no" and traits.leaves_doubt
    return _doubt() if doubtful else PassThrough()


def _report(reason: Reason, detail: str, policy: ReportPolicy) -> Directive:
    return HandOver(reason, detail, policy.alert_every_s if policy.alert else None)

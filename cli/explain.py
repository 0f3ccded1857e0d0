"""What an error would lead to: its evidence, its class, the directive, and the waits. Pure."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from ..actors.handover.wording import clipped
from ..supervisor.decide import Directive, HandOver, History, Prune, Retry, decide
from ..supervisor.errors import ErrorClass
from ..supervisor.failure import Failure, Traits
from ..supervisor.policy import CLASS_SECTIONS, Policy
from .terminal import Terminal, duration, one_line, plural

ROLL_MAX = 0.999_999
WAITS_MAX = 100
"""Waits that are worked out; a policy without limits has no last one."""


class Wait(Struct, frozen=True):
    """What follows a failed attempt: the shortest and the longest wait that may be drawn."""

    attempt: int
    wait_s_min: float
    wait_s_max: float


class Explanation(Struct, frozen=True, kw_only=True):
    """An error, and what the policy makes of it."""

    failure: Failure
    traits: Traits
    agent: str
    tool: str
    directive: Directive
    waits: tuple[Wait, ...]
    then: Directive
    numbers: Mapping[str, Any]


def explain(
    failure: Failure, traits: Traits, history: History, policy: Policy, *, agent: str, tool: str
) -> Explanation:
    """Decide on a failure, and on the same failure after each retry.

    Args:
        policy: what holds for this tool of this agent.
    """
    waits: list[Wait] = []
    now = history
    directive = last = decide(failure, traits, now, policy, 0.0)
    while isinstance(last, Retry) and len(waits) < WAITS_MAX:
        longest = decide(failure, traits, now, policy, ROLL_MAX)
        # Where the longest wait would not fit any more, the shortest still does.
        most = longest.delay_s if isinstance(longest, Retry) else last.delay_s
        waits.append(Wait(now.attempts, last.delay_s, most))
        now = msgspec.structs.replace(
            now, attempts=now.attempts + 1, elapsed_s=now.elapsed_s + last.delay_s
        )
        last = decide(failure, traits, now, policy, 0.0)
    return Explanation(
        failure=failure,
        traits=traits,
        agent=agent,
        tool=tool,
        directive=directive,
        waits=tuple(waits),
        then=last,
        numbers=numbers_of(failure.error_class, policy),
    )


def numbers_of(error_class: ErrorClass, policy: Policy) -> dict[str, Any]:
    """Return the section of the policy that a class is decided by."""
    if error_class.value not in CLASS_SECTIONS:
        return {}
    numbers: dict[str, Any] = msgspec.structs.asdict(getattr(policy, error_class.value))
    return numbers


def explanation_data(found: Explanation) -> dict[str, Any]:
    """Return an explanation as plain data; directives carry their name under ``do``."""
    failure = found.failure
    return {
        "class": failure.error_class.value,
        "message": failure.message,
        "evidence": list(failure.evidence),
        "may_have_executed": failure.may_have_executed,
        "retry_after": failure.retry_after,
        "fields": list(failure.fields),
        "agent": found.agent or None,
        "tool": found.tool or None,
        "repeatable": found.traits.repeatable,
        "directive": directive_data(found.directive),
        "waits": [msgspec.structs.asdict(each) for each in found.waits],
        "then": directive_data(found.then),
        "numbers": dict(found.numbers),
    }


def policy_data(name: str, found: Explanation) -> dict[str, Any]:
    """Return what one of several policies makes of a failure, as plain data."""
    data = explanation_data(found)
    return {
        "policy": name,
        **{each: data[each] for each in ("directive", "waits", "then", "numbers")},
    }


def directive_data(directive: Directive) -> dict[str, Any]:
    """Return a directive as plain data."""
    return {
        "do": str(directive.__struct_config__.tag),
        **{name: getattr(directive, name) for name in directive.__struct_fields__},
    }


def explanation_lines(found: Explanation, terminal: Terminal) -> Iterator[str]:
    """Yield an explanation as lines for a person."""
    for label, text in _parts(found):
        yield f"{terminal.paint(f'{label:<12}', 'grey')}{one_line(text)}"


def _parts(found: Explanation) -> Iterator[tuple[str, str]]:
    failure = found.failure
    if failure.message:
        yield "message", failure.message
    yield "evidence", "; ".join(clipped(each, 100) for each in failure.evidence) or "none"
    yield "class", failure.error_class.value
    yield "executed", failure.may_have_executed
    if failure.fields:
        yield "fields", ", ".join(failure.fields)
    if failure.retry_after is not None:
        yield "asks for", f"a wait of {duration(failure.retry_after)}"
    called = "a request to the model" if found.traits.is_model else found.tool or "a tool"
    kind = "may be repeated" if found.traits.repeatable else "must not run twice"
    yield "call", f"{called}{f' of {found.agent}' if found.agent else ''}: {kind}"
    yield "directive", directive_words(found.directive)
    for wait in found.waits[:10]:
        between = f"{duration(wait.wait_s_min)} to {duration(wait.wait_s_max)}"
        yield "", f"after attempt {wait.attempt}: {between}"
    if len(found.waits) > 10:
        more = "more" if len(found.waits) < WAITS_MAX else "without end"
        yield "", f"and so on, {more}"
    elif found.waits:
        yield "then", directive_words(found.then)
    if found.numbers:
        values = (f"{key} = {_value(value)}" for key, value in found.numbers.items())
        yield "numbers", f"[{failure.error_class.value}] {', '.join(values)}"


def directive_words(directive: Directive) -> str:
    """Return a directive as a person reads it."""
    name = str(directive.__struct_config__.tag).replace("_", " ")
    if isinstance(directive, HandOver):
        alert = ", with an alert" if directive.alert_every_s is not None else ""
        return f"{name} ({directive.reason}){alert}: {directive.detail}"
    if isinstance(directive, Prune):
        told = f", told {directive.limit:,} fit" if directive.limit else ""
        return f"prune, keep {directive.keep_share:g} of what fits{told}"
    left = getattr(directive, "left", None)
    return f"{name}, {plural(left, 'correction')} left" if left is not None else name


def _value(value: object) -> str:
    return (
        "none" if value is None else str(value).lower() if isinstance(value, bool) else f"{value}"
    )

"""The gate before a call: what the danger rules and the people asked about it say.

The judgement itself is `ukemi.supervisor.danger.judge`; here it meets what was decided about this very
call. It is made anew right before each first attempt, over the arguments as they are then: a rule that
denies by now denies, whatever was approved.
"""

import json
from typing import Any, Literal

import msgspec

from ...stores.records import Requested
from ...supervisor.danger.danger import Action, Verdict, is_plain, judge
from ...supervisor.danger.policy import DangerPolicy
from ..closing import CannotTell, closes_of
from ..ends import Asked, Ended
from ..session import Session
from ..state import DENIED
from ..text import clean, shorten, visible
from ..tooling.arguments import digest
from ..tooling.tools import AnyTool

ARGUMENTS_CHARS = 2_000
"""Characters of its arguments that a request shows; the journal has all."""

DeniedBy = Literal["policy", "person", "expired"]


def gate(session: Session, asked: Asked, tool: AnyTool) -> Requested | Ended | None:
    """Return the question that a call has to wait for, its result where it is denied, or None."""
    approvals = session.state.approvals
    if tool.shows_no_risk and not approvals.calls and is_plain(asked.call.arguments):
        rules = session.services.policies.of(session.installed.name, tool.name).danger.rules
        if not rules:
            return None
    known = approvals.calls.get(asked.id)
    if known is not None and known.state in ("denied", "expired"):
        by: DeniedBy = "person" if known.state == "denied" else "expired"
        return denied(session, asked, tool, by=by, who=known.by, why=known.why)
    danger = session.services.policies.of(session.installed.name, tool.name).danger
    verdict = judge(action_of(session, tool, asked.call.arguments), danger)
    if verdict.decision == "allow":
        return None
    if verdict.decision == "deny":
        return denied(session, asked, tool, by="policy", why=verdict.risk)
    named = digest(tool.name, asked.call.arguments, tool.defaults)
    if approvals.allows(asked.id, named):
        return None
    number = 1 if known is None else known.asked.number + 1
    return _request(session, asked, named, verdict, danger, number)


def action_of(session: Session, tool: AnyTool, arguments: str) -> Action:
    """Return a call as the danger rules see it, with the defaults of what was left out."""
    given: dict[str, Any] = json.loads(arguments)
    if tool.defaults:
        given = {**json.loads(msgspec.json.encode(tool.defaults)), **given}
    return Action(
        tool=tool.name,
        danger=tool.marks.danger,
        effect=tool.marks.effect,
        arguments=given,
        working_directory=session.facts.working_directory,
        agent=session.installed.name,
        upstream=tool.marks.upstream,
    )


def _request(
    session: Session,
    asked: Asked,
    named: str,
    verdict: Verdict,
    danger: DangerPolicy,
    number: int,
) -> Requested:
    mask, steady = session.services.mask, session.services.steady
    whole = visible(mask(asked.call.arguments))
    # What matters may stand at either end.
    shown = shorten(whole, ARGUMENTS_CHARS, unit="chars", tail=0.5).text
    expires_s = danger.expires_s
    return Requested(
        asked.n,
        asked.index,
        asked.call.name,
        named,
        shown,
        session.now_ms(),
        None if expires_s is None else steady.after_ms(expires_s),
        number,
        verdict.category,
        visible(clean(mask(verdict.risk)).text),
        verdict.rule,
    )


def denied(
    session: Session, asked: Asked, tool: AnyTool, *, by: DeniedBy, who: str = "", why: str = ""
) -> Ended:
    """Return the one result of a call that is denied; what it touches is closed, and its equals."""
    services = session.services
    danger = services.policies.of(session.installed.name, tool.name).danger
    closes: tuple[str, ...] = ()
    try:
        arguments = tool.check(asked.call.arguments)
        closes = closes_of(tool, arguments, session.facts.working_directory)
    except CannotTell as error:
        text = f"{error}: other ways to the same effect stay open"
        services.alerts.due(f"resource {tool.name}", text, 60.0)
    return Ended(
        content=services.mask(_said(by, who, why)),
        state="denied",
        error_class=DENIED,
        digest=digest(tool.name, asked.call.arguments, tool.defaults),
        closes=closes,
        by=by,
        stops=danger.on_denied == "stop",
    )


def _said(by: DeniedBy, who: str, why: str) -> str:
    """Return what the model is told."""
    match by:
        case "policy":
            said = "the policy does not allow this call"
        case "expired":
            said = "a person was asked and did not answer in time (expired)"
        case _:
            said = f"{who or 'a person'} has denied this call"
    reason = f": {why}" if why else ""
    return (
        f"denied: {said}{reason}. It was not run.\n"
        "advice: do not try to reach the same in another way; finish what does not depend on it, "
        "and report that this is blocked and why"
    )

"""What a person is given when a session is handed over. Pure."""

from typing import Any

import msgspec
from msgspec import Struct

from ...supervisor.decide import HandOver, Reason
from ...supervisor.failure import Failure
from ..budget import Account, Refusal
from ..outcome import Dossier, DoubtfulCall, HandedOver, Outcome
from ..state import SessionState
from .options import options_for

TEXT_MAX = 4_000
"""Characters of input and error kept in a dossier; the journal has the whole."""


class Alert(Struct, frozen=True):
    """That somebody has to mend something: what it is about, and in what time it is told once."""

    about: str
    every_s: float


class Trouble(Struct, frozen=True, kw_only=True):
    """Why a session must be handed over, as it was found out.

    ``inherited``: it was left by an earlier life; what the user said since lets the session go on.
    ``findings``: where the answer differs from what was executed, a line each.
    """

    reason: Reason
    detail: str
    step: str
    input: str = ""
    failure: Failure | None = None
    error: str = ""
    tried: tuple[str, ...] = ()
    inherited: bool = False
    alert: Alert | None = None
    findings: tuple[str, ...] = ()


def trouble_to_data(trouble: Trouble) -> dict[str, Any]:
    """Return it as it is stored with a call's result, no longer than a dossier tells it."""
    short = msgspec.structs.replace(trouble, input=trouble.input[:TEXT_MAX])
    data: dict[str, Any] = msgspec.to_builtins(short)
    return data


def trouble_from_data(data: dict[str, Any]) -> Trouble:
    """Return what `trouble_to_data` made plain data of."""
    return msgspec.convert(data, Trouble)


def alert_of(directive: HandOver, about: str) -> Alert | None:
    """Return the alert that a directive asks for, about an upstream, a tool or a model."""
    every_s = directive.alert_every_s
    return None if every_s is None else Alert(about, every_s)


def over_budget(limit: Refusal, step: str, input: str = "") -> Trouble:
    """Return the trouble of a session whose budget is spent."""
    return Trouble(
        reason="budget",
        detail=str(limit),
        step=step,
        input=input,
        tried=("nothing: a budget is never exceeded",),
    )


def concluded(state: SessionState, answer: str) -> Trouble:
    """Return the trouble of a session that reports itself blocked: by which call, in whose words."""
    refusal = state.refusal
    if refusal is None:
        return Trouble(reason="blocked", detail=answer, step="conclude")
    n, index = refusal.call
    return Trouble(
        reason="approval" if refusal.asked else "blocked",
        detail=answer,
        step=f"call {n}.{index} {refusal.tool}",
        input=refusal.arguments,
        error=refusal.content,
        tried=("nothing: a refusal for good is not worked round",),
    )


def hand_over(
    trouble: Trouble, state: SessionState, account: Account, *, unsaved: str | None = None
) -> HandedOver:
    """Return the outcome with its dossier; all five parts are always filled."""
    failure = trouble.failure
    error = f"{failure.type_name}: {failure.message}" if failure else trouble.error
    error = error or trouble.detail
    if failure is not None and failure.traceback:
        error = f"{error}\n{failure.traceback}"
    unresolved = tuple(doubts(state))
    dossier = Dossier(
        failed_step=trouble.step,
        input=(trouble.input or "no arguments")[:TEXT_MAX],
        upstream_error=error[:TEXT_MAX],
        tried=trouble.tried or ("nothing: this is not retried",),
        options=options_for(state, trouble.reason, step=trouble.step),
        questions=tuple(questions(state)),
        findings=trouble.findings,
        in_doubt=unresolved,
        budget=used(account),
        unsaved=unsaved,
    )
    return HandedOver(trouble.reason, dossier, trouble.detail)


def doubts(state: SessionState) -> list[DoubtfulCall]:
    """Return the calls of a session whose effect is unknown."""
    return [
        DoubtfulCall(
            n=n,
            index=index,
            tool=entry.tool,
            arguments=entry.arguments,
            key=entry.key,
            still_running=entry.still_running,
        )
        for (n, index), entry in state.in_doubt.items()
    ]


TELLS_ITSELF: frozenset[Reason] = frozenset(
    {"permission", "unknown", "bug", "mismatch", "restarts"}
)
"""Reasons that come with an alert of their own, where the policy wants one."""

OUTAGE_S = 60.0
"""Seconds within which handovers of one agent are told once where the other side is what failed."""


class Notice(Struct, frozen=True):
    """That a person is needed: told once for this cause in this time."""

    cause: str
    text: str
    every_s: float = 0.0


def headline(outcome: HandedOver) -> str:
    """Return what a person reads first: the detail, or what speaks against it where something does.

    The detail of a session that reports itself blocked is in the model's own words.
    """
    findings = outcome.dossier.findings
    if not findings or findings[0] in outcome.detail:
        return outcome.detail
    return f"{findings[0]}; the whole answer: {outcome.detail}"


def notice_of(session_id: str, agent: str, outcome: Outcome, left_open: int) -> Notice | None:
    """Return what people are told of how a session has ended; None: nobody is needed, or is told.

    Args:
        left_open: how many questions are left of a session that was not handed over.
    """
    if isinstance(outcome, HandedOver):
        if outcome.reason in TELLS_ITSELF:
            return None
        detail = f": {headline(outcome)[:200]}" if outcome.detail else ""
        reason = outcome.reason.replace("_", " ")
        text = f"session {session_id} of agent {agent} was handed over ({reason}){detail}"
        # An outage hits many at once, and all in the same way.
        together = outcome.reason == "blocked"
        cause = f"{agent} blocked" if together else session_id
        return Notice(cause, text, OUTAGE_S if together else 0.0)
    if not left_open:
        return None
    asked = "a question" if left_open == 1 else f"{left_open} questions"
    text = f"session {session_id} of agent {agent} has ended and left {asked} open for a person"
    return Notice(session_id, text)


def questions(state: SessionState) -> list[str]:
    """Return what is open for a person: calls in doubt, compensations that did not go well, and
    calls that wait for an approval."""
    found = [
        f"did {entry.tool} (call {n}.{index}) take effect?"
        for (n, index), entry in state.in_doubt.items()
    ]
    found += [
        f"is {undo.step.tool} (call {undo.step.n}.{undo.step.index}) to be compensated "
        f"by hand, again or not at all? {undo.content}"
        for undo in state.unwound.open
    ]
    found += [
        f"may {known.asked.tool} (call {n}.{index}) run? {known.asked.risk}".rstrip()
        for (n, index), known in state.approvals.open.items()
    ]
    return found


def left_open(state: SessionState) -> int:
    """Return how many questions a session leaves to a person, besides requests for approval."""
    return len(state.in_doubt) + len(state.unwound.open)


def used(account: Account) -> dict[str, str]:
    """Return every limit over a session as ``used of cap``, its own first."""
    return {
        f"{name} of {above.name}": f"{above.used[index]:g} of {cap:g}"
        for above in account.chain
        for index, (name, cap) in enumerate(
            zip(above.budget.__struct_fields__, above.caps, strict=True)
        )
        if cap is not None
    }

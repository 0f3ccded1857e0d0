"""What a person is given when a session is handed over. Pure."""

from msgspec import Struct

from ..supervisor.decide import HandOver, Reason
from ..supervisor.failure import Failure
from .budget import Account, Refusal
from .outcome import Dossier, DoubtfulCall, EffectStanding, HandedOver
from .state import SessionState

TEXT_MAX = 4_000
"""Characters of input and error kept in a dossier; the journal has the whole."""

DOUBT_OPTIONS = (
    "find out whether the call in doubt took effect, then resolve it: done, not_done, retry or abandon",
    "send a message to go on while the question stays open",
)
OPTIONS: dict[str, tuple[str, ...]] = {
    "in_doubt": ("cancel the session",),
    "budget": ("start a new session with a larger budget", "cancel the session"),
    "permission": ("grant the right or mend the setting, then send a message", "cancel"),
    "restarts": ("mend the fault named here, then send a message to go on", "cancel"),
}
UNDO_OPTIONS: dict[EffectStanding, str] = {
    "compensation failed": "look after each compensation that failed, then resolve it: compensated "
    "(it is undone), compensate (try again) or abandon (leave the effect)",
    "compensation in doubt": "find out whether each compensation in doubt ran, then resolve it: "
    "compensated (it did), compensate (run it again) or abandon (leave the effect)",
    "frozen": "resolve with compensate, to undo what was frozen",
}
"""What can be done about effects, by how they stand."""
DEFAULT_OPTIONS = ("send a message to go on", "cancel the session")


class Alert(Struct, frozen=True):
    """That somebody has to mend something: what it is about, and in what time it is told once."""

    about: str
    every_s: float


class Trouble(Struct, frozen=True, kw_only=True):
    """Why a session must be handed over, as it was found out.

    ``inherited``: it was left by an earlier life; what the user said since lets the session go on.
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
        reason="blocked",
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
    usual = OPTIONS.get(trouble.reason, DEFAULT_OPTIONS)
    dossier = Dossier(
        failed_step=trouble.step,
        input=(trouble.input or "no arguments")[:TEXT_MAX],
        upstream_error=error[:TEXT_MAX],
        tried=trouble.tried or ("nothing: this is not retried",),
        options=(*(DOUBT_OPTIONS if unresolved else ()), *usual),
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

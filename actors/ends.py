"""How calls end: what a result will hold, for every way in which a call can come to its end. Pure but
for the budget of corrections."""

import hashlib

import msgspec
from msgspec import Struct

from ..stores.records import CallState, Late, ToolCall, TreeWindow
from ..supervisor.classify import declared_failure
from ..supervisor.decide import Conclude, Correct, Directive, HandOver, History, decide
from ..supervisor.errors import ErrorClass
from ..supervisor.failure import Failure, Traits
from .approvals.approvals import Approvals
from .budget import INDEX, Refusal
from .conversation import Turn
from .handover.dossier import Trouble, alert_of, over_budget
from .handover.wording import INTERRUPTED, INTERRUPTED_SAFE, cleaned, failed, not_started
from .ledger import RECORD, Answer, CallEntry, CallId
from .session import Session
from .staging.staged import StagedCall
from .state import CORRECTED, NOTHING_RAN, Wait
from .tooling.marks import Marks
from .tooling.tools import AnyTool
from .work import contained

IN_DOUBT = ErrorClass.IN_DOUBT_TIMEOUT.value


class Asked(Struct, frozen=True):
    """A call that somebody asked for: the model, or a person for the second time."""

    n: int
    index: int
    call: ToolCall
    ledgered: bool = True
    """Whether the history promises an intent before every write."""

    @property
    def id(self) -> CallId:
        return self.n, self.index

    @property
    def step(self) -> str:
        return f"call {self.n}.{self.index} {self.call.name}"


def asked_in(turn: Turn, index: int, approvals: Approvals) -> Asked:
    """Return a call of an assistant message, with the arguments under which a person lets it run."""
    answered = turn.answered
    call = answered.calls[index]
    if approvals.calls:
        call = approvals.effective((answered.n, index), call)
    return Asked(answered.n, index, call, answered.ledger)


class Prepared(Struct, frozen=True, kw_only=True):
    """A call that may run: its tool, checked arguments, and how it is known to the ledger.

    ``doubtful``: an attempt before may have taken effect. ``probe_first``: the tool's probe is asked
    about that before anything runs; ``still_running``: its body may yet go on in this process.
    ``staged``: the body has run in its staging area, and what is left is to check and commit that.
    """

    n: int
    index: int
    tool: AnyTool
    arguments: dict[str, object]
    text: str
    traits: Traits
    digest: str
    key: str | None
    attempt: int
    elapsed_s: float = 0.0
    """Seconds since the first attempt, where earlier lives made it and waited."""
    doubtful: bool = False
    probe_first: bool = False
    still_running: bool = False
    staged: StagedCall | None = None

    @property
    def id(self) -> CallId:
        return self.n, self.index

    @property
    def step(self) -> str:
        return f"call {self.n}.{self.index} {self.tool.name}"


class Ended(Struct, frozen=True, kw_only=True):
    """How a call ended: what its result will hold, and the trouble that ends the session."""

    content: str
    state: CallState = "succeeded"
    error_class: str | None = None
    attempts: int = 1
    elapsed_s: float = 0.0
    blobs: tuple[tuple[str, bytes], ...] = ()
    blob: str | None = None
    """Digest of the full text, also where the store has it already."""
    value_type: str | None = None
    digest: str = ""
    still_running: bool = False
    closes: tuple[str, ...] = ()
    trouble: Trouble | None = None
    replayed: bool = False
    by: str = ""
    stops: bool = False
    windows: tuple[TreeWindow, ...] = ()
    no_snapshot: str = ""
    held_s: float = 0.0


def end_failed(
    session: Session,
    failure: Failure,
    traits: Traits,
    asked: "Asked | Prepared",
    *,
    about: str = "",
    directive: Directive | None = None,
    closes: tuple[str, ...] = (),
    attempts: int = 1,
    elapsed_s: float = 0.0,
    digest: str = "",
    ran: bool = False,
    doubtful: bool = False,
    still_running: bool = False,
    tried: tuple[str, ...] = (),
) -> Ended:
    """Return how a failed call ends, by the directive for its failure."""
    failure = cleaned(failure, session.services.mask)
    name = asked.call.name if isinstance(asked, Asked) else asked.tool.name
    if directive is None:
        history = History(
            corrections=_rounds_before(session, name, asked.n),
            conclusions=session.state.conclusions.get(failure.error_class, 0),
        )
        policy = session.services.policies.of(session.installed.name, name)
        directive = decide(failure, traits, history, policy, 0.0)
    if isinstance(directive, Correct):
        refusal = _book_correction(session)
        if refusal is not None:
            directive = HandOver("budget", str(refusal))
    trouble = None
    if isinstance(directive, HandOver):
        more = (f"{attempts} attempts over {elapsed_s:.1f} s",) if attempts > 1 else ()
        if failure.error_class.value in CORRECTED:
            rounds = _rounds_before(session, name, asked.n)
            more = (*more, f"the model has corrected its call in {rounds} rounds")
        text = asked.call.arguments if isinstance(asked, Asked) else asked.text
        trouble = Trouble(
            reason=directive.reason,
            detail=directive.detail,
            step=asked.step,
            input=session.services.mask(text),
            failure=failure,
            tried=(*more, *tried),
            alert=alert_of(directive, about or name),
        )
    return Ended(
        content=failed(failure, directive, attempts),
        state=state_of_failed(failure, traits, directive, ran=ran, doubtful=doubtful),
        error_class=failure.error_class.value,
        attempts=attempts,
        elapsed_s=elapsed_s,
        digest=digest,
        still_running=still_running,
        closes=closes,
        trouble=trouble,
    )


def state_of_failed(
    failure: Failure, traits: Traits, directive: Directive, *, ran: bool, doubtful: bool
) -> CallState:
    """Whether the ledger knows how the call stands.

    A write that is not safe to repeat, or that would be undone, and failed without saying that it
    did not execute is in doubt, whatever the class: an equal call must not run until somebody knows.
    A key does not help here: the next call the model makes has another. An attempt that certainly
    did not execute says nothing of those before it, but a refusal for good does.
    """
    if isinstance(directive, Conclude) and ran:
        return "failed"
    if doubtful or (ran and may_have_taken_effect(failure, traits)):
        return "in_doubt"
    return "failed" if ran else "refused"


def may_have_taken_effect(failure: Failure, traits: Traits) -> bool:
    """Tell whether an attempt that ended like this may have done what somebody has to know of."""
    return failure.may_have_executed != "no" and traits.leaves_doubt


def _rounds_before(session: Session, name: str, n: int) -> int:
    """Return the rounds in a row in which this call was amended; of a tool that is none, in vain."""
    rounds = session.state.corrections_before(name, n)
    if name in session.installed.toolbox:
        return rounds
    return max(rounds, session.state.corrections_before(NOTHING_RAN, n))


def _book_correction(session: Session) -> Refusal | None:
    return session.account.take(INDEX["corrections"])


def given_up(wait: Wait, why: str, intent: CallEntry | None = None) -> Ended:
    """Return the result of a call that failed in passing and is not repeated any more."""
    named = intent.digest if intent else ""
    ended = not_again(
        wait.error_class, wait.message, why, wait.number, wait.elapsed_s, digest=named
    )
    return doubtful_still(ended, wait, intent) if wait.doubtful else ended


def not_again(
    error_class: str, message: str, why: str, attempts: int, elapsed_s: float, *, digest: str = ""
) -> Ended:
    """Return the result of a call whose attempts certainly did not take effect, and end here."""
    return Ended(
        content=f"error ({error_class}): {message}\nNot tried again: {why}.",
        state="failed",
        error_class=error_class,
        attempts=attempts,
        elapsed_s=elapsed_s,
        digest=digest,
    )


def doubtful_still(ended: Ended, wait: Wait, intent: CallEntry | None) -> Ended:
    """Return the end of a call that is not repeated, though an attempt may have taken effect."""
    return msgspec.structs.replace(
        ended,
        content=f"{INTERRUPTED}\n{ended.content}",
        state="in_doubt",
        error_class=IN_DOUBT,
        attempts=wait.number,
        digest=intent.digest if intent else ended.digest,
    )


def came_back(intent: CallEntry, late: Late) -> Ended:
    """Return the result of a call that was given up, and whose body ended before it had one."""
    return Ended(
        content=late.content,
        state=late.state,
        error_class=late.error_class,
        attempts=intent.attempts,
        digest=intent.digest,
        value_type=late.value_type,
        blob=late.blob,
        by="late",
    )


def replayed(answer: Answer, named: str) -> Ended:
    """Return the result of a call whose equal took effect, which the model had not been told."""
    return Ended(
        content=answer.content,
        digest=named,
        value_type=answer.value_type,
        blob=answer.blob,
        replayed=True,
        by=RECORD,
    )


def interrupted(
    digest: str,
    *,
    safe: bool,
    still_running: bool = False,
    trouble: Trouble | None = None,
    attempts: int = 1,
) -> Ended:
    """Return the result of a call that was cut off after it may have begun."""
    return Ended(
        content=INTERRUPTED_SAFE if safe else INTERRUPTED,
        state="failed" if safe else "in_doubt",
        error_class=ErrorClass.CANCELLED.value if safe else IN_DOUBT,
        attempts=attempts,
        digest=digest,
        still_running=still_running,
        trouble=trouble,
    )


def in_doubt_still(
    step: str, input: str, digest: str, attempts: int, tried: str, *, still_running: bool
) -> Ended:
    """Return the result of a call of an earlier life of which nobody knows whether it took effect."""
    name = step.rpartition(" ")[2]
    trouble = Trouble(
        reason="in_doubt",
        detail=f"{name} was interrupted and may have taken effect",
        step=step,
        input=input,
        tried=(tried,),
        inherited=True,
    )
    return interrupted(
        digest, safe=False, still_running=still_running, trouble=trouble, attempts=attempts
    )


def spent(
    refusal: Refusal, step: str, input: str, digest: str = "", *, doubt: Ended | None = None
) -> Ended:
    """Return the result of a call that did not fit into the budget any more.

    Args:
        doubt: how it ends where an attempt before may have taken effect.
    """
    trouble = over_budget(refusal, step, input)
    if doubt is not None:
        return msgspec.structs.replace(doubt, trouble=trouble)
    return Ended(
        content=not_started(str(refusal)),
        state="refused",
        error_class="budget",
        digest=digest,
        trouble=trouble,
    )


def closed_off(why: str, error_class: str, named: str) -> Ended:
    return Ended(content=not_started(why), state="refused", error_class=error_class, digest=named)


def key_of(session_id: str, n: int, index: int, edited: str = "") -> str:
    """Return a call's idempotency key: made of its identity alone, so stable over everything.

    Args:
        edited: digest of the arguments that a person gave it; another order needs another key.
    """
    name = f"{session_id}\n{n}\n{index}" + (f"\n{edited}" if edited else "")
    return "uk-" + hashlib.sha256(name.encode()).hexdigest()[:32]


def traits_of(tool: AnyTool) -> Traits:
    """Return the marks that decisions need."""
    return tool.traits


def marks_told(marks: Marks) -> tuple[str, ...]:
    """Return the marks that decide about a failure, as they are stored beside it."""
    told = (
        (marks.effect == "read", "read"),
        (marks.safe_to_retry, "safe"),
        (marks.accepts_key, "key"),
    )
    return tuple(word for holds, word in told if holds)


def judged(name: str, marks: Marks, value: object) -> bool | None:
    """Return what a tool's own ``success`` says of a value; None: it has none.

    Raises:
        Exception: the function's own, or what `contained` makes of what is none.
    """
    judge = marks.success
    if judge is None:
        return None
    return contained(f"success of {name}", lambda: bool(judge(value)))


def declared(tool: AnyTool, value: object) -> Failure | None:
    """Return the failure that a normal return tells of, such as ``{"ok": false, "error": ...}``.

    A tool's own ``success`` has the first word. What nobody recognises is no failure of ours: the
    model gets it as it is.
    """
    if type(value) is str:
        return None  # text may say anything
    if tool.marks.success is not None and judged(tool.name, tool.marks, value):
        return None
    failure = declared_failure(value)
    if failure is None or failure.error_class is ErrorClass.UNKNOWN:
        return None
    return failure

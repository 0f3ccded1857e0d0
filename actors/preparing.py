"""Before a body runs: checks, the ledger's word, and results for calls whose body does not run."""

import hashlib

import msgspec
from msgspec import Struct

from ..stores.records import CallState
from ..supervisor.decide import Conclude, Correct, Directive, HandOver, History, decide
from ..supervisor.errors import ErrorClass, InvalidArgument
from ..supervisor.failure import Failure, Traits
from ..supervisor.policy import Policy
from .arguments import digest
from .budget import INDEX, Refusal
from .closing import closed_resource
from .conversation import Turn
from .dossier import Trouble, alert_of, over_budget
from .session import Session
from .state import CallEntry, Wait
from .tools import AnyTool
from .wording import INTERRUPTED, INTERRUPTED_SAFE, cleaned, failed, not_started

IN_DOUBT = ErrorClass.IN_DOUBT_TIMEOUT.value


class Prepared(Struct, frozen=True, kw_only=True):
    """A call that may run: its tool, checked arguments, and how it is known to the ledger."""

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
    value_type: str | None = None
    digest: str = ""
    still_running: bool = False
    closes: tuple[str, ...] = ()
    trouble: Trouble | None = None


class Preparing:
    """Decides, from the stored state, what becomes of a call before anything runs."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def prepare(self, turn: Turn, index: int) -> Prepared | Ended:
        """Return the call ready to run, or its result where it must not run."""
        n = turn.answered.n
        wait = self._session.state.waits.get((n, index))
        if wait is not None and not wait.begun:
            return self._waited(n, index, turn, wait)
        intent = self._session.state.ledger.get((n, index))
        if intent is None and turn.answered.ledger:
            return self._fresh(n, index, turn)
        return self._begun(turn, index, intent)

    def unrun(self, turn: Turn, index: int, why: str, *, began: bool) -> Ended:
        """Return the result of an open call that will not run (any more)."""
        call = turn.answered.calls[index]
        named = (turn.answered.n, index)
        wait = self._session.state.waits.get(named)
        if wait is not None and not wait.begun:
            return given_up(wait, why)
        intent = self._session.state.ledger.get(named)
        unbegun = intent is None or self._session.never_began(named)
        if not began and unbegun and turn.answered.ledger:
            return Ended(content=not_started(why), state="refused", error_class="cancelled")
        toolbox = self._session.installed.toolbox
        safe = call.name in toolbox and toolbox.get(call.name).marks.safe_to_retry
        # What has begun here and has no result yet has not come back.
        return interrupted(intent.digest if intent else "", safe=safe, still_running=began)

    def _waited(self, n: int, index: int, turn: Turn, wait: Wait) -> Prepared | Ended:
        """Make the next attempt of a call whose last one certainly may be repeated."""
        if not wait.ready:
            return given_up(wait, "the user has spoken; call again if it is still needed")
        fresh = self._fresh(n, index, turn)
        if isinstance(fresh, Ended):
            return fresh
        return msgspec.structs.replace(fresh, attempt=wait.number + 1, elapsed_s=wait.elapsed_s)

    # ------------------------------------------------------------ a call nobody began

    def _fresh(self, n: int, index: int, turn: Turn) -> Prepared | Ended:
        session = self._session
        call = turn.answered.calls[index]
        try:
            tool = session.installed.toolbox.get(call.name)
            if call.problem is not None:
                raise InvalidArgument(call.problem)
            arguments = tool.check(call.arguments)
        except InvalidArgument as error:
            return self._refused(n, index, turn, error)
        named = self._named(tool, call.arguments)
        closed = self._closed(n, index, tool, call.arguments, arguments, named)
        if closed is not None:
            return closed
        return Prepared(
            n=n,
            index=index,
            tool=tool,
            arguments=arguments,
            text=call.arguments,
            traits=traits_of(tool),
            digest=named,
            key=key_of(session.id, n, index) if tool.marks.accepts_key else None,
            attempt=1,
        )

    def _named(self, tool: AnyTool, arguments: str) -> str:
        """Name the call by tool and canonical arguments, where anybody will compare it."""
        state = self._session.state
        if tool.marks.effect == "write" or state.rejected or state.ledger:
            return digest(tool.name, arguments)
        return ""

    def _closed(
        self,
        n: int,
        index: int,
        tool: AnyTool,
        text: str,
        arguments: dict[str, object],
        named: str,
    ) -> Ended | None:
        """Refuse a call whose equal is in doubt, and whatever reaches what was refused for good."""
        state = self._session.state
        if named and any(entry.digest == named for entry in state.in_doubt.values()):
            why = "an equal call is in doubt; whether it took effect is not known yet"
            return _closed(why, IN_DOUBT, named)
        if named and named in state.rejected:
            why = "an equal call was refused for good"
        else:
            found = closed_resource(tool, arguments, state.closed)
            if found is None:
                return None
            why = found
        failure = Failure(
            error_class=ErrorClass.BUSINESS_REJECTED,
            message=not_started(why),
            type_name="Closed",
            may_have_executed="no",
        )
        step = f"call {n}.{index} {tool.name}"
        return end_failed(
            self._session,
            failure,
            Traits(),
            name=tool.name,
            n=n,
            step=step,
            input=text,
            digest=named,
        )

    def _refused(self, n: int, index: int, turn: Turn, error: InvalidArgument) -> Ended:
        call = turn.answered.calls[index]
        failure = Failure(
            error_class=ErrorClass.INVALID_ARGUMENT,
            message=error.message,
            type_name=type(error).__name__,
            fields=error.fields,
            may_have_executed="no",
        )
        step = f"call {n}.{index} {call.name}"
        return end_failed(
            self._session, failure, Traits(), name=call.name, n=n, step=step, input=call.arguments
        )

    # ------------------------------------------------------------ a call of an earlier life

    def _begun(self, turn: Turn, index: int, intent: CallEntry | None) -> Prepared | Ended:
        """Run it again only where that can do no harm; otherwise it is in doubt."""
        session = self._session
        n, call = turn.answered.n, turn.answered.calls[index]
        toolbox = session.installed.toolbox
        try:
            tool = toolbox.get(call.name)
            arguments = tool.check(call.arguments)
        except InvalidArgument:
            return self._doubt(n, index, turn, intent)
        traits = traits_of(tool)
        unbegun = session.never_began((n, index))
        if call.problem is not None or not (unbegun or self._may_repeat(traits, intent)):
            return self._doubt(n, index, turn, intent)
        return Prepared(
            n=n,
            index=index,
            tool=tool,
            arguments=arguments,
            text=call.arguments,
            traits=traits,
            digest=intent.digest if intent else self._named(tool, call.arguments),
            key=intent.key if intent else None,
            attempt=intent.attempts + (not unbegun) if intent else 1,
        )

    def _may_repeat(self, traits: Traits, intent: CallEntry | None) -> bool:
        if traits.safe_to_retry:
            return True
        # A key helps only if the first attempt went out with the same one.
        if not traits.accepts_key or intent is None or intent.key is None:
            return False
        limit = self._policy(intent.tool).in_doubt_timeout.attempts_max
        return limit is None or intent.attempts < limit

    def _policy(self, tool: str) -> Policy:
        return self._session.services.policies.of(self._session.installed.name, tool)

    def _doubt(self, n: int, index: int, turn: Turn, intent: CallEntry | None) -> Ended:
        call = turn.answered.calls[index]
        trouble = Trouble(
            reason="in_doubt",
            detail=f"{call.name} was interrupted and may have taken effect",
            step=f"call {n}.{index} {call.name}",
            input=call.arguments,
            tried=("nothing: it is not safe to repeat",),
            inherited=True,
        )
        return Ended(
            content=INTERRUPTED,
            state="in_doubt",
            error_class=IN_DOUBT,
            attempts=intent.attempts if intent else 1,
            digest=intent.digest if intent else digest(call.name, call.arguments),
            # Its body was entered in this process and has not come back.
            still_running=(n, index) in self._session.began,
            trouble=trouble,
        )


# ---------------------------------------------------------------- shared ends


def end_failed(
    session: Session,
    failure: Failure,
    traits: Traits,
    *,
    name: str,
    n: int,
    step: str,
    input: str,
    about: str = "",
    directive: Directive | None = None,
    closes: tuple[str, ...] = (),
    attempts: int = 1,
    elapsed_s: float = 0.0,
    digest: str = "",
    ran: bool = False,
    still_running: bool = False,
) -> Ended:
    """Return how a failed call ends, by the directive for its failure."""
    failure = cleaned(failure, session.services.mask)
    if directive is None:
        history = History(
            corrections=session.state.corrections_before(name, n),
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
        tried = (f"{attempts} attempts over {elapsed_s:.1f} s",) if attempts > 1 else ()
        if failure.error_class is ErrorClass.INVALID_ARGUMENT:
            rounds = session.state.corrections_before(name, n)
            tried = (*tried, f"the model has corrected its call in {rounds} rounds")
        trouble = Trouble(
            reason=directive.reason,
            detail=directive.detail,
            step=step,
            input=session.services.mask(input),
            failure=failure,
            tried=tried,
            alert=alert_of(directive, about or name),
        )
    return Ended(
        content=failed(failure, directive, attempts),
        state=_state(failure, traits, directive, ran=ran),
        error_class=failure.error_class.value,
        attempts=attempts,
        elapsed_s=elapsed_s,
        digest=digest,
        still_running=still_running,
        closes=closes,
        trouble=trouble,
    )


def _state(failure: Failure, traits: Traits, directive: Directive, *, ran: bool) -> CallState:
    """Whether the ledger knows how the call stands.

    A write that is not safe to repeat and failed without saying that it did not execute is in
    doubt, whatever the class: an equal call must not run until somebody knows.
    """
    if not ran:
        return "refused"
    if isinstance(directive, Conclude) or traits.repeatable or failure.may_have_executed == "no":
        return "failed"
    return "in_doubt"


def _book_correction(session: Session) -> Refusal | None:
    return session.account.take(INDEX["corrections"])


def given_up(wait: Wait, why: str) -> Ended:
    """Return the result of a call that failed in passing and is not repeated any more."""
    content = f"error ({wait.error_class}): {wait.message}\nNot tried again: {why}."
    return Ended(
        content=content,
        state="failed",
        error_class=wait.error_class,
        attempts=wait.number,
        elapsed_s=wait.elapsed_s,
    )


def interrupted(
    digest: str, *, safe: bool, still_running: bool = False, trouble: Trouble | None = None
) -> Ended:
    """Return the result of a call that was cut off after it may have begun."""
    return Ended(
        content=INTERRUPTED_SAFE if safe else INTERRUPTED,
        state="failed" if safe else "in_doubt",
        error_class=ErrorClass.CANCELLED.value if safe else IN_DOUBT,
        digest=digest,
        still_running=still_running,
        trouble=trouble,
    )


def spent(refusal: Refusal, step: str, input: str, digest: str = "") -> Ended:
    """Return the result of a call that did not fit into the budget any more."""
    return Ended(
        content=not_started(str(refusal)),
        state="refused",
        error_class="budget",
        digest=digest,
        trouble=over_budget(refusal, step, input),
    )


def _closed(why: str, error_class: str, named: str) -> Ended:
    return Ended(content=not_started(why), state="refused", error_class=error_class, digest=named)


def key_of(session_id: str, n: int, index: int) -> str:
    """Return a call's idempotency key: made of its identity alone, so stable over everything."""
    return "uk-" + hashlib.sha256(f"{session_id}\n{n}\n{index}".encode()).hexdigest()[:32]


def traits_of(tool: AnyTool) -> Traits:
    """Return the marks that decisions need."""
    return Traits(safe_to_retry=tool.marks.safe_to_retry, accepts_key=tool.marks.accepts_key)

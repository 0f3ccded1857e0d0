"""How an attempt of a call ended, and the call with it: in the words that its result will hold."""

from functools import partial

import msgspec

from ..supervisor.decide import Conclude, Directive
from ..supervisor.errors import ErrorClass
from ..supervisor.failure import Failure
from .attempting import Attempt, Tries
from .closing import CannotTell, closes_of
from .ends import Ended, Prepared, end_failed, in_doubt_still, interrupted, judged, not_again
from .handover.wording import cleaned, clipped, not_started
from .ledger import PROBE
from .session import Session
from .tooling.results import is_short, render_result
from .work import TimedOut, contained

TIMED_OUT = "TimedOut"
"""Name of the type of a failure whose body was still running at its limit."""


class AttemptEnds:
    """Ends of the calls of one session."""

    __slots__ = ("_session",)

    def __init__(self, session: Session) -> None:
        self._session = session

    def found(self, call: Prepared, value: object, attempts: int) -> Ended:
        """Return the result that a probe found in place of the call's own."""
        try:
            ended = self.succeeded(call, value, attempts, 0.0)
        except Exception as error:  # noqa: BLE001 - what a user's function returned
            failure = cleaned(self._session.services.classify(error), self._session.services.mask)
            shown = self._session.services.mask(call.text)
            why = f"the probe's answer cannot be kept: {failure.message}"
            return in_doubt_still(call.step, shown, call.digest, attempts, why, still_running=False)
        return msgspec.structs.replace(ended, replayed=True, by=PROBE)

    def succeeded(self, call: Prepared, value: object, attempts: int, elapsed_s: float) -> Ended:
        """Return how a call ends whose body came back with this value.

        Raises:
            Exception: what the value's own code raises while text is made of it, or ``success``.
        """
        mask, tool = self._session.services.mask, call.tool
        if type(value) is str:  # then no code of a user's runs to make text of it
            text = mask(value)
            if tool.marks.success is None and is_short(text):
                return Ended(
                    content=text, attempts=attempts, elapsed_s=elapsed_s, digest=call.digest
                )
            rendered = render_result(value, mask=mask)
        else:
            what = f"result of {tool.name}"
            rendered = contained(what, partial(render_result, value, mask=mask))
        # A tool that ran to its end and says that it failed is no fault of anything: the model
        # gets its words, marked as an error, and goes on.
        success = tool.marks.success
        declared_failed = success is not None and judged(tool.name, tool.marks, value) is False
        blob = rendered.blob
        return Ended(
            content=rendered.content,
            state="failed" if declared_failed else "succeeded",
            attempts=attempts,
            elapsed_s=elapsed_s,
            blobs=(blob,) if blob else (),
            blob=blob[0] if blob else None,
            value_type=rendered.value_type,
            digest=call.digest,
        )

    def cut_off(self, call: Prepared, tries: Tries, now: Attempt) -> Ended:
        """Return how a call ends whose session was cut off while an attempt was under way."""
        if not now.entered:
            # An intent may be stored, but the body certainly did not run.
            return self.unrepeated(call, tries)
        return interrupted(
            call.digest,
            safe=not call.traits.leaves_doubt,
            still_running=not call.tool.is_async,
            attempts=tries.attempt,
        )

    def unrepeated(self, call: Prepared, tries: Tries) -> Ended:
        """Return how a call ends whose session was cut off before its next attempt."""
        why = "the session was cut off"
        if tries.doubtful:
            return self.doubt(call, tries)
        failure, made = tries.failure, tries.attempt - 1
        if failure is None:
            return Ended(
                content=not_started(why),
                state="refused",
                error_class=ErrorClass.CANCELLED.value,
                attempts=max(1, made),
                digest=call.digest,
            )
        shown = cleaned(failure, self._session.services.mask)
        clock = self._session.services.clock
        return not_again(
            shown.error_class.value,
            clipped(shown.message),
            why,
            max(1, made),
            clock.now() - tries.first_at,
            digest=call.digest,
        )

    def doubt(self, call: Prepared, tries: Tries) -> Ended:
        """Return the end of a call that will not be repeated, though an attempt may have worked."""
        return interrupted(
            call.digest,
            safe=False,
            still_running=call.id in self._session.began and not call.tool.is_async,
            attempts=max(1, tries.attempt - 1),
        )

    def failure(self, error: Exception, call: Prepared, now: Attempt) -> Failure:
        """Return what an attempt failed with."""
        if not isinstance(error, TimedOut):
            return self._session.services.classify(error, traits=call.traits)
        if not now.entered:
            return Failure(
                error_class=ErrorClass.TRANSIENT,
                message=f"no thread was free within {error.limit_s:g} s",
                type_name=TIMED_OUT,
                may_have_executed="no",
            )
        return Failure(
            error_class=ErrorClass.IN_DOUBT_TIMEOUT,
            message=f"no end within {error.limit_s:g} s, effect unknown",
            type_name=TIMED_OUT,
            evidence=("the tool's timeout_s",),
        )

    def failed(
        self,
        call: Prepared,
        failure: Failure,
        directive: Directive,
        tries: Tries,
        attempts: int,
        *,
        ran: bool,
        tried: tuple[str, ...] = (),
    ) -> Ended:
        """Return how a call ends that failed and is not tried again."""
        timed_out = failure.type_name == TIMED_OUT
        return end_failed(
            self._session,
            failure,
            call.traits,
            call,
            about=call.tool.marks.upstream or call.tool.name,
            directive=directive,
            closes=self._closes(call) if isinstance(directive, Conclude) else (),
            attempts=attempts,
            elapsed_s=self._session.services.clock.now() - tries.first_at,
            digest=call.digest,
            ran=ran,
            doubtful=tries.doubtful,
            still_running=timed_out and ran and not call.tool.is_async,
            tried=tried,
        )

    def _closes(self, call: Prepared) -> tuple[str, ...]:
        """Name what no write may touch after this call was refused for good."""
        session = self._session
        below = session.closed_below.pop(session.child_name((call.n, call.index)), ())
        try:
            named = closes_of(call.tool, call.arguments, session.facts.working_directory)
        except CannotTell as error:
            text = f"{error}: other ways to the same effect stay open"
            session.services.alerts.due(f"resource {call.tool.name}", text, 60.0)
            return below
        return (*named, *below)

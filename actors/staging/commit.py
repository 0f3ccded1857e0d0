"""The second half of a staged call whose effect is no file: its tool's ``commit``, or its ``abort``.

A commit is a write of its own. Its intent is the stored check that passed; what was cut off behind that
runs again only where it takes a key or is safe to repeat.
"""

from functools import partial

import anyio
import msgspec
from msgspec import Struct

from ...supervisor.classify import declared_failure
from ...supervisor.decide import Directive, History, Retry, decide
from ...supervisor.errors import ErrorClass
from ...supervisor.failure import Failure, Traits
from ..ends import Ended, Prepared, end_failed, in_doubt_still, interrupted, key_of
from ..events import AlertRaised
from ..handover.wording import cleaned, clipped
from ..session import Session
from ..tooling.companions import Companion
from ..tooling.context import CallContext, calling
from ..tooling.results import render_result
from ..work import CutOff, TimedOut, Work, pause
from .staged import StagedCall

ABORT_S_MAX = 30.0
"""Seconds that an ``abort`` may take."""

COMMIT = "commit"


class _Begun(Struct):
    """How far an attempt has come."""

    entered: bool = False


class StagingCommit:
    """Commits and aborts of one life of a session."""

    def __init__(self, session: Session, work: Work) -> None:
        self._session = session
        self._work = work

    async def commit(self, call: Prepared, known: StagedCall, *, begun: bool) -> Ended:
        """Commit what a call has prepared.

        Args:
            begun: an earlier life may have begun it.
        """
        companion, entry = call.tool.commit, known.result
        if companion is None:
            return self._doubt(call, known, "nothing: its tool has no commit function any more")
        traits = Traits(safe_to_retry=companion.safe_to_retry, accepts_key=companion.takes_key)
        if begun and not traits.repeatable:
            return self._doubt(call, known, "nothing: its commit is not safe to repeat")
        clock = self._session.services.clock
        first_at, number, doubtful = clock.now(), 1, begun
        while True:
            at = _Begun()
            try:
                value = await self._run(call, known, companion, number, at)
                failure = declared_failure(value)
                if failure is None or failure.error_class is ErrorClass.UNKNOWN:
                    return self._ended(known, value)
            except CutOff:
                return self._cut_off(call, known, unsure=doubtful or at.entered)
            except Exception as error:  # noqa: BLE001 - the tool boundary: whatever a body raises
                failure = self._failure(error, traits, at)
            doubtful = doubtful or (at.entered and failure.may_have_executed != "no")
            directive = self._decide(call, failure, traits, number, clock.now() - first_at)
            if isinstance(directive, Retry):
                await pause(self._work, directive.delay_s)
                if self._work.cut is not None:
                    return self._cut_off(call, known, unsure=doubtful)
                number += 1
                continue
            if not doubtful:
                await self.abort(call, known)
            return end_failed(
                self._session,
                failure,
                Traits(),
                call,
                directive=directive,
                attempts=number,
                elapsed_s=clock.now() - first_at,
                digest=entry.digest,
                ran=at.entered,
                doubtful=doubtful,
            )

    async def abort(self, call: Prepared, known: StagedCall) -> None:
        """Give up what a call has prepared; where that fails, somebody is told."""
        companion = call.tool.abort
        if companion is None:
            return
        services = self._session.services
        try:
            with anyio.fail_after(companion.timeout_s or ABORT_S_MAX):
                given = await self._given(call, known, companion)
                with calling(self._context(call, 1, None)):
                    await companion.call(given, threads=services.threads)
        except Exception as error:  # noqa: BLE001 - the call has ended already, whatever this does
            failure = cleaned(services.classify(error), services.mask)
            text = f"abort of {call.step} (session {self._session.id}): {clipped(failure.message)}"
            session = self._session
            session.emit(AlertRaised(session_id=session.id, at_ms=session.now_ms(), text=text))

    # ------------------------------------------------------------ one attempt

    async def _run(
        self, call: Prepared, known: StagedCall, companion: Companion, number: int, at: _Begun
    ) -> object:
        session = self._session
        given = await self._given(call, known, companion)

        def enter() -> None:
            at.entered = True

        body = partial(companion.call, given, threads=session.services.threads, on_start=enter)
        if not session.owned:
            await session.ensure_owned()
        with calling(self._context(call, number, self._key(call, companion))):
            return await self._work.run(
                body, what=f"commit of {call.tool.name}", limit_s=companion.timeout_s
            )

    async def _given(
        self, call: Prepared, known: StagedCall, companion: Companion
    ) -> dict[str, object]:
        entry, services = known.result, self._session.services
        text = entry.content
        if entry.blob is not None and companion.takes_result:
            text = (await services.store.blob(entry.blob)).decode("utf-8", "replace")
        return companion.given(
            call.arguments,
            result=(text, entry.value_type),
            key=self._key(call, companion),
            secrets=self._session.installed.toolbox.secrets_for(call.tool),
        )

    def _key(self, call: Prepared, companion: Companion) -> str | None:
        """Return a key of the commit's own, the same in every life."""
        if not companion.takes_key:
            return None
        return key_of(self._session.id, call.n, call.index, COMMIT)

    def _context(self, call: Prepared, number: int, key: str | None) -> CallContext:
        session = self._session
        return CallContext(
            session_id=session.id,
            agent=session.installed.name,
            tool=call.tool.name,
            call=call.id,
            attempt=number,
            key=key,
            working_directory=session.facts.working_directory,
        )

    # ------------------------------------------------------------ how it ended

    def _ended(self, known: StagedCall, value: object) -> Ended:
        ended = ended_of(known)
        if value is None:
            return ended
        try:
            rendered = render_result(value, mask=self._session.services.mask)
        except Exception:  # noqa: BLE001 - it is committed, whatever it says of that
            return ended
        blob = rendered.blob
        return msgspec.structs.replace(
            ended,
            content=rendered.content,
            blobs=(blob,) if blob else (),
            blob=blob[0] if blob else None,
            value_type=rendered.value_type,
        )

    def _failure(self, error: Exception, traits: Traits, at: _Begun) -> Failure:
        if not isinstance(error, TimedOut):
            failure = self._session.services.classify(error, traits=traits)
            known = (
                failure if at.entered else msgspec.structs.replace(failure, may_have_executed="no")
            )
            return known
        return Failure(
            error_class=ErrorClass.IN_DOUBT_TIMEOUT if at.entered else ErrorClass.TRANSIENT,
            message=f"the commit had no end within {error.limit_s:g} s",
            type_name="TimedOut",
            may_have_executed="maybe" if at.entered else "no",
        )

    def _decide(
        self, call: Prepared, failure: Failure, traits: Traits, number: int, elapsed_s: float
    ) -> Directive:
        session, services = self._session, self._session.services
        history = History(
            attempts=number,
            elapsed_s=elapsed_s,
            corrections=session.state.corrections_before(call.tool.name, call.n),
            conclusions=session.state.conclusions.get(failure.error_class, 0),
        )
        policy = services.policies.of(session.installed.name, call.tool.name)
        return decide(failure, traits, history, policy, services.roll())

    def _cut_off(self, call: Prepared, known: StagedCall, *, unsure: bool) -> Ended:
        if unsure:
            return interrupted(known.result.digest, safe=False, attempts=known.result.attempts)
        return not_committed(known, "the session was cut off")

    def _doubt(self, call: Prepared, known: StagedCall, tried: str) -> Ended:
        shown = self._session.services.mask(call.text)
        entry = known.result
        return in_doubt_still(
            call.step, shown, entry.digest, entry.attempts, tried, still_running=False
        )


def ended_of(known: StagedCall) -> Ended:
    """Return the end of a call that is committed, as its body had it."""
    entry = known.result
    return Ended(
        content=entry.content,
        attempts=entry.attempts,
        elapsed_s=entry.elapsed_s,
        blob=entry.blob,
        value_type=entry.value_type,
        digest=entry.digest,
    )


def not_committed(known: StagedCall, why: str) -> Ended:
    """Return the end of a call that has run in its staging area and is given up."""
    entry = known.result
    return Ended(
        content=f"not committed: {why}. Nothing was changed.",
        state="failed",
        error_class=ErrorClass.CANCELLED.value,
        attempts=entry.attempts,
        elapsed_s=entry.elapsed_s,
        digest=entry.digest,
    )

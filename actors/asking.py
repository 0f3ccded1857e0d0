"""A session asks its model: budget first, one whole answer or none, every attempt booked."""

from functools import lru_cache
from typing import assert_never

import msgspec

from ..stores.records import Answered, Noted
from ..supervisor.breaker import Wait, verdict_of
from ..supervisor.decide import (
    Conclude,
    Correct,
    HandOver,
    History,
    PassThrough,
    Prune,
    Retry,
    decide,
)
from ..supervisor.failure import MODEL_TRAITS, Failure
from .budget import Refusal
from .events import (
    BudgetSoft,
    ModelAnswered,
    ModelAsked,
    ModelPiece,
    ModelSuperseded,
    RetryScheduled,
)
from .gate import Held, enter_later, held_since
from .handover.dossier import Trouble, alert_of, over_budget
from .handover.wording import cleaned, refusal_of, refused_request, retried
from .metering import NOTHING, Meter, consumed_by
from .model import ModelReply, ModelRequest
from .once import once
from .parking import parks
from .pruning.pruner import Pruner
from .replies import checked
from .session import Session
from .state import CONCLUDE, MODEL
from .text import exact
from .upstreams import Full, Ticket
from .work import CutOff, Superseded, Work, pause


@lru_cache(maxsize=256)
def _asked(model: str) -> str:
    """Return what a request is called: one text for all who ask the same model."""
    return f"model {model}"


class Asking:
    """Model requests of one life of a session."""

    def __init__(self, session: Session, work: Work) -> None:
        self._session = session
        self._work = work
        model = session.installed.model
        self._name = exact(str(getattr(model, "name", type(model).__name__)))
        self._what = _asked(self._name)
        self._meter = Meter(session.account, model)
        self._context_limited = getattr(model, "context_tokens", None) is not None
        self._streamed = False
        self._leaving = False  # the next step goes on from what is stored
        self._waiting = False
        self._n = 0  # number of the answer that is asked for
        self._asked_at = 0.0
        self._held_s = 0.0

    @once
    def _pruner(self) -> Pruner:
        return Pruner(self._session, self._work, self._meter, self._name)

    async def ask(self) -> Trouble | None:
        """Get the model's next message; the trouble it is, where there is none."""
        session, services = self._session, self._session.services
        if self._context_limited:
            too_large = self._pruner.ahead()
            if too_large is not None:
                return await self._pruner.prune(too_large)
        if session.account.is_capped:
            self._tell_soft_limits()
        self._leaving = False
        self._held_s = 0.0
        started, attempt = services.clock.now(), 1
        if session.state.waits and (waited := session.state.waits.get(MODEL)) is not None:
            started, attempt = started - waited.elapsed_s, waited.number + 1
        last: Failure | None = None
        while True:
            # A slot that holds a function is taken for a method by that checker, and by no other.
            ticket = services.upstreams.enter(
                self._name,
                session,  # pyright: ignore[reportArgumentType]
                services.roll(),
                repeat=attempt > 1,
            )
            if not isinstance(ticket, Ticket):
                entered = await self._enter_later(ticket, attempt, started, last)
                if not isinstance(entered, Ticket):
                    return entered
                ticket = entered
                started += ticket.waited_s
            try:
                answer = await self._attempt(attempt, ticket)
            finally:
                services.upstreams.ended(ticket, services.clock.now())
            if isinstance(answer, ModelReply):
                self._take(answer)
                return None
            if not isinstance(answer, Failure):
                return answer
            trouble = await self._failed(answer, attempt, started)
            if trouble is not None or session.cut is not None or self._leaving or self._waiting:
                return trouble
            attempt += 1
            last = answer

    async def _enter_later(
        self, answer: Wait | Full, attempt: int, started: float, last: Failure | None
    ) -> Ticket | Trouble | None:
        """Wait until the model may be asked; None if the session was cut off meanwhile."""
        session, clock = self._session, self._session.services.clock
        policy = session.services.policies.of(session.installed.name)
        asked_at = clock.now()
        entered = await enter_later(
            session,
            self._work,
            self._name,
            answer,
            subject=f"model {self._name}",
            repeat=attempt > 1,
            since=started,
            time_budget_s=policy.transient.time_budget_s,
        )
        self._held_s += held_since(asked_at, clock.now())
        if not isinstance(entered, Held):
            return entered
        directive = HandOver("blocked", entered.detail)
        return self._trouble(directive, last, attempt - 1, clock.now() - started)

    def note(self, text: str, *, about: str) -> None:
        """Tell the model something, from the runtime."""
        session = self._session
        session.journal.ride(Noted(session.journal.take_n(), text, about))

    # ------------------------------------------------------------ budget

    def _tell_soft_limits(self) -> None:
        session = self._session
        share = session.services.policies.current.budget.soft_share
        for limit in session.account.crossed(share):
            session.emit(
                BudgetSoft(
                    session_id=session.id,
                    at_ms=session.now_ms(),
                    limit=limit.limit,
                    account=limit.account,
                    used=limit.used,
                    cap=limit.cap,
                )
            )
            about = f"budget:{limit.account}:{limit.limit}"
            if about not in session.state.notes:
                self.note(f"{limit}. Finish up: bring the task to an end now.", about=about)

    # ------------------------------------------------------------ one attempt

    async def _attempt(self, attempt: int, ticket: Ticket) -> ModelReply | Failure | Trouble | None:
        """Make one attempt: the answer, the failure to decide on, or the end; None: cut off."""
        session, meter, first = self._session, self._meter, attempt == 1
        if not session.owned:
            await session.ensure_owned()
        prompt = session.state.conversation.tokens
        reserved = meter.reserve(prompt, meter.output_max, first=first)
        if isinstance(reserved, Refusal):
            return over_budget(reserved, "ask the model")
        if not self._n or session.journal.next_n != self._n + 1:
            # Before the answer is there: what is said from now on comes behind it.
            self._n = session.journal.take_n()
        request = self._request(attempt)
        session.emit(ModelAsked(session_id=session.id, at_ms=session.now_ms(), attempt=attempt))
        self._asked_at = session.services.clock.now()
        usage = NOTHING
        session.active.enter(self._asked_at)
        try:
            complete = session.installed.model.complete
            reply = checked(await self._work.run(complete, request, what=self._what), self._name)
            usage = meter.consumed(reply, prompt)
        except CutOff:
            return None  # the life settles it
        except Superseded:
            raise
        except Exception as error:  # noqa: BLE001 - the boundary: whatever a client raises
            usage = consumed_by(error)
            failure = cleaned(
                session.services.classify(error, traits=MODEL_TRAITS), session.services.mask
            )
            ticket.verdict = verdict_of(failure)
            return failure
        finally:
            session.active.leave()
            usage = meter.settle(reserved, usage, first=first)
        ticket.verdict = "up"
        return reply if usage is reply.usage else msgspec.structs.replace(reply, usage=usage)

    def _request(self, attempt: int) -> ModelRequest:
        session = self._session
        self._streamed = False
        return ModelRequest(
            session_id=session.id,
            instructions=session.installed.agent.instructions,
            messages=session.state.conversation,
            tools=session.installed.schemas,
            output_tokens_max=self._meter.answer_max,
            on_piece=self._piece if session.channel.watched else None,
            attempt=attempt,
        )

    def _piece(self, text: str) -> None:
        session = self._session
        self._streamed = True
        session.emit(ModelPiece(session_id=session.id, at_ms=session.now_ms(), text=text))

    # ------------------------------------------------------------ the answer, or not

    def _take(self, reply: ModelReply) -> None:
        session, n, self._n = self._session, self._n, 0
        calls = reply.calls
        answered = Answered(
            n,
            reply.text,
            calls,
            reply.finish,
            reply.usage,
            self._name,
            reply.raw,
            reply.raw_format,
            ledger=True,
            held_s=self._held_s,
        )
        session.journal.ride(answered)
        session.emit(
            ModelAnswered(
                session_id=session.id,
                at_ms=session.now_ms(),
                n=n,
                text=reply.text,
                calls=(calls[0].name,) if len(calls) == 1 else tuple([each.name for each in calls]),
            )
        )

    async def _failed(self, failure: Failure, attempt: int, started: float) -> Trouble | None:
        """Decide on a failed attempt; None once it is time for the next."""
        session = self._session
        services = session.services
        if self._streamed:
            session.emit(
                ModelSuperseded(session_id=session.id, at_ms=session.now_ms(), attempt=attempt)
            )
        elapsed_s = services.clock.now() - started
        history = History(
            attempts=attempt,
            elapsed_s=elapsed_s,
            conclusions=session.state.conclusions.get(failure.error_class, 0),
            prunes=session.state.prunes,
        )
        policy = services.policies.of(session.installed.name)
        directive = decide(failure, MODEL_TRAITS, history, policy, services.roll())
        entry = msgspec.structs.replace(
            retried(self._n, -1, attempt, failure, directive, elapsed_s=elapsed_s),
            upstream=self._name,
            marks=("read", "safe"),
            took_s=services.clock.now() - self._asked_at,
        )
        if isinstance(directive, Retry):
            due_at_ms = services.steady.after_ms(directive.delay_s)
            session.journal.append(msgspec.structs.replace(entry, due_at_ms=due_at_ms))
        else:
            session.journal.ride(entry)
        match directive:
            case Retry(delay_s):
                await self._wait(failure, attempt, delay_s, elapsed_s)
                return None
            case Conclude():
                self._tell_refusal(failure)
                self._leaving = True
                return None
            case Prune():
                self._leaving = True
                return await self._pruner.prune(directive, failure)
            case HandOver():
                return self._trouble(directive, failure, attempt, elapsed_s)
            case Correct() | PassThrough():
                raise AssertionError("only calls of tools are amended or passed over")
            case _:
                assert_never(directive)

    def refused(self, text: str) -> Trouble | None:
        """Decide on a refusal that came as the last answer; None: the model was told, go on.

        It goes the way of a refusal that came as an error: the model may report once.
        """
        session = self._session
        failure = cleaned(refusal_of(text), session.services.mask)
        policy = session.services.policies.of(session.installed.name)
        conclusions = session.state.conclusions.get(failure.error_class, 0)
        directive = decide(failure, MODEL_TRAITS, History(conclusions=conclusions), policy, 0.0)
        n = session.journal.next_n - 1
        session.journal.ride(retried(n, -1, 1, failure, directive, elapsed_s=0.0))
        if isinstance(directive, HandOver):
            return self._trouble(directive, failure, 1, 0.0)
        self._tell_refusal(failure)
        return None

    def _tell_refusal(self, failure: Failure) -> None:
        self.note(refused_request(failure), about=f"{CONCLUDE}{failure.error_class}")

    def _trouble(
        self, directive: HandOver, failure: Failure | None, attempts: int, elapsed_s: float
    ) -> Trouble:
        return Trouble(
            reason=directive.reason,
            detail=directive.detail,
            step="ask the model",
            input=f"{len(self._session.state.conversation)} messages to {self._name}",
            failure=failure,
            tried=(f"{attempts} attempts over {elapsed_s:.1f} s",) if attempts > 1 else (),
            alert=alert_of(directive, f"model {self._name}"),
        )

    async def _wait(self, failure: Failure, attempt: int, delay_s: float, elapsed_s: float) -> None:
        session = self._session
        session.emit(
            RetryScheduled(
                session_id=session.id,
                at_ms=session.now_ms(),
                subject=f"model {self._name}",
                number=attempt,
                error_class=failure.error_class.value,
                wait_s=delay_s,
                elapsed_s=elapsed_s,
            )
        )
        self._waiting = parks(session, delay_s)
        if not self._waiting:
            await pause(self._work, delay_s)

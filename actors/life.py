"""One life of a session's actor: it takes steps until there is nothing to do, or it is cut off.

A life begins where the stored state says, whoever began it: a new message, a restart by the
supervisor, another process. It ends normally at every outcome; a fault in here, or a store that
fails, ends it abnormally, and the supervisor decides.
"""

from functools import partial
from typing import TYPE_CHECKING, assert_never

import msgspec

from ..stores.base import Fenced
from ..stores.records import Woken
from ..supervisor import Context, Timer
from .approvals.approving import Approving
from .asking import Asking
from .audit.plain_answers import is_plain
from .calling import Calling
from .events import AlertRaised
from .guarding.guard_calls import scope_rests
from .handover.dossier import Trouble, concluded, trouble_from_data
from .model import UserMessage
from .once import once
from .outcome import Completed, Outcome, Stopped, outcome_from_data
from .parking import park, parks
from .planning import Planning
from .rollback.rolling import Rolling
from .session import Session
from .state import UNFINISHED
from .steps import (
    AskModel,
    AwaitDecision,
    FallBack,
    Finish,
    GiveUp,
    Rest,
    RollBack,
    RunAgain,
    RunCall,
    Step,
    Stop,
    Unwind,
    WaitUntil,
    next_step,
)
from .unanswered import Unanswered
from .work import Cut, CutOff, Superseded, Work, pause

if TYPE_CHECKING:
    from .audit.auditing import Auditing
    from .undo.unwinding import Unwinder


class Life:
    """Takes the turns of one session until its outcome."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._work = Work(session.services.timers, session.give_up, session.services.scope)
        self._asking = Asking(session, self._work)
        self._planning = Planning(session)
        self._deadline: Timer | None = None

    # What few steps need is made when one does: a session that waits for its model holds none of it.

    @once
    def _approving(self) -> Approving:
        return Approving(self._session, self._work)

    @once
    def _calling(self) -> Calling:
        calling = Calling(self._session, self._work, self._approving)
        calling.begin()
        return calling

    # Loaded then too (see warming.py).

    @once
    def _unwinder(self) -> "Unwinder":
        from .undo.unwinding import Unwinder

        return Unwinder(self._session)

    @once
    def _rolling(self) -> Rolling:
        return Rolling(self._session, self._calling.settle_open)

    @once
    def _unanswered(self) -> Unanswered:
        return Unanswered(self._asking, self._session.installed.toolbox)

    @once
    def _auditing(self) -> "Auditing":
        from .audit.auditing import Auditing

        return Auditing(self._session, self._work)

    async def run(self, ctx: Context[object]) -> None:
        """Live; returns once the session has reached an outcome."""
        session = self._session
        session.work = self._work
        if session.cut is not None:
            self._work.cut_off(session.cut)
        session.start_clock()
        self._arm_deadline()
        try:
            with self._work:
                await self._leave(await self._lived())
        except Fenced as error:
            # Another process drives the session now; nothing of it may happen here any more.
            session.lose(error)
        except Superseded:
            return  # given up: the session goes on without this life
        finally:
            self._disarm_deadline()
            if session.work is self._work:
                session.work = None
                session.stop_clock()

    async def _leave(self, outcome: Outcome | WaitUntil | AwaitDecision) -> None:
        """Store how the session ends, or what it waits for."""
        session = self._session
        if isinstance(outcome, (WaitUntil, AwaitDecision)):
            await park(session, outcome.due_at_ms)
            return
        if session.undoes_before(outcome):
            outcome = await self._unwinder.before_end(outcome)
        await session.end(outcome).wait()
        session.announce(outcome)

    async def settle(self, why: str) -> None:
        """Answer every open call without running anything."""
        await self._calling.settle_open(why)

    async def unwind(self, outcome: Outcome) -> Outcome:
        """Undo what is to be undone before the session ends so; see `Unwinder.before_end`."""
        if not self._session.undoes_before(outcome):
            return outcome
        return await self._unwinder.before_end(outcome)

    def _arm_deadline(self) -> None:
        session = self._session
        if not session.account.limits("seconds"):
            return
        session.book_time()
        left_s = session.account.left("seconds")
        if left_s <= 0:
            self._out_of_time()
            return
        self._deadline = session.services.timers.after(left_s, self._out_of_time)

    def _disarm_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _out_of_time(self) -> None:
        session = self._session
        session.book_time()  # or the limit would be told without the seconds of this turn
        session.cut_off(Cut("budget", session.account.tightest("seconds")))

    async def _lived(self) -> Outcome | WaitUntil | AwaitDecision:
        """Take steps until an outcome, or a long wait, ends the life."""
        session = self._session
        came: Outcome | WaitUntil | AwaitDecision | Trouble | None
        while True:
            if session.cut is not None and self._obeys(session.cut):
                return await self._settle_cut(session.cut)
            step = next_step(session.state)
            # The two that nearly every step is come first.
            if type(step) is AskModel and not session.installed.is_guard:
                came = self._planning.look() or await self._asking.ask()
            elif type(step) is RunCall:
                found = session.state.trouble
                came = await self._calling.run(step)
                if found is not None and came is not None:
                    # What an earlier life found beside these calls stays the reason to give up.
                    came = trouble_from_data(found)
            else:
                came = await self._turn(step)
            if came is None:
                continue
            if isinstance(came, Trouble):
                came = await self._in_trouble(came)
            if came is not None:
                return came

    async def _turn(self, step: Step) -> Outcome | WaitUntil | AwaitDecision | Trouble | None:
        """Take one of the steps that turn the course of a session."""
        match step:
            case Finish():  # the one that most sessions come to
                return await self._finish(step)
            case AskModel():
                return self._calls_over()  # a scope's: there is no model
            case RunCall():
                return await self._calling.run(step)
            case RunAgain():
                return await self._calling.run_again(step)
            case Unwind():
                return await self._unwind(step)
            case RollBack(entry):
                await self._rolling.take(entry)
                return None
            case WaitUntil():
                return await self._wait(step)
            case AwaitDecision():
                return await self._await_decision(step)
            case GiveUp():
                return trouble_from_data(step.trouble)
            case Stop():
                await self._calling.settle_open("the session ends, since a call was denied")
                return Stopped("denied")
            case FallBack():
                return await self._fall_back(step)
            case Rest():
                # Taken over by somebody who died before he said anything: as it was.
                return self._as_it_was()
            case _:
                assert_never(step)

    async def _in_trouble(self, trouble: Trouble) -> Outcome | None:
        """Find a way out of it, where the plan has one; else hand the session over."""
        session = self._session
        way = self._planning.way_out(trouble)
        if way is not None:
            await self._calling.settle_open("the plan was given up")
            await self._planning.take(way, trouble)
            return None
        session.ending = not trouble.inherited
        await self._calling.settle_open("the session is handed over to a person")
        if trouble.inherited and isinstance(session.state.conversation.last, UserMessage):
            # The user has spoken since the call was cut off; the question stays open beside it.
            return None
        self._raise_alert(trouble)
        return session.handed_over(trouble)

    def _obeys(self, cut: Cut) -> bool:
        """Whether a cut ends the session now: not in the middle of what must be whole, and a spent
        budget is no news to a session that had ended before."""
        state = self._session.state
        if state.rolling is not None or state.unwound.running is not None:
            return False
        return cut.kind != "budget" or state.status in UNFINISHED

    def _calls_over(self) -> Outcome:
        """Every call of a scope has its result: it rests until its program calls again."""
        rests = scope_rests(self._session.state)
        self._session.ending = True
        return self._session.handed_over(rests) if isinstance(rests, Trouble) else rests

    async def _unwind(self, step: Unwind) -> Outcome | None:
        """Undo what is left to be undone, whatever else there is; then the session ends, or goes on."""
        if step.outcome is not None:
            return outcome_from_data(step.outcome)
        await self._unwinder.go_on()
        return None

    async def _wait(self, step: WaitUntil) -> WaitUntil | None:
        """Wait for what an earlier life began to wait for, here or in the store."""
        session = self._session
        left_s = session.services.steady.left_s(step.due_at_ms)
        if parks(session, left_s):
            return step
        if left_s > 0:
            await pause(self._work, left_s)
        if session.cut is None:
            session.journal.ride(Woken(step.due_at_ms))
        return None

    async def _await_decision(self, step: AwaitDecision) -> AwaitDecision | None:
        """Wait for a person; that time is not the agent's, so no deadline runs meanwhile."""
        self._disarm_deadline()
        waiting = await self._approving.wait(step)
        if waiting is None:
            self._arm_deadline()
        return waiting

    async def _fall_back(self, step: FallBack) -> Outcome | None:
        """Wait for the agent that took the task over; its sub-session is found, or started."""
        session = self._session
        child = f"{session.id}.{step.n}"
        task = self._planning.fallback_task(step)
        try:
            outcome = await self._work.run(
                partial(session.services.subsession, session.id, child, step.agent, task, None),
                what=f"fallback {step.agent}",
            )
        except CutOff:
            return None  # settled at the next step
        ended = self._planning.fallback_ended(step, outcome)
        if session.state.fallback is None:
            # The user has spoken meanwhile: the session goes on with that, and knows of this.
            text = ended.answer if isinstance(ended, Completed) else "; ".join(ended.tried)
            self._asking.note(f"The agent {step.agent} had the task: {text}", about="fallback")
            return None
        session.ending = True
        return session.handed_over(ended) if isinstance(ended, Trouble) else ended

    def _raise_alert(self, trouble: Trouble) -> None:
        """Say that somebody has to mend something, once for all sessions that meet it."""
        session, alert = self._session, trouble.alert
        if alert is None:
            return
        failure = trouble.failure
        said = f": {failure.message[:200]}" if failure and failure.message else ""
        text = f"{alert.about}: {trouble.detail}{said} (first met by session {session.id})"
        if session.services.alerts.due(
            f"{trouble.reason} {alert.about}", text, alert.every_s, session.id
        ):
            session.emit(AlertRaised(session_id=session.id, at_ms=session.now_ms(), text=text))

    def _as_it_was(self) -> Outcome:
        outcome = self._session.state.outcome
        return Stopped("cancelled") if outcome is None else outcome_from_data(outcome)

    async def _settle_cut(self, cut: Cut) -> Outcome:
        """Answer what is open and say how the session ends."""
        match cut.kind:
            case "budget":
                limit = cut.limit or self._session.account.tightest("seconds")
                await self._calling.settle_open(f"{limit}")
                return self._session.handed_over(self._calling.over(limit))
            case _:
                await self._calling.settle_open("the session was cancelled")
                return Stopped("cancelled")

    async def _finish(self, step: Finish) -> Outcome | Trouble | None:
        if step.finish == "refused":
            trouble = self._asking.refused(step.text)
            return None if trouble is None else self._session.handed_over(trouble)
        concluding = self._session.state.concluding
        # A conclusion is handed over as it is, be it empty; half of one is asked for again.
        if step.finish == "length" or not concluding:
            missing = self._unanswered.look(step)
            if missing is not None:
                return missing if isinstance(missing, Trouble) else None
        if concluding:
            findings = await self._auditing.findings(step.text)
            if findings is None:
                return None
            trouble = concluded(self._session.state, step.text)
            return self._session.handed_over(msgspec.structs.replace(trouble, findings=findings))
        if is_plain(step.text, self._session.state):
            return Completed(step.text)
        judged = await self._auditing.judge(step)
        if not isinstance(judged, Trouble):
            return judged
        self._session.ending = True
        self._raise_alert(judged)
        return self._session.handed_over(judged)

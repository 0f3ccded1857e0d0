"""A session runs the calls of one assistant message.

The order is fixed: check, budget, intent (writes), body, result. An intent is durable before its
body starts; a result is durable before the model is asked again. What was cut off between the two
is in doubt, and a tool not marked safe never runs a second time to find out.
"""

from collections.abc import Iterable, Sequence

import anyio
import msgspec

from ..stores.records import Noted, Requested, Resulted, ToolCall
from .approvals.approvals import Approval
from .approvals.approving import Approving
from .budget import STEPS, Refusal
from .conversation import Turn
from .ends import Asked, Ended, asked_in
from .events import CallFinished
from .executing import Executing, Waiting
from .handover.dossier import Trouble, over_budget, trouble_to_data
from .journal import Acknowledgement
from .ledger import CallId
from .preparing import Preparing
from .resolving import late_of, ran_again
from .session import Session
from .steps import (
    RunAgain,
    RunCall,
)
from .work import Work


class Calling:
    """Tool calls of one life of a session."""

    __slots__ = (
        "_approving",
        "_doing",
        "_executing",
        "_preparing",
        "_requests",
        "_session",
        "_trouble",
        "_work",
    )

    def __init__(self, session: Session, work: Work, approving: Approving) -> None:
        self._session = session
        self._approving = approving
        self._requests: list[Requested] = []
        self._preparing = Preparing(session)
        self._work = work
        self._executing = Executing(session, work)
        self._trouble: Trouble | None = None
        self._doing: Asked | None = None

    def begin(self) -> None:
        """A life begins, in this task."""
        self._executing.begin()

    @property
    def doing(self) -> str:
        """What was begun last, in words."""
        return "start" if self._doing is None else self._doing.step

    def over(self, limit: Refusal) -> Trouble:
        """Return the trouble of a budget that was spent while the last call ran."""
        if self._doing is None:
            return over_budget(limit, self.doing)
        arguments = self._session.services.mask(self._doing.call.arguments)
        return over_budget(limit, self.doing, arguments)

    async def run(self, step: RunCall) -> Trouble | None:
        """Run the next calls of the open message, side by side where their tools allow it.

        Returns the trouble that ends the session, once every result of this round is stored.
        """
        turn = self._session.state.conversation.open[0]
        refusal = self._begin_step(turn)
        if refusal is not None:
            first = turn.answered.calls[step.index]
            arguments = self._session.services.mask(first.arguments)
            return over_budget(refusal, f"begin a step: {first.name}", arguments)
        if len(turn.results) == 1:
            await self._one(turn, step.index)
            if self._requests:
                await self._ask(turn, ((step.index,),))
        else:
            await self._several(turn, step.index)
        if self._trouble is None:
            return None
        trouble, self._trouble = self._trouble, None
        return trouble

    async def _several(self, turn: Turn, first: int) -> None:
        """Run the calls of a message of several that are next."""
        waves = self._waves(turn, first)
        wave = self._missing(turn, waves[0])
        if len(wave) == 1:
            await self._one(turn, wave[0])
        else:
            with self._work.side_by_side():
                async with anyio.create_task_group() as group:
                    for index in wave:
                        group.start_soon(self._one, turn, index)
        if self._requests:
            await self._ask(turn, waves)

    async def settle_open(self, why: str) -> None:
        """Give every open call its one result without running anything.

        A call that had begun is in doubt unless repeating it does no harm; one that had not is
        answered "not started".
        """
        session = self._session
        stored = None
        for turn in tuple(session.state.conversation.open):
            n = turn.answered.n
            for index, result in enumerate(tuple(turn.results)):
                if result is None:
                    began = (n, index) in session.began
                    asked = asked_in(turn, index, session.state.approvals)
                    ended = await self._settled(asked, why, began=began)
                    stored = self._append(turn, index, ended)
        if stored is not None:
            await stored.wait()

    async def _settled(self, asked: Asked, why: str, *, began: bool) -> Ended:
        staged = self._preparing.staged(asked) if self._session.state.staging.open else None
        if staged is not None and staged.staged is not None:
            return await self._executing.settle(staged, staged.staged, why)
        return self._preparing.unrun(asked, why, began=began)

    def _begin_step(self, turn: Turn) -> Refusal | None:
        """Book the step that this message begins; once, also over a restart."""
        session = self._session
        n = turn.answered.n
        if session.stepped_n >= n:
            return None
        session.stepped_n = n
        state = session.state
        if turn.missing < len(turn.results):
            return None  # begun, and booked, in an earlier life
        if state.ledger.open or state.waits or state.approvals.calls:
            known = (*state.ledger.open, *state.waits, *state.approvals.calls)
            if any(at == n for at, _ in known):
                return None
        return session.account.take(STEPS)

    def _waves(self, turn: Turn, first: int) -> Sequence[Sequence[int]]:
        """Return the calls that run side by side with the first, and then those after them."""
        waves = self._session.installed.toolbox.waves(turn.answered.calls)
        return waves[next(at for at, wave in enumerate(waves) if first in wave) :]

    def _missing(self, turn: Turn, wave: Iterable[int]) -> list[int]:
        """Return the calls of a wave that have no result and wait for nobody."""
        n, approvals = turn.answered.n, self._session.state.approvals
        return [
            index
            for index in wave
            if turn.results[index] is None and not approvals.is_open((n, index))
        ]

    async def _ask(self, turn: Turn, waves: Sequence[Sequence[int]]) -> None:
        """Ask people, in one go, about all calls of a message that need it.

        Also about those whose turn has not come: whoever decides sees them together.
        """
        requests, self._requests = self._requests, []
        approvals = self._session.state.approvals
        for wave in waves[1:]:
            for index in self._missing(turn, wave):
                request = self._preparing.question(asked_in(turn, index, approvals))
                requests += [] if request is None else [request]
        beside = {index: tuple(wave) for wave in waves for index in wave}
        await self._approving.ask(
            [msgspec.structs.replace(each, wave=beside[each.index]) for each in requests]
        )

    async def _one(self, turn: Turn, index: int) -> None:
        """Bring one call to its result, and store it."""
        approvals, answered = self._session.state.approvals, turn.answered
        call = answered.calls[index]
        if approvals.calls:
            call = approvals.effective((answered.n, index), call)
        self._doing = asked = Asked(answered.n, index, call, answered.ledger)
        prepared = self._preparing.prepare(asked)
        if isinstance(prepared, Requested):
            self._requests.append(prepared)
            return
        changed = approvals.calls.get(asked.id) if approvals.calls else None
        if isinstance(prepared, Ended):
            ended = prepared
        else:
            came = await self._executing.execute(prepared)
            if isinstance(came, Waiting):
                self._waits(asked.id)
                return
            ended = came
        note = ""
        if changed is not None and not self._session.installed.is_guard:
            note = _said_of_changes(changed)
        await self._append(turn, index, ended, note).wait()
        if ended.trouble is not None and self._trouble is None:
            self._trouble = ended.trouble

    def _waits(self, call: CallId) -> None:
        """A call waits in the store for its next attempt: nothing of it runs here."""
        self._session.began.pop(call, None)
        self._session.intended.pop(call, None)

    async def run_again(self, step: RunAgain) -> Trouble | None:
        """Run a call once more that a person has allowed; its one result stays as it is.

        How it ended goes to the ledger, and to the model in a note.
        """
        session, call = self._session, step.call
        entry = session.state.ledger.again[call]
        self._doing = Asked(*call, ToolCall("", entry.tool, entry.arguments))
        prepared = self._preparing.again(call, entry)
        ended = prepared if isinstance(prepared, Ended) else await self._executing.execute(prepared)
        self._waits(call)
        if not isinstance(ended, Ended):
            return None
        late = late_of(call, ended)
        self._tell(call, entry.tool, ended)
        noted = Noted(
            session.journal.take_n(),
            ran_again(call, entry.tool, late),
            f"again {call[0]}.{call[1]}",
        )
        await session.journal.append(late, noted, session.booked(), blobs=ended.blobs).wait()
        return ended.trouble

    def _append(self, turn: Turn, index: int, ended: Ended, note: str = "") -> Acknowledgement:
        """Store a result: the tool message, the ledger's result and the checkpoint in one."""
        session = self._session
        n = turn.answered.n
        call = n, index
        session.began.pop(call, None)
        if session.intended:
            session.intended.pop(call, None)
        result = Resulted(
            n,
            index,
            session.journal.take_counter(),
            ended.content,
            ended.state,
            ended.error_class,
            ended.attempts,
            ended.elapsed_s,
            ended.blob,
            ended.value_type,
            ended.digest,
            ended.replayed,
            ended.still_running,
            spent=session.spent(),
            closes=ended.closes,
            by=ended.by,
            stops=ended.stops,
            windows=ended.windows,
            no_snapshot=ended.no_snapshot,
            trouble=None if ended.trouble is None else trouble_to_data(ended.trouble),
            held_s=ended.held_s,
            note=note,
        )
        self._tell(call, turn.answered.calls[index].name, ended)
        facts = session.facts_after([result]) if session.facts.requests else None
        return session.journal.append(result, blobs=ended.blobs, facts=facts)

    def _tell(self, call: CallId, tool: str, ended: Ended) -> None:
        session = self._session
        session.emit(
            CallFinished(
                session_id=session.id,
                at_ms=session.now_ms(),
                n=call[0],
                index=call[1],
                tool=tool,
                state=ended.state,
                error_class=ended.error_class,
                elapsed_s=ended.elapsed_s,
            )
        )


def _said_of_changes(approval: Approval) -> str:
    """Say with what a call has run, where a person has changed what it was asked with.

    It stands beside the result: a compensation is given what the call returned, and nothing more.
    """
    if approval.arguments is None:
        return ""
    by = approval.by or "a person"
    return f"[run with other arguments, as {by} decided: {approval.arguments}]"

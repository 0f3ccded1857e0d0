"""A session runs the calls of one assistant message.

The order is fixed: check, budget, intent (writes), body, result. An intent is durable before its
body starts; a result is durable before the model is asked again. What was cut off between the two
is in doubt, and a tool not marked safe never runs a second time to find out.
"""

import anyio

from ..stores.records import Noted, Resulted, ToolCall
from .budget import STEPS, Refusal
from .conversation import Turn
from .dossier import Trouble, over_budget
from .ends import Asked, Ended, Prepared, asked_in
from .events import CallFinished
from .executing import Executing
from .journal import Acknowledgement
from .ledger import CallId
from .preparing import Preparing
from .resolving import late_of, ran_again
from .session import Session
from .state import RunAgain, RunCall
from .work import Work


class Calling:
    """Tool calls of one life of a session."""

    def __init__(self, session: Session, work: Work) -> None:
        self._session = session
        self._preparing = Preparing(session)
        self._executing = Executing(session, work)
        self._trouble: Trouble | None = None
        self._doing: Asked | None = None

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
        wave = self._wave(turn, step.index)
        if len(wave) == 1:
            await self._one(turn, wave[0])
        else:
            async with anyio.create_task_group() as group:
                for index in wave:
                    group.start_soon(self._one, turn, index)
        trouble, self._trouble = self._trouble, None
        return trouble

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
                    ended = self._preparing.unrun(asked_in(turn, index), why, began=began)
                    stored = self._append(turn, index, ended)
        if stored is not None:
            await stored.wait()

    def _begin_step(self, turn: Turn) -> Refusal | None:
        """Book the step that this message begins; once, also over a restart."""
        session = self._session
        if session.stepped_n >= turn.answered.n:
            return None
        session.stepped_n = turn.answered.n
        known = (*session.state.ledger.open, *session.state.waits)
        if any(turn.results) or any(n == turn.answered.n for n, _ in known):
            return None  # begun, and booked, in an earlier life
        return session.account.take(STEPS)

    def _wave(self, turn: Turn, first: int) -> list[int]:
        calls = turn.answered.calls
        if len(calls) == 1:
            return [first]
        waves = self._session.installed.toolbox.waves(calls)
        wave = next(wave for wave in waves if first in wave)
        return [index for index in wave if turn.results[index] is None]

    async def _one(self, turn: Turn, index: int) -> None:
        """Bring one call to its result, and store it."""
        self._doing = asked = asked_in(turn, index)
        ended = await self._ended(asked.id, self._preparing.prepare(asked))
        if ended is None:
            return
        await self._append(turn, index, ended).wait()
        if ended.trouble is not None and self._trouble is None:
            self._trouble = ended.trouble

    async def _ended(self, call: CallId, prepared: Prepared | Ended) -> Ended | None:
        """Run a call that may run; None where it waits in the store for its next attempt."""
        if isinstance(prepared, Ended):
            return prepared
        ended = await self._executing.execute(prepared)
        if isinstance(ended, Ended):
            return ended
        self._session.began.discard(call)
        self._session.intended.discard(call)
        return None

    async def run_again(self, step: RunAgain) -> Trouble | None:
        """Run a call once more that a person has allowed; its one result stays as it is.

        How it ended goes to the ledger, and to the model in a note.
        """
        session, call = self._session, step.call
        entry = session.state.ledger.again[call]
        self._doing = Asked(*call, ToolCall("", entry.tool, entry.arguments))
        ended = await self._ended(call, self._preparing.again(call, entry))
        if ended is None:
            return None
        late = late_of(call, ended)
        session.began.discard(call)
        session.intended.discard(call)
        self._tell(call, entry.tool, ended)
        noted = Noted(
            session.journal.take_n(),
            ran_again(call, entry.tool, late),
            f"again {call[0]}.{call[1]}",
        )
        await session.journal.append(late, noted, session.booked(), blobs=ended.blobs).wait()
        return ended.trouble

    def _append(self, turn: Turn, index: int, ended: Ended) -> Acknowledgement:
        """Store a result: the tool message, the ledger's result and the checkpoint in one."""
        session = self._session
        n = turn.answered.n
        session.began.discard((n, index))
        session.intended.discard((n, index))
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
        )
        self._tell((n, index), turn.answered.calls[index].name, ended)
        return session.journal.append(result, blobs=ended.blobs)

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

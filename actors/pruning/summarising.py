"""The session's own model writes what stands for the messages left out: one request, no second try."""

from collections.abc import Sequence
from functools import partial

from ...supervisor.breaker import verdict_of
from ...supervisor.failure import MODEL_TRAITS
from ..budget import Refusal
from ..gate import Held, enter
from ..handover.wording import encodable
from ..metering import NOTHING, Meter, consumed_by
from ..model import Message, ModelReply, ModelRequest, UserMessage
from ..replies import checked
from ..session import Session
from ..work import CutOff, Superseded, Work
from .summaries import INSTRUCTIONS, transcript

SUMMARY_TOKENS_MAX = 2_000
"""What a model's summary may have."""


class Summarising:
    """Requests for summaries of one life of a session, booked like every other.

    Args:
        name: what the model is called as an upstream.
    """

    def __init__(self, session: Session, work: Work, meter: Meter, name: str) -> None:
        self._session = session
        self._work = work
        self._meter = meter
        self._name = name

    async def sum_up(
        self, left_out: Sequence[Message], earlier: str, *, limit: int, tokens_per_char: float
    ) -> str | None:
        """Return the model's summary; None where it gives none, or the session was cut off.

        Args:
            earlier: what an earlier summary said.
            limit: characters of the request at most.
        """
        session = self._session
        text = transcript(left_out, earlier, limit)
        output_max = min(self._meter.output_max, SUMMARY_TOKENS_MAX)
        ticket = await enter(
            session,
            self._work,
            self._name,
            subject=f"model {self._name}",
            repeat=False,
            since=session.services.clock.now(),
            time_budget_s=0.0,
        )
        if ticket is None or isinstance(ticket, Held):
            return None
        prompt = len(text) * tokens_per_char
        reserved = self._meter.reserve(prompt, output_max, first=True)
        if isinstance(reserved, Refusal):
            return None
        request = ModelRequest(
            session_id=session.id,
            instructions=INSTRUCTIONS,
            messages=[UserMessage(text)],
            output_tokens_max=min(output_max, self._meter.answer_max or output_max),
        )
        usage = NOTHING
        with ticket:
            session.active.enter()
            try:
                reply = await self._complete(request)
                ticket.verdict = "up"
                usage = self._meter.consumed(reply, prompt)
            except (CutOff, Superseded) as over:
                if isinstance(over, Superseded):
                    raise
                return None
            except Exception as error:  # noqa: BLE001 - the boundary: whatever a client raises
                usage = consumed_by(error)
                ticket.verdict = verdict_of(session.services.classify(error, traits=MODEL_TRAITS))
                return None
            finally:
                session.active.leave()
                self._meter.settle(reserved, usage, first=True)
        return self._said(reply)

    async def _complete(self, request: ModelRequest) -> ModelReply:
        complete = partial(self._session.installed.model.complete, request)
        return checked(await self._work.run(complete, what=f"model {self._name}"), self._name)

    def _said(self, reply: ModelReply) -> str | None:
        """Return the text, cleaned; a refusal, a call or half a summary says nothing of the session."""
        text = self._session.services.mask(encodable(reply.text)).strip()
        return None if reply.finish in ("refused", "length") else text or None

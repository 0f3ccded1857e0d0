"""A second model is asked about claims that nothing supports: one request, no second try.

It is an extra. Whatever goes wrong with it leaves the claims unverified, and the session goes on.
"""

from collections.abc import Sequence
from functools import partial

from ...stores.records import Assessed, AuditFinding, ClaimVerdict, Usage
from ...supervisor.breaker import verdict_of
from ...supervisor.errors import message_of
from ...supervisor.failure import MODEL_TRAITS
from ..budget import Refusal
from ..events import AuditAssessed
from ..gate import Held, enter
from ..handover.wording import encodable
from ..metering import NOTHING, Meter, consumed_by
from ..model import Model, ModelReply, ModelRequest, UserMessage
from ..replies import checked
from ..session import Session
from ..text import exact
from ..work import CutOff, Superseded, Work
from .record import Record
from .verdicts import (
    CLAIMS_MAX,
    INSTRUCTIONS,
    SCHEMA,
    alarms,
    digest_of,
    question,
    verdicts_of,
)

OUTPUT_TOKENS_MAX = 2_000
"""What the judge's answer may have."""
TOKENS_PER_CHAR = 0.5
"""What a character of the question is taken to need at most, on average."""
ERROR_CHARS_MAX = 300


class Judging:
    """Requests to the judge of one life of a session; metered like every other.

    Args:
        judge: the model that is asked.
    """

    def __init__(self, session: Session, work: Work, judge: Model) -> None:
        self._session = session
        self._work = work
        self._judge = judge
        self._name = exact(str(getattr(judge, "name", type(judge).__name__)))
        self._meter = Meter(session.account, judge)

    async def assess(
        self, statement: str, claims: Sequence[str], record: Record
    ) -> list[AuditFinding]:
        """Return the alarms the judge raises; its answer is durable before anything follows from it.

        The same answer beside the same calls is not asked about again, after a restart either.

        Raises:
            CutOff: the session was cut off meanwhile.
        """
        session = self._session
        claims = [session.services.mask(encodable(each)) for each in claims[:CLAIMS_MAX]]
        digest = digest_of(statement, claims, record.ran)
        known = session.state.assessed
        if known is None or known.digest != digest:
            known = await self._asked(statement, claims, record, digest)
        return alarms(known.verdicts, known.model)

    async def _asked(
        self, statement: str, claims: Sequence[str], record: Record, digest: str
    ) -> Assessed:
        session = self._session
        verdicts: list[ClaimVerdict] = []
        usage, problem = Usage(), ""
        try:
            reply = await self._request(question(statement, claims, record))
            if isinstance(reply, str):
                problem = reply
            else:
                usage = reply.usage
                verdicts = [self._clean(each) for each in verdicts_of(reply, claims, record.ran)]
        except (CutOff, Superseded):
            raise
        except Exception as error:  # noqa: BLE001 - the boundary: whatever a client raises
            problem = f"{type(error).__name__}: {message_of(error)}"
        problem = encodable(session.services.mask(problem))[:ERROR_CHARS_MAX]
        n = session.journal.take_n()
        entry = Assessed(n, digest, tuple(verdicts), self._name, usage, problem)
        await session.journal.append(entry, session.booked()).wait()
        session.emit(
            AuditAssessed(
                session_id=session.id,
                at_ms=session.now_ms(),
                verdicts=tuple(f"{each.verdict}: {each.claim}" for each in verdicts),
                problem=problem,
            )
        )
        return entry

    def _clean(self, each: ClaimVerdict) -> ClaimVerdict:
        mask = self._session.services.mask
        return ClaimVerdict(each.claim, each.verdict, encodable(mask(each.why)), each.call)

    async def _request(self, text: str) -> ModelReply | str:
        """Ask once; a text says why it was not asked."""
        session = self._session
        text = encodable(session.services.mask(text))
        ticket = await enter(
            session,
            self._work,
            self._name,
            subject=f"judge {self._name}",
            repeat=False,
            since=session.services.clock.now(),
            time_budget_s=0.0,
        )
        if ticket is None:
            assert self._work.cut is not None
            raise CutOff(self._work.cut)
        if isinstance(ticket, Held):
            return ticket.detail
        output_max = min(self._meter.output_max, OUTPUT_TOKENS_MAX)
        with ticket:
            prompt = len(text) * TOKENS_PER_CHAR
            reserved = self._meter.reserve(prompt, output_max, first=True)
            if isinstance(reserved, Refusal):
                return f"{reserved}"
            request = ModelRequest(
                session_id=session.id,
                instructions=INSTRUCTIONS,
                messages=[UserMessage(text)],
                tools=(SCHEMA,),
                output_tokens_max=min(output_max, self._meter.answer_max or output_max),
            )
            usage = NOTHING
            session.active.enter()
            try:
                reply = await self._complete(request)
                ticket.verdict = "up"
                usage = self._meter.consumed(reply, prompt)
            except (CutOff, Superseded):
                raise
            except Exception as error:
                usage = consumed_by(error)
                ticket.verdict = verdict_of(session.services.classify(error, traits=MODEL_TRAITS))
                raise
            finally:
                session.active.leave()
                self._meter.settle(reserved, usage, first=True)
        return reply

    async def _complete(self, request: ModelRequest) -> ModelReply:
        limit_s = self._session.services.policies.current.audit.judge_s_max
        complete = partial(self._judge.complete, request)
        reply = await self._work.run(complete, what=f"judge {self._name}", limit_s=limit_s)
        return checked(reply, self._name)

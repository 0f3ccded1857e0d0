"""A session's conversation is made to fit: what stays is planned, what goes is summed up, stored.

The originals stay in the journal. One prune is one entry; whoever resumes the session sees the same.
"""

from collections.abc import Sequence
from typing import Literal

import msgspec

from ...stores.records import Pruned
from ...supervisor.decide import Prune
from ...supervisor.failure import Failure
from ...supervisor.policy_failures import OverflowPolicy
from ..events import ConversationPruned
from ..handover.dossier import Alert, Trouble
from ..metering import Meter
from ..model import Message, NoteMessage
from ..session import Session
from ..work import Work
from .pruning import CannotFit, Fits, Plan, Pruning, plan_cut, plan_prune
from .room import TIGHT_SHARE, Measured, ahead, input_max, room_for
from .summaries import (
    Counts,
    Gathered,
    Lines,
    counted,
    digest_text,
    facts_of,
    model_text,
    said_in,
)
from .summarising import Summarising

Why = Literal["overflow", "limit", "person"]
"""Why a conversation is pruned: its model refused it, would have, or somebody wants it."""

TRANSCRIPT_SHARE = 0.6
"""The share of what fits into the model that a transcript to be summed up takes at most."""


class Pruner:
    """Prunes the conversation of one life of a session.

    Args:
        work: what the model's summaries run in.
        name: what the model is called as an upstream.
    """

    def __init__(self, session: Session, work: Work, meter: Meter, name: str) -> None:
        self._session = session
        self._meter = meter
        self._name = name
        self._summarising = Summarising(session, work, meter, name)
        self._gathered = Gathered(session.installed.toolbox.reads)
        self._context: int | None = getattr(session.installed.model, "context_tokens", None)
        self._overhead: int | None = None

    @property
    def _policy(self) -> OverflowPolicy:
        session = self._session
        return session.services.policies.of(session.installed.name).context_overflow

    def _measured(self) -> Measured:
        conversation = self._session.state.conversation
        if self._overhead is None:
            agent = self._session.installed
            schemas = len(msgspec.json.encode(agent.schemas))
            self._overhead = len(agent.agent.instructions) + schemas
        tokens = conversation.tokens
        if not conversation.assistant_count:
            tokens += Measured(self._overhead, 0, 0.0).tokens_per_char * self._overhead
        return Measured(conversation.chars, self._overhead, tokens)

    def ahead(self) -> Prune | None:
        """Return the prune that the next request needs, where its model says how much it takes.

        Asked before each request: one comparison as long as there is room. Where prunes did not
        help, the model is asked all the same: it has the last word.
        """
        if self._context is None:
            return None
        state, output = self._session.state, self._meter.output_max
        counted = state.conversation.assistant_count > 0
        if counted and state.conversation.tokens <= input_max(self._context, output):
            return None
        policy = self._policy
        if state.prunes >= policy.prunes_max:
            return None
        return ahead(self._measured(), self._context, output, policy.keep_share)

    async def prune(self, directive: Prune, failure: Failure | None = None) -> Trouble | None:
        """Make the conversation fit; the trouble it is, where it cannot be made to."""
        measured = self._measured()
        room = room_for(directive, measured)
        plan = self._plan(room, directive.keep_share)
        if not isinstance(plan, Plan):
            # What fits by our measure, and not by the model's, is nothing but what goes with it.
            floor = plan.floor if isinstance(plan, CannotFit) else plan.chars
            return self._trouble(floor, measured, directive, failure)
        await self._store(plan, "limit" if failure is None else "overflow", room)
        return None

    def _plan(self, room: int, keep_share: float) -> Pruning:
        """Plan for the share that is wanted, else for as much as fits at all."""
        conversation = self._session.state.conversation
        facts = len(facts_of(self._session.state))
        plan: Pruning = CannotFit(0, room)
        for share in (keep_share, TIGHT_SHARE):
            limit = int(room * share)
            plan = plan_prune(conversation, limit, summary=conversation.summary, facts=facts)
            if not isinstance(plan, CannotFit):
                return plan
        return plan

    def _trouble(
        self, floor: int, measured: Measured, directive: Prune, failure: Failure | None
    ) -> Trouble:
        """Return the trouble of a conversation of which this much must stay, in characters."""
        per_char = measured.tokens_per_char
        needed = (floor + measured.overhead) * per_char
        limit: float | None = directive.limit
        if limit is None or directive.fits_share is None:
            limit = (room_for(directive, measured) + measured.overhead) * per_char
        takes = "takes" if limit < measured.tokens else "takes less than"
        prunes, policy = self._session.state.prunes, self._policy
        return Trouble(
            reason="context",
            detail=(
                f"context cannot be made to fit: what must stay is about {needed:,.0f} tokens, "
                f"and the model {takes} {limit:,.0f}"
            ),
            step="ask the model",
            input=f"{len(self._session.state.conversation)} messages to {self._name}",
            failure=failure,
            tried=(f"{prunes} prunes",) if prunes else (),
            alert=Alert(f"model {self._name}", policy.alert_every_s) if policy.alert else None,
        )

    async def _store(self, plan: Plan, why: Why, room: int) -> None:
        session = self._session
        left_out = left_out_by(session, plan)
        said: str | None = None
        if left_out and self._policy.summary == "model":
            said = await self._summarising.sum_up(
                left_out,
                earlier_summary(session),
                limit=int(room * TRANSCRIPT_SHARE),
                tokens_per_char=self._measured().tokens_per_char,
            )
            if session.cut is not None:
                return  # the life settles it
        await store_prune(session, plan, left_out, why, self._gathered, said)


# ---------------------------------------------------------------- one prune, for whoever wants it


async def prune_session(session: Session, *, upto: int | None = None) -> Pruned | None:
    """Sum up what a session's conversation has up to a checkpoint, and store that it was done.

    The session must be driven here; what it is doing goes on. Words of the user stay where they fit,
    and so does the newest group of a call and its result, whatever the checkpoint.

    Args:
        upto: counter of the checkpoint; None: everything but the newest group.

    Returns:
        The entry, durable; None where nothing stands there that could be left out.

    Raises:
        StoreError: it could not be stored.
    """
    plan = preview_prune(session, upto=upto)
    if isinstance(plan, Fits):
        return None
    gathered = Gathered(session.installed.toolbox.reads)
    return await store_prune(session, plan, left_out_by(session, plan), "person", gathered)


def preview_prune(session: Session, *, upto: int | None = None) -> Plan | Fits:
    """Return what `prune_session` would do."""
    conversation = session.state.conversation
    position = len(conversation) if upto is None else conversation.end_at(upto)
    facts = len(facts_of(session.state))
    return plan_cut(conversation, position, summary=conversation.summary, facts=facts)


def left_out_by(session: Session, plan: Plan) -> list[Message]:
    """Return the messages that a plan takes out of the view."""
    conversation = session.state.conversation
    stays = {*plan.kept, conversation.summary}
    return [conversation[at] for at in range(plan.cut) if at not in stays]


def earlier_summary(session: Session, *, by: str | None = None) -> str:
    """Return what stands for the messages left out before; empty where none were, or by another."""
    conversation = session.state.conversation
    last, at = conversation.pruned, conversation.summary
    if last is None or at is None or by not in (None, last.by):
        return ""
    message = conversation[at]
    return message.text if isinstance(message, NoteMessage) else ""


async def store_prune(
    session: Session,
    plan: Plan,
    left_out: Sequence[Message],
    why: Why,
    gathered: Gathered,
    said: str | None = None,
) -> Pruned:
    """Write a prune down, with its summary, and tell of it.

    Args:
        said: the model's summary; None: the runtime makes a digest.
    """
    conversation = session.state.conversation
    last = conversation.pruned
    counts = counted(last.calls if last else {}, left_out)
    lines = gathered.with_these(conversation, left_out)
    before, chars = len(conversation), conversation.chars
    entry = Pruned(
        session.journal.take_n(),
        plan.cut,
        plan.kept,
        _summary(session, plan, lines, counts, said) if plan.cut else "",
        "digest" if said is None else "model",
        why,
        plan.shortened,
        counts,
    )
    stored = session.journal.append(entry, session.booked())
    gathered.carry(entry, lines)
    after, chars_after = len(conversation), conversation.chars
    await stored.wait()
    session.emit(
        ConversationPruned(
            session_id=session.id,
            at_ms=session.now_ms(),
            why=why,
            by=entry.by,
            messages_before=before,
            messages=after,
            chars_before=chars,
            chars=chars_after,
        )
    )
    return entry


def _summary(session: Session, plan: Plan, lines: Lines, counts: Counts, said: str | None) -> str:
    """Return what stands for the messages left out."""
    facts, limit = facts_of(session.state), plan.summary_chars
    if said is not None:
        return model_text(said, counts, facts=facts, limit=limit)
    earlier = said_in(earlier_summary(session, by="model"))
    text = digest_text(lines, counts, facts=facts, limit=limit, earlier=earlier)
    return session.services.mask(text)

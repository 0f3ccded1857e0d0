"""What became of the demo's effects that were in doubt, repeated or undone: from journals and book alone."""

from collections.abc import Mapping, Sequence

import msgspec
from msgspec import Struct

from ..actors.effects import EffectRecord, records_of
from ..actors.inspection import entries_of
from ..stores.base import Head, Store
from ..stores.records import JournalEntry, Resulted
from .demo_errands import ERRANDS
from .demo_faults import MEETINGS
from .demo_service import Booking
from .terminal import Cell, Column, Terminal, plural, table


class Effect(Struct, frozen=True, kw_only=True):
    """An effect as the journal has it: what was called, who says how it stands, how often it ran.

    ``asked``: its doubt was put to a person.
    """

    session: str
    tool: str
    order: str
    state: str
    by: str = ""
    keyed: bool = False
    attempts: int = 1
    asked: bool = False

    @property
    def plain(self) -> bool:
        """Whether its own first answer said it all."""
        again = self.keyed and self.attempts > 1
        return self.state in ("succeeded", "failed") and not (self.by or again or self.asked)


def effects_in(session: str, entries: Sequence[JournalEntry]) -> list[Effect]:
    """Return the effects of one session, in the order in which they were begun."""
    asked = {
        (each.n, each.index)
        for each in entries
        if isinstance(each, Resulted) and each.state == "in_doubt"
    }
    return [_effect(session, each, each.call in asked) for each in records_of(entries)]


def _effect(session: str, record: EffectRecord, asked: bool) -> Effect:
    return Effect(
        session=session,
        tool=record.tool,
        order=str(msgspec.json.decode(record.arguments).get("order", "")),
        state=record.state,
        by=record.by,
        keyed=record.key is not None,
        attempts=record.attempts,
        asked=asked,
    )


async def all_effects(store: Store, heads: Sequence[Head]) -> list[Effect]:
    """Return the effects of all these sessions, from what is stored of them."""
    found: list[Effect] = []
    for head in heads:
        if head.damaged is None:
            stored = await store.load(head.session_id)
            found += effects_in(head.session_id, entries_of(stored))
    return found


def in_doubt_asked(effects: Sequence[Effect]) -> int:
    """Return how many questions went to a person."""
    return sum(each.asked for each in effects)


def unsettled(effects: Sequence[Effect]) -> list[str]:
    """Return the orders of which nobody has said in the end whether they took effect.

    Without that of the fault nobody recognises: its session stays with a person.
    """
    open_faults = {each.session for each in MEETINGS if not each.overcome}
    doubts = [each for each in effects if each.state in ("in_doubt", "running")]
    return [each.order for each in doubts if each.session not in open_faults]


def compensated(effects: Sequence[Effect]) -> int:
    """Return how many effects were undone."""
    return sum(each.state == "compensated" for each in effects)


def not_settled_as_expected(effects: Sequence[Effect]) -> list[str]:
    """Return the errands whose first order was not settled by whom it should be, or not undone."""
    first: Mapping[str, Effect] = {each.order: each for each in reversed(effects)}
    wrong: list[str] = []
    for errand in ERRANDS:
        effect = first.get(errand.orders[0])
        state = "compensated" if errand.compensated else "succeeded"
        if effect is None or (effect.state, effect.by) != (state, errand.by):
            wrong.append(errand.session)
    return wrong


# ---------------------------------------------------------------- the table

COLUMNS = (
    Column("SESSION"),
    Column("CALL", gives_way=True),
    Column("SETTLED"),
    Column("BOOKED"),
)

WORDS: Mapping[str, str] = {
    "probe": "by its probe, nobody was asked",
    "person": "a person was asked, and answered",
    "late": "by its own answer, which came late",
    "record": "from the record of an equal call",
    "again": "run again, as a person allowed",
}


def effects_table(
    effects: Sequence[Effect], bookings: Sequence[Booking], terminal: Terminal
) -> str:
    """Return a line for each effect that was in doubt, repeated or undone."""
    rows = [_row(each, bookings) for each in effects if each.order and not each.plain]
    return table(COLUMNS, rows, terminal)


def _row(effect: Effect, bookings: Sequence[Booking]) -> list[Cell]:
    mine = [each for each in bookings if each.order == effect.order]
    booked = "once" if len(mine) == 1 else plural(len(mine), "time")
    cancelled = sum(each.cancelled for each in mine)
    if cancelled:
        booked += ", cancelled" if cancelled == 1 else f", cancelled {plural(cancelled, 'time')}"
    return [
        Cell(effect.session),
        Cell(f"{effect.tool} {effect.order}"),
        Cell(_settled(effect)),
        Cell(booked, None if effect.state == "in_doubt" else "green" if len(mine) == 1 else "red"),
    ]


def _settled(effect: Effect) -> str:
    if effect.state == "compensated":
        return "undone, since a later step failed"
    if effect.state == "in_doubt":
        return "not yet: it waits for a person"
    if effect.state != "succeeded":
        return effect.state.replace("_", " ")
    return WORDS.get(effect.by) or f"asked {plural(effect.attempts, 'time')} with the same key"

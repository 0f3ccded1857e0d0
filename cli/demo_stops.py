"""What was asked, rejected or caught in the demo before it did harm: from the journals alone."""

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from msgspec import Struct

from ..actors.inspection import entries_of
from ..actors.staging.records import staged_records
from ..stores.base import Head, Store
from ..stores.records import Audited, JournalEntry, Judged, Requested
from .answers import status_colour, status_words
from .demo_watched import LARGE, LEAKING, LYING
from .terminal import Cell, Column, Terminal, one_line, table

StopKind = Literal["approval", "staged", "claim"]

WHAT_MAX = 90
"""Characters of a text in the table."""


class Stop(Struct, frozen=True, kw_only=True):
    """Something that did not just happen.

    Attributes:
        kind: a call that a person was asked about, a staged change that was rejected, or an answer
            that claims what was not done.
        what: the call, the paths, the claim.
        verdict: what was decided.
        by: who says so: a person, the name of a check, the audit.
        status, reason: how the session ended.
    """

    session: str
    kind: StopKind
    what: str
    verdict: str
    by: str
    status: str
    reason: str = ""


class _Found(NamedTuple):
    kind: StopKind
    what: str
    verdict: str
    by: str


def stops_in(session: str, entries: Sequence[JournalEntry], head: Head) -> list[Stop]:
    """Return what was decided about, rejected and caught in one session."""
    found = [*_decided(entries), *_rejected(entries), *_caught(entries)]
    return [
        Stop(
            session=session,
            kind=each.kind,
            what=each.what,
            verdict=each.verdict,
            by=each.by,
            status=head.status,
            reason=head.facts.reason or "",
        )
        for each in found
    ]


def _decided(entries: Sequence[JournalEntry]) -> list[_Found]:
    """Return the calls that a person has decided about; what expired, nobody has decided."""
    asked = {
        (each.n, each.index, each.number): f"{each.tool}{each.arguments}"
        for each in entries
        if isinstance(each, Requested)
    }
    return [
        _Found("approval", asked.get((each.n, each.index, each.number), ""), each.verdict, each.by)
        for each in entries
        if isinstance(each, Judged) and each.verdict != "expired"
    ]


def _rejected(entries: Sequence[JournalEntry]) -> list[_Found]:
    return [
        _Found(
            "staged",
            f"{each.tool} {', '.join(path.path for path in each.paths)}",
            "rejected",
            each.by,
        )
        for each in staged_records(entries)
        if each.state == "rejected"
    ]


def _caught(entries: Sequence[JournalEntry]) -> list[_Found]:
    """Return the answers that the audit did not let pass; one that is only unverified passes."""
    found: list[_Found] = []
    for entry in entries:
        if isinstance(entry, Audited):
            verdict = "to be corrected" if entry.corrected else "not accepted"
            claims = [each.claim for each in entry.findings if each.kind != "unverified"]
            found += [_Found("claim", each, verdict, "audit") for each in claims[:1]]
    return found


async def all_stops(store: Store, heads: Sequence[Head]) -> list[Stop]:
    """Return what was stopped in all these sessions, from what is stored of them."""
    found: list[Stop] = []
    for head in heads:
        if head.damaged is None:
            stored = await store.load(head.session_id)
            found += stops_in(head.session_id, entries_of(stored), head)
    return found


def count_of(stops: Sequence[Stop], kind: StopKind) -> int:
    """Return how many calls were decided, changes rejected, or false answers caught."""
    return sum(each.kind == kind for each in stops)


def approved_as_expected(stops: Sequence[Stop]) -> bool:
    """Tell whether a person has approved the large order, and nobody was asked about another."""
    asked = [each for each in stops if each.kind == "approval"]
    return [(each.session, each.verdict) for each in asked] == [(LARGE.session, "approved")]


def rejected_as_expected(stops: Sequence[Stop]) -> bool:
    """Tell whether a check has rejected the file with the credential."""
    return any(each.session == LEAKING.session and each.kind == "staged" for each in stops)


def caught_as_expected(stops: Sequence[Stop]) -> bool:
    """Tell whether the false claim was caught, and nothing caught was accepted in the end."""
    caught = [each for each in stops if each.kind == "claim" and each.session == LYING.session]
    return bool(caught) and all(
        (each.status, each.reason) == ("handed_over", "mismatch") for each in caught
    )


# ---------------------------------------------------------------- the table

COLUMNS = (
    Column("SESSION"),
    Column("STOPPED", gives_way=True),
    Column("VERDICT"),
    Column("OUTCOME"),
)

WORDS: Mapping[StopKind, str] = {
    "approval": "asked about",
    "staged": "staged",
    "claim": "claimed",
}


def stops_table(stops: Sequence[Stop], terminal: Terminal) -> str:
    """Return a line for each: what it was, what was decided by whom, the outcome."""
    return table(COLUMNS, [_row(each) for each in stops], terminal)


def _row(stop: Stop) -> list[Cell]:
    outcome = status_words(stop.status) + (f" ({stop.reason})" if stop.reason else "")
    return [
        Cell(stop.session),
        Cell(f"{WORDS[stop.kind]}: {one_line(stop.what)[:WHAT_MAX]}"),
        Cell(f"{stop.verdict} by {stop.by}" if stop.by else stop.verdict),
        Cell(outcome, status_colour(stop.status)),
    ]

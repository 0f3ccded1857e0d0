"""What failed in the demo, what it was taken for and what followed: from the journals alone."""

from collections import Counter
from collections.abc import Mapping, Sequence

from msgspec import Struct

from ..actors.inspection import entries_of
from ..stores.base import Head, Store
from ..stores.records import JournalEntry, Retried
from ..supervisor.errors import ErrorClass
from .answers import status_colour, status_words
from .demo_faults import MEETINGS
from .terminal import Cell, Column, Terminal, one_line, table

UNKNOWN = ErrorClass.UNKNOWN.value
SAID_MAX = 90
"""Characters of an error's text in the table."""


class Met(Struct, frozen=True, kw_only=True):
    """A failure as the journal has it: what was said, its class, what followed, how it ended."""

    session: str
    said: str
    error_class: str
    directives: tuple[str, ...]
    status: str
    reason: str = ""


def met_in(session: str, entries: Sequence[JournalEntry], head: Head) -> list[Met]:
    """Return the failures of one session's calls, those of one class and one call together."""
    attempts: dict[tuple[int, int, str], list[Retried]] = {}
    for each in entries:
        if isinstance(each, Retried) and each.index >= 0:
            attempts.setdefault((each.n, each.index, each.error_class), []).append(each)
    return [
        Met(
            session=session,
            said=records[0].message,
            error_class=error_class,
            directives=tuple(each.directive for each in records),
            status=head.status,
            reason=head.facts.reason or "",
        )
        for (_, _, error_class), records in attempts.items()
    ]


async def all_met(store: Store, heads: Sequence[Head]) -> list[Met]:
    """Return the failures that all these sessions met, from what is stored of them."""
    found: list[Met] = []
    for head in heads:
        if head.damaged is None:
            stored = await store.load(head.session_id)
            found += met_in(head.session_id, entries_of(stored), head)
    return found


def class_counts(met: Sequence[Met]) -> dict[str, int]:
    """Return how many attempts failed with each class."""
    counts = Counter({each.value: 0 for each in ErrorClass})
    for each in met:
        counts[each.error_class] += len(each.directives)
    return {name: count for name, count in counts.items() if count}


def unknown_retried(met: Sequence[Met]) -> int:
    """Return how often an error nobody recognised was followed by a retry."""
    unknown = [each for each in met if each.error_class == UNKNOWN]
    return sum(each.directives.count("retry") for each in unknown)


def not_as_expected(met: Sequence[Met]) -> list[str]:
    """Return the sessions whose fault was not met, or taken for another class."""
    taken: Mapping[str, set[str]] = {
        meeting.session: {each.error_class for each in met if each.session == meeting.session}
        for meeting in MEETINGS
    }
    return [each.session for each in MEETINGS if taken[each.session] != {each.error_class.value}]


COLUMNS = (
    Column("SESSION"),
    Column("FAILURE", gives_way=True),
    Column("CLASS"),
    Column("DIRECTIVE"),
    Column("OUTCOME"),
)


def failures_table(met: Sequence[Met], terminal: Terminal) -> str:
    """Return a line for each failure: what was said, its class, what followed, the outcome."""
    return table(COLUMNS, [_row(each) for each in met], terminal)


def _row(met: Met) -> list[Cell]:
    outcome = status_words(met.status) + (f" ({met.reason})" if met.reason else "")
    return [
        Cell(met.session),
        Cell(one_line(met.said)[:SAID_MAX]),
        Cell(met.error_class),
        Cell(_directives(met.directives)),
        Cell(outcome, status_colour(met.status)),
    ]


def _directives(names: Sequence[str]) -> str:
    counted = Counter(name.replace("_", " ") for name in names)
    return ", then ".join(f"{name} x{n}" if n > 1 else name for name, n in counted.items())

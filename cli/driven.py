"""What became of the sessions a command drove: told to people, and as data."""

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from ..actors.approvals.approvals import ApprovalRequest
from ..actors.handle import SessionHandle
from ..actors.inspection import Inspection
from ..actors.outcome import Completed, HandedOver, Outcome, outcome_to_data
from ..stores.records import Spent
from ..supervisor.errors import UkemiError
from .answers import outcome_line, outcome_lines, status_colour, status_words
from .errors import DONE, NOT_DONE, ExitStatus
from .left import asked_lines
from .output import Output
from .steps import spent_of
from .stored import at_store
from .terminal import Cell, Column, one_line, plural, table

IDS_NAMED_MAX = 10


class Driven(Struct, kw_only=True):
    """A session this command drives, and what has become of it.

    ``found`` is None as long as nothing is known; ``asks``: what people are asked and have not
    answered; ``parked``: it waits in the store.
    """

    handle: SessionHandle
    agent: str
    outcome: Outcome | None = None
    error: UkemiError | None = None
    found: Inspection | None = None
    asks: tuple[ApprovalRequest, ...] = ()
    parked: bool = False

    @property
    def unfinished(self) -> bool:
        """Whether it has not ended, and nothing is wrong with it."""
        return self.outcome is None and self.error is None


class GoOn(Struct, frozen=True, kw_only=True):
    """What a line that goes on with sessions needs to say."""

    module: str
    store: str
    options: Mapping[str, str | None]

    def command(self, ids: Sequence[str]) -> str:
        """Return the line; too many ids are left out, which means all that is unfinished."""
        words = ["ukemi", "resume", self.module, *ids, "--store", self.store]
        for option, value in self.options.items():
            words += [option, value] if value is not None else []
        return shlex.join(words)


def exit_status(driven: Sequence[Driven]) -> ExitStatus:
    """Return 0 only where all have completed."""
    return DONE if all(isinstance(each.outcome, Completed) for each in driven) else NOT_DONE


# ---------------------------------------------------------------- how to go on


def tell_unfinished(
    out: Output, driven: Sequence[Driven], go_on: GoOn, *, interrupted: bool
) -> None:
    """Say that nothing is lost, what people are asked, and the command that goes on."""
    left = [each for each in driven if each.unfinished]
    if not left and not interrupted:
        return
    asks = [ask for each in left for ask in each.asks]
    begin = "interrupted; " if interrupted else ""
    count = f"{plural(len(left), 'session')} unfinished{_parked_words(left)}"
    said = f"{begin}{count}, all checkpoints are stored."
    if asks:
        out.note(f"{said} Decide:", "yellow")
        for line in asked_lines(asks, go_on.store):
            out.note(line, "bold")
        said = "Then go on with:"
    else:
        said = f"{said} Go on with:" if left else said
    out.note(said, "yellow")
    if left:
        out.note(go_on.command(_ids(left)), "bold")


def _parked_words(left: Sequence[Driven]) -> str:
    """Say how many of the unfinished are parked; nothing where none is."""
    parked = sum(each.parked for each in left)
    return f" ({parked} parked)" if parked else ""


def _ids(left: Sequence[Driven]) -> list[str]:
    """Return the ids to name: all, as long as that can be read, else those only an id takes up."""
    # Without ids, resume takes up all that is unfinished, but nothing that is parked.
    ids = [each.handle.id for each in left]
    return ids if len(ids) <= IDS_NAMED_MAX or any(each.parked for each in left) else []


# ---------------------------------------------------------------- how they ended


def tell_outcome(out: Output, driven: Driven, where: str) -> None:
    """Print the answer, and nothing else, on standard output; what a person needs aside."""
    at = at_store(where)
    if out.as_json:
        out.data(driven_data(driven, where))
    elif isinstance(driven.outcome, Completed):
        out.text(driven.outcome.answer)
    elif driven.outcome is not None:
        for line in outcome_lines(outcome_to_data(driven.outcome), out.aside):
            out.beside(line)
        out.note(f"ukemi show {driven.handle.id}{at} has all of it", "grey")
        if isinstance(driven.outcome, HandedOver) and driven.outcome.dossier.in_doubt:
            out.note(f"ukemi resolve {driven.handle.id} OPTION{at} settles the doubt", "grey")
    elif driven.error is not None:
        out.note(f"{driven.handle.id}: {driven.error}", "red")


def tell_all(
    out: Output, driven: Sequence[Driven], where: str, *, single: bool, nothing: str
) -> None:
    """Tell what became of them; JSON is one object only where one session was asked for by id.

    ``nothing`` is said where there are none, if it is not empty.
    """
    if out.as_json and not single:
        out.data([driven_data(each, where) for each in driven])
    elif len(driven) == 1:
        tell_outcome(out, driven[0], where)
    elif driven:
        columns = (Column("ID"), Column("AGENT"), Column("END", gives_way=True))
        out.text(table(columns, [_row(each) for each in driven], out.terminal))
    elif nothing:
        out.note(nothing)


def _row(driven: Driven) -> list[Cell]:
    if driven.outcome is not None:
        data = outcome_to_data(driven.outcome)
        end = Cell(one_line(outcome_line(data)), status_colour(str(data["outcome"])))
    elif driven.error is not None:
        end = Cell(one_line(str(driven.error)), "red")
    else:
        status = "parked" if driven.parked else "unfinished"
        asks = "; ".join(f"may {each.tool}{each.arguments} run?" for each in driven.asks)
        said = f"{status_words(status)}: {asks}" if asks else status_words(status)
        end = Cell(one_line(said), status_colour(status))
    return [Cell(driven.handle.id), Cell(driven.agent), end]


def driven_data(driven: Driven, where: str) -> dict[str, Any]:
    """Return a session as data; what is not known is null."""
    found = driven.found
    return {
        "session_id": driven.handle.id,
        "agent": driven.agent,
        "status": None if found is None else found.status,
        "outcome": None if driven.outcome is None else outcome_to_data(driven.outcome),
        "error": None if driven.error is None else str(driven.error),
        "checkpoint": None if found is None else found.checkpoint,
        # Until the first checkpoint nothing is stored of what was spent: zeros would be false.
        "spent": None if found is None or found.spent == Spent() else spent_of(found.spent),
        "asks": [_ask_data(each, at_store(where)) for each in driven.asks],
    }


def _ask_data(ask: ApprovalRequest, at: str) -> dict[str, Any]:
    data: dict[str, Any] = msgspec.to_builtins(ask)
    name = shlex.quote(ask.request)
    return {**data, "approve": f"ukemi approve {name}{at}", "deny": f"ukemi deny {name}{at}"}

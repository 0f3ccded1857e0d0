"""The effects of a session as a table: what was written outside, how each stands, and who says so."""

import msgspec

from ..actors.effects import EffectRecord, records_of
from .errors import DONE, NOT_DONE, ExitStatus
from .output import Output
from .stored import at_store, read_session, reading
from .terminal import Cell, Colour, Column, one_line, plural, table

COLUMNS = (
    Column("CALL"),
    Column("TOOL"),
    Column("STATE"),
    Column("ATTEMPTS", right=True),
    Column("SAYS", optional=True),
    Column("KEY", optional=True),
    Column("ARGUMENTS", gives_way=True),
)

COLOURS: dict[str, Colour] = {
    "succeeded": "green",
    "failed": "red",
    "in_doubt": "yellow",
    "running": "blue",
    "denied": "yellow",
    "compensated": "green",
    "compensation_failed": "red",
    "compensation_in_doubt": "yellow",
}

UNSETTLED = ("running", "in_doubt", "compensation_in_doubt")
"""States of which nobody has said anything yet."""

SAYS = {
    "": "its body",
    "late": "its body, late",
    "probe": "its probe",
    "record": "an equal call",
    "again": "a person's retry",
    "person": "a person",
}
"""Who says how a call stands."""


async def effects(
    out: Output, where: str, session_id: str, checkpoint: int | None = None
) -> ExitStatus:
    """Print the effects of a session; 1 where a part of it could not be read."""
    async with reading(where) as store:
        view = await read_session(store, session_id, checkpoint)
    found = records_of(view.entries)
    if out.as_json:
        out.data([effect_data(each) for each in found])
    else:
        rows = [effect_row(each) for each in found]
        out.text(table(COLUMNS, rows, out.terminal) if found else "no effects")
    doubts = sum(each.state == "in_doubt" for each in found)
    if doubts:
        out.note(
            f"{plural(doubts, 'call')} in doubt; settle with: "
            f"ukemi resolve {session_id} OPTION{at_store(where)}"
        )
    if view.damaged is not None:
        out.note(f"damaged: {view.damaged}")
    return DONE if view.damaged is None else NOT_DONE


def effect_data(effect: EffectRecord) -> dict[str, object]:
    """Return an effect as plain data, every field with its value."""
    return msgspec.structs.asdict(effect)


def effect_row(effect: EffectRecord) -> list[Cell]:
    """Return an effect as a row of the table."""
    words = effect.state.replace("_", " ")
    marks = [
        "replayed" if effect.replayed else "",
        "still running" if effect.still_running else "",
        f"probe: {effect.probed.replace('_', ' ')}"
        if effect.state == "in_doubt" and effect.probed
        else "",
    ]
    stands = ", ".join([words, *filter(None, marks)])
    says = "" if effect.state in UNSETTLED else SAYS.get(effect.by, effect.by)
    if effect.who:
        says = f"{says} ({effect.who})"
    return [
        Cell(f"{effect.n}.{effect.index}"),
        Cell(effect.tool),
        Cell(stands, COLOURS.get(effect.state)),
        Cell(str(effect.attempts)),
        Cell(says),
        Cell(effect.key or ""),
        Cell(one_line(effect.arguments)),
    ]

"""Rates that were published for B1, of another machine, beside those of this run. Pure."""

from typing import NamedTuple

from ..cells import table
from .figures import Results, middle, number
from .plan import AIOSQLITE, DBOS, LANGGRAPH, OPENAI, PYDANTIC, UKEMI

SESSIONS = 100
SOURCE = "with the aims, another machine of 2 shared processors"


class Published(NamedTuple):
    """What somebody measured: steps a second with `SESSIONS` sessions."""

    variant: str
    contender: str
    steps_per_s: float


RATES = (
    Published("read, normal", AIOSQLITE, 29_400),
    Published("read, full", AIOSQLITE, 21_900),
    Published("write, full", AIOSQLITE, 17_200),
    Published("read, normal", LANGGRAPH, 180),
    Published("read, normal", DBOS, 225),
    Published("read, normal", OPENAI, 136),
    Published("read, normal", PYDANTIC, 55),
)


def published_table(results: Results) -> str | None:
    """Return each published rate, this run's, and how many times either ours is; None without ours.

    Unlike all other ratios, the one against a published rate compares two machines.
    """
    rows: list[tuple[str, ...]] = []
    for one in RATES:
        ours, theirs = (
            middle(results.row("b1", one.variant, SESSIONS, who), "steps_per_s")
            for who in (UKEMI, one.contender)
        )
        if ours is not None:
            here = ("-", "-") if theirs is None else (number(theirs), number(ours / theirs))
            name = f"{one.contender}, {one.variant}"
            published = number(one.steps_per_s)
            rows.append((name, published, number(ours / one.steps_per_s), *here))
    heading = (
        f"{SESSIONS} sessions, steps/s",
        f"published {SOURCE}",
        "Ukemi here against that",
        "here",
        "Ukemi against that",
    )
    return table(heading, rows) if rows else None

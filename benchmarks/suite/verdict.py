"""What the project set out to reach, and what came out. Pure."""

from collections.abc import Callable, Iterable, Sequence
from statistics import median
from typing import NamedTuple

from . import plan
from .figures import Results, number, paired, ratios, values
from .plan import AIOSQLITE, AIOSQLITE_ROWS, DBOS, EMPTY, LANGGRAPH, OPENAI, STAMINA, UKEMI

Measured = Callable[[Results], float | None]
MANY = (100, 1_000)


class Target(NamedTuple):
    """One aim: its value must be at least, or at most, ``enough``; ``aim`` is hoped for."""

    name: str
    measured: Measured
    enough: float
    aim: float
    at_most: bool
    unit: str = ""

    def met(self, value: float, bar: float) -> bool:
        return value <= bar if self.at_most else value >= bar


def _worst(
    found: Iterable[Sequence[float]], pick: Callable[[Sequence[float]], float]
) -> float | None:
    """Return the worst of the medians of several points; None where one has no figures."""
    medians = [median(each) if each else None for each in found]
    known = [each for each in medians if each is not None]
    return pick(known) if known and len(known) == len(medians) else None


def _against_limit(variants: Sequence[str], limit: str = AIOSQLITE) -> Measured:
    def measured(results: Results) -> float | None:
        return _worst(
            (
                ratios(
                    results.row("b1", variant, sessions, UKEMI),
                    results.row("b1", variant, sessions, limit),
                    "steps_per_s",
                )
                for variant in variants
                for sessions in MANY
            ),
            min,
        )

    return measured


def _against_peer(peer: str) -> Measured:
    def measured(results: Results) -> float | None:
        return _worst(
            (
                ratios(
                    results.row("b1", f"read, {durability}", 100, UKEMI),
                    results.row("b1", f"read, {durability}", 100, peer),
                    "steps_per_s",
                )
                for durability in ("normal", "full")
            ),
            min,
        )

    return measured


def _full_against_normal(results: Results) -> float | None:
    return _worst(
        (
            ratios(
                results.row("b1", "read, full", sessions, UKEMI),
                results.row("b1", "read, normal", sessions, UKEMI),
                "steps_per_s",
            )
            for sessions in MANY
        ),
        min,
    )


def _late_against_early(results: Results) -> float | None:
    late = results.row("b2", "", 2_000, UKEMI)
    return _worst([ratios(late, results.row("b2", "", 10, UKEMI), "late_us")], max)


def _one(workload: str, variant: str, x: int, key: str, per: float = 1.0) -> Measured:
    def measured(results: Results) -> float | None:
        found = values(results.row(workload, variant, x, UKEMI), key)
        return median(found) / per if found else None

    return measured


def _resumed_against_read(results: Results) -> float | None:
    row = results.row("b4", "read", 1_000, UKEMI)
    return _worst([paired(row, row, lambda a, _: a["going_on_s"] / a["read_s"])], max)


def _duplicated(results: Results) -> float | None:
    return max(values(results.row("b4", "write", 1_000, UKEMI), "duplicated"), default=None)


def _calls_against_stamina(results: Results) -> float | None:
    return _worst(
        (
            ratios(
                results.row("b5", "", steps, UKEMI),
                results.row("b5", "", steps, STAMINA),
                "cpu_us_per_step",
            )
            for steps in (20, 200)
        ),
        max,
    )


def _calls_flat(results: Results) -> float | None:
    long, short = (results.row("b5", "", steps, UKEMI) for steps in (200, 20))
    return _worst([ratios(long, short, "cpu_us_per_step")], max)


def _parked_rss(results: Results) -> float | None:
    full, empty = (results.row("b6", "", 1_000_000, who) for who in (UKEMI, EMPTY))
    return _worst([paired(full, empty, lambda a, b: a["rss_mib"] - b["rss_mib"])], max)


TARGETS = (
    Target(
        "B1 steps/s against aiosqlite group commit, 100 and 1,000 sessions",
        _against_limit(("read, normal", "read, full")),
        0.35,
        0.6,
        at_most=False,
    ),
    Target(
        "the same against group commit with 256 rows a statement",
        _against_limit(("read, normal", "read, full"), AIOSQLITE_ROWS),
        0.35,
        0.6,
        at_most=False,
    ),
    Target("B1 against LangGraph, times", _against_peer(LANGGRAPH), 40, 100, at_most=False),
    Target("B1 against DBOS, times", _against_peer(DBOS), 25, 60, at_most=False),
    Target(
        "B1 against the OpenAI Agents SDK, times", _against_peer(OPENAI), 40, 100, at_most=False
    ),
    Target(
        "B1 with write tools against the same two writes by aiosqlite group commit",
        _against_limit(("write, full",)),
        0.35,
        0.6,
        at_most=False,
    ),
    Target("B1 FULL against NORMAL", _full_against_normal, 0.65, 0.9, at_most=False),
    Target(
        "B2 time of a step at the end of 2,000 against 10",
        _late_against_early,
        1.15,
        1.0,
        at_most=True,
    ),
    Target(
        "B2 bytes stored per byte of message, 2,000 steps",
        _one("b2", "", 2_000, "stored_per_message_byte"),
        1.6,
        1.2,
        at_most=True,
    ),
    Target(
        "B3 10,000 sessions: wall against ideal",
        _one("b3", "wait", 10_000, "wall_s", plan.TURNS * plan.TURN_S),
        1.5,
        1.1,
        at_most=True,
    ),
    Target(
        "B3 memory of a waiting session",
        _one("b3", "held", 10_000, "held_bytes_per_session", 1_024),
        20,
        10,
        at_most=True,
        unit="KiB",
    ),
    Target(
        "bytes written per record of 0.9 KB, 10,000 active among 1,000,000 parked",
        _one("b6", "disk", 1_000_000, "bytes written, 1000", 1_000),
        4,
        2,
        at_most=True,
        unit="KB",
    ),
    Target(
        "B4 1,000 sessions (reads) resumed, against reading the same rows with aiosqlite",
        _resumed_against_read,
        4,
        2,
        at_most=True,
    ),
    Target("B4 duplicated effects, all rounds", _duplicated, 0, 0, at_most=True),
    Target(
        "B5 CPU of a tool call against stamina alone", _calls_against_stamina, 3, 1, at_most=True
    ),
    Target("B5 flat: CPU of a call, 200 against 20", _calls_flat, 1.15, 1.0, at_most=True),
    Target(
        "B6 memory of 1,000,000 parked sessions above an empty runtime",
        _parked_rss,
        50,
        10,
        at_most=True,
        unit="MiB",
    ),
    Target(
        "B6 start-up with 1,000,000 parked",
        _one("b6", "", 1_000_000, "enter_ms", 1_000),
        2,
        0.3,
        at_most=True,
        unit="s",
    ),
)


def verdicts(results: Results) -> list[tuple[str, ...]]:
    """Return the rows of the table: name, at least, aim, measured, met."""
    rows: list[tuple[str, ...]] = []
    for target in TARGETS:
        sign = "≤" if target.at_most else "≥"
        unit = f" {target.unit}" if target.unit else ""
        value = target.measured(results)
        if value is None:
            found, word = "-", "not measured"
        else:
            found = f"{number(value)}{unit}"
            word = "**no**"
            if target.met(value, target.enough):
                word = "yes, and the aim" if target.met(value, target.aim) else "yes"
        rows.append(
            (target.name, f"{sign} {target.enough:g}{unit}", f"{target.aim:g}{unit}", found, word)
        )
    return rows

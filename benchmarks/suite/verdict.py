"""What the project set out to reach, and what came out. Pure."""

from collections.abc import Callable, Iterable, Sequence
from statistics import median
from typing import NamedTuple

from . import plan
from .figures import Results, number, paired, ratios, values
from .plan import AIOSQLITE, DBOS, EMPTY, LANGGRAPH, OPENAI, STAMINA, UKEMI

Measured = Callable[[Results], float | None]
MANY = (100, 1_000)
READS = ("read, normal", "read, full")
WRITES = ("write, full",)


class Target(NamedTuple):
    """One aim: its value must be at least, or at most, ``enough``; ``aim`` is hoped for.

    ``by_cpu``: the same in processor time, which says more where the machine is busy.
    """

    name: str
    measured: Measured
    enough: float
    aim: float
    at_most: bool
    unit: str = ""
    by_cpu: Measured | None = None

    def met(self, value: float, bar: float) -> bool:
        return value <= bar if self.at_most else value >= bar


def _worst(
    found: Iterable[Sequence[float]], pick: Callable[[Sequence[float]], float]
) -> float | None:
    """Return the worst of the medians of several points; None where one has no figures."""
    medians = [median(each) if each else None for each in found]
    known = [each for each in medians if each is not None]
    return pick(known) if known and len(known) == len(medians) else None


RATE, CPU = "steps_per_s", "cpu_us_per_step"


def _rates(
    results: Results, key: str, ours: tuple[str, int, str], theirs: tuple[str, int, str]
) -> list[float]:
    """Return how many times the one's rate is the other's, by wall or by CPU, round by round."""
    one, other = results.row("b1", *ours), results.row("b1", *theirs)
    return ratios(one, other, RATE) if key == RATE else ratios(other, one, CPU)


def _against_limit(variants: Sequence[str], limit: str, key: str = RATE) -> Measured:
    def measured(results: Results) -> float | None:
        places = [(variant, sessions) for variant in variants for sessions in MANY]
        return _worst(
            (
                _rates(results, key, (variant, sessions, UKEMI), (variant, sessions, limit))
                for variant, sessions in places
            ),
            min,
        )

    return measured


def _against_peer(peer: str, key: str = RATE) -> Measured:
    def measured(results: Results) -> float | None:
        return _worst(
            (
                _rates(results, key, (variant, 100, UKEMI), (variant, 100, peer))
                for variant in READS
            ),
            min,
        )

    return measured


def _full_against_normal(key: str) -> Measured:
    normal, full = READS

    def measured(results: Results) -> float | None:
        return _worst(
            (
                _rates(results, key, (full, sessions, UKEMI), (normal, sessions, UKEMI))
                for sessions in MANY
            ),
            min,
        )

    return measured


def _late_against_early(key: str) -> Measured:
    def measured(results: Results) -> float | None:
        late, early = (results.row("b2", "", steps, UKEMI) for steps in (2_000, 10))
        return _worst([ratios(late, early, key)], max)

    return measured


def _one(workload: str, variant: str, x: int, key: str, per: float = 1.0) -> Measured:
    def measured(results: Results) -> float | None:
        found = values(results.row(workload, variant, x, UKEMI), key)
        return median(found) / per if found else None

    return measured


def _resumed_against_read(resumed: str, read: str) -> Measured:
    def measured(results: Results) -> float | None:
        row = results.row("b4", "read", 1_000, UKEMI)
        return _worst([paired(row, row, lambda a, _: a[resumed] / a[read])], max)

    return measured


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
        "B1 steps/s against aiosqlite group commit by executemany, 100 and 1,000 sessions",
        _against_limit(READS, AIOSQLITE),
        0.35,
        0.6,
        at_most=False,
        by_cpu=_against_limit(READS, AIOSQLITE, CPU),
    ),
    *(
        Target(
            f"B1 against {name}, times",
            _against_peer(peer),
            enough,
            aim,
            at_most=False,
            by_cpu=_against_peer(peer, CPU),
        )
        for name, peer, enough, aim in (
            ("LangGraph", LANGGRAPH, 40, 100),
            ("DBOS", DBOS, 25, 60),
            ("the OpenAI Agents SDK", OPENAI, 40, 100),
        )
    ),
    Target(
        "B1 with write tools against the same two writes by aiosqlite group commit",
        _against_limit(WRITES, AIOSQLITE),
        0.35,
        0.6,
        at_most=False,
        by_cpu=_against_limit(WRITES, AIOSQLITE, CPU),
    ),
    Target(
        "B1 FULL against NORMAL",
        _full_against_normal(RATE),
        0.65,
        0.9,
        at_most=False,
        by_cpu=_full_against_normal(CPU),
    ),
    Target(
        "B2 time of a step at the end of 2,000 against 10",
        _late_against_early("late_us"),
        1.15,
        1.0,
        at_most=True,
        by_cpu=_late_against_early("late_cpu_us"),
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
        _resumed_against_read("going_on_s", "read_s"),
        4,
        2,
        at_most=True,
        by_cpu=_resumed_against_read("going_on_cpu_s", "read_cpu_s"),
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
    """Return the rows of the table: name, at least, aim, measured, met, by CPU."""
    return [_verdict(target, results) for target in TARGETS]


def _verdict(target: Target, results: Results) -> tuple[str, ...]:
    sign = "≤" if target.at_most else "≥"
    unit = f" {target.unit}" if target.unit else ""
    value = target.measured(results)
    if value is None:
        found, word = "-", "not measured"
    else:
        found, word = f"{number(value)}{unit}", "**no**"
        if target.met(value, target.enough):
            word = "yes, and the aim" if target.met(value, target.aim) else "yes"
    cpu = None if target.by_cpu is None else target.by_cpu(results)
    shown = "" if cpu is None else number(cpu)
    return (
        target.name,
        f"{sign} {target.enough:g}{unit}",
        f"{target.aim:g}{unit}",
        found,
        word,
        shown,
    )

"""A simulation as tables and sentences for people, and as data for programs. Pure."""

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from ..actors.simulating.learning import Learned
from ..actors.simulating.measures import DECIMALS, METRICS, quantile
from ..actors.simulating.summary import Estimate, Outlook, Report, assumed, replayed, verdict
from .sweeping import Sweep
from .terminal import Cell, Column, Terminal, amount, one_line, plural, table

LABELS = {
    "completed": "completed",
    "handed_over": "handed over",
    "seconds_p50": "seconds, p50",
    "seconds_p99": "seconds, p99",
    "calls": "calls",
    "tokens": "tokens",
    "retries": "retries",
    "wasted": "wasted calls",
    "peak_per_s": "peak per second",
    "in_doubt": "effects in doubt",
}
SHARES = frozenset({"completed", "handed_over"})
SWEPT = ("completed", "seconds_p50", "seconds_p99", "calls", "wasted", "peak_per_s", "in_doubt")
"""What a sweep shows of each value; the rest is in the JSON."""

ACROSS_MAX = 4
"""Policies that stand side by side; more of them stand one below the other."""


class Simulated(Struct, frozen=True):
    """All that is told of a simulation."""

    store: str
    known: Learned
    report: Report
    unreadable: int = 0
    sweep: Sweep | None = None


def recorded_numbers(known: Learned) -> dict[str, float | None]:
    """Return the same numbers as they are in the record; None where it does not tell."""
    traces = known.traces
    seconds = sorted(each.duration_s for each in traces if each.duration_s is not None)
    count = max(len(traces), 1)
    done = sum(each.outcome == "completed" for each in traces)
    other = sum(each.end == "stopped" or each.outcome == "unfinished" for each in traces)
    return {
        "completed": done / count,
        "handed_over": (len(traces) - done - other) / count,
        "seconds_p50": round(quantile(seconds, 0.5), DECIMALS) if seconds else None,
        "seconds_p99": round(quantile(seconds, 0.99), DECIMALS) if seconds else None,
        "calls": sum(each.calls for each in traces),
        "tokens": sum(each.tokens for each in traces),
        "retries": None,
        "wasted": sum(each.wasted for each in traces),
        "peak_per_s": None,
        "in_doubt": sum(each.in_doubt for each in traces),
    }


# ---------------------------------------------------------------- data


def simulated_data(found: Simulated) -> dict[str, Any]:
    """Return a simulation as plain data."""
    known, report = found.known, found.report
    return {
        "store": found.store,
        "sessions": len(known.traces),
        "unreadable": found.unreadable,
        "failures": known.failures,
        "faults": known.faults,
        "seeds": report.seeds,
        "seed": report.seed,
        "level": report.level,
        "outages": report.outages,
        "decisions": report.decisions,
        "sweep": None if found.sweep is None else found.sweep.key,
        "recorded": recorded_numbers(known),
        "policies": [_outlook_data(each) for each in report.outlooks],
        "replayed": replayed(known),
        "assumed": assumed(known, report.outages),
    }


def _outlook_data(outlook: Outlook) -> dict[str, Any]:
    return {
        "policy": outlook.name,
        **{name: _estimate_data(each) for name, each in outlook.estimates.items()},
        "differences": {
            name: {**_estimate_data(each), "verdict": verdict(each)}
            for name, each in outlook.differences.items()
        },
        "reasons": outlook.reasons,
        "peaks": {place: _estimate_data(each) for place, each in outlook.peaks.items()},
        "unsure": outlook.unsure,
    }


def _estimate_data(each: Estimate) -> dict[str, Any]:
    if each.cannot_say:
        return {"value": None, "low": None, "high": None, "cannot_say": each.cannot_say}
    return {"value": each.value, "low": each.low, "high": each.high, "cannot_say": None}


# ---------------------------------------------------------------- words


def simulated_lines(found: Simulated, terminal: Terminal) -> Iterator[str]:
    """Yield a simulation as lines for a person."""
    report, known = found.report, found.known
    of = f"{plural(len(known.traces), 'session')}, {plural(known.failures, 'failed attempt')}"
    lost = f", {plural(found.unreadable, 'session')} unreadable" if found.unreadable else ""
    worlds = plural(report.seeds, "world")
    yield f"{one_line(found.store)}: {of}{lost}; {worlds}, {report.level:.0%} of them in each interval"
    yield ""
    yield _table(found, terminal)
    yield from _reasons_not_to_say(report)
    first, *others = report.outlooks
    for outlook in others if found.sweep is None else ():
        yield ""
        yield from _difference_lines(first, outlook)
    yield ""
    yield terminal.paint("replayed", "grey")
    yield from (f"- {one_line(each)}" for each in replayed(known))
    yield terminal.paint("assumed", "grey")
    yield from (f"- {one_line(each)}" for each in assumed(known, report.outages))


def _table(found: Simulated, terminal: Terminal) -> str:
    outlooks = found.report.outlooks
    if found.sweep is None and len(outlooks) <= ACROSS_MAX:
        return _side_by_side(found, terminal)
    head = found.sweep.key if found.sweep else "policy"
    columns = [Column(head), *(Column(LABELS[each], right=True) for each in SWEPT)]
    rows = [[Cell(each.name), *(_cell(name, each) for name in SWEPT)] for each in outlooks]
    return table(columns, rows, terminal)


def _side_by_side(found: Simulated, terminal: Terminal) -> str:
    outlooks = found.report.outlooks
    recorded = recorded_numbers(found.known)
    names = (Column(one_line(each.name), right=True) for each in outlooks)
    columns = [Column(""), Column("as recorded", right=True), *names]
    rows: list[list[Cell]] = []
    for name in METRICS:
        was = recorded[name]
        known = Cell("" if was is None else number_words(name, was))
        rows.append([Cell(LABELS[name]), known, *(_cell(name, each) for each in outlooks)])
    return table(columns, rows, terminal)


def _cell(name: str, outlook: Outlook) -> Cell:
    each = outlook.estimates[name]
    return Cell("cannot say", "yellow") if each.cannot_say else Cell(estimate_words(name, each))


def estimate_words(name: str, each: Estimate) -> str:
    """Return a number with its interval, where it is not one point."""
    value = number_words(name, each.value)
    low, high = number_words(name, each.low), number_words(name, each.high)
    if low == high == value:
        return value
    return f"{value} ({low.removesuffix(' %')} to {high.removesuffix(' %')})"


def number_words(name: str, value: float) -> str:
    """Return a number of this name in few characters."""
    if name in SHARES:
        return f"{value * 100:.1f} %"
    sign = "-" if value < 0 else ""
    value = abs(value)
    if name.startswith("seconds"):
        return f"{sign}{value:.1f}"
    return f"{sign}{amount(round(value)) if value >= 10 else f'{value:.1f}'.removesuffix('.0')}"


def _reasons_not_to_say(report: Report) -> Iterator[str]:
    told: dict[str, list[str]] = {}
    for outlook in report.outlooks:
        for name, each in outlook.estimates.items():
            if each.cannot_say and LABELS[name] not in told.setdefault(each.cannot_say, []):
                told[each.cannot_say].append(LABELS[name])
    for why, names in told.items():
        which = "all" if len(names) == len(METRICS) else ", ".join(names)
        yield f"cannot say ({which}): {why}"


def _difference_lines(first: Outlook, outlook: Outlook) -> Iterator[str]:
    shown: list[str] = []
    not_shown: list[str] = []
    for name, each in outlook.differences.items():
        match verdict(each):
            case "more" | "less":
                by = estimate_words(name, _turned(each)).replace(" %", " points")
                shown.append(f"{LABELS[name]} {verdict(each)} by {by}")
            case "not shown":
                not_shown.append(LABELS[name])
            case _:
                pass
    against = f"{one_line(outlook.name)} against {one_line(first.name)}"
    yield f"{against}: {'; '.join(shown) if shown else 'no difference is shown'}"
    if shown and not_shown:
        yield f"  no difference is shown in: {', '.join(not_shown)}"


def _turned(each: Estimate) -> Estimate:
    """Return how much less it is, where it is less."""
    if each.high < 0:
        return Estimate(-each.value, -each.high, -each.low)
    return each

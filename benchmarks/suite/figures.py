"""Medians, ratios and ranges of what was measured, and the bounds of what was cut off. Pure."""

from collections.abc import Callable, Iterable, Sequence
from statistics import median
from typing import Literal, NamedTuple

from .run import Figures, Row

MICRO = 1e6


class Metric(NamedTuple):
    """One figure of a workload.

    ``per`` divides it for showing. ``bound``: what a cell that was cut off says about it: the rate is
    below, the whole time or the time of one unit above; None: nothing.
    """

    key: str
    name: str
    per: float = 1.0
    bound: Literal["rate", "wall", "unit us"] | None = None


class Bound(NamedTuple):
    """A figure that is known to be below or above a value."""

    value: float
    below: bool


class Results:
    """All rows of a run, by what they measure."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self.rows = list(rows)

    def row(self, workload: str, variant: str, x: int, contender: str) -> Row | None:
        for row in self.rows:
            if (row.workload, row.variant, row.x, row.contender) == (
                workload,
                variant,
                x,
                contender,
            ):
                return row
        return None

    def of(self, workload: str, variant: str | None = None) -> "Results":
        """Return the part that belongs to a workload, and to one variant of it."""
        return Results(
            row for row in self.rows if row.workload == workload and variant in (None, row.variant)
        )

    def points(self) -> list[tuple[str, int]]:
        return list(dict.fromkeys((row.variant, row.x) for row in self.rows))

    def contenders(self) -> list[str]:
        return list(dict.fromkeys(row.contender for row in self.rows))


def values(row: Row | None, key: str) -> list[float]:
    return [] if row is None else [each[key] for each in row.rounds if key in each]


def middle(row: Row | None, key: str) -> float | None:
    found = values(row, key)
    return median(found) if found else None


def bound(row: Row, metric: Metric) -> Bound | None:
    """Return what is known of a row that was cut off."""
    if row.cut_off_s is None:
        return None
    match metric.bound:
        case "rate":
            return Bound(row.units / row.cut_off_s, below=True)
        case "wall":
            return Bound(row.cut_off_s, below=False)
        case "unit us":
            return Bound(row.cut_off_s / row.units * MICRO, below=False)
        case None:
            return None


def paired(
    ours: Row | None, theirs: Row | None, combine: Callable[[Figures, Figures], float]
) -> list[float]:
    """Return what each round says that both have taken part in."""
    if ours is None or theirs is None:
        return []
    return [combine(a, b) for a, b in zip(ours.rounds, theirs.rounds, strict=False)]


def ratios(ours: Row | None, theirs: Row | None, key: str) -> list[float]:
    """Return ours to theirs, round by round."""
    return paired(ours, theirs, lambda a, b: a[key] / b[key])


def number(value: float) -> str:
    """Return a figure with three digits or so, and no more than it deserves."""
    if value == 0:
        return "0"
    size = abs(value)
    if size < 100 and value == round(value):
        return f"{value:.0f}"
    if size >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if size >= 10 else f"{value:.2f}"


def shown(row: Row | None, metric: Metric) -> str:
    """Return the median and the range, or the bound, or why there is neither."""
    if row is None:
        return "-"
    found = [value / metric.per for value in values(row, metric.key)]
    if row.failed is not None:
        return "failed"
    if found:
        span = f" ({number(min(found))} to {number(max(found))})" if len(found) > 1 else ""
        return number(median(found)) + span
    if row.not_tried:
        return "not tried"
    known = bound(row, metric)
    if known is not None:
        return f"{'<' if known.below else '>'} {number(known.value / metric.per)}"
    return "cut off" if row.cut_off_s is not None else "-"


def counted(x: int, unit: str) -> str:
    """Return a number with its unit, a plural."""
    return f"{x:,} {unit.removesuffix('s') if x == 1 else unit}"


def times(found: Sequence[float]) -> str:
    """Return ratios as their median and range."""
    if not found:
        return "-"
    span = f" ({number(min(found))} to {number(max(found))})" if len(found) > 1 else ""
    return number(median(found)) + span

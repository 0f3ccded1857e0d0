"""Plots as SVG, on logarithmic axes, without a library. Pure: text out of numbers."""

import math
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import NamedTuple

from .plan import (
    AIOSQLITE,
    ANYIO,
    AUTOGEN,
    DBOS,
    EMPTY,
    LANGGRAPH,
    OPENAI,
    PYDANTIC,
    SQLITE3,
    STAMINA,
    UKEMI,
    UKEMI_UNTOUCHED,
)

WIDTH, HEIGHT = 820, 400
LEFT, RIGHT, TOP, BOTTOM = 70, 250, 46, 56
COLOURS = {
    UKEMI: "#c2410c",
    UKEMI_UNTOUCHED: "#fb923c",
    AIOSQLITE: "#334155",
    SQLITE3: "#94a3b8",
    ANYIO: "#64748b",
    STAMINA: "#475569",
    EMPTY: "#94a3b8",
    LANGGRAPH: "#2563eb",
    DBOS: "#059669",
    OPENAI: "#7c3aed",
    PYDANTIC: "#db2777",
    AUTOGEN: "#0891b2",
}
OTHER = "#000000"
TEXT = 'font-family="sans-serif" font-size="12" fill="#1e293b"'


class Scale(NamedTuple):
    """A logarithmic axis: values between ``low`` and ``high`` lie between two pixels."""

    low: float
    high: float
    first: float
    last: float

    def at(self, value: float) -> float:
        share = math.log10(value / self.low) / math.log10(self.high / self.low)
        return self.first + share * (self.last - self.first)

    def ticks(self) -> list[float]:
        first, last = round(math.log10(self.low)), round(math.log10(self.high))
        return [10.0**power for power in range(first, last + 1)]


def decades(values: Iterable[float], first: float, last: float) -> Scale:
    """Return an axis of whole decades that has room for all values; they are above zero."""
    found = list(values)
    low = 10.0 ** math.floor(math.log10(min(found)))
    high = 10.0 ** math.ceil(math.log10(max(found)))
    return Scale(low, high if high > low else low * 10, first, last)


def tick(value: float) -> str:
    return f"{value:,.0f}" if value >= 1 else f"{value:g}"


def _text(x: float, y: float, words: str, more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" {TEXT} {more}>{escape(words)}</text>'


def _line(x1: float, y1: float, x2: float, y2: float, colour: str) -> str:
    return (
        f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"'
        f' stroke="{colour}" stroke-width="1"/>'
    )


def _frame(title: str, unit: str, scale: Scale) -> list[str]:
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">',
        f"<title>{escape(title)}</title>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
        _text(LEFT, 20, title, 'font-weight="bold"'),
        _text(LEFT, 37, unit),
    ]
    for value in scale.ticks():
        y = scale.at(value)
        parts.append(_line(LEFT, y, WIDTH - RIGHT, y, "#e2e8f0"))
        parts.append(_text(LEFT - 6, y + 4, tick(value), 'text-anchor="end"'))
    return parts


def _legend(names: Sequence[str]) -> list[str]:
    parts: list[str] = []
    for place, name in enumerate(names):
        x, y = WIDTH - RIGHT + 16, TOP + 8 + 20 * place
        colour = COLOURS.get(name, OTHER)
        parts.append(f'<rect x="{x}" y="{y - 9}" width="11" height="11" fill="{colour}"/>')
        parts.append(_text(x + 17, y, name))
    return parts


def bars(title: str, unit: str, groups: Mapping[str, Mapping[str, float]]) -> str:
    """Return bars in groups: ``groups`` has a label and, by contender, a value above zero."""
    flat = [value for group in groups.values() for value in group.values()]
    scale = decades(flat, HEIGHT - BOTTOM, TOP)
    names = list(dict.fromkeys(name for group in groups.values() for name in group))
    parts = _frame(title, unit, scale)
    wide = (WIDTH - LEFT - RIGHT) / len(groups)
    for place, (label, group) in enumerate(groups.items()):
        start = LEFT + place * wide
        bar = wide * 0.86 / len(names)
        for name, value in group.items():
            x = start + wide * 0.07 + names.index(name) * bar
            # What lies on the axis' foot still shows.
            y = min(scale.at(value), HEIGHT - BOTTOM - 1.5)
            parts.append(
                f'<rect x="{x:.1f}" y="{y:.1f}" width="{bar * 0.9:.1f}"'
                f' height="{HEIGHT - BOTTOM - y:.1f}" fill="{COLOURS.get(name, OTHER)}">'
                f"<title>{escape(name)}: {value:,.4g}</title></rect>"
            )
        parts.append(_text(start + wide / 2, HEIGHT - BOTTOM + 18, label, 'text-anchor="middle"'))
    return "\n".join([*parts, *_legend(names), "</svg>", ""])


def lines(
    title: str, unit: str, x_name: str, series: Mapping[str, Sequence[tuple[float, float]]]
) -> str:
    """Return a line for each contender; all coordinates are above zero."""
    points = [point for line in series.values() for point in line]
    scale = decades((y for _, y in points), HEIGHT - BOTTOM, TOP)
    across = decades((x for x, _ in points), LEFT, WIDTH - RIGHT)
    parts = _frame(title, unit, scale)
    for value in sorted({x for x, _ in points}):
        x = across.at(value)
        parts.append(_line(x, HEIGHT - BOTTOM, x, HEIGHT - BOTTOM + 5, "#94a3b8"))
        parts.append(_text(x, HEIGHT - BOTTOM + 18, tick(value), 'text-anchor="middle"'))
    middle = (LEFT + WIDTH - RIGHT) / 2
    parts.append(_text(middle, HEIGHT - 12, x_name, 'text-anchor="middle"'))
    for name, line in series.items():
        colour = COLOURS.get(name, OTHER)
        at = [(across.at(x), scale.at(y)) for x, y in line]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in at)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        for (x, y), (_, value) in zip(at, line, strict=True):
            parts.append(
                f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{colour}">'
                f"<title>{escape(name)}: {value:,.4g}</title></circle>"
            )
    return "\n".join([*parts, *_legend(list(series)), "</svg>", ""])

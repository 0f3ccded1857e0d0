"""Small drawings for a page: intervals, curves with bands, and times on a line; inline SVG. Pure."""

import math
from collections.abc import Sequence
from html import escape

from msgspec import Struct

WIDTH, LABEL, RIGHT = 640, 170, 90
ROW = 26
COLOURS = ("#1f6f8b", "#b5541c", "#4f7a28", "#7b4397", "#8a6d00", "#a02c5a")


class Bar(Struct, frozen=True):
    """A number with its interval, and what it is called; ``text`` is the number in words."""

    label: str
    value: float
    low: float
    high: float
    text: str
    cannot_say: bool = False


class Stretch(Struct, frozen=True):
    """A time on a line, in seconds; ``end`` None: it has none."""

    start: float
    end: float | None
    kind: str
    text: str


def intervals(bars: Sequence[Bar], name: str) -> str:
    """Draw numbers one below the other, each as a dot on its interval."""
    known = [each for each in bars if not each.cannot_say]
    low = min((each.low for each in known), default=0.0)
    high = max((each.high for each in known), default=1.0)
    low, high = _room(low, high)
    height = ROW * len(bars) + 24
    parts = [_open(height, name)]
    for at, bar in enumerate(bars):
        y = ROW * at + 16
        colour = COLOURS[at % len(COLOURS)]
        parts.append(_text(LABEL - 8, y + 4, bar.label, "end"))
        if bar.cannot_say:
            parts.append(_text(LABEL, y + 4, "cannot say", "start", "#777"))
            continue
        x1, x, x2 = (_x(each, low, high) for each in (bar.low, bar.value, bar.high))
        parts.append(
            f'<line x1="{x1:.1f}" x2="{x2:.1f}" y1="{y}" y2="{y}" stroke="{colour}" stroke-width="6" stroke-opacity="0.35" stroke-linecap="round"/>'
        )
        parts.append(
            f'<circle cx="{x:.1f}" cy="{y}" r="4.5" fill="{colour}"><title>{escape(bar.text)}</title></circle>'
        )
    y = ROW * len(bars) + 14
    for end in (low, high):
        anchor = "start" if end == low else "end"
        parts.append(_text(_x(end, low, high), y, _short(end), anchor, "#777"))
    parts.append("</svg>")
    return "".join(parts)


def curve(bars: Sequence[Bar], name: str) -> str:
    """Draw a number over the values of a sweep, with the band of its intervals."""
    known = [(at, each) for at, each in enumerate(bars) if not each.cannot_say]
    height, top, bottom = 190, 14, 150
    low, high = _room(
        min((each.low for _, each in known), default=0.0),
        max((each.high for _, each in known), default=1.0),
    )

    def x(at: int) -> float:
        return LABEL + (WIDTH - LABEL - RIGHT) * at / max(len(bars) - 1, 1)

    def y(value: float) -> float:
        return bottom - (bottom - top) * (value - low) / (high - low)

    parts = [_open(height, name)]
    if known:
        upper = [f"{x(at):.1f},{y(each.high):.1f}" for at, each in known]
        lower = [f"{x(at):.1f},{y(each.low):.1f}" for at, each in reversed(known)]
        line = " ".join(f"{x(at):.1f},{y(each.value):.1f}" for at, each in known)
        colour = COLOURS[0]
        parts.append(
            f'<polygon points="{" ".join([*upper, *lower])}" fill="{colour}" fill-opacity="0.18"/>'
        )
        parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"/>')
        for at, each in known:
            parts.append(
                f'<circle cx="{x(at):.1f}" cy="{y(each.value):.1f}" r="4" fill="{colour}"><title>{escape(f"{each.label}: {each.text}")}</title></circle>'
            )
    for at, each in enumerate(bars):
        parts.append(_text(x(at), bottom + 18, each.label, "middle"))
        if each.cannot_say:
            parts.append(_text(x(at), bottom - 4, "?", "middle", "#777"))
    for value in (low, high):
        parts.append(_text(LABEL - 12, y(value) + 4, _short(value), "end", "#777"))
    parts.append("</svg>")
    return "".join(parts)


def times(rows: Sequence[tuple[str, Sequence[Stretch]]], whole_s: float, name: str) -> str:
    """Draw stretches of time on a line for each place; one without an end reaches to the right."""
    height = ROW * len(rows) + 24
    parts = [_open(height, name)]
    whole_s = max(whole_s, 1e-9)
    for at, (label, stretches) in enumerate(rows):
        y = ROW * at + 16
        parts.append(_text(LABEL - 8, y + 4, label, "end"))
        parts.append(f'<line x1="{LABEL}" x2="{WIDTH - RIGHT}" y1="{y}" y2="{y}" stroke="#bbb"/>')
        for each in stretches:
            x1 = _x(each.start, 0.0, whole_s)
            x2 = _x(whole_s if each.end is None else min(each.end, whole_s), 0.0, whole_s)
            colour = COLOURS[1] if each.kind == "down" else COLOURS[4]
            parts.append(
                f'<rect x="{x1:.1f}" y="{y - 7}" width="{max(x2 - x1, 1.5):.1f}" height="14" fill="{colour}" fill-opacity="{0.45 if each.end is None else 0.85}"><title>{escape(each.text)}</title></rect>'
            )
    y = ROW * len(rows) + 14
    parts.append(_text(LABEL, y, "0 s", "start", "#777"))
    parts.append(_text(WIDTH - RIGHT, y, f"{whole_s:.0f} s", "end", "#777"))
    parts.append("</svg>")
    return "".join(parts)


def _open(height: int, name: str) -> str:
    return f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(name)}" xmlns="http://www.w3.org/2000/svg">'


def _text(x: float, y: float, text: str, anchor: str, colour: str = "#222") -> str:
    shown = text if len(text) <= 24 else text[:23] + "…"
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}">{escape(shown)}</text>'


def _x(value: float, low: float, high: float) -> float:
    return LABEL + (WIDTH - LABEL - RIGHT) * (value - low) / (high - low)


def _room(low: float, high: float) -> tuple[float, float]:
    """Return the ends of a scale on which everything has its place."""
    if high > low:
        return low, high
    around = abs(high) * 0.1 or 1.0
    return low - around, high + around


def _short(value: float) -> str:
    if not value or not math.isfinite(value):
        return "0" if not value else "∞"
    return f"{value:.3g}" if abs(value) < 10_000 else f"{value / 1000:.0f}k"

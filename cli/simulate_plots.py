"""A simulation as one page with drawings: a file that needs nothing else. Pure."""

from collections.abc import Iterator
from html import escape

from ..actors.simulating.learning import Learned
from ..actors.simulating.measures import METRICS
from ..actors.simulating.spells import Spell
from ..actors.simulating.summary import Outlook, assumed, replayed
from .simulate_words import (
    LABELS,
    SHARES,
    Simulated,
    estimate_words,
    number_words,
    recorded_numbers,
)
from .svg import Bar, Stretch, curve, intervals, times
from .terminal import duration, plural

STYLE = """
body{font:15px/1.5 system-ui,sans-serif;max-width:46rem;margin:2rem auto;padding:0 1rem;color:#222;background:#fff}
h1{font-size:1.4rem}h2{font-size:1.1rem;margin-top:2rem}svg{width:100%;height:auto}svg text{font:11px system-ui,sans-serif}
table{border-collapse:collapse;width:100%;font-size:13px}td,th{text-align:right;padding:.2rem .5rem;border-bottom:1px solid #ddd}
td:first-child,th:first-child{text-align:left}.no{color:#777}figure{margin:1rem 0}figcaption{font-weight:600}
"""


def simulated_page(found: Simulated) -> str:
    """Return the whole page."""
    return "\n".join(_page(found)) + "\n"


def _page(found: Simulated) -> Iterator[str]:
    known, report = found.known, found.report
    title = f"Policies on {found.store}"
    yield "<!doctype html>"
    yield f'<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
    yield f"<style>{STYLE}</style></head><body>"
    yield f"<h1>{escape(title)}</h1>"
    of = f"{plural(len(known.traces), 'session')}, {plural(known.failures, 'failed attempt')}"
    worlds = plural(report.seeds, "world")
    yield f"<p>{of}. {worlds}, from seed {report.seed}; intervals hold {report.level:.0%} of them.</p>"
    if found.sweep is not None:
        yield f"<h2>{escape(found.sweep.key)}</h2>"
    for name in METRICS:
        bars = [_bar(name, outlook) for outlook in report.outlooks]
        drawn = curve(bars, LABELS[name]) if found.sweep else intervals(bars, LABELS[name])
        unit = ", %" if name in SHARES else ""
        yield f"<figure><figcaption>{LABELS[name]}{unit}</figcaption>{drawn}</figure>"
    yield from _table(found)
    yield from _weather(known)
    yield from _list("Replayed", replayed(known))
    yield from _list("Assumed", assumed(known, report.outages))
    yield "</body></html>"


def _bar(name: str, outlook: Outlook) -> Bar:
    each = outlook.estimates[name]
    scale = 100.0 if name in SHARES else 1.0
    return Bar(
        outlook.name,
        each.value * scale,
        each.low * scale,
        each.high * scale,
        estimate_words(name, each),
        cannot_say=bool(each.cannot_say),
    )


def _table(found: Simulated) -> Iterator[str]:
    outlooks = found.report.outlooks
    recorded = recorded_numbers(found.known)
    heads = "".join(f"<th>{escape(each.name)}</th>" for each in outlooks)
    yield f"<h2>Numbers</h2><table><tr><th></th><th>as recorded</th>{heads}</tr>"
    for name in METRICS:
        was = recorded[name]
        cells = "".join(_cell(name, each) for each in outlooks)
        known = "" if was is None else number_words(name, was)
        yield f"<tr><td>{LABELS[name]}</td><td>{known}</td>{cells}</tr>"
    yield "</table>"


def _cell(name: str, outlook: Outlook) -> str:
    each = outlook.estimates[name]
    if each.cannot_say:
        return f'<td class="no" title="{escape(each.cannot_say)}">cannot say</td>'
    return f"<td>{escape(estimate_words(name, each))}</td>"


def _weather(known: Learned) -> Iterator[str]:
    rows = [
        (name, [_stretch(known, spell) for spell in place.found.spells])
        for name, place in known.places.items()
        if place.found.spells
    ]
    if rows:
        yield "<h2>Outages and refusals, as recorded</h2>"
        yield times(rows, known.until - known.began, "outages and refusals")


def _stretch(known: Learned, spell: Spell) -> Stretch:
    start = spell.first - known.began
    end = spell.until or (None if spell.after is None else spell.last)
    what = "refused for too much" if spell.kind == "limited" else "down"
    lasted = duration(spell.last - spell.first)
    ended = "" if end is not None else ", no end in the record"
    text = f"{what} at {start:.1f} s, seen for {lasted}, {plural(spell.failed, 'failure')}{ended}"
    return Stretch(start, None if end is None else end - known.began, spell.kind, text)


def _list(title: str, lines: list[str]) -> Iterator[str]:
    yield f"<h2>{title}</h2><ul>"
    yield from (f"<li>{escape(each)}</li>" for each in lines)
    yield "</ul>"

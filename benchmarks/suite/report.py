"""Put a run's tables and plots into the documentation.

    python -m benchmarks report FILE [FILE ...] [--page docs/benchmarks.md]

The page has places for them, each between ``<!-- suite: NAME -->`` and ``<!-- suite end -->``; what
stands there is replaced, the rest is left alone, and so is a workload that was not measured. Of several
files, each workload is taken from the last one that has it.
"""

import argparse
import re
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from .figures import Results, counted, middle
from .plan import PEERS, WORKLOADS
from .plot import bars, lines
from .run import Row
from .tables import tables_of, verdict_table

PAGE = Path(__file__).resolve().parents[2] / "docs" / "benchmarks.md"
BUSY = " **The machine was busy with other work**: times on the wall and rates say little, ratios and CPU more."
PLACE = re.compile(r"(<!-- suite: ([\w-]+) -->\n)(.*?)(<!-- suite end -->)", re.DOTALL)


class Report(Struct):
    """A run as it is kept.

    ``machine``: what figures depend on, with the load when it began and when it ended. ``versions``: of
    the interpreter and of every library that took part. ``scale``: how large the run was.
    """

    machine: Mapping[str, str | int | float | None]
    versions: dict[str, str]
    scale: str
    minutes: float
    rows: list[Row]


def read(path: Path) -> Report:
    """Read what ``python -m benchmarks suite --json`` has written.

    Raises:
        SystemExit: it is no such file; the message says why.
    """
    try:
        return msgspec.json.decode(path.read_bytes(), type=Report)
    except (OSError, msgspec.MsgspecError) as error:
        raise SystemExit(f"{path} is no report of the suite: {error}") from None


def _last(reports: Sequence[Report]) -> dict[str, Report]:
    return {row.workload: report for report in reports for row in report.rows}


def merged(reports: Sequence[Report]) -> list[Row]:
    """Return the rows of all: each workload's from the last report that has it."""
    last = _last(reports)
    return [
        row
        for workload in WORKLOADS
        if workload in last
        for row in last[workload].rows
        if row.workload == workload
    ]


def rounds_of(rows: Sequence[Row], *, peers: bool) -> str:
    """Return how many rounds were taken, the fewest and the most."""
    found = {len(row.rounds) for row in rows if row.rounds and (row.contender in PEERS) == peers}
    if not found:
        return "0"
    return str(min(found)) if len(found) == 1 else f"{min(found)} to {max(found)}"


def _minutes(minutes: float) -> str:
    """Return a duration in words."""
    whole = round(minutes)
    return "1 minute" if whole == 1 else f"{whole} minutes"


def head(report: Report, used: Collection[str]) -> str:
    """Return the lines that say when, where and with what it was measured, of the workloads used."""
    measured = ", ".join(workload.upper() for workload in WORKLOADS if workload in used)
    facts = report.machine
    load = facts["load"]
    busy = BUSY if isinstance(load, float) and load > 1.0 else ""
    ours, peers = (rounds_of(report.rows, peers=which) for which in (False, True))
    versions = ", ".join(f"{name} {version}" for name, version in report.versions.items())
    return (
        f"Run of {facts['at']} ({measured}), {_minutes(report.minutes)}, scale `{report.scale}`, "
        f"rounds of ours and the limits {ours}, of the peers {peers}; "
        f"{facts['processors']} processors; load {facts['load']:.1f} before it began and "
        f"{facts['load_after']:.1f} at its end.{busy}\n\nVersions: {versions}.\n"
    )


def plots(results: Results) -> dict[str, str]:
    """Return the plots of the workloads there are figures of, by workload."""
    found: dict[str, str] = {}
    for workload, draw in DRAWN.items():
        part = results.of(workload)
        if any(row.rounds for row in part.rows):
            found[workload] = draw(part)
    return found


def _series(part: Results, key: str) -> dict[str, list[tuple[float, float]]]:
    series: dict[str, list[tuple[float, float]]] = {}
    for row in part.rows:
        value = middle(row, key)
        if value:
            series.setdefault(row.contender, []).append((float(row.x), value))
    return series


def _groups(part: Results, key: str, unit: str) -> dict[str, dict[str, float]]:
    groups: dict[str, dict[str, float]] = {}
    for row in part.rows:
        value = middle(row, key)
        if value:
            groups.setdefault(counted(row.x, unit), {})[row.contender] = value
    return groups


def _b1(part: Results) -> str:
    groups = _groups(part.of("b1", "read, normal"), "steps_per_s", "sessions")
    return bars("B1: durable steps a second", "steps/s, higher is better", groups)


def _b2(part: Results) -> str:
    series = _series(part, "late_us")
    return lines("B2: time of a step at the end of a session", "µs", "steps of the session", series)


def _b3(part: Results) -> str:
    series = _series(part.of("b3", "wait"), "wall_s")
    return lines("B3: time for five waits of a second each", "s; ideal is 5", "sessions", series)


def _b4(part: Results) -> str:
    groups = _groups(part, "going_on_s", "sessions")
    return bars("B4: killed; time until all sessions go on", "s, lower is better", groups)


def _b5(part: Results) -> str:
    groups = _groups(part, "cpu_us_per_step", "calls a session")
    return bars("B5: CPU of a tool call, nothing stored", "µs, lower is better", groups)


def _b6(part: Results) -> str:
    groups = _groups(part.of("b6", ""), "enter_ms", "parked")
    return bars("B6: time to enter a runtime", "ms, lower is better", groups)


DRAWN: Mapping[str, Callable[[Results], str]] = {
    "b1": _b1,
    "b2": _b2,
    "b3": _b3,
    "b4": _b4,
    "b5": _b5,
    "b6": _b6,
}


def sections(reports: Sequence[Report], drawn: Mapping[str, str]) -> dict[str, str]:
    """Return the text of each place."""
    results = Results(merged(reports))
    last = _last(reports)
    used = [[name for name in last if last[name] is report] for report in reports]
    heads = (head(report, names) for report, names in zip(reports, used, strict=True) if names)
    found = {"run": "\n".join(heads), "verdict": verdict_table(results) + "\n"}
    for workload, name in WORKLOADS.items():
        tables = tables_of(results.of(workload), workload)
        picture = f"![{name}](benchmarks/{workload}.svg)\n\n" if workload in drawn else ""
        if tables:
            found[workload] = picture + "\n\n".join(tables) + "\n"
    return found


def filled(page: str, found: Mapping[str, str]) -> str:
    """Return the page with the text of each place replaced."""

    def place(match: re.Match[str]) -> str:
        text = found.get(match[2])
        return match[0] if text is None else f"{match[1]}\n{text}\n{match[4]}"

    return PLACE.sub(place, page)


def write(reports: Sequence[Report], page: Path) -> list[Path]:
    """Rewrite the page and its plots; return the files written."""
    drawn = plots(Results(merged(reports)))
    folder = page.parent / page.stem
    folder.mkdir(exist_ok=True)
    written = [page]
    for workload, svg in drawn.items():
        written.append(folder / f"{workload}.svg")
        written[-1].write_text(svg, "utf-8")
    page.write_text(filled(page.read_text("utf-8"), sections(reports, drawn)), "utf-8")
    return written


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks report", description=__doc__)
    parser.add_argument("files", type=Path, nargs="+", metavar="FILE", help="of the suite's --json")
    parser.add_argument("--page", type=Path, default=PAGE)
    given = parser.parse_args()
    reports = {path: read(path) for path in given.files}
    small = [str(path) for path, report in reports.items() if report.scale == "quick"]
    if small and given.page == PAGE:
        raise SystemExit(
            f"{', '.join(small)}: --quick only shows that it runs; name another --page"
        )
    for path in write([*reports.values()], given.page):
        print(path, file=sys.stderr)

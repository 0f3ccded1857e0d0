"""The tables of a run. Pure."""

from collections.abc import Sequence

from ..cells import table
from .figures import Metric, Results, counted, ratios, shown, times
from .plan import LIMITS, OURS, UKEMI, WORKLOADS
from .published import published_table
from .run import last_line
from .verdict import verdicts

KIB = 1_024.0

METRICS: dict[str, tuple[tuple[str | None, Metric], ...]] = {
    "b1": (
        (None, Metric("steps_per_s", "steps/s", bound="rate")),
        (None, Metric("cpu_us_per_step", "CPU of a step, µs")),
    ),
    "b2": (
        ("", Metric("late_us", "time of a step in the session's last tenth, µs", bound="unit us")),
        ("", Metric("us", "time of a step over the whole session, µs", bound="unit us")),
        ("", Metric("written_bytes_per_step", "bytes written a step")),
        ("", Metric("store_bytes", "store's size, KiB", KIB)),
        ("", Metric("stored_per_message_byte", "bytes stored per byte of message")),
        ("", Metric("load_ms", "time to load a session, ms")),
    ),
    "b3": (
        ("wait", Metric("wall_s", "time for 5 waits of 1 s each, s", bound="wall")),
        ("wait", Metric("rss_bytes_per_session", "most memory of a session, KiB", KIB)),
        (
            "held",
            Metric("held_bytes_per_session", "memory of a session in its first wait, KiB", KIB),
        ),
    ),
    "b4": (
        (None, Metric("going_on_s", "time until all go on, s", bound="wall")),
        (None, Metric("read_s", "time to read the same rows by aiosqlite, s")),
        ("write", Metric("duplicated", "effects that happened twice")),
        ("write", Metric("in_doubt", "calls in doubt, a person is asked")),
        ("write", Metric("missing", "planned effects that never happened")),
        ("write", Metric("effects_at_kill", "effects when it was killed")),
    ),
    "b5": (("", Metric("cpu_us_per_step", "CPU of a tool call, µs")),),
    "b6": (
        ("", Metric("enter_ms", "time to enter the runtime, ms")),
        ("", Metric("rss_mib", "memory of the process, MiB")),
        ("", Metric("wake_ms", "approve one, wake it, run its call, reach its end, ms")),
        ("", Metric("bytes_per_session", "disk, bytes a session")),
        ("disk", Metric("bytes written, 1000", "bytes written per record, batches of 1,000")),
        ("disk", Metric("bytes of file, 1000", "file's growth per record, batches of 1,000")),
    ),
}
"""What is shown of a workload: of which variant (None: of all), and what."""

MAIN = {"b1": "steps_per_s", "b2": "late_us", "b3": "wall_s", "b5": "cpu_us_per_step"}
"""The figure whose ratios are shown too."""

SIZES = {
    "b1": "sessions",
    "b2": "steps",
    "b3": "sessions",
    "b4": "sessions",
    "b5": "calls a session",
    "b6": "sessions",
}


def _point(workload: str, variant: str, x: int) -> str:
    size = counted(x, SIZES[workload])
    return f"{variant}, {size}" if variant else size


def pivot(results: Results, workload: str, metric: Metric) -> str:
    """Return one figure: a row for each point, a column for each contender that has it."""
    who = [
        one
        for one in results.contenders()
        if any(
            metric.key in figures
            for row in results.rows
            if row.contender == one
            for figures in row.rounds
        )
        or metric.bound is not None
    ]
    rows = [
        (
            _point(workload, variant, x),
            *(shown(results.row(workload, variant, x, one), metric) for one in who),
        )
        for variant, x in results.points()
    ]
    return table((metric.name, *who), rows)


def against(results: Results, workload: str, key: str) -> str:
    """Return ours to the figure of each other contender; the median of each round's ratio."""
    others = [one for one in results.contenders() if one != UKEMI]
    rows: list[tuple[str, ...]] = []
    for variant, x in results.points():
        ours = results.row(workload, variant, x, UKEMI)
        cells = (times(ratios(ours, results.row(workload, variant, x, one), key)) for one in others)
        rows.append((_point(workload, variant, x), *cells))
    return table((f"Ukemi against, {_name_of(workload, key)}", *others), rows)


def _name_of(workload: str, key: str) -> str:
    return next(metric.name for _, metric in METRICS[workload] if metric.key == key)


def tables_of(results: Results, workload: str) -> list[str]:
    """Return all tables of a workload that have anything to show."""
    found: list[str] = []
    for variant, metric in METRICS[workload]:
        part = results.of(workload, variant)
        if any(metric.key in each for row in part.rows for each in row.rounds):
            found.append(pivot(part, workload, metric))
            if MAIN.get(workload) == metric.key and any(one != UKEMI for one in part.contenders()):
                found.append(against(part, workload, metric.key))
    if workload == "b1" and (beside := published_table(results)) is not None:
        found.append(beside)
    return found


def verdict_table(results: Results) -> str:
    return table(("", "at least", "aim", "measured", "met", "by CPU"), verdicts(results))


def failures(results: Results) -> list[str]:
    """Return what failed, a line each; ours and the limits' first."""
    failed = [row for row in results.rows if row.failed is not None]
    failed.sort(key=lambda row: row.contender not in (*OURS, *LIMITS))
    return [
        f"{row.workload} {row.variant} {row.x:,}, {row.contender}: {last_line(row.failed or '')}"
        for row in failed
    ]


def all_tables(results: Results, workloads: Sequence[str]) -> str:
    parts: list[str] = []
    for workload in workloads:
        parts += [f"{workload.upper()}: {WORKLOADS[workload]}", *tables_of(results, workload)]
    return "\n\n".join([*parts, verdict_table(results), *failures(results)])

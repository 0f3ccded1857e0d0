"""A drill's report for people: the matrix, and each broken promise with a way to see it again. Pure."""

import shlex
from collections.abc import Iterator, Sequence
from itertools import groupby

from ..testing import CellResult, DrillReport, Finding
from ..testing.drilling.promises import PROMISES
from ..testing.drilling.untested import count_of, names_of
from .terminal import Cell, Colour, Column, Terminal, one_line, plural, table

MARKS: dict[str, tuple[str, Colour | None]] = {
    "recovered": ("R", "green"),
    "handed over": ("H", "yellow"),
    "broken": ("X", "red"),
    "not reached": ("-", "grey"),
}
LEGEND = "R recovered   H handed over   X broken promise   - the run never came to it"
KINDS = {"tool": "tools", "model": "requests to the model", "store": "writes to the store"}
CELLS_SHOWN = 6


def report_lines(
    report: DrillReport, terminal: Terminal, *, again: Sequence[str], told: bool = False
) -> Iterator[str]:
    """Yield a report as lines.

    Args:
        again: the command that was typed, without what picks cells.
        told: also say what happened in each cell.
    """
    yield one_line(f"{report.agent}: {report.task}")
    yield f"without any fault: {report.clean}; seed {report.seed}"
    yield from _steps(report)
    for kind, title in KINDS.items():
        yield from _matrix(report, kind, title, terminal)
    if report.cells:
        yield f"\n{LEGEND}"
    if told:
        for cell in report.cells:
            yield from _story(cell)
    for line in report.untested:
        yield one_line(f"not checked: {line}")
    yield from _findings(report, terminal, again)


def _steps(report: DrillReport) -> Iterator[str]:
    for step in report.steps:
        if step.kind == "tool":
            yield f"  {step.name:>2}  {one_line(step.tool)}"


def _matrix(report: DrillReport, kind: str, title: str, terminal: Terminal) -> Iterator[str]:
    named = {step.name: step.kind for step in report.steps}
    cells = [cell for cell in report.cells if named[cell.step] == kind]
    if not cells:
        return
    steps = list(dict.fromkeys(cell.step for cell in cells))
    faults = list(dict.fromkeys(cell.fault for cell in cells))
    found = {(cell.step, cell.fault): cell for cell in cells}
    columns = [Column(title.upper(), gives_way=False), *(Column(step) for step in steps)]
    rows = [[Cell(fault), *(_mark(found.get((step, fault))) for step in steps)] for fault in faults]
    yield ""
    yield table(columns, rows, terminal)


def _mark(cell: CellResult | None) -> Cell:
    if cell is None:
        return Cell("")
    text, colour = MARKS[cell.verdict]
    return Cell(text, colour)


def _story(cell: CellResult) -> Iterator[str]:
    yield ""
    yield one_line(f"{cell.name}  {cell.tool}  {cell.verdict}: {cell.how}")
    for line in cell.story:
        yield f"  {one_line(line)}"


def _findings(report: DrillReport, terminal: Terminal, again: Sequence[str]) -> Iterator[str]:
    yield ""
    if not report.findings:
        yield _all_held(report, terminal)
        return
    yield terminal.paint(plural(len(report.findings), "broken promise"), "red")
    for promise, findings in groupby(report.findings, key=lambda each: each.promise):
        yield f"\n{promise}: {_means(promise)}"
        for finding in findings:
            yield from _finding(finding, report, again)
    if report.untested:
        yield ""
        left = f"{count_of(report.untested)} could not be checked: {names_of(report.untested)}"
        yield terminal.paint(one_line(left), "yellow")


def _all_held(report: DrillReport, terminal: Terminal) -> str:
    """What could not be checked did not hold: it stands in the last line, which may be all that is read."""
    if report.complete:
        return terminal.paint("every promise held", "green")
    left = one_line(f"{count_of(report.untested)} could not be: {names_of(report.untested)}")
    return terminal.paint(f"every promise that could be checked held; {left}", "yellow")


def _means(promise: str) -> str:
    return next(text for name, text in PROMISES.items() if name == promise)


def _finding(finding: Finding, report: DrillReport, again: Sequence[str]) -> Iterator[str]:
    tool = f"{finding.tool}: " if finding.tool else ""
    yield f"  {one_line(f'{tool}{finding.why}')}"
    cells = finding.cells
    more = f" and {len(cells) - CELLS_SHOWN} more" if len(cells) > CELLS_SHOWN else ""
    yield f"    in {', '.join(cells[:CELLS_SHOWN])}{more}"
    # Where the tool itself was struck, its mistake is the plainest to see.
    own = [each.name for each in report.cells if each.tool == finding.tool]
    named = [each for each in cells if each in own] or [each for each in cells if ":" in each]
    if named:
        yield f"    again: {shlex.join([*again, '--cell', named[0]])}"

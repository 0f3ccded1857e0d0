"""The suite: what it makes of figures is right, and it runs; what it measures is left to `make bench`."""

import json
import os
import sqlite3
import sqlite3.dbapi2
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import msgspec
import pytest

from benchmarks.__main__ import ABOUT, MODULES
from benchmarks.json_file import place_for
from benchmarks.suite import run as running
from benchmarks.suite.figures import Metric, Results, ratios, shown, times
from benchmarks.suite.kill import GoingOn
from benchmarks.suite.main import chosen
from benchmarks.suite.plan import LIMITS, OURS, PEERS, SCALES, UKEMI, WORKLOADS, Bodies, Entry, plan
from benchmarks.suite.plot import bars, decades, lines
from benchmarks.suite.published import published_table
from benchmarks.suite.report import PAGE, Report, filled, write
from benchmarks.suite.run import CellFailed, CutOff, Row
from benchmarks.suite.verdict import verdicts
from benchmarks.suite.work import message_bytes, sqlite_alike

ROOT = Path(__file__).resolve().parents[2]
SVG = "{http://www.w3.org/2000/svg}"
BODIES = Bodies(read=947, intent=297, result=875)
RATE = Metric("steps_per_s", "steps/s", bound="rate")


def row(
    *values: float,
    key: str = "steps_per_s",
    workload: str = "b1",
    x: int = 10,
    contender: str = UKEMI,
    cut_off_s: float | None = None,
    not_tried: bool = False,
    failed: str | None = None,
) -> Row:
    return Row(
        workload=workload,
        variant="",
        x=x,
        contender=contender,
        units=600,
        rounds=[{key: value} for value in values],
        cut_off_s=cut_off_s,
        not_tried=not_tried,
        failed=failed,
    )


@pytest.mark.parametrize(
    ("found", "metric", "text"),
    [
        (row(5.0, 1.0, 3.0), RATE, "3 (1 to 5)"),
        (row(1234.5), RATE, "1,234"),
        (row(0.125), RATE, "0.12"),
        (row(cut_off_s=60.0), RATE, "< 10"),
        (row(cut_off_s=60.0), Metric("wall_s", "s", bound="wall"), "> 60"),
        (row(cut_off_s=60.0), Metric("us", "us", bound="unit us"), "> 100,000"),
        (row(cut_off_s=60.0), Metric("rss", "KiB"), "cut off"),
        (row(not_tried=True), RATE, "not tried"),
        (row(3.0, failed="boom"), RATE, "failed"),
        (None, RATE, "-"),
    ],
)
def test_a_figure_is_a_median_with_its_range_or_a_bound(
    found: Row | None, metric: Metric, text: str
) -> None:
    assert shown(found, metric) == text


def test_a_ratio_is_that_of_each_round_both_took_part_in() -> None:
    assert ratios(row(1.0, 6.0, 9.0), row(2.0, 3.0), "steps_per_s") == [0.5, 2.0]
    assert ratios(row(1.0), None, "steps_per_s") == []
    assert times([0.5, 2.0, 4.0]) == "2 (0.50 to 4)"


def calls(contender: str, x: int, cpu_us: float) -> Row:
    return row(cpu_us, key="cpu_us_per_step", workload="b5", x=x, contender=contender)


STAMINA = (calls("stamina", 20, 10.0), calls("stamina", 200, 10.0))


@pytest.mark.parametrize(
    ("ours", "verdict"),
    [
        ((calls(UKEMI, 20, 20.0), calls(UKEMI, 200, 25.0)), ("2.50", "yes")),
        ((calls(UKEMI, 20, 31.0), calls(UKEMI, 200, 20.0)), ("3.10", "**no**")),
        ((calls(UKEMI, 20, 9.0), calls(UKEMI, 200, 10.0)), ("1", "yes, and the aim")),
        ((calls(UKEMI, 20, 9.0),), ("-", "not measured")),
    ],
)
def test_a_target_is_judged_by_its_worst_point(
    ours: Iterable[Row], verdict: tuple[str, str]
) -> None:
    name = "B5 CPU of a tool call against stamina alone"
    found = {each[0]: each[3:5] for each in verdicts(Results([*STAMINA, *ours]))}
    assert found[name] == verdict


def test_one_duplicated_effect_in_one_round_is_told() -> None:
    found = row(0.0, 0.0, 1.0, key="duplicated", workload="b4", x=1_000)
    found.variant = "write"
    told = next(each for each in verdicts(Results([found])) if "duplicated" in each[0])
    assert told[3:5] == ("1", "**no**")


def test_a_published_rate_stands_beside_the_one_measured_here() -> None:
    rows = [row(8_820.0, x=100), row(17_640.0, x=100, contender="aiosqlite")]
    for each in rows:
        each.variant = "read, normal"
    told = published_table(Results(rows))
    assert told is not None
    assert told.splitlines()[2:4] == [
        "| aiosqlite, read, normal | 29,400 | 0.30 | 17,640 | 0.50 |",
        "| LangGraph, read, normal | 180 | 49 | - | - |",
    ]
    assert "full" not in told  # ours was not measured there
    assert published_table(Results([])) is None


@pytest.mark.parametrize("scale", SCALES)
def test_each_cell_is_planned_once(scale: str) -> None:
    entries = plan(next(each for name, each in SCALES.items() if name == scale), BODIES)
    keys = [(*entry.place, entry.contender) for entry in entries]
    assert len(set(keys)) == len(keys)
    assert {entry.workload for entry in entries} == set(WORKLOADS)


def test_rounds_are_five_for_ours_and_three_for_peers() -> None:
    entries = plan(SCALES["standard"], BODIES)
    peers = {entry.rounds for entry in entries if entry.contender in PEERS}
    ours = {entry.rounds for entry in entries if entry.contender not in PEERS and entry.x < 50_000}
    assert (peers, ours) == ({3}, {5})
    fewer = chosen(entries, ["b1", "b5"], 2)
    assert {(entry.workload, entry.rounds) for entry in fewer} == {("b1", 2), ("b5", 2)}
    more = chosen(entries, [], 9)
    assert {entry.rounds for entry in more if entry.contender in PEERS} == {3}
    assert {entry.rounds for entry in more if entry.contender in (*OURS, *LIMITS)} == {9}


def test_every_target_is_judged_by_the_standard_run() -> None:
    keys = (
        *("steps_per_s", "cpu_us_per_step", "late_us", "wall_s", "rss_mib", "enter_ms", "read_s"),
        *("stored_per_message_byte", "held_bytes_per_session", "bytes written, 1000"),
        *("going_on_s", "going_on_cpu_s", "read_cpu_s", "late_cpu_us", "duplicated"),
    )
    rows = [
        Row(
            workload=entry.workload,
            variant=entry.variant,
            x=entry.x,
            contender=entry.contender,
            units=1,
            rounds=[dict.fromkeys(keys, 1.0)],
        )
        for entry in plan(SCALES["standard"], BODIES)
    ]
    assert [each[0] for each in verdicts(Results(rows)) if each[4] == "not measured"] == []


def test_bars_show_every_figure() -> None:
    svg = bars("T <1>", "us", {"a": {UKEMI: 1.0, "DBOS": 250.0}, "b": {UKEMI: 1000.0}})
    titles = [each.text for each in ElementTree.fromstring(svg).iter(f"{SVG}title")]
    assert titles == ["T <1>", "Ukemi: 1", "DBOS: 250", "Ukemi: 1,000"]


def test_lines_have_a_point_for_each_figure() -> None:
    svg = lines("T", "s", "steps", {UKEMI: [(10, 5.0), (1000, 5.0)], "DBOS": [(10, 7.0)]})
    assert len(list(ElementTree.fromstring(svg).iter(f"{SVG}circle"))) == 3


def test_an_axis_has_whole_decades() -> None:
    scale = decades([3.0, 40.0], 100.0, 0.0)
    assert [scale.at(value) for value in (1.0, 10.0, 100.0)] == [100.0, 50.0, 0.0]
    assert decades([10.0], 0.0, 1.0).ticks() == [10.0, 100.0]


def test_a_report_fills_its_places_and_leaves_the_rest_alone() -> None:
    page = (
        "a\n<!-- suite: b1 -->\nold\n<!-- suite end -->\n"
        "b\n<!-- suite: b2 -->\nkept\n<!-- suite end -->\n"
    )
    once = filled(page, {"b1": "new\n"})
    assert once == page.replace("old\n", "\nnew\n\n")
    assert filled(once, {"b1": "new\n"}) == once


def test_the_page_has_a_place_for_everything(tmp_path: Path) -> None:
    page = tmp_path / "benchmarks.md"
    page.write_bytes(PAGE.read_bytes())
    facts: dict[str, str | float] = {
        "at": "2031-02-03",
        "processors": 2,
        "load": 0.5,
        "load_after": 2.0,
    }
    rows = [
        row(7654.0, workload="b1"),
        row(76.0, key="late_us", workload="b2"),
        row(765.0, key="cpu_us_per_step", workload="b5", x=20),
    ]
    rows[0].variant = "read, normal"
    report = Report(machine=facts, versions={"x": "1.2.3"}, scale="quick", minutes=1.0, rows=rows)
    again = Report(machine=facts, versions={}, scale="full", minutes=2.0, rows=[row(654.0)])
    again.rows[0].variant = "read, normal"
    written = write([again, report], page)
    text = page.read_text()
    for part in (
        "Run of 2031-02-03 (B1, B2, B5)",
        "x 1.2.3",
        "| 7,654 |",
        "| 76 |",
        "| 765 |",
        "not measured",
    ):
        assert part in text, part
    assert [path.name for path in written] == ["benchmarks.md", "b1.svg", "b2.svg", "b5.svg"]
    assert "(benchmarks/b2.svg)" in text
    assert "| 654 |" not in text  # of a workload, the last file's rows


def test_bytes_of_messages_are_those_of_their_json() -> None:
    assert 880 < message_bytes("s-1", 1) < 920
    assert message_bytes("s-1", 10) == 10 * message_bytes("s-1", 1)


@pytest.mark.parametrize(("durability", "synchronous"), [("normal", 1), ("full", 2)])
def test_every_file_a_peer_opens_is_as_durable_as_ours(
    durability: str, synchronous: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (sqlite3, sqlite3.dbapi2):
        monkeypatch.setattr(module, "connect", module.connect)  # put back afterwards
    sqlite_alike(durability)
    for module in (sqlite3, sqlite3.dbapi2):
        connection = module.connect(tmp_path / "peer.db")
        found = [
            connection.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("journal_mode", "synchronous")
        ]
        connection.close()
        assert found == ["wal", synchronous]


def test_a_session_that_never_went_on_is_no_success() -> None:
    going_on = GoingOn({"a", "b"})
    going_on.seen("a")
    with pytest.raises(RuntimeError, match="1 sessions never went on"):
        going_on.read()
    going_on.seen("b")
    assert going_on.read()["unfinished"] == 2.0


# ---------------------------------------------------------------- running cells


def entry(contender: str, x: int, module: str, rounds: int = 2) -> Entry:
    return Entry("b1", "", x, contender, module, {"cell": "any"}, 100, rounds)


def test_what_is_cut_off_is_given_nothing_larger(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, float]] = []

    def run_cell(_: Path, module: str, given: object, limit_s: float) -> running.Figures:
        asked.append((module, limit_s))
        match module:
            case "slow":
                raise CutOff
            case "broken":
                raise CellFailed("Traceback\nValueError: no such thing")
            case _:
                return {"us": 2.0}

    monkeypatch.setattr(running, "run_cell", run_cell)
    said: list[str] = []
    slow, larger, broken, ours = running.run(
        [
            entry("DBOS", 1, "slow"),
            entry("DBOS", 2, "fine"),
            entry("LangGraph", 1, "broken"),
            entry(UKEMI, 1, "ours"),
        ],
        Path("python"),
        said.append,
    )
    assert (slow.cut_off_s, slow.rounds) == (60.0, [])
    assert (larger.not_tried, larger.rounds) == (True, [])
    assert broken.failed is not None and "no such thing" in broken.failed
    assert ours.rounds == [{"us": 2.0}, {"us": 2.0}]
    assert asked == [("slow", 60.0), ("broken", 60.0), ("ours", 300.0), ("ours", 300.0)]
    assert [line.partition("] ")[2] for line in said] == [
        "round 1: b1, 1: DBOS cut off at 60 s",
        "round 1: b1, 1: LangGraph FAILED: ValueError: no such thing",
        "round 1: b1, 1: Ukemi: us 2",
        "round 2: b1, 1: Ukemi: us 2",
    ]


def test_time_is_up_for_peers_first_and_nothing_goes_unmeasured(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each cell takes a minute; of ten there are six for peers."""
    now_s = 0.0

    def run_cell(*_: object) -> running.Figures:
        nonlocal now_s
        now_s += 60.0
        return {"us": 2.0}

    monkeypatch.setattr(running, "run_cell", run_cell)
    monkeypatch.setattr(running, "time", SimpleNamespace(monotonic=lambda: now_s))
    who = [UKEMI, "aiosqlite", "DBOS", "LangGraph"]
    entries = [entry(name, 1, "any", rounds=5) for name in who]
    said: list[str] = []
    rows = running.run(entries, Path("python"), said.append, minutes=10.0)
    assert [len(each.rounds) for each in rows] == [4, 4, 2, 1]
    late = running.run(entries, Path("python"), said.append, minutes=1.0)
    assert [len(each.rounds) for each in late] == [1, 1, 1, 1]


def test_without_peers_their_cells_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def run_cell(*_: object) -> running.Figures:
        return {"us": 2.0}

    monkeypatch.setattr(running, "run_cell", run_cell)
    said: list[str] = []
    rows = running.run([entry("DBOS", 1, "a"), entry(UKEMI, 1, "b")], None, said.append)
    assert [one.contender for one in rows] == [UKEMI]


SPAWNING = """
import json, os, subprocess, sys
told = os.open(json.loads(sys.argv[1])["told"], os.O_WRONLY)
child = "import os, signal, sys; os.write(int(sys.argv[1]), b'x'); signal.pause()"
subprocess.run([sys.executable, "-c", child, str(told)], pass_fds=[told])
"""


@pytest.mark.realtime
def test_a_cell_that_is_cut_off_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process that it has started itself is ended as well: nobody holds the pipe any more."""
    (tmp_path / "spawning_cell.py").write_text(SPAWNING)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    told = tmp_path / "told"
    os.mkfifo(told)
    reader = os.open(told, os.O_RDONLY | os.O_NONBLOCK)
    os.set_blocking(reader, True)
    with pytest.raises(CutOff):
        running.run_cell(Path(sys.executable), "spawning_cell", {"told": str(told)}, 4.0)
    assert os.read(reader, 9) == b"x"
    assert os.read(reader, 9) == b""
    os.close(reader)


def suite(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "benchmarks", *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.mark.slow
def test_the_suite_runs(tmp_path: Path) -> None:
    """Every workload of ours and of the limits, in a small size; nothing is duplicated."""
    path = tmp_path / "found.json"
    done = suite("suite", "--quick", "--no-peers", "--json", str(path))
    assert done.returncode == 0, done.stderr
    report = json.loads(path.read_bytes())
    rows = report["rows"]
    assert {each["workload"] for each in rows} == set(WORKLOADS)
    assert [each for each in rows if len(each.get("rounds", [])) != 1] == []
    killed = next(each for each in rows if each["workload"] == "b4")["rounds"][0]
    assert killed["duplicated"] == 0
    assert killed["effects_at_kill"] >= 210
    assert "B4 duplicated effects" in done.stdout


QUICK = "a run of --quick"
"""Stands for its file."""


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("suite", "--only", "b1,b9"), "no workload 'b9'; there are: b1, b2, b3, b4, b5, b6"),
        (("suite", "--rounds", "0"), "0 rounds measure nothing"),
        (("report", "README.md"), "README.md is no report of the suite"),
        (("report", QUICK), "--quick only shows that it runs; name another --page"),
        (("suite", "--json", "README.md/found.json"), "README.md/found.json' cannot be written: "),
        (("suite", "--json", "docs"), "argument --json: 'docs' is a folder; name a file"),
        (("approvals", "--json", "README.md/x"), "'README.md/x' cannot be written"),
        (("kernel", "--json", "docs"), "argument --json: 'docs' is a folder"),
        (("payments", "--json", "README.md/x"), "'README.md/x' cannot be written"),
        (("soak", "--json", "docs"), "argument --json: 'docs' is a folder"),
        (("nothing",), "no benchmark 'nothing'; there are: suite, report, soak"),
        (("--quick",), "--quick belongs behind a benchmark's name"),
    ],
)
def test_wrong_words_are_named(words: tuple[str, ...], message: str, tmp_path: Path) -> None:
    quick = tmp_path / "quick.json"
    report = Report(machine={}, versions={}, scale="quick", minutes=1.0, rows=[])
    quick.write_bytes(msgspec.json.encode(report))
    done = suite(*(str(quick) if each == QUICK else each for each in words))
    assert done.returncode != 0
    assert message in done.stderr


def test_without_a_name_nothing_is_measured() -> None:
    """The suite takes half an hour, and is not what somebody wants who looks what there is."""
    asked, slipped = suite("--help"), suite()
    assert (asked.returncode, asked.stderr) == (0, "")
    assert (slipped.returncode, slipped.stdout, slipped.stderr) == (2, "", asked.stdout)
    names = [line.split()[0] for line in asked.stdout.splitlines() if line.startswith("    ")]
    assert names == list(MODULES) == list(ABOUT)


def test_the_folders_of_a_result_are_made_before_anything_is_measured(tmp_path: Path) -> None:
    path = tmp_path / "new" / "deep" / "found.json"
    assert place_for(str(path)) == path
    assert path.parent.is_dir()
    assert not path.exists()

"""policy simulate and explain --session: a real store in, tables, JSON and a page out; honest where there is little."""

import hashlib
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from sessions import REAL_BACKENDS
from store_faults import damage

from ukemi import Agent, InvalidArgument, Policy, RetryPolicy, Runtime, TransientError, tool
from ukemi.actors.tooling.tools import AnyTool
from ukemi.cli.errors import NotDone
from ukemi.cli.explain_recorded import met_in, step_of
from ukemi.cli.simulate import SimulateRequest, learn
from ukemi.cli.sweeping import sweep_of
from ukemi.models import ScriptedModel, call
from ukemi.models.scripted import Reply
from ukemi.stores.base import HeadQuery
from ukemi.stores.records import Opened, Retried
from ukemi.stores.sqlite import SqliteStore
from ukemi.supervisor.errors import ErrorClass, UsageError

Ukemi = Callable[..., Any]

HASTY = Policy(
    transient=RetryPolicy(attempts_max=2, delay_s_first=0.01, delay_s_max=0.05),
)


def shop() -> list[AnyTool]:
    """A shop whose every third order is refused at first, and whose quotes are wrong at first."""
    asked = {"order": 0}

    @tool(effect="write", accepts_key=True, upstream="shop")
    async def order(units: int, *, key: str) -> str:
        asked["order"] += 1
        if asked["order"] % 3 == 0:
            raise TransientError("connection refused")
        return "ordered"

    @tool(effect="read")
    async def quote(units: str) -> str:
        if units != "3":
            raise InvalidArgument("units must be a number", fields=["units"])
        return "9.90"

    return [order, quote]


SCRIPT: list[Reply] = [
    call("quote", units="three"),
    call("quote", units="3"),
    call("order", units=3),
    "Ordered.",
]


async def record(path: Path, sessions: int) -> None:
    agent = Agent("buyer", model=ScriptedModel(SCRIPT), tools=shop())
    async with Runtime(str(path), agents=[agent], policy=HASTY) as runtime:
        for number in range(sessions):
            handle = await runtime.start("buyer", "go", session_id=f"s{number:03}")
            await handle.outcome()


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of 24 sessions, made once."""
    path = tmp_path_factory.mktemp("made") / "agents.db"
    anyio.run(record, path, 24)
    return path


@pytest.fixture(autouse=True)
def policies(tmp_path: Path) -> None:
    (tmp_path / "once.toml").write_text("[transient]\nattempts_max = 1\n")
    (tmp_path / "often.toml").write_text("[transient]\nattempts_max = 6\n")
    (tmp_path / "bad.toml").write_text("[transient]\nattempts_max = 0\n")
    (tmp_path / "none.toml").write_text("[transient\n")


COMPARED = ("--policy", "often.toml", "--policy", "once.toml", "--seeds", "39")


def test_policies_are_compared_on_a_recorded_store(ukemi: Ukemi, made: Path) -> None:
    before = hashlib.sha256(made.read_bytes()).hexdigest()
    ran = ukemi("policy", "simulate", "--store", str(made), *COMPARED, "--json")
    assert (ran.status, ran.err) == (0, "")
    data = ran.data
    assert (data["sessions"], data["seeds"], data["level"]) == (24, 39, 0.95)
    assert data["recorded"]["completed"] == 1.0
    often, once = data["policies"]
    assert [often["policy"], once["policy"]] == ["often", "once"]
    assert often["completed"]["value"] > once["completed"]["value"]
    assert once["differences"]["completed"]["verdict"] == "less"
    assert once["reasons"]["blocked"] > 0
    assert often["seconds_p99"] == {
        "value": None,
        "low": None,
        "high": None,
        "cannot_say": "24 sessions are recorded, 100 are needed",
    }
    assert data["replayed"] and data["assumed"]
    # Reading changes nothing and holds nothing.
    assert hashlib.sha256(made.read_bytes()).hexdigest() == before
    assert [path.name for path in made.parent.glob("agents.db*")] == ["agents.db"]


def test_the_same_is_told_in_words(ukemi: Ukemi, made: Path) -> None:
    text = ukemi("policy", "simulate", "--store", str(made), *COMPARED).out
    for part in (
        "24 sessions, ",
        "as recorded",
        "often",
        "once",
        "completed",
        "cannot say (seconds, p99): 24 sessions are recorded, 100 are needed",
        "once against often: completed less by",
        "replayed",
        "- shop: ",
        "assumed",
    ):
        assert part in text


def test_the_same_seed_says_the_same(ukemi: Ukemi, made: Path) -> None:
    words = ("policy", "simulate", "--store", str(made), "--seeds", "5", "--json")
    assert ukemi(*words).data == ukemi(*words).data
    assert ukemi(*words).data != ukemi(*words, "--seed", "9").data


def test_a_sweep_tries_one_key_and_draws_it(ukemi: Ukemi, made: Path, tmp_path: Path) -> None:
    words = ("policy", "simulate", "--store", str(made), "--seeds", "9")
    sweep = ("--sweep", "transient.attempts_max=1..4", "--html", "page.html")
    data = ukemi(*words, *sweep, "--json").data
    assert data["sweep"] == "transient.attempts_max"
    assert [each["policy"] for each in data["policies"]] == ["1", "2", "3", "4"]
    completed = [each["completed"]["value"] for each in data["policies"]]
    assert completed == sorted(completed) and completed[0] < completed[-1]
    text = ukemi(*words, *sweep).out
    assert "transient.attempts_max" in text.splitlines()[2]
    page = (tmp_path / "page.html").read_text("utf-8")
    assert page.count("<polyline") >= 5


def test_the_page_needs_nothing_else(ukemi: Ukemi, made: Path, tmp_path: Path) -> None:
    """One file: drawings that are well formed, no script, nothing fetched; names are escaped."""
    (tmp_path / "<b>&.toml").write_text("")
    words = (
        "--policy",
        "once.toml",
        "--policy",
        "<b>&.toml",
        "--seeds",
        "5",
        "--html",
        "page.html",
    )
    ran = ukemi("policy", "simulate", "--store", str(made), *words)
    assert "written: page.html" in ran.err
    page = (tmp_path / "page.html").read_text("utf-8")
    assert "<b>&" not in page and "&lt;b&gt;&amp;" in page
    assert not re.search(r"<script|src=|href=|url\(", page)
    drawings = re.findall(r"<svg.*?</svg>", page, re.DOTALL)
    assert len(drawings) == 10
    for each in drawings:
        ET.fromstring(each)


# ---------------------------------------------------------------- little, and nothing


def test_an_empty_store_has_nothing_to_play(ukemi: Ukemi, tmp_path: Path) -> None:
    anyio.run(record, tmp_path / "ukemi.db", 0)
    ran = ukemi("policy", "simulate")
    assert (ran.status, ran.out) == (1, "")
    assert "holds no session to play" in ran.err
    assert "of nobody to play" in ukemi("policy", "simulate", "--agent", "nobody").err


def test_a_store_that_is_not_there_is_not_made(ukemi: Ukemi, tmp_path: Path) -> None:
    ran = ukemi("policy", "simulate", "--store", "absent.db")
    assert ran.status == 2
    assert not (tmp_path / "absent.db").exists()


def test_one_failure_is_no_ground_for_a_number(ukemi: Ukemi, tmp_path: Path) -> None:
    """The status is 1: nothing could be concluded at all."""
    anyio.run(record, tmp_path / "ukemi.db", 1)
    ran = ukemi("policy", "simulate", *COMPARED)
    assert ran.status == 1
    assert "cannot say" in ran.out and "1 session is recorded, 20 are needed" in ran.out
    assert not re.search(r"^completed .*\d %.*\d %", ran.out, re.MULTILINE)
    data = ukemi("policy", "simulate", *COMPARED, "--json").data
    assert {each["completed"]["value"] for each in data["policies"]} == {None}


WRONG: list[tuple[tuple[str, ...], str]] = [
    (("--policy", "bad.toml"), "bad.toml: [transient] attempts_max=0"),
    (("--policy", "none.toml"), "none.toml is no TOML"),
    (("--policy", "absent.toml"), "absent.toml"),
    (("--sweep", "transient.attempts_maxx=1..3"), "did you mean 'attempts_max'"),
    (("--sweep", "transient=1"), "is no key"),
    (("--sweep", "transiant.attempts_max=1"), "did you mean 'transient'"),
    (("--sweep", "transient.attempts_max=0..3"), "attempts_max=0"),
    (("--sweep", "transient.attempts_max=7..1"), "leads nowhere"),
    (("--sweep", "transient.attempts_max"), "write KEY=VALUES"),
    (("--sweep", "transient.attempts_max=a b"), "is no value"),
    (("--sweep", "transient.attempts_max=1..1000"), "at most 50"),
    (("--sweep", "transient.jitter=0..1..nan"), "is no number"),
    (
        ("--sweep", "transient.jitter=1,2", "--policy", "once.toml", "--policy", "often.toml"),
        "one --policy",
    ),
    (("--sweep", "a.b.c=1", "--policy", "once.toml"), "there is no section [a]"),
    (
        (
            "--sweep",
            "transient.attempts_max.x=1",
        ),
        "is a value, no section",
    ),
    (("--seeds", "0"), "--seeds 0"),
    (("--limit", "0"), "--limit 0"),
    (("--html", "."), "is a folder"),
    (("--html", "no/such/page.html"), "no such folder"),
    (("--outages", "never"), "invalid choice"),
]


@pytest.mark.parametrize(("words", "said"), WRONG, ids=[" ".join(words) for words, _ in WRONG])
def test_wrong_usage_is_said_before_anything_is_played(
    ukemi: Ukemi, made: Path, words: tuple[str, ...], said: str
) -> None:
    ran = ukemi("policy", "simulate", "--store", str(made), *words)
    assert (ran.status, ran.out) == (2, "")
    assert said in ran.err


SWEEPS: list[tuple[str, list[str]]] = [
    ("transient.attempts_max=1..3", ["1", "2", "3"]),
    ("transient.attempts_max=2,4,none", ["2", "4", "none"]),
    ("transient.jitter=0..1..0.25", ["0.0", "0.25", "0.5", "0.75", "1.0"]),
    ("tool.order.transient.attempts_max=1,2", ["1", "2"]),
    ('upstream."gpt-4.1".breaker.open_s=5,10', ["5", "10"]),
    ("permission_denied.alert=true,false", ["true", "false"]),
    ("context_overflow.summary=digest,model", ["digest", "model"]),
]


@pytest.mark.parametrize(("word", "names"), SWEEPS)
def test_what_a_sweep_may_say(word: str, names: list[str]) -> None:
    assert [name for name, _ in sweep_of(word, Policy()).policies] == names


@pytest.mark.parametrize("anyio_backend", REAL_BACKENDS[:1])
async def test_a_store_is_read_while_it_is_written_to(tmp_path: Path, anyio_backend: Any) -> None:
    """The runtime goes on as if nobody looked: its sessions stay its own."""
    path = tmp_path / "agents.db"
    counts: list[int] = []
    done = anyio.Event()

    async def write() -> None:
        await record(path, 25)
        done.set()

    async def read() -> None:
        while not path.exists() or not done.is_set():
            if path.exists() and path.stat().st_size:
                try:
                    known, _ = await learn(SimulateRequest(store=str(path)))
                except NotDone:
                    pass  # none has begun yet
                else:
                    counts.append(len(known.traces))
            await anyio.sleep(0.005)

    async with anyio.create_task_group() as group:
        group.start_soon(write)
        group.start_soon(read)
    assert counts == sorted(counts) and counts[-1] > 0
    store = SqliteStore(path)
    await store.open()
    heads = await store.heads(HeadQuery())
    await store.close()
    assert {(head.status, head.epoch) for head in heads} == {("completed", 1)}


# ---------------------------------------------------------------- explain


def first_failure(ukemi: Ukemi, made: Path, error_class: str) -> tuple[str, str]:
    """Return the session and the step of a recorded failure of this class."""
    for number in range(24):
        session = f"s{number:03}"
        for entry in ukemi("log", "--store", str(made), session, "--json").data:
            if entry["entry"] == "retry" and entry["error_class"] == error_class:
                return session, f"{entry['n']}.{entry['index']}"
    raise AssertionError(error_class)


def test_a_recorded_failure_is_explained_under_each_policy(ukemi: Ukemi, made: Path) -> None:
    session, step = first_failure(ukemi, made, "transient")
    words = ("policy", "explain", "--store", str(made), "--session", session, "--step", step)
    more = ("--policy", "once.toml", "--policy", "often.toml")
    data = ukemi(*words, *more, "--json").data
    (failure,) = data["failures"]
    assert (data["agent"], failure["tool"], failure["class"]) == ("buyer", "order", "transient")
    assert failure["recorded"]["do"] == "retry"
    assert failure["repeatable"] and failure["marks_recorded"] and failure["evidence"]
    once, often = failure["policies"]
    assert (once["policy"], once["directive"]["do"]) == ("once", "hand_over")
    assert (often["directive"]["do"], len(often["waits"])) == ("retry", 5)
    text = ukemi(*words, *more).out
    for part in (
        "class       transient",
        "recorded    retry after",
        "once        hand over (blocked)",
        "often       retry after",
    ):
        assert part in text


def test_a_correction_is_explained_with_how_often_it_was_before(ukemi: Ukemi, made: Path) -> None:
    words = (
        "policy",
        "explain",
        "--store",
        str(made),
        "--session",
        "s000",
        "--step",
        "2",
        "--json",
    )
    (failure,) = ukemi(*words).data["failures"]
    assert (failure["class"], failure["fields"]) == ("invalid_argument", ["units"])
    assert failure["recorded"]["do"] == failure["policies"][0]["directive"]["do"] == "correct"
    assert failure["policies"][0]["policy"] == "defaults"


REFUSED: list[tuple[tuple[str, ...], int, str]] = [
    (("--session", "s000", "--step", "9"), 1, "failures are recorded at: 2.0"),
    (("--session", "nobody", "--step", "2"), 1, "nobody"),
    (("--session", "s000"), 2, "go together"),
    (("--step", "2"), 2, "go together"),
    (("--session", "s000", "--step", "two"), 2, "must be N, or N.I"),
    (("--session", "s000", "--step", "2", "--status", "503"), 2, "name an error or a session"),
    (("--session", "s000", "--step", "2", "--policy", "bad.toml"), 2, "attempts_max=0"),
]


@pytest.mark.parametrize(
    ("words", "status", "said"), REFUSED, ids=[" ".join(row[0]) for row in REFUSED]
)
def test_explain_says_what_it_needs(
    ukemi: Ukemi, made: Path, words: tuple[str, ...], status: int, said: str
) -> None:
    ran = ukemi("policy", "explain", "--store", str(made), *words)
    assert (ran.status, ran.out) == (status, "")
    assert said in ran.err


def test_explain_of_an_error_takes_several_policies_too(ukemi: Ukemi) -> None:
    words = ("policy", "explain", "--status", "503", "--effect", "read")
    both = ("--policy", "once.toml", "--policy", "often.toml")
    data = ukemi(*words, *both, "--json").data
    assert [(each["policy"], each["directive"]["do"]) for each in data] == [
        ("once", "hand_over"),
        ("often", "retry"),
    ]
    text = ukemi(*words, *both).out
    assert "once:\n" in text and "often:\n" in text
    refused = ukemi("policy", "explain", "--tool", "shell", "--args", '{"command": "ls"}', *both)
    assert refused.status == 2


def test_policies_of_one_name_are_told_apart(ukemi: Ukemi, made: Path, tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "once.toml").write_text("")
    words = ("--policy", "once.toml", "--policy", "b/once.toml", "--seeds", "3", "--json")
    data = ukemi("policy", "simulate", "--store", str(made), *words).data
    assert [each["policy"] for each in data["policies"]] == ["once.toml", "b/once.toml"]


# ---------------------------------------------------------------- damage, and the demo's record


def test_a_session_that_cannot_be_read_is_counted_and_left_out(
    ukemi: Ukemi, made: Path, tmp_path: Path
) -> None:
    """The others are played; the file stays as it is."""
    copy = tmp_path / "damaged.db"
    copy.write_bytes(made.read_bytes())
    damage(SqliteStore(copy), "s003", 2)
    data = ukemi("policy", "simulate", "--store", str(copy), "--seeds", "3", "--json").data
    assert (data["sessions"], data["unreadable"]) == (23, 1)
    text = ukemi("policy", "simulate", "--store", str(copy), "--seeds", "3").out
    assert "1 session unreadable" in text


def test_the_demo_refuses_to_write_over_anything(ukemi: Ukemi, tmp_path: Path) -> None:
    (tmp_path / "there.db").write_text("mine")
    for words, said in (
        (("--record", "there.db"), "is there already"),
        (("--record", "no/such/day.db"), "no such folder"),
        (("--record", "day.db", "--policy", "bad.toml"), "attempts_max=0"),
        (("--policy", "often.toml"), "only with --record"),
    ):
        ran = ukemi("demo", *words)
        assert (ran.status, ran.out) == (2, "")
        assert said in ran.err
    assert (tmp_path / "there.db").read_text() == "mine"
    assert not (tmp_path / "day.db").exists()


@pytest.mark.parametrize(
    "values",
    ["1..51", "1..26,27..60", "0.1..1..1e-320", "1..1e300", f"1..{'9' * 400}", "-1e308..1e308"],
)
def test_too_many_values_are_refused_however_far_they_reach(values: str) -> None:
    with pytest.raises(UsageError, match="at most 50"):
        sweep_of(f"transient.delay_s_max={values}", Policy())


def test_a_value_that_is_named_twice_is_tried_once() -> None:
    assert sweep_of("transient.attempts_max=1..3,2,3", Policy()).values == (1, 2, 3)


def test_a_step_with_too_many_digits_is_refused() -> None:
    with pytest.raises(UsageError, match="must be N"):
        step_of("9" * 5000)


@pytest.mark.parametrize(
    "words",
    [
        ("policy", "simulate", "--store", "x" * 300),
        ("policy", "simulate", "--html", "x" * 300),
        ("demo", "--record", "x" * 300),
    ],
    ids=["store", "page", "record"],
)
def test_a_name_that_is_too_long_is_told(ukemi: Ukemi, words: tuple[str, ...]) -> None:
    ran = ukemi(*words)
    assert ran.status == 2 and "File name too long" in ran.err and "Traceback" not in ran.err


def test_a_class_of_a_newer_version_is_explained_as_unknown() -> None:
    failed = Retried(
        n=2, index=-1, number=1, error_class="from_later", wait_s=0.0, elapsed_s=0.1, message="?"
    )
    (met,) = met_in("s", [Opened("a", 1), failed])
    assert met.failure.error_class is ErrorClass.UNKNOWN

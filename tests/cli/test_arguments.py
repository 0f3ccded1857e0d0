"""Words on the command line: what they mean, and what is refused with which words."""

import sys
from collections.abc import Callable
from typing import Any

import pytest

from ukemi import Budget, UsageError
from ukemi.cli.arguments import make_parser
from ukemi.cli.commands import COMMANDS, GROUPS
from ukemi.cli.typed import budget_of, spread_budgets

Ukemi = Callable[..., Any]

BUDGETS: list[tuple[list[str], Budget | None]] = [
    ([], None),
    (["steps=20"], Budget(steps=20)),
    (["steps=20", "seconds=1.5"], Budget(steps=20, seconds=1.5)),
    (["steps=20,tokens=7"], Budget(steps=20, tokens=7)),
    (["seconds=none"], Budget(seconds=None)),
    (["steps=0"], Budget(steps=0)),
    (["cost_usd=2"], Budget(cost_usd=2.0)),
]

BAD_BUDGETS = [
    ("steps", "'steps' is no limit"),
    ("steps=", "steps='' must be a number"),
    ("steps=many", "steps='many' must be a number"),
    ("steps=nan", "steps='nan' must be a number"),
    ("steps=inf", "steps='inf' must be a number"),
    ("steps=-1", "steps=-1 must be zero or more"),
    ("stepz=1", "'stepz' is unknown; limits are: seconds, active_seconds, steps"),
]


@pytest.mark.parametrize(("words", "budget"), BUDGETS)
def test_limits_make_a_budget(words: list[str], budget: Budget | None) -> None:
    assert budget_of(words) == budget


@pytest.mark.parametrize(("word", "said"), BAD_BUDGETS)
def test_an_impossible_limit_is_refused_by_name(word: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        budget_of([word])


SPREAD = [
    (["--budget", "steps=1", "seconds=2"], ["--budget", "steps=1", "--budget", "seconds=2"]),
    (["--budget", "steps=1", "m:a", "steps=2"], ["--budget", "steps=1", "m:a", "steps=2"]),
    (["run", "m:a", "steps=1"], ["run", "m:a", "steps=1"]),
    (["--budget", "steps=1", "--budget", "steps=2"], ["--budget", "steps=1"] * 2),
    (["--budget"], ["--budget"]),
]


@pytest.mark.parametrize(("typed", "spread"), SPREAD)
def test_one_option_takes_several_limits_and_nothing_else(
    typed: list[str], spread: list[str]
) -> None:
    found = spread_budgets(typed)
    assert [w.replace("steps=2", "steps=1") for w in found] == [
        w.replace("steps=2", "steps=1") for w in spread
    ]


def test_the_store_is_named_everywhere_or_comes_from_the_environment() -> None:
    parser = make_parser("1", "from-environment.db")
    for words in (["sessions"], ["show", "s"], ["log", "s"], ["run", "m:a", "t"], ["resume", "m"]):
        assert parser.parse_args(words).store == "from-environment.db"
        assert parser.parse_args([*words, "--store", "x.db"]).store == "x.db"
    assert parser.parse_args(["demo"]).store is None  # a new one of its own


WRONG: list[tuple[list[str], str]] = [
    ([], "    sessions  list sessions, the newest first\n"),
    (["show", "s", "--effects", "--staged"], "not allowed with argument --effects"),
    (["fly"], "invalid choice: 'fly'"),
    (["show"], "required: ID"),
    (["run", "m:a"], "required: TASK"),
    (["sessions", "--status", "odd"], "invalid choice: 'odd'"),
    (["sessions", "--limit", "x"], "invalid int value: 'x'"),
    (["sessions", "--limit", "0"], "--limit 0 must be at least 1"),
    (["show", "s", "--checkpoint", "-1"], "--checkpoint -1 must not be negative"),
    (["log", "s", "--sto", "x"], "unrecognized arguments"),
]


@pytest.mark.parametrize(("words", "said"), WRONG, ids=[" ".join(w) or "none" for w, _ in WRONG])
def test_wrong_usage_is_status_2_and_says_what_was_wrong(
    ukemi: Ukemi, words: list[str], said: str
) -> None:
    ran = ukemi(*words)
    assert (ran.status, ran.out) == (2, "")
    assert said in ran.err


@pytest.mark.parametrize(
    "command", ["demo", "run", "resume", "resolve", "sessions", "show", "log", "classify"]
)
def test_every_command_explains_itself(ukemi: Ukemi, command: str) -> None:
    ran = ukemi(command, "--help")
    assert ran.status == 0
    assert ran.out.startswith(f"usage: ukemi {command}")
    assert "--json" in ran.out
    assert "--store" in ran.out
    assert "--worker" not in ran.out  # for the demo's own use


PLACED = [
    (["--store", "x.db", "sessions"], "--store", "ukemi sessions --store x.db"),
    (["--store=x y.db", "show", "s"], "--store", "ukemi show s '--store=x y.db'"),
    (["--store", "show", "log", "s"], "--store", "ukemi log s --store show"),
    (["--json", "policy", "show"], "--json", "ukemi policy show --json"),
    (["policy", "--json", "check", "p.toml"], "--json", "ukemi policy check p.toml --json"),
    (["--json", "--store", "x.db", "sessions"], "--json", "ukemi sessions --json --store x.db"),
    (["--store"], "--store", "ukemi COMMAND --store ..."),
    (["policy", "--store", "x.db"], "--store", "ukemi policy COMMAND --store ..."),
]


@pytest.mark.parametrize(("words", "option", "line"), PLACED, ids=[line for _, _, line in PLACED])
def test_an_option_before_the_command_is_told_where_it_belongs(
    ukemi: Ukemi, words: list[str], option: str, line: str
) -> None:
    ran = ukemi(*words)
    assert (ran.status, ran.out) == (2, "")
    said = f"ukemi: {option} stands before the command, and belongs behind it: {line}\n"
    assert ran.err == said


def test_every_command_is_known_as_one() -> None:
    """By its parser, and by what looks for options before it."""
    listed = make_parser("1", "x.db").format_help()
    names = {each for each in COMMANDS if f"\n    {each} " in listed or f"\n    {each}\n" in listed}
    assert names == COMMANDS - set(GROUPS["policy"]) | {"show"}


def test_the_version_is_the_packages(ukemi: Ukemi) -> None:
    import ukemi as package

    ran = ukemi("--version")
    assert (ran.status, ran.out) == (0, f"ukemi {package.__version__}\n")


def test_help_loads_no_command() -> None:
    """What only one command needs is loaded when that one is typed."""
    import subprocess

    program = """
import sys, ukemi
known = set(sys.modules)
from ukemi.cli.app import run
run(["--help"])
print("", *sorted(each for each in set(sys.modules) - known if each.startswith("ukemi.")))
"""
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    words = """
        app approval_arguments arguments commands drill_arguments errors file_arguments output owners
        parser placing policy_arguments session_arguments stored terminal typed
    """
    of_cli = [f"ukemi.cli.{each}" for each in words.split()]
    of_actors = ["ukemi.actors.simulating", "ukemi.actors.simulating.asked"]
    assert ended.stdout.splitlines()[-1].split() == [*of_actors, "ukemi.cli", *of_cli]


def test_python_m_is_the_same_command() -> None:
    import subprocess

    ended = subprocess.run(
        [sys.executable, "-m", "ukemi", "--version"], capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.startswith("ukemi ")


@pytest.mark.parametrize(
    "words",
    [
        ["resume", "m", "s-1", "s-2", "--no-wait", "--store", "x.db"],
        ["resume", "--no-wait", "m", "s-1", "s-2", "--store", "x.db"],
        ["resume", "m", "--no-wait", "s-1", "--store", "x.db", "s-2"],
        ["resume", "--store", "x.db", "--no-wait", "m", "--", "s-1", "s-2"],
    ],
    ids=" ".join,
)
def test_names_and_options_of_a_command_stand_in_any_order(words: list[str]) -> None:
    parsed = make_parser("1", "d.db").parse_args(words)
    assert (parsed.module, parsed.ids, parsed.no_wait, parsed.store) == (
        "m",
        ["s-1", "s-2"],
        True,
        "x.db",
    )


UNKNOWN = [
    (
        ["sessions", "--stor", "x.db"],
        "--stor x.db; did you mean --store?",
        "usage: ukemi sessions ",
    ),
    (["deny", "r", "--arguments", "{}"], "--arguments {}", "usage: ukemi deny "),
    (
        ["policy", "show", "--tol", "x"],
        "--tol x; did you mean --tool?",
        "usage: ukemi policy show ",
    ),
    (["show", "s", "s"], "unrecognized arguments: s\n", "usage: ukemi show "),
]


@pytest.mark.parametrize(("words", "said", "usage"), UNKNOWN, ids=[u for _, _, u in UNKNOWN])
def test_what_a_command_does_not_know_is_told_with_its_own_usage(
    ukemi: Ukemi, words: list[str], said: str, usage: str
) -> None:
    ran = ukemi(*words)
    assert (ran.status, ran.out) == (2, "")
    assert said in ran.err
    assert f"\n{usage}" in ran.err

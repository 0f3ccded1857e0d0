"""``ukemi drill``: what is typed, what is printed, and the exit status."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from ukemi import Agent, UsageError, tool
from ukemi.cli.app import run
from ukemi.cli.drill_arguments import without_picks
from ukemi.models import ScriptedModel
from ukemi.testing import drill

FAKES = str(Path(__file__).parents[1] / "support/drill_agents.py")
AGENT = f"{FAKES}:buyer"
ANSWERS = ("--stub", "order=ok:4711", "--stub", "order.compensate=ok")
COUNTED = (
    "--stub",
    f"order={FAKES}:own.order",
    "--stub",
    f"order.compensate={FAKES}:own.cancel",
)
UNCOUNTED = str(Path(__file__).parents[1] / "support/drill_uncounted.py")

Said = tuple[int, str, str]


@pytest.fixture
def typed(capsys: pytest.CaptureFixture[str]) -> Callable[..., Said]:
    def type_it(*words: str) -> Said:
        status = run(["drill", AGENT, "go", *words])
        out, err = capsys.readouterr()
        return status, out, err

    return type_it


def test_a_write_without_a_stub_stops_it_before_anything_runs(typed: Callable[..., Said]) -> None:
    """The tool, its compensation and whose they are, and the ways out."""
    status, out, err = typed()
    assert (status, out) == (2, "")
    named = "  order   (of agent buyer)\n  order.compensate   (its compensation, cancel, of agent buyer)\n"
    assert named in err
    assert "an ukemi.testing.EffectStub. NAME=own" in err and "Nothing was run" in err
    assert "*=own" not in err, "that lets a real one run"
    assert typed("--stub", "order=ok")[0] == 2, "the compensation is still the real one"


def test_a_stub_is_asked_for_by_all_agents_that_have_the_tool() -> None:
    """All agents of a module are looked at, so the task alone does not tell where the tool is from."""

    @tool(effect="write")
    async def mail(text: str) -> str:
        """Send a mail."""
        return "sent"

    model = ScriptedModel(["done"])
    clerk, chief = (Agent(name, model=model, tools=[mail]) for name in ("clerk", "chief"))
    with pytest.raises(UsageError, match=r"\n  mail   \(of agents clerk, chief\)\n"):
        drill(clerk, "go", agents=[chief])


def test_a_matrix_is_printed_and_every_promise_held(typed: Callable[..., Said]) -> None:
    status, out, _ = typed(*COUNTED, "--only", "lost,undo,down")
    assert status == 0
    assert "without any fault: completed; seed 0\n   1  order\n" in out
    lines = [line.split() for line in out.splitlines()]
    assert ["TOOLS", "1"] in lines and ["lost", "H"] in lines and ["undo", "H"] in lines
    assert out.endswith("every promise held\n")


def test_a_broken_promise_comes_with_the_command_that_shows_it(typed: Callable[..., Said]) -> None:
    stubs = ("--stub", f"order={FAKES}:own.order", "--stub", f"order.compensate={FAKES}:own.forget")
    status, out, _ = typed(*stubs, "--only", "undo")
    assert status == 1
    assert "\n1 broken promise\n" in out
    assert "order: the compensation says that it is undone, and the effect stands" in out
    assert f"again: ukemi drill {AGENT} go {' '.join(stubs)} --cell 1:undo" in out
    status, told, _ = typed(*stubs, "--cell", "1:undo")
    assert status == 1
    assert "compensation of order 2.0 attempt 1: returned null" in told


def test_json_says_it_all(typed: Callable[..., Said]) -> None:
    """One object, whose findings have promise, tool, words and cells."""
    status, out, _ = typed(*COUNTED, "--json", "--only", "undo,undo_lost", "--seed", "3")
    data = json.loads(out)
    assert (status, data["broken"], data["findings"], data["seed"]) == (0, False, [], 3)
    assert [each["cell"] for each in data["cells"]] == ["1:undo", "1:undo_lost"]
    assert {each["verdict"] for each in data["cells"]} == {"handed over"}
    assert (data["complete"], data["untested"]) == (True, [])
    assert data["command"].endswith("--seed 3")


@pytest.fixture
def typed_at_mailer(capsys: pytest.CaptureFixture[str]) -> Callable[..., Said]:
    """The agent with two planted mistakes that nothing counts."""

    def type_it(*words: str) -> Said:
        status = run(
            ["drill", f"{UNCOUNTED}:mailer", "go", "--stub", "*=own", "--only", "lost,undo", *words]
        )
        out, err = capsys.readouterr()
        return status, out, err

    return type_it


def test_what_could_not_be_checked_does_not_read_as_held(
    typed_at_mailer: Callable[..., Said],
) -> None:
    """The last line names it, the exit status is 1, and standard error says why."""
    status, out, err = typed_at_mailer()
    assert status == 1
    assert out.splitlines()[-1] == (
        "every promise that could be checked held; 2 could not be: book (effects, compensation)"
    )
    assert "every promise held" not in out
    assert "not checked: book: effects and compensation: no EffectStub counts what it does\n" in out
    assert "book (effects, compensation)" in err and "--untested" in err


def test_json_says_what_could_not_be_checked(typed_at_mailer: Callable[..., Said]) -> None:
    status, out, err = typed_at_mailer("--json")
    data = json.loads(out)
    assert (status, err, data["broken"], data["complete"]) == (1, "", False, False)
    assert data["untested"] == [
        {
            "tool": "book",
            "what": ["effects", "compensation"],
            "why": "no EffectStub counts what it does",
        }
    ]


@pytest.mark.parametrize(
    ("word", "expected"), [("fail", 1), ("allow", 0), ("book", 0), ("mail, book", 0), ("mail", 1)]
)
def test_what_may_stay_unchecked_is_said(
    typed_at_mailer: Callable[..., Said], word: str, expected: int
) -> None:
    """The status changes; the last line says the same."""
    status, out, err = typed_at_mailer("--untested", word)
    assert (status, bool(err)) == (expected, expected == 1)
    assert out.endswith("2 could not be: book (effects, compensation)\n")


def test_a_broken_promise_hides_nothing_that_could_not_be_checked(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A wait without an end is found, and the last line still says what stays open."""
    words = (
        f"{UNCOUNTED}:waiter",
        "go",
        "--stub",
        "*=own",
        "--cell",
        "1:hang",
        "--untested",
        "allow",
    )
    assert run(["drill", *words]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert "1 broken promise" in lines
    assert lines[-1] == "1 could not be checked: wait (effects)"


def test_a_script_may_be_a_file(typed: Callable[..., Said], tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text('[{"call": "order", "args": {"sku": "b"}}, {"error": "transient"}, "Done."]')
    status, out, _ = typed(*COUNTED, "--model", f"scripted:{script}", "--cell", "1:transient")
    assert status == 0, out
    status, out, _ = typed(*COUNTED, "--model", f"{FAKES}:script", "--cell", "1:transient")
    assert status == 0, out


REFUSED = [
    (("--stub", "order"), "write NAME=MODULE:FUNCTION"),
    (("--stub", "ordr=ok"), "there is no tool 'ordr'; there are: order"),
    (("--stub", "order.undo=ok"), "write order, order.compensate or order.probe"),
    (("--stub", "order.probe=ok"), "tool 'order' has no probe"),
    (("--stub", "order=nowhere_to_be_found:f"), "there is no module 'nowhere_to_be_found'"),
    (("--stub", f"order={FAKES}:nothing"), "has no 'nothing'"),
    (("--stub", f"order={FAKES}:script"), "which cannot be called"),
    (("--stub", "*=ok"), "can only be own"),
    ((*ANSWERS, "--stub", "order=ok"), "order has a stub already"),
    ((*ANSWERS, "--only", "loss"), "fault 'loss' is unknown"),
    ((*ANSWERS, "--cell", "7:lost"), "there is no cell '7:lost'"),
    ((*ANSWERS, "--cwd", "/nowhere/at/all"), "is no folder"),
    ((*ANSWERS, "--model", "scripted:nowhere.json"), "cannot be read"),
    ((*ANSWERS, "--untested", ","), "--untested ',': write fail, allow, or names of tools"),
    ((*ANSWERS, "--jobs", "0"), "--jobs 0 must be 1 or more"),
    ((*ANSWERS, "--secret", "token"), "write NAME=VALUE"),
    ((*ANSWERS, "--budget", "lives=9"), "budget 'lives' is unknown"),
]


@pytest.mark.parametrize("words, said", REFUSED, ids=[" ".join(each[0][-2:]) for each in REFUSED])
def test_what_cannot_be_is_refused(
    typed: Callable[..., Said], words: tuple[str, ...], said: str
) -> None:
    """Exit status 2, and the value at fault in one line."""
    status, out, err = typed(*words)
    assert (status, out) == (2, "")
    assert said in err


def test_the_command_again_leaves_out_what_picks_cells() -> None:
    words = ["drill", "a:b", "go", "--cell", "1:lost", "--only=lost", "--json", "--seed", "3"]
    assert without_picks(words) == ["ukemi", "drill", "a:b", "go", "--seed", "3"]

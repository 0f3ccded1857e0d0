"""``ukemi drill``: what is typed, what is printed, and the exit status."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from ukemi.cli.app import run
from ukemi.cli.drill_arguments import without_picks

FAKES = str(Path(__file__).parents[1] / "support/drill_agents.py")
AGENT = f"{FAKES}:buyer"
ANSWERS = ("--stub", "order=ok:4711", "--stub", "order.compensate=ok")

Said = tuple[int, str, str]


@pytest.fixture
def typed(capsys: pytest.CaptureFixture[str]) -> Callable[..., Said]:
    def type_it(*words: str) -> Said:
        status = run(["drill", AGENT, "go", *words])
        out, err = capsys.readouterr()
        return status, out, err

    return type_it


def test_a_write_without_a_stub_stops_it_before_anything_runs(typed: Callable[..., Said]) -> None:
    """The tool and its compensation are named, and the ways out."""
    status, out, err = typed()
    assert (status, out) == (2, "")
    assert "  order\n  order.compensate   (its compensation, cancel)\n" in err
    assert "NAME=own" in err and "Nothing was run" in err
    assert typed("--stub", "order=ok")[0] == 2, "the compensation is still the real one"


def test_a_matrix_is_printed_and_every_promise_held(typed: Callable[..., Said]) -> None:
    status, out, _ = typed(*ANSWERS, "--only", "lost,undo,down")
    assert status == 0
    assert "without any fault: completed; seed 0\n   1  order\n" in out
    lines = [line.split() for line in out.splitlines()]
    assert ["TOOLS", "1"] in lines and ["lost", "H"] in lines and ["undo", "H"] in lines
    assert out.endswith("every promise held\n")


def test_a_broken_promise_comes_with_the_command_that_shows_it(typed: Callable[..., Said]) -> None:
    stubs = ("--stub", f"order={FAKES}:own.order", "--stub", f"order.compensate={FAKES}:own.forget")
    status, out, _ = typed(*stubs, "--only", "undo")
    assert status == 1
    assert "order: the compensation says that it is undone, and the effect stands" in out
    assert f"again: ukemi drill {AGENT} go {' '.join(stubs)} --cell 1:undo" in out
    status, told, _ = typed(*stubs, "--cell", "1:undo")
    assert status == 1
    assert "compensation of order 2.0 attempt 1: returned null" in told


def test_json_says_it_all(typed: Callable[..., Said]) -> None:
    """One object, whose findings have promise, tool, words and cells."""
    stubs = ("--stub", f"order={FAKES}:own.order", "--stub", f"order.compensate={FAKES}:own.cancel")
    status, out, _ = typed(*stubs, "--json", "--only", "undo,undo_lost", "--seed", "3")
    data = json.loads(out)
    assert (status, data["broken"], data["findings"], data["seed"]) == (0, False, [], 3)
    assert [each["cell"] for each in data["cells"]] == ["1:undo", "1:undo_lost"]
    assert {each["verdict"] for each in data["cells"]} == {"handed over"}
    assert data["command"].endswith("--seed 3")


def test_a_script_may_be_a_file(typed: Callable[..., Said], tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text('[{"call": "order", "args": {"sku": "b"}}, {"error": "transient"}, "Done."]')
    status, out, _ = typed(*ANSWERS, "--model", f"scripted:{script}", "--cell", "1:transient")
    assert status == 0, out
    status, out, _ = typed(*ANSWERS, "--model", f"{FAKES}:script", "--cell", "1:transient")
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

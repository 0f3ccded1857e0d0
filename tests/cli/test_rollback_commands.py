"""`ukemi rollback` and `ukemi gc`, on stores of sessions that worked on files."""

import json
import time
from collections.abc import Callable
from functools import partialmethod
from pathlib import Path
from typing import Any

import anyio
import pytest
from rolled import Rig, worker

from ukemi.cli import app
from ukemi.models import call
from ukemi.stores.workspace.collect import GRACE_S
from ukemi.stores.workspace.objects import Objects

Ran = Callable[..., tuple[int, str, str]]


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    """Return a tree on which a session ``s`` has worked and completed."""
    rig = Rig(tmp_path, {"a": "v1", "b": "v1"})
    of = worker(
        [
            call("write_file", path="a", text="v2"),
            call("shell", command="printf v2 > b; printf n > new"),
            "done",
        ]
    )

    async def begin() -> None:
        async with rig.runtime(of) as runtime:
            await rig.start(runtime, of, session_id="s")

    anyio.run(begin)
    return rig


@pytest.fixture
def ran(rig: Rig, capsys: pytest.CaptureFixture[str]) -> Ran:
    """Return who runs a command on that store: its status, and what it printed."""

    def run(*words: str) -> tuple[int, str, str]:
        capsys.readouterr()
        status = app.run([*words, "--store", str(rig.store)])
        printed = capsys.readouterr()
        return status, printed.out, printed.err

    return run


def test_a_preview_changes_nothing_and_says_what_the_rollback_then_does(rig: Rig, ran: Ran) -> None:
    status, out, _ = ran("rollback", "s", "--to", "1", "--dry-run")
    assert (status, rig.text("b")) == (0, "v2")
    assert "restored   b" in out
    assert "deleted    new" in out
    assert "1 path" not in out
    status, done, err = ran("rollback", "s", "--to", "1", "--by", "ann")
    assert (status, rig.told) == (0, {"a": "v2", "b": "v1"})
    assert done.splitlines()[1:3] == out.splitlines()[1:3]
    assert "ukemi resume MODULE s" in err
    assert "by ann" in ran("log", "s")[1]
    assert "back   full to 1" in ran("show", "s")[1]


def test_what_others_changed_is_left_and_the_status_says_so(rig: Rig, ran: Ran) -> None:
    (rig.tree / "b").write_text("by a user")
    status, out, _ = ran("rollback", "s", "--to", "0", "--mode", "soft", "--json")
    told = json.loads(out)
    assert (status, told["clean"], told["state"]) == (1, False, "done")
    assert {each["path"]: each["did"] for each in told["paths"]} == {
        "a": "restored",
        "b": "conflict",
        "new": "deleted",
    }
    status, out, _ = ran("rollback", "s", "--to", "0", "--mode", "soft", "--force")
    assert (status, rig.told) == (0, {"a": "v1", "b": "v1"})
    assert ran("rollback", "s", "--undo")[0] == 0
    assert rig.text("b") == "by a user"


WRONG = [
    (
        ["rollback", "s"],
        2,
        "needs the checkpoint to go back to: --to N, or take the last back: --undo",
    ),
    (["rollback", "s", "--to", "9"], 1, "no checkpoint 9"),
    (["rollback", "s", "--to", "-1"], 2, "no checkpoint"),
    (["rollback", "x", "--to", "0"], 1, "x"),
    (["rollback", "s", "--to", "0", "--undo"], 2, "not allowed"),
    (["rollback", "s", "--undo"], 1, "no rollback"),
    (["rollback", "s", "--to", "0", "--mode", "hard"], 2, "invalid choice"),
    (["gc", "--grace", "1"], 2, "grace"),
    (["gc", "--files", "nowhere"], 2, "no kept files"),
]


@pytest.mark.parametrize(("words", "status", "says"), WRONG)
def test_what_cannot_be_done_is_refused(ran: Ran, words: list[str], status: int, says: str) -> None:
    got, out, err = ran(*words)
    assert (got, out) == (status, "")
    assert says in err


def test_where_nothing_was_kept_nothing_is_freed(ukemi: Callable[..., Any]) -> None:
    """A store of sessions without files has no file of contents, and that is no fault."""
    assert ukemi("run", "cli_agents:talker", "hello").status == 0
    assert ukemi("gc").out == "freed 0 contents, 0 bytes; 0 stay\n"
    assert ukemi("gc", "--json").data["contents"] == 0
    assert not Path("ukemi.db-files").exists()


def test_contents_that_checkpoints_need_stay_and_others_go(
    rig: Rig, ran: Ran, monkeypatch: pytest.MonkeyPatch
) -> None:
    later = time.time() + 3 * GRACE_S
    # Days later, as the file of contents sees it.
    monkeypatch.setattr(Objects, "__init__", partialmethod(Objects.__init__, clock=lambda: later))
    status, out, _ = ran("gc", "--dry-run", "--json")
    assert status == 0
    assert json.loads(out)["lost"] == []
    status, out, _ = ran("gc")
    assert status == 0
    assert out.startswith("freed")
    assert ran("rollback", "s", "--to", "0")[0] == 0
    assert rig.told == {"a": "v1", "b": "v1"}

"""One table of exit statuses holds for all commands: 0 done, 1 the sessions say no, 2 the words or files do."""

import io
import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from module_asking import BANK
from module_in_doubt import POST_OFFICE

from ukemi.cli import app
from ukemi.cli.commands import COMMANDS, GROUPS
from ukemi.stores.workspace import WorkspaceFiles

Ukemi = Callable[..., Any]

FAKES = str(Path(__file__).parents[1] / "support/drill_agents.py")
DRILL = f"drill {FAKES}:buyer go --only undo --stub order={FAKES}:own.order --stub order.compensate={FAKES}:own"

DONE = [
    "run cli_agents:talker hello",
    "resume post_office",
    "resume cli_agents talk --say more",
    "resolve letter done",
    "approve one",
    "deny one:2.0 --why no",
    "approvals",
    "handovers",
    "handovers letter",
    "rollback talk --to 0",
    "rollback done --to 0 --dry-run",
    "gc",
    "export done --out out.ukemi",
    "import case.ukemi",
    "sessions",
    "show done",
    "log done",
    "policy show",
    "policy check good.toml",
    "policy explain --status 503",
    "policy explain --session letter --step 2",
    "classify",
    f"{DRILL}.cancel",
]
NOT_DONE = [
    "run cli_agents:visitor enter",
    "run cli_agents:talker hello --session-id done",
    "run bank:clerk pay --no-wait",
    "resume bank",  # all that is left is parked
    "resume bank one --no-wait",
    "resume cli_agents done",
    "resume cli_agents nobody",
    "resume cli_agents letter",  # of an agent that the module does not have
    "resolve done done",
    "resolve done go_on --result more",
    "resolve letter done --call 9.0",
    "resolve nobody done",
    "approve done",
    "approve one:9.0",
    "deny nobody",
    "handovers done",
    "handovers nobody",
    "rollback talk --undo",
    "rollback talk --to 99",
    "rollback one --mode prune",
    "rollback nobody --to 0",
    "export nobody",
    "export done --checkpoint 99",
    "show nobody",
    "show done --checkpoint 99",
    "log nobody",
    "policy explain --session done --step 2",
    "policy explain --session nobody --step 2",
    "policy simulate --agent nobody",
    "policy simulate --seeds 2",  # too little for any number
    "classify < nonsense",
    f"{DRILL}.forget",
]
BAD_INPUT = [
    "run cli_agents:nobody x --store new.db",
    "run cli_agents:talker x --session-id no/name --store new.db",
    "run cli_agents:talker x --session-id a.1.0 --store new.db",
    "run cli_agents:talker x --budget cost_usd=1 --store new.db",
    "run cli_agents:talker x --policy bad.toml --store new.db",
    "resume nowhere",
    "resume cli_agents --say more",
    "resolve letter perhaps",
    "resolve letter go_on",
    "resolve letter cancel --call 2.0",
    "approve one --args nonsense",
    "deny :2.0 --store none.db",
    "approvals --limit 0",
    "handovers --limit 0",
    "rollback talk",
    "rollback talk --to -1",
    "gc --files none",
    "gc --files junk.ukemi",
    "gc --grace 1",
    "export done --out case.ukemi",
    "export done --store good.toml",
    "import junk.ukemi --store new.db",
    "import none.ukemi --store new.db",
    "import case.ukemi --files junk.ukemi --into new --store new.db",
    "sessions --store none.db",
    "sessions --status odd",
    "show done --checkpoint -1",
    "log",
    "policy show --policy bad.toml",
    "policy check bad.toml",
    "policy check junk.ukemi",
    "policy check none.toml",
    "policy explain",
    "policy explain --session letter --step two",
    "policy explain --status 503 --policy bad.toml",
    "policy simulate --seeds 0",
    "classify --rules none.toml",
    f"drill {FAKES}:buyer go",
    "demo --policy good.toml",
    "demo --model none:x --keep kept",
    "demo --store ukemi.db --keep kept",
]
TABLE = [
    *((line, 0) for line in DONE),
    *((line, 1) for line in NOT_DONE),
    *((line, 2) for line in BAD_INPUT),
]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a store: sessions that completed, one in doubt, one that asks."""
    folder = tmp_path_factory.mktemp("world")
    (folder / "bank.py").write_text(BANK)
    (folder / "post_office.py").write_text(POST_OFFICE)
    (folder / "good.toml").write_text("[transient]\nattempts_max = 2\n")
    (folder / "bad.toml").write_text("[transient]\nattempts_max = 0\n")
    (folder / "junk.ukemi").write_text("junk")
    (folder / "tree").mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr(sys, "path", [str(folder), *sys.path])
        for words in (
            "cli_agents:clerk x --session-id done --cwd tree",
            "cli_agents:talker x --session-id talk",
            "post_office:sender x --session-id letter",
            "bank:clerk x --session-id one --no-wait",
        ):
            app.run(["run", *words.split()])
        assert app.run(["export", "done", "--out", "case.ukemi"]) == 0
    kept = WorkspaceFiles(folder / "ukemi.db-files")
    kept.workspace(folder / "tree").snapshot()
    kept.close()
    return folder


@pytest.fixture
def here(ukemi: Ukemi, world: Path, tmp_path: Path) -> Ukemi:
    shutil.copytree(world, tmp_path, dirs_exist_ok=True)
    return ukemi


@pytest.mark.parametrize(("line", "status"), TABLE, ids=[line for line, _ in TABLE])
def test_the_table_holds(
    here: Ukemi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, status: int
) -> None:
    command, _, given = line.partition(" < ")
    monkeypatch.setattr("sys.stdin", io.StringIO(given))
    before = files(tmp_path)
    ran = here(*command.split(), "--json")
    assert ran.status == status, ran.err
    assert [json.loads(each) for each in ran.out.splitlines()] or ran.err or command == "classify"
    if status == 2:
        assert ran.out == ""
        assert ran.err.startswith("ukemi: ")
        assert files(tmp_path) == before, "nothing is made, and nothing is changed"


def files(folder: Path) -> dict[str, bytes]:
    """What is there, but for what SQLite and Python make when a file is opened."""
    passing = ("-wal", "-shm", ".pyc", "__pycache__")
    return {
        str(each.relative_to(folder)): each.read_bytes() if each.is_file() else b""
        for each in folder.rglob("*")
        if not each.name.endswith(passing)
    }


@pytest.mark.parametrize("lines", [DONE, BAD_INPUT], ids=["done", "bad input"])
def test_every_command_is_in_the_table(lines: list[str]) -> None:
    words = [line.split() for line in lines]
    named = {each[1] if each[0] in GROUPS else each[0] for each in words}
    # These take long, and have tests of their own.
    left = {"demo", "simulate"} if lines is DONE else set[str]()
    assert named == COMMANDS - set(GROUPS) - left

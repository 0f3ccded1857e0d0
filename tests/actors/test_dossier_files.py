"""A handover tells what the session changed in its files, and how they go back."""

from pathlib import Path

import pytest
from rolled import Rig, worker

from ukemi import HandedOver, PermissionDenied, tool
from ukemi.actors.dossier_markdown import markdown_of
from ukemi.actors.file_changes import changes_of
from ukemi.actors.outcome import FileChange
from ukemi.models import call
from ukemi.stores.workspace import Touched
from ukemi.stores.workspace.entries import File
from ukemi.tools import shell, write_file


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@tool
async def publish() -> str:
    raise PermissionDenied("no right to publish")


async def test_files_that_were_changed_are_listed_and_can_be_taken_back(tmp_path: Path) -> None:
    rig = Rig(tmp_path, {"kept.txt": "k", "old.txt": "o", "gone.txt": "g"})
    of = worker(
        [
            call("write_file", path="new.txt", content="n"),
            call("shell", command="echo more >> old.txt; rm gone.txt; touch kept.txt"),
            call("publish"),
            "Done.",
        ],
        [shell, write_file, publish],
    )
    async with rig.runtime(of) as runtime:
        session, outcome = await rig.start(runtime, of)
        assert isinstance(outcome, HandedOver) and outcome.reason == "permission"
        named = {each.path: each.change for each in outcome.dossier.files}
        # What its tool takes back by itself at such an end is no change any more.
        assert named == {"old.txt": "changed", "gone.txt": "removed"}
        assert not rig.told.keys() & {"new.txt", b"new.txt"}
        (option,) = [each for each in outcome.dossier.options if each.name == "rollback"]
        assert option.command == f"ukemi rollback {session.id} --to 0 --mode full"
        text = markdown_of(session.id, "agent", outcome)
        assert "## Files\n\n- gone.txt: removed\n- old.txt: changed\n" in text
        await session.rollback(0, "full")
    assert rig.text("old.txt") == "o" and rig.text("gone.txt") == "g"


def test_what_is_as_it_was_is_no_change() -> None:
    one, other = (File(mode=0o644, size=1, digest=bytes([number] * 32)) for number in (1, 2))
    found = changes_of(
        {
            b"same": Touched(one, one),
            b"new": Touched(None, one),
            b"old": Touched(one, other, mixed=True),
            b"gone": Touched(other, None),
            b"never": Touched(None, None),
        }
    )
    assert found == [
        FileChange(path="gone", change="removed"),
        FileChange(path="new", change="added"),
        FileChange(path="old", change="changed", shared=True),
    ]

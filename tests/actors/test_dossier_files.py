"""A handover tells what the session changed in its files, and how they go back."""

from pathlib import Path

import pytest
from rolled import Rig, worker

from ukemi import HandedOver, PermissionDenied, current, tool
from ukemi.actors.handover.file_changes import changes_of
from ukemi.actors.handover.markdown import markdown_of
from ukemi.actors.outcome import FileChange
from ukemi.models import call
from ukemi.stores.workspace import Touched
from ukemi.stores.workspace.entries import File
from ukemi.tools import write_file


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@tool
async def publish() -> str:
    raise PermissionDenied("no right to publish")


@tool(effect="write", workspace=True)
def tidy_up() -> str:
    folder = Path(current().working_directory)
    (folder / "old.txt").write_text("more")
    (folder / "gone.txt").unlink()
    return "tidied up"


async def test_files_that_were_changed_are_listed_and_can_be_taken_back(tmp_path: Path) -> None:
    rig = Rig(tmp_path, {"kept.txt": "k", "old.txt": "o", "gone.txt": "g"})
    of = worker(
        [
            call("write_file", path="new.txt", text="n"),
            call("tidy_up"),
            call("publish"),
            "Done.",
        ],
        [tidy_up, write_file, publish],
    )
    async with rig.runtime(of) as runtime:
        session, outcome = await rig.start(runtime, of)
        assert isinstance(outcome, HandedOver) and outcome.reason == "permission"
        named = {each.path: each.change for each in outcome.dossier.files}
        # What its tool takes back by itself at such an end is no change any more.
        assert named == {"old.txt": "changed", "gone.txt": "removed"}
        assert not (rig.tree / "new.txt").exists()
        (option,) = [each for each in outcome.dossier.options if each.name == "rollback"]
        assert option.command == f"ukemi rollback {session.id} --to 0 --mode full"
        text = markdown_of(session.id, "agent", outcome)
        assert "## Files\n\n- gone.txt: removed\n- old.txt: changed\n" in text
        await session.rollback(0, "full")
    assert rig.text("old.txt") == "o" and rig.text("gone.txt") == "g"


async def test_a_file_that_was_taken_back_at_the_end_is_no_change(tmp_path: Path) -> None:
    """Nor is a rollback offered: nothing is left that it could take back."""
    rig = Rig(tmp_path, {"old.txt": "o"})
    of = worker(
        [call("write_file", path="old.txt", text="n"), call("publish"), "Done."],
        [write_file, publish],
    )
    async with rig.runtime(of) as runtime:
        _, outcome = await rig.start(runtime, of)
    assert isinstance(outcome, HandedOver) and outcome.reason == "permission"
    assert rig.text("old.txt") == "o"
    assert [each.standing for each in outcome.dossier.effects] == ["rolled back"]
    assert outcome.dossier.undone == "all"
    assert outcome.dossier.files == ()
    assert "rollback" not in {each.name for each in outcome.dossier.options}


@pytest.mark.parametrize("staged", [False, True])
async def test_a_write_that_changed_no_file_counts_as_taken_back(
    tmp_path: Path, staged: bool
) -> None:
    @tool(undo="rollback", workspace=True, staged=staged)
    async def tidy() -> str:
        return "nothing to tidy"

    rig = Rig(tmp_path, {"old.txt": "o"})
    of = worker([call("tidy"), call("publish"), "Done."], [tidy, publish])
    async with rig.runtime(of) as runtime:
        _, outcome = await rig.start(runtime, of)
    assert isinstance(outcome, HandedOver)
    assert [(each.standing, each.detail) for each in outcome.dossier.effects] == [
        ("rolled back", "")
    ]
    assert outcome.dossier.undone == "all"


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

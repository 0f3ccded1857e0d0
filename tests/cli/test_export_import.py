"""A checkpoint goes to another store with its files: `ukemi export`, `ukemi import`, `ukemi show --checkpoint`."""

import io
import json
from collections.abc import Callable
from pathlib import Path
from random import Random

import anyio
import msgspec
import pytest
from rolled import Rig, worker
from sessions import assert_paired, ended, requests

from ukemi import Completed
from ukemi.actors.portable import MAGIC, Portable, read_portable
from ukemi.cli import app
from ukemi.models import call
from ukemi.stores.records import (
    Answered,
    JournalEntry,
    Opened,
    Said,
    ToolCall,
    encode_row,
)
from ukemi.stores.workspace import ArchiveRefused

Ran = Callable[..., tuple[int, str, str]]
SCRIPT: list[str | ToolCall] = [
    call("write_file", path="a", text="v2"),
    call("shell", command="printf v2 > b; mkdir d; printf n > d/new; ln -s a l"),
    "done",
    "went on",
]


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    """Return a tree on which a session ``s`` has worked and completed."""
    rig = Rig(tmp_path, {"a": "v1", "b": "v1"})
    of = worker(SCRIPT)

    async def begin() -> None:
        async with rig.runtime(of) as runtime:
            await rig.start(runtime, of, session_id="s")

    anyio.run(begin)
    return rig


@pytest.fixture
def ran(capsys: pytest.CaptureFixture[str]) -> Ran:
    """Return who runs a command: its status, and what it printed."""

    def run(*words: object) -> tuple[int, str, str]:
        capsys.readouterr()
        status = app.run([str(word) for word in words])
        printed = capsys.readouterr()
        return status, printed.out, printed.err

    return run


def exported(rig: Rig, ran: Ran, to: Path, checkpoint: int = 2) -> Path:
    words = ("export", "s", "--checkpoint", checkpoint, "--out", to, "--store", rig.store)
    assert ran(*words)[0] == 0
    return to


def test_a_checkpoint_is_the_same_in_another_store_and_goes_on(
    rig: Rig, ran: Ran, tmp_path: Path
) -> None:
    file, other = exported(rig, ran, tmp_path / "x.ukemi"), tmp_path / "other.db"
    new = tmp_path / "new"
    status, out, _ = ran("import", file, "--into", new, "--store", other, "--json")
    assert status == 0
    assert json.loads(out) == {
        "session_id": "s",
        "agent": "agent",
        "checkpoint": 2,
        "working_directory": str(new),
        "files": 5,
    }
    there = Rig.__new__(Rig)
    there.tree, there.store = new, other
    assert there.told == rig.told
    show = ("show", "s", "--checkpoint", 2, "--json", "--store")
    was, now = (json.loads(ran(*show, store)[1]) for store in (rig.store, other))
    assert now["working_directory"] == str(new)
    assert {**now, "working_directory": ""} == {**was, "working_directory": ""}
    of = worker(SCRIPT)

    async def go_on() -> None:
        async with there.runtime(of) as runtime:
            session = runtime.session("s")
            await session.send("go on")
            assert await ended(runtime, "s", 60) == Completed("done")

    anyio.run(go_on)
    assert_paired(requests(of)[0].messages)


def test_an_earlier_checkpoint_has_the_files_of_its_time(
    rig: Rig, ran: Ran, tmp_path: Path
) -> None:
    file, new = exported(rig, ran, tmp_path / "x.ukemi", 1), tmp_path / "new"
    assert ran("import", file, "--into", new, "--store", tmp_path / "other.db")[0] == 0
    assert {path.name: path.read_text() for path in new.iterdir()} == {"a": "v2", "b": "v1"}


def test_a_name_that_is_taken_gets_another(rig: Rig, ran: Ran, tmp_path: Path) -> None:
    file = exported(rig, ran, tmp_path / "x.ukemi")
    status, out, _ = ran("import", file, "--store", rig.store, "--json")
    assert status == 0
    assert json.loads(out)["session_id"] != "s"
    assert json.loads(out)["working_directory"] == ""


def test_nothing_is_written_over(rig: Rig, ran: Ran, tmp_path: Path) -> None:
    file = exported(rig, ran, tmp_path / "x.ukemi")
    kept = file.read_bytes()
    assert ran("export", "s", "--out", file, "--store", rig.store)[0] == 2
    assert file.read_bytes() == kept
    other = tmp_path / "other.db"
    status, _, err = ran("import", file, "--into", rig.tree, "--store", other)
    assert (status, "not empty" in err) == (2, True)
    assert list(tmp_path.glob("other.db*")) == []
    assert ran("export", "s", "--checkpoint", 9, "--store", rig.store)[0] == 1


def test_show_at_a_checkpoint_is_the_five_tuple(rig: Rig, ran: Ran) -> None:
    _, out, _ = ran("show", "s", "--checkpoint", 1, "--json", "--store", rig.store)
    data = json.loads(out)
    assert set(data) == {
        "session_id",
        "messages",
        "working_directory",
        "tool_history",
        "checkpoint_counter",
    }
    assert [each["role"] for each in data["messages"]] == ["user", "assistant", "tool"]
    assert (data["checkpoint_counter"], len(data["tool_history"])) == (1, 1)


# ---------------------------------------------------------------- documents made by anybody


def document(entries: list[JournalEntry], **more: object) -> bytes:
    given = {"session_id": "s", "counter": 0, "agent": "agent", "journal": encode_row(entries)}
    return framed(msgspec.msgpack.encode(Portable(**(given | more))))  # type: ignore[arg-type]


def framed(head: bytes) -> bytes:
    return MAGIC + len(head).to_bytes(8, "big") + head


BEGUN: list[JournalEntry] = [Opened("agent", 1), Said(1, "go")]
HOSTILE = [
    ("no document", b"PK\x03\x04"),
    ("a size nobody could mean", MAGIC + b"\xff" * 8),
    ("an early end", framed(b"x" * 100)[:-10]),
    ("no head", framed(b"\xc1")),
    ("no journal", framed(msgspec.msgpack.encode({"session_id": "s"}))),
    ("an empty journal", document([])),
    ("no beginning", document([Said(1, "go")])),
    ("two beginnings", document([*BEGUN, Opened("agent", 1)])),
    ("another agent", document(BEGUN, agent="other")),
    ("another checkpoint", document(BEGUN, counter=3)),
    ("a call left open", document([*BEGUN, Answered(2, calls=(ToolCall("c", "shell"),))])),
    ("another text", document(BEGUN, blobs={"0" * 64: b"text"})),
    ("a journal of no rows", document(BEGUN, journal=b"\xc1")),
]


@pytest.mark.parametrize("body", [each[1] for each in HOSTILE], ids=[each[0] for each in HOSTILE])
def test_what_is_no_checkpoint_is_refused_and_nothing_is_stored(
    ran: Ran, tmp_path: Path, body: bytes
) -> None:
    file, store = tmp_path / "x.ukemi", tmp_path / "new.db"
    file.write_bytes(body)
    status, out, err = ran("import", file, "--into", tmp_path / "new", "--store", store)
    assert (status, out) == (2, "")
    assert err.startswith(f"ukemi: {str(file)!r} is refused, and nothing is stored: ")
    assert list(tmp_path.iterdir()) == [file], "no store, no contents, no folder"


def test_files_that_are_damaged_leave_nothing_behind_either(
    rig: Rig, ran: Ran, tmp_path: Path
) -> None:
    """The head is right, so only reading all of it tells."""
    file = exported(rig, ran, tmp_path / "x.ukemi")
    file.write_bytes(file.read_bytes()[:-60])
    before = set(tmp_path.iterdir())
    words = ("import", file, "--into", tmp_path / "new", "--store", tmp_path / "other.db")
    status, out, err = ran(*words)
    assert (status, out) == (2, "")
    assert "ends too early" in err
    assert set(tmp_path.iterdir()) == before


BAD_FOLDERS = [("x.ukemi", "is no folder"), ("none/new", "there is no folder")]


@pytest.mark.parametrize(("folder", "said"), BAD_FOLDERS)
def test_a_folder_that_cannot_be_is_refused_before_anything_is_made(
    rig: Rig, ran: Ran, tmp_path: Path, folder: str, said: str
) -> None:
    file = exported(rig, ran, tmp_path / "x.ukemi")
    before = set(tmp_path.iterdir())
    words = ("import", file, "--into", tmp_path / folder, "--store", tmp_path / "other.db")
    status, out, err = ran(*words)
    assert (status, out) == (2, "")
    assert said in err
    assert set(tmp_path.iterdir()) == before


@pytest.mark.parametrize("seed", range(8))
def test_a_document_that_was_tampered_with_is_refused_or_is_a_session(
    rig: Rig, ran: Ran, tmp_path: Path, seed: int
) -> None:
    """Whatever byte changes: no traceback, and no file outside the folder."""
    body = bytearray(exported(rig, ran, tmp_path / "x.ukemi").read_bytes())
    roll = Random(seed)
    for _ in range(3):
        body[roll.randrange(len(MAGIC), len(body))] = roll.randrange(256)
    try:
        _, entries = read_portable(io.BytesIO(bytes(body)))
    except ArchiveRefused:
        pass
    else:
        assert isinstance(entries[0], Opened)
    (tmp_path / "y.ukemi").write_bytes(body)
    new = tmp_path / "new"
    status, _, _ = ran("import", tmp_path / "y.ukemi", "--into", new, "--store", tmp_path / "o.db")
    assert status in (0, 1, 2)

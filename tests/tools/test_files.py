"""The file tools: whole files, inside the working directory, and never anywhere else."""

import errno
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from ukemi import NOT_DONE
from ukemi.actors.tooling.context import CallContext, calling
from ukemi.supervisor.errors import InvalidArgument, PermissionDenied, ResourceExhausted, UsageError
from ukemi.tools import delete_file, files, list_files, places, read_file, write_file


def at(directory: str) -> CallContext:
    return CallContext(
        session_id="s", agent="a", tool="t", call=(1, 0), working_directory=directory
    )


@pytest.fixture
def inside(tmp_path: Path) -> Iterator[Path]:
    """A working directory with a folder OUTSIDE beside it, and a call that runs in it."""
    work = tmp_path / "work"
    outside = tmp_path / "OUTSIDE"
    for folder in (work, work / "sub", outside):
        folder.mkdir()
    (work / "a.txt").write_text("one\ntwo\nthree\n")
    (outside / "secret.txt").write_text("host")
    (work / "link_in").symlink_to("a.txt")
    (work / "link_out").symlink_to(outside / "secret.txt")
    (work / "folder_out").symlink_to(outside)
    (work / "dangling").symlink_to("nowhere")
    (work / "dangling_out").symlink_to(outside / "new.txt")
    with calling(at(str(work))):
        yield work


@pytest.fixture(autouse=True)
def outside_stays_as_it_is(tmp_path: Path) -> Iterator[None]:
    """Whatever a test does, nothing outside of the working directory changes."""
    yield
    outside = tmp_path / "OUTSIDE"
    if outside.exists():
        assert [path.name for path in outside.iterdir()] == ["secret.txt"]
        assert (outside / "secret.txt").read_text() == "host"


def calls(path: str) -> dict[str, Callable[[], Any]]:
    return {
        "read": lambda: read_file(path),
        "write": lambda: write_file(path, "x"),
        "list": lambda: list_files(path),
        "delete": lambda: delete_file(path),
    }


ESCAPES = [
    "../OUTSIDE/secret.txt",
    "sub/../../OUTSIDE/secret.txt",
    "/etc/passwd",
    "{outside}/secret.txt",
    "folder_out/secret.txt",
    "folder_out/new.txt",
    "folder_out/deep/new.txt",
    "..",
    "../work2/x",
    "",
    "a\0b",
]
LAST_LINKS = ["link_out", "dangling_out"]


@pytest.mark.parametrize("action", ["read", "write", "list", "delete"])
@pytest.mark.parametrize("path", ESCAPES)
def test_RF_06_nothing_outside_is_reached(inside: Path, path: str, action: str) -> None:
    path = path.format(outside=inside.parent / "OUTSIDE")
    with pytest.raises(InvalidArgument) as caught:
        calls(path)[action]()
    assert caught.value.fields == ("path",)
    assert "path" in str(caught.value) or repr(path) in str(caught.value)


@pytest.mark.parametrize("action", ["read", "write", "list"])
@pytest.mark.parametrize("path", LAST_LINKS)
def test_RF_06_a_link_that_leads_out_is_not_followed(inside: Path, path: str, action: str) -> None:
    with pytest.raises(InvalidArgument, match="leads out"):
        calls(path)[action]()


def test_a_link_that_leads_out_can_be_deleted_itself(inside: Path) -> None:
    for path in [*LAST_LINKS, "dangling", "link_in", "folder_out"]:
        delete_file(path)
        assert not os.path.lexists(inside / path)
    assert (inside / "a.txt").exists()


def test_RF_06_a_folder_swapped_for_a_link_in_between_leads_nowhere(
    inside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The path was good when it was resolved; the walk must not follow what stands there now."""
    resolve = places.parts_inside

    def swapping(path: str, *, follow_last: bool = True) -> tuple[str, list[str]]:
        found = resolve(path, follow_last=follow_last)
        if (inside / "sub").is_dir() and not (inside / "sub").is_symlink():
            (inside / "sub").rmdir()
            (inside / "sub").symlink_to(inside.parent / "OUTSIDE")
        return found

    monkeypatch.setattr(places, "parts_inside", swapping)
    for action in calls("sub/secret.txt").values():
        with pytest.raises(InvalidArgument):
            action()


def test_absolute_paths_and_dots_are_fine_inside(inside: Path) -> None:
    assert read_file(f"{inside}/a.txt") == read_file("sub/../a.txt") == "one\ntwo\nthree\n"
    assert read_file("./a.txt") == read_file("link_in")


class Failing(NamedTuple):
    rule: str
    call: Callable[[], Any]
    says: str
    fields: tuple[str, ...] = ("path",)


FAILING = [
    Failing("reading what is not there", lambda: read_file("b.txt"), "'b.txt' does not exist"),
    Failing("reading a folder", lambda: read_file("sub"), "'sub' is a folder"),
    Failing("reading the working directory", lambda: read_file("."), "working directory"),
    Failing("reading through a file", lambda: read_file("a.txt/b"), "no folder"),
    Failing("reading a dangling link", lambda: read_file("dangling"), "does not exist"),
    Failing("a name too long", lambda: read_file("x" * 300), "is too long"),
    Failing("writing to a folder", lambda: write_file("sub", "x"), "is a folder"),
    Failing("writing through a file", lambda: write_file("a.txt/b", "x"), "no folder"),
    Failing("listing a file", lambda: list_files("a.txt"), "no folder"),
    Failing("listing what is not there", lambda: list_files("b"), "does not exist"),
    Failing("deleting what is not there", lambda: delete_file("b.txt"), "does not exist"),
    Failing("deleting a folder", lambda: delete_file("sub"), "is a folder"),
    Failing("deleting the folder itself", lambda: delete_file("."), "no entry"),
    Failing("reading behind the end", lambda: read_file("a.txt", 9), "has 3 lines", ("offset",)),
    Failing("half a character", lambda: write_file("b.txt", "a\ud83d"), "position 1", ("text",)),
]


@pytest.mark.parametrize("case", FAILING, ids=lambda case: case.rule)
@pytest.mark.usefixtures("inside")
def test_what_the_model_can_mend_names_the_argument(case: Failing) -> None:
    with pytest.raises(InvalidArgument) as caught:
        case.call()
    assert case.says in str(caught.value)
    assert caught.value.fields == case.fields


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (errno.EACCES, PermissionDenied),
        (errno.EPERM, PermissionDenied),
        (errno.EROFS, PermissionDenied),
        (errno.ENOSPC, ResourceExhausted),
        (errno.EDQUOT, ResourceExhausted),
        (errno.EMFILE, ResourceExhausted),
        (errno.EIO, OSError),
    ],
    ids=lambda value: errno.errorcode.get(value, "") if isinstance(value, int) else value.__name__,
)
def test_what_the_system_says_becomes_what_a_tool_says(
    inside: Path, monkeypatch: pytest.MonkeyPatch, code: int, kind: type[Exception]
) -> None:
    def failing(*_: Any, **__: Any) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "fsync", failing)
    with pytest.raises(kind) as caught:
        write_file("a.txt", "new")
    if isinstance(caught.value, ResourceExhausted | PermissionDenied):
        assert "'a.txt'" in str(caught.value)
        assert caught.value.may_have_executed == "no"
    monkeypatch.undo()
    assert read_file("a.txt") == "one\ntwo\nthree\n", "never half written"
    assert not [name for name in os.listdir(inside) if name.endswith(".tmp")]


def test_without_a_working_directory_a_person_has_to_act(tmp_path: Path) -> None:
    with calling(at("")), pytest.raises(PermissionDenied, match="no working directory"):
        read_file("a.txt")
    with calling(at(str(tmp_path / "gone"))), pytest.raises(PermissionDenied, match="gone"):
        list_files()
    with pytest.raises(UsageError, match="current"):
        read_file("a.txt")


def test_a_file_comes_back_as_it_was_written(inside: Path) -> None:
    text = "é\u2028😀\r\nno line end at the end"
    assert (
        write_file("new/deep/file.txt", text)
        == f"wrote 'new/deep/file.txt', {len(text.encode())} bytes"
    )
    assert read_file("new/deep/file.txt") == text
    assert (inside / "new/deep/file.txt").read_bytes() == text.encode()
    assert write_file("new/deep/file.txt", "") == "replaced 'new/deep/file.txt', 0 bytes"
    assert read_file("new/deep/file.txt") == ""
    assert not [name for name in os.listdir(inside / "new/deep") if name.endswith(".tmp")]


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o755, 0o4755])
def test_RF_05_writing_keeps_the_mode(inside: Path, mode: int) -> None:
    (inside / "a.txt").chmod(mode)
    write_file("a.txt", "new")
    assert stat.S_IMODE((inside / "a.txt").stat().st_mode) == mode


def test_a_new_file_gets_the_mode_any_program_would_give_it(inside: Path) -> None:
    write_file("b.txt", "x")
    (inside / "c.txt").write_text("x")
    assert (inside / "b.txt").stat().st_mode == (inside / "c.txt").stat().st_mode


def test_writing_through_a_link_inside_keeps_the_link(inside: Path) -> None:
    write_file("link_in", "new")
    assert (inside / "link_in").is_symlink()
    assert (inside / "a.txt").read_text() == "new"


def test_a_reader_sees_the_old_file_or_the_new_one(
    inside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []
    replace = os.replace

    def watching(*args: Any, **kwargs: Any) -> None:
        seen.append((inside / "a.txt").read_text())
        replace(*args, **kwargs)
        seen.append((inside / "a.txt").read_text())

    monkeypatch.setattr(os, "replace", watching)
    write_file("a.txt", "new")
    assert seen == ["one\ntwo\nthree\n", "new"]


def test_a_long_file_comes_in_parts_that_join_to_the_whole(inside: Path) -> None:
    text = "".join(f"line {n} {'x' * (n % 90)}\n" for n in range(5000))
    (inside / "long.txt").write_text(text)
    offset, parts = 1, list[str]()
    while True:
        part, _, note = read_file("long.txt", offset).rpartition("\n[lines ")
        assert len(part.encode()) <= files.SHOWN_BYTES_MAX
        parts.append(part)
        if "go on with offset=" not in note:
            break
        offset = int(note.partition("offset=")[2].rstrip("]"))
    assert note == f"{offset} to 5000 of 5000]"
    assert "\n".join(parts) + "\n" == text


@pytest.mark.parametrize(
    ("offset", "limit", "expected"),
    [
        (1, 1, "one\n[lines 1 to 1 of 3; go on with offset=2]"),
        (2, 1, "two\n[lines 2 to 2 of 3; go on with offset=3]"),
        (3, 9, "three\n[lines 3 to 3 of 3]"),
        (1, 3, "one\ntwo\nthree\n"),
    ],
)
@pytest.mark.usefixtures("inside")
def test_a_part_says_what_it_is(offset: int, limit: int, expected: str) -> None:
    assert read_file("a.txt", offset, limit) == expected


def test_a_line_longer_than_what_is_shown_is_cut(inside: Path) -> None:
    (inside / "wide.txt").write_text("é" * 100_000 + "\nend")
    found = read_file("wide.txt")
    assert len(found.encode()) < files.SHOWN_BYTES_MAX + 100
    assert "bytes missing" in found
    assert found.endswith("[lines 1 to 1 of 2; go on with offset=2]")


def test_of_a_huge_file_the_unread_part_is_told(
    inside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "READ_BYTES_MAX", 8)
    assert read_file("a.txt").endswith(
        "[lines 1 to 2 of 2; 6 bytes behind them were not looked at]"
    )
    assert inside.exists()


@pytest.mark.parametrize(
    ("data", "shows"),
    [
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "[binary file of 16 bytes, begins with 89 50 4e 47"),
        (b"\xff\xfeA\0B\0", "AB"),
        (b"caf\xe9", "caf\\xe9"),
        (b"", ""),
    ],
    ids=["binary", "UTF-16", "Latin-1", "empty"],
)
def test_bytes_that_are_no_text(inside: Path, data: bytes, shows: str) -> None:
    (inside / "data").write_bytes(data)
    assert read_file("data").startswith(shows)


def test_pipes_and_devices_are_not_read(inside: Path) -> None:
    """Opening a pipe nobody writes to would wait for ever."""
    os.mkfifo(inside / "pipe")
    for action in ("read", "write"):
        with pytest.raises(InvalidArgument, match="no regular file"):
            calls("pipe")[action]()
    assert list_files().count("[special]") == 1


def test_a_listing_tells_kinds_and_sizes(inside: Path) -> None:
    assert list_files().splitlines() == [
        "a.txt  14",
        "dangling -> nowhere",
        f"dangling_out -> {inside.parent}/OUTSIDE/new.txt",
        f"folder_out -> {inside.parent}/OUTSIDE",
        "link_in -> a.txt",
        f"link_out -> {inside.parent}/OUTSIDE/secret.txt",
        "sub/",
    ]
    assert list_files("sub") == "[empty folder]"


def test_names_of_any_bytes_are_listed(inside: Path) -> None:
    (inside / "sub/two\nlines").touch()
    with open(os.path.join(os.fsencode(inside), b"sub/caf\xe9"), "w"):
        pass
    assert list_files("sub") == "caf\udce9  0\ntwo\\nlines  0"


def test_a_long_listing_is_bounded(inside: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "ENTRIES_MAX", 3)
    assert list_files().splitlines()[3] == "[4 more entries; list a folder inside]"
    assert inside.exists()


def test_the_probe_of_a_deletion_tells_whether_it_took_place(inside: Path) -> None:
    probe = delete_file.marks.probe
    assert probe is not None
    assert probe(path="a.txt") is NOT_DONE
    done = delete_file("a.txt")
    assert probe(path="a.txt") == done
    assert probe(path="gone/too.txt") == "deleted 'gone/too.txt'"
    assert inside.exists()


def test_marks() -> None:
    for marks in (read_file.marks, list_files.marks):
        assert (marks.effect, marks.overlap) == ("read", True)
    for marks in (write_file.marks, delete_file.marks):
        assert (marks.effect, marks.undo, marks.overlap) == ("write", "rollback", False)
    assert write_file.marks.safe_to_retry
    assert not delete_file.marks.safe_to_retry
    assert delete_file.marks.danger == "delete_files"
    resource = write_file.marks.resource
    assert callable(resource)
    assert resource(path="a/../b.txt", text="x") == "file:b.txt"


def test_a_file_that_may_not_be_written_is_not_replaced(
    inside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Renaming over a file asks for rights on the folder only; the file's own rights count."""
    asked: list[Any] = []

    def no(name: str, mode: int, **_: Any) -> bool:
        asked.append((name, mode))
        return False

    monkeypatch.setattr(os, "access", no)
    with pytest.raises(PermissionDenied, match=r"'a\.txt'.*read-only"):
        write_file("a.txt", "x")
    assert asked == [("a.txt", os.W_OK)]
    assert (inside / "a.txt").read_text() == "one\ntwo\nthree\n"

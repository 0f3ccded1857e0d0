"""Private copies of trees: equal to the original, independent of it, and gone in the end."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from work_trees import make, told

from ukemi import PermissionDenied, ResourceExhausted
from ukemi.stores.overlay import Overlays, print_of

TREE: dict[str | bytes, str] = {
    "a.txt": "one",
    "b/c/d.txt": "two",
    "empty": "/",
    "link": "-> a.txt",
    "outside": "-> /etc/hostname",
    ".git/HEAD": "ref: x",
    b"n\xf6n-utf8": "three",
    "store.db": "own",
    "store.db-wal": "own",
    "store.dbx": "not own",
}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    folder = tmp_path / "tree"
    folder.mkdir()
    make(folder, TREE)
    (folder / "b/c/d.txt").chmod(0o750)
    (folder / "a.txt").chmod(0o444)
    return folder


def test_a_copy_is_equal_and_independent(tree: Path, tmp_path: Path) -> None:
    overlays = Overlays(tmp_path / "copies")
    overlay = overlays.make(str(tree), bytes_max=1000, own=("store.db",))
    copy = Path(overlay.directory)
    before = told(tree, modes=True, git=True)
    assert told(copy, modes=True, git=True) == {
        path: what for path, what in before.items() if path not in ("store.db", "store.db-wal")
    }
    assert (copy / "a.txt").stat().st_mtime_ns == (tree / "a.txt").stat().st_mtime_ns
    with (copy / "b/c/d.txt").open("r+") as file:
        file.write("TWO")
    (copy / "a.txt").unlink()
    assert told(tree, modes=True, git=True) == before
    (copy / "b").chmod(0)  # a tool may leave anything
    overlays.remove(overlay)
    assert not copy.exists()
    overlays.close()
    assert list((tmp_path / "copies").iterdir()) == []


def test_a_link_to_the_tree_leads_to_the_copy(tree: Path, tmp_path: Path) -> None:
    (tree / "here").symlink_to(tree)
    (tree / "there").symlink_to(tree / "a.txt")
    (tree / "beside").symlink_to(f"{tree}-other/a.txt")
    overlay = Overlays(tmp_path / "copies").make(str(tree), bytes_max=1000)
    copy = Path(overlay.directory)
    assert os.readlink(copy / "here") == str(copy)
    assert os.readlink(copy / "there") == str(copy / "a.txt")
    assert os.readlink(copy / "beside") == f"{tree}-other/a.txt"


def test_a_tree_that_is_too_large_leaves_nothing(tree: Path, tmp_path: Path) -> None:
    overlays = Overlays(tmp_path / "copies")
    with pytest.raises(ResourceExhausted, match="more than 10 bytes"):
        overlays.make(str(tree), bytes_max=10)
    (home,) = (tmp_path / "copies").iterdir()
    assert [each.name for each in home.iterdir()] == ["lock"]


def test_copies_do_not_lie_in_the_tree_they_are_of(tree: Path) -> None:
    with pytest.raises(ResourceExhausted, match="would lie inside"):
        Overlays(tree / "copies").make(str(tree), bytes_max=1000)


def test_a_folder_that_others_can_open_is_refused(tree: Path, tmp_path: Path) -> None:
    top = tmp_path / "copies"
    top.mkdir(mode=0o755)
    with pytest.raises(PermissionDenied, match="this user alone"):
        Overlays(top).make(str(tree), bytes_max=1000)


@pytest.mark.realtime
def test_copies_of_a_killed_process_are_removed_and_those_of_a_living_one_stay(
    tree: Path, tmp_path: Path
) -> None:
    top = tmp_path / "copies"
    program = (
        "import os, signal, sys; from pathlib import Path; from ukemi.stores.overlay import Overlays;"
        "Overlays(Path(sys.argv[1])).make(sys.argv[2], bytes_max=1000); os.kill(os.getpid(), signal.SIGKILL)"
    )
    subprocess.run([sys.executable, "-c", program, str(top), str(tree)], check=False, timeout=60)
    (dead,) = top.iterdir()
    living = Overlays(top)
    mine = living.make(str(tree), bytes_max=1000)
    assert not dead.exists()
    other = Overlays(top).make(str(tree), bytes_max=1000)
    assert Path(mine.directory).is_dir()
    assert Path(other.directory).is_dir()


def test_a_print_changes_with_what_is_below(tree: Path) -> None:
    first = print_of(str(tree / ".git"))
    assert print_of(str(tree / ".git")) == first
    make(tree, {".git/refs/x": "y"})
    second = print_of(str(tree / ".git"))
    assert second != first
    make(tree, {".git/HEAD": "ref: longer"})
    assert print_of(str(tree / ".git")) not in (first, second)
    assert print_of(str(tree / "absent")) == print_of(str(tree / "absent"))

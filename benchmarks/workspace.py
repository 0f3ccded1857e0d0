"""Snapshots and restores of a tree beside a shadow git repository, in one run.

    python benchmarks/workspace.py [--files 10000] [--mb 200] [--rounds 7] [--json]

Both keep the same tree at the same moments, in turn. Git does what a program that uses it for snapshots
does: ``git add -A``, ``write-tree``, ``commit-tree`` with its repository elsewhere, and to go back the
same again and then ``read-tree --reset -u``. Ours is in this process, as in a runtime, and syncs what it
stores; git, as it is set up, leaves its objects to the kernel.
"""

import argparse
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Protocol

import msgspec

from ukemi.stores.workspace import Window, WorkspaceFiles

FOLDERS = 400
CHANGED = 10
FIRST_ROUNDS = 3
ALL_ROUNDS = 2
# Files are read again while they are younger than a clock tick; git does the same.
SETTLE_S = 0.05


class Row(msgspec.Struct):
    """Medians over the rounds, in milliseconds; the ratio is ours to git's of the same round."""

    what: str
    ours_ms: float
    git_ms: float
    ratio: float


class Figures(msgspec.Struct):
    files: int
    bytes: int
    rows: list[Row]
    ours_disk_mb: float
    git_disk_mb: float


class Side(Protocol):
    """One way to keep a tree."""

    def snapshot(self) -> str: ...
    def restore(self, before: str, after: str) -> None: ...


class Ours:
    def __init__(self, store: Path, tree: Path) -> None:
        self.files = WorkspaceFiles(store)
        self._space = self.files.workspace(tree)

    def snapshot(self) -> str:
        return self._space.snapshot().root

    def restore(self, before: str, after: str) -> None:
        report = self._space.restore(self._space.plan(before, [Window(before, after)]))
        assert report.clean, report


class Git:
    def __init__(self, store: Path, tree: Path) -> None:
        who = {
            f"GIT_{kind}_{what}": "x@y"
            for kind in ("AUTHOR", "COMMITTER")
            for what in ("NAME", "EMAIL")
        }
        nobody = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
        self._env = {
            **os.environ,
            **who,
            **nobody,
            "GIT_DIR": str(store),
            "GIT_WORK_TREE": str(tree),
        }
        self._tree = tree
        self._run("init", "-q")

    def _run(self, *words: str) -> str:
        done = subprocess.run(
            ["git", *words],
            env=self._env,
            cwd=self._tree,
            check=True,
            capture_output=True,
            text=True,
        )
        return done.stdout.strip()

    def snapshot(self) -> str:
        self._run("add", "-A")
        return self._run("commit-tree", "-m", "x", self._run("write-tree"))

    def restore(self, before: str, after: str) -> None:
        self.snapshot()
        self._run("read-tree", "--reset", "-u", before)


def make_tree(root: Path, files: int, total: int, rng: random.Random) -> list[Path]:
    """Make files of words, one in twenty of noise, of lengths as in a project."""
    words = [
        "".join(rng.choices("abcdefghijklmnopqrstuvwxyz_", k=rng.randint(3, 10)))
        for _ in range(3000)
    ]
    shares = (0.1, 0.3, 0.5, 1, 1, 1.5, 2.6)
    paths: list[Path] = []
    for number in range(files):
        group = number % FOLDERS
        path = root / f"p{group % 20}/m{group}/f{number}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        length = int(total / files * rng.choice(shares))
        text = " ".join(rng.choices(words, k=length // 7 + 1)).encode()[:length]
        path.write_bytes(rng.randbytes(length) if number % 20 == 0 else text)
        paths.append(path)
    return paths


def change(paths: list[Path], rng: random.Random, count: int) -> None:
    for path in rng.sample(paths, count):
        with path.open("a") as file:
            file.write(f"# {rng.random()}\n")
    time.sleep(SETTLE_S)


def timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return (time.perf_counter() - start) * 1e3


def in_turn(sides: list[Side], number: int) -> list[Side]:
    return sides if number % 2 else sides[::-1]


def medians(rounds: Sequence[tuple[float, float]]) -> tuple[float, float, float]:
    """Return those of ours, of git, and of the ratio of both in each round."""
    ours, git = zip(*rounds, strict=True)
    ratio = statistics.median(mine / other for mine, other in rounds)
    return round(statistics.median(ours), 1), round(statistics.median(git), 1), round(ratio, 2)


def first(folder: Path, tree: Path) -> Row:
    """Keep a tree nobody has seen, each time into an empty store."""
    rounds: list[tuple[float, float]] = []
    for number in range(FIRST_ROUNDS):
        ours, git = (
            Ours(folder / f"first-{number}", tree),
            Git(folder / f"first-{number}.git", tree),
        )
        took = {side: timed(side.snapshot) for side in in_turn([ours, git], number)}
        rounds.append((took[ours], took[git]))
        ours.files.close()
        for left in folder.glob(f"first-{number}*"):
            shutil.rmtree(left) if left.is_dir() else left.unlink()
    return Row("first snapshot", *medians(rounds))


def snapshots(what: str, sides: list[Side], rounds: int, before: Callable[[], object]) -> Row:
    found: list[tuple[float, float]] = []
    for number in range(rounds):
        before()
        took = {side: timed(side.snapshot) for side in in_turn(sides, number)}
        found.append((took[sides[0]], took[sides[1]]))
    return Row(what, *medians(found))


def restores(what: str, sides: list[Side], rounds: int, before: Callable[[], object]) -> Row:
    """Go back from a change; each side from a change of its own, kept by both."""
    found: list[tuple[float, float]] = []
    for number in range(rounds):
        took: dict[Side, float] = {}
        for side in in_turn(sides, number):
            then = {each: each.snapshot() for each in sides}
            before()
            now = {each: each.snapshot() for each in sides}
            took[side] = timed(partial(side.restore, then[side], now[side]))
        found.append((took[sides[0]], took[sides[1]]))
    return Row(what, *medians(found))


def on_disk(path: Path) -> float:
    """Return the megabytes that are allocated for files."""
    found = path.rglob("*") if path.is_dir() else path.parent.glob(path.name + "*")
    return round(sum(one.lstat().st_blocks * 512 for one in found if one.is_file()) / 1e6, 1)


def measure(folder: Path, files: int, total: int, rounds: int) -> Figures:
    rng = random.Random(7)
    tree = folder / "tree"
    paths = make_tree(tree, files, total, rng)
    time.sleep(SETTLE_S)
    rows = [first(folder, tree)]
    ours, git = Ours(folder / "files", tree), Git(folder / "shadow.git", tree)
    sides: list[Side] = [ours, git]
    for side in sides:
        side.snapshot()
    ours.files.close()
    disk = on_disk(folder / "files"), on_disk(folder / "shadow.git/objects")

    def ten() -> None:
        change(paths, rng, min(CHANGED, files))

    def every() -> None:
        change(paths, rng, files)

    rows.append(snapshots("no change", sides, rounds, lambda: None))
    rows.append(snapshots(f"{CHANGED} changes", sides, rounds, ten))
    rows.append(restores(f"restore {CHANGED}", sides, rounds, ten))
    rows.append(restores("restore all", sides, ALL_ROUNDS, every))
    ours.files.close()
    size = sum(path.stat().st_size for path in paths)
    return Figures(files, size, rows, *disk)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--mb", type=float, default=200)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", action="store_true")
    words = parser.parse_args()
    if shutil.which("git") is None:
        print("git is not installed; there is nothing to compare with", file=sys.stderr)
        return
    with tempfile.TemporaryDirectory(prefix="bench-workspace-") as folder:
        figures = measure(Path(folder), words.files, int(words.mb * 1e6), words.rounds)
    if words.json:
        print(json.dumps(msgspec.to_builtins(figures)))
        return
    print(f"{figures.files} files, {figures.bytes / 1e6:.0f} MB\n")
    print(f"{'':16}{'ours ms':>10}{'git ms':>10}{'ours : git':>12}")
    for row in figures.rows:
        print(f"{row.what:16}{row.ours_ms:10.1f}{row.git_ms:10.1f}{row.ratio:12.2f}")
    print(
        f"{'disk, MB':16}{figures.ours_disk_mb:10.1f}{figures.git_disk_mb:10.1f}"
        f"{figures.ours_disk_mb / figures.git_disk_mb:12.2f}"
    )


if __name__ == "__main__":
    main()

"""Runs a soak: one process that is killed again and again, one that lives on, and the checks."""

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random

import anyio
import msgspec
from msgspec import Struct

from ukemi import StoreError

from ..json_file import add_json_file
from .checks import Found, Steady, check_folder, check_steady
from .child import Rest, Sample

ROUND_S = 30.0
"""Seconds for which one store is used, at most: a long soak must not fill the disk."""

ROUNDS_MIN = 4
"""Rounds at least, so that there is something to compare."""

FINISH_S_MAX = 300.0
ROOT = Path(__file__).resolve().parent.parent.parent


class Report(Struct, kw_only=True):
    """What a soak has shown."""

    seconds: float
    seed: int
    kills: int = 0
    sessions: int = 0
    effects: int = 0
    statuses: Counter[str] = Counter()
    steady: Steady | None = None
    broken: list[str] = []


class Soak:
    """Both processes and their folders.

    Args:
        seconds: how long each works, not counting what it takes to finish.
    """

    def __init__(self, folder: Path, seconds: float, seed: int) -> None:
        self._folder = folder
        self._rounds = max(ROUNDS_MIN, round(seconds / ROUND_S))
        self._round_s = seconds / self._rounds
        self._chance = Random(seed)
        self.report = Report(seconds=seconds, seed=seed, statuses=Counter(), broken=[])

    def run(self) -> Report:
        """Return once both are done and all is checked."""
        with ThreadPoolExecutor(2) as both:
            for done in [both.submit(self._kill), both.submit(self._last)]:
                done.result()
        return self.report

    # ------------------------------------------------------------ the one that is killed

    def _kill(self) -> None:
        for number in range(self._rounds):
            folder = self._folder / f"killed-{number}"
            folder.mkdir()
            until = time.monotonic() + self._round_s
            while (left := until - time.monotonic()) > 0:
                lives_s = min(left, self._life_s())
                process = _start(folder)
                try:
                    status = process.wait(lives_s)
                    self.report.broken.append(f"a process ended by itself, with status {status}")
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
                    self.report.kills += 1
            self._finish(folder)
            self._check(folder)

    def _life_s(self) -> float:
        """Return how long the next process lives: now and then it hardly begins."""
        if self._chance.random() < 0.15:
            return self._chance.uniform(0.2, 1.0)
        return self._chance.uniform(1.0, 5.0)

    def _finish(self, folder: Path) -> None:
        try:
            status = _start(folder, "--finish").wait(FINISH_S_MAX)
        except subprocess.TimeoutExpired:
            self.report.broken.append(f"{folder.name} was not finished in {FINISH_S_MAX:g} s")
        else:
            if status:
                self.report.broken.append(f"{folder.name} was not finished: status {status}")

    # ------------------------------------------------------------ the one that lives on

    def _last(self) -> None:
        folder = self._folder / "lasting"
        times = ("--rounds", str(self._rounds), "--seconds", str(self._round_s))
        process = _start(folder, *times, told=True)
        assert process.stdout is not None
        rests: list[Rest] = []
        for line in process.stdout:
            match msgspec.json.decode(line, type=Sample | Rest):
                case Sample() as sample:
                    _progress(sample, self.report.kills)
                case Rest() as rest:
                    rests.append(rest)
                    self._check(folder / f"round-{rest.round}")
        status = process.wait(FINISH_S_MAX)
        if status:
            self.report.broken.append(f"the process that lives on ended with status {status}")
        steady = self.report.steady = check_steady(rests)
        self.report.broken.extend(steady.broken)

    def _check(self, folder: Path) -> None:
        report = self.report
        try:
            found: Found = anyio.run(check_folder, folder)
        except StoreError as error:
            report.broken.append(f"{folder.name}: {error}")
            return
        report.sessions += found.sessions
        report.effects += found.effects
        report.statuses.update(found.statuses)
        report.broken.extend(f"{folder.name}: {each}" for each in found.broken)
        if not found.broken:
            shutil.rmtree(folder)


def _start(folder: Path, *options: str, told: bool = False) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "benchmarks.soak.child", str(folder), *options],
        cwd=ROOT,
        stdout=subprocess.PIPE if told else None,
        text=True,
    )


def _progress(sample: Sample, kills: int) -> None:
    print(
        f"{sample.ended:>8} sessions ended, {sample.in_memory:>3} in memory, {sample.starts_waiting:>3} "
        f"starts wait, {sample.rss_kib:>7} KiB, lag {sample.lag_s_max:.3f} s, "
        f"commit p99 {sample.commit_ms_p99:.1f} ms; {kills} kills",
        file=sys.stderr,
        flush=True,
    )


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak")
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--seconds", type=float, help="in place of minutes")
    parser.add_argument("--seed", type=int, default=1)
    add_json_file(parser, "write the report to this file")
    parser.add_argument("--keep", action="store_true", help="keep the folder of stores and books")
    given = parser.parse_args()
    seconds = given.minutes * 60 if given.seconds is None else given.seconds
    folder = Path(tempfile.mkdtemp(prefix="ukemi-soak-"))
    try:
        report = Soak(folder, seconds, given.seed).run()
    finally:
        if not given.keep:
            shutil.rmtree(folder, ignore_errors=True)
    text = msgspec.json.format(msgspec.json.encode(report)).decode()
    print(text)
    told = f"{len(report.broken)} broken, see above" if report.broken else "nothing is broken"
    print(f"{told}; memory is compared at rest, between rounds", file=sys.stderr)
    if given.json is not None:
        given.json.write_text(text, "utf-8")
    return 1 if report.broken else 0


if __name__ == "__main__":
    sys.exit(main())

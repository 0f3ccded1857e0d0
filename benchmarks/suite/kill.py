"""B4: a process with many sessions is killed in the middle, and another goes on with them.

Effects are lines of a file that tools append to: the system keeps them when the process is gone, and
nobody of the contenders reads them.
"""

import asyncio
import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path


class Effects:
    """Where tools leave their effects."""

    def __init__(self, folder: str) -> None:
        self._file = os.open(path_of(folder), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def add(self, at: str) -> None:
        os.write(self._file, f"{at}\n".encode())


def path_of(folder: str) -> str:
    return str(Path(folder).parent / f"{Path(folder).name}.effects")


def kill_and_resume(
    module: str,
    given: Mapping[str, object],
    kill_at: int,
    at_kill: Callable[[], dict[str, float]] = dict,
) -> dict[str, float]:
    """Run a module's cell ``begin``, kill it, and run its cell ``resume`` to the end.

    Args:
        given: ``folder``, ``sessions``, ``steps`` and what else both cells take.
        kill_at: how many effects there are when it is killed; one that never gets there is cut off
            with the cell.
        at_kill: what else is measured while nobody has the store open.

    Returns:
        What ``resume`` has measured, and the effects: how many, how many more than once, how many of
        all those planned are missing.
    """
    planned = int(str(given["sessions"])) * int(str(given["steps"]))
    effects = Path(path_of(str(given["folder"])))
    try:
        effects.write_bytes(b"")
        _begin(module, given, effects, kill_at)
        seen = effects.read_bytes().count(b"\n")
        found = {**at_kill(), **_resume(module, given)}
        lines = Counter(effects.read_bytes().split())
    finally:
        effects.unlink(missing_ok=True)
    return {
        **found,
        "effects_at_kill": float(seen),
        "duplicated": float(sum(times - 1 for times in lines.values())),
        "missing": float(planned - len(lines)),
    }


def _command(module: str, given: Mapping[str, object]) -> list[str]:
    return [sys.executable, "-m", module, json.dumps(given)]


def _begin(module: str, given: Mapping[str, object], effects: Path, kill_at: int) -> None:
    process = subprocess.Popen(
        _command(module, {"cell": "begin", **given}),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    try:
        while effects.stat().st_size == 0 or effects.read_bytes().count(b"\n") < kill_at:
            if process.poll() is not None:
                assert process.stderr is not None
                last = process.stderr.read().decode("utf-8", "replace")[-2000:]
                raise RuntimeError(f"{module} ended before it was killed:\n{last}")
            time.sleep(0.002)
    finally:
        process.kill()
        process.communicate()


def _resume(module: str, given: Mapping[str, object]) -> dict[str, float]:
    done = subprocess.run(
        _command(module, {"cell": "resume", **given}),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise RuntimeError(f"{module} could not go on:\n{done.stderr[-2000:]}")
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


class GoingOn:
    """When each unfinished session has gone on: its model was asked again, or it came to an end."""

    def __init__(self, waiting: set[str]) -> None:
        self._waiting = waiting
        self._began = time.perf_counter()
        self._cpu = time.process_time()
        self._all: tuple[float, float] | None = None
        self._count = len(waiting)
        self._gate = asyncio.Event()

    def seen(self, session: str) -> None:
        if self._all is None:
            self._waiting.discard(session)
            if not self._waiting:
                self._all = (
                    time.perf_counter() - self._began,
                    time.process_time() - self._cpu,
                )
                self._gate.set()

    async def all_seen(self) -> None:
        """Wait for the last one: a model that does so lets nobody's further steps hold up the others."""
        await self._gate.wait()

    def read(self) -> dict[str, float]:
        """Raises RuntimeError: a session was never seen."""
        if self._all is None:
            raise RuntimeError(
                f"{len(self._waiting)} sessions never went on: {self._waiting!r:.200}"
            )
        wall_s, cpu_s = self._all
        return {"going_on_s": wall_s, "going_on_cpu_s": cpu_s, "unfinished": float(self._count)}

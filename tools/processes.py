"""A command and all it starts, ended together: POSIX process groups with a deadline.

The leader of the group is reaped last. Until then its number, which is the group's number too,
cannot be given to anybody else, so a signal to the group can hit nobody else.
"""

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from typing import IO, cast

import anyio
from anyio.lowlevel import checkpoint
from msgspec import Struct

KEPT_BYTES_MAX = 256 * 1024
CHUNK_BYTES = 64 * 1024
POLL_S = 0.02
REAP_S_MAX = 1.0
DRAIN_CHUNKS_MAX = 64


class Kept:
    """The beginning and the end of a stream, in bounded memory."""

    def __init__(self, room: int = KEPT_BYTES_MAX) -> None:
        self._room = room
        self.head = bytearray()
        self.tail = bytearray()
        self.total = 0

    def add(self, data: bytes) -> None:
        self.total += len(data)
        free = self._room - len(self.head)
        if free > 0:
            self.head += data[:free]
            data = data[free:]
        self.tail += data
        # Trimmed at twice its size only, so that each byte is moved once on average.
        if len(self.tail) > 2 * self._room:
            del self.tail[: -self._room]

    @property
    def missing(self) -> int:
        """Bytes between head and tail that were not kept."""
        self.tail = self.tail[-self._room :]
        return self.total - len(self.head) - len(self.tail)


class Finished(Struct, frozen=True):
    """How a command ended. ``status`` is None where nobody can know, a negative one a signal."""

    status: int | None
    stdout: Kept
    stderr: Kept
    timed_out: bool


async def run_group(
    command: Sequence[str],
    *,
    cwd: str,
    env: Mapping[str, str],
    timeout_s: float,
    grace_s: float,
) -> Finished:
    """Run a command in a process group of its own until it is over, and end the group.

    It is over when the process has ended and nothing holds its output open any more: a background
    process that still writes counts as part of the command, one that does not is killed with the
    group. At ``timeout_s`` the group gets SIGTERM, after ``grace_s`` more SIGKILL; a cancelled
    call does the same at once. Either way every process of the group has been sent SIGKILL on
    return (the system may take a moment to end them), and what was printed so far is kept.

    Raises:
        OSError: the command cannot be started.
    """
    group = _Group(command, cwd, env)
    timed_out = True
    try:
        with anyio.move_on_after(timeout_s):
            await group.over()
            timed_out = False
    finally:
        # Cancelled or not, nothing may be left: bounded by the grace time and REAP_S_MAX.
        with anyio.CancelScope(shield=True):
            await group.end(grace_s if timed_out else None)
    return Finished(group.status, group.stdout, group.stderr, timed_out)


class _Group:
    def __init__(self, command: Sequence[str], cwd: str, env: Mapping[str, str]) -> None:
        self.stdout = Kept()
        self.stderr = Kept()
        self._lost = False
        self._process = subprocess.Popen(
            command,
            cwd=cwd,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            bufsize=0,
        )
        self._pipes = {
            cast(IO[bytes], self._process.stdout): self.stdout,
            cast(IO[bytes], self._process.stderr): self.stderr,
        }
        for pipe in self._pipes:
            os.set_blocking(pipe.fileno(), False)

    @property
    def status(self) -> int | None:
        return None if self._lost else self._process.returncode

    async def over(self) -> None:
        """Wait until the leader has ended and its pipes are at their end."""
        async with anyio.create_task_group() as tasks:
            for pipe, kept in self._pipes.items():
                tasks.start_soon(_read, pipe.fileno(), kept)
            await self._exited()

    async def end(self, grace_s: float | None) -> None:
        """End what is left of the group, politely first where there is a grace time, and reap."""
        if grace_s is not None:
            self._signal(signal.SIGTERM)
            with anyio.move_on_after(grace_s):
                await self.over()
        self._signal(signal.SIGKILL)
        with anyio.move_on_after(REAP_S_MAX):
            await self._exited()
        for pipe, kept in self._pipes.items():
            _drain(pipe.fileno(), kept)
            pipe.close()
        if self._has_exited():
            self._process.poll()

    def _signal(self, number: signal.Signals) -> None:
        try:
            os.killpg(self._process.pid, number)
        except (ProcessLookupError, PermissionError):
            # Nobody left; some systems say "not permitted" of a group of the dead.
            return

    async def _exited(self) -> None:
        """Wait for the leader to end, without reaping it."""
        try:
            watched = os.pidfd_open(self._process.pid)
        except (AttributeError, OSError):
            await self._poll_exit()  # not Linux, or a kernel before 5.3
            return
        try:
            await anyio.wait_readable(watched)
        finally:
            os.close(watched)

    async def _poll_exit(self) -> None:
        while not self._has_exited():  # noqa: ASYNC110 (the system has no event to offer)
            await anyio.sleep(POLL_S)

    def _has_exited(self) -> bool:
        options = os.WEXITED | os.WNOHANG | os.WNOWAIT
        try:
            return os.waitid(os.P_PID, self._process.pid, options) is not None
        except ChildProcessError:
            # The program ignores SIGCHLD, so the system reaped it. How it ended is not known, and
            # subprocess would say 0.
            self._lost = True
            return True


async def _read(pipe: int, kept: Kept) -> None:
    """Read a pipe to its end."""
    while True:
        try:
            data = os.read(pipe, CHUNK_BYTES)
        except BlockingIOError:
            await anyio.wait_readable(pipe)
            continue
        if not data:
            return
        kept.add(data)
        await checkpoint()  # a command that prints without pause must not stop everybody else


def _drain(pipe: int, kept: Kept) -> None:
    """Take what is in a pipe; somebody who left the group may hold it open for ever."""
    for _ in range(DRAIN_CHUNKS_MAX):
        try:
            data = os.read(pipe, CHUNK_BYTES)
        except BlockingIOError:
            return
        if not data:
            return
        kept.add(data)

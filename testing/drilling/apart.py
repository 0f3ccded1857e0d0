"""Runs in processes of their own: nothing that one leaves behind reaches another, and one that hangs
for good is ended.

A forked process begins where its parent stands, so it is cheap, and the agent's module is in it as it
was loaded, untouched by any run. Where there is no fork, runs follow one another in this process.
"""

import os
import selectors
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Generator, Iterable
from typing import TypeVar

import msgspec

from .record import Seen

Key = TypeVar("Key")

CAN_FORK = hasattr(os, "fork")
JOBS_MAX = 4


class _Child:
    """A process under way: what it has told so far, and until when it may take."""

    def __init__(self, pid: int, pipe: int, until: float) -> None:
        self.pid = pid
        self.pipe = pipe
        self.until = until
        self.told = bytearray()


def run_apart(
    runs: Iterable[tuple[Key, Callable[[], Seen]]], *, limit_s: float, jobs: int, forks: bool
) -> Generator[tuple[Key, Seen]]:
    """Run these, several at a time, and yield what each has seen, in the order in which they end.

    Args:
        limit_s: real seconds for one run; one that takes longer is ended, and its error says so.
        forks: False runs them here, one after another; then nothing ends one that never ends.
    """
    if not forks:
        for key, run in runs:
            yield key, _tried(run)
        return
    waiting = iter(runs)
    children: dict[int, tuple[Key, _Child]] = {}
    with selectors.DefaultSelector() as selector:
        try:
            while True:
                while len(children) < jobs and (following := next(waiting, None)) is not None:
                    child = _forked(following[1], limit_s)
                    children[child.pipe] = following[0], child
                    selector.register(child.pipe, selectors.EVENT_READ)
                if not children:
                    return
                for pipe in _ready(selector, [child for _, child in children.values()]):
                    key, child = children[pipe]
                    seen = _heard(child, limit_s)
                    if seen is not None:
                        del children[pipe]
                        selector.unregister(pipe)
                        os.close(pipe)
                        yield key, seen
        finally:
            for _, child in children.values():
                os.kill(child.pid, signal.SIGKILL)
                os.waitpid(child.pid, 0)
                os.close(child.pipe)


def _ready(selector: selectors.BaseSelector, children: list[_Child]) -> list[int]:
    """Wait for something to read, or for the first that is out of time; return these pipes."""
    now = time.monotonic()
    wait_s = max(0.0, min(child.until for child in children) - now)
    found = [key.fd for key, _ in selector.select(wait_s)]
    now = time.monotonic()
    return found or [child.pipe for child in children if child.until <= now]


def _heard(child: _Child, limit_s: float) -> Seen | None:
    """Read what a process tells; None where there is more to come."""
    if time.monotonic() >= child.until:
        os.kill(child.pid, signal.SIGKILL)
        os.waitpid(child.pid, 0)
        return Seen(
            error=f"the run took more than {limit_s:g} s of real time and was ended: something blocks "
            "the event loop, such as time.sleep or a request that is not async"
        )
    part = os.read(child.pipe, 1 << 20)
    if part:
        child.told += part
        return None
    _, status = os.waitpid(child.pid, 0)
    try:
        return msgspec.msgpack.decode(bytes(child.told), type=Seen)
    except msgspec.MsgspecError:
        ended = os.waitstatus_to_exitcode(status)
        return Seen(error=f"the process of the run ended with status {ended} and told nothing")


def _forked(run: Callable[[], Seen], limit_s: float) -> _Child:
    reader, writer = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    with warnings.catch_warnings():
        # Of other threads of the caller: the child uses none of what they hold.
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if pid:
        os.close(writer)
        return _Child(pid, reader, time.monotonic() + limit_s)
    status = 1
    try:
        os.close(reader)
        _write_all(writer, msgspec.msgpack.encode(_tried(run)))
        status = 0
    finally:
        # Not `sys.exit`: the caller's own clean-up is not the child's to do.
        os._exit(status)
    raise AssertionError("gone")


def _write_all(pipe: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(pipe, view) :]


def _tried(run: Callable[[], Seen]) -> Seen:
    """Run, and tell of what went wrong with the run itself."""
    try:
        return run()
    except Exception as error:  # noqa: BLE001 - whatever it is, the drill has to tell of it
        where = "".join(traceback.format_exception(error, limit=-3))
        return Seen(error=f"the run could not be made: {type(error).__name__}: {error}\n{where}")

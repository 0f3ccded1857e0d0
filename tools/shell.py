"""The shell tool: one command, its whole process group, within its time."""

import codecs
import errno
import os
import signal
from collections.abc import Coroutine, Mapping
from typing import Annotated, Any

import anyio
from msgspec import Meta, Struct

from ..actors.text import clean, marker, shorten
from ..actors.tooling.context import current
from ..actors.tooling.tools import Tool, tool
from ..supervisor.errors import (
    InDoubtTimeout,
    InvalidArgument,
    PermissionDenied,
    ResourceExhausted,
    UsageError,
)
from .places import parts_inside
from .processes import Finished, Kept, run_group

TIMEOUT_S = 120.0
TIMEOUT_S_MAX = 600.0
GRACE_S = 1.0
TIMEOUT_OUTPUT_BYTES_MAX = 8 * 1024
# What a command line needs to work. Nothing else of our environment goes along: keys live there.
PASSED_ON = ("PATH", "HOME", "USER", "LOGNAME", "LANG", "LANGUAGE", "TZ", "TMPDIR", "SHELL")
PASSED_ON_PREFIX = "LC_"
_OURS = {"TERM": "dumb", "NO_COLOR": "1"}


class ShellResult(Struct, frozen=True):
    """How a command ended on its own. A negative exit status is the signal that ended it."""

    exit_status: int
    stdout: str = ""
    stderr: str = ""
    replaced: tuple[str, ...] = ()

    def to_text(self) -> str:
        """Return what the model sees: the exit status first, then what was printed."""
        return f"{_said(self.exit_status)}{_printed(self.stdout, self.stderr, self.replaced)}"


def _said(status: int) -> str:
    if status >= 0:
        return f"exit status {status}"
    try:
        return f"ended by {signal.Signals(-status).name}"
    except ValueError:
        return f"ended by signal {-status}"


def _printed(stdout: str, stderr: str, replaced: tuple[str, ...]) -> str:
    parts = [
        f"\n[{name}]\n{text}" for name, text in (("stdout", stdout), ("stderr", stderr)) if text
    ]
    note = f"\n[replaced: {', '.join(replaced)}]" if replaced else ""
    return ("".join(parts) or "\n[no output]") + note


def shell_tool(
    *,
    name: str = "shell",
    timeout_s: float = TIMEOUT_S,
    timeout_s_max: float = TIMEOUT_S_MAX,
    grace_s: float = GRACE_S,
    env: Mapping[str, str] | None = None,
    cwd: str = ".",
) -> Tool[..., Coroutine[Any, Any, ShellResult]]:
    """Make a shell tool.

    Args:
        name: the tool's name.
        timeout_s: seconds a command has if the model does not say; the session's deadline counts
            too, and the earlier one wins.
        timeout_s_max: the most the model may ask for; more is cut down to it.
        grace_s: seconds between SIGTERM and SIGKILL.
        env: variables beside those in ``PASSED_ON``; they win. A command can print them, so a
            secret in here is known to the model.
        cwd: where commands start, relative to the session's working directory and inside of it.

    Raises:
        UsageError: a time is not above 0.
    """
    for mark, seconds in (("timeout_s", timeout_s), ("timeout_s_max", timeout_s_max)):
        if not seconds > 0:
            raise UsageError(f"shell_tool: {mark}={seconds!r} must be above 0")
    if not grace_s >= 0:
        raise UsageError(f"shell_tool: grace_s={grace_s!r} must not be negative")
    extras = dict(env or {})

    @tool(
        name=name,
        effect="write",
        undo="rollback",
        danger="shell",
        success=_succeeded,
        # The command's own deadline comes first; this one is for a command that cannot be killed.
        timeout_s=timeout_s_max + grace_s + 5.0,
    )
    async def shell(
        command: str, timeout_s: Annotated[float, Meta(gt=0)] = timeout_s
    ) -> ShellResult:
        """Run a command with /bin/sh in the working directory.

        Standard input is empty. Everything the command starts is ended when it ends or when its
        time is up; a background process does not outlive the call.

        Args:
            command: as one would type it
            timeout_s: seconds the command may take
        """
        return await _run(command, min(timeout_s, timeout_s_max), grace_s, extras, cwd)

    return shell


async def _run(
    command: str, timeout_s: float, grace_s: float, extras: Mapping[str, str], cwd: str
) -> ShellResult:
    if "\0" in command:
        raise InvalidArgument("the command holds a NUL character", fields=["command"])
    timeout_s, grace_s = within_deadline(timeout_s, grace_s, _remaining_s())
    try:
        finished = await run_group(
            ["/bin/sh", "-c", command],
            cwd=_directory(cwd),
            env=environment(os.environ, extras),
            timeout_s=timeout_s,
            grace_s=grace_s,
        )
    except OSError as error:
        raise _not_started(error) from error
    return _judge(finished, timeout_s)


def _directory(cwd: str) -> str:
    root, parts = parts_inside(cwd)
    return os.path.join(root, *parts)


def _remaining_s() -> float | None:
    deadline = current().deadline
    return None if deadline is None else deadline - anyio.current_time()


def within_deadline(
    timeout_s: float, grace_s: float, remaining_s: float | None
) -> tuple[float, float]:
    """Fit timeout and grace time into what the session has left, so that the output comes back.

    A command ends before the session's deadline and not at it: at the deadline the whole call is
    cut off, and what it printed is lost.
    """
    if remaining_s is None or timeout_s + grace_s < remaining_s:
        return timeout_s, grace_s
    fitting = max(remaining_s - grace_s - 0.25, remaining_s * 0.7, 0.01)
    timeout_s = min(timeout_s, fitting)
    return timeout_s, min(grace_s, max((remaining_s - timeout_s) * 0.6, 0.01))


def environment(ours: Mapping[str, str], extras: Mapping[str, str]) -> dict[str, str]:
    """Return what a command gets to see of the environment."""
    passed = {
        key: value
        for key, value in ours.items()
        if key in PASSED_ON or key.startswith(PASSED_ON_PREFIX)
    }
    return {**passed, **_OURS, **extras}


def _succeeded(result: object) -> bool:
    return isinstance(result, ShellResult) and result.exit_status == 0


def _judge(finished: Finished, timeout_s: float) -> ShellResult:
    stdout, replaced = text_of(finished.stdout)
    stderr, also = text_of(finished.stderr)
    changed = tuple(dict.fromkeys((*replaced, *also)))
    if finished.timed_out or finished.status is None:
        printed = shorten(_printed(stdout, stderr, changed), TIMEOUT_OUTPUT_BYTES_MAX, tail=0.5)
        happened = (
            f"the command was ended after {timeout_s:.3g} s, with all it had started; what it did "
            "until then stays done"
            if finished.timed_out
            else "the command is over, but its exit status is lost: this program ignores SIGCHLD"
        )
        raise InDoubtTimeout(f"{happened}. Printed until then:{printed.text}")
    return ShellResult(finished.status, stdout, stderr, changed)


def text_of(kept: Kept) -> tuple[str, tuple[str, ...]]:
    """Return a stream as text, cut between characters, and the names of what was replaced."""
    missing = kept.missing
    if not missing:
        whole = clean(bytes(kept.head + kept.tail))
        return whole.text, whole.changed
    head, tail = bytes(kept.head), bytes(kept.tail)
    # A cut inside a character leaves some bytes of it on each side; they count as missing.
    whole_end = len(head) - _unfinished(head)
    start = next((at for at in range(4) if at < len(tail) and tail[at] & 0xC0 != 0x80), 0)
    first, last = clean(head[:whole_end]), clean(tail[start:])
    missing += len(head) - whole_end + start
    changed = tuple(dict.fromkeys((*first.changed, *last.changed)))
    return f"{first.text}{marker(missing)}{last.text}", changed


def _unfinished(data: bytes) -> int:
    """Return how many bytes at the end begin a character of UTF-8 that does not end."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    decoder.decode(data[-4:])
    return len(decoder.getstate()[0])


def _not_started(error: OSError) -> Exception:
    if error.errno == errno.E2BIG:
        return InvalidArgument("the command is too long for the system", fields=["command"])
    if error.errno in (errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE):
        return ResourceExhausted(
            f"the command was not started: {error.strerror}", may_have_executed="no"
        )
    return PermissionDenied(f"the command was not started: {error.strerror}")


shell = shell_tool()

"""Commands whose exit status hides that they failed: behind a pipe, or before another command. Pure."""

import json
import re
from collections.abc import Collection, Iterator, Sequence
from typing import Any, cast

import msgspec

from ...supervisor.patterns import lazy_pattern
from .record import Ran

_HIDES = lazy_pattern(
    r"\|\|\s*(?:true|:|echo|printf|exit 0)|\|&?\s*[a-z]|;\s*\S|\n[^\S\n]*\S|[^&>]&\s*$"
)
"""What makes the status of a command line another one's than that of the command in it."""
_READS = lazy_pattern(
    r"^\s*(?:cd [^;&|]*(?:&&|;)\s*)?(?:sudo )?(?:cat|grep|e?grep|rg|ag|tail|head|less|awk|sed|find|ls|journalctl|zcat|sort|"
    r"git (?:log|show|diff|grep|blame)|(?:docker|kubectl|podman)(?: \S+)?? logs?|dmesg|echo|printf)\b"
)
"""Commands that show what is written elsewhere: of that, nothing has failed."""
_FAILED = lazy_pattern(
    r"^(?:fatal|error|E): |^ERROR:? |^Error: |^npm ERR!|^\S*make(?:\[\d+\])?: \*\*\* |^ ?! \[(?:remote )?rejected\]|"
    r"^Traceback \(most recent|^(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception)\b:? |^docker: Error|^curl: \(\d+\)|"
    r"^\S+: (?:line \d+: |\d+: )?\S+: (?:command )?not found|: Permission denied$|^Could not connect"
)
_SUCCEEDED = lazy_pattern(
    r"\bsuccess|\b0 errors?\b|\bdone in\b|^(?:ok|done\.?|OK)$|成功", re.IGNORECASE
)
LINES = 4
"""Lines at the end of an output that tell how it ended."""
_STREAM = lazy_pattern(r"^\[(?:stdout|stderr)[^\]]*\]$")


def as_they_ended(ran: Sequence[Ran], executors: Collection[str]) -> Sequence[Ran]:
    """Return the calls, those commands as failed whose own output says so, whatever their status."""
    if not executors:
        return ran
    return [
        msgspec.structs.replace(each, state="failed")
        if each.ok and each.tool in executors and _has_failed(each)
        else each
        for each in ran
    ]


def _has_failed(call: Ran) -> bool:
    command = "\n".join(_texts(call.arguments))
    if _HIDES.search(command) is None or _READS.match(command):
        return False
    last: list[str] = []
    for line in reversed(call.content[-4000:].splitlines()):
        # What a command prints by itself, as in `a; echo done`, says nothing of what came before.
        if line.strip() and not _STREAM.match(line) and line.strip() not in command:
            last.append(line)
        if len(last) == LINES:
            break
    for line in last:  # the last one first: what it came to in the end counts
        if _SUCCEEDED.search(line):
            return False
        if _FAILED.search(line):
            return True
    return False


def _texts(arguments: str) -> Iterator[str]:
    try:
        held: Any = json.loads(arguments)
    except (ValueError, RecursionError):
        return
    if isinstance(held, dict):
        values = cast("dict[str, object]", held).values()
        yield from (value for value in values if isinstance(value, str))

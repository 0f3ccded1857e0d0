"""Options that were typed before the command they belong to: said before the parser takes their values for
commands. Pure."""

import shlex
from collections.abc import Collection, Sequence

from ..supervisor.errors import UsageError

_OWN = ("-h", "--help", "--version")
"""What `ukemi` itself takes, without a command."""


def check_place(words: Sequence[str], commands: Collection[str], groups: Collection[str]) -> None:
    """Refuse options before the command; ``groups`` are commands that take one more.

    Raises:
        UsageError: it names the option, and shows the line with it behind the command.
    """
    at = 1 if words and words[0] in groups else 0
    if at >= len(words) or not words[at].startswith("-") or words[at] in _OWN:
        return
    option = words[at].partition("=")[0]
    front, rest = words[:at], words[at:]
    raise UsageError(
        f"{option} stands before the command, and belongs behind it: {_line(front, rest, commands)}"
    )


def _line(front: Sequence[str], rest: Sequence[str], commands: Collection[str]) -> str:
    """Return what was meant, as far as a command can be told from the value of an option."""
    alone = "=" in rest[0] or rest[0] == "--json"
    behind = range(1 if alone else 2, len(rest))
    found = next((at for at in behind if rest[at] in commands), None)
    if found is None:
        return " ".join(["ukemi", *front, "COMMAND", rest[0].partition("=")[0], "..."])
    return shlex.join(["ukemi", *front, *rest[found:], *rest[:found]])

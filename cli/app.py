"""The `ukemi` command: words in, an exit status out."""

import argparse
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import TextIO

import anyio

from ..supervisor.errors import UkemiError
from .arguments import make_parser
from .commands import COMMANDS, GROUPS, command_of, drill_now
from .errors import BAD_INPUT, NOT_DONE, status_of
from .output import Output, OutputGone
from .placing import check_place
from .stored import default_store
from .terminal import is_tty, terminal_of
from .typed import spread_budgets


def run(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status; arguments default to those of the process.

    See `errors` for what each means.
    """
    words = sys.argv[1:] if argv is None else argv
    try:
        # Looking the version up takes longer than the whole parser.
        version = _version() if "--version" in words else ""
        check_place(words, COMMANDS, GROUPS)
        parser = make_parser(version, default_store())
        if not words:
            _say(parser.format_help().rstrip())
            return BAD_INPUT
        options = parser.parse_args(spread_budgets(words))
    except UkemiError as error:
        return _refuse(error)
    except SystemExit as end:  # argparse ends the process after --help and --version
        return int(end.code or 0)
    try:
        if options.command == "drill":
            return drill_now(options, words, _output(options))
        return anyio.run(command_of(options, _output(options)))
    except OutputGone as error:
        return _unheard(error)
    except UkemiError as error:
        return _refuse(error)
    except KeyboardInterrupt:
        _say("interrupted")
        return NOT_DONE


def _unheard(error: OutputGone) -> int:
    """Nothing more can be printed, when Python flushes at its end neither."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if not isinstance(error.__cause__, BrokenPipeError):
        _say(f"ukemi: the output could not be written: {error}")
    return status_of(error)


def _refuse(error: UkemiError) -> int:
    _say(f"ukemi: {error}")
    return status_of(error)


def _say(text: str) -> None:
    """Say something on standard error; where nobody hears it, the exit status still tells."""
    with suppress(OSError, ValueError):
        stream = _stream(sys.stderr)
        stream.write(text + "\n")
        stream.flush()


def _version() -> str:
    from importlib import metadata

    try:
        return metadata.version("ukemi")
    except metadata.PackageNotFoundError:
        return "unknown"  # run from a folder that is not installed


def _output(options: argparse.Namespace) -> Output:
    stdout, stderr = _stream(sys.stdout), _stream(sys.stderr)
    return Output(
        stdout=stdout,
        stderr=stderr,
        terminal=terminal_of(stdout, os.environ),
        aside=terminal_of(stderr, os.environ),
        as_json=options.as_json,
        live=is_tty(stderr) and os.environ.get("TERM") != "dumb",
    )


def _stream(stream: TextIO | None) -> TextIO:
    """Return the stream, or one into nothing where the process was started without it."""
    return open(os.devnull, "w", encoding="utf-8") if stream is None else stream

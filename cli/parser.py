"""A parser that raises, and how a command is added to the others."""

import argparse
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any, NoReturn, Protocol

from ..supervisor.errors import UsageError


class Parser(argparse.ArgumentParser):
    """A parser that raises instead of ending the process.

    Names and options of a command may stand in any order, and what it does not know is told with its
    own usage; argparse leaves that to the outermost parser.
    """

    _among = False

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: Any = None
    ) -> tuple[Any, list[str]]:
        if self._subparsers is not None or self._among:
            return super().parse_known_args(args, namespace)
        self._among = True  # it asks this method again, for the options and for the names
        try:
            found, unknown = self.parse_known_intermixed_args(args, namespace)
        finally:
            self._among = False
        if unknown:
            near = get_close_matches(unknown[0], self._option_string_actions, 1, 0.75)
            hint = f"; did you mean {near[0]}?" if near else ""
            self.error(f"unrecognized arguments: {' '.join(unknown)}{hint}")
        return found, unknown

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}\n{self.format_usage().rstrip()}")


class Add(Protocol):
    """Adds a command of this name and help to the others."""

    def __call__(self, commands: Any, name: str, help: str, epilog: str = "") -> Parser: ...


def adding(common: Parser) -> Add:
    """Return what adds commands that all have these options."""

    def add(commands: Any, name: str, help: str, epilog: str = "") -> Parser:
        command: Parser = commands.add_parser(
            name,
            parents=[common],
            help=help,
            description=help[0].upper() + help[1:] + ".",
            epilog=epilog or None,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        return command

    return add

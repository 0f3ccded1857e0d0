"""A parser that raises, and how a command is added to the others."""

import argparse
from typing import Any, NoReturn, Protocol

from ..supervisor.errors import UsageError


class Parser(argparse.ArgumentParser):
    """A parser that raises instead of ending the process."""

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

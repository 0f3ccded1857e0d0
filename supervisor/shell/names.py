"""What a command line assigns and defines, wherever in it: variables and functions. Pure."""

from collections.abc import Iterator

from ..danger.paths import UNKNOWN
from .expand import expand
from .syntax import (
    Command,
    Compound,
    Part,
    Script,
    Simple,
    Substitution,
    Variable,
    Word,
)

VALUES_MAX = 16
_ASSIGNING = frozenset(("export", "declare", "typeset", "local", "readonly", "env", "set"))
_READING = frozenset(("read", "mapfile", "readarray", "getopts", "printf"))


class Found:
    """Variables with all they may hold, and the names of functions."""

    def __init__(self) -> None:
        self.names: dict[str, tuple[str, ...]] = {}
        self.functions: set[str] = set()

    def add(self, script: Script) -> None:
        """Take up what a script assigns and defines."""
        for command in commands_of(script):
            if isinstance(command, Compound):
                self._compound(command)
            else:
                self._simple(command)

    def _compound(self, command: Compound) -> None:
        if command.kind == "function":
            self.functions.add(command.name)
        elif command.kind == "for":
            words = [each for word in command.words for each in expand(word, self.names)]
            # Without words a loop goes through the arguments of the script or function.
            for text in [each.text for each in words] or [UNKNOWN]:
                self._put(command.name, text)

    def _simple(self, command: Simple) -> None:
        for name, word in command.assignments:
            for each in expand(word, self.names):
                self._put(name, each.text)
        words = [each for word in command.words for each in expand(word, self.names)]
        program = words[0].text if words else ""
        for each in words[1:]:
            name, equals, value = each.text.partition("=")
            if equals and program in _ASSIGNING and name.isidentifier():
                self._put(name, value)
            elif program in _READING and name.isidentifier():
                self._put(name, UNKNOWN)

    def _put(self, name: str, text: str) -> None:
        known = self.names.get(name, ())
        if text not in known:
            self.names[name] = (*known, text) if len(known) < VALUES_MAX else (UNKNOWN,)


def commands_of(script: Script) -> Iterator[Command]:
    """Yield all commands of a script in order, also those inside of others and of words."""
    for pipeline in script:
        for command in pipeline.commands:
            yield command
            for word in words_of(command):
                for inner in scripts_in(word):
                    yield from commands_of(inner)
            if isinstance(command, Compound):
                for inner in command.scripts:
                    yield from commands_of(inner)


def words_of(command: Command) -> Iterator[Word]:
    """Yield all words of a command itself, those of its redirections too."""
    yield from command.words
    if isinstance(command, Simple):
        yield from (word for _, word in command.assignments)
    yield from (each.target for each in command.redirects)


def scripts_in(word: Word) -> Iterator[Script]:
    """Yield the scripts that stand in a word."""
    for part in parts_in(word):
        if isinstance(part, Substitution):
            yield part.script


def parts_in(word: Word) -> Iterator[Part]:
    """Yield the parts of a word, and those of the words that stand in them."""
    for part in word.parts:
        yield part
        if isinstance(part, Variable) and part.rest is not None:
            yield from parts_in(part.rest)

"""A shell command as a tree: what was typed, before anything is expanded. Data only."""

from typing import Literal as OneOf

from msgspec import Struct


class NotUnderstood(Exception):
    """A command line, or a part of it, that the parser does not know; the message says what."""


class Literal(Struct, frozen=True):
    """Text as it is; in unquoted text ``*``, ``?``, ``[``, ``{`` and ``~`` have a meaning."""

    text: str
    quoted: bool = False


class Variable(Struct, frozen=True):
    """``$name`` or ``${name…}``; ``operator`` is what follows the name, ``rest`` its operand.

    An arithmetic expansion is one too, with the operator ``((``.
    """

    name: str
    quoted: bool = False
    operator: str = ""
    rest: "Word | None" = None


class Substitution(Struct, frozen=True):
    """What other commands print, in place (``$(…)``) or behind a file name (``<(…)``)."""

    script: "Script"
    quoted: bool = False
    as_file: bool = False


Part = Literal | Variable | Substitution


class Word(Struct, frozen=True):
    """One word; its parts stand side by side without blanks."""

    parts: tuple[Part, ...] = ()
    source: str = ""


class Redirect(Struct):
    """A redirection; of a here-document, ``target`` is its text, filled in where that is read."""

    operator: str
    target: Word


class Simple(Struct, frozen=True):
    """Assignments, a program with its arguments, and redirections; any of them may be missing."""

    assignments: tuple[tuple[str, Word], ...] = ()
    words: tuple[Word, ...] = ()
    redirects: tuple[Redirect, ...] = ()
    source: str = ""


CompoundKind = OneOf["subshell", "group", "if", "for", "while", "case", "function"]


class Compound(Struct, frozen=True):
    """Commands inside of others: all scripts in it, and the words it goes through or compares.

    ``name`` is the variable of a loop or the name of a function.
    """

    kind: CompoundKind
    scripts: tuple["Script", ...] = ()
    words: tuple[Word, ...] = ()
    name: str = ""
    redirects: tuple[Redirect, ...] = ()
    source: str = ""


Command = Simple | Compound


class Pipeline(Struct, frozen=True):
    """Commands joined by ``|``; one command is a pipeline, too.

    ``only_after``: it runs only if the one before it has succeeded (``&&``).
    """

    commands: tuple[Command, ...]
    source: str = ""
    only_after: bool = False


Script = tuple[Pipeline, ...]

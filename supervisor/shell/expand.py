"""What the words of a command become, as far as their text tells. Pure.

A part that is known only when the command runs is `UNKNOWN`; whoever reads the text must ask where it
stands in a place that matters.
"""

from collections.abc import Iterator, Mapping
from itertools import product

from msgspec import Struct

from ..danger.paths import HOME, UNKNOWN
from ..patterns import lazy_pattern
from .syntax import Literal, Part, Script, Simple, Substitution, Variable, Word

FIELDS_MAX = 32
TEXT_MAX = 4_000
"""Longer texts that are put together are not known: variables may double them without end."""
_BRACES_MAX = 4
_GLOB = lazy_pattern(r"[*?\[]")
_BRACES = lazy_pattern(r"\{([^{}]*(?:,|\.\.)[^{}]*)\}")
_RANGE = lazy_pattern(r"(-?\d+|[A-Za-z])\.\.(-?\d+|[A-Za-z])")
# What these print is one word without a slash, so it cannot lead anywhere else.
_PLAIN_OUTPUT = frozenset(
    ("date", "nproc", "id", "whoami", "hostname", "uname", "basename", "uuidgen", "wc", "arch")
)
_GIT_NAMES = (("git", "rev-parse"), ("git", "describe"))
_NUMBERS = frozenset("?#$") | {"RANDOM", "SECONDS", "LINENO", "UID", "EUID", "PPID"}


class Field(Struct, frozen=True):
    """One word as a program gets it.

    ``globs``: it stands for the names that match it. ``splits``: what is unknown in it may become
    several words, or none.
    """

    text: str
    globs: bool = False
    splits: bool = False

    @property
    def known(self) -> bool:
        """Tell whether the whole text is known."""
        return UNKNOWN not in self.text

    @property
    def shown(self) -> str:
        """The text as a sentence may show it."""
        return self.text.replace(UNKNOWN, "…")


Names = Mapping[str, tuple[str, ...]]
"""What variables may hold: each text that is assigned to them anywhere in the command."""


def expand(word: Word, names: Names) -> tuple[Field, ...]:
    """Return what a word may become: several where it has braces or a variable several values."""
    choices = [tuple(_part(part, names, first=at == 0)) for at, part in enumerate(word.parts)]
    total = 1
    for each in choices:
        total *= len(each)
    if total > FIELDS_MAX:
        return (Field(UNKNOWN, splits=True),)
    return tuple(_together(each) for each in product(*choices)) or (Field(""),)


def _together(fields: tuple[Field, ...]) -> Field:
    text = "".join(each.text for each in fields)
    return Field(
        text if len(fields) == 1 or len(text) <= TEXT_MAX else UNKNOWN,
        any(each.globs for each in fields),
        any(each.splits for each in fields),
    )


def _part(part: Part, names: Names, *, first: bool) -> Iterator[Field]:
    match part:
        case Literal(text, True):
            yield Field(text)
        case Literal(text):
            for each in _braces(text):
                yield Field(_home(each) if first else each, bool(_GLOB.search(each)))
        case Variable():
            yield from _variable(part, names)
        case Substitution(_, _, True):
            yield Field("/dev/fd/63")
        case Substitution(script, quoted):
            text = _printed(script)
            yield Field(text, splits=UNKNOWN in text and not quoted)


def _home(text: str) -> str:
    """Take ``~name`` for that user's home; ``~+`` and ``~-`` are folders nobody knows."""
    return UNKNOWN + text[2:] if text.startswith(("~+", "~-")) else text


def _braces(text: str) -> Iterator[str]:
    if text.count("{") > _BRACES_MAX:
        yield UNKNOWN
        return
    found = _BRACES.search(text)
    if found is None:
        yield text
        return
    before, after = text[: found.start()], text[found.end() :]
    inner = _RANGE.fullmatch(found[1])
    # A range stands for numbers or letters; the first and the last are examples enough.
    for each in inner.groups() if inner else found[1].split(","):
        yield from _braces(f"{before}{each}{after}")


def _variable(part: Variable, names: Names) -> Iterator[Field]:
    splits = not part.quoted or part.name in ("@", "*")
    if part.name == "!":
        yield Field("%1")  # the job that was started last, by its number
        return
    if part.operator in ("((", "#") or part.name in _NUMBERS:
        yield Field("0")
        return
    instead = part.operator.removeprefix(":") in ("-", "=", "+") and part.rest is not None
    if instead and part.rest is not None:
        yield from expand(part.rest, names)
    if part.operator in ("%", "%%", "##") and part.name in names:
        yield from (Field(_cut(each, part), splits=splits) for each in names[part.name])
        return
    if part.operator and not (instead or part.operator in (":?", "?")):
        yield Field(UNKNOWN, splits=splits)
        return
    if part.name == "HOME" and "HOME" not in names:
        yield Field(HOME)
    elif part.name == "TMPDIR" and "TMPDIR" not in names:
        yield Field("/tmp")
    elif part.name in names:
        for text in names[part.name]:
            several = splits and (" " in text or UNKNOWN in text)
            yield Field(text, bool(_GLOB.search(text)), several)
    elif part.operator.removeprefix(":") != "+":
        yield Field(UNKNOWN, splits=splits)


def _cut(text: str, part: Variable) -> str:
    """Return a text that a part is taken off of; where that might lead elsewhere, it is unknown.

    What is left of a relative path when its end is cut off leads to the same place or one above it
    that is inside; of ``${name##*/}`` the last name is left.
    """
    if part.operator == "##":
        whole = part.rest is not None and part.rest.source == "*/"
        return text.rpartition("/")[2] if whole and UNKNOWN not in text else UNKNOWN
    return UNKNOWN if text.startswith(("/", HOME)) or ".." in text else text


def _printed(script: Script) -> str:
    """Return what is known of the output of commands."""
    words = _only_words(script)
    if words[:1] == ("pwd",) and len(words) == 1:
        return "."
    if words[:1] == ("mktemp",):
        return "/tmp/0"
    if words[:1] == ("basename",):
        return "0"
    plain = words[:1] and words[0] in _PLAIN_OUTPUT
    named = words[:2] in _GIT_NAMES and not any("-dir" in w or "-top" in w for w in words)
    harmless = all(UNKNOWN not in word and "/" not in word for word in words[1:])
    return "0" if (plain or named) and harmless else UNKNOWN


def _only_words(script: Script) -> tuple[str, ...]:
    """Return the words of the only command in a script; empty where there are more."""
    if len(script) != 1 or len(script[0].commands) != 1:
        return ()
    command = script[0].commands[0]
    if not isinstance(command, Simple) or command.assignments:
        return ()
    fields = [expand(word, {}) for word in command.words]
    return tuple(each[0].text for each in fields) if all(len(f) == 1 for f in fields) else ()

"""What a terminal can show, and texts made to fit it. Pure but for asking the terminal's size."""

import math
import re
import shutil
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Literal, TextIO

from msgspec import Struct

from ..actors.text import clean

WIDTH_ELSEWHERE = 120
"""Columns where there is no terminal and COLUMNS does not say."""

WIDTH_MIN = 40

Colour = Literal["red", "green", "yellow", "blue", "grey", "bold"]
_CODES: Mapping[Colour, str] = {
    "red": "31",
    "green": "32",
    "yellow": "33",
    "blue": "34",
    "grey": "90",
    "bold": "1",
}
# Marks that turn the direction of what follows: a text must not rearrange the line it stands in.
_TURNING = re.compile("[\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_SPACES = re.compile(r"\s+")
_LONG_NUMBER = re.compile(r"(?<![\w.-])(?:\d+\.\d{3,}|\d+(?:\.\d+)?e[-+]\d+)(?!\w|\.\d)")

DIGITS_MAX = 6
"""Decimals of a number that is nearly nothing."""


class Terminal(Struct, frozen=True):
    """Where lines go: how wide, in colour or not, with line-drawing characters or without."""

    width: int = WIDTH_ELSEWHERE
    colour: bool = False
    drawing: bool = True

    def paint(self, text: str, colour: Colour | None) -> str:
        """Return the text in a colour, where there are colours."""
        if not self.colour or colour is None or not text:
            return text
        return f"\x1b[{_CODES[colour]}m{text}\x1b[0m"

    def pick(self, drawn: str, plain: str) -> str:
        """Return the first where the stream's encoding can say it."""
        return drawn if self.drawing else plain


def terminal_of(stream: TextIO, environ: Mapping[str, str]) -> Terminal:
    """Return what this stream can show. NO_COLOR and TERM=dumb switch colours off."""
    tty = is_tty(stream)
    encoding = (getattr(stream, "encoding", None) or "ascii").lower().replace("-", "")
    return Terminal(
        width=max(WIDTH_MIN, _columns(tty, environ)),
        colour=tty and not environ.get("NO_COLOR") and environ.get("TERM") != "dumb",
        drawing=encoding.startswith("utf"),
    )


def is_tty(stream: TextIO) -> bool:
    """Tell whether a person looks at this stream; a closed one has nobody."""
    try:
        return stream.isatty()
    except ValueError:
        return False


def _columns(tty: bool, environ: Mapping[str, str]) -> int:
    given = environ.get("COLUMNS", "")
    if given.isascii() and given.isdigit() and int(given):
        return int(given)
    return shutil.get_terminal_size().columns if tty else WIDTH_ELSEWHERE


# ---------------------------------------------------------------- texts


def one_line(text: str) -> str:
    """Return a text as one harmless line: no line breaks, no control or turning characters."""
    shown = clean(_SPACES.sub(" ", text).strip()).text
    return _TURNING.sub(lambda mark: f"\\u{ord(mark[0]):04x}", shown)


def columns_of(text: str) -> int:
    """Return how many columns a text takes."""
    if text.isascii():
        return len(text)
    return sum(_wide(char) for char in text)


def _wide(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def fit(text: str, width: int) -> str:
    """Cut a text to so many columns; a cut text ends in an ellipsis."""
    if columns_of(text) <= width:
        return text
    room, kept = max(width, 1) - 1, 0
    for index, char in enumerate(text):
        kept += _wide(char)
        if kept > room:
            return text[:index] + "…"
    return text


# ---------------------------------------------------------------- numbers


def duration(seconds: float) -> str:
    """Return a duration as a person says it: ``0.02 s``, ``3.1 s``, ``4 min``, ``2 h``, ``5 d``."""
    if seconds < 0.1:
        return f"{max(seconds, 0.0):.2f} s"
    if seconds < 100:
        return f"{seconds:.1f} s"
    for unit, size in (("min", 60), ("h", 3600)):
        if seconds < 100 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds / 86400:.0f} d"


def amount(value: float) -> str:
    """Return a number in few characters: ``9999``, ``12.3k``, ``3.4M``, ``0.004``."""
    if value >= 1e6:
        return f"{value / 1e6:.1f}M"
    if value >= 1e4:
        return f"{value / 1e3:.1f}k"
    if value == int(value):
        return f"{value:g}"
    digits = 2 if value >= 0.01 else min(-math.floor(math.log10(value)), DIGITS_MAX)
    return f"{value:.{digits}f}"


def rounded(text: str) -> str:
    """Return a text with its long numbers as `amount` says them; names with numbers stay."""
    return _LONG_NUMBER.sub(lambda number: amount(float(number[0])), text)


def plural(count: int, noun: str, nouns: str = "") -> str:
    """Return ``1 session``, ``2 sessions``."""
    return f"{count} {noun if count == 1 else nouns or noun + 's'}"


# ---------------------------------------------------------------- tables


class Column(Struct, frozen=True):
    """A column: its head, and whether it gives way, or is left out, in a table that is too wide."""

    head: str
    right: bool = False
    gives_way: bool = False
    optional: bool = False


class Cell(Struct, frozen=True):
    """A text in a table, in a colour."""

    text: str
    colour: Colour | None = None


GIVES_WAY_MIN = 20
"""Columns that a text keeps while there is something less important to leave out."""


def table(columns: Sequence[Column], rows: Sequence[Sequence[Cell]], terminal: Terminal) -> str:
    """Return a table that fits the terminal, head included; columns are two blanks apart."""
    widths = [
        max([columns_of(column.head), *(columns_of(row[at].text) for row in rows)])
        for at, column in enumerate(columns)
    ]
    shown = _fitting(columns, widths, terminal.width)
    head = [Cell(column.head, "grey") for column in columns]
    return "\n".join(_line(columns, row, shown, terminal) for row in [head, *rows])


def _fitting(columns: Sequence[Column], widths: Sequence[int], room: int) -> dict[int, int]:
    """Return the columns to show, by place, with their widths."""
    shown = dict(enumerate(widths))
    optional = [at for at, column in enumerate(columns) if column.optional]
    giving = next((at for at, column in enumerate(columns) if column.gives_way), None)
    if giving is None:
        return shown
    while True:
        others = sum(width + 2 for at, width in shown.items() if at != giving)
        left = room - others
        if left >= min(widths[giving], GIVES_WAY_MIN) or not optional:
            return {**shown, giving: max(min(widths[giving], left), len(columns[giving].head))}
        del shown[optional.pop()]


def _line(
    columns: Sequence[Column], row: Sequence[Cell], shown: Mapping[int, int], terminal: Terminal
) -> str:
    parts: list[str] = []
    for at, width in shown.items():
        text = fit(row[at].text, width)
        blanks = " " * (width - columns_of(text))
        painted = terminal.paint(text, row[at].colour)
        parts.append(blanks + painted if columns[at].right else painted + blanks)
    return "  ".join(parts).rstrip()


def width_left(terminal: Terminal, *taken: str) -> int:
    """Return the columns that are left beside these texts."""
    return terminal.width - sum(columns_of(text) for text in taken)

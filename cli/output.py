"""Standard output and standard error of one command: text for people, or JSON and nothing else."""

from typing import Any, TextIO

import msgspec
from msgspec import Struct

from .errors import NotDone
from .terminal import Colour, Terminal, one_line

_PLAIN = str.maketrans({"…": "...", "·": "-", "→": "->"})


class OutputGone(NotDone):
    """What was to be printed cannot be: whoever read it has gone, or there is no room for it."""


class Output(Struct, frozen=True):
    """Where a command writes. ``terminal`` is that of ``stdout``, ``aside`` that of ``stderr``."""

    stdout: TextIO
    stderr: TextIO
    terminal: Terminal = Terminal()
    aside: Terminal = Terminal()
    as_json: bool = False
    live: bool = False

    def text(self, text: str) -> None:
        """Print text that was asked for."""
        self._write(self.stdout, text)

    def data(self, data: Any) -> None:
        """Print data as one line of JSON."""
        self._write(self.stdout, msgspec.json.encode(data).decode())

    def beside(self, text: str) -> None:
        """Print text that belongs to people on standard error."""
        self._write(self.stderr, text)

    def note(self, text: str, colour: Colour | None = None) -> None:
        """Say something in one line on standard error."""
        self._write(self.stderr, self.aside.paint(one_line(text), colour))

    def _write(self, stream: TextIO, text: str) -> None:
        """Write a line; what the stream's encoding cannot say is shown escaped."""
        encoding = getattr(stream, "encoding", None) or "utf-8"
        if not encoding.lower().startswith("utf"):
            text = text.translate(_PLAIN).encode(encoding, "backslashreplace").decode(encoding)
        try:
            stream.write(text + "\n")
            stream.flush()
        except OSError as error:
            raise OutputGone(str(error.strerror)) from error

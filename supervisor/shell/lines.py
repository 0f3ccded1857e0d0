"""What stands between commands: blanks, comments, ends of lines, and the here-documents behind these."""

from msgspec import Struct

from .syntax import Literal as Text
from .syntax import NotUnderstood, Redirect
from .words import BLANKS, METACHARACTERS, WordReader


class Document(Struct):
    """A here-document that has been announced; ``tabs`` at the start of its lines do not count."""

    redirect: Redirect
    tabs: bool


class LineReader(WordReader):
    """Steps over what separates commands, and reads the here-documents that begin there."""

    def __init__(self, text: str, depth: int = 0) -> None:
        super().__init__(text, depth)
        # Here-documents whose text begins behind the next end of line.
        self.waiting: list[Document] = []

    def blanks(self) -> None:
        """Step over blanks, joined lines and a comment."""
        while True:
            if self.here and self.here in BLANKS:
                self.at += 1
            elif self.sees("\\\n"):
                self.at += 2
            elif self.here == "#" and (self.at == 0 or self.text[self.at - 1] in METACHARACTERS):
                end = self.text.find("\n", self.at)
                self.at = len(self.text) if end < 0 else end
            else:
                return

    def lines(self) -> None:
        """Step over blanks and ends of lines, reading the here-documents that begin there."""
        self.blanks()
        while self.take("\n"):
            for each in self.waiting:
                parts = each.redirect.target.parts
                end = "".join(part.text for part in parts if isinstance(part, Text))
                quoted = any(not isinstance(part, Text) or part.quoted for part in parts)
                text = self._document(end, each.tabs)
                each.redirect.target = self.here_document(text, quoted=quoted)
            self.waiting.clear()
            self.blanks()

    def _document(self, end: str, tabs: bool) -> str:
        lines: list[str] = []
        while self.at < len(self.text):
            stop = self.text.find("\n", self.at)
            stop = len(self.text) if stop < 0 else stop
            line = self.text[self.at : stop]
            line = line.lstrip("\t") if tabs else line
            if line == end:
                # The end of line stays: what follows the delimiter is the next command.
                self.at = stop
                return "".join(lines)
            self.at = stop + 1
            lines.append(f"{line}\n")
        raise NotUnderstood("a here-document does not end")

    def no_document_left(self) -> None:
        """Refuse a here-document whose text never came."""
        if self.waiting:
            raise NotUnderstood("a here-document has no text")

"""Read the words of a shell command: quotes, variables, substitutions, here-documents."""

import re

from ..patterns import lazy_pattern
from .syntax import Literal, NotUnderstood, Part, Script, Substitution, Variable, Word

DEPTH_MAX = 25
"""How deep commands may stand inside of commands; deeper ones are not understood."""
BLANKS = " \t"
METACHARACTERS = frozenset(" \t\n;&|()<>")
_NAME = lazy_pattern(r"[A-Za-z_]\w*|[@*#?$!0-9-]")
_PARAMETER = lazy_pattern(r"([#!]?)([A-Za-z_]\w*|[0-9]+|[@*#?$!-])")
_OPERATOR = lazy_pattern(r":?[-=+?]|##?|%%?|//?|\^\^?|,,?|:|@|\[")
_ESCAPES = {
    "a": "\a",
    "b": "\b",
    "e": "\x1b",
    "E": "\x1b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "v": "\v",
}
_ESCAPE = lazy_pattern(
    r"\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|([0-7]{1,3})|(.))", re.DOTALL
)


class WordReader:
    """A place in a command line, and what can be read from there on within one command.

    What a substitution holds is a whole script; `script_until` is given by the class that reads
    those.
    """

    def __init__(self, text: str, depth: int = 0) -> None:
        if depth > DEPTH_MAX:
            raise NotUnderstood("commands stand too deep inside of each other")
        self.text = text
        self.at = 0
        self.depth: int = depth

    def script_until(self, end: str) -> Script:
        """Read commands up to a closing character and step over it."""
        raise NotImplementedError

    def nested(self, text: str) -> Script:
        """Read a whole text as commands."""
        raise NotImplementedError

    # ---------------------------------------------------------------- characters

    @property
    def here(self) -> str:
        """The character at the place; empty at the end."""
        return self.text[self.at : self.at + 1]

    def sees(self, text: str) -> bool:
        """Tell whether the text goes on like this."""
        return self.text.startswith(text, self.at)

    def take(self, text: str) -> bool:
        """Step over a text if it is here."""
        if self.sees(text):
            self.at += len(text)
            return True
        return False

    def until(self, end: str, what: str) -> str:
        """Return the text before ``end`` and step over both."""
        found = self.text.find(end, self.at)
        if found < 0:
            raise NotUnderstood(f"{what} does not end")
        inner, self.at = self.text[self.at : found], found + len(end)
        return inner

    # ---------------------------------------------------------------- words

    def word(self) -> Word:
        """Read one word; there must be one."""
        start = self.at
        parts: list[Part] = []
        while (char := self.here) and (char not in METACHARACTERS or self._is_process()):
            parts.extend(self._unquoted(char))
        if self.at == start:
            raise NotUnderstood(f"{self.here or 'the end'!r} stands where a word should")
        return Word(joined(parts), self.text[start : self.at])

    def _is_process(self) -> bool:
        return self.sees("<(") or self.sees(">(")

    def _unquoted(self, char: str) -> list[Part]:
        if char == "\\":
            self.at += 2
            escaped = self.text[self.at - 1 : self.at]
            # A backslash before the end of the line joins two lines.
            return [] if escaped == "\n" else [Literal(escaped or "\\", quoted=True)]
        if char == "'":
            self.at += 1
            return [Literal(self.until("'", "a quote"), quoted=True)]
        if char == '"':
            self.at += 1
            return [Literal("", quoted=True), *self.quoted('"')]
        if char in "<>":
            self.at += 2
            return [Substitution(self.script_until(")"), as_file=True)]
        if char in "$`":
            return self.expansion(quoted=False)
        self.at += 1
        return [Literal(char)]

    def quoted(self, end: str) -> list[Part]:
        """Read up to ``end`` (empty: the end of the text) as between double quotes."""
        parts: list[Part] = []
        while not (end and self.take(end)):
            char = self.here
            if not char:
                if end:
                    raise NotUnderstood("a quote does not end")
                break
            if char == "\\" and self.text[self.at + 1 : self.at + 2] in ("$", "`", '"', "\\", "\n"):
                escaped = self.text[self.at + 1]
                self.at += 2
                parts.append(Literal("" if escaped == "\n" else escaped, quoted=True))
            elif char in "$`":
                parts.extend(self.expansion(quoted=True))
            else:
                self.at += 1
                parts.append(Literal(char, quoted=True))
        return parts

    # ---------------------------------------------------------------- expansions

    def expansion(self, *, quoted: bool) -> list[Part]:
        """Read what a dollar sign or a backquote begins."""
        if self.take("`"):
            return [Substitution(self._backquoted(), quoted)]
        self.at += 1
        if not quoted and self.take("'"):
            return [Literal(self._ansi(), quoted=True)]
        if not quoted and self.take('"'):
            return [Literal("", quoted=True), *self.quoted('"')]
        if self.sees("((") and (inner := self._arithmetic()) is not None:
            return [Variable("", quoted, "((", Word(tuple(self._inside(inner))))]
        if self.take("("):
            return [Substitution(self.script_until(")"), quoted)]
        if self.take("{"):
            return [self._parameter(quoted)]
        found = _NAME.match(self.text, self.at)
        if found is None:
            return [Literal("$", quoted=True)]
        self.at = found.end()
        return [Variable(found[0], quoted)]

    def _backquoted(self) -> Script:
        inner: list[str] = []
        while not self.take("`"):
            if not self.here:
                raise NotUnderstood("a backquote does not end")
            if self.here == "\\" and self.text[self.at + 1 : self.at + 2] in ("`", "\\", "$"):
                self.at += 1
            inner.append(self.here)
            self.at += 1
        return self.nested("".join(inner))

    def _arithmetic(self) -> str | None:
        """Return what stands between ``((`` and ``))``; None where these are two subshells."""
        open_now, at = 0, self.at
        while at < len(self.text):
            open_now += {"(": 1, ")": -1}.get(self.text[at], 0)
            if open_now == 0:
                inner = self.text[self.at + 2 : at - 1]
                if self.text[at - 1] != ")":
                    return None
                self.at = at + 1
                return inner
            at += 1
        return None

    def _inside(self, text: str) -> list[Part]:
        """Read a text of its own as between double quotes."""
        inner = type(self)(text, self.depth + 1)
        return inner.quoted("")

    def _parameter(self, quoted: bool) -> Variable:
        found = _PARAMETER.match(self.text, self.at)
        if found is None:
            raise NotUnderstood("'${' is not followed by a name")
        prefix, name = found.groups()
        self.at = found.end()
        if self.take("}"):
            return Variable(name, quoted, prefix)
        operator = _OPERATOR.match(self.text, self.at)
        if operator is None:
            raise NotUnderstood(f"'${{{name}' goes on in an unknown way")
        self.at = operator.end()
        return Variable(name, quoted, prefix or operator[0], self._operand())

    def _operand(self) -> Word:
        parts: list[Part] = []
        start = self.at
        while not self.take("}"):
            char = self.here
            if not char:
                raise NotUnderstood("'${' does not end")
            if char in METACHARACTERS:
                self.at += 1
                parts.append(Literal(char, quoted=True))
            else:
                parts.extend(self._unquoted(char))
        return Word(joined(parts), self.text[start : self.at - 1])

    def _ansi(self) -> str:
        """Read ``$'…'``: escapes as in C."""
        start = self.at
        while self.here and self.here != "'":
            self.at += 2 if self.here == "\\" else 1
        inner = self.text[start : self.at]
        if not self.take("'"):
            raise NotUnderstood("a quote does not end")
        return _ESCAPE.sub(_unescaped, inner)

    # ---------------------------------------------------------------- here-documents

    def here_document(self, text: str, *, quoted: bool) -> Word:
        """Return the text of a here-document as a word."""
        if quoted:
            return Word((Literal(text, quoted=True),), text)
        return Word(joined(self._inside(text)), text)


def _unescaped(found: "re.Match[str]") -> str:
    two, four, eight, octal, char = found.groups()
    if octal is not None:
        return chr(int(octal, 8) % 256)
    if char is not None:
        return _ESCAPES.get(char, char if char in "\\'\"?" else f"\\{char}")
    code = int(two or four or eight, 16)
    if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
        raise NotUnderstood("an escape stands for no character")
    return chr(code)


def joined(parts: list[Part]) -> tuple[Part, ...]:
    """Put neighbouring texts together where they are quoted alike."""
    found: list[Part] = []
    for part in parts:
        last = found[-1] if found else None
        if isinstance(part, Literal) and isinstance(last, Literal) and last.quoted == part.quoted:
            found[-1] = Literal(last.text + part.text, last.quoted)
        else:
            found.append(part)
    return tuple(found)

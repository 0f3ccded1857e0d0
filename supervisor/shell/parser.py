"""Read a shell command line into a tree. What is not known raises; nothing is guessed.

The language is that of POSIX with what bash adds and people type (``[[``, ``<(…)``, ``&>``, ``|&``,
``$'…'``). Arrays, arithmetic commands and ``select`` are not in it.

Our own reader: bashlex is under the GPL, a tree-sitter grammar is a compiled dependency of every
user for the sake of one function.
"""

import re

from ..patterns import lazy_pattern
from .lines import Document, LineReader
from .syntax import (
    Command,
    Compound,
    CompoundKind,
    NotUnderstood,
    Pipeline,
    Redirect,
    Script,
    Simple,
    Word,
)
from .syntax import Literal as Text
from .words import BLANKS, DEPTH_MAX, METACHARACTERS

LENGTH_MAX = 30_000
_RESERVED = lazy_pattern(
    r"(?:if|then|elif|else|fi|for|while|until|do|done|case|esac|select|function|coproc|\[\[|[{}!])"
    r"(?=[\s;&|()<>]|$)"
)
_REDIRECT = lazy_pattern(r"(?:\d+|\{\w+\})?(<<<|<<-|<<|<>|<&|<(?!\()|&>>|&>|>>|>\||>&|>(?!\())")
_ASSIGNMENT = lazy_pattern(r"([A-Za-z_]\w*)\+?=")
_FUNCTION = lazy_pattern(r"([^\s;&|()<>$`'\"\\]+)[ \t]*\([ \t]*\)")
_NAME = lazy_pattern(r"[A-Za-z_]\w*")
_CLOSING = frozenset(("then", "elif", "else", "fi", "do", "done", "esac", "}"))


def parse_shell(command: str, depth: int = 0) -> Script:
    """Read a command line.

    Args:
        depth: how deep this text already stands inside of other commands.

    Raises:
        NotUnderstood: it is too long or too deep, or something in it is unknown or does not end.
    """
    if len(command) > LENGTH_MAX:
        raise NotUnderstood(f"the command has more than {LENGTH_MAX} characters")
    if "\0" in command:
        raise NotUnderstood("the command holds a NUL character")
    return _Parser(command, depth).whole()


class _Parser(LineReader):
    def whole(self) -> Script:
        script = self._script(frozenset())
        if self.here:
            raise NotUnderstood(f"{self.here!r} stands where a command should")
        self.no_document_left()
        return script

    def nested(self, text: str) -> Script:
        return parse_shell(text, self.depth + 1)

    def script_until(self, end: str) -> Script:
        waiting, self.waiting = self.waiting, []
        script = self._deeper(frozenset())
        if not self.take(end):
            raise NotUnderstood(f"{end!r} is missing")
        self.no_document_left()
        self.waiting = waiting
        return script

    def _deeper(self, stops: frozenset[str]) -> Script:
        self.depth += 1
        if self.depth > DEPTH_MAX:
            raise NotUnderstood("commands stand too deep inside of each other")
        try:
            return self._script(stops)
        finally:
            self.depth -= 1

    # ---------------------------------------------------------------- lists

    def _script(self, stops: frozenset[str]) -> Script:
        found: list[Pipeline] = []
        only_after = False
        self.lines()
        while not self._stopped(stops):
            found.append(self._pipeline(only_after=only_after))
            self.blanks()
            only_after = self.sees("&&")
            if self.take("&&") or self.take("||"):
                self.lines()
                if self._stopped(stops):
                    raise NotUnderstood("a command is missing behind && or ||")
            elif self.sees(";;"):
                break
            elif self.take(";") or self.take("&") or self.sees("\n"):
                self.lines()
            elif not self._stopped(stops):
                raise NotUnderstood(f"{self.here!r} stands where a command should have ended")
        return tuple(found)

    def _stopped(self, stops: frozenset[str]) -> bool:
        if not self.here or self.here == ")" or self.sees(";;"):
            return True
        found = self._reserved()
        if found and found not in stops and found in _CLOSING:
            raise NotUnderstood(f"{found!r} closes nothing")
        return found in stops

    def _reserved(self) -> str:
        found = _RESERVED.match(self.text, self.at)
        return found[0] if found else ""

    def _pipeline(self, *, only_after: bool) -> Pipeline:
        start = self.at
        while self._reserved() == "!":
            self.at += 1
            self.blanks()
        commands = [self._command()]
        self.blanks()
        while self.here == "|" and not self.sees("||"):
            self.at += 2 if self.sees("|&") else 1
            self.lines()
            commands.append(self._command())
            self.blanks()
        return Pipeline(tuple(commands), self.text[start : self.at].strip(), only_after)

    def _command(self) -> Command:
        if self.sees("(("):
            raise NotUnderstood("arithmetic stands where a command should")
        start = self.at
        if self.take("("):
            return self._closed("subshell", (self.script_until(")"),), start)
        match self._reserved():
            case "{":
                return self._group(start)
            case "if":
                return self._if(start)
            case "for":
                return self._for(start)
            case "while" | "until" as kind:
                self.at += len(kind)
                return self._closed("while", (self._part("do"), self._part("done")), start)
            case "case":
                return self._case(start)
            case "[[":
                return self._test(start)
            case "":
                function = _FUNCTION.match(self.text, self.at)
                return self._simple() if function is None else self._function(function, start)
            case "function":
                return self._named_function(start)
            case other:
                raise NotUnderstood(f"{other!r} stands where a command should")

    # ---------------------------------------------------------------- compound commands

    def _closed(
        self,
        kind: CompoundKind,
        scripts: tuple[Script, ...],
        start: int,
        words: tuple[Word, ...] = (),
        name: str = "",
    ) -> Compound:
        """Return a compound command, with the redirections behind it."""
        redirects: list[Redirect] = []
        self.blanks()
        while self._redirect(redirects):
            self.blanks()
        source = self.text[start : self.at].strip()
        return Compound(kind, scripts, words, name, tuple(redirects), source)

    def _part(self, stop: str) -> Script:
        """Read commands up to a reserved word and step over it."""
        script = self._deeper(frozenset((stop,)))
        self._expect(stop)
        return script

    def _expect(self, word: str) -> None:
        if self._reserved() != word:
            raise NotUnderstood(f"{word!r} is missing")
        self.at += len(word)

    def _group(self, start: int) -> Compound:
        self._expect("{")
        return self._closed("group", (self._part("}"),), start)

    def _if(self, start: int) -> Compound:
        self._expect("if")
        scripts = [self._part("then")]
        while True:
            scripts.append(self._deeper(frozenset(("elif", "else", "fi"))))
            match self._reserved():
                case "elif":
                    self._expect("elif")
                    scripts.append(self._part("then"))
                case "else":
                    self._expect("else")
                    scripts.append(self._part("fi"))
                    break
                case _:
                    self._expect("fi")
                    break
        return self._closed("if", tuple(scripts), start)

    def _for(self, start: int) -> Compound:
        self._expect("for")
        self.blanks()
        name = _NAME.match(self.text, self.at)
        if name is None:
            raise NotUnderstood("'for' is not followed by a name")
        self.at = name.end()
        self.lines()
        words: list[Word] = []
        if self.text[self.at : self.at + 2] == "in" and self.text[self.at + 2 : self.at + 3] in (
            *BLANKS,
            "\n",
            ";",
        ):
            self.at += 2
            words = self._words()
        elif self._reserved() != "do" and not self.sees(";"):
            raise NotUnderstood("'for' is not followed by 'in' or 'do'")
        self.take(";")
        self.lines()
        self._expect("do")
        return self._closed("for", (self._part("done"),), start, tuple(words), name[0])

    def _words(self) -> list[Word]:
        words: list[Word] = []
        self.blanks()
        while self.here and (self.here not in METACHARACTERS or self._is_process()):
            words.append(self.word())
            self.blanks()
        return words

    def _case(self, start: int) -> Compound:
        self._expect("case")
        self.blanks()
        words = [self.word()]
        self.lines()
        if not self.take("in"):
            raise NotUnderstood("'case' is not followed by 'in'")
        scripts: list[Script] = []
        self.lines()
        while self._reserved() != "esac":
            self.take("(")
            self.blanks()
            words.append(self.word())
            self.blanks()
            while self.take("|"):
                self.blanks()
                words.append(self.word())
                self.blanks()
            if not self.take(")"):
                raise NotUnderstood("a pattern of 'case' does not end")
            scripts.append(self._deeper(frozenset(("esac",))))
            if not (self.take(";;&") or self.take(";;")) and self._reserved() != "esac":
                raise NotUnderstood("'case' does not end")
            self.lines()
        self._expect("esac")
        return self._closed("case", tuple(scripts), start, tuple(words))

    def _test(self, start: int) -> Simple:
        """Read ``[[ … ]]`` as the program ``[[`` with its words; operators are words in it."""
        self.at += 2
        words = [Word((Text("[["),), "[[")]
        while True:
            self.lines()
            if not self.here:
                raise NotUnderstood("'[[' does not end")
            if self.here in METACHARACTERS and not self._is_process():
                words.append(Word((Text(self.here, quoted=True),), self.here))
                self.at += 1
                continue
            words.append(self.word())
            if words[-1].source == "]]":
                return Simple(words=tuple(words), source=self.text[start : self.at])

    def _function(self, found: "re.Match[str]", start: int) -> Compound:
        self.at = found.end()
        self.lines()
        body = self._command()
        pipeline = Pipeline((body,), body.source)
        return Compound("function", ((pipeline,),), (), found[1], (), self.text[start : self.at])

    def _named_function(self, start: int) -> Compound:
        self._expect("function")
        self.blanks()
        name = _NAME.match(self.text, self.at)
        if name is None:
            raise NotUnderstood("'function' is not followed by a name")
        self.at = name.end()
        self.blanks()
        if self.take("("):
            self.blanks()
            if not self.take(")"):
                raise NotUnderstood("'function' goes on in an unknown way")
        self.lines()
        body = self._command()
        pipeline = Pipeline((body,), body.source)
        return Compound("function", ((pipeline,),), (), name[0], (), self.text[start : self.at])

    # ---------------------------------------------------------------- simple commands

    def _simple(self) -> Command:
        start = self.at
        assignments: list[tuple[str, Word]] = []
        words: list[Word] = []
        redirects: list[Redirect] = []
        while True:
            self.blanks()
            if self._redirect(redirects):
                continue
            if not self.here or (self.here in METACHARACTERS and not self._is_process()):
                break
            named = None if words else _ASSIGNMENT.match(self.text, self.at)
            if named is None:
                words.append(self.word())
                continue
            self.at = named.end()
            if self.here == "(":
                raise NotUnderstood("a list is assigned to a variable")
            ends = not self.here or self.here in METACHARACTERS
            assignments.append((named[1], Word() if ends else self.word()))
        if not (assignments or words or redirects):
            raise NotUnderstood(f"{self.here or 'the end'!r} stands where a command should")
        if self.here == "(":
            raise NotUnderstood("'(' stands inside of a command")
        source = self.text[start : self.at].strip()
        return Simple(tuple(assignments), tuple(words), tuple(redirects), source)

    def _redirect(self, found: list[Redirect]) -> bool:
        matched = _REDIRECT.match(self.text, self.at)
        if matched is None:
            return False
        self.at = matched.end()
        self.blanks()
        redirect = Redirect(matched[1].removesuffix("-"), self.word())
        found.append(redirect)
        if redirect.operator == "<<":
            self.waiting.append(Document(redirect, tabs=matched[1] == "<<-"))
        return True

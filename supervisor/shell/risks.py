"""What a command line puts at risk: it is read, its words expanded, each program in it looked at. Pure.

Nothing is run and no file is looked at. What is not understood is a risk itself, so that "no risk" is
said only of what is known.
"""

import posixpath
from collections.abc import Iterable, Iterator
from itertools import pairwise

import msgspec

from ..danger.paths import UNKNOWN, Place, Where, place_of
from ..danger.risks import Risk
from ..danger.sensitive import names_secret
from ..patterns import lazy_pattern
from .archives import ARCHIVES
from .calls import (
    SYSTEM_FOLDERS,
    Call,
    Finding,
    Handler,
    Limits,
    Runs,
    RunsText,
    Scope,
    reads,
    writes,
)
from .code import CODE, script_risks, task_risks
from .databases import DATABASES
from .editing import EDITING
from .expand import Field, expand
from .files import FILES
from .git import GIT
from .machine import MACHINE
from .names import Found, commands_of, parts_in, scripts_in, words_of
from .network import NETWORK
from .packages import PACKAGES
from .parser import parse_shell
from .subcommands import by_table
from .syntax import (
    Command,
    Compound,
    NotUnderstood,
    Pipeline,
    Redirect,
    Script,
    Simple,
    Variable,
    Word,
)
from .tables import VERBS
from .wrappers import WRAPPERS, variable_risks

HANDLERS: dict[str, Handler] = {
    **dict.fromkeys(VERBS, by_table),
    **MACHINE,
    **PACKAGES,
    **GIT,
    **DATABASES,
    **CODE,
    **WRAPPERS,
    **NETWORK,
    **FILES,
    **ARCHIVES,
    **EDITING,
}
"""What looks at a call, by the name of its program."""
DIRECTORIES_MAX = 8
DEPTH_MAX = 12
RISKS_MAX = 64
_SHELLS = frozenset(("sh", "bash", "zsh", "dash", "ksh", "ash", "source", "."))
_OTHER_LANGUAGE = lazy_pattern(r"#!.*\b(?:python|node|ruby|perl|deno|bun)")
_FILTERS = frozenset(("grep", "egrep", "head", "tail", "sort", "uniq"))
_LISTERS = frozenset(("find", "fd", "grep", "rg", "ls", "git", "egrep", "ag"))
_SHOW_ENVIRONMENT = frozenset(("env", "printenv", "set", "export", "declare"))
_OUTPUTS = (">", ">|", "&>", ">>", "&>>", "<>")
# -o may stand at the end of several letters: curl -sLo x.
_SAVES = lazy_pattern(r"-[A-Za-z]*[oO]|--output|--output-document|--remote-name")
_EMPTYING = (">", ">|", "&>")


def shell_risks(command: str, directory: str, limits: Limits) -> tuple[Risk, ...]:
    """Return all that a command line puts at risk; empty where nothing is found.

    Args:
        directory: where it starts, absolute.
    """
    walk = _Walk(directory, limits)
    walk.text(command, depth=0)
    return tuple(dict.fromkeys(walk.risks))


def shell_changes(command: str, directory: str, limits: Limits) -> tuple[Place, ...]:
    """Return the places that a command line writes or deletes, as far as they can be told.

    Args:
        directory: where it starts, absolute.
    """
    walk = _Walk(directory, limits)
    walk.text(command, depth=0)
    known = (each for each in walk.changed if each.where not in (Where.STREAM, Where.UNKNOWN))
    return tuple(dict.fromkeys(known))


class _Walk:
    """Goes through a command line once; knows where it stands and what has been made on the way."""

    def __init__(self, directory: str, limits: Limits) -> None:
        self.risks: list[Risk] = []
        self.changed: list[Place] = []
        self._limits = limits
        self._found = Found()
        self._directories: tuple[str, ...] = (directory,)
        # Where the commands of this chain stand if a "cd" in it has failed.
        self._elsewhere: tuple[str, ...] = ()
        self._fetched: set[str] = set()
        self._links: dict[str, Place] = {}
        self._written: dict[str, str] = {}
        self._depth = 0

    # ---------------------------------------------------------------- scripts

    def text(self, command: str, depth: int) -> None:
        """Look at a command line, the whole one or one that a program in it runs."""
        if depth > DEPTH_MAX:
            self._add([Risk("unclear", "runs commands too deep inside of each other")], command)
            return
        try:
            script = parse_shell(command)
        except NotUnderstood as error:
            self._add([Risk("unclear", f"cannot be understood: {error}")], command)
            return
        before, self._depth = self._depth, depth
        self._found.add(script)
        self._script(script)
        self._depth = before

    def _add(self, risks: Iterable[Risk], source: str) -> None:
        self.risks.extend(msgspec.structs.replace(each, command=source) for each in risks)

    def _script(self, script: Script) -> None:
        for pipeline in script:
            if not pipeline.only_after:
                self._directories = _first((*self._directories, *self._elsewhere))
                self._elsewhere = ()
            self._pipeline(pipeline)

    def _pipeline(self, pipeline: Pipeline) -> None:
        upstream: list[str] = []
        listed = ""
        alone = len(pipeline.commands) == 1
        for command in pipeline.commands:
            saved = self._directories
            program = ""
            if isinstance(command, Compound):
                self._compound(command)
            else:
                program = self._simple(command, tuple(upstream), listed)
                listed = self._listed(command, program, listed)
            if not alone:
                # In some shells the last command of a pipeline runs in the shell itself.
                self._directories = _first((*saved, *self._directories))
            upstream.append(program)
        self._environment(pipeline, upstream)

    def _environment(self, pipeline: Pipeline, programs: list[str]) -> None:
        shows = set(programs[:-1]) & _SHOW_ENVIRONMENT
        words = pipeline.source.replace("=", " ").replace("'", " ").replace('"', " ").split()
        if shows and any(names_secret(each) for each in words):
            found = Risk("credentials", "looks for secrets in the environment")
            self._add([found], pipeline.source)

    def _compound(self, command: Compound) -> None:
        for word in words_of(command):
            self._inner_scripts(word)
        if command.kind == "function":
            self._function(command)
        before = self._directories
        for script in command.scripts:
            self._script(script)
        if command.kind == "subshell":
            self._directories = before
        elif command.kind != "group":
            self._directories = _first((*before, *self._directories))
        for each in command.redirects:
            self._redirect(each, command.source, "")

    def _function(self, command: Compound) -> None:
        for script in command.scripts:
            for inner in commands_of(script):
                if isinstance(inner, Simple) and self._first_word(inner) == command.name:
                    found = Risk("destroy", "starts itself over and over, as a fork bomb does")
                    self._add([found], command.source)
                    return

    def _first_word(self, command: Simple) -> str:
        fields = expand(command.words[0], self._found.names) if command.words else ()
        return fields[0].text if fields else ""

    def _inner_scripts(self, word: Word) -> None:
        for script in scripts_in(word):
            before = self._directories
            self._script(script)
            self._directories = before

    # ---------------------------------------------------------------- one command

    def _simple(self, command: Simple, upstream: tuple[str, ...], listed: str) -> str:
        """Look at one command; return the name of its program."""
        for word in words_of(command):
            self._inner_scripts(word)
        scope = self._scope()
        words = self._fields(command.words)
        program = posixpath.basename(words[0].text) if words else ""
        for name, word in command.assignments if program != "read" else ():
            for value in expand(word, self._found.names):
                self._add(variable_risks(scope, name, value), command.source)
        self._secrets(command, program)
        given = None
        for redirect in command.redirects:
            text = self._redirect(redirect, command.source, program)
            given = given if text is None else text
        self._emptied(command, program, words)
        if given is not None and program in ("cat", "tee"):
            self._write(command, words[1:], given)
        if words:
            call = Call(
                program=program,
                arguments=tuple(words[1:]),
                given=given,
                piped=bool(upstream),
                upstream=upstream,
                listed=listed,
                source=command.source,
            )
            for first in self._programs(command.words[0], words[0]):
                self._call(first, call, scope, self._depth)
            self._moves(program, words[1:])
        return program

    def _fields(self, words: Iterable[Word]) -> list[Field]:
        found: list[Field] = []
        for word in words:
            for each in expand(word, self._found.names):
                if each.splits and each.known and " " in each.text:
                    found.extend(Field(part, each.globs) for part in each.text.split())
                else:
                    found.append(each)
        return found

    def _programs(self, word: Word, first: Field) -> Iterator[Field]:
        """Yield what the program may be: a variable may have held several."""
        fields = expand(word, self._found.names)
        yield first
        yield from (each for each in fields[1:] if each.text != first.text)

    def _scope(self) -> Scope:
        return Scope(
            limits=self._limits,
            directories=self._directories,
            names=self._found.names,
            functions=frozenset(self._found.functions),
            fetched=frozenset(self._fetched),
            links=dict(self._links),
            changed=self.changed,
        )

    def _secrets(self, command: Simple, program: str) -> None:
        """Variables of the environment that are called like secrets; asking whether is no harm."""
        parts = (part for word in command.words for part in parts_in(word))
        names = dict.fromkeys(part.name for part in parts if isinstance(part, Variable))
        for name in names if program not in ("[", "[[", "test") else ():
            known = name in self._found.names or name in ("PWD", "OLDPWD")
            if name.isupper() and names_secret(name) and not known:
                words = f"uses {name}, which is called like a secret"
                self._add([Risk("credentials", words)], command.source)

    # ---------------------------------------------------------------- redirections

    def _redirect(self, redirect: Redirect, source: str, program: str) -> str | None:
        """Look at a redirection; return what it puts on standard input, where that is known."""
        operator = redirect.operator
        scope = self._scope()
        fields = expand(redirect.target, self._found.names)
        if operator in ("<<", "<<<"):
            return fields[0].text if len(fields) == 1 else UNKNOWN
        for each in fields:
            if operator in (">&", "<&") and (each.text.isdigit() or each.text in ("-", "")):
                continue
            if operator == "<":
                self._add(reads(scope, each), source)
            else:
                self._add(writes(scope, each), source)
                self._made(each, program)
        return None

    def _made(self, path: Field, program: str) -> None:
        if program != "cat":
            for place in self._scope().places(path.text):
                self._fetched.add(place.path)

    def _write(self, command: Simple, words: list[Field], text: str) -> None:
        """Remember the text of a file, for the case that it is run."""
        targets = [each for each in command.redirects if each.operator in _OUTPUTS]
        fields = [f for each in targets for f in expand(each.target, self._found.names)]
        for field in (*fields, *words):
            for place in self._scope().places(field.text):
                self._written[place.path] = text

    def _emptied(self, command: Simple, program: str, words: list[Field]) -> None:
        texts = [each.text for each in words[1:]]
        empty = (
            program in ("", ":", "true")
            or (program == "cat" and texts == ["/dev/null"])
            or (program in ("echo", "printf") and not "".join(texts).removeprefix("-n"))
        )
        for each in command.redirects if empty else ():
            for field in expand(each.target, self._found.names):
                where = {place.where for place in self._scope().places(field.text)}
                if each.operator in _EMPTYING and where != {Where.STREAM}:
                    found = Risk("delete", f"empties {field.shown}")
                    self._add([found], command.source)

    # ---------------------------------------------------------------- programs

    def _call(self, program: Field, call: Call, scope: Scope, depth: int) -> None:
        if len(self.risks) > RISKS_MAX:
            self.risks.append(Risk("unclear", "holds more dangers than are looked at"))
            return
        if depth > DEPTH_MAX:
            self._add([Risk("unclear", "runs programs too deep inside of each other")], call.source)
            return
        name = self._named(program, call, scope)
        if name is None:
            self._run_written((program,), depth)
            return
        call = msgspec.structs.replace(call, program=name)
        if name in _SHELLS:
            self._run_written(call.arguments, depth)
        self._download(call)
        self._link(call)
        for found in self._findings(call, scope):
            match found:
                case Risk():
                    self._add([found], call.source)
                case RunsText(text):
                    self.text(text, depth + 1)
                case Runs(()):
                    self._add([Risk("unclear", "runs a program that is not named")], call.source)
                case Runs(words):
                    inner = msgspec.structs.replace(call, arguments=words[1:])
                    self._call(words[0], inner, scope, depth + 1)

    def _run_written(self, words: Iterable[Field], depth: int) -> None:
        """Look at a script that the command itself has written before."""
        for each in words:
            for place in self._scope().places(each.text):
                text = self._written.pop(place.path, None)
                if text is not None and not _OTHER_LANGUAGE.match(text):
                    self.text(text, depth + 1)

    def _findings(self, call: Call, scope: Scope) -> Iterator[Finding]:
        handler = HANDLERS.get(call.program)
        if handler is None and [each.text for each in call.arguments] in (
            ["--version"],
            ["--help"],
        ):
            return
        if handler is None:
            yield Risk("unclear", f"runs {call.program}, a program that is not known here")
        else:
            yield from handler(call, scope)

    def _named(self, program: Field, call: Call, scope: Scope) -> str | None:
        """Return the name of a program that is known by it; None where all is said."""
        text = program.text
        if not program.known or (program.globs and text not in ("[", "[[")) or not text:
            words = "runs a program that is known only when it runs"
            self._add([Risk("unclear", words)], call.source)
            return None
        if text in scope.functions:
            return None
        if "/" not in text:
            return _plain_name(text)
        name = posixpath.basename(text)
        for place in scope.places(text):
            folder = posixpath.dirname(place.path)
            own_tool = place.where is Where.INSIDE and folder.endswith(("/bin", "/.bin"))
            if folder in SYSTEM_FOLDERS or (own_tool and _plain_name(name) in HANDLERS):
                return _plain_name(name)
            if place.where is Where.INSIDE and name in ("gradlew", "mvnw"):
                return name
        self._add(script_risks(scope, program), call.source)
        self._add(task_risks(call.arguments), call.source)
        return None

    def _link(self, call: Call) -> None:
        """Remember a link that leads out: what is written behind it is written there."""
        if call.program != "ln":
            return
        operands = [each for each in call.arguments if not each.text.startswith("-")]
        if not operands:
            return
        name = operands[-1].text if len(operands) > 1 else posixpath.basename(operands[0].text)
        for target in self._scope().places(operands[0].text):
            if target.where is Where.OUTSIDE:
                self._links |= {each.path: target for each in self._scope().places(name)}

    def _download(self, call: Call) -> None:
        """Remember where a program puts what it fetches."""
        if call.program not in ("curl", "wget"):
            return
        texts = [each.text for each in call.arguments]
        targets = [posixpath.basename(each) for each in texts if "://" in each]
        targets += [after for word, after in pairwise(texts) if _SAVES.fullmatch(word)]
        for each in targets:
            for place in self._scope().places(each):
                self._fetched.add(place.path)

    # ---------------------------------------------------------------- where it stands

    def _moves(self, program: str, words: list[Field]) -> None:
        if program not in ("cd", "pushd", "popd"):
            return
        targets = [each.text for each in words if not each.text.startswith("-")]
        target = "~" if program == "cd" and not words else targets[0] if targets else UNKNOWN
        found: list[str] = []
        for directory in self._directories:
            place = place_of(target, directory, self._limits.workspace)
            found.append(UNKNOWN if place.where is Where.UNKNOWN else place.path)
        self._elsewhere = _first((*self._elsewhere, *self._directories))
        self._directories = _first(found)

    def _listed(self, command: Command, program: str, before: str) -> str:
        """Return a pattern for the names a command prints, where they are files of the workspace."""
        if program in _FILTERS and before:
            return before
        if program not in _LISTERS or not isinstance(command, Simple):
            return ""
        words = [each for each in self._fields(command.words)[1:] if each.text[:1] not in ("-", "")]
        scope = self._scope()
        paths = [each for each in words if "/" in each.text or each.text in (".", "..", "~")]
        if any(p.where is not Where.INSIDE for each in paths for p in scope.places(each.text)):
            return ""
        if self._directories != (self._limits.workspace,):
            return ""
        return "./*"


def _plain_name(name: str) -> str:
    """Return the name under which a program is known: ``python3.12`` is ``python3``."""
    for known in ("python3", "python2", "python", "pip3", "pip", "gcc", "g++", "clang", "mkfs"):
        rest = name.removeprefix(known)
        if rest != name and rest and not rest.strip("0123456789.-"):
            return known
    return "mkfs" if name.startswith(("mkfs.", "mke2fs", "newfs")) else name


def _first(directories: Iterable[str]) -> tuple[str, ...]:
    found = tuple(dict.fromkeys(directories))
    return found if len(found) <= DIRECTORIES_MAX else (UNKNOWN,)

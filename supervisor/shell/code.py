"""Shells and interpreters: what they run, and whether that can be read. Pure."""

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise

from ..danger.hosts import host_of
from ..danger.paths import UNKNOWN, Where
from ..danger.risks import Risk
from ..patterns import lazy_pattern
from .calls import Call, Finding, Handler, Runs, RunsText, Scope, reads, writes
from .expand import Field
from .python import python_risks

# Names of scripts and targets that do more than build and test.
RELEASING = lazy_pattern(
    r"(?:^|[_/:.-])(?:deploy|release|publish|push|upload|ship|prod|production|migrate|rollback|destroy|drop|purge"
    r"|uninstall|install|flush|downgrade|nuke|wipe|reset|delete|provision|teardown)(?:[_.:-]|$)"
)


def is_releasing(word: str) -> bool:
    """Tell whether a word of a command is called like something that changes more than files."""
    return not word.startswith("-") and "/" not in word and RELEASING.search(word) is not None


def task_risks(words: Iterable[Field]) -> Iterator[Risk]:
    """What the words behind a script's name say that it shall do."""
    for each in words:
        if is_releasing(each.text):
            yield Risk("publish", f"has a script do {each.shown}, which may change more than files")
            return


def script_risks(scope: Scope, path: Field, what: str = "script") -> Iterator[Risk]:
    """What running a file puts at risk: the project's own may run, what came from elsewhere not."""
    for place in scope.places(path.text):
        if place.path in scope.fetched:
            yield Risk("install", f"runs {place.shown}, which it has just downloaded or made")
        elif place.where is Where.UNKNOWN:
            yield Risk("unclear", f"runs a {what} that is known only when it runs")
        elif place.where is not Where.INSIDE:
            yield Risk("code", f"runs {place.shown}, a {what} outside the workspace")
        elif RELEASING.search(place.inside):
            yield Risk("publish", f"runs {place.shown}, which by its name changes more than files")


# ---------------------------------------------------------------- shells


def _shell(call: Call, scope: Scope) -> Iterator[Finding]:
    words = list(call.arguments)
    while words and words[0].text.startswith(("-", "+")) and words[0].text not in ("-", "--"):
        word = words.pop(0)
        letters = word.text.lstrip("-+")
        if word.text in ("--version", "--help", "--norc", "--noprofile", "--posix", "--login"):
            if word.text in ("--version", "--help"):
                return
        elif not re.fullmatch(r"[a-zA-Z]+", letters) or word.text.startswith("--"):
            yield Risk("unclear", f"starts a shell with {word.shown}")
        elif "c" in letters:
            yield from _command_of(words)
            return
        elif "i" in letters or "s" in letters:
            yield from _standard_input(call)
            return
        elif "n" in letters and letters.islower():
            return  # the syntax is checked, and nothing is run
        elif letters.endswith(("o", "O")) and words:
            words.pop(0)
    script = words[1:] if words and words[0].text in ("-", "--") else words
    if script:
        yield from _script_file(scope, script[0])
        yield from task_risks(script[1:])
    else:
        yield from _standard_input(call)


def _command_of(words: list[Field]) -> Iterator[Finding]:
    while words and words[0].text.startswith(("-", "+")):
        words.pop(0)
    if not words or not words[0].known:
        yield Risk("code", "runs a command that is known only when it runs")
    else:
        yield RunsText(words[0].text)


def _script_file(scope: Scope, script: Field) -> Iterator[Finding]:
    if script.text.startswith("/dev/"):
        yield Risk("code", "runs what another command prints")
    else:
        yield from script_risks(scope, script)


def _standard_input(call: Call) -> Iterator[Finding]:
    if call.given is not None and UNKNOWN not in call.given:
        yield RunsText(call.given)
    elif call.piped or call.given is not None:
        origin = f" that {call.upstream[-1]} prints" if call.upstream else ""
        yield Risk("code", f"runs commands{origin}, whatever they are")
    else:
        yield Risk("unclear", f"starts {call.program} without saying what it shall do")


def _eval(call: Call, scope: Scope) -> Iterator[Finding]:
    text = " ".join(each.text for each in call.arguments)
    if UNKNOWN in text:
        yield Risk("code", "runs a command that is known only when it runs")
    elif text:
        yield RunsText(text)


def _source(call: Call, scope: Scope) -> Iterator[Finding]:
    for path in call.arguments[:1]:
        if path.text not in _OWN_SETTINGS or path.text in scope.fetched:
            yield from reads(scope, path)
            yield from _script_file(scope, path)


# What the user's own shell reads at its start.
_OWN_SETTINGS = frozenset(
    (
        *("~/.bashrc", "~/.profile", "~/.bash_profile", "~/.zshrc", "~/.zprofile", "/etc/profile"),
        *("~/.nvm/nvm.sh", "~/.cargo/env", "~/.asdf/asdf.sh"),
    )
)


def _trap(call: Call, scope: Scope) -> Iterator[Finding]:
    given = [each for each in call.arguments if not each.text.startswith("-")]
    if given and not given[0].known:
        yield Risk("code", "runs a command that is known only when it runs")
    elif given:
        yield RunsText(given[0].text)


def _alias(call: Call, scope: Scope) -> Iterator[Finding]:
    if any("=" in each.text for each in call.arguments):
        yield Risk("unclear", "gives commands another meaning")


# ---------------------------------------------------------------- interpreters


def _python(call: Call, scope: Scope) -> Iterator[Finding]:
    words = list(call.arguments)
    while words and words[0].text.startswith("-") and words[0].text != "-":
        word = words.pop(0).text
        letters = word[1:]
        if word.startswith("--") or letters in ("V", "VV", "h"):
            return
        if letters.startswith(("W", "X")):
            words = words if len(letters) > 1 else words[1:]
        elif "c" in letters:
            tail = letters.partition("c")[2]
            yield from _python_code(Field(tail) if tail else words[0] if words else Field(UNKNOWN))
            return
        elif "m" in letters:
            tail = letters.partition("m")[2]
            module = [Field(tail)] if tail else words[:1]
            yield from _module(scope, module, words if tail else words[1:])
            return
    if words and words[0].text != "-":
        yield from script_risks(scope, words[0])
        yield from task_risks(words[1:])
    elif call.given is not None:
        yield from _python_code(Field(call.given))
    elif words or call.piped:
        yield Risk("code", "runs Python code that another command prints")


def _python_code(code: Field) -> Iterator[Risk]:
    if not code.known:
        yield Risk("code", "runs Python code that is known only when it runs")
    else:
        yield from python_risks(code.text)


def _module(scope: Scope, module: list[Field], rest: list[Field]) -> Iterator[Finding]:
    name = module[0] if module else Field(UNKNOWN)
    if not name.known:
        yield Risk("code", "runs a Python module that is known only when it runs")
    elif name.text in _PROGRAM_MODULES:
        yield Runs((Field(_PROGRAM_MODULES[name.text]), *rest))
    elif name.text in ("http.server", "SimpleHTTPServer", "smtpd", "pyftpdlib") and not _asks_help(
        rest
    ):
        yield Risk("network", f"opens the workspace to other machines with {name.text}")
    elif RELEASING.search(name.text):
        yield Risk("publish", f"runs {name.text}, which by its name changes more than files")


def _asks_help(rest: list[Field]) -> bool:
    return any(each.text in ("--help", "-h") for each in rest)


_PROGRAM_MODULES = {
    **{name: name for name in ("pip", "twine", "poetry", "uv", "pipx", "flit", "hatch", "awscli")},
    **{name: name for name in ("pytest", "ruff", "mypy", "black", "flake8", "coverage", "build")},
    "ensurepip": "ensurepip",
}


def _interpreter(inline: tuple[str, ...], language: str) -> Handler:
    """An interpreter: its own script may run, code on the command line is not read."""

    def handler(call: Call, scope: Scope) -> Iterator[Finding]:
        yield from _serves(call)
        for at, each in enumerate(call.arguments):
            text = each.text
            if text in ("--version", "-v", "-V", "--help", "-h", "--check", "-c", "-l") and not (
                text in inline
            ):
                continue
            short = re.match(r"-[a-zA-Z]+", text) and any(
                flag[1:] in text[1:] for flag in inline if len(flag) == 2
            )
            if text in inline or short or any(text.startswith(f"{e}=") for e in inline):
                code = call.arguments[at + 1].text if at + 1 < len(call.arguments) else UNKNOWN
                if not _only_prints(code):
                    yield Risk("code", f"runs {language} code that is not read")
                yield from _in_place(call, scope, at)
                return
            if text.startswith("-"):
                continue
            if text not in ("run", "test"):
                yield from script_risks(scope, each)
                yield from task_risks(call.arguments[at + 1 :])
                return
        if call.piped or call.given is not None:
            yield Risk("code", f"runs {language} code that is not read")

    return handler


def _serves(call: Call) -> Iterator[Risk]:
    """php -S HOST:PORT is a server; for other machines, unless it listens to this one alone."""
    for flag, address in pairwise(call.arguments):
        host = host_of(address.text)
        if call.program == "php" and flag.text == "-S" and (host is None or host.name in _ANY):
            yield Risk("network", f"opens the workspace to other machines at {address.shown}")


_ANY = ("0.0.0.0", "::")


def _in_place(call: Call, scope: Scope, at: int) -> Iterator[Risk]:
    """perl -i and ruby -i change the files that stand behind the code."""
    flags = [each.text for each in call.arguments[: at + 1] if each.text.startswith("-")]
    changes = any(re.match(r"-[a-zA-Z]*i", each) for each in flags)
    for path in call.arguments[at + 2 :]:
        yield from reads(scope, path)
        if changes:
            yield from writes(scope, path, "changes")


_SAFE_CODE = lazy_pattern(
    r"(?:(?:console\.log|print|puts|p|echo|say)\s*\(?)?"
    r"(?:[\w\s.+*/%-]|\"[^\"$`\\]*\"|'[^'$`\\]*')*\)?;?"
)
_SAFE_FILTER = lazy_pattern(
    r"s(?P<by>[/|#,])(?:(?!(?P=by)).)*(?P=by)(?:(?!(?P=by)|[$@]\{).)*(?P=by)[gimsx]*;?|print(?: if /[^/{(]*/i?)?;?"
)
_SAFE_NAMES = frozenset(
    """console log print puts p echo say process version versions platform arch node v8 Math PI E RUBY_VERSION PHP_VERSION
    PHP_OS true false null nil argv cwd memoryUsage""".split()  # noqa: SIM905 - a table
)


_OF_PACKAGE = lazy_pattern(
    r"(?:console\.log\()?require\(['\"]\./(?:[\w-]+/)*(?:package(?:-lock)?|tsconfig|composer|manifest)\.json['\"]\)"
    r"(?:\.\w+|\[['\"][\w@/.-]+['\"]\])*\)?;?"
)
"""A look at what a project's own description says."""


def _only_prints(code: str) -> bool:
    """Tell whether code is one print of what is known to be harmless, or one ``s///`` without code."""
    if _OF_PACKAGE.fullmatch(code.strip()):
        return True
    if _SAFE_FILTER.fullmatch(code.strip()) and "(?{" not in code and "(??{" not in code:
        return True
    if not _SAFE_CODE.fullmatch(code.strip()):
        return False
    bare = re.sub(r"\"[^\"]*\"|'[^']*'", "", code)
    return all(name in _SAFE_NAMES for name in re.findall(r"[A-Za-z_]\w*", bare))


CODE: dict[str, Handler] = {
    **dict.fromkeys(("sh", "bash", "zsh", "dash", "ksh", "ash", "fish", "rbash"), _shell),
    **dict.fromkeys(("python", "python2", "python3", "pypy", "pypy3", "ipython"), _python),
    **dict.fromkeys(
        ("node", "nodejs"), _interpreter(("-e", "--eval", "-p", "--print"), "JavaScript")
    ),
    **dict.fromkeys(("perl",), _interpreter(("-e", "-E"), "Perl")),
    **dict.fromkeys(("ruby", "irb"), _interpreter(("-e",), "Ruby")),
    **dict.fromkeys(("php",), _interpreter(("-r", "-R", "-B"), "PHP")),
    **dict.fromkeys(("lua", "luajit", "julia", "Rscript", "R"), _interpreter(("-e",), "inline")),
    **dict.fromkeys(
        ("osascript", "groovy", "scala", "swift", "elixir"), _interpreter(("-e",), "inline")
    ),
    **dict.fromkeys(
        ("tclsh", "wish", "expect", "guile", "sbcl"), _interpreter(("-c", "-e"), "inline")
    ),
    **dict.fromkeys(("eval",), _eval),
    **dict.fromkeys(("source", "."), _source),
    "alias": _alias,
    "trap": _trap,
}

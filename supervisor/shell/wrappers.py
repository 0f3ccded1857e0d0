"""Programs that run another one, and variables that decide what programs do. Pure."""

import re
from collections.abc import Iterator

import msgspec

from ..danger.paths import UNKNOWN, Where
from ..danger.risks import Risk
from ..danger.sensitive import names_secret
from ..patterns import lazy_pattern
from .calls import Call, Finding, Handler, Runs, RunsText, Scope, options, reads, writes
from .expand import Field

# ---------------------------------------------------------------- environment


def _environment(call: Call, scope: Scope) -> Iterator[Finding]:
    """printenv, and env without a command: what it shows."""
    for each in call.arguments:
        if names_secret(each.text):
            yield Risk("credentials", f"shows {each.shown}, which is called like a secret")


def _env(call: Call, scope: Scope) -> Iterator[Finding]:
    words = list(call.arguments)
    while words and (words[0].text.startswith("-") or "=" in words[0].text):
        word = words.pop(0).text
        if word in ("-S", "--split-string") or word.startswith(("-S", "--split-string=")):
            yield Risk("unclear", "takes a command apart in its own way")
        elif word in ("-u", "--unset", "-C", "--chdir") and words:
            words.pop(0)
        elif not word.startswith("-"):
            name, _, value = word.partition("=")
            yield from variable_risks(scope, name, Field(value))
    if words:
        yield Runs(tuple(words))


_STEERS = lazy_pattern(
    r"LD_\w+|DYLD_\w+|BASH_ENV|ENV|PROMPT_COMMAND|IFS|SHELLOPTS|BASHOPTS|GIT_SSH(?:_COMMAND)?|GIT_EXTERNAL_DIFF|GIT_PROXY_COMMAND"
    r"|GIT_CONFIG\w*|GIT_EXEC_PATH|GIT_ASKPASS|SSH_ASKPASS|PYTHONSTARTUP|PYTHONINSPECT|PERL5OPT|PERL5LIB|RUBYOPT|RUBYLIB"
    r"|NODE_OPTIONS|JAVA_TOOL_OPTIONS|HISTFILE|HISTSIZE|HISTCONTROL|HISTFILESIZE|http_proxy|https_proxy|HTTPS?_PROXY|ALL_PROXY"
    r"|PIP_INDEX_URL|PIP_EXTRA_INDEX_URL|NPM_CONFIG_REGISTRY|RUSTC_WRAPPER|MAKEFLAGS|SUDO_ASKPASS|HOME|SHELL"
)
_COMMANDS = frozenset(
    ("EDITOR", "VISUAL", "PAGER", "GIT_EDITOR", "GIT_PAGER", "MANPAGER", "BROWSER")
)
_SEARCHED = frozenset(("PATH", "CDPATH", "MANPATH", "LIBRARY_PATH"))


def variable_risks(scope: Scope, name: str, value: Field) -> Iterator[Risk]:
    """What setting a variable puts at risk: some decide which programs run, and where they send."""
    if name in _COMMANDS and value.text not in ("", "true", "false", "cat", ":", "less", "more"):
        yield Risk("code", f"has programs run {value.shown} through {name}")
    elif name == "NODE_OPTIONS" and re.fullmatch(r"--max-old-space-size=\d+|", value.text):
        return
    elif _STEERS.fullmatch(name):
        yield Risk("config", f"sets {name}, which decides what programs do")
    elif name in _SEARCHED:
        for each in value.text.split(":"):
            if each not in (UNKNOWN, *_FOLDERS) and not _is_own(scope, each):
                yield Risk("config", f"has programs looked for in {Field(each).shown}")


_FOLDERS = ("/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin")


def _is_own(scope: Scope, folder: str) -> bool:
    places = scope.places(folder)
    return bool(folder) and all(
        each.where is Where.INSIDE or each.path.startswith(("~/.local", "~/.cargo", "~/go"))
        for each in places
    )


def _export(call: Call, scope: Scope) -> Iterator[Finding]:
    for each in call.arguments:
        name, equals, value = each.text.partition("=")
        if equals:
            yield from variable_risks(scope, name, Field(value))


# ---------------------------------------------------------------- wrappers


def _wraps(valued: str = "", long: str = "", skipped: int = 0, written: str = "") -> Handler:
    """A program that runs another behind its own options and ``skipped`` operands; it writes the
    files that its options ``written`` name."""
    takers = frozenset(long.split())

    def handler(call: Call, scope: Scope) -> Iterator[Finding]:
        words = list(call.arguments)
        while words and words[0].text.startswith("-") and words[0].text != "-":
            word = words.pop(0).text
            if word == "--":
                break
            takes = word in takers or (len(word) == 2 and word[1] in valued)
            value = words.pop(0) if takes and words else Field(word[2:])
            if word[1] in written:
                yield from writes(scope, value)
        inner = tuple(words[skipped:])
        if inner:
            yield Runs(inner)

    return handler


def _perf(call: Call, scope: Scope) -> Iterator[Finding]:
    """perf measures a program behind its verb; its other verbs look at what was measured."""
    if call.arguments and call.arguments[0].text in ("stat", "record", "trace"):
        measured = msgspec.structs.replace(call, arguments=call.arguments[1:])
        yield from _wraps("aceoprtuCFIjmGNDx", written="o")(measured, scope)


def _sudo(call: Call, scope: Scope) -> Iterator[Finding]:
    yield Risk("privilege", f"takes another user's rights with {call.program}")
    yield from _wraps("ugphRTCDrt", "--user --group --chdir --host --prompt --role --type")(
        Call(program="sudo", arguments=_without_assignments(call)), scope
    )


def _without_assignments(call: Call) -> tuple[Field, ...]:
    return tuple(e for e in call.arguments if not re.match(r"[A-Za-z_]\w*=", e.text))


def _su(call: Call, scope: Scope) -> Iterator[Finding]:
    yield Risk("privilege", f"takes another user's rights with {call.program}")
    for text in options(call, "cgGsT", ("--command",)).of("-c", "--command"):
        yield RunsText(text.text)


def _xargs(call: Call, scope: Scope) -> Iterator[Finding]:
    words = list(call.arguments)
    while words and words[0].text.startswith("-"):
        word = words.pop(0).text
        if (
            word in ("-n", "-P", "-I", "-L", "-d", "-E", "-s", "-a", "--max-args", "--replace")
            and words
        ):
            words.pop(0)
    # Which names come in is not known; at best, that they are files of the workspace.
    names = Field(call.listed or UNKNOWN, bool(call.listed), splits=not call.listed)
    inner = [Field(each.text.replace("{}", names.text), each.globs) for each in words]
    if inner:
        placed = any("{}" in each.text for each in words)
        yield Runs((*inner, *(() if placed else (names,))))


def _watch(call: Call, scope: Scope) -> Iterator[Finding]:
    words = list(call.arguments)
    while words and words[0].text.startswith("-"):
        word = words.pop(0).text
        if word in ("-n", "--interval", "-q") and words:
            words.pop(0)
    text = " ".join(each.text for each in words)
    if UNKNOWN in text:
        yield Risk("code", "runs a command that is known only when it runs")
    elif text:
        yield RunsText(text)


def _measures(call: Call, scope: Scope) -> Iterator[Finding]:
    """hyperfine: each operand is a command line, and so are those before and between."""
    given = options(call, "wmMrpcsLPDuin", ("--warmup", "--runs", "--export-json"))
    for each in (*given.operands, *given.of("-p", "-c", "-s")):
        if each.known:
            yield RunsText(each.text)
        else:
            yield Risk("code", "runs a command that is known only when it runs")


def _command(call: Call, scope: Scope) -> Iterator[Finding]:
    """``command -v`` asks, ``command NAME`` runs."""
    if not any(re.fullmatch(r"-[pvV]*[vV]", each.text) for each in call.arguments[:1]):
        yield from _wraps()(call, scope)


def _openssl(call: Call, scope: Scope) -> Iterator[Finding]:
    given = options(
        call,
        "",
        ("-in", "-out", "-inkey", "-key", "-signkey", "-pass", "-passin", "-passout", "-days"),
    )
    verb = given.operands[0].text if given.operands else ""
    public = verb in ("x509", "crl", "verify", "ocsp")  # what these show is known to everybody
    for path in (*(() if public else given.of("-in")), *given.of("-inkey", "-key", "-signkey")):
        yield from reads(scope, path)
    for path in given.of("-out"):
        yield from writes(scope, path)
    if verb in ("s_client", "s_server", "s_time"):
        yield Risk("network", f"opens a connection with openssl {verb}")
    elif verb in ("genrsa", "genpkey", "req", "ca"):
        yield Risk("credentials", "makes keys or certificates")


def _arch(call: Call, scope: Scope) -> Iterator[Finding]:
    """Alone it says what the machine is; with a command it runs that as another would."""
    command = options(call, "de").operands
    if command:
        yield Runs(call.arguments[call.arguments.index(command[0]) :])


WRAPPERS: dict[str, Handler] = {
    **dict.fromkeys(("sudo", "doas", "pkexec", "gosu", "runuser", "sudoedit", "gksudo"), _sudo),
    **dict.fromkeys(("su", "sg", "newgrp", "machinectl"), _su),
    **dict.fromkeys(("nohup", "setsid", "builtin", "exec", "unbuffer", "caffeinate"), _wraps("a")),
    **dict.fromkeys(("time", "gtime"), _wraps("of", written="o")),
    **dict.fromkeys(("stdbuf", "catchsegv", "faketime"), _wraps("oefi")),
    **dict.fromkeys(("nice", "ionice", "chrt"), _wraps("ncpP", "--adjustment --class --classdata")),
    **dict.fromkeys(("timeout", "gtimeout"), _wraps("ks", "--signal --kill-after", skipped=1)),
    **dict.fromkeys(("taskset", "flock", "setarch", "numactl"), _wraps("wEN", skipped=1)),
    "strace": _wraps("abeopsuEIOPSX", written="o"),
    "ltrace": _wraps("aelnopsuxADFw", written="o"),
    "valgrind": _wraps(),
    "perf": _perf,
    **dict.fromkeys(("busybox", "toybox"), _wraps()),
    **dict.fromkeys(("export", "declare", "typeset", "setenv"), _export),
    "env": _env,
    "printenv": _environment,
    "xargs": _xargs,
    "parallel": _xargs,
    "watch": _watch,
    "hyperfine": _measures,
    "command": _command,
    "openssl": _openssl,
    "arch": _arch,
}

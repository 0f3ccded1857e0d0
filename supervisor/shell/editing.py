"""Editors, and programs that change text by a script of their own: what they put at risk. Pure."""

import re
from collections.abc import Iterator

from ..danger.risks import Risk
from ..patterns import lazy_pattern
from .calls import Call, Finding, Handler, Options, RunsText, Scope, options, reads, writes


def _editor(call: Call, scope: Scope) -> Iterator[Finding]:
    yield Risk("code", f"runs {call.program}, an editor that can run anything")


def _sed(call: Call, scope: Scope) -> Iterator[Finding]:
    given = options(call, "efl", ("--expression", "--file"))
    scripts = given.of("-e", "--expression")
    files = given.operands if scripts or given.of("-f", "--file") else given.operands[1:]
    for script in scripts or given.operands[:1]:
        if not script.known or _sed_runs(script.text):
            yield Risk("code", "runs a sed script that may write files or run commands")
    in_place = given.has("-i", "--in-place")
    for path in files:
        yield from reads(scope, path)
        if in_place:
            yield from writes(scope, path, "changes")


_SED_STARTS = lazy_pattern(r"s([^\w\s\\;{}])")
_SED_FLAGS = lazy_pattern(r"[gpiImM0-9]*[ew]")
_SED_COMMANDS = lazy_pattern(r"(?:^|[;{}\n\d$/!])\s*[ewWrR](?:\s|$)")


def _sed_runs(script: str) -> bool:
    """Tell whether a script runs commands (``s///e``, ``e``) or writes files (``s///w``, ``w``)."""
    outside: list[str] = []
    at = 0
    while found := _SED_STARTS.search(script, at):
        outside.append(script[at : found.start()])
        at = found.end()
        for _ in range(2):
            at = _delimiter(script, found[1], at)
        if _SED_FLAGS.match(script, at):
            return True
    return _SED_COMMANDS.search("".join((*outside, script[at:]))) is not None


def _delimiter(script: str, delimiter: str, at: int) -> int:
    """Return the place behind the next delimiter that no backslash takes away."""
    while at < len(script) and script[at] != delimiter:
        at += 2 if script[at] == "\\" else 1
    return at + 1


def _awk(call: Call, scope: Scope) -> Iterator[Finding]:
    given = options(call, "Fvfie", ("--file", "--assign", "--field-separator", "--include"))
    program = given.operands[:1] if not given.of("-f", "--file") else ()
    for each in program:
        if _AWK_RUNS.search(re.sub(r'"(?:\\.|[^"\\])*"|/(?:\\.|[^/\\\n])+/', '""', each.text)):
            yield Risk("code", "runs an awk program that may write files or run commands")
        elif not each.known:
            yield Risk("code", "runs an awk program that is known only when it runs")
    if any(each.text == "inplace" for each in given.of("-i", "--include")):
        for path in given.operands[1:]:
            yield from writes(scope, path, "changes")
    for path in given.operands[len(program) :]:
        yield from reads(scope, path)


_AWK_RUNS = lazy_pattern(r'\bsystem\s*\(|\||\bprintf?\b[^;}\n]*>|\bgetline\b|@load|>\s*""')


def _sort(call: Call, scope: Scope) -> Iterator[Finding]:
    given = options(call, "okTSt", ("--output", "--key", "--compress-program"))
    if given.of("--compress-program"):
        yield Risk("code", "runs a program from inside of sort")
    for path in given.of("-o", "--output"):
        yield from writes(scope, path)
    yield from _read_all(given, scope)


def _read_all(given: Options, scope: Scope) -> Iterator[Risk]:
    for path in given.operands:
        yield from reads(scope, path)


def _split(call: Call, scope: Scope) -> Iterator[Finding]:
    given = options(call, "abCln", ("--filter",))
    for command in given.of("--filter"):
        yield RunsText(command.text)
    yield from _read_all(given, scope)
    for path in given.operands[1:]:
        yield from writes(scope, path)


def _patch(call: Call, scope: Scope) -> Iterator[Finding]:
    given = options(call, "pidoBFrVYz", ("--directory", "--output", "--input"))
    for path in (*given.of("-d", "--directory", "-o", "--output"), *given.operands[:1]):
        yield from writes(scope, path, "changes")


EDITING: dict[str, Handler] = {
    **dict.fromkeys(("vi", "vim", "nvim", "ex", "ed", "emacs", "nano", "view", "pico"), _editor),
    **dict.fromkeys(("awk", "gawk", "mawk", "nawk"), _awk),
    **dict.fromkeys(("sed", "gsed"), _sed),
    **dict.fromkeys(("split", "csplit"), _split),
    "sort": _sort,
    "patch": _patch,
}

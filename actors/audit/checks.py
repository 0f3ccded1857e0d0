"""That the project builds, is free of lint, is well typed; that a named program looked at it. Pure.

Like the tests: the last run of such a command counts, and where none ran nothing was checked.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from ...supervisor.patterns import lazy_pattern
from .claims_made import Claim
from .claims_text import Sentence, sentences
from .disclosure import discloses
from .findings import Finding, finding
from .ledger import Ledger
from .record import Ran


class Check(NamedTuple):
    """A kind of check: how it is claimed to have gone well, and which commands make it."""

    name: str
    claimed: re.Pattern[str]
    command: re.Pattern[str]


_WELL = (
    r"(?:succeed(?:s|ed)?|pass(?:es|ed)?|completed?(?: successfully)?|is (?:now )?(?:clean|green|successful|fine|ok|fixed|repaired)|"
    r"works|(?:was|were|is|are) successful|went through|(?:has|have|had|with|found|reports?|shows?) (?:no|0|zero)|"
    r"without (?:any )?(?:errors?|problems?|warnings?|issues?)|"
    r"(?:both |all )?pass\b|(?:reports?|finds?|found|shows?) nothing|is happy|✅|✔)"
)


def _check(name: str, claimed: str, command: str) -> Check:
    return Check(name, lazy_pattern(claimed, re.IGNORECASE), lazy_pattern(command, re.IGNORECASE))


CHECKS = (
    _check(
        "build",
        rf"\b(?:build|compilation|bundle)\b[\w\s`.'-]{{0,24}}?\b{_WELL}|"
        r"\b(?:builds|compiles|compiled|built) (?:\w+ )?(?:without (?:any )?(?:errors?|problems?|warnings?|issues?)|"
        r"successfully|cleanly|fine)\b|\b(?:project|code|app\w*|it|everything|crate|package|module|library|workspace|site|binary|image|typescript) (?:now )?(?:builds|compiles)\b|(?:构建|编译)(?:已修复|成功|通过|完成|没有错误|恢复正常)",
        r"\b(?:build|compile|make|tsc|gcc|g\+\+|clang|javac|rustc|cargo|go|mvn|gradlew?|cmake|ninja|webpack|vite|docker|dotnet|swift|next)\b",
    ),
    _check(
        "lint",
        rf"\b(?:lint(?:er|ing)?|eslint|ruff|flake8|pylint|rubocop|clippy|golangci-lint|stylelint|shellcheck)\b[\w\s`:.'-]{{0,24}}?\b{_WELL}|"
        r"\blint(?:ing)?[- ](?:clean|free)\b|\b(?:all|every) lint\w* (?:\w+ )?(?:is|are|were|have been|has been)? ?(?:fixed|resolved|gone)\b|"
        r"(?:lint|代码检查|静态检查)\S{0,6}(?:通过|没有错误|无误)",
        r"\b(?:lint\w*|eslint|ruff|flake8|pylint|rubocop|clippy|golangci-lint|stylelint|shellcheck|check|standard|biome)\b",
    ),
    _check(
        "types",
        rf"\b(?:type[- ]?check(?:s|er|ing)?|types|typing|mypy|pyright|basedpyright|tsc|flow)\b[\w\s`:.'-]{{0,24}}?\b{_WELL}|"
        r"类型检查\S{0,4}(?:通过|没有错误)",
        r"\b(?:mypy|b?a?s?e?d?pyright|tsc|flow|pytype|type-?check|sorbet|check)\b",
    ),
)
"""Checks by a command; the tests have rules of their own."""


def checks_missed(statement: str, ledger: Ledger) -> list[Finding]:
    """Return the checks that are said to have gone well, and did not run, or failed."""
    if not ledger.executors and not (ledger.ran and ledger.record.tools):
        return []
    found: list[Finding] = []
    for sentence in sentences(statement):
        missed = _missed(sentence, ledger) if sentence.asserts else []
        if missed and not discloses(sentence.text):
            found += missed
    return found


def tells_of_checks(statement: str) -> bool:
    """Tell whether a statement has anything that `checks_missed` compares, where no command failed."""
    return any(
        _CHECKER_WELL.search(said)
        or _PROGRAMS.search(said)
        or any(check.claimed.search(said) for check in CHECKS)
        for said in map(_asserted, sentences(statement))
    )


def _asserted(sentence: Sentence) -> str:
    return ", ".join(sentence.fragments[: sentence.asserted])


def _missed(sentence: Sentence, ledger: Ledger) -> list[Finding]:
    found: list[Finding] = []
    said = _asserted(sentence)
    for check in CHECKS:
        if check.claimed.search(said):
            found += _check_ran(check, sentence, ledger)
    found += _named_well(said, sentence, ledger) or _named_in_vain(said, sentence, ledger)
    found += [
        finding(
            "contradicted",
            Claim(kind="action", text=sentence.text),
            f"no command ran {program}",
            ledger.executed,
        )
        for program in _programs(said)
        if not any(program.lower() in ledger.text(each) for each in ledger.ran)
        and not (ledger.opaque and program.lower() not in _ONLY_BY_NAME)
    ]
    return found


def _named_well(said: str, sentence: Sentence, ledger: Ledger) -> list[Finding]:
    """A command is named and said to succeed, and its last run failed."""
    if all(each.ok for each in ledger.executed):
        return []
    last: dict[str, Ran] = {}
    for run in ledger.executed:
        for name in _names_of(ledger.command(run)):
            last[name] = run
    for program, run in last.items():
        well = (
            rf"(?<![\w-]){re.escape(program)}\b[^.;,]{{0,24}}?(?:\b{_WELL}|\b(?:works|succeeds)\b)"
        )
        if not run.ok and re.search(well, said, re.IGNORECASE):
            claim = Claim(kind="action", text=sentence.text)
            return [finding("contradicted", claim, f"the last run of {program} failed", [run])]
    return []


_SUBCOMMANDS = frozenset(
    ["go", "cargo", "npm", "yarn", "pnpm", "make", "git", "dotnet", "mix", "uv"]
)


def _names_of(command: str) -> Iterator[str]:
    """How a command may be named: its program, or that with what it is to do, or the latter alone."""
    parts = command.split(maxsplit=3)[:3]
    if not parts or not re.fullmatch(r"[a-z][\w.-]{1,30}", parts[0]):
        return
    if parts[0] not in _SUBCOMMANDS:
        yield parts[0]
        return
    rest = [
        each for each in parts[1:] if re.fullmatch(r"[a-z][\w:-]{1,20}", each) and each != "run"
    ]
    if rest:
        yield f"{parts[0]} {rest[0]}"
        if rest[0] in ("vet", "clippy", "lint", "fmt", "typecheck"):
            yield rest[0]


_CHECKERS = ("mypy", "pyright", "basedpyright", "eslint", "ruff", "flake8", "pylint", "tsc", "clippy", "prettier",
             "shellcheck", "golangci-lint", "rubocop", "bandit", "semgrep")  # fmt: skip
_CHECKER_WELL = lazy_pattern(
    rf"(?<![\w.-])({'|'.join(_CHECKERS)})\b[^.;,]{{0,24}}?\b{_WELL}", re.IGNORECASE
)
_RUNS_CHECKS = lazy_pattern(
    r"\b(?:make|npm|npx|yarn|pnpm|bun|tox|nox|pre-commit|just|task|rake|gradlew?|mvn|lint\w*|check\w*|verify|ci)\b",
    re.IGNORECASE,
)
"""Commands that may run any checker."""


def _named_in_vain(said: str, sentence: Sentence, ledger: Ledger) -> list[Finding]:
    """A checker is named and said to be content, and nothing ever ran it or told of it."""
    for hit in _CHECKER_WELL.finditer(said):
        name = hit[1].lower()
        indirect = any(
            each.ok and _RUNS_CHECKS.search(ledger.command(each).replace("ruff check", ""))
            for each in ledger.executed
        )
        told = name in ledger.heard or any(name in each for each in ledger.tools)
        if not told and not indirect:
            claim = Claim(kind="action", text=sentence.text)
            return [finding("contradicted", claim, f"no command ran {name}", ledger.executed)]
    return []


def _check_ran(check: Check, sentence: Sentence, ledger: Ledger) -> list[Finding]:
    claim = Claim(kind="action", text=sentence.text)
    runs = [each for each in ledger.executed if check.command.search(ledger.command(each))]
    if not runs:
        told = any(each.ok and check.claimed.search(each.content[-4000:]) for each in ledger.ran)
        if told or ledger.opaque or any(check.name in each for each in ledger.tools):
            return []
        return [finding("contradicted", claim, f"no {check.name} ran", ledger.executed)]
    return (
        []
        if _went_well(runs[-1])
        else [finding("contradicted", claim, f"the last {check.name} failed", runs[-1:])]
    )


_ERRORS = lazy_pattern(
    r"\b[1-9]\d*\s+(?:\w+\s+)?errors?\b|\berror(?:\[\w+\])?:|\bBUILD FAILED\b|\bcould not compile\b",
    re.IGNORECASE,
)


def _went_well(run: Ran) -> bool:
    return run.ok and not _ERRORS.search(run.content[-4000:])


_ONLY_BY_NAME = frozenset(
    ["mypy", "pyright", "eslint", "ruff", "flake8", "pylint", "tsc", "dig", "nslookup", "ping",
     "curl", "wget", "traceroute", "nmap", "shellcheck", "valgrind", "strace", "tcpdump", "clippy", "trivy",
     "bandit", "semgrep", "prettier", "black", "terraform", "kubectl", "helm", "psql", "redis-cli"]
)  # fmt: skip
_PROGRAMS = lazy_pattern(
    r"(?:^|,|\b(?:i|we|i've|we've|have|and|then|also|通过|用|使用|运行))\s*(?:have )?(?:\w+ )?"
    r"(?:ran|run|used|executed|(?:re|double-?|cross-?)?(?:checked|verified|confirmed|validated|tested|measured|profiled)\b[^.;,]{0,40}? (?:with|using|via|by running)|"
    r"通过|用|使用|运行了?)\s*(?:the )?("
    + "|".join(sorted(_ONLY_BY_NAME, key=len, reverse=True))
    + r")\b",
    re.IGNORECASE,
)


def _programs(said: str) -> Iterator[str]:
    """The programs that a sentence says were run."""
    for hit in _PROGRAMS.finditer(said):
        yield hit[1]

"""Whether the tests ran, and how the last run of them went. Pure."""

import re

from ...supervisor.patterns import lazy_pattern
from .claims_made import Claim
from .claims_words import TEST_COMMAND, TESTS_FAILED
from .findings import Finding, finding
from .ledger import Ledger
from .record import Ran, name_words


def _test_runs(ledger: Ledger) -> list[Ran]:
    return [
        each
        for each in ledger.ran
        if any(word.startswith("test") or word == "pytest" for word in name_words(each.tool))
        or (each.tool in ledger.executors and TEST_COMMAND.search(ledger.command(each)))
    ]


_TESTS_TOLD = lazy_pattern(
    r"\b\d+ pass|\btests? (?:pass|succe)|\ball (?:checks|tests)\b|\bsuccess|\bgreen\b|通过",
    re.IGNORECASE,
)
"""What a report of a test run elsewhere says."""


def check_tests(claim: Claim, ledger: Ledger, statement: str) -> list[Finding]:
    """That the tests pass: the last run of them decides, and none is no run."""
    runs = _test_runs(ledger)
    if not runs:
        told = any(each.ok and _TESTS_TOLD.search(each.content[-4000:]) for each in ledger.ran)
        return [] if told else _no_test_ran(claim, ledger)
    last = runs[-1]
    if not last.ok or TESTS_FAILED.search(last.content[-4000:]):
        return [finding("contradicted", claim, "the last run of the tests failed", [last])]
    if _ran_none(last.content[-4000:]):
        return [finding("contradicted", claim, "the last run found no tests to run", [last])]
    skipped = _skipped(last, claim, statement)
    if skipped:
        return [finding("contradicted", claim, skipped, [last])]
    after = ledger.ran[[*ledger.ran].index(last) + 1 :]
    edits = [each for each in after if each.ok and _edits(each, ledger)]
    if edits:
        return [
            finding("unverified", claim, "files were changed after the last run", [last, *edits])
        ]
    return []


_NONE_RAN = lazy_pattern(
    r"\bno tests? (?:were |was )?(?:found|ran|run|executed|collected|matched|to run)\b|\bno test files\b|"
    r"\b(?:ran|running|collected|executed) 0 (?:tests?|items)\b|\btests run: ?0\b|"
    r"\b0 (?:tests?|specs?|examples?|passing|passed)\b|[\s=]\d+ (?:skipped|deselected) in [\d.]+ ?s\b|"
    r"没有(?:找到|发现|可运行的)?(?:任何)?测试|0 ?个测试",
    re.IGNORECASE,
)
_SOME_RAN = lazy_pattern(
    r"(?<![\d.])[1-9]\d* (?:tests? |specs? )?(?:pass(?:ed|ing)?|ok|succeeded|examples?)\b|\btests? run: ?[1-9]|"
    r"\b(?:ran|running) [1-9]|\bpassed\s*[:=]\s*[1-9]|\btests?:? +[1-9]|\bout of [1-9]|^(?:ok|PASS)\s+\S+|"
    r"[1-9]\d* ?个?(?:测试)?(?:全部)?通过",
    re.IGNORECASE | re.MULTILINE,
)


def _ran_none(report: str) -> bool:
    """Whether a report tells of no test at all; of several runs one that found some is enough."""
    return _NONE_RAN.search(report) is not None and _SOME_RAN.search(report) is None


_SKIPPED = lazy_pattern(
    r"\b([1-9]\d{0,6}) (?:tests? )?(?:skipped|ignored|pending|todo|deselected|did not run)\b"
    r"|\b(?:skipped|ignored|pending)\b\s*[:=]\s*([1-9]\d{0,6})\b|([1-9]\d{0,6}) ?个?(?:测试)?(?:被)?跳过",
    re.IGNORECASE,
)
_PASSED = lazy_pattern(
    r"\b(\d{1,7}) (?:tests? )?(?:pass(?:ed|ing)?|ok)\b|\bpassed\s*[:=]\s*(\d{1,7})\b", re.IGNORECASE
)
_ALL_PASSED = lazy_pattern(
    r"\ball (\d{1,7}) (?:[\w-]+ ){0,3}?(?:tests?|specs?|checks?|cases?|scenarios?)\b|(?<![\d/])(\d{1,7})/\2(?![\d/])|"
    r"(?<!\d)(\d{1,7}) (?:out )?of (?:the )?\3\b|(?:全部|所有)\s?(\d{1,7})\s?[个项条]",
    re.IGNORECASE,
)
_NONE_SKIPPED = lazy_pattern(
    r"\b(?:none|no tests?|nothing|0|zero)(?: tests?)?(?: of them)?(?: (?:is|was|were|are|got))? skipped\b|"
    r"\bwithout (?:any )?skip\w*|没有跳过|无跳过",
    re.IGNORECASE,
)


def _skipped(run: Ran, claim: Claim, statement: str) -> str:
    """Say why a count of all tests is wrong, where a run skipped some; empty where it is not."""
    end = run.content[-4000:]
    hit = _SKIPPED.search(end)
    if hit is None:
        return ""
    count = next(each for each in hit.groups() if each)
    if _NONE_SKIPPED.search(statement):
        return f"the last run of the tests skipped {count}"
    passed = {int(each) for pair in _PASSED.findall(end) for each in pair if each}
    told = _ALL_PASSED.search(claim.text)
    if told is None or not passed or "skip" in statement.lower() or "跳过" in statement:
        return ""
    whole = int(next(each for each in told.groups() if each))
    return "" if whole in passed else f"the last run of the tests skipped {count}"


def _edits(call: Ran, ledger: Ledger) -> bool:
    """Whether a call surely changed a file of the project."""
    words = {*name_words(call.tool)}
    return call.tool not in ledger.executors and bool(words & {"write", "edit", "patch", "replace"})


def _no_test_ran(claim: Claim, ledger: Ledger) -> list[Finding]:
    testers = [name for name in ledger.tools if any(w.startswith("test") for w in name_words(name))]
    if ledger.opaque and not testers:
        return [finding("unverified", claim, "programs ran, but none that is known to run tests")]
    if not testers and not ledger.executors:
        heard = any(_TESTS_TOLD.search(each) for each in ledger.record.said)
        if ledger.ran and ledger.record.tools and not heard:
            return [finding("contradicted", claim, "no tool of the agent can run tests")]
        return [finding("unverified", claim, "no tool can run tests")]
    return [finding("contradicted", claim, "no tests ran", ledger.executed)]


def ran_tests(claim: Claim, ledger: Ledger) -> list[Finding]:
    """That the tests were run, however they went."""
    return [] if _test_runs(ledger) else _no_test_ran(claim, ledger)

"""Whether what an agent says it did is what was executed. Pure: statement and record in, findings out.

A claim is *contradicted* where a call that would have made it true never ran, failed or was refused, where
a file is not there or did not change, where the last run of the tests failed. It is *unverified*
where nothing supports or refutes it. What cannot be checked is never taken as checked.
"""

import re
from collections.abc import Generator, Iterable, Sequence
from typing import Literal, cast

import msgspec
from msgspec import Struct

from ...supervisor.patterns import lazy_pattern
from .checks import checks_missed
from .claims import claims_of
from .claims_given import FINISH
from .claims_made import PATH, Claim
from .claims_words import (
    ACTIONS,
    FILE_ACTIONS,
    words,
)
from .counted import elsewhere
from .disclosure import discloses
from .files import check_files, files_not_there
from .findings import Finding, finding
from .ledger import Ledger, claim_words
from .pairs import wrong_pairs
from .reasons import reasons_missed
from .record import Ran, Record, object_words
from .states import empty_after_all, in_another_state
from .substitutes import substitutes
from .targets import targets_missed
from .tests_run import check_tests, ran_tests
from .unsupported import unsupported
from .untold import asked_to_change, left_failed, untold

FINDINGS_MAX = 20
"""Findings of one statement that are kept."""

Values = Literal["alarm", "flag", "off"]


class Audit(Struct, frozen=True):
    """What the check of one statement found."""

    findings: tuple[Finding, ...] = ()

    @property
    def mismatches(self) -> tuple[Finding, ...]:
        """Those that are not reported as success."""
        return tuple(each for each in self.findings if each.kind != "unverified")

    @property
    def unverified(self) -> tuple[str, ...]:
        """Claims that nothing supports."""
        claims = (each.claim for each in self.findings if each.kind == "unverified")
        return tuple(dict.fromkeys(claims))


def audit(
    statement: str, record: Record, *, claims: Sequence[Claim] = (), values: Values = "alarm"
) -> Audit:
    """Compare a statement, and claims made in a structured form, with the record.

    Args:
        values: what a number or identifier is that comes from nowhere: a mismatch (alarm), an
            unverified claim (flag), or nothing (off).
    """
    portions = audit_in_portions(statement, record, claims=claims, values=values)
    while True:
        try:
            next(portions)
        except StopIteration as end:
            return cast(Audit, end.value)


def audit_in_portions(
    statement: str, record: Record, *, claims: Sequence[Claim] = (), values: Values = "alarm"
) -> Generator[None, None, Audit]:
    """Do what `audit` does, stopping on the way where there are claims or values to compare."""
    made = [*claims_of(statement), *claims]
    stops = bool(made) or any(each.isdigit() for each in statement)
    if stops:
        yield
    ledger = Ledger(record)
    found = check(made, ledger, statement)
    if stops:
        yield
    found += substitutes(statement, ledger)
    found += files_not_there(statement, ledger)
    found += checks_missed(statement, ledger)
    found += reasons_missed(statement, ledger)
    found += elsewhere(statement, ledger)
    found += in_another_state(statement, ledger)
    found += empty_after_all(statement, ledger)
    found += wrong_pairs(statement, ledger)
    found += untold(statement, ledger, found)
    if stops:
        yield
    if values != "off" and record.ran:
        found += unsupported(
            statement, ledger, "unsupported_value" if values == "alarm" else "unverified"
        )
    unique = {(each.kind, each.claim): each for each in found}
    worst_first = sorted(unique.values(), key=lambda each: each.kind == "unverified")
    return Audit(tuple(worst_first[:FINDINGS_MAX]))


def check(claims: Iterable[Claim], ledger: Ledger, statement: str = "") -> list[Finding]:
    """Compare claims with what was executed."""
    found: list[Finding] = []
    for claim in claims:
        match claim.kind:
            case "action":
                found += _action(claim, ledger, statement)
            case "tests":
                found += check_tests(claim, ledger, statement)
            case "failure":
                found += _failure(claim, ledger)
            case "done":
                found += _done(claim, ledger, statement)
            case "given":
                found += _given(claim, ledger)
    return found


def _given(claim: Claim, ledger: Ledger) -> list[Finding]:
    """What a structured claim names: the tool, a value of its results, a file."""
    calls = [each for each in ledger.ran if not claim.tool or each.tool == claim.tool]
    done = [each for each in calls if each.ok and each.tool != FINISH]
    if claim.tool and not done:
        return [finding("contradicted", claim, f"no call of {claim.tool} succeeded", calls)]
    if claim.value and not any(claim.value.lower() in ledger.text(each) for each in done):
        return [finding("contradicted", claim, f"{claim.value} is in none of its calls", done)]
    if claim.after:
        named = Claim(kind="action", text=claim.after, actions=("update",))
        return [
            msgspec.structs.replace(each, claim=claim.text)
            for each in check_files(named, ledger) or ()
        ]
    return []


# ---------------------------------------------------------------- deeds


_BY_TESTS = lazy_pattern(
    r"\bby (?:re-?)?running\b[^.;]*\b(?:tests?|pytest|unittest|jest)\b|运行[^\uff0c\u3002\uff1b]*测试",
    re.IGNORECASE,
)
"""How something is said to have been looked at, where that was a run of the tests."""


def _action(claim: Claim, ledger: Ledger, statement: str) -> list[Finding]:
    if all(each in ACTIONS and ACTIONS[each].looks for each in claim.actions):
        by_tests = _BY_TESTS.search(claim.text)
        return ran_tests(claim, ledger) if by_tests else _looked(claim, ledger)
    if "run" in claim.actions and re.search(r"\btest|测试", claim.text):
        return ran_tests(claim, ledger)
    if FILE_ACTIONS & set(claim.actions) and PATH.search(claim.text):
        files = check_files(claim, ledger, statement)
        if files is not None:
            return files
    if not ledger.ran and claim.verb in TOOL_VERBS and not ledger.writers(claim):
        return _looked(claim, ledger)
    return _deed(claim, ledger, statement)


def _deed(claim: Claim, ledger: Ledger, statement: str) -> list[Finding]:
    surely, perhaps = ledger.doing(claim)
    commands = ledger.commands_for(claim)
    calls = [each for each in ledger.ran if each.tool in surely] + commands
    if not any(each.ok for each in calls) and not _named_and_left(claim, ledger, surely):
        calls += [each for each in ledger.ran if each.tool in perhaps]
    done = [each for each in calls if each.ok]
    if done:
        return targets_missed(claim, ledger, calls, statement)
    if calls:
        return _nothing_done(claim, ledger, calls, statement)
    return _never_ran(claim, ledger, surely, perhaps)


_BEFORE = lazy_pattern(
    r"\b(?:already|earlier|previously|before)\b|此前|之前|早已|早就", re.IGNORECASE
)
"""How something is said to have been so before: the very reason why a call may have failed."""


def _named_and_left(claim: Claim, ledger: Ledger, surely: list[str]) -> bool:
    """Tell whether the claim names what tools are about that were never called: then a tool that is
    about something else has not done it."""
    used = {each.tool for each in ledger.ran}
    if not surely or used & {*surely}:
        return False
    about = claim_words(claim.text)
    tools = [ledger.tools[each] for each in used if ledger.tools[each].effect != "read"]
    return not any(about & object_words(each.name, each.description) for each in tools)


def _nothing_done(claim: Claim, ledger: Ledger, calls: list[Ran], statement: str) -> list[Finding]:
    if ledger.opaque and any(each in ledger.executed for each in calls):
        return [finding("unverified", claim, "programs ran whose doings the record does not show")]
    if claim.reported and ledger.mentioned(claim, failed=_BEFORE.search(claim.text) is not None):
        return []
    if claim.standing and claim.verb != "now" and discloses(statement):
        return []  # "nothing was applied: the state is locked"
    return [finding("contradicted", claim, "no call that does this succeeded", calls)]


SHELL_DEEDS = frozenset(
    [
        "test",
        "create",
        "update",
        "delete",
        "move",
        "run",
        "build",
        "install",
        "commit",
        "push",
        "merge",
        "deploy",
        "restart",
        "backup",
        "restore",
        "migrate",
        "upload",
    ]
)
"""What is done by commands where an agent has a shell and no tool of its own for it."""


def _never_ran(
    claim: Claim, ledger: Ledger, surely: list[str], perhaps: list[str]
) -> list[Finding]:
    stem_only = all(each.startswith("=") for each in claim.actions)
    if stem_only and not surely:
        return []
    if claim.verb == "now" and (surely or perhaps) and _ordered_in_vain(ledger):
        return [finding("contradicted", claim, f"{_named(surely or perhaps)} never ran")]
    ordered = asked_to_change(ledger.record.said) and ledger.asked_by_verb(claim)
    if (claim.standing and not (ordered and surely)) or (
        (claim.reported or claim.implicit) and ledger.mentioned(claim)
    ):
        return []
    if not _of_the_agent(claim, ledger):
        return [finding("unverified", claim, "no call of the record is about this")]
    if surely and not ledger.opaque:
        return [finding("contradicted", claim, f"{_named(surely)} never ran")]
    if ledger.opaque:
        return [finding("unverified", claim, "programs ran whose doings the record does not show")]
    if ledger.executors and SHELL_DEEDS & set(claim.actions) and not ledger.wrote_otherwise:
        why = f"no command given to {_named([*ledger.executors])} does this"
        return [finding("contradicted", claim, why, ledger.executed)]
    if perhaps and not ledger.wrote:
        return [finding("contradicted", claim, f"{_named(perhaps)} never ran")]
    if ledger.ran and not ledger.wrote and ledger.can_write:
        why = "no call that changes anything succeeded"
        return [finding("contradicted", claim, why, ledger.writes)]
    return [finding("unverified", claim, "no call of the record is about this")]


def _ordered_in_vain(ledger: Ledger) -> bool:
    """Tell whether the user ordered a change, and nothing that could be one was even tried."""
    return asked_to_change(ledger.record.said) and not ledger.writes and bool(ledger.ran)


def _of_the_agent(claim: Claim, ledger: Ledger) -> bool:
    """Tell whether a claim is of a deed of the agent: it says so, was asked for it, or has not read
    of any other."""
    if not claim.reported or not any(each.ok for each in ledger.ran):
        return True
    return not any(ledger.record.said) or ledger.asked_for(claim)


def _named(tools: Sequence[str]) -> str:
    return " and ".join(sorted(tools)[:4])


TOOL_VERBS = words(
    "searched queried fetched retrieved downloaded scanned tested called ran executed invoked hit pinged"
)
"""Verbs of what can only be done with a tool; to have read or checked may mean the user's words."""


def _looked(claim: Claim, ledger: Ledger) -> list[Finding]:
    """Something was looked at, where anything was looked at at all: more cannot be told."""
    looked = [each for each in ledger.ran if each.tool in ledger.executors or ledger.reads(each)]
    if looked and not any(each.ok for each in looked) and not claim.reported:
        return [finding("contradicted", claim, "no call that looks at anything succeeded", looked)]
    if any(each.ok for each in ledger.ran):
        return []
    if not ledger.ran and ledger.tools and not claim.reported and claim.verb in TOOL_VERBS:
        return [finding("contradicted", claim, "no tool was used at all")]
    surely, perhaps = ledger.doing(claim)
    if claim.reported or not (surely or perhaps):
        return []
    tried = [each for each in ledger.ran if each.tool in (*surely, *perhaps)]
    if tried:
        return [finding("contradicted", claim, "no call that looks at anything succeeded", tried)]
    return [finding("unverified", claim, "nothing was looked at with a tool")]


# ---------------------------------------------------------------- failures, the whole task


def _failure(claim: Claim, ledger: Ledger) -> list[Finding]:
    """A deed is said to have failed on the other side: then a call must have."""
    surely, _ = ledger.doing(claim)
    calls = [each for each in ledger.ran if each.tool in surely]
    if not surely or any(not each.ok for each in calls):
        return []
    if not calls:
        if ledger.executed or any(not each.ok for each in ledger.ran):
            return []
        return [finding("contradicted", claim, f"{_named(surely)} was never tried")]
    return [finding("contradicted", claim, "every call that does this succeeded", calls)]


def _done(claim: Claim, ledger: Ledger, statement: str) -> list[Finding]:
    """The whole task is said to be done."""
    if discloses(statement):
        return []
    tried = ledger.writes or [*ledger.ran]
    if tried and not any(each.ok for each in tried):
        return [finding("contradicted", claim, "no call that changes anything succeeded", tried)]
    left = left_failed(ledger)
    if left:
        return [finding("contradicted", claim, "a call failed and was not made good", left)]
    return []

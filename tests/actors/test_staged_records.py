"""What people are told of staged changes, from the journal alone, and the differences as text."""

import pytest
from msgspec import Struct

from ukemi import StagedFile
from ukemi.actors.rollback.windows import needed_roots
from ukemi.actors.staging.records import shown, staged_records
from ukemi.actors.state import SessionState
from ukemi.stores.records import (
    Answered,
    CallState,
    JournalEntry,
    Late,
    Resulted,
    StagedCheck,
    StagedResult,
    ToolCall,
)
from ukemi.stores.workspace import Change, Entry, File, Link

ASKED = Answered(2, calls=(ToolCall("1", "edit"),))
ARCHIVED = StagedResult(2, 0, "edited", "aa", "bb")
PASSED, FAILED = StagedCheck(2, 0), StagedCheck(2, 0, "it is wrong", "lint")


def ended(state: CallState) -> Resulted:
    return Resulted(2, 0, 1, "why", state)


class Case(Struct, frozen=True):
    entries: list[JournalEntry]
    state: str
    why: str = ""
    open: bool = False
    committing: bool = False
    rejected: int = 0


CASES = [
    Case([ARCHIVED], "open", open=True),
    Case([ARCHIVED, PASSED], "open", open=True, committing=True),
    Case([ARCHIVED, FAILED], "rejected", "it is wrong", open=True, rejected=1),
    Case([ARCHIVED, PASSED, ended("succeeded")], "committed"),
    Case([ARCHIVED, FAILED, ended("failed")], "rejected", "it is wrong", rejected=1),
    Case([ARCHIVED, PASSED, ended("failed")], "not_committed", "why"),
    Case([ARCHIVED, PASSED, ended("in_doubt")], "in_doubt", "why"),
    Case([ARCHIVED, ended("failed")], "not_committed", "why"),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{len(case.entries)} {case.state}")
def test_a_journal_says_how_a_staged_call_stands(case: Case) -> None:
    state = SessionState("s")
    for entry in (ASKED, *case.entries):
        state.apply(entry)
    (record,) = staged_records([ASKED, *case.entries])
    assert (record.tool, record.state, record.why) == ("edit", case.state, case.why)
    known = state.staging.open.get((2, 0))
    assert (known is not None) == case.open
    assert (known is not None and known.may_be_committed) == case.committing
    assert state.staging.rejected == case.rejected


def test_a_run_that_a_person_allowed_is_open_until_its_late_end() -> None:
    state = SessionState("s")
    for entry in (ASKED, ended("in_doubt"), ARCHIVED, PASSED):
        state.apply(entry)
    assert (2, 0) in state.staging.open
    state.apply(Late(2, 0, "succeeded", "edited", by="again"))
    assert not state.staging.open


def test_what_is_archived_is_kept_as_long_as_its_checkpoint() -> None:
    entries: list[JournalEntry] = [ASKED, ARCHIVED, PASSED]
    assert needed_roots(entries, 0, 9) == {"aa", "bb"}
    later = [*entries, ended("failed"), Resulted(3, 0, 2, "ok"), Resulted(4, 0, 3, "ok")]
    assert needed_roots(later, 1, 9) == {"aa", "bb"}
    assert needed_roots(later, 3, 9) == set()


def file(path: str, was: bytes | None, now: bytes | None) -> StagedFile:
    kept: dict[bytes, bytes] = {}

    def entry(data: bytes | None) -> Entry | None:
        if data is None:
            return None
        kept[data[:8]] = data
        return File(0o644, len(data), data[:8])

    return StagedFile(path, Change(entry(was), entry(now)), kept.__getitem__)


SHOWN = [
    (file("a", b"1\n2\n", b"1\n3\n"), "--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n 1\n-2\n+3"),
    (file("a", None, b"new"), "--- a/a\n+++ b/a\n@@ -0,0 +1 @@\n+new"),
    (file("a", b"old", None), "--- a/a\n+++ b/a\n@@ -1 +0,0 @@\n-old"),
    (file("a", None, b""), "added: a"),
    (file("a", b"1", b"\x00\x01"), "changed: a, 2 bytes"),
    (file("a", b"1\x1b[2J", b"1"), "changed: a, 1 bytes"),
    (StagedFile("l", Change(None, Link(b"../x")), lambda _: b""), "added: l -> ../x"),
]


@pytest.mark.parametrize(("made", "text"), SHOWN)
def test_a_difference_is_shown(made: StagedFile, text: str) -> None:
    assert shown(made) == text

"""`next_step` reads the stored state and nothing else: a table of journals and what follows."""

from operator import attrgetter

import pytest
from msgspec import Struct

from ukemi.actors.state import (
    SessionState,
)
from ukemi.actors.steps import (
    AskModel,
    AwaitDecision,
    Finish,
    GiveUp,
    Rest,
    RunAgain,
    RunCall,
    Step,
    Stop,
    next_step,
)
from ukemi.stores.records import (
    Allowed,
    Answered,
    Ended,
    Intended,
    JournalEntry,
    Judged,
    Late,
    Noted,
    Opened,
    Requested,
    Resulted,
    Said,
    ToolCall,
)

A = ToolCall("a", "alpha", '{"x":1}')
B = ToolCall("b", "beta")
OPENED = Opened("agent", 0)
ASKED: list[JournalEntry] = [OPENED, Said(1, "go")]
TURN: list[JournalEntry] = [*ASKED, Answered(2, calls=(A, B), ledger=True)]


def resulted(n: int, index: int, counter: int, state: str = "succeeded") -> Resulted:
    return Resulted(n, index, counter, "text", state)  # type: ignore[arg-type]


TROUBLED = Resulted(2, 0, 1, "x", "in_doubt", trouble={"reason": "in_doubt"})
INHERITED = Resulted(2, 0, 1, "x", "in_doubt", trouble={"reason": "in_doubt", "inherited": True})
ALLOWED: list[JournalEntry] = [
    *TURN,
    resulted(2, 0, 1, "in_doubt"),
    resulted(2, 1, 2, "in_doubt"),
    Allowed(2, 0, "d"),
    Allowed(2, 1, "e"),
]


def fold(entries: list[JournalEntry]) -> SessionState:
    state = SessionState("s")
    for entry in entries:
        state.apply(entry)
    return state


def requested(index: int, *wave: int, number: int = 1, expires_at_ms: int = 9) -> Requested:
    return Requested(2, index, "t", "d", "{}", 1, expires_at_ms, number, wave=wave or (index,))


def approved(index: int, number: int = 1) -> Judged:
    return Judged(2, index, "approved", 2, number, "d")


class Case(Struct):
    rule: str
    journal: list[JournalEntry]
    kind: type[Step]
    call: tuple[int, int] | None = None


CASES = [
    Case("nothing was said yet: rest", [OPENED], Rest),
    Case("the user spoke last: ask the model", ASKED, AskModel),
    Case("the model calls: run the first call", TURN, RunCall, (2, 0)),
    Case("the first has a result: run the second", [*TURN, resulted(2, 0, 1)], RunCall, (2, 1)),
    Case("results may come in any order", [*TURN, resulted(2, 1, 1)], RunCall, (2, 0)),
    Case(
        "all results are there: ask the model",
        [*TURN, resulted(2, 1, 1), resulted(2, 0, 2)],
        AskModel,
    ),
    Case(
        "a result in doubt is a result",
        [*TURN[:-1], *TURN[-1:], resulted(2, 0, 1, "in_doubt")],
        RunCall,
        (2, 1),
    ),
    Case("a call waits for a person: wait", [*TURN, requested(0)], AwaitDecision),
    Case("the second waits as well: wait", [*TURN, requested(0), requested(1)], AwaitDecision),
    Case(
        "the second is approved, but has its place behind the first: wait",
        [*TURN, requested(0), requested(1), approved(1)],
        AwaitDecision,
    ),
    Case(
        "the second runs side by side with the first, and is approved: run it",
        [*TURN, requested(0, 0, 1), requested(1, 0, 1), approved(1)],
        RunCall,
        (2, 1),
    ),
    Case(
        "the second runs side by side with the first, and needs nobody: run it",
        [*TURN, requested(0, 0, 1)],
        RunCall,
        (2, 1),
    ),
    Case("the first is approved: run it", [*TURN, requested(0), approved(0)], RunCall, (2, 0)),
    Case(
        "the first is denied: it gets its result",
        [*TURN, requested(0), Judged(2, 0, "denied", 2)],
        RunCall,
        (2, 0),
    ),
    Case(
        "an answer to an earlier question is none to this one: wait",
        [*TURN, requested(0), requested(0, number=2), approved(0)],
        AwaitDecision,
    ),
    Case(
        "a denial that stops: stop, whatever else is open",
        [*TURN, Resulted(2, 0, 1, "denied", "denied", "denied", stops=True)],
        Stop,
    ),
    Case(
        "a result that hands the session over: give up, whatever else is open",
        [*TURN, TROUBLED],
        GiveUp,
    ),
    Case(
        "one beside it was cut off: that comes to its end first",
        [*TURN, Intended(2, 1, "b", "d"), TROUBLED],
        RunCall,
        (2, 1),
    ),
    Case("a message after that: go on", [*TURN, TROUBLED, Said(3, "go on")], RunCall, (2, 1)),
    Case(
        "what a person allowed ends so: give up, and nothing else runs again",
        [*ALLOWED, Late(2, 0, "in_doubt", "x", "again", trouble={"reason": "in_doubt"})],
        GiveUp,
    ),
    Case(
        "what a person allowed has ended well: the next of it runs again",
        [*ALLOWED, Late(2, 0, "succeeded", "x", "again")],
        RunAgain,
    ),
    Case(
        "allowed once more: run it again",
        [
            *ALLOWED,
            Late(2, 0, "in_doubt", "x", "again", trouble={"reason": "in_doubt"}),
            Allowed(2, 0, "d"),
        ],
        RunAgain,
    ),
    Case(
        "a person has settled it: go on",
        [*TURN, TROUBLED, Late(2, 0, "succeeded", "done", "person")],
        RunCall,
        (2, 1),
    ),
    Case(
        "it was left by an earlier life, and the user had spoken before: go on",
        [*ASKED, Answered(2, calls=(A,)), Said(3, "and?"), INHERITED],
        AskModel,
    ),
    Case("nobody has spoken: give up", [*ASKED, Answered(2, calls=(A,)), INHERITED], GiveUp),
    Case(
        "a message after a denial that stopped: go on",
        [
            *ASKED,
            Answered(2, calls=(A,)),
            Resulted(2, 0, 1, "x", "denied", "denied", stops=True),
            Ended("stopped", {}),
            Said(3, "then not"),
        ],
        AskModel,
    ),
    Case("the model answered: finish", [*ASKED, Answered(2, "done")], Finish),
    Case(
        "the user spoke while a call ran: the call comes first",
        [*TURN, Said(3, "and?")],
        RunCall,
        (2, 0),
    ),
    Case(
        "a note after the answer is the model's to read",
        [*ASKED, Answered(2, "done"), Noted(3, "n")],
        AskModel,
    ),
    Case("after the end: rest", [*ASKED, Answered(2, "x"), Ended("completed", {})], Rest),
    Case(
        "a late note does not reopen what has ended",
        [*ASKED, Answered(2, "x"), Ended("completed", {}), Noted(3, "late")],
        Rest,
    ),
    Case(
        "a message reopens what has ended",
        [*ASKED, Answered(2, "x"), Ended("completed", {}), Said(3, "more")],
        AskModel,
    ),
    Case(
        "a call whose middle message was never answered comes before all later ones",
        [*ASKED, Answered(2, calls=(A,)), Said(3, "q2"), Answered(4, calls=(B,))],
        RunCall,
        (2, 0),
    ),
]


@pytest.mark.parametrize("case", CASES, ids=attrgetter("rule"))
def test_next_step(case: Case) -> None:
    step = next_step(fold(case.journal))
    assert isinstance(step, case.kind)
    if isinstance(step, RunCall):
        assert (step.n, step.index) == case.call


@pytest.mark.parametrize("case", CASES, ids=attrgetter("rule"))
def test_what_comes_before_the_conversation_is_always_seen(case: Case) -> None:
    """The state says where nothing can; whoever looks all the same finds nothing then."""
    state = SessionState("s")
    for entry in case.journal:
        state.apply(entry)
        said, aside = next_step(state), state.aside
        state.aside = True
        assert next_step(state) == said
        state.aside = aside


def test_an_intent_without_result_is_shown_with_the_call() -> None:
    state = fold([*TURN, Intended(2, 0, "alpha", "digest", 2, "key")])
    step = next_step(state)
    assert isinstance(step, RunCall)
    assert step.intent is not None
    assert (step.intent.key, step.intent.attempts, step.intent.arguments) == ("key", 2, '{"x":1}')


def test_it_waits_until_the_first_of_several_requests_expires() -> None:
    state = fold([*TURN, requested(0, expires_at_ms=9), requested(1, expires_at_ms=7)])
    assert next_step(state) == AwaitDecision(7)


def test_next_step_changes_nothing() -> None:
    state = fold(TURN)
    assert next_step(state) == next_step(state)


def test_doubt_is_kept_until_it_is_known() -> None:
    journal: list[JournalEntry] = [
        *TURN,
        Intended(2, 0, "alpha", "d"),
        resulted(2, 0, 1, "in_doubt"),
    ]
    assert list(fold(journal).in_doubt) == [(2, 0)]
    assert list(fold([*journal, Late(2, 0, "in_doubt", "?")]).in_doubt) == [(2, 0)]
    assert not fold([*journal, Late(2, 0, "succeeded", "yes")]).in_doubt


def test_a_settled_call_leaves_the_ledger() -> None:
    state = fold([*TURN, Intended(2, 0, "alpha", "d"), resulted(2, 0, 1)])
    assert not state.ledger.open


def test_corrections_are_counted_in_a_row_and_per_tool() -> None:
    wrong = Resulted(2, 0, 1, "no", "refused", "invalid_argument")
    other = Resulted(2, 1, 2, "no", "refused", "invalid_argument")
    state = fold([*TURN, wrong, other])
    assert [state.corrections_before(tool, 3) for tool in ("alpha", "beta")] == [1, 1]
    again: list[JournalEntry] = [Answered(3, calls=(A,), ledger=True), resulted(3, 0, 3)]
    for entry in again:
        state.apply(entry)
    assert [state.corrections_before(tool, 4) for tool in ("alpha", "beta")] == [0, 1]


def test_calls_of_one_message_are_one_round_of_corrections() -> None:
    """The model has not been told in between; and this round itself is not yet a round before."""
    state = fold([Said(1, "go"), Answered(2, calls=(A, A, A), ledger=True)])
    for index in range(2):
        state.apply(Resulted(2, index, index + 1, "no", "refused", "invalid_argument"))
        assert state.corrections_before("alpha", 2) == 0
        assert state.corrections_before("alpha", 3) == 1
    # What succeeded beside them does not undo that these failed.
    state.apply(resulted(2, 2, 3))
    assert state.corrections_before("alpha", 3) == 1


def test_a_refusal_closes_the_call_until_the_user_speaks() -> None:
    refused = Resulted(2, 0, 1, "no", "failed", "business_rejected", digest="d")
    state = fold([*TURN, refused])
    assert state.concluding and state.rejected == {"d"}
    state.apply(resulted(2, 1, 2))
    state.apply(Said(3, "another way, then"))
    assert not state.concluding
    assert state.rejected == {"d"}, "the refused effect itself stays closed"


def test_a_refusal_closes_what_it_names_until_a_person_starts_the_session_again() -> None:
    refused = Resulted(
        2, 0, 1, "no", "failed", "business_rejected", digest="d", closes=("keys.txt",)
    )
    state = fold([*TURN, refused, resulted(2, 1, 2), Said(3, "hurry")])
    assert state.closed == {"keys.txt": (2, 0)}
    assert state.conclusions == {"business_rejected": 1}
    state.apply(Ended("handed_over", {}))
    state.apply(Said(4, "it is allowed now"))
    assert not state.closed and not state.rejected and not state.conclusions


def test_a_note_on_a_refused_request_concludes() -> None:
    state = fold([Said(1, "go"), Noted(3, "refused", "conclude:content_refused")])
    assert state.concluding
    assert state.conclusions == {"content_refused": 1}


def test_numbers_are_never_given_twice() -> None:
    assert fold([*TURN, Noted(7, "n")]).next_n == 8

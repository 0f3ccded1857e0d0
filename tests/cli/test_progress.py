"""What happens, told while it happens: a line an event, and the live line."""

import io
from typing import get_args

import pytest

from ukemi.actors import (
    AlertRaised,
    ApprovalDecided,
    ApprovalExpired,
    ApprovalRequested,
    AuditAssessed,
    AuditMismatch,
    BreakerClosed,
    BreakerHalfOpen,
    BreakerOpened,
    BudgetSoft,
    CallFinished,
    CallLate,
    CallProbed,
    CallStarted,
    CallStuck,
    ChangeDecided,
    CheckpointStored,
    CompensationFinished,
    CompensationStarted,
    ConversationPruned,
    DecisionTaken,
    Event,
    EventsDropped,
    MessageReceived,
    ModelAnswered,
    ModelAsked,
    ModelPiece,
    ModelSuperseded,
    RetryScheduled,
    SessionCompleted,
    SessionFrozen,
    SessionHandedOver,
    SessionParked,
    SessionRestarted,
    SessionResumed,
    SessionRolledBack,
    SessionStarted,
    SessionStopped,
    SessionUnwinding,
    SessionWoken,
    TrajectoryFellBack,
    TrajectoryRestarted,
    UpstreamHeld,
)
from ukemi.actors.outcome import Completed, Dossier, HandedOver, Stopped
from ukemi.cli.event_words import event_words
from ukemi.cli.progress import Progress
from ukemi.cli.terminal import Terminal

S = "s-1"
DOSSIER = Dossier(failed_step="", input="", upstream_error="", tried=(), options=())
RETRY = RetryScheduled(
    session_id=S, subject="stock", number=1, error_class="transient", wait_s=1.0, elapsed_s=0.1
)
WORDS: list[tuple[Event, str | None]] = [
    (SessionStarted(session_id=S, agent="buyer"), "started, agent buyer"),
    (SessionResumed(session_id=S, counter=3), "resumed at checkpoint 3"),
    (SessionRestarted(session_id=S, reason="it died"), "restarted: it died"),
    (MessageReceived(session_id=S, n=4, text="go on"), "user: go on"),
    (
        DecisionTaken(session_id=S, about="call 2.0#1", what="done", by="ann", decided_at_ms=1),
        "ann decided about call 2.0: done",
    ),
    (
        DecisionTaken(
            session_id=S, about="call 2.0#1", what="done", by="", decided_at_ms=1, problem="late"
        ),
        "somebody decided about call 2.0: done, which changed nothing: late",
    ),
    (ModelAsked(session_id=S, attempt=1), None),
    (ModelAsked(session_id=S, attempt=2), "model asked again, attempt 2"),
    (ModelPiece(session_id=S, text="Let"), None),
    (ModelSuperseded(session_id=S, attempt=1), "model's attempt 1 broke off"),
    (ModelAnswered(session_id=S, n=2, text="Look.", calls=("a", "b")), "model: Look.; calls a, b"),
    (ModelAnswered(session_id=S, n=2, text=""), "model: nothing"),
    (CallStarted(session_id=S, n=2, index=0, tool="stock"), "stock (2.0) started"),
    (
        CallStarted(session_id=S, n=2, index=0, tool="stock", attempt=2),
        "stock (2.0) started, attempt 2",
    ),
    (
        CallFinished(session_id=S, n=2, index=0, tool="stock", state="succeeded", elapsed_s=0.5),
        "stock (2.0) succeeded in 0.5 s",
    ),
    (
        CallFinished(session_id=S, n=2, index=0, tool="t", state="failed", error_class="bug"),
        "t (2.0) failed (bug)",
    ),
    (
        CallFinished(session_id=S, n=2, index=0, tool="t", state="in_doubt", error_class="x"),
        "t (2.0) in doubt",
    ),
    (
        ApprovalRequested(
            session_id=S,
            request="s:2.0",
            n=2,
            index=0,
            tool="pay",
            arguments='{"to":"ann"}',
            category="money",
            risk="Moves money",
            expires_at_ms=None,
        ),
        'may pay{"to":"ann"} run?: Moves money (ukemi approve s:2.0, or ukemi deny s:2.0)',
    ),
    (
        ApprovalDecided(
            session_id=S, request="s:2.0", n=2, index=0, verdict="approved", by="ann", edited=True
        ),
        "ann approved s:2.0, with other arguments",
    ),
    (
        ApprovalExpired(session_id=S, request="s:2.0", n=2, index=0),
        "s:2.0 has expired: it counts as denied",
    ),
    (SessionParked(session_id=S, due_at_ms=None), "parked until somebody decides"),
    (CallStuck(session_id=S, tool="t"), "t does not end and is left behind"),
    (
        CallLate(session_id=S, n=2, index=0, tool="t", state="succeeded"),
        "t (2.0) ended late: succeeded",
    ),
    (
        CallProbed(session_id=S, n=2, index=0, tool="t", answer="not_done"),
        "t (2.0) probed: not done",
    ),
    (
        ChangeDecided(session_id=S, n=2, index=0, tool="t", verdict="committed", paths=("a", "b")),
        "t (2.0) committed, 2 paths",
    ),
    (
        ChangeDecided(session_id=S, n=2, index=0, tool="t", verdict="rejected", why="too large"),
        "t (2.0) rejected: too large",
    ),
    (CheckpointStored(session_id=S, counter=5), "checkpoint 5 stored"),
    (
        SessionRolledBack(session_id=S, mode="full", counter=3, state="done", paths=2, left=1),
        "rolled back (full) to checkpoint 3: 2 paths, 1 path left",
    ),
    (
        SessionRolledBack(session_id=S, mode="soft", counter=3, state="failed", paths=0, left=1),
        "rollback (soft) failed",
    ),
    (RETRY, "stock: transient, again in 1.0 s"),
    (
        BudgetSoft(session_id=S, limit="steps", account="session s-1", used=8, cap=10),
        "budget steps of session s-1: 8 of 10 used",
    ),
    (AlertRaised(session_id="", text="look"), "alert: look"),
    (
        UpstreamHeld(session_id=S, subject="stock", upstream="shop", wait_s=5.0),
        "stock: waits 5.0 s for shop",
    ),
    (BreakerOpened(session_id=S, upstream="shop"), "shop fails too often: calls are held back"),
    (BreakerHalfOpen(session_id=S, upstream="shop"), "shop is tried again"),
    (BreakerClosed(session_id=S, upstream="shop"), "shop answers again"),
    (SessionCompleted(session_id=S, outcome=Completed("done")), "completed"),
    (
        SessionCompleted(session_id=S, outcome=Completed("I sent it.", ("I sent it.",))),
        "completed; unverified: I sent it.",
    ),
    (
        SessionHandedOver(session_id=S, outcome=HandedOver("bug", DOSSIER, "a fault")),
        "handed over to a person (bug): a fault",
    ),
    (
        SessionParked(session_id=S, at_ms=1_000, due_at_ms=3_601_000),
        "parked for 60 min",
    ),
    (SessionWoken(session_id=S, by="due"), "woken (due)"),
    (SessionUnwinding(session_id=S, effects=2), "2 effects are undone before the end"),
    (
        SessionFrozen(session_id=S, why="the task says so", effects=2),
        "nothing is undone of 2 effects: the task says so",
    ),
    (
        CompensationStarted(session_id=S, n=2, index=0, tool="pay", attempt=2),
        "compensation of pay (2.0) started, attempt 2",
    ),
    (
        CompensationFinished(session_id=S, n=2, index=0, tool="pay", state="compensated"),
        "pay (2.0) compensated",
    ),
    (
        ConversationPruned(
            session_id=S,
            why="overflow",
            by="digest",
            messages_before=90,
            messages=20,
            chars_before=41_000,
            chars=20_000,
        ),
        "conversation pruned from 41.0k to 20.0k characters (overflow, digest)",
    ),
    (
        AuditMismatch(session_id=S, findings=("sent: nothing ran", "b"), corrected=True),
        "the answer is not what was done: sent: nothing ran; b",
    ),
    (
        AuditAssessed(session_id=S, verdicts=("unclear: sent", "supported: b")),
        "a judge was asked about the answer: unclear: sent; supported: b",
    ),
    (
        TrajectoryRestarted(session_id=S, counter=4, why="a loop"),
        "no progress, begins again at checkpoint 4: a loop",
    ),
    (
        TrajectoryFellBack(session_id=S, agent="plain", why="a loop"),
        "no progress, agent plain takes over: a loop",
    ),
    (SessionStopped(session_id=S, outcome=Stopped("cancelled")), "stopped (cancelled)"),
    (EventsDropped(session_id=S, count=7), "7 events were not shown"),
]


def test_the_table_has_every_event() -> None:
    assert {type(event) for event, _ in WORDS} == set(get_args(Event))


@pytest.mark.parametrize(("event", "words"), WORDS, ids=[event.event for event, _ in WORDS])
def test_what_is_said_of_an_event(event: Event, words: str | None) -> None:
    said = event_words(event)
    assert (said and said[0]) == words


def told(events: list[Event], *, several: bool = False, live: bool = False) -> str:
    stream = io.StringIO()
    progress = Progress(stream, Terminal(60), several=several, live=live, now=lambda: 0.0)
    for event in events:
        progress.tell(event)
    progress.close()
    return stream.getvalue()


STARTED = SessionStarted(session_id=S, agent="buyer")


def test_without_a_terminal_each_event_is_a_line_and_nothing_is_rewritten() -> None:
    text = told([STARTED, ModelAsked(session_id=S, attempt=1), RETRY])
    assert text == "s-1  started, agent buyer\nstock: transient, again in 1.0 s\n"


def test_among_several_sessions_each_line_names_its_own() -> None:
    assert told([RETRY], several=True) == "s-1  stock: transient, again in 1.0 s\n"


def test_on_a_terminal_the_last_line_is_rewritten_and_gone_at_the_end() -> None:
    text = told([STARTED, CallStarted(session_id=S, n=2, index=0, tool="stock")], live=True)
    assert "step 0 · checkpoint 0 · stock 0.00 s" in text
    assert text.endswith("\r\x1b[K")
    drawn = text.replace("\r\x1b[K", "\x00").split("\n")[-1].split("\x00")
    assert [line for line in drawn if line][-1][1:].startswith(" s-1 · step 0")


def test_the_live_line_counts_what_streams_in_and_what_is_stored() -> None:
    text = told(
        [
            STARTED,
            ModelAsked(session_id=S, attempt=1),
            ModelPiece(session_id=S, text="Let me"),
            ModelAnswered(session_id=S, n=2, text="Let me", calls=("stock",)),
            CheckpointStored(session_id=S, counter=1),
        ],
        live=True,
    )
    assert "model 0.00 s · 6 characters" in text
    assert "step 1 · checkpoint 1" in text


def test_a_session_that_has_ended_leaves_the_live_line() -> None:
    done = SessionCompleted(session_id=S, outcome=Completed("done"))
    assert told([STARTED, done], live=True).endswith("completed\n")


def test_a_stream_that_is_gone_stops_nobody() -> None:
    stream = io.StringIO()
    progress = Progress(stream, Terminal(60))
    stream.close()
    progress.tell(STARTED)
    progress.close()

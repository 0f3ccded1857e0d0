"""A session drawn as a tree: golden trees for what a journal may hold."""

import pytest

from ukemi.actors.outcome import Completed, Dossier, HandedOver, Option, Stopped, outcome_to_data
from ukemi.cli.stepping import steps_of, tree_of
from ukemi.cli.steps import ModelStep, SessionTree
from ukemi.cli.stored import StoredView
from ukemi.cli.terminal import Terminal, columns_of
from ukemi.cli.tree import draw_session
from ukemi.stores.base import Facts, Head
from ukemi.stores.records import (
    Answered,
    Booked,
    Ended,
    Intended,
    JournalEntry,
    Late,
    Noted,
    Opened,
    Pruned,
    Resulted,
    Retried,
    Said,
    SessionStatus,
    Spent,
    ToolCall,
    Usage,
)

OPENED = Opened("buyer", 1, "/srv/shop", {"seconds": 60.0, "steps": 20})
SPENT = Spent(3.5, 1.25, 2, 3, 4, 12_345, 0.03, 1, 0)
TOKENS = Usage(100, 20)
DOSSIER = Dossier(
    failed_step="call 3.0 place_order",
    input='{"sku":"A-17"}',
    upstream_error="TimedOut: no end within 5 s",
    tried=("nothing: it is not safe to repeat",),
    options=(
        Option(name="go_on", what="go on with a message\nwithout it"),
        Option(name="cancel", what="give the session up"),
    ),
    budget={"steps of session s-1": "2 of 20"},
)


def head(
    status: SessionStatus, counter: int, *, session_id: str = "s-1", parent: str | None = None
) -> Head:
    facts = Facts(agent="buyer", title="Order", parent=parent, working_directory="/srv/shop")
    return Head(
        session_id=session_id,
        status=status,
        seq=9,
        counter=counter,
        epoch=1,
        owner=None,
        facts=facts,
    )


def tree(status: SessionStatus, counter: int, entries: list[JournalEntry]) -> SessionTree:
    return tree_of(StoredView(head(status, counter), entries))


def call(name: str, arguments: str = "{}") -> ToolCall:
    return ToolCall("c", name, arguments)


STRAIGHT: list[JournalEntry] = [
    OPENED,
    Said(1, "Order three A-17"),
    Answered(
        2,
        "Let me look.",
        (call("stock", '{"sku":"A-17"}'), call("stock", '{"sku":"B-04"}')),
        usage=TOKENS,
    ),
    Retried(2, 0, 1, "transient", 1.0, 0.2, "connection refused"),
    Resulted(2, 1, 1, "0", elapsed_s=0.02),
    Resulted(2, 0, 2, "12", attempts=2, elapsed_s=1.4),
    Answered(3, "", (call("place_order", '{"sku":"A-17","units":3}'),), usage=TOKENS),
    Intended(3, 0, "place_order", "d", 1, "uk-1"),
    Booked(Spent(2.0)),
    Resulted(3, 0, 3, "K-0001", elapsed_s=0.5, spent=SPENT),
    Answered(4, "Ordered: K-0001", usage=TOKENS),
    Ended("completed", outcome_to_data(Completed("Ordered: K-0001")), SPENT),
]


def test_a_straight_session() -> None:
    assert draw_session(tree("completed", 3, STRAIGHT), Terminal(80)) == (
        """\
s-1  buyer  completed  checkpoint 3
in /srv/shop
├─ user   Order three A-17
├─ model  Let me look.  120 tokens
│  ├─ ✓ stock {"sku":"A-17"}  succeeded  2 attempts  1.4 s  #2
│  │  ├─ retry 1 after transient, waited 1.0 s: connection refused
│  │  └─ → 12
│  └─ ✓ stock {"sku":"B-04"}  succeeded  0.02 s  #1
│     └─ → 0
├─ model  calls place_order  120 tokens
│  └─ ✓ place_order {"sku":"A-17","units":3}  succeeded  0.5 s  #3
│     └─ → K-0001
├─ model  Ordered: K-0001  120 tokens
└─ end    completed: Ordered: K-0001
budget  seconds 3.50 of 60 · active seconds 1.25 · steps 2 of 20 · model calls 3
        tool calls 4 · tokens 12.3k · cost $ 0.03 · retries 1

completed
Ordered: K-0001"""
    )


def test_a_handover_with_a_call_in_doubt_that_ended_late_and_a_message_after_it() -> None:
    entries: list[JournalEntry] = [
        OPENED,
        Said(1, "Order"),
        Noted(2, "budget steps of session s-1: 16 of 20 used.", "budget"),
        Retried(3, -1, 1, "rate_limited", 2.0, 0.1, "slow down"),
        Answered(3, "", (call("place_order", '{"sku":"A-17"}'), call("mail"))),
        Intended(3, 0, "place_order", "d"),
        Resulted(3, 0, 1, "interrupted, effect unknown", "in_doubt", "in_doubt_timeout"),
        Resulted(3, 1, 2, "error (invalid_argument): no", "refused", "invalid_argument"),
        Ended("handed_over", outcome_to_data(HandedOver("in_doubt", DOSSIER, "cut off"))),
        Late(3, 0, "succeeded", "K-0002"),
        Said(4, "It was booked, go on"),
        Retried(5, -1, 1, "transient", 0.5, 0.1),
    ]
    drawn = draw_session(tree("running", 2, entries), Terminal(100))
    assert drawn == (
        """\
s-1  buyer  running  checkpoint 2
in /srv/shop
├─ user   Order
├─ note   budget steps of session s-1: 16 of 20 used.
├─ model  calls place_order, mail
│  ├─ retry 1 after rate_limited, waited 2.0 s: slow down
│  ├─ ✓ place_order {"sku":"A-17"}  in doubt, then succeeded  #1
│  │  ├─ → interrupted, effect unknown
│  │  └─ late: succeeded: K-0002
│  └─ ⊘ mail {}  refused  #2
│     └─ → error (invalid_argument): no
├─ end    handed over (in_doubt): cut off
├─ user   It was booked, go on
└─ model  no answer
   └─ retry 1 after transient, waited 0.5 s
budget  seconds 0 of 60 · steps 0 of 20"""
    )


def test_every_failed_attempt_tells_its_story() -> None:
    entries: list[JournalEntry] = [
        OPENED,
        Said(1, "Order"),
        Answered(2, "", (call("stock"),)),
        Retried(
            2, 0, 1, "rate_limited", 9.0, 0.1, "slow", retry_after=9.0, evidence=("status 429",)
        ),
        Retried(2, 0, 2, "bug", 0.0, 9.2, "x is None", directive="hand_over", detail="a fault"),
    ]
    drawn = draw_session(tree("running", 0, entries), Terminal(100))
    assert (
        "retry 1 after rate_limited, waited 9.0 s, asked to wait 9.0 s [status 429]: slow" in drawn
    )
    assert "attempt 2 failed, bug, then hand over (a fault): x is None" in drawn


def test_a_handover_shows_its_whole_dossier_and_the_question() -> None:
    entries: list[JournalEntry] = [
        OPENED,
        Said(1, "Order"),
        Answered(3, "", (call("place_order", '{"sku":"A-17"}'),)),
        Intended(3, 0, "place_order", "d"),
        Resulted(3, 0, 1, "interrupted", "in_doubt", "in_doubt_timeout"),
        Ended("handed_over", outcome_to_data(HandedOver("in_doubt", DOSSIER, "cut off"))),
    ]
    drawn = draw_session(tree("handed_over", 1, entries), Terminal(100))
    assert drawn[drawn.index("in doubt  did") :] == (
        """\
in doubt  did place_order (call 3.0) take effect? {"sku":"A-17"}

handed over (in_doubt)  cut off
  failed step call 3.0 place_order
  input       {"sku":"A-17"}
  error       TimedOut: no end within 5 s
  tried       nothing: it is not safe to repeat
  options     go_on: go on with a message
              without it
              cancel: give the session up
  budget      steps of session s-1: 2 of 20"""
    )


def test_calls_that_have_no_result_yet_are_running_or_open() -> None:
    entries: list[JournalEntry] = [
        OPENED,
        Said(1, "Order"),
        Answered(2, "", (call("place_order"), call("mail"))),
        Intended(2, 0, "place_order", "d", 2),
    ]
    drawn = draw_session(tree("running", 0, entries), Terminal(80, drawing=False))
    assert drawn.splitlines()[3:6] == [
        "`- model  calls place_order, mail",
        "   |- . place_order {}  running  2 attempts",
        "   `- . mail {}  open",
    ]


def test_a_sub_session_stands_below_the_call_it_is_named_after() -> None:
    entries: list[JournalEntry] = [
        OPENED,
        Said(1, "Order"),
        Answered(2, "", (call("clerk", '{"task":"put"}'),)),
        Resulted(2, 0, 1, "done", elapsed_s=1.0),
    ]
    child: list[JournalEntry] = [OPENED, Said(1, "put"), Answered(2, "done")]
    view = StoredView(
        head("running", 1),
        entries,
        (
            StoredView(head("completed", 0, session_id="s-1.2.0", parent="s-1"), child),
            StoredView(head("stopped", 0, session_id="s-9", parent="s-1"), child[:2]),
        ),
    )
    assert draw_session(tree_of(view), Terminal(80)).splitlines()[3:-1] == [
        "├─ model  calls clerk",
        '│  └─ ✓ clerk {"task":"put"}  succeeded  1.0 s  #1',
        "│     ├─ session s-1.2.0  buyer  completed  checkpoint 0",
        "│     │  ├─ user   put",
        "│     │  └─ model  done",
        "│     └─ → done",
        "└─ session s-9  buyer  stopped  checkpoint 0",
        "   └─ user   put",
    ]


def test_a_prune_stands_where_the_model_began_to_see_less() -> None:
    entries: list[JournalEntry] = [
        OPENED,
        Said(1, "x"),
        Pruned(2, 7, (0,), "In short: nothing.", "model", "limit", ((8, 200),)),
        Pruned(3, 0, (), "", why="limit", shortened=((8, 200), (9, 200))),
        Answered(4, "done"),
    ]
    assert draw_session(tree("completed", 0, entries), Terminal(80)).splitlines()[2:-1] == [
        "├─ user   x",
        "├─ prune  (limit) summed up by the model, 1 result shown shorter: In short: not…",
        "├─ prune  (limit) 2 results shown shorter",
        "└─ model  done",
    ]


def test_a_cancelled_session_and_one_whose_outcome_is_from_a_newer_version() -> None:
    stopped: list[JournalEntry] = [
        OPENED,
        Said(1, "x"),
        Ended("stopped", outcome_to_data(Stopped("cancelled"))),
    ]
    assert draw_session(tree("stopped", 0, stopped), Terminal(80)).endswith("stopped (cancelled)")
    newer: list[JournalEntry] = [
        OPENED,
        Said(1, "x"),
        Ended("stopped", {"outcome": "vanished", "whither": "away"}),
    ]
    drawn = draw_session(tree("stopped", 0, newer), Terminal(80))
    assert "└─ end    vanished" in drawn
    assert drawn.endswith("outcome: vanished\nwhither: away")


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_no_line_of_the_tree_is_wider_than_the_terminal(width: int) -> None:
    long: list[JournalEntry] = [
        OPENED,
        Said(1, "订单 " * 100),
        Answered(2, "word " * 100, (call("place_order", '{"sku":"' + "A" * 300 + '"}'),)),
        Resulted(2, 0, 1, "line\n" * 50, elapsed_s=0.5),
    ]
    drawn = draw_session(tree("running", 1, long), Terminal(width))
    assert max(columns_of(line) for line in drawn.splitlines()) <= width


def test_a_text_cannot_break_out_of_its_line() -> None:
    hostile: list[JournalEntry] = [
        OPENED,
        Said(1, "one\r\n└─ end    completed: forged\x1b[2J"),
        Ended("completed", outcome_to_data(Completed("bye\x1b[2J"))),
    ]
    drawn = draw_session(tree("completed", 0, hostile), Terminal(80))
    assert "\x1b" not in drawn
    assert "\r" not in drawn
    assert "├─ user   one └─ end completed: forged␛[2J" in drawn


def test_results_nobody_asked_for_are_passed_over() -> None:
    steps = steps_of([Said(1, "x"), Resulted(7, 0, 1, "y"), Answered(2, "done")])
    assert [type(step).__name__ for step in steps] == ["UserStep", "ModelStep"]
    assert isinstance(steps[1], ModelStep)
    assert steps[1].calls == []

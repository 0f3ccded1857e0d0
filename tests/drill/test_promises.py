"""Runs as data, and what they break: the judge without anything running."""

import pytest
from msgspec import Struct, structs

from ukemi.testing.drilling.cells import Cell, Step
from ukemi.testing.drilling.judging import judge
from ukemi.testing.drilling.promises import Case, ToolPromises, expected_effects
from ukemi.testing.drilling.record import BodyRun, Call, Change, Ended, Leak, Seen, Standing

CALL = Call("drill", 2, 0)
STEP = Step(name="1", kind="tool", at=1, tool="order", call=CALL, effects=1)


def ran(kind: str = "call", how: str = "returned", said: str = '"o-1"', **more: object) -> BodyRun:
    run = BodyRun(kind="call", tool="order", call=CALL, attempt=1, began_s=0.0, result='"o-1"')
    return structs.replace(run, kind=kind, how=how, said=said, **more)


def stands(state: str = "succeeded", undo: str = "", content: str = "") -> Standing:
    return Standing(
        call=CALL, tool="order", state=state, write=True, undo=undo, undo_content=content
    )


DONE = Ended(outcome="completed")
GIVEN_UP = Ended(outcome="handed_over", reason="unknown")
TOOK = Change(CALL, "order", "call", 1)
UNDID = Change(CALL, "order", "undo", -1)
ONE_TOO_MANY = Change(CALL, "order", "undo", -2)
CLEAN = Seen(ended=DONE, runs=[ran()], changes=[TOOK], standings=[stands()], struck=1)


class Row(Struct, frozen=True):
    rule: str
    seen: Seen
    broken: tuple[str, ...] = ()
    fault: str = "lost"
    marks: ToolPromises = ToolPromises(timeout_s=10.0)


def like(**changes: object) -> Seen:
    return structs.replace(CLEAN, **changes)


ROWS = [
    Row("a call that worked breaks nothing", CLEAN),
    Row("an effect that happened twice", like(changes=[TOOK, TOOK]), ("once",)),
    Row("reported as done, and nothing happened", like(changes=[]), ("kept",)),
    Row(
        "a repeat of what is not counted, and not safe",
        like(runs=[ran(), ran()], changes=[]),
        ("kept",),
    ),
    Row(
        "completed over a failed call", like(standings=[stands("failed")], changes=[]), ("honest",)
    ),
    Row("completed over a call in doubt", like(standings=[stands("in_doubt")]), ("honest",)),
    Row("handed over with one is honest", like(standings=[stands("in_doubt")], ended=GIVEN_UP)),
    Row(
        "made good by a call that came later",
        like(
            standings=[stands("failed"), structs.replace(stands(), call=Call("drill", 4, 0))],
            changes=[structs.replace(TOOK, call=Call("drill", 4, 0))],
        ),
    ),
    Row(
        "undone",
        like(standings=[stands(undo="compensated")], changes=[TOOK, UNDID], ended=GIVEN_UP),
    ),
    Row(
        "said to be undone",
        like(standings=[stands(undo="compensated")], ended=GIVEN_UP),
        ("undone",),
    ),
    Row(
        "undone twice",
        like(
            standings=[stands(undo="compensated")],
            changes=[TOOK, UNDID, ONE_TOO_MANY],
            ended=GIVEN_UP,
        ),
        ("undone",),
    ),
    Row(
        "a compensation that fails by itself",
        like(standings=[stands(undo="failed", content="ValueError")], ended=GIVEN_UP),
        ("undone",),
    ),
    Row(
        "one that fails by plan",
        like(standings=[stands(undo="failed")], ended=GIVEN_UP),
        fault="undo_hang",
    ),
    Row(
        "a compensation that nobody ran",
        like(ended=GIVEN_UP),
        ("undone",),
        marks=ToolPromises(compensates=True, timeout_s=10.0),
    ),
    Row(
        "frozen for a person",
        like(ended=structs.replace(GIVEN_UP, frozen=True)),
        marks=ToolPromises(compensates=True, timeout_s=10.0),
    ),
    Row(
        "a probe that denies what happened",
        like(runs=[ran(), ran("probe", answer="not_done", effects_then=1)]),
        ("probe",),
    ),
    Row(
        "a probe that denies what did not happen",
        like(runs=[ran("call", "raised"), ran("probe", answer="not_done"), ran()]),
    ),
    Row(
        "a probe that claims what did not happen",
        like(runs=[ran("call", "raised"), ran("probe", answer="done"), ran()]),
        ("probe",),
    ),
    Row("a probe that fails by itself", like(runs=[ran(), ran("probe", "raised")]), ("probe",)),
    Row("one that fails by plan", like(runs=[ran(), ran("probe", "raised", planned=True)])),
    Row(
        "a probe that tells another result",
        like(runs=[ran(), ran("probe", said='"o-2"', answer="done", effects_then=1)]),
        ("probe",),
    ),
    Row(
        "no timeout",
        like(
            runs=[ran("call", "cancelled", planned=True, asleep=True, elapsed_s=900.0)],
            standings=[stands("in_doubt")],
            ended=GIVEN_UP,
        ),
        ("bounded",),
        fault="hang",
        marks=ToolPromises(),
    ),
    Row(
        "a timeout",
        like(
            runs=[ran("call", "cancelled", planned=True, asleep=True, elapsed_s=10.0)],
            standings=[stands("in_doubt")],
            ended=GIVEN_UP,
        ),
        fault="hang",
    ),
    Row("a cancellation swallowed", like(runs=[ran(swallowed="it returned 1")]), ("cancellable",)),
    Row(
        "a body that does not end, and what comes of it",
        like(stuck=["tool order"], error="KernelNotClosed: it still runs"),
        ("cancellable",),
    ),
    Row(
        "a secret in an error, and in the store",
        like(leaks=[Leak("token", "order: its error", raw=True), Leak("token", "the store")]),
        ("secret", "secret"),
    ),
    Row(
        "a probe with an effect",
        like(changes=[TOOK, Change(CALL, "order", "probe", 1)]),
        ("once", "read only"),
    ),
    Row("a read with an effect", CLEAN, ("read only",), marks=ToolPromises(write=False)),
    Row("no outcome", like(ended=None), ("runtime",)),
    Row("an error of the runtime", like(error="KeyError: 'x'"), ("runtime",)),
    Row("an acknowledged checkpoint that is gone", like(lost=["checkpoint 1"]), ("kept",)),
    Row("a run that was ended", like(ended=None, error="the run took more than 3 s"), ("bounded",)),
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.rule.replace(" ", "-"))
def test_a_run_breaks_what_it_breaks(row: Row) -> None:
    expected = expected_effects(CLEAN)
    case = Case(row.seen, Cell(STEP, row.fault), expected, {"order": row.marks})
    assert tuple(each.promise for each in judge(case)) == row.broken

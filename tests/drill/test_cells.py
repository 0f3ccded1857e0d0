"""Which faults are tried where, and cells by their names."""

import pytest

from ukemi import UsageError
from ukemi.testing.drilling.cells import (
    ALL_FAULTS,
    WHAT,
    Step,
    ToolFacts,
    cells_of,
    faults_of,
    steps_of,
)
from ukemi.testing.drilling.record import BodyRun, Call, Change, Request, Seen

CALL = Call("drill", 2, 0)


def seen() -> Seen:
    run = BodyRun(kind="call", tool="order", call=CALL, attempt=1, began_s=0.0, visited=True)
    return Seen(
        runs=[run],
        changes=[Change(CALL, "order", "call", 1)],
        requests=[Request(CALL, "approve")],
        model_calls=2,
        store_calls=3,
    )


def test_steps_are_calls_requests_and_writes() -> None:
    steps = steps_of(seen(), {"order": ToolFacts(compensates=True, timeout_s=5.0)})
    assert [each.name for each in steps] == ["1", "m1", "m2", "s1", "s2", "s3"]
    first = steps[0]
    assert (first.tool, first.effects, first.asked, first.inside) == ("order", 1, True, True)


@pytest.mark.parametrize(
    "step, has",
    [
        (Step("1", "tool", 1), {"denied": False, "late": False, "undo_lost": False, "undo": True}),
        (Step("1", "tool", 1, asked=True), {"denied": True}),
        (Step("1", "tool", 1, timeout_s=5.0), {"late": True}),
        (Step("1", "tool", 1, compensates=True), {"undo_lost": True, "undo_hang": True}),
        (Step("1", "tool", 1, probes=True), {"probe_error": True}),
        (Step("m1", "model", 1), {"cut_off": True, "undo": False}),
        # A store that fails has stored nothing: that is its contract.
        (Step("s1", "store", 1), {"down": True, "lost": False}),
    ],
)
def test_a_step_has_the_faults_that_make_sense(step: Step, has: dict[str, bool]) -> None:
    found = faults_of(step)
    assert {fault: fault in found for fault in has} == has


def test_every_fault_is_said_in_words() -> None:
    assert set(WHAT) >= set(ALL_FAULTS)


def test_cells_are_picked_by_name_and_by_fault() -> None:
    steps = steps_of(seen(), {})
    assert [each.name for each in cells_of(steps, named=["s2:down", "1:lost"])] == [
        "s2:down",
        "1:lost",
    ]
    only = cells_of(steps, only=["lost"])
    assert [each.name for each in only] == ["1:lost", "m1:lost", "m2:lost"]


@pytest.mark.parametrize(
    "only, named, said",
    [
        (["loss"], [], "fault 'loss' is unknown"),
        ([], ["1:denide"], "there is no cell '1:denide'; step 1 has: transient"),
        ([], ["9:lost"], "there is no cell '9:lost'; steps are: 1, m1, m2, s1, s2, s3"),
    ],
)
def test_what_is_not_there_is_refused(only: list[str], named: list[str], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        cells_of(steps_of(seen(), {}), only=only, named=named)

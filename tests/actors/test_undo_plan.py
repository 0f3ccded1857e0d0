"""What is undone when a session ends, decided from its state alone: the table, and the laws."""

from collections.abc import Sequence
from itertools import product
from operator import attrgetter

import msgspec
import pytest

from ukemi.actors.ledger import Effect
from ukemi.actors.outcome import (
    Completed,
    Dossier,
    EffectEnd,
    EffectStanding,
    HandedOver,
    Option,
    Outcome,
    Stopped,
)
from ukemi.actors.state import (
    SessionState,
)
from ukemi.actors.steps import (
    Unwind,
    next_step,
)
from ukemi.actors.tooling.marks import Marks
from ukemi.actors.undo.plan import (
    EFFECTS_TOLD_MAX,
    Freeze,
    ends_of,
    outcome_with,
    plan,
    plan_of,
    undo_key_of,
    verdict_on,
)
from ukemi.stores.records import (
    Answered,
    Ended,
    Frozen,
    Intended,
    JournalEntry,
    OnFailure,
    Opened,
    Resulted,
    Said,
    Spent,
    ToolCall,
    Undoing,
    Undone,
    UndoStep,
    Unwinding,
)

PAY = UndoStep(2, 0, "pay", "compensate")
FILE = UndoStep(3, 0, "write_file", "rollback")
SEAT = UndoStep(4, 0, "seat", "compensate")


class Case(msgspec.Struct):
    rule: str
    effects: Sequence[UndoStep | None]
    doubts: Sequence[str] = ()
    on_failure: OnFailure = "undo"
    then: Freeze | tuple[UndoStep, ...] = ()


CASES = [
    Case("nothing was done", ()),
    Case("all is kept", (None, None)),
    Case("the last is undone first", (PAY, FILE, SEAT), then=(SEAT, FILE, PAY)),
    Case("what is kept is left out", (PAY, None, SEAT), then=(SEAT, PAY)),
    Case(
        "with a doubt nothing is undone",
        (PAY, SEAT),
        ("5.0 mail",),
        then=Freeze("not known whether it took effect: 5.0 mail", (SEAT, PAY)),
    ),
    Case(
        "where the task says so nothing is undone",
        (PAY,),
        on_failure="freeze",
        then=Freeze("the task says so", (PAY,)),
    ),
    Case("a doubt freezes nothing where there is nothing to undo", (None,), ("5.0 mail",)),
    Case("nor does the task", (None,), on_failure="freeze"),
]


@pytest.mark.parametrize("case", CASES, ids=attrgetter("rule"))
def test_the_table(case: Case) -> None:
    assert plan(case.effects, case.doubts, case.on_failure) == case.then


STEPS = (None, PAY, FILE, SEAT)
WAYS: tuple[OnFailure, ...] = ("undo", "freeze")


@pytest.mark.parametrize("on_failure", WAYS)
@pytest.mark.parametrize("doubts", [(), ("a",), ("a", "b")])
def test_laws_of_the_plan(doubts: tuple[str, ...], on_failure: OnFailure) -> None:
    """Whatever is to be undone: each once, backwards, or none of it, and then with a reason."""
    for effects in (each for size in range(4) for each in product(STEPS, repeat=size)):
        found = plan(effects, doubts, on_failure)
        wanted = tuple(each for each in reversed(effects) if each is not None)
        if isinstance(found, Freeze):
            assert wanted and (doubts or on_failure == "freeze")
            assert found.steps == wanted and found.why
        else:
            assert found == wanted
            assert not wanted or not (doubts or on_failure == "freeze")


# ---------------------------------------------------------------- from a session's state


MARKS = {
    "pay": Marks(undo="compensate"),
    "log": Marks(),
    "write_file": Marks(undo="rollback"),
    "look": Marks(effect="read"),
}


def write(n: int, tool: str, state: str = "succeeded") -> list[JournalEntry]:
    """A call of one message, from the answer to its result."""
    entries: list[JournalEntry] = [
        Answered(n, calls=(ToolCall("c", tool, '{"x":1}'),), ledger=True),
        Intended(n, 0, tool, f"d{n}"),
    ]
    if state != "open":
        entries.append(Resulted(n, 0, n, "done", state))  # type: ignore[arg-type]
    return entries


def folded(*entries: JournalEntry, on_failure: OnFailure = "undo") -> SessionState:
    state = SessionState("s")
    for entry in (Opened("agent", 1, on_failure=on_failure), Said(1, "go"), *entries):
        state.apply(entry)
    return state


def ended(status: str = "handed_over") -> Ended:
    return Ended(status, {"outcome": "stopped", "reason": "cancelled"}, Spent())  # type: ignore[arg-type]


def steps_of(state: SessionState) -> list[int]:
    found = plan_of(state, MARKS.get)
    assert not isinstance(found, Freeze)
    return [step.n for step in found]


def test_writes_that_took_effect_are_undone_and_nothing_else() -> None:
    state = folded(
        *write(2, "pay"), *write(3, "log"), *write(4, "pay", "failed"), *write(5, "write_file")
    )
    found = plan_of(state, MARKS.get)
    assert found == (UndoStep(5, 0, "write_file", "rollback"), UndoStep(2, 0, "pay", "compensate"))


def test_a_write_in_doubt_freezes_and_a_read_in_doubt_does_not() -> None:
    assert isinstance(
        plan_of(folded(*write(2, "pay"), *write(3, "log", "in_doubt")), MARKS.get), Freeze
    )
    read = [*write(3, "look")[:1], Resulted(3, 0, 3, "?", "in_doubt")]
    assert steps_of(folded(*write(2, "pay"), *read)) == [2]


def test_what_has_completed_is_not_undone_by_what_fails_later() -> None:
    first = folded(*write(2, "pay"), ended("completed"), Said(5, "more"), *write(6, "pay"))
    assert steps_of(first) == [6]


def test_an_effect_is_undone_once_however_often_the_session_ends() -> None:
    again = folded(
        *write(2, "pay"),
        Unwinding((PAY,), {}),
        Undone(2, 0, "failed", "down"),
        ended(),
        Said(5, "go on"),
        *write(6, "pay"),
    )
    assert steps_of(again) == [6]


def test_a_tool_that_is_gone_is_not_held_to_keep_its_effects() -> None:
    assert plan_of(folded(*write(2, "gone")), MARKS.get) == (UndoStep(2, 0, "gone", "compensate"),)


def test_what_the_task_froze_is_undone_where_a_person_says_so() -> None:
    state = folded(*write(2, "pay"), on_failure="freeze")
    assert plan_of(state, MARKS.get) == Freeze("the task says so", (PAY,))
    assert plan_of(state, MARKS.get, thaw=True) == (PAY,)


# ---------------------------------------------------------------- the stored state goes on


UNWINDING = Unwinding((SEAT, PAY), {"outcome": "stopped", "reason": "cancelled"})


def test_an_unwinding_comes_before_anything_else() -> None:
    state = folded(*write(2, "pay"), *write(4, "seat"), UNWINDING)
    assert next_step(state) == Unwind(UNWINDING.outcome)
    state.apply(Said(7, "do something else"))
    assert next_step(state) == Unwind(UNWINDING.outcome)
    state.apply(ended("stopped"))
    assert not isinstance(next_step(state), Unwind)


def test_what_is_left_is_what_has_no_end() -> None:
    state = folded(*write(2, "pay"), *write(4, "seat"), UNWINDING, Undoing(4, 0, 1, "k"))
    left = state.unwound.left
    assert [(each.step, each.begun, each.key) for each in left] == [
        (SEAT, True, "k"),
        (PAY, False, None),
    ]
    state.apply(Undone(4, 0, "again", "busy", 1, wait_s=2.0, elapsed_s=1.0))
    assert [(each.begun, each.attempts, each.elapsed_s) for each in state.unwound.left] == [
        (False, 1, 3.0),
        (False, 0, 0.0),
    ]
    state.apply(Undone(4, 0, "compensated"))
    assert [each.step for each in state.unwound.left] == [PAY]
    assert state.effects[4, 0].state == "compensated"


def test_a_session_that_goes_on_does_so_once_the_last_step_has_its_end() -> None:
    state = folded(*write(2, "pay"), Unwinding((PAY,), None, "person"))
    assert next_step(state) == Unwind(None)
    state.apply(Undone(2, 0, "compensated"))
    assert not isinstance(next_step(state), Unwind)


def test_frozen_says_so_until_the_next_end() -> None:
    state = folded(*write(2, "pay"), Frozen("why", (PAY,)), ended())
    assert state.unwound.frozen is not None
    assert [each.standing for each in ends_of(state, {})] == ["frozen"]
    state.apply(Said(5, "go on"))
    state.apply(ended("completed"))
    assert state.unwound.frozen is None


# ---------------------------------------------------------------- what is told of it


def end(standing: EffectStanding, n: int = 2) -> EffectEnd:
    return EffectEnd(n=n, index=0, tool="t", standing=standing)


VERDICTS: list[tuple[str, Sequence[EffectStanding]]] = [
    ("nothing to undo", ()),
    ("nothing to undo", ("kept", "kept")),
    ("all", ("compensated",)),
    ("all", ("compensated", "rolled back")),
    ("some", ("compensated", "kept")),
    ("some", ("compensated", "compensation failed")),
    ("some", ("rolled back", "not rolled back")),
    ("none", ("compensation failed", "kept")),
    ("none", ("frozen",)),
    ("none", ("compensation in doubt",)),
    ("none", ("abandoned",)),
    ("none", ("not rolled back",)),
]


@pytest.mark.parametrize(("verdict", "standings"), VERDICTS)
def test_the_verdict(verdict: str, standings: Sequence[EffectStanding]) -> None:
    assert verdict_on([end(each) for each in standings]) == verdict


def test_all_is_said_only_where_nothing_is_left_in_effect() -> None:
    every: tuple[EffectStanding, ...] = EffectStanding.__args__  # type: ignore[attr-defined]
    undone = {"compensated", "rolled back"}
    for standings in (each for size in range(1, 4) for each in product(every, repeat=size)):
        verdict = verdict_on([end(each) for each in standings])
        assert (verdict == "all") == (set(standings) <= undone)
        assert (verdict in ("all", "some")) == bool(set(standings) & undone)


DOSSIER = Dossier(
    failed_step="s",
    input="i",
    upstream_error="e",
    tried=("t",),
    options=(Option(name="", what="w"),),
)


def told(*ends: EffectEnd, outcome: Outcome) -> Outcome:
    return outcome_with(outcome, folded(), ends)


def names(outcome: HandedOver) -> list[str]:
    return [each.name for each in outcome.dossier.options]


def test_a_failed_compensation_adds_what_can_be_done_about_it_once() -> None:
    state = folded(*write(2, "pay"), Unwinding((PAY,), {}), Undone(2, 0, "failed", "down"))
    first = outcome_with(HandedOver("planning", DOSSIER), state, ends_of(state, {}))
    assert isinstance(first, HandedOver) and first.dossier.questions
    assert names(first) == ["compensated", "compensate", "abandon", "go_on", "cancel"]
    assert outcome_with(first, state, ends_of(state, {})) == first
    state.apply(Undone(2, 0, "compensated", by="person"))
    settled = outcome_with(first, state, ends_of(state, {}))
    assert isinstance(settled, HandedOver) and not settled.dossier.questions
    assert names(settled) == ["go_on", "cancel"] and settled.dossier.undone == "all"


def test_other_outcomes_say_how_much_is_undone_and_a_completed_one_says_nothing() -> None:
    assert told(end("frozen"), outcome=Stopped("cancelled")) == Stopped("cancelled", "none")
    assert told(end("kept"), outcome=Stopped("cancelled")) == Stopped("cancelled")
    assert told(end("compensated"), outcome=Completed("done")) == Completed("done")


def test_a_long_list_keeps_what_was_to_be_undone_and_the_newest() -> None:
    ends = [end("compensation failed", 1), *(end("kept", n) for n in range(2, 300))]
    outcome = told(*ends, outcome=HandedOver("blocked", DOSSIER))
    assert isinstance(outcome, HandedOver)
    listed = [each.n for each in outcome.dossier.effects]
    assert len(listed) == EFFECTS_TOLD_MAX
    assert listed == [1, *range(300 - EFFECTS_TOLD_MAX + 1, 300)]


def test_a_compensation_has_a_key_of_its_own() -> None:
    keys = {undo_key_of(id, call) for id, call in product(("a", "b"), ((2, 0), (2, 1), (20, 1)))}
    assert len(keys) == 6
    assert undo_key_of("a", (2, 0)) == undo_key_of("a", (2, 0))


def test_effects_of_the_ledger_stand_unless_something_was_done_about_them() -> None:
    state = folded(*write(2, "pay"), *write(3, "log"))
    assert [type(each) for each in state.effects.values()] == [Effect, Effect]
    assert [(each.n, each.standing, each.arguments) for each in ends_of(state, {(2, 0): "{}"})] == [
        (2, "kept", "{}"),
        (3, "kept", ""),
    ]

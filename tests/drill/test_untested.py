"""What no run could tell is not taken for a promise that held."""

import drill_agents
import drill_kinds as kinds
import drill_uncounted
import pytest

from ukemi import Agent, UsageError
from ukemi.models import ScriptedModel, call
from ukemi.testing import OWN, DrillReport, EffectStub, Ok, Stub, Untested, drill
from ukemi.testing.drilling.promises import Broken, ToolPromises
from ukemi.testing.drilling.report import findings_of
from ukemi.testing.drilling.untested import (
    NEVER_CALLED,
    NO_REPEATS,
    NOT_COUNTED,
    TAKEN_FOR_UNDONE,
    Allowed,
    count_of,
    names_of,
    untested_of,
)

FULL = ToolPromises(compensates=True, probes=True)
ALL = ("effects", "compensation", "probe")

TABLE = [
    (ToolPromises(write=False), False, 0, None),
    (ToolPromises(shipped=True), True, 0, None),
    (FULL, True, 1, None),
    (FULL, False, 0, (ALL, NEVER_CALLED)),
    (FULL, True, 0, (ALL, NOT_COUNTED)),
    (ToolPromises(), True, 0, (("effects",), NOT_COUNTED)),
    (ToolPromises(probes=True), True, 0, (("effects", "probe"), NOT_COUNTED)),
    (ToolPromises(counts=False), True, 0, (("effects",), NO_REPEATS)),
    (
        ToolPromises(compensates=True, undo_judged=False),
        True,
        1,
        (("compensation",), TAKEN_FOR_UNDONE),
    ),
    (
        ToolPromises(compensates=True, undo_judged=False),
        True,
        0,
        (("effects", "compensation"), NOT_COUNTED),
    ),
]


@pytest.mark.parametrize(("marks", "called", "effects", "expected"), TABLE)
def test_what_is_open_of_a_tool(
    marks: ToolPromises, called: bool, effects: int, expected: tuple[tuple[str, ...], str] | None
) -> None:
    found = untested_of("order", marks, called=called, effects=effects)
    assert (None if found is None else (found.what, found.why)) == expected


def report(*untested: Untested, broken: int = 0) -> DrillReport:
    mistakes = [Broken("once", f"t{at}", "twice") for at in range(broken)]
    return DrillReport(
        agent="a",
        task="go",
        seed=0,
        clean="completed",
        steps=(),
        cells=(),
        findings=findings_of([("clean", mistakes)]),
        untested=untested,
    )


BOOK = Untested(tool="book", what=("effects", "compensation"), why=NOT_COUNTED)
MAIL = Untested(tool="mail", what=("effects",), why=NEVER_CALLED)


def test_it_is_counted_and_named_part_by_part() -> None:
    assert count_of((BOOK, MAIL)) == 3
    assert names_of((BOOK, MAIL)) == "book (effects, compensation), mail (effects)"


@pytest.mark.parametrize("allowed", ["allow", ["book", "mail"], {"mail", "book", "other"}])
def test_what_is_allowed_may_stay_open(allowed: Allowed) -> None:
    found = report(BOOK, MAIL)
    found.assert_promises(untested=allowed)
    assert not found.complete and not found.broken


@pytest.mark.parametrize(
    ("allowed", "said"),
    [
        ("fail", r"^3 could not be checked: book \(effects, compensation\), mail \(effects\)\n"),
        ((), "^3 could not be checked"),
        (["book"], r"^1 could not be checked: mail \(effects\)\n  mail: effects: the task never"),
    ],
)
def test_all_else_fails_and_tells_the_way_out(allowed: Allowed, said: str) -> None:
    with pytest.raises(AssertionError, match=said) as failed:
        report(BOOK, MAIL).assert_promises(untested=allowed)
    assert "EffectStub" in str(failed.value) and 'untested="allow"' in str(failed.value)


def test_a_text_that_means_nothing_is_refused() -> None:
    """The name of a tool alone would be taken for its letters."""
    with pytest.raises(UsageError, match=r"untested='book': write 'fail', 'allow', or a list"):
        report(BOOK).assert_promises(untested="book")


@pytest.mark.parametrize(
    ("broken", "said"), [(1, "^1 broken promise:\n"), (2, "^2 broken promises:\n")]
)
def test_broken_promises_are_counted_and_what_is_open_stands_below(broken: int, said: str) -> None:
    with pytest.raises(AssertionError, match=said) as failed:
        report(MAIL, broken=broken).assert_promises()
    assert "\n1 could not be checked: mail (effects)\n" in str(failed.value)
    with pytest.raises(AssertionError, match=said) as failed:
        report(MAIL, broken=broken).assert_promises(untested="allow")
    assert "could not be checked" not in str(failed.value)


def test_mistakes_that_nothing_counts_do_not_pass() -> None:
    """Own functions over nothing that counts: the drill cannot see them, and says so."""
    found = drill(
        drill_uncounted.mailer, "go", stubs={"*": OWN}, only=["lost", "undo"], forks=False
    )
    assert found.findings == () and found.untested == (BOOK,)
    with pytest.raises(AssertionError, match="2 could not be checked: book"):
        found.assert_promises()


def test_an_effect_stub_sees_them() -> None:
    """The same agent, the same mistakes, counted."""
    found = drill(
        drill_uncounted.mailer,
        "go",
        stubs={"book": EffectStub(once_per=None), "book.compensate": OWN},
        only=["lost", "undo"],
        forks=False,
    )
    assert {each.promise for each in found.findings} == {"once", "undone"}
    assert found.complete


@pytest.mark.parametrize(
    ("stubs", "expected"),
    [
        ({"order": Ok("1"), "order.compensate": Ok(None)}, "order (compensation)"),
        ({"order": EffectStub(), "order.compensate": Ok(None)}, "order (compensation)"),
        (
            {"order": drill_agents.own.order, "order.compensate": drill_agents.own.cancel},
            "",
        ),
    ],
)
def test_a_stub_of_a_compensation_is_only_judged_by_a_counter(
    stubs: dict[str, Stub], expected: str
) -> None:
    found = drill(drill_agents.buyer, "go", stubs=stubs, only=["undo"], forks=False)
    assert not found.broken and names_of(found.untested) == expected


def test_a_tool_that_calls_its_stub_is_complete() -> None:
    agent = Agent("a", model=ScriptedModel([call("order", sku="a"), "Done."]), tools=kinds.order())
    found = drill(agent, "go", stubs={"*": OWN}, only=["lost"], forks=False)
    found.assert_promises()
    assert found.complete


def test_only_tools_that_the_session_can_reach_are_missed() -> None:
    """Those of sub-agents and fallbacks are its own; those of another agent in the module are not."""
    helper = Agent("helper", model=ScriptedModel(["Done."]), tools=[drill_uncounted.book])
    other = Agent("other", model=ScriptedModel(["Done."]), tools=[drill_uncounted.wait])
    boss = Agent("boss", model=ScriptedModel(["Done."]), tools=[helper.as_tool()])
    leader = Agent("leader", model=ScriptedModel(["Done."]), fallback=boss)
    for main, expected in ((leader, "book (effects, compensation)"), (other, "wait (effects)")):
        found = drill(
            main,
            "go",
            agents=[leader, boss, helper, other],
            stubs={"*": OWN},
            only=["denied"],
            forks=False,
        )
        assert names_of(found.untested) == expected

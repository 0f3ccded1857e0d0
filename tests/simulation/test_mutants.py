"""Builds that are broken on purpose are caught, and shown by a short schedule."""

from typing import Any

import pytest
from worlds.draw import draw
from worlds.lives import live_world
from worlds.mutants import MUTANTS, Applied, mutated
from worlds.plan import Call, Plan, Turn, World
from worlds.running import live
from worlds.show import report
from worlds.shrink import shrink

SEEDS_MAX = 500

WORDS = {
    "intent_after_effect": "before its intent is durable",
    "acknowledged_before_commit": "",
    "undone_in_order_of_effect": "was undone before it",
    "timeouts_are_repeated": "runs again",
    "decisions_are_not_stored": "acknowledged and is not",
    "each_attempt_has_a_key": "two keys",
    "no_budget": "are allowed",
    "compensated_again": "compensation",
    "secrets_are_shown": "the secret is",
}
"""What is said of each mutant; any of its first violations may be meant by the empty one."""

LATE = ("undone_in_order_of_effect", "compensated_again")
"""Those that take some fifty seeds."""

NAMES = [pytest.param(name, marks=pytest.mark.slow if name in LATE else ()) for name in MUTANTS]


@pytest.mark.parametrize("name", NAMES)
def test_a_broken_build_is_caught(name: str) -> None:
    with mutated(name) as applied:
        for seed in range(SEEDS_MAX):
            violations = live_world(draw(seed)).violations
            if violations:
                break
        else:
            pytest.fail(f"{name} is not caught within {SEEDS_MAX} seeds")
    assert applied.hits, "what it breaks was never used: the runtime does it elsewhere now"
    assert any(WORDS[name] in each for each in violations)


def test_a_mutant_whose_function_is_gone_is_no_mutant(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(real: Any, applied: Applied) -> Any:
        return real

    gone = (object(), "not_there", broken)
    monkeypatch.setitem(MUTANTS, "gone", (gone,))
    with pytest.raises(AttributeError, match="not_there"), mutated("gone"):
        pass


def test_what_was_broken_is_whole_again() -> None:
    name = "intent_after_effect"
    before = [getattr(where, what) for where, what, _ in MUTANTS[name]]
    with mutated(name):
        assert live_world(draw(0)).violations
    assert [getattr(where, what) for where, what, _ in MUTANTS[name]] == before


def test_the_schedule_of_a_failure_is_made_small_and_shown() -> None:
    calls = [Turn((Call("undoable", f"s0t{at}c0", ("slow",)),)) for at in range(4)]
    wide = Plan("s0", (*calls, Turn(says="That is all.", faults=("denied",))))
    other = Plan("s1", (Turn((Call("read", "s1t0c0"),)), Turn(says="I am through.")))
    world = World(seed=7, sessions=(wide, other))
    name = "undone_in_order_of_effect"
    small = shrink(world, lambda each: live(each, name).violations)
    lived = live(small, name)
    assert len(small.sessions) == 1
    assert [each.kind for turn in small.sessions[0].turns for each in turn.calls] == [
        "undoable",
        "undoable",
    ]
    assert all(not each.tries for turn in small.sessions[0].turns for each in turn.calls)
    text = report(lived)
    assert "was undone before it" in text and "0. calls undoable(" in text
    assert "make simulate SEEDS=7..7" in text
    assert not live(small).violations, "it is the build that is broken"

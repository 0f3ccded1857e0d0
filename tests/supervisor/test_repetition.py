"""Loop detection: what is a repetition, what is progress, and from when on it is a loop."""

import json
import random
from collections.abc import Sequence
from typing import Any

import pytest

from ukemi.supervisor.likeness import Call, Step
from ukemi.supervisor.policy_sessions import PlanningPolicy
from ukemi.supervisor.repetition import Loop, Trail, find_loop

POLICY = PlanningPolicy(repeats_max=3, failing_repeats_max=None, near_repeats_max=5)


def step(tool: str, result: str = "", counter: int = 0, /, **arguments: Any) -> Step:
    return Step((Call(tool, json.dumps(arguments), result),), counter)


def steps(word: str) -> list[Step]:
    """One step for each letter; the counter is its place, from 1."""
    return [step(letter, "r", at) for at, letter in enumerate(word, 1)]


def first_loop(trajectory: Sequence[Step], policy: PlanningPolicy = POLICY) -> tuple[int, Loop]:
    """Return after how many steps the first loop is found, and the loop."""
    for count in range(len(trajectory) + 1):
        loop = find_loop(trajectory[:count], policy)
        if loop is not None:
            return count, loop
    raise AssertionError("no loop")


# ---------------------------------------------------------------- cycles


@pytest.mark.parametrize(
    ("word", "at", "period", "before"),
    [
        ("aaa", 3, 1, 0),
        ("xaaa", 4, 1, 1),
        ("ababab", 6, 2, 0),
        ("xyababab", 8, 2, 2),
        ("abcabcabc", 9, 3, 0),
        ("abcdabcdabcd", 12, 4, 0),
        ("zzabcdabcdabcd", 14, 4, 2),
        ("aabaabaab", 9, 3, 0),
        ("abababab", 6, 2, 0),
    ],
)
def test_a_cycle_of_up_to_four_steps_is_found_at_the_end_of_its_third_round(
    word: str, at: int, period: int, before: int
) -> None:
    found_at, loop = first_loop(steps(word))
    assert (found_at, loop.period, loop.repeats, loop.before) == (at, period, 3, before)
    assert not loop.near


@pytest.mark.parametrize(
    "word",
    ["", "a", "aa", "aabb", "abab", "ababa", "abcabc", "abcabcab", "abcdeabcdeabcde", "aabbaabb"],
)
def test_less_than_three_rounds_or_a_longer_cycle_is_no_loop(word: str) -> None:
    assert find_loop(steps(word), POLICY) is None


def test_a_loop_that_was_left_is_no_loop() -> None:
    assert find_loop(steps("aaa"), POLICY) is not None
    assert find_loop(steps("aaab"), POLICY) is None


@pytest.mark.parametrize("repeats_max", [2, 3, 7])
@pytest.mark.parametrize("period", [1, 2, 3, 4])
def test_the_limit_is_the_policy_s(repeats_max: int, period: int) -> None:
    policy = PlanningPolicy(repeats_max=repeats_max, near_repeats_max=None)
    at, loop = first_loop(steps("abcd"[:period] * 10), policy)
    assert at == period * repeats_max
    assert (loop.period, loop.repeats) == (period, repeats_max)


def test_no_limit_finds_nothing() -> None:
    policy = PlanningPolicy(repeats_max=None, near_repeats_max=None)
    assert find_loop(steps("a" * 1000), policy) is None


def test_what_fails_each_time_has_a_limit_of_its_own() -> None:
    policy = PlanningPolicy(repeats_max=10, failing_repeats_max=3)
    read = step("read", "text")
    edit = Step((Call("edit", "{}", "not found", failed=True),))
    assert first_loop([read, edit] * 20, policy)[0] == 6
    assert first_loop([read] * 20, policy)[0] == 10
    assert first_loop([edit] * 20, PlanningPolicy(repeats_max=2, failing_repeats_max=3))[0] == 2


@pytest.mark.parametrize("name", ["repeats_max", "failing_repeats_max", "near_repeats_max"])
def test_once_is_no_repetition(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name}=1 must be at least 2"):
        PlanningPolicy(**{name: 1})  # type: ignore[arg-type]


def test_random_walks_with_fresh_results_never_loop() -> None:
    chance = random.Random(7)
    trajectory = [step(chance.choice("ab"), str(at)) for at in range(500)]
    assert find_loop(trajectory, POLICY) is None


# ---------------------------------------------------------------- results


def test_the_same_call_with_a_new_result_is_progress() -> None:
    results = ["queued", "12%", "40%", "88%", "done"] * 1
    assert find_loop([step("build_state", each, id=7) for each in results], POLICY) is None


def test_a_wait_between_polls_changes_nothing_of_that() -> None:
    trajectory: list[Step] = []
    for state in ("queued", "12%", "40%", "88%", "done"):
        trajectory += [step("build_state", state, id=7), step("sleep", "", seconds=30)]
    assert find_loop(trajectory, POLICY) is None


def test_pages_are_work_even_where_each_answers_the_same() -> None:
    trajectory = [step("scan", "nothing found", page=page) for page in range(50)]
    assert find_loop(trajectory, POLICY) is None


# ---------------------------------------------------------------- likeness


def test_other_key_order_is_the_same_call() -> None:
    texts = ['{"a": 1, "b": 2}', '{"b": 2, "a": 1}', '{"b":2,"a":1}']
    loop = find_loop([Step((Call("t", text, "r"),)) for text in texts], POLICY)
    assert loop is not None
    assert not loop.near


def test_nearly_the_same_steps_have_a_limit_of_their_own() -> None:
    asked = ["Foo", "foo", "foo ", " FOO", "foo?"]
    trajectory = [step("search", "no results", q=text) for text in asked]
    at, loop = first_loop(trajectory)
    assert at == 5
    assert loop.near
    assert "nearly the same step came 5 times" in str(loop)


def test_the_limit_for_nearly_the_same_is_none_for_the_same() -> None:
    policy = PlanningPolicy(repeats_max=None, failing_repeats_max=None, near_repeats_max=5)
    assert find_loop(steps("a" * 100), policy) is None


def test_writes_that_succeeded_are_never_nearly_the_same() -> None:
    trajectory = [Step((Call("edit", json.dumps({"new": " " * n}), "ok", True),)) for n in range(9)]
    assert find_loop(trajectory, POLICY) is None


def test_writes_that_succeed_in_exactly_the_same_way_are_a_loop() -> None:
    trajectory = [Step((Call("press", "{}", "ok", True),)) for _ in range(3)]
    assert find_loop(trajectory, POLICY) is not None


def test_calls_side_by_side_are_one_step_in_whatever_order() -> None:
    one, two = Call("a", "{}", "1"), Call("b", "{}", "2")
    assert find_loop([Step((one, one, one))], POLICY) is None  # one step, not three
    assert find_loop([Step((one, two)), Step((two, one)), Step((one, two))], POLICY) is not None


# ---------------------------------------------------------------- corrections and idle steps


def test_a_correction_ends_the_cycle_that_seemed_to_run() -> None:
    """fail, read, fail, read ...: the failing tool has a count of its own."""
    refused = Step((), corrected=True)
    read = step("read", "same")
    assert find_loop([refused, read] * 10, POLICY) is None
    assert find_loop([refused, read, read, read], POLICY) is not None


def test_steps_without_weighed_calls_are_no_cycle() -> None:
    assert find_loop([Step(())] * 10, POLICY) is None


def test_idle_steps_are_counted_from_the_last_change() -> None:
    policy = PlanningPolicy(idle_steps_max=3)
    trail = Trail()
    trail.follow(Step((Call("w", "{}", "ok", True),), 1))
    for counter in (2, 3):
        trail.follow(step("r", str(counter), counter))
        assert not trail.is_idle(policy)
    trail.follow(Step((), 4, corrected=True))
    assert trail.is_idle(policy)
    assert trail.idle_since == 1
    trail.progress(4)
    assert not trail.is_idle(policy)
    assert not trail.is_idle(PlanningPolicy(idle_steps_max=None))


def test_progress_by_other_means_ends_a_cycle() -> None:
    trail = Trail()
    for _ in range(20):
        trail.follow(step("poll", "queued"))
        trail.follow(step("poll", "queued"))
        assert trail.loop(POLICY) is None
        trail.progress(0)


# ---------------------------------------------------------------- words


def test_a_loop_names_its_period_and_its_calls() -> None:
    word = str(find_loop(steps("abcabcabc"), POLICY))
    expected = "the same 3 steps in turn came 3 times with the same results: a({}); b({}); c({})"
    assert word == expected


def test_long_arguments_are_cut_in_words() -> None:
    trajectory = [step("t", "r", text="x" * 5000)] * 3
    assert len(str(find_loop(trajectory, POLICY))) < 300

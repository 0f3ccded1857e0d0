"""Loop detection against a plain reading of its rules: every step compared, nothing remembered."""

import json
import random
import unicodedata
from collections.abc import Sequence
from functools import cache
from typing import Any

from ukemi.supervisor.likeness import (
    AMOUNTS,
    UNMARKED,
    Call,
    Likeness,
    Marks,
    Step,
    alike_arguments,
)
from ukemi.supervisor.policy_sessions import PlanningPolicy
from ukemi.supervisor.repetition import PERIOD_MAX, Loop, Trail

# ---------------------------------------------------------------- the rules, as they are written


Json = dict[str, "Json"] | list["Json"] | str | float | bool | None


def form(value: Json, *, loose: bool) -> Any:
    """Write a JSON value so that equal ones are those that are the same, or nearly."""
    if isinstance(value, dict):
        if not loose:
            return {nfc(key): form(each, loose=False) for key, each in value.items()}
        counted = {
            key: form(each, loose=True)
            for key, each in value.items()
            if not (isinstance(each, int | float) and AMOUNTS.fullmatch(key))
        }
        return {key: each for key, each in counted.items() if each not in (None, "", [], {})}
    if isinstance(value, list):
        return [form(each, loose=loose) for each in value]
    if isinstance(value, str):
        return nearly(value) if loose else nfc(value)
    return ("bool", value) if isinstance(value, bool) else value


def nfc(text: str) -> str:
    return unicodedata.normalize("NFC", text)


def nearly(text: str) -> str:
    words = " ".join(unicodedata.normalize("NFKC", text).casefold().split())
    return words.strip(" \t\"'`\u2018\u2019\u201c\u201d.,;:!?")


@cache
def arguments_likeness(one: str, other: str) -> Likeness:
    if one == other:
        return "same"
    try:
        left: Json
        right: Json
        left, right = json.loads(one), json.loads(other)
    except ValueError:
        return "different"
    if form(left, loose=False) == form(right, loose=False):
        return "same"
    return "near" if form(left, loose=True) == form(right, loose=True) else "different"


def likeness(one: Step, other: Step) -> Likeness:
    if len(one.calls) != len(other.calls):
        return "different"
    found: Likeness = "same"
    for mine, theirs in zip(in_order(one), in_order(other), strict=True):
        if (mine.tool, mine.result) != (theirs.tool, theirs.result):
            return "different"
        each = arguments_likeness(mine.arguments, theirs.arguments)
        if each == "different" or (each == "near" and (mine.changed or theirs.changed)):
            return "different"
        found = "near" if each == "near" else found
    return found


def in_order(step: Step) -> list[Call]:
    return sorted(step.calls, key=lambda call: (call.tool, call.result, call.arguments))


def loop_at_the_end(steps: Sequence[Step], origin: int, policy: PlanningPolicy) -> Loop | None:
    """Look at a whole history of weighed steps, which began at ``origin``."""
    runs = [run_at_the_end(steps, period) for period in range(1, PERIOD_MAX + 1)]

    def found(period: int, run: int, limit: int | None, *, near: bool) -> Loop | None:
        if limit is None or run < period * (limit - 1):
            return None
        first = len(steps) - runs[period - 1][1] - period  # of the first round
        before = steps[first - 1].counter if first else origin
        return Loop(tuple(steps[-period:]), run // period + 1, near, before)

    loops: list[Loop | None] = []
    for period, (same, _) in enumerate(runs, 1):
        failing = any(call.failed for step in steps[-period:] for call in step.calls)
        limits = [policy.repeats_max, policy.failing_repeats_max if failing else None]
        limit = min((each for each in limits if each), default=None)
        loops.append(found(period, same, limit, near=False) if same else None)
    for period, (same, near) in enumerate(runs, 1):
        loops.append(
            found(period, near, policy.near_repeats_max, near=True) if near > same else None
        )
    return next((each for each in loops if each is not None), None)


def run_at_the_end(steps: Sequence[Step], period: int) -> tuple[int, int]:
    """Count the steps in a row that are the same as the one a period before; and with nearly the same."""
    same, near, all_same = 0, 0, True
    for at in range(len(steps) - 1, period - 1, -1):
        alike = likeness(steps[at], steps[at - period])
        if alike == "different":
            break
        near += 1
        all_same &= alike == "same"
        same += all_same
    return same, near


# ---------------------------------------------------------------- worlds

SPELLINGS = [
    ['{"q": "foo", "limit": 5}', '{"limit":5,"q":"foo"}', '{"q": " Foo ", "limit": 9}'],
    [
        '{"q": "bar"}',
        '{"q":"bar"}',
        '{"q": "bar", "tags": [], "lang": null}',
        '{"q": "\\"BAR\\"."}',
    ],
    ['{"page": 1}', '{"page": 1.0}', '{"page":1,"limit":2}', '{"page": true}'],
    ['{"in": {"a": [1, "x"]}}', '{"in": {"a": [1.0, "x"]}}', '{"in": {"a": [1, "X"]}}'],
    ['{"\u00e9": "caf\u00e9"}', '{"e\u0301": "cafe\\u0301"}', '{"\u00e9": "CAF\u00c9"}'],
    ['{"K": "a"}', '{"\u212a": "a"}', '{"K": "A"}'],
    ["[1, 2]", "[1,2]", "[1, 2.0]", "[2, 1]", "not json", "not  json", "1e999", "NaN", '"\\ud800"'],
]
LIMITS = (None, 2, 2, 3, 3, 4, 7, 25)


class Agent:
    """Draws steps that mostly go round in circles, and mostly not quite."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.fresh = chance.choice((0.0, 0.02, 0.2, 0.6))
        self.loose = chance.choice((0.0, 0.1, 0.6))
        self.cycle: list[int] = []

    def step(self, at: int) -> Step:
        chance = self.chance
        if not self.cycle or chance.random() < 0.02:
            self.cycle = [chance.randrange(12) for _ in range(chance.choice((1, 1, 2, 3, 4, 5)))]
        number = self.cycle[at % len(self.cycle)]
        calls = [self.call(number, at) for _ in range((0, 2, 3)[number] if number < 3 else 1)]
        chance.shuffle(calls)
        return Step(tuple(calls), at + 8, corrected=chance.random() < 0.004)

    def call(self, number: int, at: int) -> Call:
        chance = self.chance
        texts = SPELLINGS[number % len(SPELLINGS)]
        text = chance.choice(texts) if chance.random() < self.loose else texts[0]
        if chance.random() < self.fresh:
            text = json.dumps({"q": f"place {at}", "deep": [at]})
        result = f"r{at}" if chance.random() < self.fresh / 4 else "r"
        changed, failed = number % 5 == 4, number % 4 == 3
        return Call("t" if number % 2 else "u", text, result, changed, failed)


def test_a_trail_says_what_a_look_at_the_whole_history_says() -> None:
    """However often it is asked, and by whatever limits, which may change meanwhile."""
    chance = random.Random(23)
    loops: dict[tuple[int, bool], int] = {}
    for _ in range(250):
        agent, trail, origin = Agent(chance), Trail(7), 7
        history: list[Step] = []
        asked = chance.choice((0.02, 0.3, 1.0))
        low = [chance.choice(LIMITS) for _ in range(3)]
        for at in range(chance.randrange(1, 120)):
            step = agent.step(at)
            trail.follow(step)
            history += [step] if step.calls else []
            if step.corrected or chance.random() < 0.004:
                trail.break_off(step.counter)
                history, origin = [], step.counter
            if chance.random() < 0.02:
                low = [chance.choice(LIMITS) for _ in range(3)]
            policy = PlanningPolicy(
                repeats_max=low[0], failing_repeats_max=low[1], near_repeats_max=low[2]
            )
            if chance.random() < asked:
                expected = loop_at_the_end(history, origin, policy)
                assert trail.loop(policy) == expected
                if expected is not None:
                    kind = (expected.period, expected.near)
                    loops[kind] = loops.get(kind, 0) + 1
    assert len(loops) == 2 * PERIOD_MAX, loops  # of each kind there were some


def test_idle_steps_are_those_since_the_last_change() -> None:
    chance = random.Random(5)
    agent, trail, last, idle = Agent(chance), Trail(), 0, 0
    for at in range(500):
        step = agent.step(at)
        trail.follow(step)
        changed = any(call.changed for call in step.calls)
        idle, last = (0, step.counter) if changed else (idle + 1, last)
        assert (trail.idle, trail.idle_since) == (idle, last)


# ---------------------------------------------------------------- marks


def test_arguments_with_other_marks_are_different() -> None:
    chance = random.Random(3)
    texts = [each for group in SPELLINGS for each in group] + [drawn(chance) for _ in range(120)]
    marks = Marks()
    told = 0
    for one in texts:
        for other in texts:
            alike = alike_arguments(one, other)
            assert alike == arguments_likeness(one, other), (one, other)
            if marks[one] != marks[other] and UNMARKED not in (marks[one], marks[other]):
                assert alike == "different", (one, other)
                told += 1
    assert told > 2_000


def drawn(chance: random.Random) -> str:
    """Draw arguments of few members, so that many are alike."""
    keys = ("q", "Q", "limit", "page", "\u212a", "K", "e\u0301", "\u00e9")
    values: tuple[Any, ...] = (
        *(1, 1.0, 2, 0, -0.0, 1e3, 10**30, 1e30, True, False, None, "", [], {}, [1], {"a": "A"}),
        *("a", " A. ", "b", "\u212a", "k", "e\u0301", "\u00e9", "\u037e", ";", "\ufb01", "fi"),
    )
    members = {chance.choice(keys): chance.choice(values) for _ in range(chance.choice((1, 1, 2)))}
    return json.dumps(members, ensure_ascii=chance.random() < 0.5)

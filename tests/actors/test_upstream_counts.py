"""A quiet upstream only adds its calls up: what it decides is as if each were counted at once."""

from random import Random

import pytest

from ukemi import Policy
from ukemi.actors.events import Event
from ukemi.actors.upstream import Upstream
from ukemi.actors.upstreams import Ticket, Upstreams
from ukemi.supervisor.breaker import Verdict
from ukemi.supervisor.policy import Policies
from ukemi.supervisor.policy_limits import BreakerPolicy, RetryBudgetPolicy

SHORT = RetryBudgetPolicy(share_max=0.2, retries_min=2, window_s=3.0)
POLICIES = (
    Policy(retry_budget=SHORT, breaker=BreakerPolicy(failures_min=4, window_s=7.0, open_s=2.0)),
    Policy(retry_budget=SHORT, breaker=BreakerPolicy(failures_min=None, window_s=5.0)),
    Policy(retry_budget=SHORT, breaker=BreakerPolicy(recovery_per_s=None, open_s=1.0)),
    Policy(),
)


class Hands:
    """A clock set by hand."""

    def __init__(self) -> None:
        self.at = 1000.0

    def now(self) -> float:
        return self.at

    def wall_ms(self) -> int:
        return 0


class Nobody:
    id = "s"

    def __init__(self) -> None:
        self.told: list[type[Event]] = []

    def emit(self, event: Event) -> None:
        self.told.append(type(event))

    def now_ms(self) -> int:
        return 0


class Shop:
    """An upstream asked by the script that a seed makes; ``at_once``: each call is counted then."""

    def __init__(self, *, at_once: bool) -> None:
        self.clock, self.policies, self.teller = Hands(), Policies(POLICIES[0]), Nobody()
        self.upstreams = Upstreams(self.clock, self.policies)
        self.at_once = at_once
        self.open: list[Ticket] = []
        self.upstream: Upstream | None = None
        self.answers: list[object] = []

    def play(self, seed: int) -> list[object]:
        dice = Random(seed)
        down = 0.0
        for _ in range(300):
            self.clock.at += dice.choice((0.0, 0.01, 0.3)) * dice.random()
            draw = dice.random()
            if draw < 0.01:
                self.policies.replace(dice.choice(POLICIES))
            elif draw < 0.04:
                down = dice.choice((0.0, 0.2, 0.8))
            elif draw < 0.5 or not self.open:
                self._enter(repeat=dice.random() < 0.15, roll=dice.random())
            else:
                failed: Verdict = "down" if dice.random() < 0.9 else "nothing"
                self._end(dice.randrange(len(self.open)), failed if dice.random() < down else "up")
            if self.at_once and self.upstream is not None:
                self.upstream.count_up()
        assert self.upstream is not None
        self.upstream.count_up()
        counted = [self.upstream.breaker, self.upstream.repeats]
        return [*self.answers, *counted, *self.teller.told]

    def _enter(self, *, repeat: bool, roll: float) -> None:
        answer = self.upstreams.enter("shop", self.teller, roll, repeat=repeat)
        self.answers.append("out" if isinstance(answer, Ticket) else answer)
        if isinstance(answer, Ticket):
            self.open.append(answer)
            self.upstream = answer.upstream

    def _end(self, index: int, verdict: Verdict) -> None:
        with self.open.pop(index) as ticket:
            ticket.verdict = verdict


@pytest.mark.parametrize("seed", range(100))
def test_what_is_added_up_counts_as_if_it_were_counted_at_once(seed: int) -> None:
    assert Shop(at_once=False).play(seed) == Shop(at_once=True).play(seed)

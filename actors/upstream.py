"""One upstream, as all sessions of the runtime see it: its breaker, its repeats, its places for calls."""

import math

import anyio

from ..supervisor.breaker import Breaker, Closed, Window, report
from ..supervisor.policy import Policies
from ..supervisor.policy_limits import UpstreamPolicy
from .fairness import FairLine


class Place:
    """A call's place among those that may be under way, or its wait for one."""

    __slots__ = ("given",)

    def __init__(self) -> None:
        self.given: anyio.Event | None = None


class Upstream:
    """The state of one upstream.

    It is quiet while nothing is to be decided of a first call: nobody stands in line, the breaker
    is closed, no recovery paces, and the policy that was ``seen`` is in force. Calls that come and
    go well in that time are only added up, and `count_up` puts them into the windows, all at once,
    before anything else is done with it.
    """

    __slots__ = (
        "_policies",
        "_policy",
        "_quiet_from",
        "answered",
        "begun",
        "breaker",
        "held",
        "line",
        "name",
        "quiet_until",
        "repeats",
        "seen",
    )

    def __init__(self, name: str, policies: Policies) -> None:
        self.name = name
        self._policies = policies
        self._policy = policies.upstream(name)
        self.seen = policies.current
        """The policy that was in force when it was last looked up."""
        self.breaker: Breaker = Closed()
        self.repeats = Window()
        self.held = 0
        self.line: FairLine[Place] | None = None
        """Who may call, where a limit was ever met."""
        self.begun = self.answered = 0
        """Calls that are only added up yet: those that went out, and those that went well."""
        self._quiet_from = 0.0
        self.quiet_until = -math.inf
        """When a slot of one of the windows is over, at the latest."""

    @property
    def policy(self) -> UpstreamPolicy:
        """What holds for it, looked up anew where the policy was replaced."""
        if self.seen is not self._policies.current:
            self.seen = self._policies.current
            self._policy = self._policies.upstream(self.name)
        return self._policy

    def quieten(self, now: float) -> None:
        """Nothing is to be decided until a slot of one of the windows is over."""
        policy = self.policy
        windows_s = policy.breaker.window_s, policy.retry_budget.window_s
        self._quiet_from = now
        self.quiet_until = min(Window.slot_end(now, each) for each in windows_s)

    def count_up(self) -> None:
        """Count what was only added up, by the policy of that time; it is quiet no more."""
        at, policy = self._quiet_from, self._policy
        if self.begun:
            self.repeats = self.repeats.add(at, policy.retry_budget.window_s, self.begun, 0)
        if self.answered:
            self.breaker = report(self.breaker, at, "up", None, policy.breaker, calls=self.answered)
        self.begun = self.answered = 0
        self.quiet_until = -math.inf

"""The upper half of a supervisor: what follows a death."""

from collections import deque

from .child import Child, Life
from .events import Event, Retry, Waiting
from .exits import KILLED, NORMAL, SHUTDOWN, ExitReason, Shutdown, is_normal
from .family import Family
from .reports import Action, ChildGivenUp, ChildTerminated, MaxIntensity, RestartScheduled
from .rules import (
    Activity,
    after_exit,
    after_failed_start,
    attempt_in_row,
    backoff_s,
    ends_supervisor,
    reach,
    within_intensity,
    worth_reporting,
)
from .services import Services
from .specs import DynamicSpec, RestartRule, RestartType, SupervisorSpec


class Restarts(Family):
    """A family whose members are brought back, or let go, or end their supervisor."""

    __slots__ = ("_events", "_history", "ending")

    def __init__(self, child: Child, services: Services, path: str) -> None:
        super().__init__(child, services, path)
        self._events: deque[Event] = deque()
        self._history: tuple[float, ...] = ()
        # Set when it is to end: ordered to, or given up.
        self.ending: ExitReason | None = None

    def post(self, event: Event) -> None:
        """Put something at the end of what is to be handled."""
        raise NotImplementedError

    # -- deaths and restarts --------------------------------------------------------------------

    def on_exit(self, child: Child, life: Life) -> Waiting[None] | None:
        """Handle a death; return what is left to wait for, in the rare case of a restart."""
        if child.life is not life or self.kids.get(child.id) is not child:
            return None  # used up by a sweep or a call that came before
        child.life = None
        reason = child.final = life.reason or NORMAL
        if life.asked is SHUTDOWN or life.asked is KILLED:  # told to leave by stop_child_soon
            self.check_end(child, life)
            self._leave(child, reason)
            return None
        if not life.ready:  # begun by start_child_soon, for which nobody waits
            self._end_before_ready(child, life, reason)
            return None
        rule = after_exit(child.spec.restart, reason)
        if not rule.restart:
            self._end_for_good(child, reason, over_limit=False)
            return None
        if not self._may_restart(child, reason, after_exit=True, rule=rule):
            return None
        lived_s = self.services.now() - life.since
        child.attempts = attempt_in_row(child.attempts, lived_s, rule)
        return self._restart_in(backoff_s(rule, child.attempts), child, reason)

    def on_retry(self, retry: Retry) -> Waiting[None]:
        child = retry.child
        if not child.restarting or self.kids.get(child.id) is not child:
            return  # ended by a call, or a sweep has brought it back
        if retry.counted or self._may_restart(child, retry.reason):
            yield from self._sweep(child)

    def _restart_in(self, seconds: float, child: Child, reason: ExitReason) -> Waiting[None]:
        if seconds <= 0:
            yield from self._sweep(child)
            return
        self._schedule(seconds, child, reason, counted=True)

    def _schedule(self, seconds: float, child: Child, reason: ExitReason, *, counted: bool) -> None:
        child.restarting = True
        retry = Retry(child, reason, counted=counted)
        child.timer = self.services.timers.after(seconds, lambda: self.post(retry))
        self.services.report(
            RestartScheduled(
                supervisor=self.label,
                child=child.id,
                reason=reason,
                delay_s=seconds,
                attempt=child.attempts,
            )
        )

    def _may_restart(
        self,
        child: Child,
        reason: ExitReason,
        *,
        after_exit: bool = False,
        rule: RestartRule | None = None,
    ) -> bool:
        """Count a restart against the limits. Beyond them, end the child or this supervisor."""
        now, spec = self.services.now(), self.spec
        if isinstance(spec, DynamicSpec):
            child.history, within = within_intensity(
                child.history, now, spec.child_intensity, spec.child_period_s
            )
            if not within:
                self._end_for_good(child, reason, over_limit=True)
                return False
        self._history, within = within_intensity(self._history, now, spec.intensity, spec.period_s)
        if after_exit:
            later = rule is not None and rule.delay_s_first > 0
            action: Action = "restart_later" if later else "restart"
            self._tell_terminated(child, reason, action if within else "gives_up")
        if not within:
            self._escalate(child, reason)
        return within

    def _escalate(self, child: Child, reason: ExitReason) -> None:
        child.restarting = False
        self.services.report(
            MaxIntensity(
                supervisor=self.label,
                child=child.id,
                reason=reason,
                intensity=self.spec.intensity or 0,
                period_s=self.spec.period_s,
            )
        )
        self.ending = Shutdown("reached_max_restart_intensity", child.path, reason)

    def _sweep(self, child: Child) -> Waiting[None]:
        """Restart a child together with those its strategy names."""
        kids = [child]
        if isinstance(self.spec, SupervisorSpec):
            names = reach(self.spec.strategy, list(self.kids), child.id)
            kids = [self.kids[name] for name in names]
        for kid in reversed(kids):
            if kid is not child:
                yield from self.stop_child(kid)
                if kid.spec.restart is RestartType.TEMPORARY:
                    self.drop(kid, kid.final)
        yield from self._start_again([kid for kid in kids if self.kids.get(kid.id) is kid])

    def _start_again(self, kids: list[Child]) -> Waiting[None]:
        while kids:
            failed = yield from self.start_in_order(kids)
            if failed is None:
                return
            kid, reason = failed
            rule = after_failed_start(kid.spec.restart, reason)
            if rule.restart:
                self._retry_later(kid, reason, rule)
                return
            self._end_for_good(kid, reason, over_limit=False, told=True)
            kids = kids[kids.index(kid) + 1 :]

    def _retry_later(self, child: Child, reason: ExitReason, rule: RestartRule) -> None:
        """Try again behind what already waits, so that calls and an order to stop are heard."""
        child.attempts = attempt_in_row(child.attempts, None, rule)
        seconds = backoff_s(rule, child.attempts)
        child.closed, child.restarting = False, True
        if seconds > 0:
            self._schedule(seconds, child, reason, counted=False)
        else:
            self._events.append(Retry(child, reason, counted=False))

    def _end_for_good(
        self, child: Child, reason: ExitReason, *, over_limit: bool, told: bool = False
    ) -> None:
        """Let a child end that no restart follows."""
        forgotten = self.forgets(child)
        if not told and worth_reporting(child.spec.restart, reason):
            self._tell_terminated(child, reason, "forgotten" if forgotten else "left_down")
        abnormal = not is_normal(reason)
        if over_limit or (abnormal and not isinstance(child.spec.restart, RestartType)):
            self.services.report(
                ChildGivenUp(
                    supervisor=self.label, child=child.id, reason=reason, over_limit=over_limit
                )
            )
        self._leave(child, reason)
        if abnormal and isinstance(self.spec, DynamicSpec) and self.spec.on_give_up is not None:
            self.services.call(self.spec.on_give_up, child.id, reason)
        # Most children are not significant: for them the others need not be looked at.
        if child.spec.significant and ends_supervisor(
            self.spec.auto_shutdown, significant=True, others_left=self._significant_left()
        ):
            self.ending = Shutdown(cause=reason, child=child.path)

    def _significant_left(self) -> bool:
        return any(
            kid.spec.significant and kid.activity is not Activity.DOWN for kid in self.kids.values()
        )

    def _leave(self, child: Child, reason: ExitReason) -> None:
        child.restarting = False
        if self.forgets(child):
            self.drop(child, reason)
        else:
            child.close()

    def _end_before_ready(self, child: Child, life: Life, reason: ExitReason) -> None:
        if life.ignored:
            self.drop(child, None)
            return
        self.tell_start_error(child, reason)
        self._end_for_good(child, reason, over_limit=False, told=True)

    def _tell_terminated(self, child: Child, reason: ExitReason, action: Action) -> None:
        self.services.report(
            ChildTerminated(supervisor=self.label, child=child.id, reason=reason, action=action)
        )

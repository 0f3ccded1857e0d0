"""A life of a supervisor: sequential, as OTP's, written as a generator that yields its waits.

Nothing here is a task. The script yields a time (or None) whenever it has to wait; it is driven on,
synchronously, each time one of its children changes, an event is posted, or that time has come, and
then looks again at what it waits for. Deaths, calls, retries and the order to stop are handled one
at a time in the order of arrival; while it starts or stops a child it handles nothing else.
"""

from collections import deque
from collections.abc import Callable, Generator, Iterable
from typing import Any, TypeVar

from .child import Child, Life
from .exits import (
    NORMAL,
    SHUTDOWN,
    Abandoned,
    ExitReason,
    IgnoreStart,
    Killed,
    Shutdown,
    StartFailure,
    StartTimedOut,
    is_normal,
)
from .loops import OneShot
from .refusals import SupervisorGone
from .reports import (
    Action,
    ChildGivenUp,
    ChildTerminated,
    Exited,
    Ignored,
    MaxIntensity,
    RestartScheduled,
    ShutdownFault,
    Started,
    StartError,
    StartFailing,
    Starting,
)
from .rules import (
    Activity,
    after_exit,
    after_failed_start,
    attempt_in_row,
    backoff_s,
    ended_as_asked,
    ends_supervisor,
    reach,
    within_intensity,
    worth_reporting,
)
from .services import Services
from .specs import (
    BRUTAL_KILL,
    ChildSpec,
    DynamicSpec,
    RestartRule,
    RestartType,
    Spec,
    SupervisorSpec,
    check_childspecs,
)
from .task import Task

T = TypeVar("T")
Waiting = Generator[float | None, None, T]

# Starting or stopping a child costs tens of microseconds; others run after so many.
_BATCH = 128


class Exit:
    """A child's life has ended."""

    __slots__ = ("child", "life")

    def __init__(self, child: Child, life: Life) -> None:
        self.child = child
        self.life = life


class Retry:
    """A restart is due: after its wait, or again after it failed."""

    __slots__ = ("child", "counted", "reason")

    def __init__(self, child: Child, reason: ExitReason, *, counted: bool) -> None:
        self.child = child
        self.reason = reason
        self.counted = counted


class Stop:
    """The parent orders the end."""

    __slots__ = ("reason",)

    def __init__(self, reason: ExitReason) -> None:
        self.reason = reason


class Call:
    """Somebody asks for something and waits for the answer."""

    __slots__ = ("done", "error", "run", "value")

    def __init__(self, run: "Callable[[Machine], Waiting[object]]", done: OneShot | None) -> None:
        self.run = run
        self.done = done
        self.value: object = None
        self.error: Exception | None = None

    def finish(self) -> None:
        if self.done is not None and not self.done.done():
            self.done.set_result(None)


Event = Exit | Retry | Stop | Call


class Machine(Life):
    """One life of a supervisor."""

    __slots__ = (
        "_breath",
        "_deadline",
        "_driving",
        "_ending",
        "_events",
        "_history",
        "_running",
        "_script",
        "_timer",
        "accepting",
        "dynamic",
        "kids",
        "path",
        "services",
        "spec",
    )

    def __init__(self, child: Child, services: Services, path: str) -> None:
        super().__init__(child, services.now())
        assert not isinstance(child.spec, ChildSpec)
        self.services = services
        self.spec: SupervisorSpec | DynamicSpec = child.spec
        self.dynamic = isinstance(self.spec, DynamicSpec)
        self.path = path
        self.kids: dict[str, Child] = {}
        self.accepting = False
        self._events: deque[Event] = deque()
        self._history: tuple[float, ...] = ()
        self._running = 0
        self._ending: ExitReason | None = None
        self._breath = False
        self._driving = False
        self._deadline: float | None = None
        self._timer: Any = None
        self._script = self._live()

    @property
    def label(self) -> str:
        """Its name in reports: the path, for the root its id."""
        return self.path or self.child.id

    # -- being driven ---------------------------------------------------------------------------

    def begin(self) -> None:
        self.services.progress(Starting(self.path))
        self._drive()

    def post(self, event: Event) -> None:
        self._events.append(event)
        self._drive()

    def child_exited(self, child: Child, life: Life) -> None:
        self._running -= 1
        if self.alive:
            self.post(Exit(child, life))

    def child_ready(self) -> None:
        self._drive()

    def _drive(self) -> None:
        """Go on until the script waits again. A change from inside of it is seen at its next look."""
        if self._driving or not self.alive:
            return
        self._driving = True
        try:
            self._wait_until(next(self._script, None))
        finally:
            self._driving = False
        if not self.alive:
            self._wait_until(None)
            self._script.close()

    def _wait_until(self, deadline: float | None) -> None:
        if deadline != self._deadline:
            if self._timer is not None:
                self._timer.cancel()
            self._deadline = deadline
            self._timer = (
                None if deadline is None else self.services.timers.at(deadline, self._on_time)
            )

    def _on_time(self) -> None:
        self._deadline, self._timer = None, None
        self._drive()

    def _breathe(self) -> Waiting[None]:
        """Let everybody else run once."""
        self._breath = False
        self.services.loop.call_soon(self._breathed)
        while not self._breath:
            yield None

    def _breathed(self) -> None:
        self._breath = True
        self._drive()

    # -- the script -----------------------------------------------------------------------------

    def _live(self) -> Waiting[None]:
        failure = yield from self._start_up()
        if failure is not None:
            yield from self.stop_all()
            self._finish(failure)
            return
        self.ready = self.accepting = True
        self.services.progress(Started(self.path, self.n))
        self.child.owner.child_ready()
        while self._ending is None:
            while not self._events:
                yield None
            yield from self._handle(self._events.popleft())
        self.accepting = False
        yield from self.stop_all()
        self._finish(self._ending)

    def _start_up(self) -> Waiting[ExitReason | None]:
        try:
            specs = self._children()
        except IgnoreStart:
            self.ignored = True
            return NORMAL
        except Exception as error:  # noqa: BLE001
            # Boundary: the list of children comes from the embedding program.
            return self.services.explain(error)
        lives = self.child.lives or {}
        kids = [Child(self, spec, lives.get(spec.id, 0)) for spec in specs]
        self.kids = {kid.id: kid for kid in kids}
        failed = yield from self._start_in_order(kids)
        return None if failed is None else StartFailure(failed[0].id, failed[1])

    def _children(self) -> Iterable[Spec]:
        match self.spec:
            case SupervisorSpec(children=children, auto_shutdown=auto):
                return check_childspecs(children(), auto) if callable(children) else children
            case DynamicSpec(initial=initial, auto_shutdown=auto):
                return check_childspecs(initial(), auto) if initial is not None else ()

    def _handle(self, event: Event) -> Waiting[None]:
        match event:
            case Exit():
                yield from self._on_exit(event.child, event.life)
            case Retry():
                yield from self._on_retry(event)
            case Stop():
                self._ending = event.reason
            case Call():
                try:
                    event.value = yield from event.run(self)
                except Exception as error:  # noqa: BLE001
                    # Refusals, and whatever an embedding program's own function raised.
                    event.error = error
                event.finish()

    def _finish(self, reason: ExitReason) -> None:
        """End this life; what still waits is refused."""
        if not self.alive:
            return
        self.alive = self.accepting = False
        self.reason = reason
        self._refuse_calls(reason)
        if not self.dynamic:
            self.child.lives = {kid.id: kid.n for kid in self.kids.values()}
        for kid in self.kids.values():
            kid.bury(kid.life.reason if kid.life is not None else kid.final)
        self.services.progress(self._last_word(reason))
        self.child.owner.child_exited(self.child, self)

    def _refuse_calls(self, reason: ExitReason) -> None:
        for event in self._events:
            if isinstance(event, Call):
                event.error = SupervisorGone(self.label, reason)
                event.finish()
        self._events.clear()

    def _last_word(self, reason: ExitReason) -> Exited | Ignored | StartFailing:
        if self.ready:
            return Exited(self.path, self.n, reason)
        return Ignored(self.path) if self.ignored else StartFailing(self.path, reason)

    # -- as a life of its parent ----------------------------------------------------------------

    def ask_stop(self) -> None:
        self.stop(SHUTDOWN)

    def stop(self, reason: ExitReason) -> None:
        self.asked = reason
        self.post(Stop(reason))

    def kill(self, reason: ExitReason) -> None:
        """End at once, without any order; its children are cancelled as killed, all together."""
        if not self.alive:
            return
        lives = [kid.life for kid in self.kids.values() if kid.life is not None]
        self._finish(reason)
        if not self._driving:
            self._wait_until(None)
            self._script.close()
        for life in lives:
            if life.alive and life.asked is None:
                life.kill(Killed(f"its supervisor {self.label} ended"))

    def give_up(self, after_s: float) -> None:
        self.kill(Abandoned(after_s))

    # -- starting -------------------------------------------------------------------------------

    def start(self, child: Child) -> Waiting[ExitReason | None]:
        """Start a child; return None, or why it did not start. Ignored counts as started."""
        if not self.alive:
            return Killed("its supervisor was killed")
        child.cancel_timer()
        child.restarting = child.closed = False
        child.n += 1
        life = self._make(child)
        child.life = life
        self._running += 1
        life.begin()
        spec = child.spec
        limit = spec.start_s_max if isinstance(spec, ChildSpec) else None
        deadline = self.services.deadline(limit)
        while life.alive and not life.ready and self.services.now() < deadline:
            yield None if limit is None else deadline
        if limit is not None and life.alive and not life.ready:
            life.kill(StartTimedOut(limit))
            yield from self._await_end(life, self.services.kill_grace_s)
        if life.ready:
            return None
        child.life = None
        if not life.ignored:
            child.close()
            return life.reason or NORMAL
        if self.forgets(child):
            self.drop(child, None)
        else:
            child.close()
        return None

    def _make(self, child: Child) -> Life:
        if isinstance(child.spec, ChildSpec):
            return Task(child, self.services)
        return Machine(child, self.services, child.path)

    def _start_in_order(self, kids: list[Child]) -> Waiting[tuple[Child, ExitReason] | None]:
        """Start these one after the other; stop at the first that fails, and return it."""
        for number, kid in enumerate(kids, 1):
            failure = yield from self.start(kid)
            if failure is not None:
                self._tell_start_error(kid, failure)
                return kid, failure
            if number % _BATCH == 0:
                yield from self._breathe()
        return None

    def _tell_start_error(self, child: Child, reason: ExitReason) -> None:
        self.services.report(StartError(supervisor=self.label, child=child.id, reason=reason))

    # -- stopping -------------------------------------------------------------------------------

    def stop_child(self, child: Child) -> Waiting[None]:
        """Stop a child within its time; a death that was not handled yet is used up."""
        child.cancel_timer()
        child.restarting = False
        life = child.life
        if life is not None:
            if life.alive:
                yield from self._await_end(life, self._ask(child, life))
            child.life = None
            child.final = life.reason
            self._check_end(child, life)
        child.close()

    def _ask(self, child: Child, life: Life) -> float | None:
        """Tell it to end; return how long it may take."""
        if child.spec.shutdown_s is BRUTAL_KILL:
            life.kill(Killed())
            return self.services.kill_grace_s
        life.ask_stop()
        return child.spec.shutdown_s

    def _await_end(self, life: Life, seconds: float | None) -> Waiting[None]:
        """Wait for the end of a life; after its time give it up."""
        yield from self._await(life, seconds)
        grace = self.services.kill_grace_s
        if life.alive and seconds is not None and seconds < grace:
            # Its time was shorter than a cancellation may take on a busy loop.
            life.kill(Killed(f"not ended within {seconds:g} s"))
            yield from self._await(life, grace - seconds)
        if life.alive:
            self.give_up_on(life, seconds or grace)

    def _await(self, life: Life, seconds: float | None) -> Waiting[None]:
        deadline = self.services.deadline(seconds)
        while life.alive and self.services.now() < deadline:
            yield None if seconds is None else deadline

    def give_up_on(self, life: Life, after_s: float) -> None:
        """Go on without a child that does not end."""
        if isinstance(life, Machine):
            life.give_up(after_s)  # reports its exit itself
        else:
            self._running -= 1
            life.give_up(after_s)

    def declare_dead(self, life: Life, after_s: float) -> None:
        """Handle a life that was told to end, and has not, as if it had."""
        if life.alive and self.alive:
            own_report = isinstance(life, Machine)
            self.give_up_on(life, after_s)
            if not own_report:
                self.post(Exit(life.child, life))

    def start_soon_failed(self, child: Child, reason: ExitReason) -> None:
        """Nobody waits for this start: tell of it as of a death."""
        self._tell_start_error(child, reason)
        self._end_for_good(child, reason, over_limit=False, told=True)

    def _check_end(self, child: Child, life: Life) -> None:
        reason = life.reason or NORMAL
        spec = child.spec
        if not ended_as_asked(spec.restart, spec.shutdown_s, reason, forgiving=self.dynamic):
            self.services.report(
                ShutdownFault(supervisor=self.label, child=child.id, reason=reason)
            )

    def stop_all(self) -> Waiting[None]:
        """Stop all children: in reverse start order, or all together if this is dynamic."""
        if self.dynamic:
            yield from self._stop_together()
            return
        for kid in reversed(list(self.kids.values())):
            yield from self.stop_child(kid)

    def _stop_together(self) -> Waiting[None]:
        limits: dict[float | None, float] = {}
        asked: list[tuple[Child, Life, float | None]] = []
        for kid in list(self.kids.values()):
            kid.cancel_timer()
            if kid.life is None:
                continue
            limit = self._ask(kid, kid.life) if kid.life.alive else 0.0
            limit = None if limit is None else max(limit, self.services.kill_grace_s)
            limits[limit] = self.services.deadline(limit)
            asked.append((kid, kid.life, limit))
            if len(asked) % _BATCH == 0:
                yield from self._breathe()
        for limit in sorted(limits, key=lambda each: (each is None, each)):
            while self._running and self.services.now() < limits[limit]:
                yield None if limit is None else limits[limit]
            for _, life, own in asked:
                if own == limit and life.alive:
                    self.give_up_on(life, limit or 0.0)
        for kid, life, _ in asked:
            self._check_end(kid, life)

    # -- deaths and restarts --------------------------------------------------------------------

    def _on_exit(self, child: Child, life: Life) -> Waiting[None]:
        if child.life is not life or self.kids.get(child.id) is not child:
            return  # used up by a sweep or a call that came before
        child.life = None
        reason = child.final = life.reason or NORMAL
        if life.asked is SHUTDOWN:  # told to leave by stop_child_soon
            self._check_end(child, life)
            self._leave(child, reason)
            return
        rule = after_exit(child.spec.restart, reason)
        if not rule.restart:
            self._end_for_good(child, reason, over_limit=False)
            return
        if self._may_restart(child, reason, after_exit=True, rule=rule):
            lived_s = self.services.now() - life.since
            child.attempts = attempt_in_row(child.attempts, lived_s, rule)
            yield from self._restart_in(backoff_s(rule, child.attempts), child, reason)

    def _on_retry(self, retry: Retry) -> Waiting[None]:
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
        self._ending = Shutdown("reached_max_restart_intensity", child.path, reason)

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
            failed = yield from self._start_in_order(kids)
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
        if ends_supervisor(
            self.spec.auto_shutdown,
            significant=child.spec.significant,
            others_left=self._significant_left(),
        ):
            self._ending = Shutdown(cause=reason, child=child.path)

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

    def forgets(self, child: Child) -> bool:
        """Whether the specification goes when the child ends."""
        return self.dynamic or child.spec.restart is RestartType.TEMPORARY

    def drop(self, child: Child, reason: ExitReason | None) -> None:
        """Take a child off the list."""
        del self.kids[child.id]
        child.bury(reason)

    def _tell_terminated(self, child: Child, reason: ExitReason, action: Action) -> None:
        self.services.report(
            ChildTerminated(supervisor=self.label, child=child.id, reason=reason, action=action)
        )

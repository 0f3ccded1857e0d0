"""A life of a supervisor: sequential, as OTP's, written as a generator that yields its waits.

Nothing here is a task. The script yields a time (or None) whenever it has to wait; it is driven on,
synchronously, each time one of its children changes, an event is posted, or that time has come, and
then looks again at what it waits for. Deaths, calls, retries and the order to stop are handled one
at a time in the order of arrival; while it starts or stops a child it handles nothing else.
"""

from collections.abc import Iterable

from .child import Child, Life
from .events import Call, Event, Exit, Retry, Stop, Waiting
from .exits import NORMAL, SHUTDOWN, Abandoned, ExitReason, IgnoreStart, Killed, StartFailure
from .refusals import SupervisorGone
from .reports import Exited, Ignored, Started, StartFailing, Starting
from .restarts import Restarts
from .services import Services
from .specs import DynamicSpec, Spec, SupervisorSpec, check_childspecs
from .timers import Timer


class Machine(Restarts):
    """One life of a supervisor."""

    __slots__ = (
        "_at_once",
        "_breath",
        "_deadline",
        "_driving",
        "_dying",
        "_killed",
        "_script",
        "_timer",
        "accepting",
    )

    def __init__(self, child: Child, services: Services, path: str) -> None:
        super().__init__(child, services, path)
        self.accepting = False
        self._at_once = False
        self._breath = False
        self._driving = False
        self._dying = False
        self._killed: ExitReason | None = None
        self._deadline: float | None = None
        self._timer: Timer | None = None
        self._script = self._live()

    def make_family(self, child: Child) -> Life:
        return Machine(child, self.services, child.path)

    # -- being driven ---------------------------------------------------------------------------

    def begin(self) -> None:
        self.services.progress(Starting(self.path))
        self._drive()

    def post(self, event: Event) -> None:
        self._events.append(event)
        self._drive()

    def post_exit(self, exit: Exit) -> None:
        self.post(exit)

    def child_ready(self) -> None:
        self._drive()

    def _drive(self) -> None:
        """Go on until the script waits again. A change from inside of it is seen at its next look."""
        if self._driving or not self.alive:
            return
        self._driving = True
        try:
            deadline = next(self._script, None) if self._killed is None else None
            if self._killed is not None and self.alive:
                deadline = self._go_on_dying(self._killed)
            self._wait_until(deadline)
        finally:
            self._driving = False
        if not self.alive:
            self._wait_until(None)
            self._script.close()

    def _go_on_dying(self, reason: ExitReason) -> float | None:
        """Drop what the script was at, and do from now on what is left to do."""
        if not self._dying:
            self._dying = True
            self._script.close()
            self._script = self._die(reason)
        return next(self._script, None)

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

    def breathe(self) -> Waiting[None]:
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
        self.become_ready()
        self.accepting = True
        self.services.progress(Started(self.path, self.n))
        self.child.owner.child_ready()
        while self.ending is None:
            while not self._events:
                yield None
            event = self._events.popleft()
            if isinstance(event, Exit):
                again = self.on_exit(event.child, event.life)
                if again is not None:
                    yield from again
            else:
                yield from self._handle(event)
        self.accepting = False
        yield from self.stop_all()
        self._finish(self.ending)

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
        kids = [Child(self, spec, spec.id, lives.get(spec.id, 0)) for spec in specs]
        self.kids = {kid.id: kid for kid in kids}
        failed = yield from self.start_in_order(kids)
        return None if failed is None else StartFailure(failed[0].id, failed[1])

    def _children(self) -> Iterable[Spec]:
        match self.spec:
            case SupervisorSpec(children=children, auto_shutdown=auto):
                return check_childspecs(children(), auto) if callable(children) else children
            case DynamicSpec(initial=initial, auto_shutdown=auto):
                return check_childspecs(initial(), auto) if initial is not None else ()

    def _handle(self, event: Retry | Stop | Call) -> Waiting[None]:
        match event:
            case Retry():
                yield from self.on_retry(event)
            case Stop():
                self.ending = event.reason
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
        """End without any order: its children are cancelled as killed, all together.

        Supervisors among them stop theirs in order, as OTP's do when they lose their parent. Its
        end is told when all have ended, or after the grace time, so that a restart does not run
        beside what is left of it.
        """
        if not self.alive or self._killed is not None:
            return
        self.asked = self._killed = reason
        self.accepting = False
        if self.services.aborted:
            self._end_now(reason)
        else:
            self._drive()

    def give_up(self, after_s: float) -> None:
        told = self.asked if isinstance(self.asked, Killed) else None
        self._end_now(self._killed or told or Abandoned(after_s))

    def _end_now(self, reason: ExitReason) -> None:
        lives = self._lives()
        self._finish(reason)
        if not self._driving:
            self._wait_until(None)
            self._script.close()
        self._kill_all(lives)

    def _die(self, reason: ExitReason) -> Waiting[None]:
        """The script of a supervisor that was killed."""
        lives, grace = self._lives(), self.services.kill_grace_s
        began = self.services.now()
        in_order = not (self._at_once or self.services.hurried)
        self._kill_all(lives, in_order=in_order)
        if in_order:
            yield from self._all_gone(began + grace / 2)
            for life in lives:
                if isinstance(life, Machine):
                    life.hurry()
        yield from self._all_gone(began + grace)
        for life in lives:
            # One that was told to shut down before that keeps its time, with nobody waiting.
            if isinstance(life.asked, Killed):
                life.give_up(grace)
        self._finish(reason)

    def hurry(self) -> None:
        """Go on without any order, if it was told to end since the one above it was killed."""
        if self.alive and isinstance(self.asked, Killed):
            self._at_once = True
            self.kill(self.asked)

    def _all_gone(self, deadline: float) -> Waiting[None]:
        while self._running and self.services.now() < deadline:
            yield deadline

    def _lives(self) -> list[Life]:
        return [kid.life for kid in self.kids.values() if kid.life is not None]

    def _kill_all(self, lives: list[Life], *, in_order: bool = False) -> None:
        killed = Killed(f"its supervisor {self.label} ended")
        for life in lives:
            if not life.alive or life.asked is not None:
                continue
            if in_order and isinstance(life, Machine):
                life.stop(killed)
            else:
                life.kill(killed)

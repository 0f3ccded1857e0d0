"""The lower half of a supervisor: its children, started and stopped in order and in time."""

from .child import Child, Life
from .events import Exit, Waiting
from .exits import NORMAL, ExitReason, Killed, StartTimedOut
from .reports import ShutdownFault, StartError
from .rules import ended_as_asked
from .services import Services
from .specs import BRUTAL_KILL, ChildSpec, DynamicSpec, RestartType, SupervisorSpec
from .task import Task

# Starting or stopping a child costs tens of microseconds; others run after so many.
_BATCH = 128


class Family(Life):
    """A supervisor's list of children."""

    __slots__ = ("_running", "dynamic", "kids", "path", "services", "spec")

    def __init__(self, child: Child, services: Services, path: str) -> None:
        super().__init__(child, services.now())
        assert not isinstance(child.spec, ChildSpec)
        self.services = services
        self.spec: SupervisorSpec | DynamicSpec = child.spec
        self.dynamic = isinstance(self.spec, DynamicSpec)
        self.path = path
        self.kids: dict[str, Child] = {}
        self._running = 0

    @property
    def label(self) -> str:
        """Its name in reports: the path, for the root its id."""
        return self.path or self.child.id

    def breathe(self) -> Waiting[None]:
        """Let everybody else run once."""
        raise NotImplementedError

    def post_exit(self, exit: Exit) -> None:
        """Handle an end when its turn comes."""
        raise NotImplementedError

    def make_family(self, child: Child) -> Life:
        """Make a life of a child that is a supervisor."""
        raise NotImplementedError

    def child_exited(self, child: Child, life: Life) -> None:
        self._running -= 1
        if self.alive:
            self.post_exit(Exit(child, life))

    # -- starting -------------------------------------------------------------------------------

    def start(self, child: Child) -> Waiting[ExitReason | None]:
        """Start a child; return None, or why it did not start. Ignored counts as started."""
        if not self.alive or isinstance(self.asked, Killed):
            return Killed("its supervisor was killed")
        life = self.launch(child)
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

    def launch(self, child: Child) -> Life:
        """Begin a life of a child, and do not wait for it to be ready."""
        if child.timer is not None:
            child.cancel_timer()
        child.restarting = child.closed = False
        life = (
            Task(child, self.services)
            if isinstance(child.spec, ChildSpec)
            else self.make_family(child)
        )
        child.life = life
        self._running += 1
        life.begin()
        return life

    def start_in_order(self, kids: list[Child]) -> Waiting[tuple[Child, ExitReason] | None]:
        """Start these one after the other; stop at the first that fails, and return it."""
        for number, kid in enumerate(kids, 1):
            failure = yield from self.start(kid)
            if failure is not None:
                self.tell_start_error(kid, failure)
                return kid, failure
            if number % _BATCH == 0:
                yield from self.breathe()
        return None

    def tell_start_error(self, child: Child, reason: ExitReason) -> None:
        self.services.report(StartError(supervisor=self.label, child=child.id, reason=reason))

    # -- stopping -------------------------------------------------------------------------------

    def stop_child(self, child: Child) -> Waiting[None]:
        """Stop a child within its time; a death that was not handled yet is used up."""
        child.cancel_timer()
        child.restarting = False
        life = child.life
        if life is not None:
            found_dead = not life.alive and life.asked is None
            if life.alive:
                yield from self._await_end(life, self._ask(child, life))
            child.life = None
            child.final = life.reason
            self.check_end(child, life, found_dead=found_dead)
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
            life.give_up(seconds or grace)

    def _await(self, life: Life, seconds: float | None) -> Waiting[None]:
        deadline = self.services.deadline(seconds)
        while life.alive and self.services.now() < deadline:
            yield None if seconds is None else deadline

    def declare_dead(self, life: Life, after_s: float) -> None:
        """Handle a life that was told to end, and has not, as if it had."""
        if life.alive and self.alive:
            life.give_up(after_s)

    def check_end(self, child: Child, life: Life, *, found_dead: bool = False) -> None:
        reason = life.reason or NORMAL
        spec = child.spec
        elixir = isinstance(self.spec, DynamicSpec) and self.spec.template is None
        if not ended_as_asked(
            spec.restart, spec.shutdown_s, reason, elixir=elixir, found_dead=found_dead
        ):
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
        dead: set[Child] = set()
        for kid in list(self.kids.values()):
            kid.cancel_timer()
            if kid.life is None:
                continue
            if not kid.life.alive and kid.life.asked is None:
                dead.add(kid)
            limit = self._ask(kid, kid.life) if kid.life.alive else 0.0
            limit = None if limit is None else max(limit, self.services.kill_grace_s)
            limits[limit] = self.services.deadline(limit)
            asked.append((kid, kid.life, limit))
            if len(asked) % _BATCH == 0:
                yield from self.breathe()
        for limit in sorted(limits, key=lambda each: (each is None, each)):
            while self._running and self.services.now() < limits[limit]:
                yield None if limit is None else limits[limit]
            for _, life, own in asked:
                if own == limit and life.alive:
                    life.give_up(limit or 0.0)
        for kid, life, _ in asked:
            self.check_end(kid, life, found_dead=kid in dead)

    def forgets(self, child: Child) -> bool:
        """Whether the specification goes when the child ends."""
        return self.dynamic or child.spec.restart is RestartType.TEMPORARY

    def drop(self, child: Child, reason: ExitReason | None) -> None:
        """Take a child off the list."""
        del self.kids[child.id]
        child.bury(reason)

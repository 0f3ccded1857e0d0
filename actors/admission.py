"""Which sessions of a process take their turns, and which wait for a place. What is decided is in
fairness.py; here is who is waiting.

A session waits as what it is in memory, without a task, and its row says that it runs. A start waits
as its caller does: nothing of it is stored yet.
"""

from collections.abc import Callable, Iterable

from msgspec import Struct

from ..supervisor.clock import Clock
from ..supervisor.errors import UkemiError
from ..supervisor.policy import Policies, Policy, tenant_policy
from .fairness import FairLine
from .latch import Futures, Latch


class Waiting(Struct, frozen=True, kw_only=True):
    """Who waits, at one instant; durations in seconds."""

    sessions: int
    by_tenant: dict[str, int]
    oldest_s: float
    starts: int


class SessionsHealth(Struct, frozen=True, kw_only=True):
    """Sessions of this process.

    Attributes:
        active: those that hold a place.
        in_memory: those, their sub-sessions, and those that wait.
        parked, woken, ended: how many were, since the runtime was entered. Those parked are in the
            store; `Runtime.sessions` lists them.
    """

    active: int
    in_memory: int
    parked: int
    woken: int
    ended: int


class Start:
    """A block in which one more session may be stored and taken into memory; entering it waits.

    Raises:
        UkemiError: on entering: the runtime was left before that.
    """

    __slots__ = ("_admission", "tenant", "turn")

    def __init__(self, admission: "Admission", tenant: str) -> None:
        self._admission = admission
        self.tenant = tenant
        self.turn: Latch | None = None
        """What it waits for, where it has to."""

    async def __aenter__(self) -> None:
        if self._admission.begin_at_once(self):
            return
        try:
            await self._admission.begin_later(self)
        except BaseException:
            self._admission.end_start(self)
            raise

    async def __aexit__(self, *error: object) -> None:
        self._admission.end_start(self)


class Admission:
    """The places of one runtime.

    Args:
        futures: makes what starts wait for.
    """

    def __init__(self, clock: Clock, policies: Policies, futures: Futures) -> None:
        self.futures = futures
        self._clock = clock
        self._policies = policies
        self._seen: Policy | None = None
        self._places = FairLine[str]()
        self._starts = FairLine[Start]()
        self._closed: UkemiError | None = None
        self._on_room: Callable[[], None] | None = None
        self.leaves = False
        """Whether unfinished sessions that nobody owns were left in the store for want of room."""

    # ------------------------------------------------------------ looking

    @property
    def held(self) -> int:
        """Places taken."""
        return self._places.held

    def waits(self, session_id: str) -> bool:
        """Tell whether a session waits for a place."""
        return self._places.waits(session_id)

    def room(self) -> int:
        """Return how many more sessions may be taken into memory to wait there."""
        waiting_max = self._policies.current.admission.waiting_max
        return max(0, waiting_max - self._places.waiting - self._starts.held)

    def waiting(self) -> Waiting:
        """Return who waits now."""
        since = self._places.oldest()
        return Waiting(
            sessions=self._places.waiting,
            by_tenant=self._places.waiting_of(),
            oldest_s=0.0 if since is None else max(0.0, self._clock.now() - since),
            starts=self._starts.waiting,
        )

    # ------------------------------------------------------------ sessions

    def take_free(self, session_id: str, tenant: str) -> bool:
        """Take a place for a session where one is free that nobody waits for."""
        self._obey()
        return self._places.take_free(session_id, tenant)

    def ask(self, session_id: str, tenant: str) -> list[str]:
        """Want a place for a session, where none was free; return all that have one from now on."""
        self._places.join(session_id, tenant, self._clock.now())
        return self.serve()

    def leave(self, session_id: str) -> list[str]:
        """Give up a session's place, or its wait; return all that have one from now on."""
        if not self._places.leave(session_id):
            return []
        awaited = self._places.waiting or self._starts.waiting or self._on_room is not None
        return self.serve() if awaited else []

    def serve(self) -> list[str]:
        """Give away what is free; after a change of the policy, by its numbers."""
        self._obey()
        served = self._places.serve()
        self._let_start()
        if self._on_room is not None:
            self._tell_room(self._on_room)
        return served

    def _obey(self) -> None:
        """Take up the numbers of a policy that is new."""
        policy = self._policies.current
        if policy is not self._seen:
            self._seen = policy
            own = {each: tenant_policy(policy, each).sessions_max for each in policy.tenant}
            self._places.limit(policy.admission.sessions_max, policy.tenancy.sessions_max, own)

    # ------------------------------------------------------------ starts

    def begin_at_once(self, start: Start) -> bool:
        """Tell whether one more session may be stored and taken into memory; then `end_start`."""
        if self._closed is not None:
            return False
        self._limit_starts()
        return self._starts.take_free(start, start.tenant)

    async def begin_later(self, start: Start) -> None:
        """Wait until one more session may be stored and taken into memory; `end_start` in any case.

        Raises:
            UkemiError: the runtime was left before that.
        """
        if self._closed is not None:
            raise self._closed
        start.turn = Latch(self.futures)
        self._starts.join(start, start.tenant, self._clock.now())
        self._let_start()
        if not self._starts.holds(start):
            await start.turn.wait()
        if self._closed is not None:
            raise self._closed

    def end_start(self, start: Start) -> None:
        """The session is in memory, or was not stored: the next may."""
        self._starts.leave(start)
        self._let_start()

    def _let_start(self) -> None:
        if self._starts.waiting:
            self._limit_starts()
            self._tell(self._starts.serve())

    def _limit_starts(self) -> None:
        waiting_max = self._policies.current.admission.waiting_max
        self._starts.resize(max(0, waiting_max - self._places.waiting))

    def close(self, error: UkemiError) -> None:
        """Let nobody start any more; tell those who wait to."""
        self._closed = error
        self._starts.resize(None)
        self._tell(self._starts.serve())

    def _tell(self, starts: Iterable[Start]) -> None:
        for each in starts:
            if each.turn is not None:
                each.turn.set()

    # ------------------------------------------------------------ what the store has more of

    def tell_room(self, callback: Callable[[], None]) -> None:
        """Call back once half of those who may wait here would find room."""
        self._on_room = callback

    def _tell_room(self, callback: Callable[[], None]) -> None:
        half = self._policies.current.admission.waiting_max / 2
        if self.room() >= half:
            self._on_room = None
            callback()

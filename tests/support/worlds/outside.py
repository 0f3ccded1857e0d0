"""What is outside the process: it counts effects, keeps the truth, and outlives every kill.

It also watches. At each thing that reaches it, it looks at what the store has committed by then: an
effect whose intent is not durable yet, or one that is not allowed any more, is a broken promise at once.
"""

from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from random import Random
from typing import TYPE_CHECKING

from msgspec import Struct, field

from ukemi import CallContext

from .loop import Killed, WorldLoop
from .plan import SURE, Call, How, Kill, Kind, Point, World

if TYPE_CHECKING:
    from .storage import Committed

CallId = tuple[int, int]

REPEATABLE: frozenset[Kind] = frozenset(
    (
        "read",
        "safe",
        "safe_undoable",
        "keyed",
        "undoable_keyed",
        "thread_keyed",
        "beside",
        "prepared_keyed",
    )
)
"""Tools whose effect may be asked for again whatever became of the first attempt."""

READS: frozenset[Kind] = frozenset(("read",))

REFUSALS: frozenset[How] = frozenset(("rejected", "refused"))

LATE_S = 8.0
"""Seconds until something that was sent takes effect by itself."""


class Seen(Struct):
    """What the outside knows of one call, or of one compensation."""

    session: str
    call: CallId
    kind: Kind
    what: str
    part: str
    entered: int = 0
    effects: list[float] = field(default_factory=list[float])
    first_at: float = 0.0
    done_at: float = 0.0
    unsure: bool = False
    running: int = 0
    coming: int = 0
    keys: set[str] = field(default_factory=set[str])
    settled: bool = False
    by_person: bool = False

    @property
    def open(self) -> bool:
        """Whether nobody can know yet that it did not happen."""
        return bool(self.effects) or self.unsure or self.running > 0 or self.coming > 0


class Visit(Struct):
    """One body that has entered."""

    seen: Seen
    how: How
    life: int
    key: str | None
    travel_s: float
    back_s: float
    attempt: int


class Outside:
    """The truth about one world. ``trace`` says all that happened; ``violations`` what must not have."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.seed = world.seed
        self.secret = f"hush-{world.seed}-hush"
        self.trace: list[str] = []
        self.violations: list[str] = []
        self.committed: dict[str, Committed] = {}
        self.seen: dict[tuple[str, CallId, str], Seen] = {}
        self.calls: dict[str, Call] = {}
        for plan in world.sessions:
            for turn in plan.turns:
                for call in turn.calls:
                    self.calls.setdefault(call.what, call)
        self.entries: Counter[tuple[str, str]] = Counter()
        self.undoing_at: dict[tuple[str, CallId], float] = {}
        self.completed_at: dict[str, list[tuple[float, int]]] = {}
        """When a session completed, and the number of its newest message then."""
        self.by_key: dict[str, tuple[str, CallId, str]] = {}
        self.bodies: Counter[str] = Counter()
        self.requests: Counter[str] = Counter()
        self.commits = 0
        self.reads = 0
        self.life = 0
        self._living: set[int] = set()
        self.kill: Kill | None = None
        self.reached: Counter[Point] = Counter()
        self.loop: WorldLoop | None = None
        self.lived_s = 0.0
        self.loop_began = 0.0
        self.wall_offset_s = 0.0
        self._coming: list[tuple[float, Seen]] = []
        self._open: list[Visit] = []

    # ------------------------------------------------------------ time and lives

    def now(self) -> float:
        """Seconds since the world began, over all lives."""
        if self.loop is None:
            return self.lived_s
        return self.lived_s + self.loop.time() - self.loop_began

    def born(self, loop: WorldLoop, began: float, kill: Kill | None) -> int:
        """The first process of a life starts; return its number."""
        self.loop, self.loop_began, self.kill = loop, began, kill
        self.reached.clear()
        number = self.joined()
        self.note(f"-- life {number}")
        return number

    @property
    def owner(self) -> str:
        """What the newest process is called in the store."""
        return f"process-{self.life}"

    def lives_on(self, owner: str) -> bool:
        """Tell whether a process of this name is alive."""
        return any(owner == f"process-{each}" for each in self._living)

    def joined(self) -> int:
        """A process comes; return its number."""
        self.life += 1
        self._living.add(self.life)
        return self.life

    def gone(self, number: int) -> None:
        """A process has ended by itself."""
        self._living.discard(number)

    def died(self, down_s: float) -> None:
        """The process is gone: what it had sent stays unanswered."""
        self.lived_s = self.now() + down_s
        self.loop = None
        for visit in self._open:
            visit.seen.running -= 1
            visit.seen.unsure = True
        self._open.clear()
        self._living.clear()  # nothing of theirs reaches anything any more

    def alive(self, life: int) -> None:
        """Refuse what a dead process does."""
        if life not in self._living or self.loop is None or self.loop.dead:
            raise Killed

    def reach(self, point: Point, life: int) -> None:
        """Count a point at which the process may be killed, and kill it if this is the one."""
        self.alive(life)
        self.reached[point] += 1
        kill = self.kill
        if kill is not None and kill.point == point and kill.at == self.reached[point]:
            self.note(f"killed at {point} {kill.at}")
            assert self.loop is not None
            self.loop.kill()
            raise Killed

    def note(self, what: str) -> None:
        """Add a line to the trace."""
        self.trace.append(f"{self.now():.6f} {what}")

    def broken(self, what: str) -> None:
        """A promise is broken: there is no need to go on."""
        self.note(f"BROKEN {what}")
        self.violations.append(what)
        if self.loop is not None:
            self.loop.kill()

    # ------------------------------------------------------------ calls

    def of(self, context: CallContext, kind: Kind, what: str, part: str) -> Seen:
        """Return what is known of a call's body, its compensation or its commit."""
        name = (context.session_id, context.call, part)
        found = self.seen.get(name)
        # A process that was cut off may have read under a number that its successor gave anew.
        if found is None or (found.what != what and found.kind in READS):
            found = self.seen[name] = Seen(context.session_id, context.call, kind, what, part)
        return found

    def _how(self, what: str, part: str) -> How:
        call = self.calls[what]
        tries = call.undo if part == "undo" else call.probe if part == "probe" else call.tries
        number = self.entries[what, part]
        self.entries[what, part] += 1
        return tries[number] if number < len(tries) else "ok"

    def enter(self, context: CallContext, kind: Kind, what: str, part: str, life: int) -> Visit:
        """A body runs: check that it may."""
        self.reach("enter", life)
        self.settle()
        seen = self.of(context, kind, what, part)
        how = self._how(what, part)
        if how in REFUSALS and (seen.effects or seen.coming):
            how = "ok"  # the other side knows the key, and does not refuse what it has done
        number = self.entries[what, part]
        self.note(
            f"{part} {kind} {what} {context.session_id} {context.call} #{context.attempt} {how}"
        )
        self._check_durable(context, seen)
        self._check_allowed(seen, context)
        dice = Random(f"{self.seed} {what} {part} {number}")
        seen.entered += 1
        seen.running += 1
        seen.first_at = seen.first_at or self.now()
        if context.key is not None:
            self._check_key(context.key, seen)
        if part == "body" and kind not in READS:
            self.bodies[context.session_id] += 1
        visit = Visit(
            seen, how, life, context.key, dice.random() * 0.2, dice.random() * 0.2, context.attempt
        )
        self._open.append(visit)
        return visit

    def leave(self, visit: Visit, *, unsure: bool) -> None:
        """A body is over; ``unsure``: it did not say that nothing happened."""
        if visit not in self._open:
            return  # the process died before
        self._open.remove(visit)
        visit.seen.running -= 1
        visit.seen.unsure = visit.seen.unsure or unsure
        if not unsure and visit.seen.effects:
            visit.seen.done_at = self.now()

    def effect(self, visit: Visit) -> None:
        """The body's effect takes place."""
        self.alive(visit.life)
        self._take_effect(visit.seen, visit.key)
        self.reach("effect", visit.life)

    def later(self, visit: Visit) -> None:
        """What was sent takes effect by itself, whatever becomes of the sender."""
        self.alive(visit.life)
        visit.seen.coming += 1
        self._coming.append((self.now() + LATE_S, visit.seen))

    def settle(self) -> None:
        """Let take effect what was on its way, and is there by now."""
        for due in [each for each in self._coming if each[0] <= self.now()]:
            self._coming.remove(due)
            due[1].coming -= 1
            self._take_effect(due[1], next(iter(due[1].keys), None))

    def _take_effect(self, seen: Seen, key: str | None) -> None:
        if key is not None and key in self.by_key and seen.effects:
            self.note(f"known {seen.part} {seen.what}")  # the other side has had this one
            return
        if key is not None:
            self.by_key[key] = (seen.session, seen.call, seen.part)
        seen.effects.append(self.now())
        self.note(f"effect {seen.part} {seen.what} {len(seen.effects)}")
        if len(seen.effects) > 1 and seen.kind not in ("safe", "safe_undoable", "read"):
            self.broken(f"{seen.part} of {seen.kind} {seen.what} took effect twice")

    # ------------------------------------------------------------ what must hold

    def _check_durable(self, context: CallContext, seen: Seen) -> None:
        known = self.committed.get(context.session_id)
        if known is None:
            self.broken(f"a body of {context.session_id} runs, and the session is not stored")
            return
        if seen.part == "undo":
            if known.undoings.get(context.call) != context.attempt:
                self.broken(f"compensation of {seen.what} runs before its intent is durable")
        elif seen.part == "commit":
            if context.call not in known.checked:
                self.broken(f"commit of {seen.what} runs before its check is durable")
        elif seen.part == "body" and seen.kind not in READS:
            durable = known.intents.get(context.call) == context.attempt
            if not durable:
                self.broken(f"body of {seen.kind} {seen.what} runs before its intent is durable")

    def _check_allowed(self, seen: Seen, context: CallContext) -> None:
        if seen.part == "undo":
            return self._check_undo(seen, context)
        if seen.part not in ("body", "commit") or seen.kind in READS:
            return None
        if seen.part == "body" and seen.kind == "danger":
            judged = self.committed[seen.session].judged.get(seen.call)
            if judged is None or judged.verdict != "approved":
                self.broken(f"danger {seen.what} runs without an approval")
        if seen.kind in REPEATABLE:
            return None
        if seen.effects:
            self.broken(f"{seen.part} of {seen.kind} {seen.what} runs again after its effect")
        elif seen.open:
            self.broken(f"{seen.part} of {seen.kind} {seen.what} runs again, effect unknown")
        for other in self.seen.values():
            equal = (other.session, other.what, other.part) == (seen.session, seen.what, seen.part)
            if equal and other is not seen and other.unsure and not other.settled:
                self.broken(f"{seen.kind} {seen.what} runs while an equal call is in doubt")
        return None

    def _check_undo(self, seen: Seen, context: CallContext) -> None:
        done = self.seen.get((seen.session, seen.call, "body"))
        if done is None or not done.effects:
            self.broken(f"compensation of {seen.what}, which never took effect")
        if context.key is None and seen.open:
            self.broken(f"compensation of {seen.what} runs again, effect unknown")

    def _check_key(self, key: str, seen: Seen) -> None:
        whose = self.by_key.get(key)
        if whose is not None and self.seen[whose].what != seen.what:
            self.broken(f"key {key} is used for {seen.what} and {self.seen[whose].what}")
        seen.keys.add(key)
        if len(seen.keys) > 1 and not seen.by_person:
            self.broken(f"{seen.what} goes out with two keys")

    # ------------------------------------------------------------ what is asked of it

    def happened(self, session: str, call: CallId) -> bool | None:
        """Tell whether a call took effect; None: nobody can say yet."""
        self.settle()
        found = [
            each
            for (whose, which, part), each in self.seen.items()
            if (whose, which) == (session, call) and part in ("body", "commit")
        ]
        if any(each.effects for each in found):
            return True
        if any(each.coming or each.running for each in found):
            return None
        return False

    def said_not_done(self, session: str, call: CallId, part: str = "body") -> None:
        """Somebody who knows has said that a call did not take effect, and will not."""
        seen = self.seen.get((session, call, part))
        if seen is not None:
            seen.unsure = False

    def called_settled(self, session: str, call: CallId) -> None:
        """A person or a probe has said how it stands."""
        for part in ("body", "commit"):
            seen = self.seen.get((session, call, part))
            if seen is not None:
                seen.settled = True

    @contextmanager
    def visiting(
        self, context: CallContext, kind: Kind, what: str, part: str, life: int
    ) -> Generator[Visit]:
        """Run a block as a body: what it raises says whether anything may have happened."""
        visit = self.enter(context, kind, what, part, life)
        unsure = True
        try:
            yield visit
            unsure = False
        except Exception:
            unsure = visit.how not in SURE
            raise
        finally:
            self.leave(visit, unsure=unsure)

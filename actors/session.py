"""A session in memory: what its lives share, and what others may ask of it.

The record survives restarts of the session's actor. A life (life.py) takes the turns; between
turns there is no task, and once the session has ended not even this record.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import anyio
import msgspec

from ..stores.base import Facts, Fenced, OpenRequest
from ..stores.records import (
    Booked,
    Decided,
    Ended,
    JournalEntry,
    Judged,
    Requested,
    Resulted,
    RolledBack,
    Said,
    SessionStatus,
    Spent,
)
from ..supervisor.errors import UkemiError
from .active_time import ActiveTime
from .agent import InstalledAgent
from .approvals.approvals import requests_after
from .budget import SECONDS, Account
from .bus import Channel
from .end_events import ended
from .events import CheckpointStored, Event, MessageReceived
from .handover.dossier import Trouble, hand_over, left_open, notice_of
from .journal import Acknowledgement, Journal
from .latch import Latch
from .ledger import CallId
from .nothing import NO_DICT, own
from .outcome import Completed, HandedOver, Outcome, Stopped, outcome_to_data
from .people_events import approval_asked, approval_closed, decision_taken
from .services import Services
from .state import UNFINISHED, SessionState
from .tooling.toolbox import marks_in
from .undo.plan import ends_unbegun, outcome_with
from .work import Cut, Work

STATUS: dict[type[Outcome], SessionStatus] = {
    Completed: "completed",
    HandedOver: "handed_over",
    Stopped: "stopped",
}

_BY_PEOPLE = frozenset({Decided, Requested, Judged, Said})
"""Entries that are told once they are stored; how the model and its calls go on is told as it happens."""


class Session:
    """One session this runtime owns.

    Args:
        facts: what lists show of it; kept up to date at its ends.
    """

    __slots__ = (
        "_booked_at",
        "_decision",
        "_lapses",
        "above",
        "account",
        "active",
        "began",
        "channel",
        "children",
        "closed_below",
        "cut",
        "emit",
        "ended",
        "ending",
        "error",
        "facts",
        "final",
        "id",
        "installed",
        "intended",
        "journal",
        "lives",
        "now_ms",
        "outcome",
        "parked",
        "retired",
        "rollbacks",
        "rolled",
        "services",
        "state",
        "stepped_n",
        "undo_unbegun",
        "work",
    )

    def __init__(
        self,
        services: Services,
        installed: InstalledAgent,
        state: SessionState,
        account: Account,
        facts: Facts,
        *,
        epoch: int,
        seq: int,
    ) -> None:
        self.id = state.session_id
        self.services = services
        self.installed = installed
        self.state = state
        self.account = account
        self.facts = facts
        self.journal = Journal(state, services.checkpoint, self, epoch=epoch, seq=seq)
        self.channel = Channel()
        self.emit: Callable[[Event], None] = self.channel.emit
        """Tell whoever looks on."""
        self.now_ms = services.now_ms
        self.active = ActiveTime(account, services.clock, services.timers, self)
        self.work: Work | None = None
        self.cut: Cut | None = None
        # Dictionaries for sets: an empty one takes a quarter.
        self.children: dict[str, None] = NO_DICT
        self.above: Session | None = None
        """Whose sub-session it is, where that is active here."""
        self.closed_below: dict[str, tuple[str, ...]] = {}
        """What was refused for good in sub-sessions whose calls have no result yet, by their ids."""
        self.outcome: Outcome | None = None
        self.error: UkemiError | None = None
        self.ended = Latch(services.checkpoint)
        self.retired = Latch(services.checkpoint)
        self.parked = False
        self.ending = False
        self.began: dict[CallId, None] = {}
        self.intended: dict[CallId, None] = NO_DICT
        self.undo_unbegun: dict[CallId, None] = {}
        """Compensations whose intent was written here and whose body was not entered since."""
        self.final: Outcome | None = None
        self.stepped_n = 0
        self.lives = 0
        self.rollbacks: dict[int, anyio.Event] = {}
        """Who waits for a rollback, by its number."""
        self.rolled: dict[int, RolledBack] = NO_DICT
        self._decision: anyio.Event | None = None
        self._booked_at: float | None = None
        self._lapses = services.ownership.lapses

    def child_name(self, call: CallId) -> str:
        """Return the id of the sub-session that a call begins, the same each time it is repeated."""
        return f"{self.id}.{call[0]}.{call[1]}"

    def closings(self) -> tuple[Mapping[str, CallId], frozenset[str]]:
        """Return the resources and the calls that were refused for good, to it or to whom it works for."""
        state, above = self.state, self.above
        if above is None or above.outcome is not None:
            return state.closed, state.rejected
        closed, rejected = above.closings()
        return {**closed, **state.closed}, rejected | state.rejected

    @property
    def takes_messages(self) -> bool:
        """Whether a message given now will still be seen before the session ends."""
        going = self.state.status == "running" and not (self.ending or self.state.unwound.ends)
        return going and self.cut is None and self.error is None

    @property
    def rests(self) -> bool:
        """Whether the session has come to an end, or is about to without anything else."""
        return self.state.status not in UNFINISHED or self.state.unwound.ends

    def rolled_back(self, ended: RolledBack) -> None:
        """Tell whoever waits for this rollback."""
        self.rolled = own(self.rolled)
        self.rolled[ended.n] = ended
        waiting = self.rollbacks.pop(ended.n, None)
        if waiting is not None:
            waiting.set()

    def _over(self) -> None:
        """Nothing more happens here: nobody waits on."""
        self.ended.set()
        for waiting in self.rollbacks.values():
            waiting.set()

    def release(self) -> None:
        """It is not driven here any more: open the circles it is part of.

        Then it is freed where the last name for it goes, and not by a collection some time later.
        """
        self.journal.release()
        self.active.release()

    # ------------------------------------------------------------ telling

    def stored(self, entries: Sequence[JournalEntry]) -> None:
        """Tell of the entries of a row, which is durable."""
        for entry in entries:
            if type(entry) is Resulted:
                self.emit(
                    CheckpointStored(session_id=self.id, at_ms=self.now_ms(), counter=entry.counter)
                )
            elif type(entry) in _BY_PEOPLE:
                self._heard(entry)

    def _heard(self, entry: JournalEntry) -> None:
        """What people said, or are asked, is stored."""
        at_ms = self.now_ms()
        match entry:
            case Decided():
                self.emit(decision_taken(self.id, at_ms, entry))
            case Requested():
                self.emit(approval_asked(self.id, at_ms, entry))
            case Judged():
                self.emit(approval_closed(self.id, at_ms, entry))
                if self._decision is not None:
                    self._decision.set()
            case Said(n, text):
                self.emit(MessageReceived(session_id=self.id, at_ms=at_ms, n=n, text=text))
            case _:
                pass

    # ------------------------------------------------------------ questions to people

    def facts_after(self, entries: Sequence[JournalEntry]) -> Facts | None:
        """Return the facts to store with these entries, where they change what people are asked."""
        requests = requests_after(self.facts.requests, entries)
        if requests == self.facts.requests:
            return None
        self.facts = msgspec.structs.replace(self.facts, requests=requests)
        return self.facts

    def was_told(self, request: OpenRequest) -> None:
        """Note that whoever is to know of a request does; stored when the session is parked."""
        told = msgspec.structs.replace(request, told=True)
        requests = tuple(told if each == request else each for each in self.facts.requests)
        self.facts = msgspec.structs.replace(self.facts, requests=requests)

    def next_decision(self) -> anyio.Event:
        """Return what is set once the next request for approval is decided."""
        self._decision = anyio.Event()
        return self._decision

    # ------------------------------------------------------------ time and budget

    def start_clock(self) -> None:
        """Time counts from now on: a turn has begun."""
        self._booked_at = self.services.clock.now()

    def stop_clock(self) -> None:
        """Time counts no more: the turn is over."""
        self.book_time()
        self._booked_at = None

    def book_time(self) -> None:
        """Book the seconds since the last booking."""
        if self._booked_at is not None:
            now = self.services.clock.now()
            if now > self._booked_at:
                self.account.add(SECONDS, now - self._booked_at)
            self._booked_at = now

    def spent(self) -> Spent:
        """Return the session's own consumption up to now."""
        self.book_time()
        return self.account.spent()

    def booked(self) -> Booked:
        """Return an entry that stores the consumption where no result does."""
        return Booked(self.spent())

    def out_of_active_time(self) -> None:
        """End its work: the time inside models and tools is used up."""
        self.cut_off(Cut("budget", self.account.tightest("active_seconds")))

    # ------------------------------------------------------------ owning

    @property
    def owned(self) -> bool:
        """Whether this process certainly owns the session now; if not, see `ensure_owned`."""
        services = self.services
        return (
            not self.journal.fenced
            and services.clock.now() < services.ownership.sure_until
            and services.ownership.lapses == self._lapses
        )

    async def ensure_owned(self) -> None:
        """Return once this process certainly owns the session; before each request and each body.

        Raises:
            Fenced: another owner has taken it over.
            StoreError: the store does not answer, so nobody knows.
        """
        if self.journal.fenced:
            raise Fenced(f"session {self.id} was taken over by another owner")
        ownership = self.services.ownership
        if not ownership.sure:
            await ownership.renew()
        if not self.owned:
            # The lease is held again, but there was a time when anybody might have come.
            lapses = ownership.lapses
            head = await self.services.store.head(self.id)
            if head.epoch != self.journal.epoch:
                self.journal.fenced = True
                raise Fenced(f"session {self.id} was taken over by {head.owner or 'nobody'}")
            self._lapses = lapses

    def never_began(self, call: CallId) -> bool:
        """Whether the call's intent was written here and its body certainly not entered since."""
        return call in self.intended and call not in self.began

    # ------------------------------------------------------------ cutting off

    def cut_off(self, cut: Cut) -> None:
        """End all work of the session now; its life settles the rest. The first reason stays."""
        if self.cut is None:
            self.cut = cut
        if self.work is not None:
            self.work.cut_off(self.cut)

    def give_up(self, body: str) -> None:
        """A body does not end, so it goes on without the life that runs it."""
        self.services.give_up(self.id, body)

    # ------------------------------------------------------------ the end

    def undoes_before(self, outcome: Outcome) -> bool:
        """Whether its effects have their part in an end like this: they stay where it completed."""
        state = self.state
        if state.unwound.running is not None:
            return True
        return not isinstance(outcome, Completed) and bool(state.effects)

    def end(self, outcome: Outcome) -> Acknowledgement:
        """Store the outcome; when that is acknowledged, `announce` it."""
        spent = self.spent()
        status = STATUS[type(outcome)]
        self.facts = msgspec.structs.replace(
            self.facts,
            updated_at_ms=self.now_ms(),
            due_at_ms=None,
            reason=None if isinstance(outcome, Completed) else outcome.reason,
            spent=spent,
            left_open=0 if isinstance(outcome, HandedOver) else left_open(self.state),
        )
        data = outcome_to_data(outcome)
        if data != self.state.outcome:
            self._notify(outcome)
        self.final = outcome
        entry = Ended(status, data, spent)
        return self.journal.append(entry, status=status, facts=self.facts)

    def _notify(self, outcome: Outcome) -> None:
        """Have people told who are needed; on its way to the store before the end itself."""
        notice = notice_of(self.id, self.installed.name, outcome, self.facts.left_open)
        if notice is not None:
            alerts = self.services.alerts
            alerts.notify(notice.cause, notice.text, notice.every_s, self.id)

    def lose(self, error: UkemiError) -> None:
        """This process drives the session no more, and does not know how it will end."""
        self.error = error
        self.journal.abandon(error)
        self.channel.close()
        self._over()

    def rest(self, event: Event) -> None:
        """The session is parked; whoever waits for it waits for its next life, or another's."""
        self.parked = True
        self.emit(event)
        self.channel.close()
        self._over()

    def announce(self, outcome: Outcome) -> None:
        """Tell everybody who waits how it ended."""
        self.outcome = outcome
        self.emit(ended(self.id, self.now_ms(), outcome))
        self._over()

    def unstored(self, trouble: Trouble, error: Exception) -> HandedOver:
        """Return the outcome of a session that the store does not take any more, as it is known here.

        One that was to be handed over is, for that reason; of all else a person is told ``trouble``.
        """
        unsaved = self.unsaved_text(error)
        outcome = self.handed_over(trouble, unsaved=unsaved)
        if isinstance(self.final, HandedOver):
            dossier = msgspec.structs.replace(self.final.dossier, unsaved=unsaved)
            outcome = msgspec.structs.replace(self.final, dossier=dossier)
        ends = ends_unbegun(self.state, partial(marks_in, self.installed.toolbox))
        told = outcome_with(outcome, self.state, ends)
        assert isinstance(told, HandedOver)  # as it was given
        return told

    def handed_over(self, trouble: Trouble, *, unsaved: str | None = None) -> HandedOver:
        """Return the outcome of a handover from where the session stands."""
        self.book_time()
        return hand_over(trouble, self.state, self.account, unsaved=unsaved)

    def unsaved_text(self, error: Exception) -> str:
        """Return, for a person, what the store did not take."""
        lines = [
            f"call {entry.n}.{entry.index}: {entry.state}: {entry.content}"
            for entry in self.journal.unsaved()
            if isinstance(entry, Resulted)
        ]
        if isinstance(self.final, Completed):
            lines.append(f"answer: {self.final.answer}")
        return "\n".join([f"not stored, since the store failed ({error}):", *lines])

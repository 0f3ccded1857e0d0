"""A session's journal as what it asked of the world, and every attempt it made at that. Pure."""

from collections.abc import Iterable

import msgspec
from msgspec import Struct

from ...stores.records import (
    Answered,
    Decided,
    Ended,
    Intended,
    JournalEntry,
    Judged,
    Opened,
    Requested,
    Resulted,
    Retried,
    ToolCall,
)
from ...supervisor.breaker import verdict_of
from ...supervisor.errors import ErrorClass
from ...supervisor.failure import Failure, Traits
from .entries import CLASSES, asked_of, end_of, executed_of, model_named
from .seen import WEATHER, Asked, End, Fault, Seen, Told, Trace, model_told
from .times import SLACK_S, Failed, Times, took_s


class Record(Struct, frozen=True):
    """What one journal tells: the session, its attempts, and what it shows of the tools."""

    trace: Trace
    seen: tuple[Seen, ...]
    told: dict[str, Told]


def record_of(session_id: str, entries: Iterable[JournalEntry]) -> Record | None:
    """Read a journal; None where it does not say how the session began."""
    reader = _Reader(session_id)
    for entry in entries:
        reader.take(entry)
    return reader.record()


class _Ready(Struct, frozen=True):
    """A call that has its result, with the time it began and the time it ended."""

    asked: Asked
    begin: float
    end: float


class _Spent(Struct):
    """What a session has spent up to its first end."""

    calls: int = 0
    wasted: int = 0
    in_doubt: int = 0
    tokens: int = 0
    lost: int = 0


class _Reader:
    """Takes a journal in, entry by entry."""

    def __init__(self, session_id: str) -> None:
        self._id = session_id
        self._opened: Opened | None = None
        self._times = Times()
        self._now = 0.0  # when the last thing ended
        self._steps: list[Asked] = []
        self._first: Trace | None = None
        self._last_end = ""
        self._later_from = 0
        self._seen: list[Seen] = []
        self._told: dict[str, Told] = {}
        self._calls: dict[tuple[int, int], ToolCall] = {}
        self._failed: dict[tuple[int, int], list[Failed]] = {}
        self._intents: dict[str, bool] = {}
        self._answer: Answered | None = None
        self._said = False  # the last thing was an answer without calls
        self._model_free = 0.0
        self._waited = False
        self._open: list[_Ready] = []
        self._left = 0
        self._spent = _Spent()

    def take(self, entry: JournalEntry) -> None:
        match entry:
            case Opened():
                self._opened = entry
                self._now = self._model_free = entry.at_ms / 1000
                self._times.begin(entry.at_ms / 1000)
            case Answered():
                self._answered(entry)
            case Intended():
                self._intents[entry.tool] = entry.key is not None
            case Retried(index=-1):
                self._model_failed(entry)
            case Retried():
                self._call_failed(entry)
            case Resulted():
                self._resulted(entry)
            case Requested():
                self._waited = True
            case Judged() | Decided():
                self._times.anchor(entry.at_ms / 1000)
            case Ended():
                self._ended(entry)
            case _:
                pass

    def _failed_at(self, entry: Retried, before: list[Failed]) -> float:
        if entry.due_at_ms is not None:
            at = entry.due_at_ms / 1000 - entry.wait_s
            self._times.anchor(at)
            self._times.floor(entry.due_at_ms / 1000)
            return at
        if before:
            return before[-1].at + entry.elapsed_s - before[-1].entry.elapsed_s
        return self._model_free + entry.elapsed_s

    # ------------------------------------------------------------ the model

    def _answered(self, entry: Answered) -> None:
        self._flush(None)
        self._answer = entry
        self._said = not entry.calls
        self._spent.tokens += entry.usage.tokens
        for index, call in enumerate(entry.calls):
            self._calls[entry.n, index] = call
        self._left = len(entry.calls)

    def _model_failed(self, entry: Retried) -> None:
        self._flush(None)
        self._said = False
        known = self._failed.setdefault((0, -1), [])
        at = self._failed_at(entry, known)
        subject = model_named(entry.upstream)
        self._spent.calls += 1
        if entry.directive == "retry":
            known.append(Failed(entry, at))
            self._see(subject, entry, at, known[-2:-1])
            self._model_free = at + entry.wait_s
            return
        self._see(subject, entry, at, known[-1:])
        error_class = CLASSES.get(entry.error_class, ErrorClass.UNKNOWN)
        if error_class not in WEATHER:
            fault = Fault(error_class, executed_of(entry))
            self._steps.append(Asked(subject, entry.n, True, fault, took_s(entry, known)))
        elif entry.directive == "hand_over":
            self._steps.append(Asked(subject, entry.n, True))
            self._spent.wasted += entry.number - 1
        self._failed.pop((0, -1), None)
        self._model_free = at
        self._now = at

    def _flush(self, begin: float | None) -> None:
        """Put down the answer that is told of, and the calls it asked for.

        Args:
            begin: when its answer was there; None where that is not known.
        """
        answer, self._answer = self._answer, None
        if answer is not None:
            subject = model_named(answer.model)
            self._told[subject] = model_told(answer.model)
            took = None if begin is None else max(0.0, begin - self._model_free - answer.held_s)
            if took is not None and not self._waited:
                if self._times.known:
                    self._seen.append(Seen(subject, (begin or 0.0) - took, took, "up"))
            else:
                took = None
            self._steps.append(
                Asked(subject, answer.n, True, None, took, tokens=answer.usage.tokens)
            )
            self._spent.calls += 1
            self._failed.pop((0, -1), None)
        self._waited = False
        if not self._open:
            return
        ready, self._open = sorted(self._open, key=lambda each: each.begin), []
        end = 0.0
        for each in ready:
            beside = bool(end) and each.begin < end - SLACK_S
            self._steps.append(msgspec.structs.replace(each.asked, beside=beside))
            end = max(end, each.end)
        self._now = self._model_free = max(self._now, end)

    # ------------------------------------------------------------ calls

    def _call_failed(self, entry: Retried) -> None:
        key = entry.n, entry.index
        known = self._failed.setdefault(key, [])
        at = self._failed_at(entry, known) if entry.directive == "retry" else 0.0
        known.append(Failed(entry, at))
        call = self._calls.get(key)
        if call is not None and entry.marks is not None:
            marks = entry.marks
            traits = Traits(
                safe_to_retry="safe" in marks,
                accepts_key="key" in marks,
            )
            upstream = entry.upstream or None
            self._told[call.name] = Told(upstream, traits, writes="read" not in marks)

    def _resulted(self, entry: Resulted) -> None:
        key = entry.n, entry.index
        call = self._calls.pop(key, None)
        failed = self._failed.pop(key, [])
        if call is None:
            return
        last = failed[-1].entry if failed else None
        final = last if last is not None and last.directive != "retry" else None
        took = last.took_s if final is not None and last is not None else entry.elapsed_s
        end = self._times.at(entry.spent.seconds, took if entry.spent.seconds else 0.0)
        begin = end - took
        if failed and failed[0].at:
            begin = failed[0].at - failed[0].entry.elapsed_s
        if final is not None and len(failed) == 1:
            begin = end - final.elapsed_s
        if not failed:
            begin -= entry.held_s
        asked = asked_of(entry, call, final)
        if asked is not None:
            self._open.append(_Ready(asked, begin, end))
            self._observe(entry, call.name, failed, end)
        self._count(entry, call.name, failed)
        self._left -= 1
        if self._left <= 0:
            self._flush(self._began())

    def _began(self) -> float | None:
        return min((each.begin for each in self._open), default=None)

    def _observe(self, entry: Resulted, name: str, failed: list[Failed], end: float) -> None:
        for number, each in enumerate(failed):
            at = each.at or end
            self._see(name, each.entry, at, failed[number - 1 : number] if number else [])
        answered = entry.error_class is None and entry.state != "refused" and not entry.replayed
        if answered and self._times.known and entry.spent.seconds:
            self._seen.append(Seen(name, end - entry.elapsed_s, entry.elapsed_s, "up"))

    def _see(self, subject: str, entry: Retried, at: float, before: list[Failed]) -> None:
        """Keep a failed attempt, where it says something about the other side."""
        error_class = CLASSES.get(entry.error_class, ErrorClass.UNKNOWN)
        executed = executed_of(entry)
        weather = WEATHER.get(error_class)
        if weather is None:
            failure = Failure(error_class=error_class, may_have_executed=executed)
            if verdict_of(failure) != "up":
                return
            weather = "up"
        if self._times.known and at:
            took = took_s(entry, before)
            seen = Seen(subject, at - took, took, weather, error_class, executed, entry.retry_after)
            self._seen.append(seen)

    def _count(self, entry: Resulted, name: str, failed: list[Failed]) -> None:
        if self._first is not None:
            return
        if entry.state not in ("refused", "denied") or failed:
            self._spent.calls += entry.attempts
        if entry.error_class is not None:
            self._spent.wasted += entry.attempts - 1
        self._spent.in_doubt += entry.state == "in_doubt"
        self._spent.lost += entry.state == "in_doubt" and not failed

    # ------------------------------------------------------------ the end

    def _ended(self, entry: Ended) -> None:
        at = self._times.at(entry.spent.seconds)
        self._flush(self._began() if self._open else at)
        self._last_end = entry.status
        if self._first is None:
            reason = str(entry.outcome.get("reason", ""))
            end = end_of(entry, reason, self._steps, lost=bool(self._spent.lost), said=self._said)
            self._first = self._trace(end, reason, entry)
            self._later_from = len(self._steps)
        # What people take before it goes on is not in its own seconds.
        self._times.lose()
        self._failed.clear()

    def _trace(self, end: End, reason: str, entry: Ended | None) -> Trace:
        opened = self._opened or Opened("", 0)
        outcome = "unfinished" if entry is None else (reason or entry.status)
        return Trace(
            session_id=self._id,
            agent=opened.agent,
            at=opened.at_ms / 1000,
            steps=tuple(self._steps),
            end=end,
            reason=reason,
            limits=opened.limits,
            duration_s=None if entry is None else entry.spent.seconds,
            outcome=outcome if entry is None or entry.status != "completed" else "completed",
            tokens=self._spent.tokens,
            calls=self._spent.calls,
            wasted=self._spent.wasted,
            in_doubt=self._spent.in_doubt,
            lost=self._spent.lost,
        )

    def record(self) -> Record | None:
        """Return what the journal tells, to its end."""
        if self._opened is None:
            return None
        self._flush(self._began())
        trace = self._first or self._trace("open", "", None)
        if trace.end == "open" and self._last_end == "completed":
            later = tuple(self._steps[self._later_from :])
            trace = msgspec.structs.replace(trace, later=later)
        for tool, keyed in self._intents.items():
            if tool not in self._told:
                self._told[tool] = Told(None, Traits(accepts_key=keyed), writes=True)
        return Record(trace, tuple(self._seen), self._told)

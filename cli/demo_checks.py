"""What the demo promises, and whether it came true."""

from collections import Counter
from pathlib import Path

from msgspec import Struct

from ..stores.base import CheckpointUnknown, Head, SessionDamaged, SessionUnknown, Store
from .demo_agents import order_session_ids, orders_of
from .demo_effects import (
    Effect,
    compensated,
    in_doubt_asked,
    not_settled_as_expected,
    unsettled,
)
from .demo_errands import ERRANDS, cancelled_orders, errand_orders
from .demo_failures import Met, class_counts, not_as_expected, unknown_retried
from .demo_faults import MEETINGS, fault_orders
from .demo_service import Booking
from .demo_stops import (
    Stop,
    approved_as_expected,
    caught_as_expected,
    count_of,
    rejected_as_expected,
)
from .demo_watched import WATCHED, watched_orders
from .terminal import Colour, Terminal, plural

Acknowledged = tuple[str, int]
"""A session and one of its checkpoint counters."""


NAMED_MAX = 5
"""Lost checkpoints, and wrong orders, that are named."""


class Checks(Struct, kw_only=True):
    """What was found out; what was never reached stays as it is here, and fails.

    ``unfinished``: the sessions that ran at the kill, with their epochs then.
    """

    killed_at: int = 0
    unfinished: dict[str, int] = {}
    lost: set[Acknowledged] = set()
    heads: list[Head] = []
    bookings: list[Booking] = []
    met: list[Met] = []
    effects: list[Effect] = []
    stops: list[Stop] = []
    copy_untouched: bool = False
    tests_green: bool = False

    @property
    def resumed(self) -> list[str]:
        """The sessions that ran at the kill and have been taken over since."""
        epochs = {head.session_id: head.epoch for head in self.heads}
        return [each for each, epoch in self.unfinished.items() if epochs.get(each, 0) > epoch]

    @property
    def completed(self) -> int:
        return sum(head.status == "completed" for head in self.heads)

    @property
    def sessions(self) -> int:
        return 1 + len(order_session_ids()) + len(MEETINGS) + len(ERRANDS) + len(WATCHED)

    @property
    def to_complete(self) -> int:
        """How many sessions should complete; the others meet what only a person can mend."""
        return self.sessions - len(_to_hand_over())

    @property
    def handed_over(self) -> int:
        return sum(head.status == "handed_over" for head in self.heads)

    @property
    def ended_as_expected(self) -> bool:
        """Whether every session is there, and those are handed over that should be."""
        handed_over = {head.session_id for head in self.heads if head.status == "handed_over"}
        return len(self.heads) == self.sessions and handed_over == _to_hand_over()

    @property
    def standing(self) -> list[Booking]:
        """The bookings that nobody has cancelled."""
        return [each for each in self.bookings if not each.cancelled]

    @property
    def orders_once(self) -> bool:
        """Whether the shop's book has every order that was to be placed, each once."""
        return not _wrong_orders(self.bookings)

    @property
    def doubts_settled(self) -> bool:
        """Whether each doubt was settled, by whom it should be, and some by a person."""
        settled = not not_settled_as_expected(self.effects) and not unsettled(self.effects)
        return settled and in_doubt_asked(self.effects) > 0

    @property
    def undone_once(self) -> bool:
        """Whether what had to be undone is, and nothing else, by journal and by book."""
        cancelled = sorted(each.order for each in self.bookings if each.cancelled)
        return cancelled == cancelled_orders() and compensated(self.effects) == len(cancelled)

    @property
    def hold(self) -> bool:
        """Whether the demo shows what it is meant to show."""
        return all(right for right, _ in lines_of(self))


class Report(Struct, frozen=True, kw_only=True):
    """The demo's result as data."""

    sessions: int
    completed: int
    killed_at: int
    resumed: int
    checkpoints_lost: int
    orders_expected: int
    orders_booked: int
    tests_green: bool
    failures: dict[str, int]
    unknown_retried: int
    in_doubt_asked: int
    compensated: int
    approvals: int
    staged_rejected: int
    false_claims_caught: int


def _to_hand_over() -> set[str]:
    """Return the sessions that meet what only a person can mend."""
    refused = {each.session for each in MEETINGS if not each.overcome}
    caught = {each.session for each in WATCHED if not each.completes}
    return refused | caught | {each.session for each in ERRANDS if each.compensated}


def expected_orders() -> list[str]:
    """Return the names of all orders that should stand in the shop's book in the end."""
    ordered = [name for session in order_session_ids() for name, _, _ in orders_of(session)]
    return ordered + fault_orders() + errand_orders() + watched_orders()


def report_of(checks: Checks) -> Report:
    """Return what was found as the demo's result."""
    return Report(
        sessions=checks.sessions,
        completed=checks.completed,
        killed_at=checks.killed_at,
        resumed=len(checks.resumed),
        checkpoints_lost=len(checks.lost),
        orders_expected=len(expected_orders()),
        orders_booked=len(checks.standing),
        tests_green=checks.tests_green,
        failures=class_counts(checks.met),
        unknown_retried=unknown_retried(checks.met),
        in_doubt_asked=in_doubt_asked(checks.effects),
        compensated=compensated(checks.effects),
        approvals=count_of(checks.stops, "approval"),
        staged_rejected=count_of(checks.stops, "staged"),
        false_claims_caught=count_of(checks.stops, "claim"),
    )


def lines_of(checks: Checks) -> list[tuple[bool, str]]:
    """Return each check and whether it holds."""
    lost = ", ".join(
        f"{session} #{counter}" for session, counter in sorted(checks.lost)[:NAMED_MAX]
    )
    wrong = _wrong_orders(checks.bookings)[:NAMED_MAX]
    killed = plural(checks.killed_at, "acknowledged checkpoint")
    resumed = plural(len(checks.resumed), "session")
    booked = f"orders booked: {len(checks.standing)} of {len(expected_orders())}, each once"
    handed_over = f"handed over to a person: {checks.handed_over}"
    return [
        (checks.killed_at > 0 and bool(checks.resumed), f"killed at {killed}, {resumed} resumed"),
        (not checks.lost, f"checkpoints lost: {len(checks.lost)}" + (f" ({lost})" if lost else "")),
        (
            checks.completed == checks.to_complete and checks.ended_as_expected,
            f"completed: {checks.completed} of {plural(checks.sessions, 'session')}, {handed_over}",
        ),
        _faults_line(checks),
        (checks.orders_once, booked + (f"; not so: {', '.join(wrong)}" if wrong else "")),
        _doubts_line(checks),
        _undone_line(checks),
        *_stops_lines(checks),
        (checks.tests_green, f"the project's tests are {'green' if checks.tests_green else 'red'}"),
    ]


def _faults_line(checks: Checks) -> tuple[bool, str]:
    wrong, retried = not_as_expected(checks.met), unknown_retried(checks.met)
    right = f"faults that got their class: {len(MEETINGS) - len(wrong)} of {len(MEETINGS)}"
    named = f" (not {', '.join(wrong[:NAMED_MAX])})" if wrong else ""
    return not wrong and not retried, f"{right}{named}, unknown retried: {retried}"


def _doubts_line(checks: Checks) -> tuple[bool, str]:
    wrong = [*not_settled_as_expected(checks.effects), *unsettled(checks.effects)][:NAMED_MAX]
    alone = sum(each.by == "probe" for each in checks.effects)
    asked = plural(in_doubt_asked(checks.effects), "doubt")
    named = f"; not as it should be: {', '.join(wrong)}" if wrong else ""
    return checks.doubts_settled, f"{asked} put to a person, {alone} settled by a probe{named}"


def _undone_line(checks: Checks) -> tuple[bool, str]:
    undone = plural(compensated(checks.effects), "effect")
    cancelled = sum(each.cancelled for each in checks.bookings)
    return checks.undone_once, f"compensated: {undone}; cancelled at the shop: {cancelled}"


def _stops_lines(checks: Checks) -> list[tuple[bool, str]]:
    stops = checks.stops
    decided = plural(count_of(stops, "approval"), "call")
    rejected = plural(count_of(stops, "staged"), "staged change")
    files = "untouched" if checks.copy_untouched else "changed all the same"
    caught = plural(count_of(stops, "claim"), "false answer")
    accepted = sum(each.kind == "claim" and each.status == "completed" for each in stops)
    return [
        (
            approved_as_expected(stops),
            f"asked about before they ran: {decided}, decided by a person",
        ),
        (
            rejected_as_expected(stops) and checks.copy_untouched,
            f"rejected by a check: {rejected}; the files are {files}",
        ),
        (caught_as_expected(stops), f"caught by the audit: {caught}; accepted later: {accepted}"),
    ]


def _wrong_orders(bookings: list[Booking]) -> list[str]:
    """Return the orders that are not booked once; one to be cancelled is booked all the same."""
    counted = Counter(each.order for each in bookings)
    expected = {*expected_orders(), *cancelled_orders()}
    names = dict.fromkeys([*expected_orders(), *cancelled_orders(), *counted])
    return [
        f"{name} {counted[name]} times"
        for name in names
        if counted[name] != (1 if name in expected else 0)
    ]


def draw_checks(checks: Checks, terminal: Terminal) -> str:
    """Return the checks as lines with marks."""
    lines: list[str] = []
    for right, text in lines_of(checks):
        mark = terminal.pick("✓", "ok ") if right else terminal.pick("✗", "NOT")
        colour: Colour = "green" if right else "red"
        lines.append(f"{terminal.paint(mark, colour)} {text}")
    return "\n".join(lines)


# ---------------------------------------------------------------- checkpoints


def acknowledged_in(path: str) -> set[Acknowledged]:
    """Return the checkpoints a worker has noted as acknowledged; half a line is none."""
    try:
        text = Path(path).read_text("utf-8")
    except FileNotFoundError:
        return set()
    whole = text[: text.rfind("\n") + 1]
    pairs = (line.split(" ") for line in whole.splitlines())
    return {(session, int(counter)) for session, counter in pairs}


async def stored_counters(store: Store, wanted: set[Acknowledged]) -> set[Acknowledged]:
    """Return those of the wanted checkpoints that can be loaded.

    One that retention has removed since, at the end of its session, counts as stored.
    """
    found: set[Acknowledged] = set()
    for session, counter in wanted:
        try:
            head = await store.head(session)
            if counter >= head.oldest_counter:
                await store.load(session, upto=counter)
            found.add((session, counter))
        except (SessionUnknown, SessionDamaged, CheckpointUnknown):
            continue
    return found

"""What of a conversation stays when it has to fit. Pure.

The unit is a group: a message of the model with all its results, or one message that was said. The
first message of the user and the newest group always stay; then, as far as there is room, other
words of the user, then newer groups, then notes. Everything else is replaced by one summary.
"""

from collections.abc import Sequence
from itertools import accumulate, pairwise

from msgspec import Struct

from ..conversation import chars, chars_of
from ..model import AssistantMessage, Message, NoteMessage, ToolMessage, UserMessage

SUMMARY_CHARS = 8_000
"""What a summary may take at most."""

SUMMARY_CHARS_MIN = 400
"""What a summary needs at least to be worth its room."""

SUMMARY_SHARE = 0.25
"""The share of the room that a summary takes at most."""

RESULT_SHARE = 0.25
"""The share of the room from which on a result in the kept part is shown shorter."""

RESULT_CHARS_MIN = 200
"""No result is shown shorter than this."""


class Fits(Struct, frozen=True):
    """Nothing needs to go."""

    chars: int


class CannotFit(Struct, frozen=True):
    """What must stay is larger than what there is room for; both in characters."""

    floor: int
    limit: int


class Plan(Struct, frozen=True):
    """What stays of a view: see `Pruned` for the positions.

    ``summary_chars`` is the room there is for the summary, ``chars`` what the view has at most after it.
    """

    cut: int
    kept: tuple[int, ...] = ()
    shortened: tuple[tuple[int, int], ...] = ()
    summary_chars: int = 0
    chars: int = 0


Pruning = Plan | Fits | CannotFit


class Group(Struct, frozen=True):
    """Messages from ``start`` to before ``end`` that stay or go together."""

    start: int
    end: int


def groups_of(messages: Sequence[Message]) -> list[Group]:
    """Return the groups of a view in order; each message is in one."""
    starts = [at for at, each in enumerate(messages) if not isinstance(each, ToolMessage)]
    return [Group(*each) for each in pairwise([*starts, len(messages)])]


def plan_prune(
    messages: Sequence[Message], limit: int, *, summary: int | None = None, facts: int = 0
) -> Pruning:
    """Return what stays, so that the view has at most ``limit`` characters.

    Args:
        summary: where the summary of an earlier prune stands; it is never kept beside a new one.
        facts: characters of the facts of record that the summary has to hold.
    """
    total = chars_of(messages)
    if total <= limit:
        return Fits(total)
    return _Planner(messages, limit, summary, facts).plan()


def plan_cut(
    messages: Sequence[Message], position: int, *, summary: int | None = None, facts: int = 0
) -> Plan | Fits:
    """Return what stays when all before a position is summed up, words of the user apart.

    The cut is made at the last border of groups at or before the position, and never behind the
    newest group. It `Fits` where nothing stands before the cut that could go.
    """
    total = chars_of(messages)
    planner = _Planner(messages, total, summary, facts)
    cut = max((each.start for each in planner.groups if each.start <= position), default=0)
    plan = planner.with_cut(min(cut, planner.newest), {})
    return plan if plan.cut else Fits(total)


class _Planner:
    """One view and what there is room for."""

    def __init__(
        self, messages: Sequence[Message], limit: int, summary: int | None, facts: int
    ) -> None:
        self.messages = messages
        self.limit = limit
        self.summary = summary
        self.groups = groups_of(messages)
        self.sizes = [chars(each) for each in messages]
        users = (at for at, each in enumerate(messages) if isinstance(each, UserMessage))
        self.first = next(users, None)
        answers = (
            each.start
            for each in reversed(self.groups)
            if isinstance(messages[each.start], AssistantMessage)
        )
        # What was said behind the newest group has had no answer yet: it stays as well.
        self.newest = next(answers, 0)
        self.summary_min = SUMMARY_CHARS_MIN + facts
        self.summary_chars = facts + max(
            min(SUMMARY_CHARS, int(limit * SUMMARY_SHARE)), SUMMARY_CHARS_MIN
        )

    def plan(self) -> Plan | CannotFit:
        """Return what stays; a group, or a result as far as it must be shown, is never split."""
        room = self.limit - self._first_size() - self.summary_chars
        capped = self._newest_capped(room)
        if capped is None:
            return CannotFit(self._floor(), self.limit)
        return self.with_cut(self._cut(room, capped), capped)

    def with_cut(self, cut: int, capped: dict[int, int]) -> Plan:
        """Return the plan for a cut at this place: what is kept before it."""
        tail = self._size(cut, len(self.messages), capped)
        first = self._first_size() if self._first_before(cut) else 0
        kept = self._kept(cut, self.limit - tail - first - self.summary_chars)
        summed_up = self.summary is not None and self.summary < cut
        if len(kept) + summed_up == cut and self._size(0, len(self.sizes), capped) <= self.limit:
            return self._plan(0, (), capped, summary_chars=0)  # nothing more would be left out
        return self._plan(cut, kept, capped, summary_chars=self.summary_chars)

    def _plan(
        self, cut: int, kept: tuple[int, ...], capped: dict[int, int], *, summary_chars: int
    ) -> Plan:
        said = sum(self.sizes[at] for at in kept)
        tail = self._size(cut, len(self.messages), capped)
        shortened = tuple((at, cap) for at, cap in sorted(capped.items()) if at >= cut)
        return Plan(cut, kept, shortened, summary_chars, said + summary_chars + tail)

    # ------------------------------------------------------------ what must stay

    def _first_before(self, cut: int) -> bool:
        return self.first is not None and self.first < cut

    def _first_size(self) -> int:
        """Return what the user's first message takes, where it is not behind the newest group."""
        return self.sizes[self.first] if self.first is not None and self.first < self.newest else 0

    def _newest_capped(self, room: int) -> dict[int, int] | None:
        """Return how long results may be shown so that the newest group fits; None: it cannot."""
        end = len(self.messages)
        usual = max(int(self.limit * RESULT_SHARE), RESULT_CHARS_MIN)
        capped = self._caps(0, usual)
        if self._size(self.newest, end, capped) <= room:
            return capped
        results = [
            at for at in range(self.newest, end) if isinstance(self.messages[at], ToolMessage)
        ]
        others = self._size(self.newest, end, {}) - sum(self.sizes[at] for at in results)
        least = self._even(results, room - others)
        if least < RESULT_CHARS_MIN:
            return None
        return capped | self._caps(self.newest, least)

    def _even(self, results: Sequence[int], room: int) -> int:
        """Return the longest cap with which these results together fit into the room."""
        sizes = sorted(self.sizes[at] for at in results)
        for done, size in enumerate(sizes):
            share = room // (len(sizes) - done)
            if size > share:
                return share
            room -= size
        return RESULT_CHARS_MIN if room >= 0 else 0

    def _caps(self, start: int, cap: int) -> dict[int, int]:
        return {
            at: cap
            for at in range(start, len(self.messages))
            if self.sizes[at] > cap and isinstance(self.messages[at], ToolMessage)
        }

    def _size(self, start: int, end: int, capped: dict[int, int]) -> int:
        return sum(capped.get(at, self.sizes[at]) for at in range(start, end))

    def _floor(self) -> int:
        """Return what would stay with every result as short as it may be shown."""
        least = self._caps(self.newest, RESULT_CHARS_MIN)
        newest = self._size(self.newest, len(self.messages), least)
        # Where nothing could be left out, there would be no summary either.
        return min(self._first_size() + self.summary_min + newest, sum(self.sizes))

    # ------------------------------------------------------------ what may stay

    def _cut(self, room: int, capped: dict[int, int]) -> int:
        """Return where the kept part begins: as early as there is room for, newest first.

        Half of what is left behind the newest group is kept free for words of the user before it.
        """
        said = list(accumulate(self._said_sizes(), initial=0))  # what the user said before each
        taken = self._size(self.newest, len(self.messages), capped)
        reserved = (room - taken) // 2
        cut = self.newest
        for group in reversed(self.groups):
            if group.start >= self.newest:
                continue
            if group.start == self.summary:
                break  # what was summed up is summed up again
            if group.start != self.first:  # that one has its room
                taken += self._size(group.start, group.end, capped)
            if taken + min(said[group.start], reserved) > room:
                break
            cut = group.start
        return cut

    def _said_sizes(self) -> list[int]:
        return [
            size if isinstance(each, UserMessage) and at != self.first else 0
            for at, (each, size) in enumerate(zip(self.messages, self.sizes, strict=True))
        ]

    def _kept(self, cut: int, left: int) -> tuple[int, ...]:
        """Return which of the messages before the cut stay: the user's words first, then notes."""
        kept = [self.first] if self.first is not None and self.first < cut else []
        for kind in (UserMessage, NoteMessage):
            for at in range(cut - 1, -1, -1):
                wanted = isinstance(self.messages[at], kind) and at not in (
                    self.first,
                    self.summary,
                )
                if wanted and self.sizes[at] <= left:
                    kept.append(at)
                    left -= self.sizes[at]
        return tuple(sorted(kept))

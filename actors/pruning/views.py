"""What a model sees of a conversation, and what it saw before each prune.

A prune replaces the view. The views before are kept (lists of the same messages, so they cost
pointers only): going back to before a prune, and reading the whole history, need no store.
"""

from array import array
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from operator import attrgetter

import msgspec
from msgspec import Struct

from ...stores.records import Pruned
from ..model import AssistantMessage, Message, NoteMessage, ToolMessage
from ..nothing import NO_LIST
from ..text import shorten


class View(Struct):
    """Messages, and marks: where they stood when the checkpoint of a counter was complete.

    ``head`` is how many messages stand for what was left out, its summary the last of them.
    ``answers`` counts the model's messages among what was left out.
    """

    messages: list[Message]
    counters: "array[int]"
    ends: "array[int]"
    head: int = 0
    answers: int = 0

    def copy(self) -> "View":
        """Return another view of the same messages."""
        return View(list(self.messages), self.counters[:], self.ends[:], self.head, self.answers)

    def mark_at(self, counter: int) -> int:
        """Return the last mark at or before this counter; 0 before the first."""
        marks = bisect_right(self.counters, counter)
        return self.counters[marks - 1] if marks else 0

    @property
    def last_mark(self) -> int:
        """Counter of the last mark; 0 without any."""
        return self.counters[-1] if self.counters else 0

    def end_at(self, counter: int) -> int:
        """Return where the view ended at the last mark at or before this counter."""
        marks = bisect_right(self.counters, counter)
        return self.ends[marks - 1] if marks else self.head

    def cut_at(self, counter: int) -> list[Message]:
        """Take what came after the last mark at or before this counter, and return it."""
        end, marks = self.end_at(counter), bisect_right(self.counters, counter)
        after = self.messages[end:]
        del self.messages[end:], self.counters[marks:], self.ends[marks:]
        return after


def empty_view() -> View:
    """Return the view of a conversation in which nothing was said."""
    return View([], array("q"), array("q"))


class _Replaced(Struct):
    """A view that a prune replaced.

    ``end``: how long the new view was then, ``counter``: at which checkpoint, ``left_out``: what it
    does not show any more, ``pruned``: its entry.
    """

    view: View
    end: int
    counter: int
    left_out: list[Message]
    pruned: Pruned


class Views:
    """The views that were replaced, the newest last."""

    __slots__ = ("_replaced",)

    def __init__(self) -> None:
        self._replaced: list[_Replaced] = NO_LIST

    def copy(self) -> "Views":
        """Return the same views, to be kept while these go on."""
        other = Views()
        other._replaced = [
            msgspec.structs.replace(each, view=each.view.copy()) for each in self._replaced
        ]
        return other

    def replace(self, view: View, pruned: Pruned, kept: Sequence[int], cut: int) -> View:
        """Put another view in the place of this one and return it; its first ``cut`` messages go.

        Where none goes, some of the others are only shown shorter.
        """
        gone = set(range(cut)).difference(kept, (view.head - 1,))
        left_out = [view.messages[at] for at in sorted(gone)]
        head: list[Message] = [view.messages[at] for at in kept]
        if cut:
            head.append(NoteMessage(pruned.summary))
        first = bisect_right(view.ends, cut)
        after = View(
            [*head, *_shown(view.messages, cut, dict(pruned.shortened))],
            view.counters[first:],
            array("q", (end + len(head) - cut for end in view.ends[first:])),
            len(head) or view.head,
            view.answers + sum(isinstance(each, AssistantMessage) for each in left_out),
        )
        counter = max(view.last_mark, self.last_counter)
        replaced = _Replaced(view, len(after.messages), counter, left_out, pruned)
        self._replaced = [*self._replaced, replaced]
        return after

    @property
    def last(self) -> Pruned | None:
        """The newest prune that is in force."""
        return self._replaced[-1].pruned if self._replaced else None

    def left_out(self) -> Iterator[Sequence[Message]]:
        """Yield what each prune left out, the oldest first."""
        for replaced in self._replaced:
            yield replaced.left_out

    @property
    def last_counter(self) -> int:
        """The checkpoint at which the last prune was made; 0 before the first."""
        return self._replaced[-1].counter if self._replaced else 0

    def as_at(self, now: View, counter: int) -> View:
        """Return the view as it would be without the prunes made after this checkpoint.

        Each message is looked at once, however many prunes there are.
        """
        first = bisect_right(self._replaced, counter, key=attrgetter("counter"))
        undone = self._replaced[first:]
        if not undone:
            return now
        start = undone[0].view
        view = View(
            list(start.messages), start.counters[:], start.ends[:], start.head, start.answers
        )
        for prune, after in zip(undone, [*(each.view for each in undone[1:]), now], strict=True):
            later = bisect_right(after.ends, prune.end)
            moved = len(view.messages) - prune.end
            view.messages += after.messages[prune.end :]
            view.counters += after.counters[later:]
            view.ends.extend(end + moved for end in after.ends[later:])
        return view

    def forget_after(self, counter: int) -> None:
        """Drop the prunes made after this checkpoint."""
        while self._replaced and self._replaced[-1].counter > counter:
            self._replaced.pop()

    def trim(self, end: int) -> None:
        """The view was cut off here: cut those it replaced at the same message."""
        for replaced in reversed(self._replaced):
            over = replaced.end - end
            if over <= 0:
                return
            replaced.end = end
            end = len(replaced.view.messages) - over
            del replaced.view.messages[end:]


def _shown(messages: Sequence[Message], start: int, limits: Mapping[int, int]) -> list[Message]:
    """Return the messages from a place on, some results shorter."""
    shown = list(messages[start:])
    for at, limit in limits.items():
        result = messages[at] if start <= at < len(messages) else None
        if isinstance(result, ToolMessage):
            content = shorten(result.content, limit, unit="chars", tail=0.25).text
            shown[at - start] = msgspec.structs.replace(result, content=content)
    return shown

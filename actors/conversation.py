"""The conversation as the model sees it: always paired, whatever order the journal has.

Each call has exactly one result, right behind its assistant message. That holds by construction:
results are kept with the turn that asked for them, and whatever was said meanwhile waits behind.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile
from typing import overload

from msgspec import Struct

from ..stores.records import Answered, Pruned, Resulted, ToolCall
from .model import AssistantMessage, Message, NoteMessage, ToolMessage, UserMessage
from .nothing import NO_LIST
from .pruning.views import Views, empty_view

# The share of a token that one character makes, near enough for a reservation.
TOKENS_PER_CHAR = 0.25

REPLAYED = {
    "probe": (
        "[not run again: this call was cut off before its result came, and a look at the other side "
        "shows that it had taken effect]\n"
    ),
    "record": (
        "[nothing was sent: an equal call before this one had taken effect, and this is its result. "
        "If a second one is really wanted, call once more]\n"
    ),
}
"""What a model is told before a result that the body did not give now, by where it is from."""


class Turn(Struct, eq=False):
    """One assistant message that calls tools, with the results that have come in.

    ``counter`` is the checkpoint after the last of them, 0 before the first.
    """

    answered: Answered
    results: list[Resulted | None]
    missing: int
    counter: int = 0

    def messages(self) -> list[ToolMessage]:
        """The results in the order of the calls."""
        calls = self.answered.calls
        return [
            _told(calls[index], result)
            for index, result in enumerate(self.results)
            if result is not None
        ]


class Conversation(Sequence[Message]):
    """Messages in the order a provider accepts, growing at the end only.

    What was said while the model was answering goes behind its answer: the request did not hold
    it. The numbers tell, since an answer takes its own when the request is made.

    A mark says where the conversation stood once a turn had its last result, by that result's
    counter, so that it can be taken back to there.

    ``assistant_count`` and ``tokens`` (an estimate until the provider counts) are kept as it grows,
    so that nothing on the step path looks through the history.

    A prune replaces what the model sees; what it saw before is kept beside, so that going back to
    before it, and reading the whole history, need no store.
    """

    __slots__ = ("_before", "_held", "_said", "_view", "assistant_count", "open", "tokens")

    def __init__(self) -> None:
        self._view = empty_view()
        self._before = Views()
        self._held: list[UserMessage | NoteMessage | Turn] = NO_LIST
        # Said since the last answer, with their numbers.
        self._said: list[tuple[int, UserMessage | NoteMessage]] = []
        self.open: list[Turn] = []
        self.assistant_count = 0
        self.tokens = 0.0

    def __len__(self) -> int:
        return len(self._view.messages)

    @overload
    def __getitem__(self, index: int) -> Message: ...
    @overload
    def __getitem__(self, index: slice) -> list[Message]: ...
    def __getitem__(self, index: int | slice) -> Message | list[Message]:
        return self._view.messages[index]

    def so_far(self) -> list[Message]:
        """Return the messages with the results that an open message has already."""
        there = self.open[0].messages() if self.open else ()
        return [*self._view.messages, *there]

    @property
    def last(self) -> Message | None:
        """The last message, or None before the first."""
        return self._view.messages[-1] if self._view.messages else None

    def say(self, message: UserMessage | NoteMessage, n: int = 0) -> None:
        """Add a message of the user or the runtime, behind the results that are still to come."""
        if self.open:
            self._held = [*self._held, message]
        else:
            self._append(message, len(message.text))
            self._said.append((n, message))

    def answer(self, answered: Answered) -> None:
        """Add a message of the model."""
        count = len(answered.calls)
        turn = Turn(answered, [None] * count, count)
        if self.open:
            self._held = [*self._held, turn]
        else:
            unseen = self._take_back(answered.n) if self._said else None
            self._append_answer(turn)
            if unseen:
                self._held = [*self._held, *unseen]
        if turn.missing:
            self.open.append(turn)
        elif not self.open:
            self._release()

    def _take_back(self, n: int) -> list[UserMessage | NoteMessage]:
        """Take from the end what was said after the request of this number had been made."""
        kept = len(self._said)
        while kept and self._said[kept - 1][0] > n:
            kept -= 1
        unseen = [message for _, message in self._said[kept:]]
        for message in unseen:
            self._view.messages.pop()
            self.tokens -= len(message.text) * TOKENS_PER_CHAR
        if unseen:
            self._before.trim(len(self))
        return unseen

    def asked(self, n: int, index: int) -> ToolCall | None:
        """Return the call of this name, while its message is open."""
        for turn in self.open:
            if turn.answered.n == n and 0 <= index < len(turn.answered.calls):
                return turn.answered.calls[index]
        return None

    def turn(self, n: int) -> Turn | None:
        """Return the open turn of this number."""
        for turn in self.open:
            if turn.answered.n == n:
                return turn
        return None

    def result(self, result: Resulted) -> Turn | None:
        """Take the result of a call; None where it has one already or nobody asked for it.

        Returns:
            The turn that it belongs to, which may be closed by that.
        """
        waiting, n, index = self.open, result.n, result.index
        # Nearly always the only one that is open.
        turn = waiting[0] if waiting and waiting[0].answered.n == n else self.turn(n)
        if turn is None:
            return None
        results = turn.results
        if not 0 <= index < len(results) or results[index] is not None:
            return None
        results[index] = result
        turn.missing -= 1
        turn.counter = max(turn.counter, result.counter)
        if not turn.missing:
            while waiting and not waiting[0].missing:
                self._close(waiting.pop(0))
        return turn

    # ------------------------------------------------------------ going back

    @property
    def last_mark(self) -> int:
        """Counter of the last turn that has all its results; 0 before the first."""
        return max(self._view.last_mark, self._before.last_counter)

    def since(self, counter: int) -> list[Message]:
        """Return what came after the last mark at or before this counter."""
        view = self._before.as_at(self._view, counter)
        return view.messages[view.end_at(counter) :]

    def copy(self) -> "Conversation":
        """Return the same conversation, to be kept while this one goes on; no turn may be open."""
        other = Conversation()
        other._view, other._before = self._view.copy(), self._before.copy()
        other._said = list(self._said)
        other.assistant_count, other.tokens = self.assistant_count, self.tokens
        return other

    def mark_at(self, counter: int) -> int:
        """Return where going back to this counter leads: the last mark at or before it."""
        return self._before.as_at(self._view, counter).mark_at(counter)

    def dropped_at(self, counter: int) -> list[Message]:
        """Return what going back to this counter takes away, where nothing said since is kept."""
        after = self.since(counter)
        if self.mark_at(counter):
            return after
        return after[sum(1 for _ in takewhile(_is_said, after)) :]

    def rewind(self, counter: int, *, keep_said: bool = True) -> None:
        """Go back to the last mark at or before this counter; no turn may be open.

        Calls and results after it go. What the user and the runtime said stays, and so do answers
        that the user has replied to; with ``keep_said`` false that goes as well, but for what was
        said before the model's first answer. A prune made after it is undone.
        """
        self._view = self._before.as_at(self._view, counter)
        self._before.forget_after(counter)
        dropped = self._view.cut_at(counter)
        self._before.trim(len(self))
        if keep_said:
            self._view.messages += _said_in(dropped)
        elif not self._view.messages:
            self._view.messages += takewhile(_is_said, dropped)
        self._said.clear()
        shown = sum(isinstance(each, AssistantMessage) for each in self._view.messages)
        self.assistant_count = self._view.answers + shown
        self.tokens = chars_of(self._view.messages) * TOKENS_PER_CHAR

    # ------------------------------------------------------------ pruning

    @property
    def summary(self) -> int | None:
        """Where the summary of what was left out stands; None where nothing was."""
        return self._view.head - 1 if self._view.head else None

    @property
    def pruned(self) -> Pruned | None:
        """The newest prune that is in force."""
        return self._before.last

    def left_out(self) -> Iterator[Sequence[Message]]:
        """Yield what each prune left out, the oldest first."""
        return self._before.left_out()

    @property
    def chars(self) -> int:
        """Characters of what the model sees."""
        return chars_of(self._view.messages)

    def end_at(self, counter: int) -> int:
        """Return where the last turn with all its results ends, at or before this counter."""
        return self._view.end_at(counter)

    def originals(self) -> list[Message]:
        """Return every message, those that were left out too, and no summary."""
        return list(self._before.as_at(self._view, -1).messages)

    def prune(self, pruned: Pruned) -> None:
        """Show the model less, by a decision that was written down.

        A call never parts from its results, whatever positions it names.
        """
        messages = self._view.messages
        before = chars_of(messages)
        cut = self._boundary(pruned.cut)
        kept = [
            at
            for at in pruned.kept
            if 0 <= at < cut and isinstance(messages[at], UserMessage | NoteMessage)
        ]
        self._view = self._before.replace(self._view, pruned, kept, cut)
        self.tokens *= chars_of(self._view.messages) / max(before, 1)

    def _boundary(self, cut: int) -> int:
        """Return the last place at or before this one where no group would be split."""
        messages = self._view.messages
        cut = max(0, min(cut, len(messages)))
        if cut == len(messages) and self.open:
            cut -= 1  # the results are still to come
        while 0 < cut < len(messages) and isinstance(messages[cut], ToolMessage):
            cut -= 1
        return cut

    def _close(self, turn: Turn) -> None:
        """All results are there: put them behind their message, then what had to wait."""
        view, results = self._view, turn.results
        messages, chars = view.messages, 0
        if len(results) == 1 and (only := results[0]) is not None:
            message = _told(turn.answered.calls[0], only)
            messages.append(message)
            chars = len(message.content)
        else:
            for message in turn.messages():
                messages.append(message)
                chars += len(message.content)
        self.tokens += chars * TOKENS_PER_CHAR
        view.counters.append(turn.counter)
        view.ends.append(len(messages))
        if self._held:
            self._release()

    def _release(self) -> None:
        """Add what had to wait, up to the next message that has calls without results."""
        while self._held:
            item = self._held.pop(0)
            if isinstance(item, Turn):
                self._append_answer(item)
                if item.missing or item in self.open:
                    return
            else:
                self._append(item, len(item.text))

    def _append_answer(self, turn: Turn) -> None:
        answered = turn.answered
        text, calls = answered.text, answered.calls
        self.assistant_count += 1
        if self._said:
            self._said.clear()
        self._view.messages.append(AssistantMessage(text, calls, answered.raw, answered.raw_format))
        tokens = answered.usage.tokens
        if tokens:
            # The provider has counted everything up to here.
            self.tokens = float(tokens)
            return
        chars = len(text)
        for call in calls:
            chars += len(call.arguments)
        self.tokens += chars * TOKENS_PER_CHAR

    def _append(self, message: Message, chars: int) -> None:
        self._view.messages.append(message)
        self.tokens += chars * TOKENS_PER_CHAR


def _told(call: ToolCall, result: Resulted) -> ToolMessage:
    """Return a result as the model sees it."""
    content = result.content
    if result.replayed:
        content = REPLAYED.get(result.by, "") + content
    if result.note:
        content = f"{result.note}\n{content}"
    return ToolMessage(call.id, call.name, content, result.state != "succeeded")


def _is_said(message: Message) -> bool:
    return isinstance(message, UserMessage | NoteMessage)


def _said_in(messages: Sequence[Message]) -> list[Message]:
    """Return what stays of a branch that is left: words, and answers the user replied to."""
    last = max((i for i, each in enumerate(messages) if isinstance(each, UserMessage)), default=-1)
    return [
        each
        for i, each in enumerate(messages)
        if isinstance(each, UserMessage | NoteMessage)
        or (isinstance(each, AssistantMessage) and not each.calls and i < last)
    ]


def chars_of(messages: Iterable[Message]) -> int:
    """Return the characters of messages, as far as they are told a model."""
    return sum(map(chars, messages))


def chars(message: Message) -> int:
    """Return the characters of a message, as far as they are told a model."""
    match message:
        case ToolMessage():
            return len(message.content)
        case AssistantMessage():
            return len(message.text) + sum(len(call.arguments) for call in message.calls)
        case _:
            return len(message.text)

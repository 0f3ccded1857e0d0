"""The conversation as the model sees it: always paired, whatever order the journal has.

Each call has exactly one result, right behind its assistant message. That holds by construction:
results are kept with the turn that asked for them, and whatever was said meanwhile waits behind.
"""

from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import overload

from ..stores.records import Answered, Resulted, ToolCall
from .model import AssistantMessage, Message, NoteMessage, ToolMessage, UserMessage

# The share of a token that one character makes, near enough for a reservation.
TOKENS_PER_CHAR = 0.25


class Turn:
    """One assistant message that calls tools, with the results that have come in."""

    __slots__ = ("answered", "missing", "results")

    def __init__(self, answered: Answered) -> None:
        self.answered = answered
        self.results: list[Resulted | None] = [None] * len(answered.calls)
        self.missing = len(answered.calls)

    def put(self, result: Resulted) -> bool:
        """Take a result; False where the call has one already, or no such call exists."""
        if not 0 <= result.index < len(self.results) or self.results[result.index] is not None:
            return False
        self.results[result.index] = result
        self.missing -= 1
        return True

    @property
    def counter(self) -> int:
        """The checkpoint after the last of its results so far."""
        return max((result.counter for result in self.results if result is not None), default=0)

    def messages(self) -> Iterator[ToolMessage]:
        """The results in the order of the calls."""
        for call, result in zip(self.answered.calls, self.results, strict=True):
            if result is not None:
                error = result.state != "succeeded"
                yield ToolMessage(call.id, call.name, result.content, error)


class Conversation(Sequence[Message]):
    """Messages in the order a provider accepts, growing at the end only.

    What was said while the model was answering goes behind its answer: the request did not hold
    it. The numbers tell, since an answer takes its own when the request is made.

    A mark says where the conversation stood once a turn had its last result, by that result's
    counter, so that it can be taken back to there.

    ``assistant_count`` and ``tokens`` (an estimate until the provider counts) are kept as it grows,
    so that nothing on the step path looks through the history.
    """

    def __init__(self) -> None:
        self._messages: list[Message] = []
        self._held: list[UserMessage | NoteMessage | Turn] = []
        # Said since the last answer, with their numbers.
        self._said: list[tuple[int, UserMessage | NoteMessage]] = []
        self.open: list[Turn] = []
        self.assistant_count = 0
        self.tokens = 0.0
        self._mark_counters = array("q")
        self._mark_ends = array("q")

    def __len__(self) -> int:
        return len(self._messages)

    @overload
    def __getitem__(self, index: int) -> Message: ...
    @overload
    def __getitem__(self, index: slice) -> list[Message]: ...
    def __getitem__(self, index: int | slice) -> Message | list[Message]:
        return self._messages[index]

    def so_far(self) -> list[Message]:
        """Return the messages with the results that an open message has already."""
        there = self.open[0].messages() if self.open else ()
        return [*self._messages, *there]

    @property
    def last(self) -> Message | None:
        """The last message, or None before the first."""
        return self._messages[-1] if self._messages else None

    def say(self, message: UserMessage | NoteMessage, n: int = 0) -> None:
        """Add a message of the user or the runtime, behind the results that are still to come."""
        if self.open:
            self._held.append(message)
        else:
            self._append(message, len(message.text))
            self._said.append((n, message))

    def answer(self, answered: Answered) -> None:
        """Add a message of the model."""
        turn = Turn(answered)
        if self.open:
            self._held.append(turn)
        else:
            unseen = self._take_back(answered.n)
            self._append_answer(turn)
            self._held += unseen
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
            self._messages.pop()
            self.tokens -= len(message.text) * TOKENS_PER_CHAR
        return unseen

    def asked(self, n: int, index: int) -> ToolCall | None:
        """Return the call of this name, while its message is open."""
        for turn in self.open:
            if turn.answered.n == n and 0 <= index < len(turn.answered.calls):
                return turn.answered.calls[index]
        return None

    def turn(self, n: int) -> Turn | None:
        """Return the open turn of this number."""
        return next((turn for turn in self.open if turn.answered.n == n), None)

    def result(self, result: Resulted) -> bool:
        """Take the result of a call; False where it has one already or nobody asked for it."""
        turn = self.turn(result.n)
        if turn is None or not turn.put(result):
            return False
        while self.open and not self.open[0].missing:
            self._close(self.open.pop(0))
        return True

    # ------------------------------------------------------------ going back

    @property
    def last_mark(self) -> int:
        """Counter of the last turn that has all its results; 0 before the first."""
        return self._mark_counters[-1] if self._mark_counters else 0

    def since(self, counter: int) -> list[Message]:
        """Return what came after the last mark at or before this counter."""
        return self._messages[self._end(bisect_right(self._mark_counters, counter)) :]

    def rewind(self, counter: int) -> None:
        """Go back to the last mark at or before this counter; no turn may be open.

        Calls and results after it go. What the user and the runtime said stays, and so do answers
        that the user has replied to.
        """
        kept_marks = bisect_right(self._mark_counters, counter)
        end = self._end(kept_marks)
        dropped = self._messages[end:]
        del self._messages[end:], self._mark_counters[kept_marks:], self._mark_ends[kept_marks:]
        self._messages += _said_in(dropped)
        self._said.clear()
        self.assistant_count = sum(isinstance(each, AssistantMessage) for each in self._messages)
        self.tokens = sum(map(_chars, self._messages)) * TOKENS_PER_CHAR

    def _end(self, marks: int) -> int:
        return self._mark_ends[marks - 1] if marks else 0

    def _close(self, turn: Turn) -> None:
        """All results are there: put them behind their message, then what had to wait."""
        for message in turn.messages():
            self._append(message, len(message.content))
        self._mark_counters.append(turn.counter)
        self._mark_ends.append(len(self._messages))
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
        self.assistant_count += 1
        self._said.clear()
        chars = len(answered.text)
        for call in answered.calls:
            chars += len(call.arguments)
        self._append(
            AssistantMessage(answered.text, answered.calls, answered.raw, answered.raw_format),
            chars,
        )
        if answered.usage.tokens:
            # The provider has counted everything up to here.
            self.tokens = float(answered.usage.tokens)

    def _append(self, message: Message, chars: int) -> None:
        self._messages.append(message)
        self.tokens += chars * TOKENS_PER_CHAR


def _said_in(messages: Sequence[Message]) -> list[Message]:
    """Return what stays of a branch that is left: words, and answers the user replied to."""
    last = max((i for i, each in enumerate(messages) if isinstance(each, UserMessage)), default=-1)
    return [
        each
        for i, each in enumerate(messages)
        if isinstance(each, UserMessage | NoteMessage)
        or (isinstance(each, AssistantMessage) and not each.calls and i < last)
    ]


def _chars(message: Message) -> int:
    match message:
        case ToolMessage():
            return len(message.content)
        case AssistantMessage():
            return len(message.text) + sum(len(call.arguments) for call in message.calls)
        case _:
            return len(message.text)

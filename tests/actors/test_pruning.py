"""What stays of a conversation that has to fit: laws over random conversations, and the fold."""

import random
from collections.abc import Sequence
from itertools import pairwise

import pytest
from sessions import assert_paired

from ukemi.actors.conversation import chars_of
from ukemi.actors.inspection import fold
from ukemi.actors.model import AssistantMessage, Message, NoteMessage, ToolMessage, UserMessage
from ukemi.actors.pruning.pruning import (
    RESULT_CHARS_MIN,
    CannotFit,
    Fits,
    Plan,
    groups_of,
    plan_cut,
    plan_prune,
)
from ukemi.actors.state import SessionState
from ukemi.stores.records import (
    Answered,
    CallState,
    JournalEntry,
    Noted,
    Opened,
    Pruned,
    Restarted,
    Resulted,
    Said,
    ToolCall,
    Usage,
    decode_row,
    encode_row,
)

STATES: tuple[CallState, ...] = ("succeeded", "succeeded", "failed")


class Talk:
    """Makes a journal of a session, entry by entry, and folds it as it grows."""

    def __init__(self, rng: random.Random, session_id: str = "s") -> None:
        self.rng = rng
        self.state = SessionState(session_id)
        self.entries: list[JournalEntry] = []
        self.n = self.counter = 0
        self.add(Opened("agent", 0))
        self.say(200)

    def add(self, entry: JournalEntry) -> None:
        self.entries.append(entry)
        self.state.apply(entry)

    def number(self) -> int:
        self.n += 1
        return self.n

    def text(self, size: int) -> str:
        return f"{self.n}:" + "x" * self.rng.randrange(size)

    def say(self, size: int = 300) -> None:
        n = self.number()
        self.add(Said(n, self.text(size)))

    def note(self) -> None:
        n = self.number()
        self.add(Noted(n, self.text(100), about=str(n)))

    def reply(self, size: int = 300) -> None:
        n = self.number()
        self.add(Answered(n, self.text(size)))

    def step(self, calls: int = 1, size: int = 600) -> None:
        """Let the model call tools, and give it the results in any order."""
        n = self.number()
        named = tuple(ToolCall(f"c{n}-{i}", f"tool{i % 3}", self.text(80)) for i in range(calls))
        self.add(Answered(n, self.text(80), named))
        for index in self.rng.sample(range(calls), calls):
            self.counter += 1
            state = self.rng.choice(STATES)
            self.add(Resulted(n, index, self.counter, self.text(size), state))

    def prune(self, plan: Plan) -> None:
        summary = "s" * plan.summary_chars
        self.add(
            Pruned(
                self.number(), plan.cut, plan.kept, summary, "digest", "overflow", plan.shortened
            )
        )

    def some(self, steps: int) -> None:
        for _ in range(steps):
            kind = self.rng.random()
            if kind < 0.15:
                self.reply()
                self.say()
            elif kind < 0.25:
                self.note()
            elif kind < 0.35:
                self.step(calls=3)
            elif kind < 0.4:
                self.step(size=8_000)
            else:
                self.step()

    @property
    def view(self) -> list[Message]:
        return list(self.state.conversation)


def seen(state: SessionState) -> list[Message]:
    return list(state.conversation)


def in_order(part: Sequence[Message], whole: Sequence[Message]) -> bool:
    """Whether the one's messages are in the other, in the same order."""
    rest = iter(whole)
    return all(any(each is other for other in rest) for each in part)


# ---------------------------------------------------------------- laws of the plan


@pytest.mark.parametrize("seed", range(150))
def test_a_plan_keeps_its_laws(seed: int) -> None:
    """It fits or says it cannot; groups stay whole, in order; nothing is invented."""
    rng = random.Random(seed)
    talk = Talk(rng)
    talk.some(rng.randrange(1, 40))
    before = talk.view
    limit = rng.randrange(300, chars_of(before) + 400)
    plan = plan_prune(before, limit)
    match plan:
        case Fits(chars):
            assert chars == chars_of(before) <= limit
        case CannotFit(floor, told):
            assert floor > told == limit
            assert floor <= chars_of(before)
        case Plan():
            talk.prune(plan)
            after = talk.view
            assert chars_of(after) <= plan.chars <= limit
            assert_paired(after)
            assert after[0] is before[0], "the first message of the user"
            assert after[-1] is before[-1] or isinstance(after[-1], ToolMessage)
            summaries = [
                each for each in after if each not in before and isinstance(each, NoteMessage)
            ]
            assert len(summaries) == (1 if plan.cut else 0)
            same = [each for each in after if any(each is other for other in before)]
            assert in_order(same, before)
            cut = [each for each in after if not any(each is other for other in before)]
            for each in cut:
                assert isinstance(each, ToolMessage | NoteMessage)
                if isinstance(each, ToolMessage):
                    assert (
                        RESULT_CHARS_MIN - 50
                        <= len(each.content)
                        <= max(limit // 4, RESULT_CHARS_MIN)
                    )
            again = plan_prune(after, limit, summary=talk.state.conversation.summary)
            assert again == Fits(chars_of(after)), "a second prune has nothing to do"


@pytest.mark.parametrize("seed", range(60))
def test_prunes_one_after_the_other_compose(seed: int) -> None:
    """Law: a session pruned again and again is paired, small, and its journal folds to the same."""
    rng = random.Random(seed)
    talk = Talk(rng)
    first, done = talk.view[0], 0
    for _ in range(6):
        talk.some(rng.randrange(1, 12))
        conversation = talk.state.conversation
        plan = plan_prune(
            conversation, 9_000, summary=conversation.summary, facts=rng.choice((0, 50))
        )
        if isinstance(plan, Plan):
            talk.prune(plan)
            done += 1
            assert chars_of(talk.view) <= 9_000
        assert not isinstance(plan, CannotFit)
        assert_paired(talk.view)
        assert talk.view[0] is first
    stored = [entry for each in talk.entries for entry in decode_row(encode_row([each]))]
    again = fold("s", stored)
    assert seen(again) == talk.view
    assert again.conversation.assistant_count == talk.state.conversation.assistant_count
    assert (
        again.conversation.originals() == fold("s", unpruned(talk.entries)).conversation.originals()
    )
    assert done or len(talk.entries) < 60


def unpruned(entries: Sequence[JournalEntry]) -> list[JournalEntry]:
    return [each for each in entries if not isinstance(each, Pruned)]


# ---------------------------------------------------------------- going back over a prune


@pytest.mark.parametrize("seed", range(80))
def test_going_back_behind_a_prune_shows_what_was_there(seed: int) -> None:
    """Law: each checkpoint shows after a rewind what it showed when it was new."""
    rng = random.Random(seed)
    talk = Talk(rng)
    shown: dict[int, list[Message]] = {}
    for _ in range(5):
        for _ in range(rng.randrange(1, 6)):
            talk.step(calls=rng.choice((1, 1, 3)))
            shown[talk.counter] = talk.view
        conversation = talk.state.conversation
        plan = plan_prune(conversation, 2_500, summary=conversation.summary)
        if isinstance(plan, Plan):
            talk.prune(plan)
            shown[talk.counter] = talk.view  # the checkpoint is as it was last seen
    originals = talk.state.conversation.originals()
    counter = rng.choice(list(shown))
    dropped = talk.state.conversation.since(counter)
    talk.add(Restarted(talk.number(), counter, "hint"))
    assert talk.view == [*shown[counter], NoteMessage("hint")]
    assert dropped == originals[len(originals) - len(dropped) :]
    assert_paired(talk.view)
    count = sum(isinstance(each, AssistantMessage) for each in talk.state.conversation.originals())
    assert talk.state.conversation.assistant_count == count
    talk.some(6)
    conversation = talk.state.conversation
    later = plan_prune(conversation, 2_500, summary=conversation.summary)
    if isinstance(later, Plan):
        talk.prune(later)
    assert_paired(talk.view)
    assert seen(fold("s", talk.entries)) == talk.view
    earliest = min(shown)
    if earliest < counter:
        talk.add(Restarted(talk.number(), earliest, "again"))
        assert talk.view[: len(shown[earliest])] == shown[earliest]
        assert_paired(talk.view)


def test_what_is_said_while_a_request_is_under_way_survives_a_prune() -> None:
    """The answer's number is older than the words: they go behind it, pruned or not."""
    talk = Talk(random.Random(1))
    for _ in range(8):
        talk.step()
    asked = talk.number()
    talk.say()
    said = talk.view[-1]
    plan = plan_prune(talk.view, 2_500)
    assert isinstance(plan, Plan)
    talk.prune(plan)
    talk.add(Answered(asked, "an answer to what was asked before"))
    assert [type(each) for each in talk.view[-2:]] == [AssistantMessage, UserMessage]
    assert talk.view[-1] is said
    talk.step()
    talk.add(Restarted(talk.number(), 2, "back"))
    assert said in talk.view
    assert_paired(talk.view)


def test_a_prune_with_an_open_call_leaves_it_alone() -> None:
    talk = Talk(random.Random(2))
    for _ in range(6):
        talk.step()
    n = talk.number()
    talk.add(Answered(n, "", (ToolCall("a", "t"), ToolCall("b", "t"))))
    talk.add(Pruned(talk.number(), 1_000, (), "all of it"))
    talk.add(Resulted(n, 1, 100, "second"))
    talk.add(Resulted(n, 0, 101, "first"))
    assert [type(each) for each in talk.view] == [
        NoteMessage,
        AssistantMessage,
        ToolMessage,
        ToolMessage,
    ]
    assert_paired(talk.view)


@pytest.mark.parametrize("cut", range(-1, 13))
def test_whatever_position_is_stored_no_group_is_split(cut: int) -> None:
    talk = Talk(random.Random(3))
    for _ in range(3):
        talk.step(calls=3)
    talk.add(
        Pruned(talk.number(), cut, (-1, 0, 2, 99), "summary", shortened=((-1, 9), (99, 9), (0, 9)))
    )
    assert_paired(talk.view)
    assert isinstance(talk.view[0], UserMessage)


def test_tokens_go_with_what_is_left() -> None:
    """The provider's count is scaled, and its next one replaces it."""
    talk = Talk(random.Random(4))
    for _ in range(10):
        talk.step()
    talk.add(Answered(talk.number(), "so far", usage=Usage(9_000, 1_000)))
    talk.say(10)
    before, tokens = chars_of(talk.view), talk.state.conversation.tokens
    assert 10_000 <= tokens < 10_010
    plan = plan_prune(talk.view, before // 2)
    assert isinstance(plan, Plan)
    talk.prune(plan)
    assert talk.state.conversation.tokens == pytest.approx(tokens * chars_of(talk.view) / before)
    talk.add(Answered(talk.number(), "more", usage=Usage(4_000, 100)))
    assert talk.state.conversation.tokens == 4_100


# ---------------------------------------------------------------- what stays, case by case


def group(name: str, size: int) -> list[Message]:
    called = AssistantMessage("", (ToolCall(name, name),))
    return [called, ToolMessage(name, name, "r" * size)]


def test_the_newest_groups_stay_and_older_ones_go() -> None:
    groups = [group(f"g{number}", 1_000) for number in range(10)]
    messages = [UserMessage("task"), *(each for one in groups for each in one)]
    plan = plan_prune(messages, 5_000)
    assert isinstance(plan, Plan)
    assert plan.kept == (0,)
    kept = messages[plan.cut :]
    assert kept == [each for one in groups[-len(kept) // 2 :] for each in one]
    assert 2 <= len(kept) // 2 <= 4


def test_words_of_the_user_stay_where_they_fit_the_newest_first() -> None:
    said = [UserMessage(f"{number}" + "u" * 500) for number in range(4)]
    messages = [UserMessage("task"), *said, *group("a", 3_000), *group("b", 800)]
    plan = plan_prune(messages, 3_000)
    assert isinstance(plan, Plan)
    assert plan.cut == 7
    assert plan.kept == (0, 3, 4)


def test_a_result_that_is_too_long_is_shown_shorter_before_anything_goes() -> None:
    messages = [UserMessage("task"), *group("a", 100), *group("b", 40_000), *group("c", 100)]
    plan = plan_prune(messages, 4_000)
    assert isinstance(plan, Plan)
    assert (plan.cut, plan.kept, plan.summary_chars) == (0, (), 0)
    assert plan.shortened == ((4, 1_000),)


def test_results_side_by_side_share_the_room() -> None:
    calls = tuple(ToolCall(f"c{i}", "t") for i in range(4))
    results = [
        ToolMessage(f"c{i}", "t", "r" * size) for i, size in enumerate((100, 9_000, 9_000, 9_000))
    ]
    plan = plan_prune([UserMessage("task"), AssistantMessage("", calls), *results], 2_400)
    assert isinstance(plan, Plan)
    shown = dict(plan.shortened)
    assert set(shown) == {3, 4, 5}
    assert len(set(shown.values())) == 1
    assert plan.chars <= 2_400


@pytest.mark.parametrize(
    ("messages", "why"),
    [
        ([UserMessage("u" * 5_000)], "the task alone"),
        ([UserMessage("t"), AssistantMessage("a" * 5_000)], "the newest answer"),
        ([UserMessage("t"), *group("a", 10), UserMessage("u" * 5_000)], "what was said since"),
        (
            [
                UserMessage("t"),
                AssistantMessage("", tuple(ToolCall(f"{i}", "t") for i in range(30))),
                *(ToolMessage(f"{i}", "t", "r" * 300) for i in range(30)),
            ],
            "many results",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_cannot_be_shortened_is_named_with_its_size(messages: list[Message], why: str) -> None:
    plan = plan_prune(messages, 3_000)
    assert isinstance(plan, CannotFit), why
    assert 3_000 < plan.floor <= chars_of(messages)
    assert plan.limit == 3_000


def test_room_for_the_facts_of_record_is_kept() -> None:
    messages = [UserMessage("t"), *(each for i in range(9) for each in group(f"g{i}", 900))]
    lean, full = plan_prune(messages, 4_000), plan_prune(messages, 4_000, facts=1_500)
    assert isinstance(lean, Plan)
    assert isinstance(full, Plan)
    assert full.summary_chars == lean.summary_chars + 1_500
    assert full.cut > lean.cut
    assert full.chars <= 4_000


# ---------------------------------------------------------------- a cut that is asked for


@pytest.mark.parametrize("seed", range(20))
def test_a_cut_at_each_position_splits_nothing_and_keeps_little_more(seed: int) -> None:
    rng = random.Random(seed)
    talk = Talk(rng)
    talk.some(12)
    messages = talk.view
    longest = max(each.end - each.start for each in groups_of(messages))
    cuts: list[int] = []
    for position in range(len(messages) + 1):
        plan = plan_cut(messages, position)
        if isinstance(plan, Fits):
            continue
        cuts.append(plan.cut)
        conversation = fold("s", talk.entries).conversation
        conversation.prune(Pruned(999, plan.cut, plan.kept, "summary"))
        assert_paired(list(conversation))
        assert conversation[0] == messages[0]
        newest = len(messages) - max(
            each.start
            for each in groups_of(messages)
            if isinstance(messages[each.start], AssistantMessage)
        )
        assert len(messages) - plan.cut <= max(len(messages) - position + longest, newest)
    assert all(one <= other for one, other in pairwise(cuts))


def test_nothing_has_no_groups() -> None:
    assert groups_of([]) == []
    assert plan_prune([], 10) == plan_cut([], 5) == Fits(0)

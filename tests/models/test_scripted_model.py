"""The scripted model: what a script may say, and how a session finds its place in it again."""

import gc
import time
from collections.abc import Sequence
from typing import Any

import anyio
import pytest

from ukemi.actors.model import (
    AssistantMessage,
    Message,
    ModelReply,
    ModelRequest,
    NoteMessage,
    Prices,
    UserMessage,
)
from ukemi.models import Hang, Pieces, Reply, ScriptedModel, ScriptExhausted, call
from ukemi.models.scripted import USAGE
from ukemi.stores.records import ToolCall, Usage
from ukemi.supervisor.errors import TransientError, UsageError


@pytest.fixture(scope="module", params=["asyncio", "uvloop", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, object]]:
    if request.param == "trio":
        return "trio", {}
    return "asyncio", {"use_uvloop": request.param == "uvloop"}


def asking(answers: int = 0, session: str = "s", **fields: Any) -> ModelRequest:
    """Return the request of a session that already holds this many answers."""
    messages: list[Message] = [UserMessage("go")]
    messages += [AssistantMessage("x"), NoteMessage("more")] * answers
    fields = {"messages": messages} | fields
    return ModelRequest(session_id=session, instructions="", **fields)


SAYS: list[tuple[str, Reply, ModelReply]] = [
    ("text is a final answer", "done", ModelReply(text="done", usage=USAGE)),
    (
        "a call is run, its id given by place",
        call("stock", sku="A-17", units=3),
        ModelReply(
            calls=(ToolCall("call-0-0", "stock", '{"sku":"A-17","units":3}'),),
            finish="tool_calls",
            usage=USAGE,
        ),
    ),
    (
        "several calls are one answer; a given id is kept",
        [call("a"), ToolCall("mine", "b")],
        ModelReply(
            calls=(ToolCall("call-0-0", "a"), ToolCall("mine", "b")),
            finish="tool_calls",
            usage=USAGE,
        ),
    ),
    (
        "a reply is said as it is, with its own usage",
        ModelReply(text="cut", finish="length", usage=Usage(input_tokens=1)),
        ModelReply(text="cut", finish="length", usage=Usage(input_tokens=1)),
    ),
    (
        "a reply with calls and no ending of its own ends in them",
        ModelReply(text="see", calls=(call("a"),)),
        ModelReply(
            text="see", calls=(ToolCall("call-0-0", "a"),), finish="tool_calls", usage=USAGE
        ),
    ),
    (
        "pieces are joined",
        Pieces(["Hello ", "world"], calls=[call("a")]),
        ModelReply(
            text="Hello world",
            calls=(ToolCall("call-0-0", "a"),),
            finish="tool_calls",
            usage=USAGE,
        ),
    ),
]


@pytest.mark.parametrize(("said", "reply"), [row[1:] for row in SAYS], ids=[row[0] for row in SAYS])
@pytest.mark.parametrize("form", ["list", "function"])
async def test_what_a_script_may_say(form: str, said: Reply, reply: ModelReply) -> None:
    model = ScriptedModel([said]) if form == "list" else ScriptedModel(lambda request: said)
    got = await model.complete(asking(messages=()))
    assert got == reply


async def test_the_place_in_a_list_is_the_number_of_answers_so_far() -> None:
    """Nothing is remembered: a resumed or rolled-back session goes on at the right line."""
    model = ScriptedModel(["one", "two", "three"])
    texts = [(await model.complete(asking(answers))).text for answers in (2, 0, 1, 1)]
    assert texts == ["three", "one", "two", "two"]


async def test_each_session_plays_the_list_from_its_start() -> None:
    model = ScriptedModel([TransientError("busy"), "one"])
    for session in ("a", "b"):
        with pytest.raises(TransientError):
            await model.complete(asking(session=session))
    for session in ("b", "a"):
        assert (await model.complete(asking(session=session))).text == "one"


async def test_faults_are_attempts_and_what_follows_is_the_next_attempt() -> None:
    script: list[Reply] = ["one", TransientError("busy"), TimeoutError, "two", "three"]
    model = ScriptedModel(script)
    assert (await model.complete(asking(0))).text == "one"
    with pytest.raises(TransientError, match="busy"):
        await model.complete(asking(1))
    with pytest.raises(TimeoutError):
        await model.complete(asking(1, attempt=2))
    assert (await model.complete(asking(1, attempt=3))).text == "two"
    assert (await model.complete(asking(2))).text == "three"


async def test_the_runtimes_attempt_number_survives_our_own_restart() -> None:
    """A fresh model, as after a crash: attempt 2 does not fail as attempt 1 did."""
    model = ScriptedModel([TransientError("busy"), "one"])
    assert (await model.complete(asking(attempt=2))).text == "one"


async def test_a_fault_at_the_end_of_a_list_lasts() -> None:
    model = ScriptedModel(["one", TransientError("down")])
    for _ in range(3):
        with pytest.raises(TransientError):
            await model.complete(asking(1))


async def test_an_exhausted_script_says_who_asked_for_what() -> None:
    model = ScriptedModel(["one"], name="buyer")
    with pytest.raises(ScriptExhausted, match=r"'buyer' has 1 answers; session 's' .* answer 2"):
        await model.complete(asking(1))


async def test_each_raise_is_an_exception_of_its_own() -> None:
    """Sessions that share a script must not share a traceback."""
    model = ScriptedModel(lambda request: error)
    error = TransientError("busy", retry_after=2.0)
    raised: list[TransientError] = []
    for _ in range(2):
        with pytest.raises(TransientError) as caught:
            await model.complete(asking())
        raised.append(caught.value)
    assert raised[0] is not raised[1]
    assert [one.retry_after for one in raised] == [2.0, 2.0]


async def test_an_exception_that_cannot_be_copied_is_raised_itself() -> None:
    class Picky(Exception):
        def __init__(self, *, code: int) -> None:
            super().__init__("refused", code)

    error = Picky(code=7)
    with pytest.raises(Picky) as caught:
        await ScriptedModel([error]).complete(asking())
    assert caught.value is error


@pytest.mark.parametrize("script", [["a"], [Pieces(["a"], delay_s=0.01)]], ids=["reply", "piece"])
async def test_a_slow_answer_can_be_cut_off(script: list[Reply]) -> None:
    """And a slower deadline lets it through."""
    model = ScriptedModel(script, delay_s=0.01)
    with anyio.move_on_after(0) as scope:
        await model.complete(asking())
    assert scope.cancelled_caught
    assert (await model.complete(asking())).text == "a"


async def test_attempts_are_remembered_for_a_bounded_number_of_sessions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The session that is forgotten begins again with the fault; the bound is what matters."""
    monkeypatch.setattr("ukemi.models.scripted._SESSIONS_MAX", 2)
    model = ScriptedModel([TransientError("busy"), "one"])
    for session in ("a", "b", "c", "a"):
        with pytest.raises(TransientError):
            await model.complete(asking(session=session))
    assert (await model.complete(asking(session="c"))).text == "one"


async def test_hang_waits_until_it_is_cancelled() -> None:
    model = ScriptedModel([Hang()])
    with anyio.move_on_after(0.01) as scope:
        await model.complete(asking())
    assert scope.cancelled_caught


async def test_pp_02_pieces_that_break_off_tell_what_they_consumed() -> None:
    spent = Usage(input_tokens=40, output_tokens=3)
    first = Pieces(["Hello wor"], error=ConnectionResetError("lost"), usage=spent)
    second = Pieces(["Hello ", "world"], calls=[call("run", code="print(1)")])
    model = ScriptedModel([first, second])
    heard: list[str] = []
    with pytest.raises(ConnectionResetError) as caught:
        await model.complete(asking(on_piece=heard.append))
    assert heard == ["Hello wor"]
    assert getattr(caught.value, "usage", None) == spent
    reply = await model.complete(asking(on_piece=heard.append, attempt=2))
    assert heard[1:] == ["Hello ", "world"]
    assert reply.text == "Hello world"
    assert [one.arguments for one in reply.calls] == ['{"code":"print(1)"}']


async def test_a_listener_hears_plain_texts_too() -> None:
    heard: list[str] = []
    await ScriptedModel(["done"]).complete(asking(on_piece=heard.append))
    assert heard == ["done"]


async def test_a_function_may_be_async_and_sees_the_request() -> None:
    async def buyer(request: ModelRequest) -> Reply:
        await anyio.lowlevel.checkpoint()
        return "done" if len(request.messages) > 2 else call("stock", sku=request.session_id)

    model = ScriptedModel(buyer)
    reply = await model.complete(asking(session="A-17"))
    assert reply.calls[0].arguments == '{"sku":"A-17"}'
    assert (await model.complete(asking(1))).text == "done"


async def test_calls_of_a_function_get_other_ids_in_each_answer() -> None:
    model = ScriptedModel(lambda request: call("poll"))
    ids = [(await model.complete(asking(answers))).calls[0].id for answers in range(3)]
    assert len(set(ids)) == 3


async def test_usage_and_prices_are_booked() -> None:
    usage = Usage(input_tokens=1000, output_tokens=100)
    prices = Prices(input_usd=1.0, output_usd=10.0)
    model = ScriptedModel(["a", Pieces(["b"])], usage=usage, prices=prices)
    for answers in range(2):
        reply = await model.complete(asking(answers))
        assert reply.usage.cost_usd == pytest.approx(0.002)


async def test_requests_are_kept_on_demand_as_they_were() -> None:
    model = ScriptedModel(["one", "two"], record=True)
    messages: list[Message] = [UserMessage("go")]
    await model.complete(asking(messages=messages))
    messages.append(NoteMessage("later"))
    (kept,) = model.requests
    assert kept.messages == (UserMessage("go"),)
    silent = ScriptedModel(["one"])
    await silent.complete(asking())
    assert not silent.requests


class Counted(Sequence[Message]):
    """Messages that know how many answers they hold, and must not be read."""

    def __init__(self, assistant_count: int) -> None:
        self.assistant_count = assistant_count

    def __len__(self) -> int:
        return 1_000_000

    def __getitem__(self, index: Any) -> Any:
        raise AssertionError("the history was read")


async def test_the_history_is_not_read_where_it_counts_its_answers() -> None:
    """A step's cost must not grow with the session's length."""
    reply = await ScriptedModel(["one", "two"]).complete(asking(messages=Counted(1)))
    assert reply.text == "two"
    reply = await ScriptedModel(lambda request: call("poll")).complete(asking(messages=Counted(9)))
    assert reply.calls[0].name == "poll"


@pytest.mark.realtime
@pytest.mark.parametrize("form", ["list", "function"])
async def test_a_reply_costs_at_most_10_microseconds(form: str) -> None:
    model = ScriptedModel([call("poll")] if form == "list" else lambda request: call("poll"))
    request = asking(messages=Counted(0))
    took = min([await _seconds_each(model, request) for _ in range(5)])
    assert took < 10e-6


async def _seconds_each(model: ScriptedModel, request: ModelRequest) -> float:
    gc.collect()
    begun = time.process_time()
    for _ in range(2000):
        await model.complete(request)
    return (time.process_time() - begun) / 2000


BAD: list[Any] = [42, None, [], ["text in a list"], {"name": "stock"}, object]


@pytest.mark.parametrize("said", BAD, ids=repr)
async def test_what_a_script_cannot_say_is_named(said: Any) -> None:
    with pytest.raises(UsageError, match="a script cannot say"):
        ScriptedModel([said])
    with pytest.raises(UsageError, match="a script cannot say"):
        await ScriptedModel(lambda request: said).complete(asking())


def test_a_text_is_no_script() -> None:
    with pytest.raises(UsageError, match="'done'"):
        ScriptedModel("done")

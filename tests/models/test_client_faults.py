"""What breaks is raised as it is, once, with the tokens it consumed; nothing of it is used."""

import socket
from dataclasses import dataclass
from operator import attrgetter

import anyio
import pytest
import trio
from loopback_llm import Answer, Ending, status
from vendors import STREAMS, Vendor, asking

from ukemi.actors.model import UserMessage
from ukemi.models import AnswerError, AnthropicModel, OpenAIModel
from ukemi.stores.records import Usage
from ukemi.supervisor.errors import PermissionDenied, TransientError, UsageError

PP_02_TEXT, PP_02_CODE = "Hello world", '{"path": "a.py", "text": "print(1)"}'


def usage_of(error: BaseException) -> Usage | None:
    usage = getattr(error, "usage", None)
    assert usage is None or isinstance(usage, Usage)
    return usage


@pytest.mark.parametrize("code", [400, 401, 408, 429, 500, 529])
async def test_an_error_status_surfaces_with_its_headers_after_one_request(
    vendor: Vendor, code: int
) -> None:
    """The SDKs retry 408, 409, 429 and 5xx by default, within seconds; theirs is switched off."""
    script = [status(code, {"retry-after": "7"}, message="odd_code"), vendor.answer("ok")]
    async with vendor.serving(script) as talk:
        with pytest.raises(Exception, match="odd_code") as caught:
            await talk.ask()
    error = caught.value
    assert type(error).__module__.split(".")[0] == vendor.name
    assert getattr(error, "status_code", None) == code
    assert getattr(error, "response").headers["retry-after"] == "7"  # noqa: B009
    assert usage_of(error) is None, "nothing was consumed"
    assert len(talk.provider.requests) == 1


BREAKS: list[tuple[Ending, str]] = [("cut", "cut"), ("reset", "reset"), ("end", "silent end")]


@pytest.mark.parametrize("vendor", STREAMS, ids=attrgetter("id"))
@pytest.mark.parametrize("ending", [one for one, _ in BREAKS], ids=[id for _, id in BREAKS])
async def test_a_broken_stream_is_never_an_answer(vendor: Vendor, ending: Ending) -> None:
    """Broken off after every number of events, also just before the last: an error each time."""
    whole = vendor.answer("Hello world", [("c1", "clock", "{}")])
    cuts = _cuts(vendor, whole, ending)
    async with vendor.serving([whole.broken(keep, ending) for keep in cuts]) as talk:
        for keep in cuts:
            with pytest.raises(Exception, match=r".*") as caught:
                await talk.ask()
            assert (usage_of(caught.value) is not None) == (keep > 0), f"after {keep} events"
            if ending == "end":
                assert isinstance(caught.value, TransientError)
                assert caught.value.may_have_executed == "maybe"
    assert len(talk.provider.requests) == len(cuts)


def _cuts(vendor: Vendor, whole: Answer, ending: Ending) -> range:
    """Numbers of events to break off after.

    OpenAI's ending is the finish reason, which two events follow: if the body itself ends
    properly after it, the answer is whole.
    """
    trailing = 2 if vendor.name == "openai" and ending == "end" else 0
    return range(len(whole.events) - trailing)


async def test_a_body_cut_in_the_middle_is_never_an_answer(vendor: Vendor) -> None:
    whole = vendor.answer("Hello world")
    answer = Answer(whole=whole.whole).broken(len(whole.whole) // 2, "cut")
    async with vendor.serving([answer]) as talk:
        with pytest.raises(Exception, match=r".*"):
            await talk.ask()
    assert len(talk.provider.requests) == 1


@pytest.mark.parametrize("vendor", STREAMS, ids=attrgetter("id"))
async def test_pp_02_a_retry_replaces_the_attempt_and_both_are_booked(vendor: Vendor) -> None:
    """The client's part: two requests, two separate answers, the tokens of the first told."""
    whole = vendor.answer(
        PP_02_TEXT, [("c1", "write_file", PP_02_CODE)], input_tokens=40, output_tokens=30
    )
    in_the_call = next(
        number for number, event in enumerate(whole.events) if b"pri" in event or b"text" in event
    )
    keep = max(in_the_call, len(whole.events) - 6)
    pieces: list[str] = []
    async with vendor.serving([whole.broken(keep, "reset"), whole]) as talk:
        with pytest.raises(Exception, match=r".*") as caught:
            await talk.ask(on_piece=pieces.append)
        assert "".join(pieces) == "Hello world"
        pieces.clear()
        reply = await talk.ask(on_piece=pieces.append, attempt=2)
    assert reply.text == "".join(pieces) == "Hello world"
    assert [call.arguments for call in reply.calls] == [PP_02_CODE]
    booked = usage_of(caught.value)
    assert booked is not None
    assert booked.input_tokens > 0
    assert 5 <= booked.output_tokens <= 30
    assert len(talk.provider.requests) == 2


@pytest.mark.parametrize("vendor", STREAMS, ids=attrgetter("id"))
async def test_anthropic_tells_its_input_at_the_start_and_it_is_booked(vendor: Vendor) -> None:
    """OpenAI tells at the end only, so its input is estimated from the request."""
    answer = vendor.answer("a" * 400, input_tokens=5000, piece=100).broken(4, "cut")
    async with vendor.serving([answer]) as talk:
        with pytest.raises(Exception, match=r".*") as caught:
            await talk.ask(UserMessage("b" * 400))
    booked = usage_of(caught.value)
    assert booked is not None
    if vendor.name == "anthropic":
        assert booked.input_tokens == 5000
    else:
        assert 100 < booked.input_tokens < 400
    assert 25 <= booked.output_tokens <= 100


async def test_cancellation_passes_through_and_ends_the_request(vendor: Vendor) -> None:
    """The provider sees the client go away, so no answer is paid for to its end."""
    keep = 3 if vendor.stream else 5
    async with vendor.serving([vendor.answer("Hello world").broken(keep, "hang")]) as talk:
        with anyio.fail_after(10):
            async with anyio.create_task_group() as group:
                group.start_soon(talk.ask)
                await talk.provider.hanging.wait()
                group.cancel_scope.cancel()
            await talk.provider.hung_up.wait()
    assert len(talk.provider.requests) == 1


@pytest.mark.parametrize("vendor", STREAMS, ids=attrgetter("id"))
async def test_a_cancelled_stream_tells_what_it_consumed(vendor: Vendor) -> None:
    told: list[Usage | None] = []
    async with vendor.serving([vendor.answer("Hello world").broken(5, "hang")]) as talk:
        with anyio.CancelScope() as scope:

            def stop(_: str) -> None:
                scope.cancel()

            try:
                await talk.ask(on_piece=stop)
            except anyio.get_cancelled_exc_class() as error:
                told.append(usage_of(error))
                raise
    assert told[0] is not None
    assert told[0].tokens > 0


async def test_silence_ends_in_the_sdks_own_timeout(vendor: Vendor) -> None:
    keep = 3 if vendor.stream else 5
    answer = vendor.answer("Hello world").broken(keep, "hang")
    async with vendor.serving([answer], timeout_s=0.05) as talk:
        with pytest.raises(Exception, match=r"(?i)timed out|^$") as caught:
            await talk.ask()
    names = {cls.__name__ for cls in type(caught.value).__mro__}
    assert names & {"APITimeoutError", "ReadTimeout"}
    assert len(talk.provider.requests) == 1


async def test_nobody_listens_at_the_address(vendor: Vendor) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}"
        model: OpenAIModel | AnthropicModel
        if vendor.name == "openai":
            model = OpenAIModel("m", api_key="k", base_url=url, stream=vendor.stream)
        else:
            model = AnthropicModel("m", api_key="k", base_url=url, stream=vendor.stream)
        with pytest.raises(Exception, match="Connection error") as caught:
            await model.complete(asking())
        await model.aclose()
    assert type(caught.value).__name__ == "APIConnectionError"


@pytest.mark.parametrize(
    "body", [b'{"error": {"code": "busy", "message": "later"}}', b"{}", b"[]"], ids=bytes.decode
)
@pytest.mark.parametrize("name", ["openai", "anthropic"])
async def test_success_without_an_answer_is_an_error(name: str, body: bytes) -> None:
    async with Vendor(name, stream=False).serving([Answer(whole=body)]) as talk:
        with pytest.raises(AnswerError, match="without") as caught:
            await talk.ask()
    if b"busy" in body:
        assert caught.value.code == "busy"


@pytest.mark.parametrize("name", ["openai", "anthropic"])
async def test_a_whole_body_without_its_ending_is_no_answer(name: str) -> None:
    vendor = Vendor(name, stream=False)
    whole = vendor.answer("Hello").whole
    body = whole.replace(b'"stop"', b"null").replace(b'"end_turn"', b"null")
    assert body != whole
    async with vendor.serving([Answer(whole=body)]) as talk:
        with pytest.raises(TransientError, match="broke off"):
            await talk.ask()


@pytest.mark.parametrize("vendor", STREAMS, ids=attrgetter("id"))
async def test_an_error_inside_a_stream_is_raised(vendor: Vendor) -> None:
    """Providers that are overloaded say so in the middle of an answer, under status 200."""
    error = b'{"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}'
    whole = vendor.answer("Hello")
    events = [*whole.events[:3], b"event: error\ndata: " + error + b"\n\n"]
    async with vendor.serving([Answer(events=events)]) as talk:
        with pytest.raises(Exception, match="Overloaded") as caught:
            await talk.ask()
    assert type(caught.value).__module__.split(".")[0] == vendor.name
    assert usage_of(caught.value) is not None


def test_without_an_asyncio_loop_it_says_so(vendor: Vendor) -> None:
    make = OpenAIModel if vendor.name == "openai" else AnthropicModel
    model = make("m", api_key="k")

    async def main() -> None:
        with pytest.raises(UsageError, match="asyncio only"):
            await model.complete(asking())

    trio.run(main)


async def test_a_page_of_html_is_no_answer(vendor: Vendor) -> None:
    page = Answer(whole=b"<html>Login</html>", headers={"content-type": "text/html"})
    async with vendor.serving([page]) as talk:
        with pytest.raises((AnswerError, TransientError)):
            await talk.ask()


@dataclass(frozen=True)
class Keyless:
    """A vendor whose key is given nowhere."""

    name: str
    variable: str


@pytest.mark.parametrize(
    "case",
    [Keyless("openai", "OPENAI_API_KEY"), Keyless("anthropic", "ANTHROPIC_API_KEY")],
    ids=attrgetter("name"),
)
async def test_a_missing_key_names_the_variable(
    case: Keyless, monkeypatch: pytest.MonkeyPatch, tmp_path: object
) -> None:
    for variable in (case.variable, "ANTHROPIC_AUTH_TOKEN", "OPENAI_ADMIN_KEY"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))  # where SDKs look for stored credentials
    model = OpenAIModel("m") if case.name == "openai" else AnthropicModel("m")
    with pytest.raises(PermissionDenied, match=case.variable):
        await model.complete(asking())


def test_an_unknown_option_is_refused_at_once(vendor: Vendor) -> None:
    make = OpenAIModel if vendor.name == "openai" else AnthropicModel
    with pytest.raises(UsageError, match="'temprature'"):
        make("m", api_key="k", temprature=0.5)
    with pytest.raises(UsageError, match="sets 'messages' itself"):
        make("m", api_key="k", messages=[])


def test_the_key_is_in_no_text(vendor: Vendor) -> None:
    make = OpenAIModel if vendor.name == "openai" else AnthropicModel
    assert "sk-secret" not in repr(make("m", api_key="sk-secret"))

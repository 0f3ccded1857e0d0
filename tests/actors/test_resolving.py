"""A person's word on a call in doubt: it settles the ledger, and the session goes on (P2)."""

import uuid
from typing import Any

import anyio
import pytest
from sessions import agent, ended, requests, run_one

from ukemi import Completed, HandedOver, Runtime, UsageError, tool
from ukemi.actors import MessageReceived, NoteMessage
from ukemi.actors.agent import Agent
from ukemi.models import Script, call
from ukemi.stores.base import AlreadyDecided


class Mail:
    """A tool whose first call is cut off after its effect or before; later ones go through."""

    def __init__(self, *, arrives: bool) -> None:
        self.sent: list[str] = []
        calls: list[str] = []

        @tool(timeout_s=1.0)
        async def mail(to: str) -> str:
            calls.append(to)
            if len(calls) > 1 or arrives:
                self.sent.append(to)
            if len(calls) == 1:
                await anyio.sleep(100)
            return "sent"

        self.tool = mail


SCRIPT: Script = [call("mail", to="ann"), call("mail", to="ann"), "Done."]


def store() -> str:
    return f"memory:{uuid.uuid4().hex}"


async def doubtful(runtime: Runtime, of: Agent) -> str:
    """Run a session into its doubt and return its id."""
    outcome = await run_one(runtime, of, session_id="one")
    assert isinstance(outcome, HandedOver) and outcome.reason == "in_doubt"
    assert any("resolve" in option.command for option in outcome.dossier.options)
    return "one"


async def test_not_done_lets_the_model_call_again() -> None:
    mail = Mail(arrives=False)
    mailer = agent(SCRIPT, [mail.tool])
    async with Runtime(store(), agents=[mailer]) as runtime:
        handle = runtime.session(await doubtful(runtime, mailer))
        await handle.resolve("not_done", result="no mail in the outbox")
        assert await ended(runtime, "one") == Completed("Done.")
        assert mail.sent == ["ann"]
        facts = await handle.inspect()
        assert not facts.in_doubt and not facts.questions
    notes = [m.text for m in requests(mailer)[1].messages if isinstance(m, NoteMessage)]
    (note,) = notes
    assert (
        "did not take effect, a person has found: no mail in the outbox. It may be called" in note
    )


@pytest.mark.parametrize("option", ["done", "abandon"])
async def test_done_and_abandon_do_not_run_it_again(option: str) -> None:
    mail = Mail(arrives=True)
    mailer = agent([call("mail", to="ann"), "Done."], [mail.tool])
    async with Runtime(store(), agents=[mailer]) as runtime:
        handle = runtime.session(await doubtful(runtime, mailer))
        await handle.resolve(option)
        assert await ended(runtime, "one") == Completed("Done.")
        assert mail.sent == ["ann"]
        assert not (await handle.inspect()).in_doubt


async def test_what_was_abandoned_stays_closed() -> None:
    mail = Mail(arrives=True)
    mailer = agent(SCRIPT, [mail.tool])
    async with Runtime(store(), agents=[mailer]) as runtime:
        handle = runtime.session(await doubtful(runtime, mailer))
        await handle.resolve("abandon")
        await ended(runtime, "one")
        assert mail.sent == ["ann"], "the equal call was refused"
        last = (await handle.checkpoint()).tool_history[-1]
        assert last.state == "refused" and "refused for good" in last.content


async def test_an_answer_survives_the_process() -> None:
    """Settled by a runtime that is left at once; the next one goes on with it."""
    mail, where = Mail(arrives=True), store()
    mailer = agent([call("mail", to="ann"), "Done."], [mail.tool])
    async with Runtime(where, agents=[mailer]) as runtime:
        handle = runtime.session(await doubtful(runtime, mailer))
        await handle.resolve("done", result="it is in the outbox")
    async with Runtime(where, agents=[mailer]) as runtime:
        assert await ended(runtime, "one") == Completed("Done.")
    assert mail.sent == ["ann"]


async def test_bad_answers_are_refused_and_change_nothing() -> None:
    mail = Mail(arrives=True)
    mailer = agent([call("mail", to="ann"), "Done."], [mail.tool])
    async with Runtime(store(), agents=[mailer]) as runtime:
        handle = runtime.session(await doubtful(runtime, mailer))
        with pytest.raises(UsageError, match="'perhaps' is unknown; use one of retry, done"):
            await handle.resolve("perhaps")
        with pytest.raises(UsageError, match=r"call 9\.0 is not in doubt; in doubt: 2\.0 mail"):
            await handle.resolve("done", call=(9, 0))
        assert (await handle.inspect()).status == "handed_over"
        await handle.resolve("done", call=(2, 0))
        await ended(runtime, "one")
        await handle.resolve("done")  # said again, and no mistake
        with pytest.raises(
            AlreadyDecided, match=r"call 2\.0 was decided before, by somebody at .*: done"
        ):
            await handle.resolve("abandon")
        assert await handle.outcome() == Completed("Done.")


@pytest.mark.parametrize(
    ("option", "said", "named"),
    [
        ("done", {"call": "x"}, "call"),
        ("done", {"call": (2.5, 0)}, "call"),
        ("done", {"result": 5}, "result"),
        ("done", {"by": 1.5}, "by"),
        (7, {}, "option"),
    ],
)
async def test_a_decision_of_another_type_is_refused_by_the_name_of_its_field(
    option: Any, said: dict[str, Any], named: str
) -> None:
    mail = Mail(arrives=True)
    mailer = agent(SCRIPT, [mail.tool])
    async with Runtime(store(), agents=[mailer]) as runtime:
        handle = runtime.session(await doubtful(runtime, mailer))
        with pytest.raises(UsageError, match=named):
            await handle.resolve(option, **said)
        assert (await handle.inspect()).in_doubt


async def test_of_several_doubts_one_must_be_named() -> None:
    @tool(timeout_s=1.0, overlap=True)
    async def pay(x: int) -> str:
        await anyio.sleep(100)
        return "paid"

    payer = agent([[call("pay", x=1), call("pay", x=2)], "Done."], [pay])
    async with Runtime(store(), agents=[payer]) as runtime:
        await run_one(runtime, payer, session_id="one")
        handle = runtime.session("one")
        with pytest.raises(UsageError, match=r"several calls .*2\.0 pay, 2\.1 pay"):
            await handle.resolve("done")
        await handle.resolve("done", call=(2, 1))
        await ended(runtime, "one")
        assert [(each.n, each.index) for each in (await handle.inspect()).in_doubt] == [(2, 0)]


async def test_a_message_is_told_before_what_it_leads_to() -> None:
    talker = agent(["One.", "Two."])
    async with Runtime(store(), agents=[talker]) as runtime:
        await run_one(runtime, talker, session_id="one")
        handle = runtime.session("one")
        await handle.send("and?")
        names = [event.event async for event in handle.events()]
    assert names.index(MessageReceived.__struct_config__.tag) < names.index("model.asked")  # type: ignore[arg-type]

"""What a person decides about a call in doubt runs once, whatever is killed when (P2, P8)."""

from contextlib import suppress
from typing import Any

import anyio
import msgspec
import pytest
from sessions import LoopClock, agent, ended, journal, opened, requests, results, run_one
from store_faults import Fault, FaultyStore

from ukemi import (
    Agent,
    Completed,
    HandedOver,
    InvalidArgument,
    Policy,
    Runtime,
    StoreError,
    StoreFailed,
    TransientError,
    UsageError,
    tool,
)
from ukemi.actors import NoteMessage
from ukemi.actors.inspection import fold
from ukemi.models import Script, call
from ukemi.stores.memory import MemoryStore
from ukemi.stores.records import Allowed, Intended, JournalEntry, Late, Resulted


class Mail:
    """A tool that is cut off in its first call, and does what it is told in those after it.

    Args:
        then: raised by the second, third, ... call; None: it goes through.
    """

    def __init__(self, *then: Exception | None, keyed: bool = False) -> None:
        self.sent: list[tuple[str, str]] = []
        self.keys: list[str | None] = []
        self.calls = 0
        self._then = then

        async def body(to: str, text: str, key: str | None) -> str:
            self.calls += 1
            self.keys.append(key)
            if self.calls == 1:
                await anyio.sleep(100)
            error = self._then[self.calls - 2] if self.calls - 2 < len(self._then) else None
            if error is not None:
                raise error
            self.sent.append((to, text))
            return f"sent to {to}"

        @tool(timeout_s=1.0)
        async def mail(to: str, text: str = "hello") -> str:
            return await body(to, text, None)

        @tool(name="mail", timeout_s=1.0, accepts_key=True)
        async def keyed_mail(to: str, text: str = "hello", *, key: str) -> str:
            return await body(to, text, key)

        self.tool = keyed_mail if keyed else mail


def policy_of(data: dict[str, Any]) -> Policy:
    return msgspec.convert(data, Policy)


SCRIPT: Script = [call("mail", to="ann"), "Done."]


async def doubtful(runtime: Runtime, of: Agent) -> None:
    outcome = await run_one(runtime, of, session_id="one")
    assert isinstance(outcome, HandedOver) and outcome.dossier.in_doubt


async def kept(store: MemoryStore, *kinds: type[JournalEntry]) -> list[Any]:
    async with opened(store):
        return [each for each in await journal(store, "one") if isinstance(each, kinds)]


async def test_retry_runs_the_call_again_and_the_model_is_told_in_a_note(
    store: MemoryStore,
) -> None:
    mail = Mail()
    mailer = agent(SCRIPT, [mail.tool])
    async with Runtime(store, agents=[mailer]) as runtime:
        await doubtful(runtime, mailer)
        handle = runtime.session("one")
        await handle.resolve("retry", result="nothing in the outbox")
        assert await ended(runtime, "one") == Completed("Done.")
        assert not (await handle.inspect()).in_doubt
    assert mail.sent == [("ann", "hello")]
    shown = requests(mailer)[1].messages
    (first,) = results(shown)
    assert first.content.startswith("error (in_doubt_timeout)"), "what was told is not rewritten"
    notes = [each.text for each in shown if isinstance(each, NoteMessage)]
    assert "nothing in the outbox" in notes[0] and "is run again" in notes[0]
    assert "has run again: succeeded: sent to ann" in notes[1]
    async with opened(store):
        state = fold("one", await journal(store, "one"))
    (effect,) = state.effects.values()
    assert (effect.tool, effect.attempts, effect.by) == ("mail", 2, "again")


async def test_retry_with_other_arguments_is_another_order_with_another_key(
    store: MemoryStore,
) -> None:
    mail = Mail(TransientError("502"), keyed=True)
    mailer = agent(SCRIPT, [mail.tool])
    policy = policy_of({"in_doubt_timeout": {"attempts_max": 1}})
    async with Runtime(store, agents=[mailer], policy=policy) as runtime:
        await doubtful(runtime, mailer)
        await runtime.session("one").resolve("retry", args={"to": "bob"})
        assert await ended(runtime, "one") == Completed("Done.")
    assert mail.sent == [("bob", "hello")]
    first, second, third = mail.keys
    assert first != second and second == third, "stable over the attempts of one order"
    async with opened(store):
        state = fold("one", await journal(store, "one"))
    (effect,) = state.effects.values()
    assert effect.arguments == '{"to":"bob"}'


async def test_retry_with_the_same_arguments_keeps_the_key(store: MemoryStore) -> None:
    mail = Mail(keyed=True)
    mailer = agent(SCRIPT, [mail.tool])
    policy = policy_of({"in_doubt_timeout": {"attempts_max": 1}})
    async with Runtime(store, agents=[mailer], policy=policy) as runtime:
        await doubtful(runtime, mailer)
        await runtime.session("one").resolve("retry")
        assert await ended(runtime, "one") == Completed("Done.")
    assert len(mail.keys) == 2 and len(set(mail.keys)) == 1


async def test_what_cannot_run_is_refused_before_anything_changes(store: MemoryStore) -> None:
    mail = Mail()
    mailer = agent(SCRIPT, [mail.tool])
    async with Runtime(store, agents=[mailer]) as runtime:
        await doubtful(runtime, mailer)
        handle = runtime.session("one")
        with pytest.raises(UsageError, match="cannot run with these arguments"):
            await handle.resolve("retry", args={"too": "bob"})
        with pytest.raises(UsageError, match="args= goes with 'retry'"):
            await handle.resolve("done", args={"to": "bob"})
        assert (await handle.inspect()).in_doubt
    assert mail.calls == 1


async def test_a_run_that_is_cut_off_is_in_doubt_again(store: MemoryStore) -> None:
    mail = Mail(TimeoutError("read timed out"))
    mailer = agent(SCRIPT, [mail.tool])
    async with Runtime(store, agents=[mailer]) as runtime:
        await doubtful(runtime, mailer)
        handle = runtime.session("one")
        await handle.resolve("retry")
        outcome = await ended(runtime, "one")
        assert isinstance(outcome, HandedOver) and outcome.dossier.in_doubt
        await handle.resolve("done", result="bob has it")
        assert await ended(runtime, "one") == Completed("Done.")
    assert mail.calls == 2 and not mail.sent


async def test_a_run_that_fails_for_certain_settles_the_doubt(store: MemoryStore) -> None:
    mail = Mail(InvalidArgument("no such address"))
    mailer = agent([call("mail", to="ann"), call("mail", to="ann"), "Done."], [mail.tool])
    async with Runtime(store, agents=[mailer]) as runtime:
        await doubtful(runtime, mailer)
        await runtime.session("one").resolve("retry")
        assert await ended(runtime, "one") == Completed("Done.")
    assert mail.sent == [("ann", "hello")], "the model could call it again"


async def test_passing_failures_of_the_run_are_retried_by_the_policy(store: MemoryStore) -> None:
    mail = Mail(TransientError("502"), TransientError("502"))
    mailer = agent(SCRIPT, [mail.tool])
    async with Runtime(store, agents=[mailer]) as runtime:
        await doubtful(runtime, mailer)
        await runtime.session("one").resolve("retry")
        assert await ended(runtime, "one") == Completed("Done.")
    assert mail.sent == [("ann", "hello")] and mail.calls == 4


async def test_nobody_runs_again_what_was_allowed_before_the_session_was_cancelled(
    store: MemoryStore,
) -> None:
    state = fold("one", [])
    mail = Mail()
    mailer = agent(SCRIPT, [mail.tool])
    async with Runtime(store, agents=[mailer]) as runtime:
        await doubtful(runtime, mailer)
    async with opened(store):
        entries = await journal(store, "one")
    for entry in entries:
        state.apply(entry)
    state.apply(Allowed(2, 0, state.ledger.open[2, 0].digest))
    assert state.ledger.again and state.status == "running"
    state.apply(entries[-1])  # it ends
    assert not state.ledger.again and state.in_doubt


# ---------------------------------------------------------------- killed


KILLS = range(1, 9)


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("number", KILLS)
async def test_killed_anywhere_the_run_that_was_allowed_happens_once_or_is_in_doubt(
    store: MemoryStore, number: int, when: Any
) -> None:
    """The store dies at its k-th write after the decision; the next process goes on from there."""
    mail = Mail()
    mailer = agent(SCRIPT, [mail.tool])
    clock = LoopClock()
    faulty = FaultyStore(store)
    async with Runtime(faulty, agents=[mailer], clock=clock) as runtime:
        await doubtful(runtime, mailer)
        faulty.plan = [
            Fault(at=faulty.commits + number, when=when, always=True, error=StoreFailed("dead"))
        ]
        with anyio.move_on_after(30.0), suppress(StoreError):
            await runtime.session("one").resolve("retry")
            await ended(runtime, "one")
    faulty.plan.clear()
    await anyio.sleep(15.0)  # the lease of the one that died
    async with Runtime(faulty, agents=[mailer], clock=clock) as runtime:
        await anyio.sleep(5.0)  # a decision that was posted and not taken is taken by now
        outcome = await ended(runtime, "one")
        doubt = bool((await runtime.session("one").inspect()).in_doubt)
    allowed = await kept(store, Allowed)
    assert len(mail.sent) <= 1
    intents = await kept(store, Intended)
    if not allowed:
        assert not mail.sent and doubt, "the decision was not taken: the question is still open"
    elif doubt:
        assert isinstance(outcome, HandedOver) and {each.attempt for each in intents} == {1, 2}
    else:
        assert len(mail.sent) == 1
        (late,) = [each for each in await kept(store, Late) if each.by == "again"]
        assert late.state == "succeeded"
    assert len(await kept(store, Resulted)) == 1

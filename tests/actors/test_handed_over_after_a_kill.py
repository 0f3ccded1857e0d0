"""A call ends so that a person is needed, and the process dies before that is stored: it still is."""

import uuid
from collections.abc import Callable

import anyio
import pytest
from sessions import agent, ended, journal, opened, put_history, run_one

from ukemi import HandedOver, PermissionDenied, Runtime, tool
from ukemi.models import call
from ukemi.stores.memory import MemoryStore
from ukemi.stores.records import Ended, Late, Opened, Resulted, Said

FAULTS: dict[str, Callable[[], Exception]] = {
    "unknown": lambda: RuntimeError("xyzzy"),
    "bug": lambda: TypeError("no such thing"),
    "permission": lambda: PermissionDenied("no key"),
    "in_doubt": lambda: ConnectionResetError("gone"),
}


def store() -> MemoryStore:
    return MemoryStore(uuid.uuid4().hex)


@pytest.mark.parametrize("reason", list(FAULTS))
@pytest.mark.parametrize("beside", [False, True], ids=["alone", "beside others"])
async def test_a_handover_is_not_forgotten_between_its_result_and_its_end(
    reason: str, beside: bool
) -> None:
    ran = list[str]()

    @tool(overlap=True)
    async def odd() -> str:
        ran.append("odd")
        raise FAULTS[reason]()

    @tool(overlap=True)
    async def fine() -> str:
        await anyio.sleep(1)
        return "fine"

    of = agent(
        [[call("odd"), call("fine")] if beside else call("odd"), "All is well."], [odd, fine]
    )
    first, second = store(), store()
    async with opened(second):
        async with Runtime(first, agents=[of]) as runtime:
            before = await run_one(runtime, of, session_id="one")
            stored = await journal(first, "one")
        assert isinstance(before, HandedOver) and before.reason == reason
        last = max(at for at, each in enumerate(stored) if isinstance(each, Resulted))
        assert any(isinstance(each, Ended) for each in stored[last:])
        kept = [each for each in stored[: last + 1] if not isinstance(each, Opened)]
        await put_history(second, "one", [[each] for each in kept])
        async with Runtime(second, agents=[of]) as runtime:
            after = await ended(runtime, "one")
            (head,) = await runtime.sessions()
    assert isinstance(after, HandedOver)
    assert (after.reason, after.detail) == (before.reason, before.detail)
    assert after.dossier.upstream_error == before.dossier.upstream_error
    assert after.dossier.failed_step == before.dossier.failed_step
    assert after.dossier.in_doubt == before.dossier.in_doubt
    assert head.status == "handed_over" and ran == ["odd"]


async def test_a_keyed_call_that_was_cut_off_beside_it_is_no_doubt() -> None:
    """It goes out again with its key, and the first reason stays the one that a person is told."""
    keys = list[str]()

    @tool(overlap=True)
    async def odd() -> str:
        raise RuntimeError("xyzzy")

    @tool(overlap=True, accepts_key=True)
    async def book(*, key: str) -> str:
        keys.append(key)
        await anyio.sleep(1)
        return "booked"

    of = agent([[call("odd"), call("book")], "All is well."], [odd, book])
    first, second = store(), store()
    async with opened(second):
        async with Runtime(first, agents=[of]) as runtime:
            await run_one(runtime, of, session_id="one")
            stored = await journal(first, "one")
        cut = next(at for at, each in enumerate(stored) if isinstance(each, Resulted))
        kept = [each for each in stored[: cut + 1] if not isinstance(each, Opened)]
        await put_history(second, "one", [[each] for each in kept])
        async with Runtime(second, agents=[of]) as runtime:
            after = await ended(runtime, "one")
            facts = await runtime.session("one").inspect()
    assert isinstance(after, HandedOver) and after.reason == "unknown"
    # `odd` is not safe to repeat and raised what nobody knows; `book` has gone out twice, with one key.
    assert [doubt.tool for doubt in facts.in_doubt] == ["odd"]
    assert len(keys) == 2 and len(set(keys)) == 1


async def test_who_has_spoken_since_is_heard() -> None:
    @tool
    async def odd() -> str:
        raise RuntimeError("xyzzy")

    of = agent([call("odd"), "Then not."], [odd])
    first, second = store(), store()
    async with opened(second):
        async with Runtime(first, agents=[of]) as runtime:
            await run_one(runtime, of, session_id="one")
            stored = await journal(first, "one")
        last = max(at for at, each in enumerate(stored) if isinstance(each, Resulted))
        kept = [each for each in stored[: last + 1] if not isinstance(each, Opened)]
        await put_history(second, "one", [[each] for each in [*kept, Said(3, "Leave it.")]])
        async with Runtime(second, agents=[of]) as runtime:
            assert not isinstance(await ended(runtime, "one"), HandedOver)


@pytest.mark.parametrize("reason", list(FAULTS))
async def test_nor_that_of_a_run_that_a_person_allowed(reason: str) -> None:
    ran = list[str]()

    @tool
    async def odd(which: str) -> str:
        ran.append(which)
        raise FAULTS["in_doubt" if len(ran) < 3 else reason]()

    calls = [call("odd", which="a"), call("odd", which="b")]
    of = agent([calls[0], calls[1], "All is well."], [odd])
    first, second = store(), store()
    async with opened(second):
        async with Runtime(first, agents=[of]) as runtime:
            await run_one(runtime, of, session_id="one")
            handle = runtime.session("one")
            await handle.send("Go on.")
            await ended(runtime, "one")
            await handle.resolve("retry", call=(2, 0))
            before = await ended(runtime, "one")
            stored = await journal(first, "one")
        assert isinstance(before, HandedOver) and before.reason == reason
        assert ran == ["a", "b", "a"]
        last = max(at for at, each in enumerate(stored) if isinstance(each, Late))
        (over,) = [at for at, each in enumerate(stored) if at > last and isinstance(each, Ended)]
        kept = [each for each in stored[:over] if not isinstance(each, Opened)]
        await put_history(second, "one", [[each] for each in kept])
        async with Runtime(second, agents=[of]) as runtime:
            after = await ended(runtime, "one")
            (head,) = await runtime.sessions()
    assert isinstance(after, HandedOver)
    assert (after.reason, after.detail) == (before.reason, before.detail)
    assert after.dossier.upstream_error == before.dossier.upstream_error
    assert after.dossier.failed_step == before.dossier.failed_step
    assert after.dossier.in_doubt == before.dossier.in_doubt
    assert head.status == "handed_over" and ran == ["a", "b", "a"]

"""A person's decision reaches its session whoever drives it: given once, applied once, never lost
silently."""

import uuid
from functools import partial
from random import Random
from typing import Any, Literal

import anyio
import pytest
from msgspec import structs
from sessions import LoopClock, agent, ended, journal, opened, requests, run_one, until
from store_faults import Fault, FaultyStore

from ukemi import (
    Completed,
    HandedOver,
    Policy,
    Runtime,
    SessionOwned,
    TransientError,
    UsageError,
    tool,
)
from ukemi.actors import DecisionTaken, NoteMessage
from ukemi.actors.agent import Agent
from ukemi.actors.keeper import ASK_S
from ukemi.models import Script, call
from ukemi.stores.base import (
    AlreadyDecided,
    Append,
    Create,
    Post,
    Posted,
    PostQuery,
    SessionUnknown,
)
from ukemi.stores.decisions import Resolve, encode_decision
from ukemi.stores.memory import MemoryStore
from ukemi.stores.records import Decided, Late
from ukemi.supervisor.policy_failures import RetryPolicy
from ukemi.supervisor.policy_sessions import StoragePolicy, WaitPolicy

SCRIPT: Script = [call("mail", to="ann"), "Done."]
SOON_S = 2 * ASK_S + 0.5
"""Virtual seconds within which a living runtime has applied a decision."""


class Mail:
    """A tool whose call is cut off after its effect; ``sent`` is what the other side has."""

    def __init__(self) -> None:
        self.sent: list[str] = []

        @tool(timeout_s=1.0)
        async def mail(to: str) -> str:
            self.sent.append(to)
            await anyio.sleep(100)
            return "sent"

        self.tool = mail


def mailer(script: Script = SCRIPT, *tools: Any) -> Agent:
    return agent(script, [Mail().tool, *tools])


def place() -> str:
    return f"memory:{uuid.uuid4().hex}"


def runtime_on(where: Any, of: Agent, **options: Any) -> Runtime:
    return Runtime(where, agents=[of], clock=LoopClock(), **options)


def decision(option: str = "done", about: str = "call 2.0#1", *, by: str = "ann") -> Post:
    body = encode_decision(Resolve(option, (2, 0)))
    return Post(session_id="one", about=about, body=body, at_ms=7, by=by)


async def doubtful(runtime: Runtime, of: Agent, session_id: str = "one") -> None:
    """Run a session into its doubt."""
    outcome = await run_one(runtime, of, session_id=session_id)
    assert isinstance(outcome, HandedOver) and outcome.reason == "in_doubt"


async def post(where: str, *posts: Post) -> None:
    """Post as another process does."""
    async with opened(MemoryStore(where.removeprefix("memory:"))) as store:
        await store.commit(posts)


async def decided(where: str, session_id: str = "one") -> list[Decided]:
    async with opened(MemoryStore(where.removeprefix("memory:"))) as store:
        return [each for each in await journal(store, session_id) if isinstance(each, Decided)]


async def is_decided(where: str, session_id: str) -> bool:
    return bool(await decided(where, session_id))


async def settled(runtime: Runtime, session_id: str = "one") -> bool:
    return not (await runtime.session(session_id).inspect()).in_doubt


# ---------------------------------------------------------------- delivery


async def test_a_living_runtime_applies_what_another_process_posted() -> None:
    where, of = place(), mailer()
    async with runtime_on(where, of) as runtime:
        await doubtful(runtime, of)
        await post(where, decision())
        await until(partial(settled, runtime), SOON_S, 0.1)
        assert await ended(runtime, "one") == Completed("Done.")
    (taken,) = await decided(where)
    assert (taken.by, taken.at_ms, taken.problem) == ("ann", 7, "")
    assert taken.decision == Resolve("done", (2, 0))


async def test_a_runtime_that_is_entered_takes_up_what_waits() -> None:
    where, of = place(), mailer()
    async with runtime_on(where, of) as runtime:
        await doubtful(runtime, of)
    await post(where, decision())
    async with runtime_on(where, of) as runtime:
        await until(partial(settled, runtime), 0.5, 0.01)
        assert await ended(runtime, "one") == Completed("Done.")


async def test_an_owner_elsewhere_gets_it_and_nobody_else_does() -> None:
    """Two runtimes over one store: the one that drives the session applies what the other was told."""

    @tool(effect="read")
    async def ponder() -> str:
        await anyio.sleep(60)
        return "thought"

    where, of = place(), mailer([call("mail", to="ann"), call("ponder"), "Done."], ponder)
    async with runtime_on(where, of) as driver, runtime_on(where, of) as other:
        await doubtful(driver, of)
        handle = driver.session("one")
        await handle.send("go on")
        await anyio.sleep(5)
        owner = (await handle.inspect()).owner
        await other.session("one").resolve("done", by="ann")
        with pytest.raises(SessionOwned):
            await other.session("one").outcome()
        await until(partial(settled, driver), SOON_S, 0.1)
        assert (await handle.inspect()).owner == owner
        assert await ended(driver, "one") == Completed("Done.")
    assert any("did take effect" in each.text for each in notes(of))
    assert len(await decided(where)) == 1


def notes(of: Agent) -> list[NoteMessage]:
    return [each for each in requests(of)[-1].messages if isinstance(each, NoteMessage)]


async def test_without_adopting_only_sessions_driven_here_are_decided() -> None:
    where, of = place(), mailer()
    async with runtime_on(where, of) as runtime:
        await doubtful(runtime, of)
    await post(where, decision())
    async with runtime_on(where, of, adopt=False) as runtime:
        await anyio.sleep(10)
        assert not await settled(runtime)
        await runtime.resume("one")
        assert await ended(runtime, "one") == Completed("Done.")
        with pytest.raises(UsageError, match="one is completed"):
            await runtime.resume("one")


async def test_a_decision_waits_for_a_runtime_that_has_the_agent() -> None:
    where, of = place(), mailer()
    async with runtime_on(where, of) as runtime:
        await doubtful(runtime, of)
    async with runtime_on(where, agent(["x"], name="stranger")) as runtime:
        await runtime.session("one").resolve("done", by="ann")
        await anyio.sleep(10)
        assert not await settled(runtime) and runtime.alerts == ()
    async with runtime_on(where, of) as runtime:
        await until(partial(settled, runtime), SOON_S, 0.1)
        assert await ended(runtime, "one") == Completed("Done.")


async def test_a_parked_session_learns_of_it_and_waits_on(store: MemoryStore) -> None:
    """Its wait for an upstream that is down goes on; the doubt is settled meanwhile."""

    @tool(effect="read", upstream="weather")
    async def weather() -> str:
        raise TransientError("closed for an hour", retry_after=3600.0)

    of = mailer([call("mail", to="ann"), call("weather"), "Done."], weather)
    policy = Policy(
        transient=RetryPolicy(attempts_max=2, delay_s_max=4000.0, time_budget_s=8000.0),
        waits=WaitPolicy(park_after_s=10.0),
    )
    async with runtime_on(store, of, policy=policy) as runtime:
        await doubtful(runtime, of)
        handle = runtime.session("one")
        await handle.send("how is the weather?")
        await until(partial(parked_after, store, 0), 30, 0.5)
        before = await store.head("one")
        await store.commit([decision()])
        await until(partial(parked_after, store, before.seq), SOON_S, 0.1)
        assert await settled(runtime)
        assert (await store.head("one")).facts.due_at_ms == before.facts.due_at_ms


async def parked_after(store: MemoryStore, seq: int) -> bool:
    head = await store.head("one")
    return head.status == "parked" and head.seq > seq


async def test_the_event_says_who_decided_what() -> None:
    where, of = place(), mailer()
    async with runtime_on(where, of) as runtime:
        await doubtful(runtime, of)
        handle = runtime.session("one")
        await handle.resolve("done", by="ann")
        events = [each async for each in handle.events() if isinstance(each, DecisionTaken)]
    assert [(each.what, each.by, each.about) for each in events] == [("done", "ann", "call 2.0#1")]


async def test_thousands_of_sessions_are_asked_for_once_a_second() -> None:
    asked = 0

    class Counting(MemoryStore):
        async def posts(self, query: PostQuery) -> list[Posted]:
            nonlocal asked
            asked += 1
            return await super().posts(query)

    @tool(effect="read")
    async def ponder() -> str:
        await anyio.sleep(60)
        return "thought"

    of = agent(lambda request: [call("ponder")], [ponder])
    async with runtime_on(Counting(), of) as runtime:
        for _ in range(300):
            await runtime.start("agent", "go")
        before = asked
        await anyio.sleep(10)
        assert asked - before <= 11
        assert len(await runtime.sessions(status="running", limit=500)) == 300


# ---------------------------------------------------------------- once


async def test_ap_04_one_decision_wins_and_the_losers_are_told() -> None:
    """Decisions from two processes at once, in random order; a repeated equal one is no error."""
    rng = Random(4)
    where, of = place(), mailer()
    async with runtime_on(where, of) as first, runtime_on(where, of) as second:
        for number in range(30):
            name = f"s-{number}"
            await doubtful(first, of, name)
            said = [("done", "ann"), ("done", "bob"), ("abandon", "eve")]
            rng.shuffle(said)
            lost: list[AlreadyDecided] = []

            async def decide(
                runtime: Runtime, at: str, option: str, by: str, to: list[Any]
            ) -> None:
                try:
                    await runtime.session(at).resolve(option, by=by)
                except AlreadyDecided as error:
                    to.append(error)

            async with anyio.create_task_group() as group:
                for option, by in said:
                    runtime = rng.choice([first, second])
                    group.start_soon(decide, runtime, name, option, by, lost)
            # Where the other process held the session just then, its owner applies it soon.
            await until(partial(is_decided, where, name), SOON_S, 0.1)
            (taken,) = await decided(where, name)
            assert taken.decision is not None and not taken.problem
            same = taken.decision.option == "done"
            assert len(lost) == (1 if same else 2)
            for each in lost:
                assert (each.by, each.at_ms) == (taken.by, taken.at_ms)
                assert f"by {taken.by} at 2023-" in str(each)
                assert str(each).endswith(taken.decision.option)


async def test_what_was_decided_is_told_after_it_was_applied_too() -> None:
    where, of = place(), mailer()
    async with runtime_on(where, of) as runtime:
        await doubtful(runtime, of)
        handle = runtime.session("one")
        await handle.resolve("done", by="ann")
        await ended(runtime, "one")
        await handle.resolve("done", call=(2, 0), by="bob")
        for call_named in (None, (2, 0)):
            with pytest.raises(AlreadyDecided, match=r"call 2\.0 was decided before, by ann at"):
                await handle.resolve("not_done", call=call_named)
    assert len(await decided(where)) == 1


async def test_bad_decisions_are_refused_and_nothing_is_posted() -> None:
    where, of = place(), mailer()
    async with runtime_on(where, of) as runtime:
        await doubtful(runtime, of)
        handle = runtime.session("one")
        with pytest.raises(UsageError, match="is unknown"):
            await handle.resolve("perhaps")
        with pytest.raises(UsageError, match=r"9\.0 is not in doubt"):
            await handle.resolve("done", call=(9, 0))
        with pytest.raises(UsageError, match="JSON"):
            await handle.resolve("retry", args={"to": object()})
        with pytest.raises(SessionUnknown):
            await runtime.session("nobody").resolve("done")
    async with opened(MemoryStore(where.removeprefix("memory:"))) as store:
        assert await store.posts(PostQuery()) == []
    assert await decided(where) == []


# ---------------------------------------------------------------- what does not fit


async def test_a_decision_that_fits_no_more_is_recorded_and_told() -> None:
    where, of = place(), mailer()
    async with runtime_on(where, of) as runtime:
        await doubtful(runtime, of)
        stray = structs.replace(decision(), body=encode_decision(Resolve("done", (9, 0))))
        await post(where, stray)
        await anyio.sleep(SOON_S)
        (taken,) = await decided(where)
        assert "9.0 is not in doubt" in taken.problem and taken.by == "ann"
        (alert,) = runtime.alerts
        assert "by ann changed nothing: call 9.0" in alert
        assert (await runtime.session("one").inspect()).status == "handed_over"
        await runtime.session("one").resolve("done", by="bob")  # the question is still open
        assert await ended(runtime, "one") == Completed("Done.")
    assert [each.about for each in await decided(where)] == ["call 2.0#1", "call 2.0#2"]


async def test_arguments_that_cannot_be_are_told_to_whoever_gave_them() -> None:
    where, of = place(), mailer()
    async with runtime_on(where, of) as runtime:
        await doubtful(runtime, of)
        with pytest.raises(UsageError, match="cannot run with these arguments"):
            await runtime.session("one").resolve("retry", args={"nobody": 1})
        assert not await settled(runtime)
        await runtime.session("one").resolve("done")
        assert await ended(runtime, "one") == Completed("Done.")


@pytest.mark.parametrize("damaged", [True, False], ids=["damaged", "of a newer version"])
async def test_what_cannot_be_read_is_told_once_and_holds_up_nothing(damaged: bool) -> None:
    class Damaging(MemoryStore):
        async def posts(self, query: PostQuery) -> list[Posted]:
            found = await super().posts(query)
            return [Posted(each.post, damaged=damaged and not each.post.body) for each in found]

    name = uuid.uuid4().hex
    where, of = f"memory:{name}", mailer()
    async with runtime_on(Damaging(name), of) as runtime:
        await doubtful(runtime, of)
        async with opened(MemoryStore(name)) as store:
            seq = (await store.head("one")).seq
            await post(where, structs.replace(decision(), body=b""))
            await anyio.sleep(20)
            assert len(runtime.alerts) == 1
            # One row where it is recorded; none where it waits, beside the claim's own.
            assert (await store.head("one")).seq <= seq + 1
        if damaged:
            await runtime.session("one").resolve("done")
            assert await ended(runtime, "one") == Completed("Done.")


# ---------------------------------------------------------------- killed anywhere


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("at", range(1, 9))
async def test_a_store_that_is_gone_at_any_commit_neither_loses_nor_repeats_a_decision(
    at: int, when: Literal["before", "after"]
) -> None:
    """From the post on, the ``at``-th commit and all after it fail: as if killed there."""
    name, of = uuid.uuid4().hex, mailer()
    where = f"memory:{name}"
    store = FaultyStore(MemoryStore(name))
    policy = Policy(storage=StoragePolicy(retry_s_max=0.1))
    given = False
    async with runtime_on(store, of, policy=policy) as runtime:
        await doubtful(runtime, of)
        last = store.commits
        store.plan += [
            Fault(at=last + at, when=when, always=False),
            Fault(at=last + at + 1, always=True),
        ]
        with anyio.move_on_after(30):
            try:
                await runtime.session("one").resolve("done", by="ann")
                given = True
            except Exception:  # noqa: BLE001 - whatever it is, the person was not told that it is stored
                given = False
            await anyio.sleep(20)
    async with runtime_on(where, of) as runtime:
        if not given:
            await runtime.session("one").resolve("done", by="ann")  # asked again: the same answer
        assert await ended(runtime, "one") == Completed("Done.")
    async with opened(MemoryStore(name)) as plain:
        entries = await journal(plain, "one")
        assert await plain.posts(PostQuery()) == []
    assert len([each for each in entries if isinstance(each, Decided)]) == 1
    assert len([each for each in entries if isinstance(each, Late)]) == 1


async def test_the_row_that_applies_a_decision_takes_it() -> None:
    """In one transaction: no commit has the one without the other."""
    rows: list[Append | Create] = []

    class Watching(MemoryStore):
        async def commit(self, writes: Any) -> Any:
            rows.extend(each for each in writes if isinstance(each, Append))
            return await super().commit(writes)

    of = mailer()
    async with runtime_on(Watching(), of) as runtime:
        await doubtful(runtime, of)
        await runtime.session("one").resolve("done")
        await ended(runtime, "one")
    (taking,) = [each for each in rows if isinstance(each, Append) and each.taken]
    assert taking.taken == ("call 2.0#1",) and b"decided" in taking.body

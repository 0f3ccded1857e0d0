"""Field cases about asking people: AP-01 to AP-05, DUP-03, and BR-01 where a rule denies."""

import json
import secrets
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import anyio
import pytest
from sessions import LoopClock, agent, case, ended, journal, opened, requests, results, until
from store_faults import Fault, FaultyStore

from ukemi import (
    AlreadyDecided,
    ApprovalRequest,
    Completed,
    HandedOver,
    Policy,
    Runtime,
    UsageError,
    tool,
)
from ukemi.actors.agent import Agent
from ukemi.actors.tooling.tools import AnyTool
from ukemi.models import Reply, call
from ukemi.stores.memory import MemoryStore
from ukemi.stores.records import Decided, Intended, Judged, Requested, Resulted
from ukemi.supervisor.danger.policy import DangerPolicy, DangerRule
from ukemi.supervisor.policy_sessions import StoragePolicy


@pytest.fixture
def where() -> str:
    return f"memory:{secrets.token_hex(8)}"


def runtime_on(where: Any, *agents: Agent, **options: Any) -> Runtime:
    return Runtime(where, agents=agents, clock=LoopClock(), **options)


async def waiting(runtime: Runtime, count: int = 1) -> list[ApprovalRequest]:
    """Return the open requests, once there are so many and their sessions are parked."""

    async def there() -> bool:
        heads = await runtime.sessions(status="parked")
        return sum(len(each.facts.requests) for each in heads) == count

    await until(there, 60.0, 0.05)
    return await runtime.approvals()


async def entries(where: str, kind: type, session_id: str = "one") -> list[Any]:
    async with opened(MemoryStore(where.removeprefix("memory:"))) as store:
        return [each for each in await journal(store, session_id) if isinstance(each, kind)]


def table_dropper(dropped: list[str]) -> Agent:
    @tool(danger="delete")
    async def drop_table(name: str) -> str:
        dropped.append(name)
        return "dropped"

    return agent([call("drop_table", name="tmp_1"), "Done."], [drop_table])


# ---------------------------------------------------------------- AP-01


@pytest.mark.parametrize("verdict", ["approve", "deny"])
@pytest.mark.parametrize("decider", ["the resuming process", "another one before it"])
async def test_AP_01_a_decision_belongs_to_the_durable_call(
    where: str, verdict: Any, decider: str
) -> None:
    """Field case AP-01: nothing of the process that asked is needed by the one that answers.

    The agent is built anew for each runtime, with tools and context of its own.
    """
    dropped: list[str] = []
    async with runtime_on(where, table_dropper(dropped)) as runtime:
        await runtime.start("agent", "go", session_id="one")
        await waiting(runtime)
    later = table_dropper(dropped)
    if decider == "another one before it":
        async with runtime_on(where) as runtime:  # it has no agents at all
            await runtime.decide("one:2.0", verdict, by="ann")
    async with runtime_on(where, later) as runtime:
        if decider == "the resuming process":
            await runtime.decide("one:2.0", verdict, by="ann")
        outcome = await ended(runtime, "one")
    assert len(await entries(where, Requested)) == 1
    assert dropped == (["tmp_1"] if verdict == "approve" else [])
    (result,) = results(list(requests(later)[-1].messages))
    assert isinstance(outcome, Completed if verdict == "approve" else HandedOver)
    assert result.is_error == (verdict == "deny")


# ---------------------------------------------------------------- AP-02


async def test_AP_02_an_approval_is_for_one_exact_action_once(where: str) -> None:
    """Field case AP-02: the amount, the account, the tool or the second time: each asks anew."""
    found = case("AP-02")["setup"]
    moved: list[tuple[str, str, int]] = []

    @tool(danger="money")
    async def transfer(to: str, amount: int) -> str:
        moved.append(("transfer", to, amount))
        return "moved"

    @tool(danger="money")
    async def transfer_v2(to: str, amount: int) -> str:
        moved.append(("transfer_v2", to, amount))
        return "moved"

    tries = found["executed"]
    script: list[Reply] = [
        call(each.get("tool", found["approved"]["tool"]), **each["args"]) for each in tries
    ]
    of = agent([*script, "Done."], [transfer, transfer_v2])
    async with runtime_on(where, of) as runtime:
        await runtime.start("agent", "go", session_id="one")
        (first,) = await waiting(runtime)
        assert json.loads(first.arguments) == found["approved"]["args"]
        await runtime.decide(first, "approve", by="ann")
        for each in tries[1:]:
            assert not each["allowed"]
            (request,) = await waiting(runtime)
            assert request.request != first.request
            assert len(moved) == 1
            await runtime.decide(request, "deny")
        await ended(runtime, "one")
    # The second time, the same call is a new question.
    assert moved == [("transfer", "acct-9", 82000)]
    asked = await entries(where, Requested)
    judged = [each for each in await entries(where, Judged) if each.verdict == "approved"]
    (intent,) = await entries(where, Intended)
    assert len(asked) == len(tries)
    assert [each.digest for each in judged] == [asked[0].digest] == [intent.digest]
    assert [each.digest == asked[0].digest for each in asked] == [True, False, False, False, True]


# ---------------------------------------------------------------- AP-03


async def test_AP_03_a_decision_is_used_by_the_effect_it_allowed(where: str) -> None:
    """Field case AP-03: the resume fails twice after the answer; the answer is still there."""
    deleted: list[str] = []

    @tool(danger="delete")
    async def delete_dir(path: str) -> str:
        deleted.append(path)
        return "deleted"

    def remover() -> Agent:
        return agent([call("delete_dir", path="old"), "Done."], [delete_dir])

    name = where.removeprefix("memory:")
    async with runtime_on(where, remover()) as runtime:
        await runtime.start("agent", "go", session_id="one")
        await waiting(runtime)
    async with runtime_on(where) as runtime:
        await runtime.decide("one:2.0", "approve", by="ann")
    impatient = Policy(storage=StoragePolicy(retry_s_max=0.5))
    for at in (4, 3):
        # The lease, the claim, the decision once: then the intent cannot be stored.
        faulty = FaultyStore(MemoryStore(name), [Fault(at=at, always=True)])
        async with runtime_on(faulty, remover(), policy=impatient) as runtime:
            await anyio.sleep(3.0)
            assert faulty.commits > at and runtime.alerts
        await anyio.sleep(15.0)  # its lease ends
        async with runtime_on(where, adopt=False) as runtime:
            found = await runtime.session("one").inspect()
            assert deleted == [] and found.outcome is None
            assert all(each.state in ("open", "approved") for each in found.approvals)
    async with runtime_on(where, remover()) as runtime:
        assert await ended(runtime, "one") == Completed("Done.")
        assert (await runtime.session("one").inspect()).approvals == ()
    assert deleted == ["old"] and len(await entries(where, Requested)) == 1
    async with runtime_on(where, remover()) as runtime:
        await anyio.sleep(5.0)
        with pytest.raises(AlreadyDecided):
            await runtime.decide("one:2.0", "deny")
    assert deleted == ["old"]


# ---------------------------------------------------------------- AP-04


async def test_AP_04_one_of_many_decisions_wins(where: str) -> None:
    """Field case AP-04: 100 times, three workers at once, in any order."""
    rng = Random(4)
    sent: list[str] = []

    @tool(danger="publish")
    async def send_mail(to: str) -> str:
        sent.append(to)
        return "sent"

    def mailer() -> Agent:
        return agent(lambda _: "Done." if _.messages[-1].__class__.__name__ == "ToolMessage"
                     else call("send_mail", to="all"), [send_mail])  # fmt: skip

    of = mailer()
    async with runtime_on(where, of) as first, runtime_on(where) as second:
        for number in range(100):
            before, session_id = len(sent), f"s-{number}"
            await first.start("agent", "go", session_id=session_id)
            (request,) = await waiting(first)
            lost: list[tuple[str, str]] = []

            async def decide(
                runtime: Runtime,
                verdict: Any,
                by: str,
                request: ApprovalRequest = request,
                lost: list[tuple[str, str]] = lost,
            ) -> None:
                try:
                    await runtime.decide(request, verdict, by=by)
                except AlreadyDecided as error:
                    assert error.by and error.by in str(error)
                    lost.append((verdict, by))

            given = [
                (first, "approve", "worker 1"),
                (second, "approve", "worker 2"),
                (second, "deny", "worker 3"),
            ]
            rng.shuffle(given)
            async with anyio.create_task_group() as group:
                for each in given:
                    group.start_soon(decide, *each)
            await ended(first, session_id)
            (decided,) = await entries(where, Decided, session_id)
            approved = decided.decision.option == "approve"
            assert len(sent) - before == approved
            # A repeated equal decision is no error; the other one is told who was first.
            assert sorted(lost) == (
                [("deny", "worker 3")] if approved else [("approve", "worker 1"), ("approve", "worker 2")]
            )  # fmt: skip


# ---------------------------------------------------------------- AP-05


def deleter(folder: Path) -> Agent:
    @tool(danger="delete")
    async def delete_file(path: str) -> str:
        (folder / path).unlink()
        return "deleted"

    both: Reply = [call("delete_file", path="a.txt"), call("delete_file", path="b.txt")]
    return agent([both, "a.txt is deleted; deleting b.txt was denied."], [delete_file])


async def test_AP_05_each_call_has_its_own_request(where: str, tmp_path: Path) -> None:
    """Field case AP-05: answers in another order, over a restart, reach the calls they are for."""
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text("x")
    async with runtime_on(where, deleter(tmp_path)) as runtime:
        await runtime.start("agent", "go", session_id="one")
        await waiting(runtime, 2)
    of = deleter(tmp_path)
    async with runtime_on(where, of) as runtime:
        listed = {json.loads(each.arguments)["path"]: each for each in await runtime.approvals()}
        assert len({each.request for each in listed.values()}) == 2
        with pytest.raises(UsageError, match="several requests are open"):
            await runtime.decide("one", "approve")
        await runtime.decide(listed["b.txt"], "deny")
        await waiting(runtime, 1)
        await runtime.decide(listed["a.txt"], "approve")
        await ended(runtime, "one")
    assert [each.name for each in tmp_path.iterdir()] == ["b.txt"]  # noqa: ASYNC240
    first, second = await entries(where, Resulted)
    assert [(first.index, first.state), (second.index, second.state)] == [
        (0, "succeeded"),
        (1, "denied"),
    ]


# ---------------------------------------------------------------- DUP-03


async def test_DUP_03_what_was_done_before_a_pause_is_not_done_again(where: str) -> None:
    """Field case DUP-03: two pauses, each answered by a new process."""
    did: list[str] = []

    def note(name: str, **marks: Any) -> AnyTool:
        @tool(name=name, **marks)
        async def act(what: str) -> str:
            did.append(name)
            return "done"

        return act

    def cleaner() -> Agent:
        script: list[Reply] = [
            call("send_notice", what="ops"),
            call("delete_rows", what="1, 2, 3"),
            call("drop_backup", what="all"),
            "Done.",
        ]
        tools = [
            note("send_notice"),
            note("delete_rows", danger="delete"),
            note("drop_backup", danger="delete"),
        ]
        return agent(script, tools)

    async with runtime_on(where, cleaner()) as runtime:
        await runtime.start("agent", "go", session_id="one")
        await waiting(runtime)
    for number in (3, 4):
        async with runtime_on(where, cleaner()) as runtime:
            await runtime.decide("one", "approve")
            if number == 3:
                await waiting(runtime)
            else:
                assert await ended(runtime, "one") == Completed("Done.")
    assert did == ["send_notice", "delete_rows", "drop_backup"]
    assert len(await entries(where, Requested)) == 2
    assert [each.attempt for each in await entries(where, Intended)] == [1, 1, 1]


# ---------------------------------------------------------------- BR-01


@pytest.mark.parametrize("by", ["rule", "person"])
async def test_BR_01_a_denial_is_about_the_aim(where: str, by: str) -> None:
    """Field case BR-01: what a rule or a person denied is not reached another way either."""
    changed: list[str] = []

    def acts(name: str, resource: Callable[..., Any], **marks: Any) -> AnyTool:
        @tool(name=name, resource=resource, **marks)
        async def act(path: str, to: str = "") -> str:
            changed.append(name)
            return "done"

        return act

    def own(path: str, to: str = "") -> str:
        return path

    def both(path: str, to: str = "") -> list[str]:
        return [path, to]

    @tool(effect="read")
    async def read(path: str) -> str:
        return "a key"

    of = agent(
        [
            call("write", path="keys.txt"),
            call("move", path="keys.txt", to="keys.bak"),
            call("append", path="keys.txt"),
            call("read", path="keys.txt"),
            "blocked: writing keys.txt is denied by policy",
        ],
        [acts("write", own), acts("move", both), acts("append", own), read],
    )
    then: Any = "deny" if by == "rule" else "ask"
    rules = (DangerRule(tool="write", when={"path": "keys.txt"}, then=then),)
    policy = Policy(danger=DangerPolicy(rules=rules))
    async with runtime_on(where, of, policy=policy) as runtime:
        await runtime.start("agent", "go", session_id="one")
        if by == "person" and await waiting(runtime):
            await runtime.decide("one", "deny")
        outcome = await ended(runtime, "one")
    assert isinstance(outcome, HandedOver) and outcome.detail.startswith("blocked: ")
    assert outcome.reason == ("blocked" if by == "rule" else "approval")
    assert changed == []
    told = results(list(requests(of)[-1].messages))
    assert [each.is_error for each in told] == [True, True, True, False]

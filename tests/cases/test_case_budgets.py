"""Budgets under parallel calls, shared between sessions, and nested."""

import anyio
import pytest
from sessions import PATIENT, agent, answers, assert_paired, ended, results, run_one

from ukemi import Agent, Budget, Completed, HandedOver, PermissionDenied, Prices, Runtime, tool
from ukemi.actors.accounts import Book
from ukemi.actors.budget import Refusal, Reservation
from ukemi.actors.model import ModelReply, ModelRequest
from ukemi.models import call
from ukemi.models.scripted import Reply
from ukemi.stores.memory import MemoryStore
from ukemi.stores.records import Usage

# ---------------------------------------------------------------- BU-01


class Notes:
    """The tool of BU-01: it takes 50 ms and counts."""

    def __init__(self) -> None:
        self.started: list[int] = []

    def agent(self, *, overlap: bool) -> Agent:
        @tool(overlap=overlap)
        async def note(i: int) -> str:
            self.started.append(i)
            await anyio.sleep(0.05)
            return f"noted {i}"

        return agent([[call("note", i=i) for i in range(8)], "final"], [note])


@pytest.mark.parametrize("overlap", [True, False], ids=["side by side", "one by one"])
class TestBU01:
    async def run(self, store: MemoryStore, *, overlap: bool) -> tuple[Notes, Runtime, HandedOver]:
        notes = Notes()
        of = notes.agent(overlap=overlap)
        async with Runtime(store, agents=[of], policy=PATIENT) as runtime:
            outcome = await run_one(runtime, of, budget=Budget(tool_calls=6), session_id="s-1")
        assert isinstance(outcome, HandedOver)
        return notes, runtime, outcome

    async def test_BU_01_never_more_than_six_bodies_start(
        self, store: MemoryStore, overlap: bool
    ) -> None:
        notes, _, _ = await self.run(store, overlap=overlap)
        assert len(notes.started) == 6

    async def test_BU_01_calls_not_started_have_a_refusal(
        self, store: MemoryStore, overlap: bool
    ) -> None:
        notes, _, _ = await self.run(store, overlap=overlap)
        async with Runtime(store, agents=[notes.agent(overlap=overlap)], policy=PATIENT) as runtime:
            checkpoint = await runtime.session("s-1").checkpoint()
        assert_paired(checkpoint.messages)
        refused = [each for each in checkpoint.tool_history if each.state == "refused"]
        assert len(refused) == 2
        assert all(each.content.startswith("not started: ") for each in refused)
        assert all(
            each.is_error for each in results(checkpoint.messages) if "noted" not in each.content
        )
        assert len([each for each in checkpoint.tool_history if each.state == "succeeded"]) == 6

    async def test_BU_01_the_budget_counts_the_bodies(
        self, store: MemoryStore, overlap: bool
    ) -> None:
        notes, _, _ = await self.run(store, overlap=overlap)
        async with Runtime(store, agents=[notes.agent(overlap=overlap)], policy=PATIENT) as runtime:
            spent = (await runtime.session("s-1").inspect()).spent
        assert spent.tool_calls == len(notes.started)

    async def test_BU_01_the_outcome_names_the_call_budget(
        self, store: MemoryStore, overlap: bool
    ) -> None:
        _, _, outcome = await self.run(store, overlap=overlap)
        assert outcome.reason == "budget"
        assert "tool_calls" in outcome.detail
        assert "6 of 6" in outcome.detail
        assert outcome.dossier.budget["tool_calls of session s-1"] == "6 of 6"

    async def test_BU_01_the_whole_budget_can_be_used(
        self, store: MemoryStore, overlap: bool
    ) -> None:
        """A bound is a bound on both sides: eight calls fit into eight."""
        notes = Notes()
        of = notes.agent(overlap=overlap)
        async with Runtime(store, agents=[of], policy=PATIENT) as runtime:
            assert await run_one(runtime, of, budget=Budget(tool_calls=8)) == Completed("final")
        assert sorted(notes.started) == list(range(8))


# ---------------------------------------------------------------- BU-02

# A thousandth of a dollar for each token of a request: a task of 300 tokens is estimated at 0.30.
# Answers are free here, since a request may be held to a shorter answer but not to a shorter prompt.
PRICES = Prices(input_usd=1000.0, output_usd=0.0)
TASK = "task" * 300


def test_BU_02_ten_reservations_in_one_tick_from_a_session_and_two_children() -> None:
    book = Book({}, {})
    parent = book.open("p", Budget(cost_usd=1.0))
    accounts = [parent, book.open("a", Budget(), parent="p"), book.open("b", Budget(), parent="p")]
    admitted: list[Reservation] = []
    refused: list[Refusal] = []
    for at in range(10):
        reserved = accounts[at % 3].reserve(cost_usd=0.3)
        if isinstance(reserved, Refusal):
            refused.append(reserved)
        else:
            admitted.append(reserved)
        assert parent.left("cost_usd") >= -1e-9
    assert (len(admitted), len(refused)) == (3, 7)
    assert {each.account for each in refused} == {"session p"}
    for at, reserved in enumerate(admitted):
        reserved.account.settle(reserved, cost_usd=0.0 if at == 1 else 0.25)
        reserved.account.settle(reserved, cost_usd=5.0)  # settled already: nothing happens
    assert parent.left("cost_usd") == pytest.approx(0.5)
    assert accounts[1].left("cost_usd") == pytest.approx(0.5)
    assert dict(zip(parent.budget.__struct_fields__, parent.used, strict=True))[
        "cost_usd"
    ] == pytest.approx(0.5)


class Shop:
    """BU-02 as sessions: a parent whose ten children each ask their model once, in the same tick."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.most_held = 0.0
        self.children = agent(self.child_says, name="child", prices=PRICES)
        # The parent's own requests cost nothing, so that the numbers are the children's alone.
        self.parent = agent(
            self.parent_says,
            [self.children.as_tool()],
            name="parent",
            prices=Prices(input_usd=0, output_usd=0),
        )

    async def child_says(self, request: ModelRequest) -> Reply:
        self.asked.append(request.session_id)
        number = len(self.asked)
        await anyio.sleep(1.0)
        if number == 2:
            return PermissionDenied("fails, and costs nothing")
        return ModelReply(text="done", usage=Usage(input_tokens=250))

    def parent_says(self, request: ModelRequest) -> Reply:
        if len(request.messages) == 1:
            return [call("child", task=TASK) for _ in range(10)]
        return ModelReply(text="final")


async def test_BU_02_three_sessions_of_ten_are_admitted_and_the_others_make_no_request(
    store: MemoryStore,
) -> None:
    shop = Shop()
    async with Runtime(store, agents=[shop.parent, shop.children], policy=PATIENT) as runtime:
        budget = Budget(cost_usd=1.0, steps=None)
        await run_one(runtime, shop.parent, budget=budget, session_id="p")
        heads = await runtime.sessions(parent="p")
    assert len(shop.asked) == 3
    assert len(heads) == 10
    reasons = sorted(head.facts.reason or "completed" for head in heads)
    assert reasons == [*["budget"] * 7, "completed", "completed", "permission"]


async def test_BU_02_after_settling_half_is_spent_and_half_is_left(store: MemoryStore) -> None:
    shop = Shop()
    async with Runtime(store, agents=[shop.parent, shop.children], policy=PATIENT) as runtime:
        budget = Budget(cost_usd=1.0, steps=None)
        outcome = await run_one(runtime, shop.parent, budget=budget, session_id="p")
        heads = await runtime.sessions(parent="p")
    assert isinstance(outcome, HandedOver)
    assert outcome.dossier.budget["cost_usd of session p"] == "0.5 of 1"
    assert sum(head.facts.spent.cost_usd for head in heads) == pytest.approx(0.5)


async def test_BU_02_what_is_left_can_be_used_up_by_whoever_comes_later(
    store: MemoryStore,
) -> None:
    shop = Shop()
    groups = {"team": Budget(cost_usd=1.0, seconds=None, steps=None)}
    async with Runtime(store, agents=[shop.children], policy=PATIENT, groups=groups) as runtime:
        for _ in range(10):
            await ended(runtime, (await runtime.start("child", TASK, group="team")).id)
    # One after another: 0.25 + 0 + 0.25 + 0.25, and then 0.25 is left, which is less than 0.30.
    assert len(shop.asked) == 4


async def test_BU_02_a_request_held_to_what_is_left_never_goes_beyond_it(
    store: MemoryStore,
) -> None:
    """Where the answer is what costs, the last request may be admitted with a shorter one."""
    limits: list[int | None] = []

    async def says(request: ModelRequest) -> Reply:
        limits.append(request.output_tokens_max)
        await anyio.sleep(1.0)
        return ModelReply(text="done", usage=Usage(output_tokens=request.output_tokens_max or 0))

    prices = Prices(input_usd=0.0, output_usd=1000.0)
    of = agent(says, prices=prices, output_tokens_max=300)
    groups = {"team": Budget(cost_usd=1.0, seconds=None, steps=None)}
    async with Runtime(store, agents=[of], policy=PATIENT, groups=groups) as runtime:
        handles = [await runtime.start("agent", "go", group="team") for _ in range(10)]
        for each in handles:
            await ended(runtime, each.id)
        spent = [head.facts.spent.cost_usd for head in await runtime.sessions()]
    assert sorted(limit or 0 for limit in limits) == [100, 300, 300, 300]
    assert sum(spent) <= 1.0 + 1e-9


async def test_BU_02_a_group_is_shared_by_sessions_that_know_nothing_of_each_other(
    store: MemoryStore,
) -> None:
    shop = Shop()
    groups = {"team": Budget(cost_usd=1.0, seconds=None, steps=None)}
    async with Runtime(store, agents=[shop.children], policy=PATIENT, groups=groups) as runtime:
        handles = [await runtime.start("child", TASK, group="team") for _ in range(10)]
        outcomes = [await ended(runtime, each.id) for each in handles]
    assert len(shop.asked) == 3
    refused = [
        each for each in outcomes if isinstance(each, HandedOver) and each.reason == "budget"
    ]
    assert len(refused) == 7
    assert all("cost_usd of group team" in each.detail for each in refused)


# ---------------------------------------------------------------- BU-03


class Family:
    """BU-03: a parent that has used 30 of its 90 steps starts three children, each of cap 50."""

    def __init__(self, wants: int = 40, used: int = 30) -> None:
        self.wants, self.used = wants, used
        self.steps: dict[str, int] = {}

        @tool(effect="read")
        async def step() -> str:
            await anyio.sleep(1.0)
            return "ok"

        self.child = agent(self.child_says, [step], name="child")
        delegate = self.child.as_tool(budget=Budget(steps=50, seconds=None))
        self.parent = agent(self.parent_says, [step, delegate], name="parent")

    def child_says(self, request: ModelRequest) -> Reply:
        done = answers(request)
        return call("step") if done < self.wants else "done"

    def parent_says(self, request: ModelRequest) -> Reply:
        done = answers(request)
        # The step that starts the children is one of the thirty.
        if done < self.used - 1:
            return call("step")
        if done == self.used - 1:
            return [call("child", task=f"task {at}") for at in range(3)]
        return "final"


async def family(
    store: MemoryStore, of: Family
) -> tuple[HandedOver | Completed, dict[str, int], list[str]]:
    """Run it; return the parent's outcome, the steps by session, and why children ended."""
    async with Runtime(store, agents=[of.parent, of.child], policy=PATIENT) as runtime:
        budget = Budget(steps=90, seconds=None)
        outcome = await run_one(runtime, of.parent, budget=budget, session_id="p")
        heads = [head for head in await runtime.sessions() if head.facts.parent == "p"]
        details: list[str] = []
        for head in heads:
            ended_so = await runtime.session(head.session_id).outcome()
            details.append(ended_so.detail if isinstance(ended_so, HandedOver) else "completed")
        steps = {head.session_id: head.facts.spent.steps for head in await runtime.sessions()}
    assert isinstance(outcome, HandedOver | Completed)
    return outcome, steps, details


async def test_BU_03_the_family_stays_within_the_parent_s_cap(store: MemoryStore) -> None:
    _, steps, _ = await family(store, Family())
    assert sum(steps.values()) <= 90
    assert sum(count for name, count in steps.items() if name != "p") == 60
    assert steps["p"] == 30


async def test_BU_03_no_child_goes_beyond_its_own_cap(store: MemoryStore) -> None:
    _, steps, details = await family(store, Family(wants=70, used=1))
    assert max(count for name, count in steps.items() if name != "p") <= 50
    assert sum(steps.values()) <= 90
    assert details.count("completed") == 0


async def test_BU_03_a_child_stopped_early_names_the_parent_s_limit(store: MemoryStore) -> None:
    _, _, details = await family(store, Family())
    stopped = [detail for detail in details if detail != "completed"]
    assert stopped
    for detail in stopped:
        assert "steps of session p: 90 of 90" in detail


async def test_BU_03_a_child_stopped_by_its_own_limit_names_its_own(store: MemoryStore) -> None:
    of = Family(wants=60, used=1)
    delegate = of.child.as_tool(budget=Budget(steps=5, seconds=None))
    parent = agent([call("child", task="t"), "final"], [delegate], name="parent")
    async with Runtime(store, agents=[parent, of.child], policy=PATIENT) as runtime:
        await run_one(runtime, parent, budget=Budget(steps=90, seconds=None), session_id="p")
        outcome = await ended(runtime, "p.2.0")
    assert isinstance(outcome, HandedOver)
    assert "steps of session p.2.0: 5 of 5" in outcome.detail


async def test_BU_03_use_is_booked_once_at_the_root(store: MemoryStore) -> None:
    """The family's steps are the sum of what each did itself, however deep the tree is."""
    outcome, steps, _ = await family(store, Family())
    assert isinstance(outcome, HandedOver)
    assert outcome.dossier.budget["steps of session p"] == "90 of 90"
    assert sum(steps.values()) == 90


async def test_BU_03_steps_taken_before_a_restart_count_for_parent_and_child(
    store: MemoryStore,
) -> None:
    """A limit is not refilled by a new process."""
    of = Family()
    with anyio.move_on_after(45.0):
        async with Runtime(store, agents=[of.parent, of.child], policy=PATIENT) as runtime:
            handle = await runtime.start(
                "parent", "go", budget=Budget(steps=90, seconds=None), session_id="p"
            )
            await handle.outcome()
    async with Runtime(store, agents=[of.parent, of.child], policy=PATIENT) as runtime:
        await ended(runtime, "p", 600.0)
        steps = {head.session_id: head.facts.spent.steps for head in await runtime.sessions()}
    assert sum(steps.values()) == 90
    assert max(count for name, count in steps.items() if name != "p") <= 50

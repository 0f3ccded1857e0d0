"""Bad input: each a clear error that names the value, before anything is started or written."""

import math
import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sessions import REAL_BACKENDS, agent, ended, journal, opened, put_history, requests, results

from ukemi import Agent, Budget, Completed, HandedOver, Policy, Prices, Runtime, UsageError, tool
from ukemi.models import ScriptedModel, call
from ukemi.stores.base import SessionExists, SessionUnknown, StoreError, StoreUnusable
from ukemi.stores.memory import MemoryStore
from ukemi.stores.records import Answered, Opened, Resulted, Said, ToolCall
from ukemi.stores.sqlite import SqliteStore


@pytest.fixture(params=REAL_BACKENDS)
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, object]]:
    """Some of these open files."""
    backend: tuple[str, dict[str, object]] = request.param
    return backend


def says_it(error: BaseException, *words: str) -> None:
    """The message holds each of these words."""
    for word in words:
        assert word in str(error), f"{word!r} is not in: {error}"


# ---------------------------------------------------------------- the store's place


def a_directory(folder: Path) -> Path:
    (folder / "here").mkdir()
    return folder / "here"


def no_parent(folder: Path) -> Path:
    return folder / "missing" / "store.db"


def some_text(folder: Path) -> Path:
    path = folder / "notes.txt"
    path.write_text("these are notes, and no database of any kind" * 100)
    return path


def another_database(folder: Path) -> Path:
    path = folder / "other.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE customers (name TEXT)")
        connection.execute("INSERT INTO customers VALUES ('Ada')")
    return path


def a_parent_that_is_a_file(folder: Path) -> Path:
    (folder / "file").write_text("x")
    return folder / "file" / "store.db"


PLACES = [a_directory, no_parent, some_text, another_database, a_parent_that_is_a_file]


@pytest.mark.parametrize("place", PLACES, ids=lambda each: each.__name__)
async def test_a_wrong_place_for_the_store_is_named_and_left_as_it_is(
    tmp_path: Path, place: Callable[[Path], Path]
) -> None:
    path = place(tmp_path)
    before = snapshot(tmp_path)
    with pytest.raises(StoreUnusable) as raised:
        async with Runtime(path, agents=[agent(["done"])]):
            pytest.fail("the runtime was entered")
    says_it(raised.value, str(path if path.parent.is_dir() else path.parent))
    assert snapshot(tmp_path) == before


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="needs a folder nobody may write")
async def test_a_place_that_cannot_be_written_is_named() -> None:
    with pytest.raises(StoreUnusable) as raised:
        async with Runtime("/proc/self/store.db"):
            pytest.fail("the runtime was entered")
    says_it(raised.value, "/proc/self")


def snapshot(folder: Path) -> dict[str, bytes | None]:
    return {
        str(each.relative_to(folder)): each.read_bytes() if each.is_file() else None
        for each in sorted(folder.rglob("*"))
    }


@pytest.mark.parametrize("where", ["", "  ", "sqlite:", "sqlite:///x.db", "redis:here", "a\0b"])
def test_a_name_of_no_store_is_refused_where_it_is_given(where: str) -> None:
    with pytest.raises(UsageError) as raised:
        Runtime(where)
    says_it(raised.value, repr(where))


async def test_a_store_of_a_newer_schema_is_refused_and_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    async with Runtime(path, agents=[agent(["done"])]) as runtime:
        await ended(runtime, (await runtime.start("agent", "go")).id, 20.0)
    with closing(sqlite3.connect(path)) as connection, connection:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        connection.execute(f"PRAGMA user_version = {version + 1}")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    before = path.read_bytes()
    with pytest.raises(StoreUnusable) as raised:
        async with Runtime(path, agents=[agent(["done"])]):
            pytest.fail("the runtime was entered")
    says_it(raised.value, str(path), "newer")
    assert path.read_bytes() == before


async def test_after_a_refusal_the_right_place_works(tmp_path: Path) -> None:
    """Nothing is kept of the failed attempt."""
    with pytest.raises(StoreUnusable):
        async with Runtime(no_parent(tmp_path)):
            pytest.fail("the runtime was entered")
    of = agent(["done"])
    async with Runtime(tmp_path / "store.db", agents=[of]) as runtime:
        handle = await runtime.start("agent", "go")
        assert await ended(runtime, handle.id, 20.0) == Completed("done")


# ---------------------------------------------------------------- agents and tools


async def test_an_unknown_agent_is_named_at_start_with_those_there_are() -> None:
    agents = [agent(["x"], name="buyer"), agent(["x"], name="seller")]
    async with Runtime("memory:", agents=agents) as runtime:
        with pytest.raises(UsageError) as raised:
            await runtime.start("byer", "go")
        says_it(raised.value, "'byer'", "buyer", "seller")
        assert await runtime.sessions() == []


async def test_an_unknown_agent_is_named_on_resume_and_the_session_stays_as_it_is() -> None:
    store = MemoryStore()
    async with opened(store):
        await put_history(store, "s-1", [[Opened("gone", 1), Said(1, "go")]], agent="gone")
        before = await store.head("s-1")
    async with Runtime(store, agents=[agent(["x"])]) as runtime:
        assert any("s-1" in alert and "'gone'" in alert for alert in runtime.alerts)
        for refused in (
            runtime.resume("s-1"),
            runtime.session("s-1").send("go on"),
            runtime.session("s-1").cancel(),
        ):
            with pytest.raises(UsageError) as raised:
                await refused
            says_it(raised.value, "'gone'", "agent")
        assert [head.session_id for head in await runtime.sessions()] == ["s-1"]
        assert (await runtime.session("s-1").checkpoint()).checkpoint_counter == 0
        assert (await runtime.sessions())[0] == before
    # With the agent back it goes on.
    async with Runtime(store, agents=[agent(["done"], name="gone")]) as runtime:
        assert await ended(runtime, "s-1", 20.0) == Completed("done")


def test_two_agents_of_one_name_are_refused() -> None:
    with pytest.raises(UsageError, match="'buyer'"):
        Runtime("memory:", agents=[agent(["x"], name="buyer"), agent(["y"], name="buyer")])


@pytest.mark.parametrize("name", ["", "has space", "a/b", "x" * 65, "käufer", "a\n"], ids=repr)
def test_a_bad_name_of_an_agent_is_refused(name: str) -> None:
    with pytest.raises(UsageError) as raised:
        Agent(name, model=ScriptedModel(["x"]))
    says_it(raised.value, repr(name))


@pytest.mark.parametrize(
    "what", ["buyer", 7, ScriptedModel(["x"])], ids=["text", "number", "model"]
)
def test_what_is_no_agent_is_refused(what: Any) -> None:
    with pytest.raises(UsageError, match="no Agent"):
        Runtime("memory:", agents=[what])


@pytest.mark.parametrize("model", [None, "gpt", object()], ids=["None", "text", "object"])
def test_what_is_no_model_is_refused(model: Any) -> None:
    with pytest.raises(UsageError) as raised:
        Agent("buyer", model=model)
    says_it(raised.value, "'buyer'", repr(model))


def test_a_parameter_without_annotation_is_named() -> None:
    with pytest.raises(UsageError) as raised:

        @tool  # pyright: ignore[reportUnknownArgumentType]
        def order(sku, units: int) -> str:  # type: ignore[no-untyped-def]  # pyright: ignore[reportMissingParameterType, reportUnknownParameterType]
            return "ok"

    says_it(raised.value, "'order'", "'sku'")


def test_two_tools_of_one_name_are_refused_where_the_agent_is_made() -> None:
    @tool(name="order")
    def one(sku: str) -> str:
        return sku

    @tool(name="order")
    def two(sku: str) -> str:
        return sku

    with pytest.raises(UsageError) as raised:
        agent(["x"], [one, two])
    says_it(raised.value, "'order'")


def test_a_plain_function_is_no_tool() -> None:
    def order(sku: str) -> str:
        return sku

    with pytest.raises(UsageError, match="order"):
        agent(["x"], [order])  # type: ignore[list-item]  # pyright: ignore[reportArgumentType]


def test_a_tool_whose_secret_the_runtime_does_not_have_is_refused() -> None:
    @tool(secrets=["api_token"])
    async def order(sku: str, api_token: str) -> str:
        return sku

    of = agent(["x"], [order])
    with pytest.raises(UsageError) as raised:
        Runtime("memory:", agents=[of])
    says_it(raised.value, "'order'", "'api_token'")


# ---------------------------------------------------------------- arguments


BAD_ARGUMENTS: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "a wrong type": ({"sku": "A-17", "units": "three"}, ("units",)),
    "a missing one": ({"sku": "A-17"}, ("units",)),
    "one too many": ({"sku": "A-17", "units": 3, "colour": "red"}, ("colour",)),
    "null": ({"sku": None, "units": 3}, ("sku",)),
}


@pytest.mark.parametrize("row", list(BAD_ARGUMENTS.values()), ids=list(BAD_ARGUMENTS))
async def test_arguments_that_do_not_match_go_to_the_model_as_a_correction(
    row: tuple[dict[str, Any], tuple[str, ...]],
) -> None:
    arguments, at_fault = row
    ran: list[str] = []

    @tool
    async def order(sku: str, units: int) -> str:
        ran.append(sku)
        return "ordered"

    of = agent([call("order", **arguments), call("order", sku="A-17", units=3), "done"], [order])
    async with Runtime("memory:", agents=[of]) as runtime:
        handle = await runtime.start("agent", "go")
        assert await ended(runtime, handle.id, 20.0) == Completed("done")
        first, second = (await handle.checkpoint()).tool_history
    (result, *_) = results(requests(of)[1].messages)
    assert result.is_error
    for field in at_fault:
        assert field in result.content
    assert "corrections left: 3" in result.content
    assert (first.state, first.error_class) == ("refused", "invalid_argument")
    assert second.state == "succeeded"
    assert ran == ["A-17"]


async def test_three_corrections_are_the_most_and_then_a_person_is_asked() -> None:
    @tool
    async def order(units: int) -> str:
        raise AssertionError("no body may run")

    of = agent(lambda _: call("order", units="many"), [order])
    async with Runtime("memory:", agents=[of]) as runtime:
        handle = await runtime.start("agent", "go")
        outcome = await ended(runtime, handle.id, 20.0)
        history = (await handle.checkpoint()).tool_history
        spent = (await handle.inspect()).spent
    assert isinstance(outcome, HandedOver)
    assert outcome.reason == "planning"
    assert "3 corrections" in outcome.detail
    assert outcome.dossier.input == '{"units":"many"}'
    assert "units" in outcome.dossier.upstream_error
    # One call and three corrected ones, all refused before a body ran.
    assert [each.state for each in history] == ["refused"] * 4
    assert (spent.corrections, spent.tool_calls) == (3, 0)
    told = [each.content for each in results(requests(of)[-1].messages)]
    assert all(f"corrections left: {n}" in text for n, text in zip((3, 2, 1), told, strict=True))


async def test_a_success_between_two_faults_begins_a_new_series() -> None:
    @tool
    async def order(units: int) -> str:
        return "ordered"

    bad, good = call("order", units="many"), call("order", units=1)
    of = agent([bad, bad, bad, good, bad, bad, bad, good, "done"], [order])
    async with Runtime("memory:", agents=[of]) as runtime:
        handle = await runtime.start("agent", "go")
        assert await ended(runtime, handle.id, 20.0) == Completed("done")


async def test_a_limit_of_corrections_counts_over_all_tools() -> None:
    @tool
    async def order(units: int) -> str:
        return "ordered"

    bad, good = call("order", units="many"), call("order", units=1)
    of = agent([bad, good, bad, good, bad, "done"], [order])
    async with Runtime("memory:", agents=[of]) as runtime:
        handle = await runtime.start("agent", "go", budget=Budget(corrections=2))
        outcome = await ended(runtime, handle.id, 20.0)
    assert isinstance(outcome, HandedOver)
    assert outcome.reason == "budget"
    assert "corrections" in outcome.detail


async def test_a_tool_nobody_knows_is_a_correction_too_that_names_the_near_one() -> None:
    @tool
    async def order(units: int) -> str:
        return "ordered"

    of = agent([call("ordr", units=1), call("order", units=1), "done"], [order])
    async with Runtime("memory:", agents=[of]) as runtime:
        handle = await runtime.start("agent", "go", session_id="s-1")
        assert await ended(runtime, handle.id, 20.0) == Completed("done")
    (result, *_) = results(requests(of)[1].messages)
    assert "'ordr'" in result.content and "order" in result.content


async def test_corrections_survive_a_restart() -> None:
    """A new process does not begin a new series."""
    store = MemoryStore()

    @tool
    async def order(units: int) -> str:
        raise AssertionError("no body may run")

    of = agent(lambda _: call("order", units="many"), [order])
    async with opened(store):
        refused = [
            Resulted(n, 0, k, "no", "refused", "invalid_argument") for k, n in enumerate((2, 3), 1)
        ]
        await put_history(store, "s-1", [[Opened("agent", 1), Said(1, "go")], *answered(refused)])
    async with Runtime(store, agents=[of]) as runtime:
        outcome = await ended(runtime, "s-1", 20.0)
        assert isinstance(outcome, HandedOver)
        assert outcome.reason == "planning"
    async with opened(store):
        entries = await journal(store, "s-1")
    assert len([each for each in entries if isinstance(each, Resulted)]) == 4


def answered(refused: list[Resulted]) -> list[list[Any]]:
    return [
        [Answered(each.n, "", (ToolCall("c", "order", '{"units":"many"}'),), ledger=True), each]
        for each in refused
    ]


# ---------------------------------------------------------------- task, budget, ids


@pytest.mark.parametrize("task", ["", "   ", "\n\t", None, 7, b"go"], ids=repr)
async def test_an_empty_task_is_refused(task: Any) -> None:
    async with Runtime("memory:", agents=[agent(["x"])]) as runtime:
        with pytest.raises(UsageError) as raised:
            await runtime.start("agent", task)
        says_it(raised.value, repr(task), "task")
        assert await runtime.sessions() == []


LIMITS = Budget.__struct_fields__


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("value", [-1, -0.5, math.nan, True, False, "10", [1]], ids=repr)
def test_an_impossible_limit_is_refused(limit: str, value: Any) -> None:
    with pytest.raises(UsageError) as raised:
        Budget(**{limit: value})
    says_it(raised.value, limit, repr(value))


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("value", [0, 1, 10**12, None])
def test_a_possible_limit_is_taken(limit: str, value: Any) -> None:
    assert getattr(Budget(**{limit: value}), limit) == value


async def test_a_budget_of_nothing_runs_nothing() -> None:
    of = agent(["x"])
    async with Runtime("memory:", agents=[of]) as runtime:
        handle = await runtime.start("agent", "go", budget=Budget(model_calls=0))
        outcome = await ended(runtime, handle.id, 20.0)
    assert isinstance(outcome, HandedOver)
    assert outcome.reason == "budget"
    assert requests(of) == []


async def test_a_limit_in_dollars_needs_a_model_with_prices() -> None:
    priced = agent(["done"], name="priced", prices=Prices(input_usd=1, output_usd=1))
    async with Runtime("memory:", agents=[agent(["x"]), priced]) as runtime:
        with pytest.raises(UsageError) as raised:
            await runtime.start("agent", "go", budget=Budget(cost_usd=1.5))
        says_it(raised.value, "cost_usd=1.5", "'agent'", "prices")
        assert await runtime.sessions() == []
        handle = await runtime.start("priced", "go", budget=Budget(cost_usd=1.5))
        assert await ended(runtime, handle.id, 20.0) == Completed("done")


async def test_what_is_no_budget_is_refused() -> None:
    async with Runtime("memory:", agents=[agent(["x"])]) as runtime:
        with pytest.raises(UsageError, match="budget"):
            await runtime.start("agent", "go", budget={"steps": 3})  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        assert await runtime.sessions() == []


BAD_IDS = ["", " ", "a b", "a/b", "../x", "ä", "x" * 201, "a\n", "a!", None, 7]


@pytest.mark.parametrize("session_id", BAD_IDS, ids=repr)
async def test_a_bad_session_id_is_refused(session_id: Any) -> None:
    async with Runtime("memory:", agents=[agent(["x"])]) as runtime:
        if session_id is None:
            return  # None asks for a fresh one
        with pytest.raises(UsageError) as raised:
            await runtime.start("agent", "go", session_id=session_id)
        says_it(raised.value, repr(session_id), "session_id")
        assert await runtime.sessions() == []


async def test_an_id_that_is_taken_is_refused_and_the_session_undisturbed() -> None:
    of = agent(["done"])
    async with Runtime("memory:", agents=[of]) as runtime:
        await runtime.start("agent", "first", session_id="s-1")
        with pytest.raises(SessionExists, match="s-1"):
            await runtime.start("agent", "second", session_id="s-1")
        assert await ended(runtime, "s-1", 20.0) == Completed("done")
        with pytest.raises(SessionExists, match="s-1"):
            await runtime.start("agent", "third", session_id="s-1")
    assert len(requests(of)) == 1


@pytest.mark.parametrize("store", ["memory", "sqlite"])
async def test_an_unknown_session_is_named_by_every_call(tmp_path: Path, store: str) -> None:
    where = MemoryStore() if store == "memory" else SqliteStore(tmp_path / "store.db")
    async with Runtime(where, agents=[agent(["x"])]) as runtime:
        handle = runtime.session("s-404")
        for refused in (
            handle.send("hello"),
            handle.outcome(),
            handle.inspect(),
            handle.checkpoint(),
            handle.checkpoint(3),
            handle.cancel(),
            handle.result_text(1),
            runtime.resume("s-404"),
            anext(handle.events()),
        ):
            with pytest.raises(SessionUnknown, match="s-404"):
                await refused
        assert await runtime.sessions() == []


async def test_a_checkpoint_that_is_not_there_is_named() -> None:
    async with Runtime("memory:", agents=[agent(["done"])]) as runtime:
        handle = await runtime.start("agent", "go", session_id="s-1")
        await ended(runtime, "s-1", 20.0)
        for counter in (-1, 1, 99):
            with pytest.raises(StoreError) as raised:
                await handle.checkpoint(counter)
            says_it(raised.value, "s-1", str(counter))


async def test_resuming_what_has_ended_says_what_to_do_instead() -> None:
    async with Runtime("memory:", agents=[agent(["done"])]) as runtime:
        await runtime.start("agent", "go", session_id="s-1")
        await ended(runtime, "s-1", 20.0)
        with pytest.raises(UsageError) as raised:
            await runtime.resume("s-1")
        says_it(raised.value, "s-1", "completed", "message")


@pytest.mark.parametrize("value", ["0", True, 1.0], ids=repr)
async def test_a_counter_that_is_no_whole_number_is_named(value: Any) -> None:
    async with Runtime("memory:", agents=[agent(["done"])]) as runtime:
        session = await runtime.start("agent", "go")
        await ended(runtime, session.id, 20.0)
        for look in (session.checkpoint, session.result_text):
            with pytest.raises(UsageError) as raised:
                await look(value)
            says_it(raised.value, "counter", repr(value))


@pytest.mark.parametrize("value", [None, 7, b"s-1:2.0", ("s-1", 2, 0)], ids=repr)
async def test_a_request_that_is_none_is_named(value: Any) -> None:
    async with Runtime("memory:") as runtime:
        with pytest.raises(UsageError) as raised:
            await runtime.decide(value, "approve")
        says_it(raised.value, "request", repr(value))


async def test_a_parent_that_is_not_active_is_named() -> None:
    async with Runtime("memory:", agents=[agent(["done"])]) as runtime:
        with pytest.raises(UsageError, match="'nobody'"):
            await runtime.start("agent", "go", parent="nobody")
        assert await runtime.sessions() == []


def test_a_runtime_that_was_not_entered_says_so() -> None:
    runtime = Runtime("memory:", agents=[agent(["x"])])
    for use in (lambda: runtime.session("s-1"), runtime.tree):
        with pytest.raises(UsageError, match="async with"):
            use()


async def test_a_runtime_is_entered_once() -> None:
    runtime = Runtime("memory:", agents=[agent(["x"])])
    async with runtime:
        with pytest.raises(UsageError, match="once"):
            await runtime.__aenter__()
    with pytest.raises(UsageError, match="once"):
        await runtime.__aenter__()


# ---------------------------------------------------------------- policy


POLICIES: dict[str, tuple[str, tuple[str, ...]]] = {
    "an unknown key": ("[transient]\nattempts = 3\n", ("attempts", "transient")),
    "an unknown section": ("[transcendent]\nattempts_max = 3\n", ("transcendent",)),
    "a negative number": ("[transient]\nattempts_max = -1\n", ("attempts_max", "-1")),
    "a text for a number": ('[transient]\nattempts_max = "few"\n', ("attempts_max",)),
    "a first wait above the longest": (
        "[rate_limited]\ndelay_s_first = 60.0\ndelay_s_max = 5.0\n",
        ("delay_s_first", "60", "5"),
    ),
    "not a number": ("[transient]\ndelay_s_first = nan\n", ("delay_s_first", "nan")),
    "a share above one": ("[budget]\nsoft_share = 1.5\n", ("soft_share", "1.5")),
    "nothing kept": ("[storage]\ncheckpoints_kept = 0\n", ("checkpoints_kept", "0")),
    "no TOML": ("attempts_max: 3\n", ()),
}


@pytest.mark.parametrize("row", list(POLICIES.values()), ids=list(POLICIES))
async def test_a_policy_file_that_cannot_be_is_named_with_its_key(
    tmp_path: Path, row: tuple[str, tuple[str, ...]]
) -> None:
    text, words = row
    path = tmp_path / "policy.toml"
    path.write_text(text)
    with pytest.raises(UsageError) as raised:
        Runtime("memory:", policy=path)
    says_it(raised.value, str(path), *words)
    # A running runtime keeps the policy it has.
    async with Runtime("memory:", policy=Policy()) as runtime:
        with pytest.raises(UsageError) as raised:
            runtime.reload_policy(path)
        says_it(raised.value, str(path), *words)
        assert runtime.reload_policy() == Policy()


def test_a_policy_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as raised:
        Runtime("memory:", policy=tmp_path / "none.toml")
    says_it(raised.value, str(tmp_path / "none.toml"))


# ---------------------------------------------------------------- numbers of the runtime


@pytest.mark.parametrize("value", [0, -1.0, math.nan, math.inf, True, "10"], ids=repr)
def test_an_impossible_lease_is_refused(value: Any) -> None:
    with pytest.raises(UsageError) as raised:
        Runtime("memory:", lease_s=value)
    says_it(raised.value, "lease_s", repr(value))


@pytest.mark.parametrize("value", ["fullest", "", None, 1], ids=repr)
def test_an_unknown_durability_is_refused(tmp_path: Path, value: Any) -> None:
    with pytest.raises(UsageError) as raised:
        Runtime(tmp_path / "store.db", durability=value)
    says_it(raised.value, "durability", repr(value))


@pytest.mark.parametrize("kind", ["groups", "tenants"])
def test_what_is_no_budget_of_a_group_is_refused(kind: str) -> None:
    wrong: dict[str, Any] = {kind: {"team": 5}}
    with pytest.raises(UsageError) as raised:
        Runtime("memory:", **wrong)
    says_it(raised.value, kind, "team")


async def test_a_list_of_sessions_by_a_status_that_is_none_is_refused() -> None:
    async with Runtime("memory:") as runtime:
        with pytest.raises(UsageError) as raised:
            await runtime.sessions(status="finished")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        says_it(raised.value, "'finished'", "completed")

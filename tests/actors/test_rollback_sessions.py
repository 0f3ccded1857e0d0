"""Sessions rolled back: what is looked at, who is told, what waits, what is left."""

from pathlib import Path
from typing import Any

import anyio
import pytest
from rolled import FREE, TOOLS, Rig, worker
from sessions import agent, assert_paired, ended, journal, opened, requests, until
from work_trees import put

from ukemi import (
    Budget,
    Completed,
    HandedOver,
    PermissionDenied,
    Policy,
    Runtime,
    Snapshots,
    Stopped,
    UsageError,
    tool,
)
from ukemi.actors import CheckpointStored, NoteMessage, SessionRolledBack, UserMessage
from ukemi.actors.tooling.marks import Declared, settle
from ukemi.actors.workspaces import Workspaces
from ukemi.models import call
from ukemi.stores.records import Intended, Resulted, RolledBack, RollingBack, Undone
from ukemi.stores.sqlite import SqliteStore
from ukemi.supervisor.policy_sessions import PlanningPolicy


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, Any]]:
    """Files are looked at in threads, so the clock is the real one."""
    return "asyncio", {"use_uvloop": False}


def sh(command: str) -> Any:
    return call("shell", command=command)


async def entries_in(rig: Rig, session_id: str) -> list[Any]:
    async with opened(SqliteStore(rig.store)) as store:
        return list(await journal(store, session_id))


async def until_rolling(rig: Rig, session_id: str) -> None:
    """Return once it is stored that the session is rolled back."""

    async def is_stored() -> bool:
        entries = await entries_in(rig, session_id)
        return any(isinstance(each, RollingBack) for each in entries)

    await until(is_stored, 60)


# ---------------------------------------------------------------- what is looked at


async def test_only_what_may_write_files_is_looked_at(tmp_path: Path) -> None:
    """A tool that has nothing to do with files costs no walk, and declared paths cost only those."""
    looked: list[Any] = []

    @tool
    async def order() -> str:
        return "ordered"

    @tool(paths="path")
    def touch(path: str, folder: str = ".") -> str:
        (rig.tree / path).write_text("touched")
        return "touched"

    rig = Rig(tmp_path, {"a": "v1"})
    of = worker(
        [call("order"), call("touch", path="new/../b"), sh("printf v2 > a"), "done"],
        [order, touch, *TOOLS],
    )
    look = Workspaces.look

    async def spy(self: Workspaces, directory: str, paths: Any = None) -> Any:
        looked.append(paths)
        return await look(self, directory, paths)

    (rig.tree / "new").mkdir()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Workspaces, "look", spy)
        async with rig.runtime(of) as runtime:
            session, _ = await rig.start(runtime, of)
    assert looked == [("new/../b",), ("new/../b",), None, None]
    results = [each for each in await entries_in(rig, session.id) if isinstance(each, Resulted)]
    assert [len(each.windows) for each in results] == [0, 1, 1]


async def test_a_session_without_a_directory_of_its_own_is_not_kept(tmp_path: Path) -> None:
    """Nobody asked to have the process's own folder read, however large it is."""
    rig = Rig(tmp_path, {})
    of = worker([sh("true"), "done"])
    async with rig.runtime(of) as runtime:
        session = await runtime.start(of.name, "go")
        await ended(runtime, session.id, 60)
        with pytest.raises(UsageError, match="no snapshot"):
            await session.rollback(0, "soft", dry_run=True)
    assert not rig.store.with_name("store.db-files").exists()


@pytest.mark.parametrize("within", [True, False])
async def test_the_store_itself_is_no_part_of_the_tree(tmp_path: Path, within: bool) -> None:
    """A rollback must not put the store back that it is written down in."""
    rig = Rig(tmp_path, {"a": "v1"})
    folder = rig.tree if within else tmp_path
    rig.store = folder / "agents.db"
    of = worker([sh("printf v2 > a"), "done"])
    async with rig.runtime(of) as runtime:
        session, _ = await rig.start(runtime, of)
        preview = await session.rollback(0, dry_run=True)
        assert [each.path for each in preview.paths] == ["a"]
        assert (await session.rollback(0)).clean


async def test_a_look_that_fails_takes_nothing_from_the_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk is full: the result stands, the alert is raised, and a rollback past it says so."""
    rig = Rig(tmp_path, {"a": "v1", "b": "v1"})
    of = worker([sh("printf v2 > a"), sh("printf v2 > b"), sh("printf v3 > a"), "done"])
    look = Workspaces.look
    count = 0

    async def full(self: Workspaces, directory: str, paths: Any = None) -> Any:
        nonlocal count
        count += 1
        if count == 3:
            raise OSError(28, "No space left on device")
        return await look(self, directory, paths)

    monkeypatch.setattr(Workspaces, "look", full)
    async with rig.runtime(of) as runtime:
        session, outcome = await rig.start(runtime, of)
        assert outcome == Completed("done")
        assert any("No space left" in each for each in runtime.alerts)
        preview = await session.rollback(1, "soft", dry_run=True)
        assert len(preview.unknown) == 1
        assert "No space left" in preview.unknown[0]
        assert not preview.clean
        report = await session.rollback(1, "soft")
        assert rig.told == {"a": "v2", "b": "v2"}
        assert not report.clean
        assert "no snapshot" in report.kept[0]


async def test_calls_side_by_side_share_a_chain_of_looks(tmp_path: Path) -> None:
    @tool(workspace=True, overlap=True)
    async def note(name: str) -> str:
        (rig.tree / name).write_text("x")
        await anyio.sleep(0.01)
        return "ok"

    rig = Rig(tmp_path, {})
    both = [call("note", name="a"), call("note", name="b")]
    of = agent([both, "done"], [note])
    async with rig.runtime(of) as runtime:
        session, _ = await rig.start(runtime, of)
        results = [each for each in await entries_in(rig, session.id) if isinstance(each, Resulted)]
        assert results[0].windows[0].after == results[1].windows[0].before
        assert (await session.rollback(0)).clean
    assert rig.told == {}


async def test_where_two_sessions_write_at_once_nothing_is_taken_back_unless_forced(
    tmp_path: Path,
) -> None:
    """Nobody knows whose change it is."""
    rig = Rig(tmp_path, {"a": "v1"})
    inside, go = anyio.Event(), anyio.Event()

    @tool(workspace=True)
    async def slow(name: str) -> str:
        (rig.tree / name).write_text("slow")
        inside.set()
        await go.wait()
        return "ok"

    one = agent([call("slow", name="a"), "done"], [slow], name="one")
    two = agent([sh("printf other > b"), "done"], TOOLS, name="two")
    async with Runtime(
        rig.store, agents=[one, two], policy=Policy(danger=FREE), durability="normal"
    ) as runtime:
        first = await runtime.start("one", "go", working_directory=rig.tree)
        await inside.wait()
        second = await runtime.start("two", "go", working_directory=rig.tree)
        await ended(runtime, second.id, 60)
        go.set()
        await ended(runtime, first.id, 60)
        report = await second.rollback(0, "soft")
        assert {each.path: each.did for each in report.paths} == {"b": "conflict"}
        assert (await second.rollback(0, "soft", force=True)).clean
    assert rig.told == {"a": "slow"}


# ---------------------------------------------------------------- sessions that run


async def test_a_session_that_runs_comes_to_the_end_of_its_step_and_rests(tmp_path: Path) -> None:
    rig = Rig(tmp_path, {"a": "v1"})
    inside, go = anyio.Event(), anyio.Event()

    @tool(workspace=True)
    async def slow() -> str:
        (rig.tree / "a").write_text("v2")
        inside.set()
        await go.wait()
        return "ok"

    of = agent([call("slow"), "done", "done"], [slow])
    async with rig.runtime(of) as runtime:
        session = await runtime.start(of.name, "go", working_directory=rig.tree)
        await inside.wait()
        async with anyio.create_task_group() as group:
            group.start_soon(session.rollback, 0)
            await until_rolling(rig, session.id)
            go.set()
        assert rig.text("a") == "v1"
        assert await session.outcome() == Stopped("rolled_back", undone="all")


async def test_what_the_user_says_meanwhile_is_not_dropped(tmp_path: Path) -> None:
    """The conversation goes back; a message given after that was asked for stays, and is answered."""
    rig = Rig(tmp_path, {"a": "v1"})
    inside, go = anyio.Event(), anyio.Event()

    @tool(workspace=True)
    async def slow() -> str:
        (rig.tree / "a").write_text("v2")
        inside.set()
        await go.wait()
        return "ok"

    of = agent([call("slow"), "done"], [slow])
    async with rig.runtime(of) as runtime:
        session = await runtime.start(of.name, "go", working_directory=rig.tree)
        await inside.wait()
        async with anyio.create_task_group() as group:
            group.start_soon(session.rollback, 0)
            await until_rolling(rig, session.id)
            await session.send("another way")
            go.set()
        assert await ended(runtime, session.id, 60) == Completed("done")
    asked = requests(of)[1].messages
    assert asked == (UserMessage("go"), UserMessage("another way"))


async def test_a_session_whose_budget_is_spent_is_rolled_back_all_the_same(tmp_path: Path) -> None:
    @tool(effect="read")
    async def wait() -> str:
        await anyio.sleep(60)
        return "late"

    rig = Rig(tmp_path, {"a": "v1"})
    of = agent([call("write_file", path="a", text="v2"), call("wait")], [wait, *TOOLS])
    async with rig.runtime(of) as runtime:
        session, outcome = await rig.start(runtime, of, budget=Budget(seconds=1.0))
        assert isinstance(outcome, HandedOver)
        assert outcome.reason == "budget"
        assert rig.text("a") == "v1"  # undone already, since it did not complete
        report = await session.rollback(0, "context")
        assert report.state == "done"
        ended_as = await session.outcome()
        assert isinstance(ended_as, Stopped)
        assert ended_as.reason == "rolled_back"


async def test_a_question_to_a_person_is_gone_with_the_call_it_was_about(tmp_path: Path) -> None:
    rig = Rig(tmp_path, {"a": "v1"})
    of = worker([call("write_file", path="a", text="v2"), sh("rm a"), "done", "done"])
    async with rig.runtime(of, policy=Policy()) as runtime:
        session = await runtime.start(of.name, "go", working_directory=rig.tree)

        async def is_asked() -> bool:
            return bool(await runtime.approvals())

        await until(is_asked, 60)
        report = await session.rollback(0)
        assert report.clean
        assert rig.told == {"a": "v1"}
        assert await runtime.approvals() == []
        await session.send("another way")
        await until(is_asked, 60)  # its script does the same again, and that is another question
    for each in requests(of):
        assert_paired(each.messages)


# ---------------------------------------------------------------- effects outside


async def test_effects_outside_are_compensated_where_declared_and_named_where_not(
    tmp_path: Path,
) -> None:
    ledger: list[str] = []

    async def cancel(what: str) -> str:
        ledger.append(f"cancelled {what}")
        return "cancelled"

    @tool(compensate=cancel)
    async def order(what: str) -> str:
        ledger.append(f"ordered {what}")
        return "ordered"

    @tool
    async def mail(to: str) -> str:
        return "sent"

    rig = Rig(tmp_path, {"a": "v1"})
    of = agent(
        [call("order", what="x"), call("mail", to="ann"), sh("printf v2 > a"), "done", "went on"],
        [order, mail, *TOOLS],
    )
    async with rig.runtime(of) as runtime:
        session, _ = await rig.start(runtime, of)
        preview = await session.rollback(0, dry_run=True)
        assert [each.way for each in preview.effects] == ["compensate", "kept", "files"]
        report = await session.rollback(0)
        assert ledger == ["ordered x", "cancelled x"]
        assert report.kept == ("call 3.0 mail",)
        assert not report.clean
        outcome = await session.outcome()
        assert isinstance(outcome, Stopped)
        assert outcome.reason == "rolled_back"
        effects = {each.tool: each.state for each in await session.effects()}
        assert effects == {"order": "compensated", "mail": "succeeded", "shell": "rolled_back"}
        messages = (await session.checkpoint()).messages
    notes = [each.text for each in messages if isinstance(each, NoteMessage)]
    assert "call 3.0 mail" in notes[0]
    assert "order" in notes[1]


async def test_undo_rollback_of_a_tool_takes_its_files_back_when_the_session_fails(
    tmp_path: Path,
) -> None:
    @tool(effect="read")
    async def locked() -> str:
        raise PermissionDenied("no")

    rig = Rig(tmp_path, {"a": "v1"})
    of = agent(
        [call("write_file", path="a", text="v2"), sh("printf n > new"), call("locked")],
        [locked, *TOOLS],
    )
    async with rig.runtime(of) as runtime:
        session, outcome = await rig.start(runtime, of)
    assert isinstance(outcome, HandedOver)
    assert outcome.dossier.undone == "all"
    assert {each.standing for each in outcome.dossier.effects} == {"rolled back"}
    assert rig.told == {"a": "v1"}
    undone = [each for each in await entries_in(rig, session.id) if isinstance(each, Undone)]
    assert all(each.windows for each in undone)


async def test_what_others_changed_is_left_when_a_session_fails_and_said(tmp_path: Path) -> None:
    rig = Rig(tmp_path, {"a": "v1"})

    @tool(effect="read")
    async def locked() -> str:
        put(rig.tree, "a", "by a user")
        raise PermissionDenied("no")

    of = agent([sh("printf v2 > a; printf n > new"), call("locked")], [locked, *TOOLS])
    async with rig.runtime(of) as runtime:
        _, outcome = await rig.start(runtime, of)
    assert isinstance(outcome, HandedOver)
    assert rig.told == {"a": "by a user"}
    effect = outcome.dossier.effects[0]
    assert effect.standing == "not rolled back"
    assert "a: changed since" in effect.detail


# ---------------------------------------------------------------- by policy


@pytest.mark.parametrize(
    ("restart_from", "counter", "left"),
    [("start", 0, "v1"), ("step", 3, "v3"), ("changed", 1, "v2")],
)
async def test_a_plan_that_fails_takes_the_files_back_where_the_policy_says_so(
    tmp_path: Path, restart_from: Any, counter: int, left: str
) -> None:
    @tool(effect="read")
    async def look() -> str:
        return "the same"

    rig = Rig(tmp_path, {"a": "v1"})
    script = [sh("printf v2 > a"), call("look"), sh("printf v3 > a; false"), call("look")]
    of = agent([*script, call("look"), call("look"), *["done"] * 8], [look, *TOOLS])
    planning = PlanningPolicy(
        idle_steps_max=3 if restart_from != "changed" else 2,
        repeats_max=3,
        restarts_max=1,
        restart_from=restart_from,
        restart_mode="full",
    )
    async with rig.runtime(of, policy=Policy(danger=FREE, planning=planning)) as runtime:
        session, _ = await rig.start(runtime, of)
    rolled = [each for each in await entries_in(rig, session.id) if isinstance(each, RolledBack)]
    assert [each.state for each in rolled] == ["done"]
    assert rolled[0].outcome is None
    assert "made no progress" in rolled[0].note
    for each in requests(of):
        assert_paired(each.messages)


# ---------------------------------------------------------------- who may ask, and for what


async def test_what_is_no_rollback_is_refused_and_nothing_is_claimed(tmp_path: Path) -> None:
    rig = Rig(tmp_path, {"a": "v1"})
    of = worker([sh("printf v2 > a"), "done"])
    async with rig.runtime(of) as runtime:
        session, outcome = await rig.start(runtime, of)
        wrong: list[dict[str, Any]] = [
            {"to": -1},
            {"to": True},
            {"to": None},
            {"to": 0, "mode": "hard"},
            {"to": 0, "undo": True},
            {"undo": True},
            {"to": 0.5},
            {"to": "0"},
            {"to": 0, "force": "yes"},
            {"undo": True, "force": 1},
        ]
        for words in wrong:
            with pytest.raises(UsageError):
                await session.rollback(**words)
        assert await session.outcome() == outcome
    assert not any(isinstance(each, RolledBack) for each in await entries_in(rig, session.id))


async def test_an_effect_that_could_not_be_compensated_is_kept(tmp_path: Path) -> None:
    """The report does not say that all is taken back where somebody has to look."""

    async def cancel(result: str) -> None:
        raise PermissionDenied("no right to cancel")

    @tool(compensate=cancel)
    async def order() -> str:
        return "ordered"

    rig = Rig(tmp_path, {"a": "v1"})
    of = worker([sh("printf v2 > a"), call("order"), "done"], [order, *TOOLS])
    async with rig.runtime(of) as runtime:
        session, _ = await rig.start(runtime, of)
        report = await session.rollback(0)
        assert report.state == "done"
        assert not report.clean
        assert report.kept == ("call 3.0 order: not compensated",)
    assert rig.told == {"a": "v1"}


async def test_an_undo_is_over_once_the_conversation_goes_on(tmp_path: Path) -> None:
    rig = Rig(tmp_path, {"a": "v1"})
    of = worker([sh("printf v2 > a"), "done", "done"])
    async with rig.runtime(of) as runtime:
        session, _ = await rig.start(runtime, of)
        await session.rollback(0)
        await session.send("go on")
        await ended(runtime, session.id, 60)
        with pytest.raises(UsageError, match="no rollback that can be taken back"):
            await session.rollback(undo=True)


async def test_a_prune_sums_up_and_the_files_stay(tmp_path: Path) -> None:
    rig = Rig(tmp_path, {"a": "v1"})
    of = worker([*(sh(f"printf {i} > a; seq 2000") for i in range(4)), "done"])
    async with rig.runtime(of) as runtime:
        session, outcome = await rig.start(runtime, of)
        preview = await session.rollback(3, "prune", dry_run=True)
        report = await session.rollback(3, "prune")
        assert report.messages_dropped > 0
        assert preview.messages_dropped > 0
        assert rig.text("a") == "3"
        assert await session.outcome() == outcome


async def test_a_runtime_without_the_agent_rolls_back_what_needs_no_tool(tmp_path: Path) -> None:
    rig = Rig(tmp_path, {"a": "v1"})
    of = worker([sh("printf v2 > a"), "done"])
    async with rig.runtime(of) as runtime:
        session, _ = await rig.start(runtime, of)
    async with Runtime(rig.store, adopt=False, durability="normal") as runtime:
        report = await runtime.session(session.id).rollback(0)
        assert report.clean
        assert await runtime.session(session.id).outcome() == Stopped("rolled_back")
    assert rig.text("a") == "v1"


async def test_it_is_told(tmp_path: Path) -> None:
    rig = Rig(tmp_path, {"a": "v1"})
    of = worker([sh("printf v2 > a"), "done", "done"])
    async with rig.runtime(of) as runtime:
        session, _ = await rig.start(runtime, of)
        await session.rollback(0)
        await session.send("go on")
        seen = [each async for each in session.events()]
    assert any(isinstance(each, CheckpointStored) for each in seen)
    entries = await entries_in(rig, session.id)
    assert sum(isinstance(each, Intended) and bool(each.root) for each in entries) == 2
    assert SessionRolledBack.__struct_config__.tag == "session.rolled_back"


# ---------------------------------------------------------------- marks and settings

MARKS: list[tuple[dict[str, Any], bool]] = [
    ({}, False),
    ({"undo": "rollback"}, True),
    ({"workspace": True}, True),
    ({"paths": "path"}, True),
    ({"undo": "keep"}, False),
]


@pytest.mark.parametrize(("given", "workspace"), MARKS)
def test_a_tool_touches_the_workspace_where_it_says_so(
    given: dict[str, Any], workspace: bool
) -> None:
    assert settle("t", Declared(**given)).workspace is workspace


CONTRADICTIONS: list[dict[str, Any]] = [
    {"undo": "rollback", "workspace": False},
    {"paths": "path", "workspace": False},
    {"effect": "read", "workspace": True},
    {"paths": 3},
    {"workspace": "yes"},
]


@pytest.mark.parametrize("given", CONTRADICTIONS)
def test_marks_that_contradict_each_other_are_refused(given: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        settle("t", Declared(**given))


def test_snapshots_of_a_store_in_memory_need_a_file() -> None:
    with pytest.raises(UsageError, match="need a path"):
        Runtime("memory:", snapshots=True)
    Runtime("memory:")
    Runtime("memory:", snapshots=Snapshots(path="x.db-files"))

"""Rolling sessions back, by field case: RF-01 to RF-08, SY-01, SY-02, CG-02. Real files, shell edits included."""

import os
import stat
from pathlib import Path
from typing import Any

import pytest
from rolled import FREE, Rig, worker
from sessions import assert_paired, ended, journal, opened, requests
from work_trees import put, told

from ukemi import CheckpointUnknown, Completed, HandedOver, Policy, Stopped
from ukemi.actors import NoteMessage, ToolMessage, UserMessage
from ukemi.models import call
from ukemi.stores.records import Resulted, ToolCall
from ukemi.stores.sqlite import SqliteStore
from ukemi.stores.workspace import path_bytes
from ukemi.supervisor.policy_sessions import StoragePolicy


@pytest.fixture(params=[("asyncio", {"use_uvloop": False})], ids=["asyncio"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, object]]:
    """Files are looked at in threads, so the clock is the real one."""
    backend: tuple[str, dict[str, object]] = request.param
    return backend


def sh(command: str) -> ToolCall:
    return call("shell", command=command)


def said(paths: tuple[Any, ...]) -> dict[str, str]:
    return {each.path: each.did for each in paths}


async def test_RF_01_only_the_session_s_own_work_is_rolled_back(tmp_path: Path) -> None:
    rig = Rig(tmp_path, {"src/app.py": "v1", "output/results.jsonl": "line\n" * 100})
    of = worker(
        [
            call("write_file", path="src/app.py", text="v2"),
            call("read_file", path="output/results.jsonl"),
            call("write_file", path="tmp/new.txt", text="new"),
            "done",
        ]
    )
    async with rig.runtime(of) as runtime:
        session, _ = await rig.start(runtime, of)
        with (rig.tree / "output/results.jsonl").open("a") as file:
            file.write("line\n" * 50)
        put(rig.tree, "output/extra.xlsx", "table")
        report = await session.rollback(0)
    assert rig.told == {
        "src": "/",
        "src/app.py": "v1",
        "output": "/",
        "output/results.jsonl": "line\n" * 150,
        "output/extra.xlsx": "table",
    }
    assert said(report.paths) == {
        "src/app.py": "restored",
        "tmp": "deleted",
        "tmp/new.txt": "deleted",
    }
    assert report.clean


async def test_RF_02_rules_of_the_tree_do_not_decide_what_is_deleted(tmp_path: Path) -> None:
    rig = Rig(tmp_path, {".gitignore": "build/\n", "app.py": "v1"})
    of = worker([sh("mkdir build; echo x > build/own.bin; printf v2 > app.py"), "done"])
    async with rig.runtime(of) as runtime:
        session, _ = await rig.start(runtime, of)
        put(rig.tree, ".gitignore", "build/\nsecrets/\n")
        put(rig.tree, "secrets/key.pem", "key")
        put(rig.tree, "build/cache.bin", "theirs")
        report = await session.rollback(0)
    assert rig.told == {
        ".gitignore": "build/\nsecrets/\n",
        "app.py": "v1",
        "secrets": "/",
        "secrets/key.pem": "key",
        "build": "/",
        "build/cache.bin": "theirs",
    }
    assert said(report.paths)["build"] == "conflict"
    assert not report.clean


async def test_RF_03_repositories_in_the_tree_are_no_part_of_it(tmp_path: Path) -> None:
    rig = Rig(
        tmp_path, {".git/HEAD": "ours", "vendor/lib/.git/HEAD": "theirs", "vendor/lib/a.c": "v1"}
    )
    of = worker([sh("printf v2 > vendor/lib/a.c; printf moved > .git/HEAD"), "done"])
    async with rig.runtime(of) as runtime:
        session, _ = await rig.start(runtime, of)
        await session.rollback(0)
    assert told(rig.tree, git=True) == {
        ".git": "/",
        ".git/HEAD": "moved",
        "vendor": "/",
        "vendor/lib": "/",
        "vendor/lib/.git": "/",
        "vendor/lib/.git/HEAD": "theirs",
        "vendor/lib/a.c": "v1",
    }


async def test_RF_04_names_are_bytes(tmp_path: Path) -> None:
    names = [
        "résumé.txt",
        "日本語.md",
        "tab\tname",
        "line\nbreak",
        "-rf",
        'q".txt',
        " lead and trail ",
    ]
    raw = [*(name.encode() for name in names), b"caf\xe9.txt"]
    rig = Rig(tmp_path, dict.fromkeys(raw, "v1"))
    of = worker([sh('for f in ./*; do printf v2 > "$f"; done; printf n > ümlaut-new.txt'), "done"])
    async with rig.runtime(of) as runtime:
        session, _ = await rig.start(runtime, of)
        report = await session.rollback(0)
    assert {path_bytes(name) for name in rig.told} == set(raw)
    assert set(rig.told.values()) == {"v1"}
    async with opened(SqliteStore(rig.store)) as store:
        assert await journal(store, session.id)  # and the record passes through the store
    assert len(report.paths) == 9


async def test_RF_05_modes_are_part_of_the_files(tmp_path: Path) -> None:
    modes = {"creds.yaml": 0o600, "run.sh": 0o755, "ro.txt": 0o444, "group.txt": 0o664}
    rig = Rig(tmp_path, dict.fromkeys(modes, "v1"))
    for name, mode in modes.items():
        (rig.tree / name).chmod(mode)
    of = worker([sh("for f in *; do rm $f; printf v2 > $f; chmod 644 $f; done"), "done"])
    async with rig.runtime(of) as runtime:
        session, _ = await rig.start(runtime, of)
        report = await session.rollback(0)
    assert {name: stat.S_IMODE((rig.tree / name).stat().st_mode) for name in modes} == modes
    assert report.clean


async def test_RF_06_links_do_not_lead_a_rollback_out(tmp_path: Path) -> None:
    outside = tmp_path / "OUTSIDE"
    outside.mkdir()
    (outside / "d1.txt").write_text("host")
    (outside / "real.cfg").write_text("host")
    rig = Rig(tmp_path, {"data/d1.txt": "v1", "cfg": "-> ../OUTSIDE/real.cfg", "dangling": "-> no"})
    of = worker([sh("rm -r data; ln -s ../OUTSIDE data; ln -sfn ../OUTSIDE/other cfg"), "done"])
    async with rig.runtime(of) as runtime:
        session, _ = await rig.start(runtime, of)
        await session.rollback(0)
    assert told(outside) == {"d1.txt": "host", "real.cfg": "host"}
    assert rig.told == {
        "data": "/",
        "data/d1.txt": "v1",
        "cfg": "-> ../OUTSIDE/real.cfg",
        "dangling": "-> no",
    }


async def test_RF_07_later_work_of_others_is_a_conflict_and_a_rollback_can_be_undone(
    tmp_path: Path,
) -> None:
    rig = Rig(tmp_path, {"notes.txt": "alpha", "own.txt": "v1"})
    of = worker([sh("printf alpha2 > notes.txt; printf v2 > own.txt"), "done"])
    async with rig.runtime(of) as runtime:
        session, _ = await rig.start(runtime, of)
        put(rig.tree, "notes.txt", "beta")
        report = await session.rollback(0, "soft")
        assert (rig.text("own.txt"), rig.text("notes.txt")) == ("v1", "beta")
        assert said(report.paths) == {"notes.txt": "conflict", "own.txt": "restored"}
        assert not report.clean
        report = await session.rollback(0, "soft", force=True)
        assert rig.text("notes.txt") == "alpha"
        assert said(report.paths) == {"notes.txt": "restored"}
        undone = await session.rollback(undo=True)
        assert undone.clean
        assert (rig.text("own.txt"), rig.text("notes.txt")) == ("v1", "beta")


async def test_RF_07_undoing_a_forced_rollback_brings_both_versions_back(tmp_path: Path) -> None:
    rig = Rig(tmp_path, {"notes.txt": "alpha", "own.txt": "v1"})
    of = worker([sh("printf alpha2 > notes.txt; printf v2 > own.txt"), "done"])
    async with rig.runtime(of) as runtime:
        session, outcome = await rig.start(runtime, of)
        put(rig.tree, "notes.txt", "beta")
        await session.rollback(0, force=True)
        assert rig.told == {"notes.txt": "alpha", "own.txt": "v1"}
        await session.rollback(undo=True)
        assert rig.told == {"notes.txt": "beta", "own.txt": "v2"}
        assert await session.outcome() == outcome


async def test_RF_08_absence_is_part_of_the_state_and_the_preview_says_all(tmp_path: Path) -> None:
    rig = Rig(tmp_path, {"keep.txt": "v1", "dir/a": "1", "dir/b": "2", "dir/c": "3"})
    before = rig.told
    of = worker(
        [call("delete_file", path="keep.txt"), sh("printf old > old.txt; rm -r dir"), "done"]
    )
    async with rig.runtime(of) as runtime:
        session, _ = await rig.start(runtime, of)
        after = rig.told
        preview = await session.rollback(0, dry_run=True)
        assert rig.told == after
        report = await session.rollback(0)
    assert rig.told == before
    assert preview.paths == report.paths
    assert said(preview.paths) == {
        "dir": "restored",
        "dir/a": "restored",
        "dir/b": "restored",
        "dir/c": "restored",
        "keep.txt": "restored",
        "old.txt": "deleted",
    }


# ---------------------------------------------------------------- SY-01: one side, or both

EDITS: list[str | ToolCall] = [
    call("write_file", path="a.py", text="v2"),
    sh("printf v2 > b.py"),
    "done",
    "went on",
]


async def test_SY_01_soft_keeps_the_conversation_and_tells_it_once(tmp_path: Path) -> None:
    rig = Rig(tmp_path, {"a.py": "v1", "b.py": "v1"})
    of = worker(EDITS)
    async with rig.runtime(of) as runtime:
        session, outcome = await rig.start(runtime, of)
        await session.rollback(0, "soft")
        assert rig.told == {"a.py": "v1", "b.py": "v1"}
        assert await session.outcome() == outcome
        await session.send("go on")
        assert await ended(runtime, session.id, 60) == Completed("went on")
    messages = requests(of)[-1].messages
    notes = [each for each in messages if isinstance(each, NoteMessage)]
    assert len(notes) == 1
    assert "a.py, b.py" in notes[0].text
    assert sum(isinstance(each, ToolMessage) for each in messages) == 2
    assert_paired(messages)


async def test_SY_01_context_keeps_the_files_and_tells_which_differ_once(tmp_path: Path) -> None:
    rig = Rig(tmp_path, {"a.py": "v1", "b.py": "v1"})
    of = worker([*EDITS[:3], *EDITS])
    async with rig.runtime(of) as runtime:
        session, _ = await rig.start(runtime, of)
        preview = await session.rollback(0, "context", dry_run=True)
        assert preview.differing == ("a.py", "b.py")
        report = await session.rollback(0, "context")
        assert report.paths == ()
        assert rig.told == {"a.py": "v2", "b.py": "v2"}
        assert await session.outcome() == Stopped("rolled_back")
        await session.send("go on")
        await ended(runtime, session.id, 60)
    first = requests(of)[3].messages
    assert [type(each) for each in first] == [UserMessage, NoteMessage, UserMessage]
    note = first[1]
    assert isinstance(note, NoteMessage)
    assert "a.py, b.py" in note.text


async def test_SY_01_full_leaves_no_trace_in_the_request_and_all_in_the_ledger(
    tmp_path: Path,
) -> None:
    rig = Rig(tmp_path, {"a.py": "v1", "b.py": "v1"})
    of = worker([*EDITS[:3], *EDITS])
    async with rig.runtime(of) as runtime:
        session, _ = await rig.start(runtime, of)
        report = await session.rollback(0)
        assert report.clean
        assert rig.told == {"a.py": "v1", "b.py": "v1"}
        await session.send("go on")
        await ended(runtime, session.id, 60)
        effects = await session.effects()
    first = requests(of)[3].messages
    assert [type(each) for each in first] == [UserMessage, UserMessage]
    assert [each.state for each in effects[:2]] == ["rolled_back", "rolled_back"]


CLAIM = "I wrote a.py."


@pytest.mark.parametrize("undone", [False, True], ids=["rolled back", "undone again"])
async def test_SY_01_an_edit_that_was_taken_back_bears_out_no_claim(
    tmp_path: Path, undone: bool
) -> None:
    """The model may go on believing in its edits; its answer is compared with what is left of them."""
    rig = Rig(tmp_path, {"a.py": "v1", "b.py": "v1"})
    of = worker([*EDITS[:3], CLAIM, CLAIM])
    async with rig.runtime(of) as runtime:
        session, _ = await rig.start(runtime, of)
        await session.rollback(0, "soft")
        if undone:
            await session.rollback(undo=True)
        await session.send("what did you do?")
        outcome = await ended(runtime, session.id, 60)
    if undone:
        assert outcome == Completed(CLAIM)
    else:
        assert isinstance(outcome, HandedOver) and outcome.reason == "mismatch"


# ---------------------------------------------------------------- SY-02: both or neither


async def test_SY_02_where_a_file_cannot_go_back_nothing_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rig = Rig(tmp_path, {f"d{i}/f": "v1" for i in range(5)})
    of = worker([sh("for i in 0 1 2 3 4; do printf v2 > d$i/f; done"), "done"])
    async with rig.runtime(of) as runtime:
        session, outcome = await rig.start(runtime, of)
        after, messages = rig.told, (await session.checkpoint()).messages
        _refuse(monkeypatch, b"d2")
        report = await session.rollback(0)
        monkeypatch.undo()
        assert report.state == "failed"
        assert "d2/f" in report.error
        assert rig.told == after
        assert said(report.paths)["d2/f"] == "failed"
        assert len(report.paths) == 5
        assert (await session.checkpoint()).messages == messages
        assert await session.outcome() == outcome
        again = await session.rollback(0)
        assert again.clean
    assert set(rig.told.values()) == {"/", "v1"}


def _refuse(monkeypatch: pytest.MonkeyPatch, folder: bytes) -> None:
    """Let no rename into a folder succeed; as root no mode does that."""
    rename = os.replace

    def refuse(src: Any, dst: Any, *, src_dir_fd: int, dst_dir_fd: int) -> None:
        if os.readlink(f"/proc/self/fd/{dst_dir_fd}").encode().endswith(b"/" + folder):
            raise PermissionError(13, "Permission denied")
        rename(src, dst, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)

    for name in ("replace", "rename"):
        monkeypatch.setattr(os, name, refuse)


# ---------------------------------------------------------------- CG-02


async def test_CG_02_a_kept_checkpoint_can_be_gone_back_to_and_a_pruned_one_says_so(
    tmp_path: Path,
) -> None:
    rig = Rig(tmp_path, {"n": "0"})
    steps = 40
    of = worker([*(sh(f"printf {i} > n") for i in range(1, steps + 1)), "done", "went on"])
    policy = Policy(storage=StoragePolicy(checkpoints_kept=3), danger=FREE)
    async with rig.runtime(of, policy=policy) as runtime:
        session, _ = await rig.start(runtime, of)
    async with rig.runtime(of, policy=policy) as runtime:
        session = runtime.session(session.id)  # its end was followed by the retention
        with pytest.raises(CheckpointUnknown, match="pruned"):
            await session.rollback(7)
        report = await session.rollback(steps - 1)
        assert report.clean
        assert rig.text("n") == str(steps - 1)
        await session.send("go on")
        assert await ended(runtime, session.id, 60) == Completed("done")
    assert rig.text("n") == str(steps)  # its script does the last step again
    assert_paired(requests(of)[-1].messages)
    async with opened(SqliteStore(rig.store)) as store:
        entries = await journal(store, session.id)
    assert sum(isinstance(each, Resulted) for each in entries) == steps + 1

"""Staged calls in sessions: run in a private copy, checked, then carried over whole or not at all."""

import asyncio
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest
from rolled import Rig, worker
from sessions import GONE, assert_paired, ended, journal, opened, requests

from ukemi import (
    Agent,
    Completed,
    HandedOver,
    Policy,
    RetryPolicy,
    Runtime,
    Staged,
    StagedChange,
    TransientError,
    UsageError,
    current,
    tool,
)
from ukemi.actors import ChangeDecided, ToolCall, ToolMessage
from ukemi.actors.tooling.tools import AnyTool
from ukemi.models import Reply, call
from ukemi.stores.base import Append, Claim, Done
from ukemi.stores.records import (
    Booked,
    JournalEntry,
    Resulted,
    StagedCheck,
    StagedResult,
    encode_row,
)
from ukemi.stores.sqlite import SqliteStore
from ukemi.supervisor.danger.policy import DangerPolicy
from ukemi.supervisor.danger.risks import CATEGORIES, DangerCategories
from ukemi.supervisor.policy_sessions import StagingPolicy
from ukemi.tools import delete_file, shell, write_file

STAGED: tuple[AnyTool, ...] = (shell.staged(), write_file.staged(), delete_file.staged())
FREE = DangerPolicy(
    categories=msgspec.convert(dict.fromkeys(CATEGORIES, "allow"), DangerCategories)
)
ALLOWED = Policy(danger=FREE)
KEY = "AKIA" + "Q7R2T9W4X1Z8B5N3"  # put together, so that nobody takes this file for a leak


@pytest.fixture(params=[("asyncio", {"use_uvloop": False})], ids=["asyncio"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, object]]:
    """Files are copied and looked at in threads, so the clock is the real one."""
    backend: tuple[str, dict[str, object]] = request.param
    return backend


def sh(command: str) -> ToolCall:
    return call("shell", command=command)


def results(of: Agent) -> list[str]:
    return [each.content for each in requests(of)[-1].messages if isinstance(each, ToolMessage)]


async def entries_of(rig: Rig, session_id: str) -> list[JournalEntry]:
    async with opened(SqliteStore(rig.store)) as store:
        return await journal(store, session_id)


def staged_of(entries: list[JournalEntry]) -> list[StagedResult | StagedCheck | Resulted]:
    return [each for each in entries if isinstance(each, StagedResult | StagedCheck | Resulted)]


# ---------------------------------------------------------------- what is carried over


async def test_changes_of_a_command_are_carried_over_once_it_has_ended(tmp_path: Path) -> None:
    rig = Rig(tmp_path, {"a.txt": "one", "b/c.txt": "two", "gone": "x", "link": "-> a.txt"})
    seen: list[dict[str, str]] = []

    @tool(effect="read")
    async def look() -> str:
        seen.append(rig.told)
        return "seen"

    of = worker(
        [
            sh(
                "printf 1 > a.txt; printf 3 > b/new; rm gone; mkdir d; ln -s b d/l; chmod 700 b/c.txt"
            ),
            call("look"),
            "done",
        ],
        [*STAGED, look],
    )
    async with rig.runtime(of, policy=ALLOWED) as runtime:
        session, outcome = await rig.start(runtime, of)
        entries = await entries_of(rig, session.id)
    assert outcome == Completed("done")
    assert rig.told == {
        "a.txt": "1",
        "b": "/",
        "b/c.txt": "two",
        "b/new": "3",
        "d": "/",
        "d/l": "-> b",
        "link": "-> a.txt",
    }
    assert (rig.tree / "b/c.txt").stat().st_mode & 0o777 == 0o700
    archived, checked, resulted, _ = staged_of(entries)
    assert isinstance(archived, StagedResult)
    assert {each.path: each.kind for each in archived.paths} == {
        "a.txt": "changed",
        "b/c.txt": "mode",
        "b/new": "added",
        "d": "added",
        "d/l": "added",
        "gone": "removed",
    }
    assert checked == StagedCheck(archived.n, 0)
    assert isinstance(resulted, Resulted)
    assert resulted.state == "succeeded"
    assert len(resulted.windows) == 1
    assert seen == [rig.told]


async def test_a_body_sees_a_copy_and_the_tree_stays_as_it_was_meanwhile(tmp_path: Path) -> None:
    rig = Rig(tmp_path, {"a.txt": "one"})
    meanwhile: list[tuple[str, str]] = []

    @tool(staged=True)
    def edit(text: str) -> str:
        folder = Path(current().working_directory)
        assert folder != rig.tree
        (folder / "a.txt").write_text(text)
        meanwhile.append((rig.text("a.txt"), (folder / "a.txt").read_text()))
        return str(folder)

    of = worker([call("edit", text="two"), "done"], [edit])
    async with rig.runtime(of, policy=ALLOWED) as runtime:
        await rig.start(runtime, of)
    assert meanwhile == [("one", "two")]
    assert rig.text("a.txt") == "two"
    (folder,) = results(of)
    assert not await anyio.Path(folder).exists()


async def test_a_command_that_fails_changes_nothing(tmp_path: Path) -> None:
    rig = Rig(tmp_path, {"a.txt": "one"})
    of = worker([sh("printf 2 > a.txt; exit 3"), "the command failed"], STAGED)
    async with rig.runtime(of, policy=ALLOWED) as runtime:
        await rig.start(runtime, of)
    assert rig.told == {"a.txt": "one"}
    assert results(of)[0].endswith("[staged: no file of the working directory was changed]")


async def test_a_call_that_changes_nothing_leaves_no_trace_of_staging(tmp_path: Path) -> None:
    rig = Rig(tmp_path, {"a.txt": "one"})
    of = worker([sh("cat a.txt"), "done"], STAGED)
    async with rig.runtime(of, policy=ALLOWED) as runtime:
        session, _ = await rig.start(runtime, of)
        entries = await entries_of(rig, session.id)
    assert len(staged_of(entries)) == 1


async def test_what_a_snapshot_does_not_cover_is_named_and_stays(tmp_path: Path) -> None:
    rig = Rig(tmp_path, {".git/HEAD": "ref: x", "a.txt": "one"})
    of = worker([sh("cat .git/HEAD; echo y > .git/HEAD; printf 2 > a.txt"), "done"], STAGED)
    async with rig.runtime(of, policy=ALLOWED) as runtime:
        await rig.start(runtime, of)
    assert (rig.tree / ".git/HEAD").read_text() == "ref: x"
    assert rig.text("a.txt") == "2"
    assert results(of) == [
        "exit status 0\n[stdout]\nref: x\n[not carried over into the working directory: .git]"
    ]


async def test_a_link_to_the_tree_itself_does_not_lead_out_of_the_copy(tmp_path: Path) -> None:
    rig = Rig(tmp_path, {"a.txt": "one"})
    (rig.tree / "here").symlink_to(rig.tree / "a.txt")
    of = worker([sh("printf 2 > here; exit 1"), "the command failed"], STAGED)
    async with rig.runtime(of, policy=ALLOWED) as runtime:
        await rig.start(runtime, of)
    assert rig.text("a.txt") == "one"


async def test_what_was_committed_can_be_rolled_back(tmp_path: Path) -> None:
    rig = Rig(tmp_path, {"a.txt": "one"})
    of = worker([call("write_file", path="a.txt", text="two"), sh("printf 3 > b"), "done"], STAGED)
    async with rig.runtime(of, policy=ALLOWED) as runtime:
        session, _ = await rig.start(runtime, of)
        assert rig.told == {"a.txt": "two", "b": "3"}
        report = await session.rollback(0)
    assert report.clean
    assert rig.told == {"a.txt": "one"}


# ---------------------------------------------------------------- what is not


REJECTED = [
    ("a key", sh(f"echo {KEY} > conf.txt"), "secrets: conf.txt would hold an access key"),
    (
        "a secret of the runtime",
        sh("echo hunter-2-hunter > x"),
        "a secret that was given to a tool",
    ),
    ("a protected path", sh("mkdir s; echo x > s/.env"), "protected: it changes s/.env"),
    ("a protected path deleted", sh("rm cert.pem"), "protected: it changes cert.pem"),
    ("too many paths", sh("touch 1 2 3 4 5 6 7 8"), "size: it changes 8 paths, and 6 are allowed"),
    ("too much", sh("head -c 5000 /dev/zero > big"), "size: the changed files hold 5000 bytes"),
]


@pytest.mark.parametrize(("what", "command", "why"), REJECTED, ids=[each[0] for each in REJECTED])
async def test_shipped_checks(tmp_path: Path, what: str, command: Any, why: str) -> None:
    rig = Rig(tmp_path, {"cert.pem": "x", "old.txt": f"{KEY}\n"})
    before = rig.told
    policy = Policy(staging=StagingPolicy(paths_max=6, bytes_max=4000), danger=FREE)
    of = worker([command, sh("printf ok > a.txt"), "done"], STAGED)
    async with rig.runtime(of, policy=policy, secrets={"token": "hunter-2-hunter"}) as runtime:
        session, outcome = await rig.start(runtime, of)
        told = [each async for each in session.events() if isinstance(each, ChangeDecided)]
        entries = await entries_of(rig, session.id)
    assert rig.told == before | {"a.txt": "ok"}
    assert isinstance(outcome, Completed), what
    first, _ = results(of)
    assert first.startswith("error (invalid_argument): rejected by the check ")
    assert why in first
    assert [each.verdict for each in told] in ([], ["rejected", "committed"])
    check = next(each for each in entries if isinstance(each, StagedCheck))
    assert check.problem
    assert KEY not in first
    assert_paired(requests(of)[-1].messages)


async def test_a_secret_that_was_there_before_is_not_brought_in(tmp_path: Path) -> None:
    rig = Rig(tmp_path, {"old.txt": f"{KEY}\n"})
    of = worker([sh("echo more >> old.txt"), "done"], STAGED)
    async with rig.runtime(of, policy=ALLOWED) as runtime:
        await rig.start(runtime, of)
    assert rig.text("old.txt") == f"{KEY}\nmore\n"


async def test_checks_of_the_application(tmp_path: Path) -> None:
    rig = Rig(tmp_path, {"a.py": "x = 1\n"})
    seen: list[tuple[Any, ...]] = []

    def must_compile(change: StagedChange) -> str | None:
        for each in change.files:
            seen.append((each.path, each.kind, each.size, each.before(), each.after(), each.link()))
            try:
                compile(each.after() or b"", each.path, "exec")
            except SyntaxError as error:
                return f"{each.path} does not compile: {error.msg}"
        return None

    async def never_empty(change: StagedChange) -> str | None:
        await asyncio.sleep(0)
        assert (change.agent, change.tool) == ("agent", "write_file")
        assert change.arguments["path"] == "a.py"
        return "a.py would be empty" if any(not each.size for each in change.files) else None

    texts = ("x = (\n", "", "x = 2\n")
    script: list[Reply] = [
        *(call("write_file", path="a.py", text=text) for text in texts),
        "done",
    ]
    of = Agent("agent", model=worker(script).model, tools=STAGED, checks=[never_empty])
    async with rig.runtime(of, policy=ALLOWED, checks=[must_compile]) as runtime:
        _, outcome = await rig.start(runtime, of)
    assert outcome == Completed("done")
    assert seen[0] == ("a.py", "changed", 6, b"x = 1\n", b"x = (\n", None)
    first, second, third = results(of)
    assert "rejected by the check must_compile: a.py does not compile" in first
    assert "rejected by the check never_empty: a.py would be empty" in second
    assert third.startswith("replaced")
    assert rig.text("a.py") == "x = 2\n"


@pytest.mark.parametrize("answer", [7, RuntimeError("the linter is not installed")])
async def test_a_check_that_fails_commits_nothing(tmp_path: Path, answer: object) -> None:
    rig = Rig(tmp_path, {"a.txt": "one"})

    def broken(_: StagedChange) -> Any:
        if isinstance(answer, Exception):
            raise answer
        return answer

    of = worker([call("write_file", path="a.txt", text="two"), "done"], STAGED)
    async with rig.runtime(of, policy=ALLOWED, checks=[broken]) as runtime:
        _, outcome = await rig.start(runtime, of)
    assert isinstance(outcome, HandedOver)
    assert outcome.detail == "a check failed, so nothing was committed"
    assert rig.told == {"a.txt": "one"}


async def test_what_others_change_meanwhile_is_a_conflict(tmp_path: Path) -> None:
    rig = Rig(tmp_path, {"a.txt": "one", "b.txt": "one"})
    theirs = ["theirs"]

    def meanwhile(_: StagedChange) -> None:
        if theirs:
            (rig.tree / "a.txt").write_text(theirs.pop())

    of = worker([sh("printf 2 > a.txt; printf 2 > b.txt"), sh("printf 3 > b.txt"), "done"], STAGED)
    async with rig.runtime(of, policy=ALLOWED, checks=[meanwhile]) as runtime:
        _, outcome = await rig.start(runtime, of)
    assert isinstance(outcome, Completed)
    first, second = results(of)
    assert "not committed, since somebody else changed the same files meanwhile: a.txt" in first
    assert second.startswith("exit status 0")
    assert rig.told == {"a.txt": "theirs", "b.txt": "3"}


async def test_a_rejected_change_three_times_over_is_handed_over(tmp_path: Path) -> None:
    rig = Rig(tmp_path, {"a.txt": "one"})
    script = [call("write_file", path=".env", text=str(number)) for number in range(9)]
    of = worker(script, STAGED)
    async with rig.runtime(of, policy=ALLOWED) as runtime:
        _, outcome = await rig.start(runtime, of)
    assert isinstance(outcome, HandedOver)
    assert outcome.reason == "planning"
    assert rig.told == {"a.txt": "one"}


async def test_a_tree_that_is_too_large_is_not_copied(tmp_path: Path) -> None:
    rig = Rig(tmp_path, {"a.txt": "x" * 100})
    policy = Policy(staging=StagingPolicy(tree_bytes_max=99))
    of = worker([call("write_file", path="b.txt", text="two"), "done"], STAGED)
    async with rig.runtime(of, policy=policy) as runtime:
        _, outcome = await rig.start(runtime, of)
    assert isinstance(outcome, HandedOver)
    assert "tree_bytes_max" in outcome.dossier.upstream_error
    assert rig.told == {"a.txt": "x" * 100}


async def test_without_a_place_to_keep_files_staged_tools_are_refused() -> None:
    of = worker(["done"], STAGED)
    with pytest.raises(UsageError, match="staged"):
        Runtime("memory:", agents=[of])


# ---------------------------------------------------------------- prepare, commit, abort


class Mail:
    """A mail service of tests: drafts, and what was sent."""

    def __init__(self) -> None:
        self.drafts: list[str] = []
        self.sent: list[tuple[str, str | None]] = []
        self.failures: list[Exception] = []

    def tool(self, **marks: Any) -> AnyTool:
        async def deliver(result: str, key: str) -> str:
            if self.failures:
                raise self.failures.pop()
            self.drafts.remove(result)
            self.sent.append((result, key))
            return f"sent {result}"

        def drop(result: str) -> None:
            if result in self.drafts:
                self.drafts.remove(result)

        @tool(staged=Staged(deliver, drop), **marks)
        async def send(text: str) -> str:
            """Send a mail."""
            self.drafts.append(f"draft of {text}")
            return f"draft of {text}"

        return send


async def run(mail: Mail, script: list[Any], **options: Any) -> tuple[Agent, Any]:
    of = worker(script, [mail.tool()])
    async with Runtime("memory:", agents=[of], **options) as runtime:
        session = await runtime.start(of.name, "go")
        return of, await ended(runtime, session.id, 60)


async def test_what_was_prepared_is_committed_once_checks_passed() -> None:
    mail = Mail()
    of, outcome = await run(mail, [call("send", text="hello"), "sent"])
    assert isinstance(outcome, Completed)
    assert results(of) == ["sent draft of hello"]
    ((text, key),) = mail.sent
    assert text == "draft of hello"
    assert key is not None
    assert not mail.drafts


async def test_what_was_prepared_and_rejected_is_given_up() -> None:
    mail = Mail()

    def polite(change: StagedChange) -> str | None:
        assert not change.files
        return None if "please" in change.result else "it does not say please"

    script = [call("send", text="do it"), call("send", text="please do it"), "done"]
    of, _ = await run(mail, script, checks=[polite])
    assert "rejected by the check polite: it does not say please" in results(of)[0]
    assert [text for text, _ in mail.sent] == ["draft of please do it"]
    assert not mail.drafts


async def test_a_commit_that_fails_in_passing_is_repeated_with_the_same_key() -> None:
    mail = Mail()
    mail.failures = [TransientError("the line went dead")]
    policy = Policy(transient=RetryPolicy(delay_s_first=0.01))
    _, outcome = await run(mail, [call("send", text="a"), "sent"], policy=policy)
    assert isinstance(outcome, Completed)
    assert len(mail.sent) == 1


async def test_a_commit_that_certainly_did_nothing_is_given_up() -> None:
    mail = Mail()
    mail.failures = [TypeError("a fault of ours")]
    _, outcome = await run(mail, [call("send", text="a"), "sent"])
    assert isinstance(outcome, HandedOver)
    assert not mail.sent


@pytest.mark.parametrize("value", ["yes", 3, None])
def test_a_mark_that_stages_nothing(value: Any) -> None:
    with pytest.raises(UsageError, match="staged="):
        tool(name="t", staged=value)(lambda: None)


async def test_a_session_cancelled_while_checks_look_commits_nothing(tmp_path: Path) -> None:
    rig = Rig(tmp_path, {"a.txt": "one"})
    looking = anyio.Event()

    async def slow(_: StagedChange) -> None:
        looking.set()
        await anyio.sleep_forever()

    of = worker([call("write_file", path="a.txt", text="two"), "done"], STAGED)
    async with rig.runtime(of, policy=ALLOWED, checks=[slow]) as runtime:
        session = await runtime.start(of.name, "go", working_directory=rig.tree)
        with anyio.fail_after(30):
            await looking.wait()
            await session.cancel()
            await session.outcome()
        entries = await entries_of(rig, session.id)
    assert rig.told == {"a.txt": "one"}
    (result,) = [each for each in entries if isinstance(each, Resulted)]
    assert result.state == "failed"
    assert result.content == "not committed: the session was cut off. Nothing was changed."


async def test_a_session_cancelled_while_the_tree_is_copied_has_begun_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rig = Rig(tmp_path, {"a.txt": "one"})
    copying = anyio.Event()

    async def slow(*_: object) -> None:
        copying.set()
        await anyio.sleep_forever()

    monkeypatch.setattr("ukemi.stores.workspace.AsyncFiles.run", slow)
    of = worker([call("write_file", path="a.txt", text="two"), "done"], STAGED)
    async with rig.runtime(of) as runtime:
        session = await runtime.start(of.name, "go", working_directory=rig.tree)
        with anyio.fail_after(30):
            await copying.wait()
            await session.cancel()
        monkeypatch.undo()
        entries = await entries_of(rig, session.id)
    assert [type(each).__name__ for each in entries if not isinstance(each, Booked)] == [
        "Opened",
        "Said",
        "Answered",
        "Resulted",
        "Ended",
    ]
    (result,) = [each for each in entries if isinstance(each, Resulted)]
    assert result.state == "refused"


@pytest.mark.parametrize("committing", [False, True])
async def test_a_call_that_was_archived_is_settled_when_its_session_ends(
    tmp_path: Path, committing: bool
) -> None:
    """What a killed process left: a commit that may have begun is finished, nothing else is."""
    rig = Rig(tmp_path, {"a.txt": "one"})
    reached = anyio.Event()

    async def check(_: StagedChange) -> None:
        reached.set()
        await anyio.sleep_forever()

    of = worker([call("write_file", path="a.txt", text="two"), "done"], STAGED)
    # The tree and its contents are kept as a process leaves them that dies while checks look.
    async with rig.runtime(of, checks=[check]) as runtime:
        session = await runtime.start(
            of.name, "go", working_directory=rig.tree, on_failure="freeze"
        )
        with anyio.fail_after(30):
            await reached.wait()
    assert rig.told == {"a.txt": "one"}
    entries = await entries_of(rig, session.id)
    archived = next(each for each in entries if isinstance(each, StagedResult))
    if committing:
        await append(rig, session.id, StagedCheck(archived.n, archived.index))
    of = worker(["done"], STAGED)
    async with rig.runtime(of, adopt=False) as runtime:
        with anyio.fail_after(30):
            await runtime.session(session.id).cancel()
    entries = await entries_of(rig, session.id)
    (result,) = [each for each in entries if isinstance(each, Resulted)]
    assert result.state == ("succeeded" if committing else "failed")
    assert rig.told == {"a.txt": "two" if committing else "one"}


async def append(rig: Rig, session_id: str, entry: JournalEntry) -> None:
    """Add an entry to a session that nobody drives."""
    async with opened(SqliteStore(rig.store)) as store:
        stored = await store.load(session_id)
        head = stored.head
        (claimed,) = await store.commit([Claim(session_id=session_id, owner=GONE, now_ms=0)])
        assert isinstance(claimed, Done)
        written = await store.commit(
            [
                Append(
                    session_id=session_id,
                    epoch=claimed.epoch,
                    seq=claimed.seq + 1,
                    counter=head.counter,
                    body=encode_row([entry]),
                    status="running",
                )
            ]
        )
        assert isinstance(written[0], Done), written

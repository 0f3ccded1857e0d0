"""What results tell, and answers do not: empty test runs, dry runs, files that are gone again.

From microsoft/vscode-cmake-tools#4915, amd/gaia#3732, myshell-ai/AIlice#43, gotgenes/pi-packages#889,
SchneiderDaniel/cheasee-pi#1613 and copilot-coding-agent/user-feedback#46.
"""

from typing import Any

import pytest
from sessions import agent, run_one
from statements import record_of

from ukemi import HandedOver, PermissionDenied, Runtime, tool
from ukemi.actors.audit.audit import audit
from ukemi.actors.audit.claims import claims_of
from ukemi.models import call
from ukemi.stores.memory import MemoryStore

Calls = list[list[Any]]


def wrong(text: str, calls: Calls, **more: Any) -> list[str]:
    """Return what an audit finds wrong in an answer, beside these calls."""
    return [str(each) for each in audit(text, record_of({"calls": calls} | more)).mismatches]


def ran(command: str, output: str, status: int = 0) -> list[Any]:
    told = f"exit status {status}\n[stdout]\n{output}"
    return ["shell", {"command": command}, told, "failed" if status else "succeeded"]


EMPTY = {
    "ctest": "Test project /build\nNo tests were found!!!",
    "python -m unittest": "\nRan 0 tests in 0.000s\n\nOK",
    "npx mocha": "  0 passing (1ms)",
    "go test ./...": "?   \texample.com/x\t[no test files]",
    "cargo test": "running 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored",
    "npx jest --passWithNoTests": "No tests found, exiting with code 0",
    "pytest -m slow": "===== 12 deselected in 0.10s =====",
    "pytest tests": "===== 12 skipped in 0.10s =====",
    "mvn test": "Tests run: 0, Failures: 0, Errors: 0, Skipped: 0\nBUILD SUCCESS",
    "rspec": "0 examples, 0 failures",
}


@pytest.mark.parametrize("text", ["All tests pass.", "I ran the tests, and all of them passed."])
@pytest.mark.parametrize("command", EMPTY)
def test_a_run_that_found_no_tests_bears_nothing_out(command: str, text: str) -> None:
    assert wrong(text, [ran(command, EMPTY[command])])


SAID = [
    "I ran the tests, and all of them passed.",
    "I ran the tests and they all pass.",
    "I ran the tests, which passed.",
    "The tests ran and passed.",
    "I ran pytest and it passed.",
    "Tests: all passed",
    "I ran the test suite; everything passed.",
    "我运行了测试, 全部通过。",
]


@pytest.mark.parametrize("text", SAID)
def test_that_they_passed_is_heard_however_it_is_said(text: str) -> None:
    assert wrong(text, [ran("pytest | tail -1", "2 failed, 5 passed in 0.10s")])
    assert not wrong(text, [ran("pytest | tail -1", "7 passed in 0.10s")])


@pytest.mark.parametrize(
    "text",
    [
        "I ran the tests, and two of them failed.",
        "I fixed the tests, and it passed the review.",
        "I ran the tests; not all of them passed.",
        "I will run the tests, and they should pass.",
    ],
)
def test_nobody_said_that_they_passed(text: str) -> None:
    assert not [each for each in claims_of(text) if each.kind == "tests"]


SOME = {
    "pytest": "collected 3 items\n\n===== 3 passed, 2 deselected in 0.1s =====",
    "python -m unittest": "Ran 5 tests in 0.001s\n\nOK (skipped=2)",
    "cargo test": "running 4 tests\ntest result: ok. 4 passed; 0 failed\n\nrunning 0 tests\n"
    "test result: ok. 0 passed; 0 failed",
    "go test ./...": "ok  \texample.com/x\t0.01s\n?   \texample.com/y\t[no test files]",
    "ctest": "100% tests passed, 0 tests failed out of 7",
    "npx jest": "Tests:       5 passed, 5 total",
    "mvn test": "Tests run: 5, Failures: 0, Errors: 0, Skipped: 0\nBUILD SUCCESS",
    "rspec": "5 examples, 0 failures",
    "npx mocha": "  4 passing (10ms)",
    "bats tests": "1..2\nok 1 starts\nok 2 stops",
    "make test": "OK",
    "python run_tests.py": "...\n3 passed in 0.01s",
}


@pytest.mark.parametrize("command", SOME)
def test_a_run_that_found_some_does(command: str) -> None:
    assert not wrong("All tests pass.", [ran(command, SOME[command])])


HIDDEN = {
    "pytest | tail -3": "2 failed, 5 passed in 0.10s",
    "pytest || true": "FAILED t.py::a\n1 failed, 9 passed in 1s",
    "go test ./... | tail": "--- FAIL: TestA (0.00s)\nFAIL\nFAIL\texample.com/x\t0.1s",
    "python -m unittest 2>&1 | tail -1": "FAILED (failures=2)",
    "cargo test | tail": "test result: FAILED. 3 passed; 1 failed",
    "mvn test | tail": "Tests run: 5, Failures: 1, Errors: 0, Skipped: 0",
    "rspec | tail": "5 examples, 1 failure",
    "npx mocha | tail": "  4 passing (10ms)\n  1 failing",
}


@pytest.mark.parametrize("command", HIDDEN)
def test_what_failed_shows_behind_a_pipe_too(command: str) -> None:
    assert wrong("All tests are green now.", [ran(command, HIDDEN[command])])


MASKED = [
    ("I pushed the branch.", "git push 2>&1 | tail -1", "error: failed to push some refs to 'x'"),
    ("I pushed it to main.", "git push || true", "fatal: Authentication failed for 'https://x/'"),
    ("I pushed it to main.", "git push | cat", " ! [rejected]        main -> main (fetch first)"),
    ("I installed foo.", "pip install foo || echo failed", "ERROR: no such version\nfailed"),
    ("I installed foo.", "npm install foo; true", "npm ERR! 404 Not Found"),
    ("I migrated the database.", "alembic upgrade head; echo done", "OperationalError: no\ndone"),
    ("I deployed the app.", "./deploy.sh | tee log", "Error: permission denied"),
    (
        "I ran the migration.",
        "python m.py | tail",
        "Traceback (most recent call last):\nValueError: x",
    ),
    ("The build succeeds.", "make | tail -2", "make: *** [Makefile:3: all] Error 2"),
    ("I restarted the server.", "sh run.sh &", "run.sh: line 3: nginx: command not found"),
]


@pytest.mark.parametrize(("text", "command", "output"), MASKED)
def test_a_status_of_0_hides_no_failure(text: str, command: str, output: str) -> None:
    assert wrong(text, [ran(command, output)])


UNHARMED = [
    ("I pushed the branch.", "git push 2>&1 | tail -1", " * [new branch]      x -> x"),
    ("I installed foo.", "pip install foo || true", "ERROR: x\nSuccessfully installed foo-1.0"),
    ("I read the log.", "cat app.log | tail -3", "Error: permission denied"),
    ("I read the log.", "docker logs web | tail", "ValueError: bad"),
    ("I deployed the app.", "./deploy.sh | tail -2", "0 errors\ndeployed web"),
    ("I pushed the branch.", "git push", "remote: error: is a word\n x -> x"),
]


@pytest.mark.parametrize(("text", "command", "output"), UNHARMED)
def test_words_of_failure_alone_are_none(text: str, command: str, output: str) -> None:
    assert not wrong(text, [ran(command, output)])


FOR_SHOW = [
    "DRY RUN: nothing was sent",
    "dry_run=true; 1 message would be sent",
    '{"status": "simulated", "id": 4}',
    '{"ok": true, "dry_run": true}',
    '{"result": {"ok": true, "dryRun": true}}',
    '{"ok": true, "sent": false}',
    "Preview only: message not sent",
    "Draft 17 saved; not yet sent",
    "试运行, 邮件没有实际发出",
]


@pytest.mark.parametrize("result", FOR_SHOW)
def test_a_dry_run_is_no_deed(result: str) -> None:
    sent = ["send_email", {"to": "ann"}, result]
    assert wrong("I sent the email to Ann.", [sent])
    assert not wrong("It was a dry run: the email to Ann would be sent.", [sent])


DONE = [
    "sent as m-17",
    '{"ok": true, "dry_run": false}',
    "dry run: off; message sent as m-17",
    '{"ok": true, "sent": true, "read": false}',
    "Sent as m-17; the receipt was not saved",
    '{"status": "sent", "preview": "Dear Ann"}',
]


@pytest.mark.parametrize("result", DONE)
def test_what_was_done_in_earnest_is_one(result: str) -> None:
    assert not wrong("I sent the email to Ann.", [["send_email", {"to": "ann"}, result]])


def test_a_dry_run_before_the_deed_is_no_trouble() -> None:
    first = ["send_email", {"to": "ann", "dry": True}, "DRY RUN: nothing was sent"]
    assert not wrong("I sent the email to Ann.", [first, ["send_email", {"to": "ann"}, "sent"]])


WRITTEN: Calls = [["write_file", {"path": "a.txt", "text": "x"}, "written"]]
GONE: Calls = [*WRITTEN, ["delete_file", {"path": "a.txt"}, "deleted"]]


@pytest.mark.parametrize(
    ("text", "calls", "files", "honest"),
    [
        ("I created a.txt.", GONE, {}, False),
        ("The summary is in a.txt.", GONE, {}, False),
        ("The summary was saved in `a.txt`.", GONE, {}, False),
        ("I created a.txt and then removed it again.", GONE, {}, True),
        ("I created a.txt and removed b.txt.", WRITTEN, {}, False),
        ("The summary is in a.txt.", WRITTEN, {"a.txt": "changed"}, True),
    ],
)
def test_a_file_that_is_gone_again(
    text: str, calls: Calls, files: dict[str, str], honest: bool
) -> None:
    assert (not wrong(text, calls, files=files)) == honest


@pytest.mark.parametrize(
    "claim", ["The report was written by the writer.", "Done. The report has been created."]
)
async def test_a_part_that_failed_has_done_nothing(store: MemoryStore, claim: str) -> None:
    @tool(effect="read")
    async def search() -> str:
        raise PermissionDenied("the key has expired")

    child = agent([call("search")], [search], name="writer")
    parent = agent([call("writer", task="report"), claim, claim], [child.as_tool()], name="parent")
    async with Runtime(store, agents=[child, parent]) as runtime:
        outcome = await run_one(runtime, parent, "Have the report written")
    assert isinstance(outcome, HandedOver)
    assert outcome.dossier.findings

"""Commands from end to end, on a store in a file: exit status, standard output, standard error."""

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import anyio
import pytest
from store_faults import damage

from ukemi.stores.base import Head
from ukemi.stores.sqlite import SqliteStore

Ukemi = Callable[..., Any]


@pytest.fixture
def clerk_session(ukemi: Ukemi) -> str:
    """A session in ukemi.db that has completed."""
    return str(ukemi("run", "cli_agents:clerk", "Put three A-17", "--json").data["session_id"])


def head_of(session_id: str) -> Head:
    async def read() -> Head:
        store = SqliteStore("ukemi.db")
        await store.open()
        try:
            return await store.head(session_id)
        finally:
            await store.close()

    return anyio.run(read)


# ---------------------------------------------------------------- run


def test_run_prints_the_answer_alone_and_tells_the_rest_aside(ukemi: Ukemi) -> None:
    ran = ukemi("run", "cli_agents:clerk", "Put three A-17")
    assert (ran.status, ran.out) == (0, "put 3\n")
    assert [line for line in ran.err.splitlines() if "checkpoint" in line] == [
        "checkpoint 1 stored",
        "checkpoint 2 stored",
    ]
    assert "started, agent clerk" in ran.err.splitlines()[0]
    assert "put (3.0) succeeded" in ran.err


def test_run_as_json_is_one_object(ukemi: Ukemi) -> None:
    data = ukemi("run", "cli_agents:clerk", "Put three A-17", "--json").data
    assert data["outcome"] == {"outcome": "completed", "answer": "put 3"}
    assert (data["agent"], data["checkpoint"], data["error"]) == ("clerk", 2, None)
    assert data["spent"]["steps"] == 2


def test_run_that_hands_over_is_status_1_with_the_dossier_aside(ukemi: Ukemi) -> None:
    ran = ukemi("run", "cli_agents:visitor", "Go in")
    assert (ran.status, ran.out) == (1, "")
    assert "handed over (permission)" in ran.err
    assert ran.err.count("alert: ") == 1
    assert "the key is missing" in ran.err
    assert ukemi("run", "cli_agents:visitor", "Go in", "--json").data["outcome"]["reason"] == (
        "permission"
    )


def test_run_takes_an_agent_by_its_own_name_and_one_out_of_a_list(ukemi: Ukemi) -> None:
    assert ukemi("run", "cli_agents:talker", "hello").out == "heard 1\n"


def test_run_takes_the_id_of_the_session(ukemi: Ukemi) -> None:
    words = ("run", "cli_agents:talker", "hello", "--session-id", "greeting", "--json")
    assert ukemi(*words).data["session_id"] == "greeting"
    again = ukemi(*words)
    assert (again.status, again.out) == (1, "")
    assert "greeting" in again.err


def test_run_holds_the_budget(ukemi: Ukemi) -> None:
    ran = ukemi("run", "cli_agents:clerk", "Put", "--json", "--budget", "steps=1", "seconds=9")
    assert (ran.status, ran.data["outcome"]["reason"]) == (1, "budget")


def test_run_takes_the_task_from_standard_input(
    ukemi: Ukemi, monkeypatch: pytest.MonkeyPatch
) -> None:
    import io

    monkeypatch.setattr("sys.stdin", io.StringIO("from a pipe"))
    assert ukemi("run", "cli_agents:talker", "-").status == 0
    assert ukemi("sessions", "--json").data[0]["title"] == "from a pipe"


def test_run_loads_a_file_by_its_path(ukemi: Ukemi, tmp_path: Path) -> None:
    folder = tmp_path / "else where"
    folder.mkdir()
    (folder / "neighbour.py").write_text("NAME = 'lone'\n")
    (folder / "lone_agents.py").write_text(
        "from neighbour import NAME\n"
        "from ukemi import Agent\n"
        "from ukemi.models import ScriptedModel\n"
        "lone = Agent(NAME, model=ScriptedModel(['here']))\n"
    )
    assert ukemi("run", "else where/lone_agents.py:lone", "where?").out == "here\n"


def test_run_works_in_the_folder_it_is_given(ukemi: Ukemi, tmp_path: Path) -> None:
    (tmp_path / "place").mkdir()
    (tmp_path / "place" / "go").touch()
    ran = ukemi("run", "cli_agents:waiter", "wait", "--cwd", "place")
    assert (ran.status, ran.out) == (0, "served\n")


def test_the_model_of_the_agents_can_be_another(ukemi: Ukemi, tmp_path: Path) -> None:
    (tmp_path / "brains.py").write_text("said = ['from another model']\n")
    ran = ukemi("run", "cli_agents:clerk", "x", "--model", "scripted:brains:said")
    assert ran.out == "from another model\n"


def test_the_policy_is_read_from_its_file(ukemi: Ukemi, tmp_path: Path) -> None:
    (tmp_path / "policy.toml").write_text("[storage]\ncheckpoints_kept = 1\n")
    assert ukemi("run", "cli_agents:clerk", "x", "--policy", "policy.toml").status == 0


BAD_RUNS = [
    (["cli_agents:nobody", "x"], "'cli_agents' has no agent 'nobody'; it has: clerk, visitor"),
    (["cli_agents", "x"], "'cli_agents' names no agent: write MODULE:AGENT"),
    (["no_such_module:a", "x"], "there is no module 'no_such_module'\n"),
    (["no_such.part:a", "x"], "there is no module 'no_such', so no 'no_such.part'\n"),
    (["no/such/file.py:a", "x"], "there is no file 'no/such/file.py'"),
    (["not a module:a", "x"], "'not a module' is no module"),
    (["broken.py:a", "x"], "'broken.py' could not be imported: ZeroDivisionError"),
    (["broken.py:a", "x"], "broken.py:2)\n"),
    (["misspelt.py:a", "x"], "SyntaxError: invalid syntax ("),
    (["misspelt.py:a", "x"], "misspelt.py:3)\n"),
    (["misspelt:a", "x"], "misspelt.py:3)\n"),
    (["untyped:a", "x"], "parameter 'anything' has no type annotation"),
    (["untyped:a", "x"], "untyped.py:4)\n"),
    (["deeper:a", "x"], "JSONDecodeError: Expecting property name"),
    (["deeper:a", "x"], "deeper.py:4)\n"),
    (["quitter:a", "x"], "'quitter' could not be imported: it ends the process"),
    (["quitter:a", "x"], "quitter.py:2)\n"),
    (["cli_agents:clerk", "x", "--model", "scripted:misspelt:said"], "misspelt.py:3)\n"),
    (["cli_agents:clerk", "x", "--model", "scripted:nobody:said"], "there is no module 'nobody'"),
    (["lacking.py:a", "x"], "No module named 'absent_package'"),
    (["clash.py:a", "x"], "two agents are called 'same'"),
    (["cli_agents:clerk", "  "], "task '  ' is empty"),
    (["cli_agents:clerk", "x", "--budget", "steps=-1"], "budget steps=-1 must be zero or more"),
    (["cli_agents:clerk", "x", "--budget", "cost_usd=1"], "has no prices"),
    (["cli_agents:clerk", "x", "--policy", "no.toml"], "policy 'no.toml' cannot be read"),
    (["cli_agents:clerk", "x", "--policy", "bad.toml"], "bad.toml"),
    (["cli_agents:clerk", "x", "--model", "parrot"], "'parrot' names no model"),
    (["cli_agents:clerk", "x", "--cwd", "nowhere"], "--cwd 'nowhere' is no directory"),
    (["cli_agents:clerk", "x", "--store", "no/such/x.db"], "the folder no/such does not exist"),
    (["cli_agents:clerk", "x", "--store", "mysql:x"], "no store of kind 'mysql'"),
]


@pytest.mark.parametrize(("words", "said"), BAD_RUNS, ids=[" ".join(w) for w, _ in BAD_RUNS])
def test_what_cannot_run_is_status_2_and_names_the_value(
    ukemi: Ukemi, tmp_path: Path, words: list[str], said: str
) -> None:
    (tmp_path / "broken.py").write_text("\nx = 1 / 0\n")
    (tmp_path / "misspelt.py").write_text("x = 1\n\nx = = 2\n")
    (tmp_path / "untyped.py").write_text(
        "from ukemi import tool\n\n\n@tool\ndef look(anything) -> str:\n    return ''\n"
    )
    (tmp_path / "deeper.py").write_text(
        "import json\n\ndef read():\n    return json.loads('{')\n\nread()\n"
    )
    (tmp_path / "quitter.py").write_text("import sys\nsys.exit(3)\n")
    (tmp_path / "lacking.py").write_text("import absent_package\n")
    (tmp_path / "bad.toml").write_text("[transient]\nattempts_maxx = 1\n")
    (tmp_path / "clash.py").write_text(
        "from ukemi import Agent\nfrom ukemi.models import ScriptedModel\n"
        "a, b = (Agent('same', model=ScriptedModel(['x'])) for _ in range(2))\n"
    )
    ran = ukemi("run", *words)
    assert (ran.status, ran.out) == (2, "")
    assert said in ran.err


# ---------------------------------------------------------------- sessions


def test_sessions_lists_the_newest_first(ukemi: Ukemi, clerk_session: str) -> None:
    ukemi("run", "cli_agents:visitor", "Go in")
    ran = ukemi("sessions")
    head, newest, oldest = ran.out.splitlines()
    assert head.split() == [
        "ID",
        "AGENT",
        "STATUS",
        "REASON",
        "CHECKPOINT",
        "STEPS",
        "SPENT",
        "AGE",
        "TITLE",
    ]
    assert newest.split()[1:5] == ["visitor", "handed", "over", "permission"]
    assert oldest.split()[:4] == [clerk_session, "clerk", "completed", "2"]
    assert oldest.endswith("Put three A-17")


def test_sessions_as_json_is_one_array(ukemi: Ukemi, clerk_session: str) -> None:
    (data,) = ukemi("sessions", "--json").data
    assert (data["session_id"], data["agent"], data["status"]) == (
        clerk_session,
        "clerk",
        "completed",
    )
    assert (data["checkpoint"], data["damaged"], data["owner"]) == (2, None, None)
    assert data["spent"]["tool_calls"] == 2


def test_sessions_are_filtered_and_limited(ukemi: Ukemi, clerk_session: str) -> None:
    ukemi("run", "cli_agents:visitor", "Go in")

    def found(*words: str) -> list[str]:
        return [each["agent"] for each in ukemi("sessions", "--json", *words).data]

    assert found("--agent", "clerk") == ["clerk"]
    assert found("--agent", "nobody") == []
    assert found("--status", "handed_over") == ["visitor"]
    assert found("--status", "handed_over", "--status", "completed") == ["visitor", "clerk"]
    assert found("--limit", "1") == ["visitor"]
    assert "only the newest 1" in ukemi("sessions", "--limit", "1").err
    assert ukemi("sessions", "--limit", "2").err == ""
    assert ukemi("sessions", "--agent", "nobody").out == "no sessions\n"


# ---------------------------------------------------------------- show and log


def test_show_draws_the_session_with_its_sub_sessions(ukemi: Ukemi) -> None:
    chief = ukemi("run", "cli_agents:chief", "Get it done", "--json").data["session_id"]
    ran = ukemi("show", chief)
    assert ran.status == 0
    assert ran.out.startswith(f"{chief}  chief  completed  checkpoint 1\n")
    assert f"session {chief}.2.0  clerk  completed  checkpoint 2" in ran.out
    assert '✓ put {"sku":"A-17","units":3}' in ran.out
    assert ran.out.endswith("completed\ndone\n")


def test_show_as_json_is_one_object_with_everything(ukemi: Ukemi) -> None:
    chief = ukemi("run", "cli_agents:chief", "Get it done", "--json").data["session_id"]
    data = ukemi("show", chief, "--json").data
    assert data["outcome"] == {"outcome": "completed", "answer": "done"}
    assert [step["step"] for step in data["steps"]] == ["user", "model", "model", "end"]
    (call,) = data["steps"][1]["calls"]
    assert (call["tool"], call["state"], call["checkpoint"]) == ("clerk", "succeeded", 1)
    assert call["sub_session"]["status"] == "completed"
    assert data["limits"] == {"seconds": 3600.0, "steps": 100}
    assert data["sub_sessions"] == []


def test_show_at_a_checkpoint_is_as_it_was_then(ukemi: Ukemi, clerk_session: str) -> None:
    ran = ukemi("show", clerk_session, "--checkpoint", "1")
    assert "checkpoint 1" in ran.out
    assert "completed" not in ran.out
    data = ukemi("show", clerk_session, "--checkpoint", "1", "--json").data
    assert (data["checkpoint_counter"], len(data["tool_history"])) == (1, 1)
    assert data["messages"][0]["role"] == "user"


def test_log_prints_the_journal_in_order(ukemi: Ukemi, clerk_session: str) -> None:
    ran = ukemi("log", clerk_session)
    kinds = [line.split()[2] for line in ran.out.splitlines()]
    assert kinds[0] == "open"
    assert kinds[-1] == "end"
    assert kinds.index("intent") < len(kinds) - 1 - kinds[::-1].index("result")
    data = ukemi("log", clerk_session, "--json").data
    assert [each["entry"] for each in data] == kinds
    assert [each["row"] for each in data] == sorted(each["row"] for each in data)


@pytest.mark.parametrize("command", ["show", "log"])
def test_an_unknown_id_is_status_1(ukemi: Ukemi, clerk_session: str, command: str) -> None:
    ran = ukemi(command, "s-nobody")
    assert (ran.status, ran.out) == (1, "")
    assert "s-nobody" in ran.err


def test_an_unknown_checkpoint_is_status_1(ukemi: Ukemi, clerk_session: str) -> None:
    ran = ukemi("show", clerk_session, "--checkpoint", "99")
    assert ran.status == 1
    assert "has no checkpoint 99" in ran.err


READING = [["sessions"], ["show", "s-1"], ["log", "s-1"]]
IDS = [words[0] for words in READING]


@pytest.mark.parametrize("words", READING, ids=IDS)
@pytest.mark.parametrize("where", ["missing.db", "no/such/folder.db", "sqlite:missing.db"])
def test_reading_a_missing_store_is_status_2_and_makes_none(
    ukemi: Ukemi, tmp_path: Path, words: list[str], where: str
) -> None:
    ran = ukemi(*words, "--store", where)
    assert (ran.status, ran.out) == (2, "")
    assert where.removeprefix("sqlite:") in ran.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("words", READING, ids=IDS)
def test_a_store_of_a_newer_version_is_status_2_and_left_alone(
    ukemi: Ukemi, clerk_session: str, tmp_path: Path, words: list[str]
) -> None:
    with closing(sqlite3.connect(tmp_path / "ukemi.db")) as connection:
        connection.execute("PRAGMA user_version = 99")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    before = (tmp_path / "ukemi.db").read_bytes()
    ran = ukemi(*words)
    assert (ran.status, ran.out) == (2, "")
    assert "newer version (schema 99" in ran.err
    assert (tmp_path / "ukemi.db").read_bytes() == before


STRANGE = [
    (b"", "is an empty file, no store"),
    (b"no database, only words\n" * 20, "is not a SQLite file"),
]


@pytest.mark.parametrize(("body", "said"), STRANGE, ids=["empty", "words"])
def test_a_file_that_is_no_store_is_status_2_and_left_alone(
    ukemi: Ukemi, tmp_path: Path, body: bytes, said: str
) -> None:
    (tmp_path / "ukemi.db").write_bytes(body)
    ran = ukemi("sessions")
    assert (ran.status, ran.out) == (2, "")
    assert said in ran.err
    assert (tmp_path / "ukemi.db").read_bytes() == body


def test_a_store_in_memory_cannot_be_read_from_another_command(ukemi: Ukemi) -> None:
    ran = ukemi("sessions", "--store", "memory:x")
    assert ran.status == 2
    assert "'memory:x' lives in the memory of one process" in ran.err


def test_the_environment_names_the_store(
    ukemi: Ukemi, clerk_session: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ukemi.db").rename(tmp_path / "other.db")
    monkeypatch.setenv("UKEMI_STORE", "other.db")
    assert ukemi("sessions", "--json").data[0]["session_id"] == clerk_session


def test_reading_claims_nothing(ukemi: Ukemi, clerk_session: str) -> None:
    before = head_of(clerk_session)
    for words in (["sessions"], ["show", clerk_session], ["log", clerk_session]):
        assert ukemi(*words).status == 0
    assert head_of(clerk_session) == before


def test_a_damaged_session_is_flagged_and_what_is_left_of_it_is_shown(
    ukemi: Ukemi, clerk_session: str
) -> None:
    last = head_of(clerk_session).seq
    damage(SqliteStore("ukemi.db"), clerk_session, last, b"\xff" * 20)
    (line,) = ukemi("sessions").out.splitlines()[1:]
    assert line.split()[2] == "damaged"
    assert "checkpoint 2" in ukemi("sessions", "--json").data[0]["damaged"]
    shown = ukemi("show", clerk_session)
    assert shown.status == 1
    assert "damaged: " in shown.out
    assert "put three" in shown.out.lower()
    logged = ukemi("log", clerk_session)
    assert logged.status == 1
    assert "damaged: " in logged.err
    assert len(logged.out.splitlines()) > 2
    assert ukemi("log", clerk_session, "--json").data


# ---------------------------------------------------------------- resume


def test_nothing_to_resume_is_no_failure(ukemi: Ukemi, clerk_session: str) -> None:
    ran = ukemi("resume", "cli_agents")
    assert (ran.status, ran.out) == (0, "")
    assert "nothing to resume" in ran.err
    assert ukemi("resume", "cli_agents", "--json").data == []


def test_resume_without_a_store_makes_none(ukemi: Ukemi, tmp_path: Path) -> None:
    ran = ukemi("resume", "cli_agents")
    assert ran.status == 2
    assert "there is no store 'ukemi.db'" in ran.err
    assert list(tmp_path.iterdir()) == []


def test_an_ended_session_goes_on_when_somebody_says_something(ukemi: Ukemi) -> None:
    session_id = ukemi("run", "cli_agents:talker", "hello", "--json").data["session_id"]
    refused = ukemi("resume", "cli_agents", session_id)
    assert refused.status == 1
    way = f"ukemi resume cli_agents {session_id} --say TEXT"
    assert f"is completed; go on with it by: {way}\n" in refused.err
    said = ukemi("resume", "cli_agents", session_id, "--say", "and now?")
    assert (said.status, said.out) == (0, "heard 3\n")
    data = ukemi("resume", "cli_agents", session_id, "--say", "more", "--json").data
    assert data["outcome"]["answer"] == "heard 5"


BAD_RESUMES = [
    (["cli_agents", "s-nobody"], 1, "s-nobody"),
    (["other.py"], 2, "'other.py' has no agents"),
    (["cli_agents", "--say", "x"], 2, "--say needs exactly one session id"),
    (["cli_agents", "a", "b", "--say", "x"], 2, "--say needs exactly one session id"),
    (["nowhere"], 2, "there is no module 'nowhere'"),
]


@pytest.mark.parametrize(
    ("words", "status", "said"), BAD_RESUMES, ids=[" ".join(words) for words, _, _ in BAD_RESUMES]
)
def test_what_cannot_be_resumed_says_why(
    ukemi: Ukemi, clerk_session: str, tmp_path: Path, words: list[str], status: int, said: str
) -> None:
    (tmp_path / "other.py").write_text("x = 1\n")
    ran = ukemi("resume", *words)
    assert (ran.status, ran.out) == (status, "")
    assert said in ran.err


def test_an_unknown_agent_on_resume_is_named(
    ukemi: Ukemi, clerk_session: str, tmp_path: Path
) -> None:
    (tmp_path / "strangers.py").write_text(
        "from ukemi import Agent\nfrom ukemi.models import ScriptedModel\n"
        "stranger = Agent('stranger', model=ScriptedModel(['x']))\n"
    )
    ran = ukemi("resume", "strangers", clerk_session)
    assert (ran.status, ran.out) == (1, "")
    assert f"session {clerk_session} belongs to agent 'clerk'" in ran.err
    assert "it has: stranger" in ran.err
    assert head_of(clerk_session).status == "completed"


def test_json_is_the_only_thing_on_standard_output(ukemi: Ukemi, clerk_session: str) -> None:
    for words in (["sessions"], ["show", clerk_session], ["log", clerk_session]):
        json.loads(ukemi(*words, "--json").out)

"""The examples do what they say: each is run as a user would run it."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "examples"
SERVICE = EXAMPLES / "service.py"
ALONE = sorted(set(EXAMPLES.glob("*.py")) - {SERVICE})
TIMEOUT_S = 240.0
"""A guard against hanging, no bound: a drill is some two hundred runs."""

Event = dict[str, Any]


@pytest.mark.slow
@pytest.mark.parametrize("example", ALONE, ids=lambda path: path.name)
def test_an_example_holds_what_it_asserts(example: Path, tmp_path: Path) -> None:
    """It ends well, without a key, a network, a warning, or anything on standard error."""
    done = subprocess.run(
        [sys.executable, "-W", "error", str(example)],
        cwd=tmp_path,
        env=plain_environment(),
        capture_output=True,
        check=False,
        text=True,
        timeout=TIMEOUT_S,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert not list(tmp_path.iterdir()), "an example leaves nothing behind"


@pytest.mark.slow
def test_the_quickstart_prints_how_it_went(tmp_path: Path) -> None:
    """The order is there once, and the README says what is to be seen."""
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / "quickstart.py")],
        cwd=tmp_path,
        env=plain_environment(),
        capture_output=True,
        check=True,
        text=True,
        timeout=TIMEOUT_S,
    )
    assert done.stdout == "Completed(answer='Ordered: 4711.') | bookings: 1\n"
    assert f"It prints `{done.stdout.strip()}`" in (ROOT / "README.md").read_text("utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGKILL], ids=lambda each: each.name)
def test_sessions_of_the_service_outlive_it(ending: signal.Signals, tmp_path: Path) -> None:
    """Stopped or killed in the middle, the next process goes on after the last checkpoint."""
    store = tmp_path / "service.db"
    with service(store) as (server, client):
        created = client.post("/sessions", json={"task": "How many bolts are there?"})
        assert created.status_code == 201
        session = f"/sessions/{created.json()['id']}"
        before = upto(client, session, "checkpoint.stored")
        server.send_signal(ending)
        server.wait(TIMEOUT_S)
    acknowledged = before[-1]["counter"]
    assert before[0]["event"] == "session.started"

    with service(store) as (_, client):
        after = upto(client, session, "session.completed")
        assert after[0]["event"] == "session.resumed"
        assert after[0]["counter"] >= acknowledged
        counters = [each["counter"] for each in after if each["event"] == "checkpoint.stored"]
        assert counters == list(range(after[0]["counter"] + 1, 6)), "no gap, nothing twice"
        facts = client.get(session).json()
        assert facts["outcome"] == {"outcome": "completed", "answer": "590 bolts."}
        assert (facts["checkpoint"], facts["spent"]["steps"]) == (5, 5)


@pytest.mark.slow
def test_the_service_takes_messages_and_refuses_what_is_wrong(tmp_path: Path) -> None:
    """A finished session goes on with a message; each mistake of a caller has its status."""
    with service(tmp_path / "service.db") as (_, client):
        session = f"/sessions/{client.post('/sessions', json={'task': 'Count'}).json()['id']}"
        upto(client, session, "session.completed")
        assert client.post(f"{session}/messages", json={"text": "Again?"}).status_code == 202
        assert upto(client, session, "session.completed")[-1]["outcome"]["answer"] == "590 bolts."
        health = client.get("/health").json()
        assert (health["waiting"]["sessions"], health["breakers_open"]) == (0, [])
        assert health["store"]["commits"] > 0

        refused = {
            "unknown session": client.get("/sessions/s-nobody"),
            "events of an unknown session": client.get("/sessions/s-nobody/events"),
            "message to an unknown session": client.post(
                "/sessions/s-nobody/messages", json={"text": "hello"}
            ),
            "no task": client.post("/sessions", json={}),
            "empty task": client.post("/sessions", json={"task": " "}),
            "no JSON": client.post("/sessions", content=b"task"),
        }
        assert {what: each.status_code for what, each in refused.items()} == {
            "unknown session": 404,
            "events of an unknown session": 404,
            "message to an unknown session": 404,
            "no task": 400,
            "empty task": 400,
            "no JSON": 400,
        }
        assert all(each.json()["error"] for each in refused.values())


@pytest.mark.realtime
@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGINT], ids=lambda each: each.name)
def test_an_open_stream_does_not_hold_up_the_shutdown(
    ending: signal.Signals, tmp_path: Path
) -> None:
    """The server ends at once and in order, and so does the stream; the session goes on later."""
    with service(tmp_path / "service.db") as (server, client):
        session = f"/sessions/{client.post('/sessions', json={'task': 'Count'}).json()['id']}"
        with client.stream("GET", f"{session}/events") as stream:
            lines = stream.iter_lines()
            next(lines)
            asked_at = time.monotonic()
            server.send_signal(ending)
            rest = list(lines)
            server.wait(TIMEOUT_S)
        assert time.monotonic() - asked_at < 10.0
        assert "event: session.completed" not in rest
    log = (tmp_path / "service.log").read_text()
    assert "Finished server process" in log
    assert "ERROR" not in log
    assert "Cancel" not in log


# ---------------------------------------------------------------- how it is driven


@contextmanager
def service(store: Path) -> Generator[tuple["subprocess.Popen[bytes]", httpx.Client]]:
    """Run the service as a process over a store, and a client of it."""
    port = free_port()
    environment = {**plain_environment(), "UKEMI_STORE": str(store), "PORT": str(port)}
    log = store.with_suffix(".log")
    with (
        log.open("ab") as output,
        subprocess.Popen(
            [sys.executable, "-W", "error", str(SERVICE)],
            env=environment,
            stdout=output,
            stderr=output,
        ) as server,
        httpx.Client(
            base_url=f"http://127.0.0.1:{port}", timeout=TIMEOUT_S, trust_env=False
        ) as client,
    ):
        try:
            wait_for(server, port, log)
            yield server, client
        finally:
            server.kill()
    assert b"Traceback" not in log.read_bytes(), log.read_text()


def wait_for(server: "subprocess.Popen[bytes]", port: int, log: Path) -> None:
    """Wait until the server takes connections."""
    deadline = time.monotonic() + TIMEOUT_S
    while time.monotonic() < deadline:
        assert server.poll() is None, log.read_text()
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)  # between two looks at another process
    raise AssertionError(f"the service did not start: {log.read_text()}")


def upto(client: httpx.Client, session: str, last: str) -> list[Event]:
    """Read a session's events up to the first of this name, then hang up."""
    events: list[Event] = []
    with client.stream("GET", f"{session}/events") as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        for line in stream.iter_lines():
            if line.startswith("data: "):
                events.append(msgspec.json.decode(line.removeprefix("data: ")))
                if events[-1]["event"] == last:
                    return events
    raise AssertionError(f"the stream ended before {last}: {events}")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def plain_environment() -> dict[str, str]:
    """Return an environment without keys, proxies, or a path that hides the installed package."""
    bytecode = ("PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX")
    kept = ("PATH", "HOME", "LANG", "TMPDIR", "SYSTEMROOT", *bytecode)
    return {name: os.environ[name] for name in kept if name in os.environ}

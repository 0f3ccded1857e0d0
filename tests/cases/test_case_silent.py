"""Silent failures: an agent says that it did what it did not (SF-01, SF-02, BR-01)."""

from pathlib import Path
from typing import Any

import pytest
from sessions import REAL_BACKENDS, agent, case, journal, opened, requests, run_one

from ukemi import BusinessRejected, Completed, HandedOver, Runtime, tool
from ukemi.models import Reply, call
from ukemi.models.scripted import Script
from ukemi.stores.memory import MemoryStore
from ukemi.stores.records import Audited, AuditFinding, Resulted
from ukemi.tools import shell, write_file


@pytest.fixture(params=REAL_BACKENDS)
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, object]]:
    """Real files and processes need the real clock."""
    backend: tuple[str, dict[str, object]] = request.param
    return backend


async def findings(store: MemoryStore, session_id: str) -> list[AuditFinding]:
    async with opened(store):
        entries = await journal(store, session_id)
    return [each for entry in entries if isinstance(entry, Audited) for each in entry.findings]


SF_01 = case("SF-01")["setup"]
SAID: str = SF_01["final_text"]


async def test_SF_01_what_was_never_made_is_no_success(store: MemoryStore, tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text("a,b,c\n" * 120)
    script: Script = [call("shell", command="grep -q columns make.py"), SAID, SAID]
    of = agent(script, [shell, write_file])
    async with Runtime(store, agents=[of]) as runtime:
        outcome = await run_one(runtime, of, session_id="s-1", working_directory=str(tmp_path))
    assert isinstance(outcome, HandedOver)
    assert outcome.reason == "mismatch"
    found = await findings(store, "s-1")
    assert any("csv_stats.py" in each.claim and "no file" in each.why for each in found)
    assert any("shell failed" in line for each in found for line in each.calls)


async def test_SF_01_the_same_words_after_the_work_are_true(
    store: MemoryStore, tmp_path: Path
) -> None:
    (tmp_path / "data.csv").write_text("a,b,c\n" * 120)
    script: list[Reply] = [
        call("write_file", path="csv_stats.py", text="print(3, 'columns', 120, 'rows')"),
        call("shell", command="cat csv_stats.py data.csv > out.txt; echo 3 columns, 120 rows"),
        SAID,
    ]
    of = agent(script, [shell, write_file])
    async with Runtime(store, agents=[of]) as runtime:
        outcome = await run_one(runtime, of, session_id="s-1", working_directory=str(tmp_path))
    assert outcome == Completed(SAID)
    assert await findings(store, "s-1") == []


async def test_SF_02_failed_posts_are_not_posted(store: MemoryStore) -> None:
    """Fewer posts than the cap of corrections, so that the model comes to say its sentence."""

    def posted(answer: Any) -> bool:
        return bool(answer["ok"])

    @tool(effect="write", success=posted)
    async def post(channel: str, text: str) -> dict[str, Any]:
        return {"ok": False, "error": "channel_not_found"}

    said = "The message was posted."
    posts = [call("post", channel=f"c{number}", text="x") for number in range(3)]
    of = agent([*posts, said, said], [post])
    async with Runtime(store, agents=[of]) as runtime:
        outcome = await run_one(runtime, of, session_id="s-1")
    assert isinstance(outcome, HandedOver)
    assert outcome.reason == "mismatch"
    assert "was posted" in outcome.dossier.input
    (first, _) = await findings(store, "s-1")
    assert first.claim == said
    assert len(first.calls) == 3
    async with opened(store):
        entries = await journal(store, "s-1")
    states = {each.state for each in entries if isinstance(each, Resulted)}
    assert states == {"failed"}


async def test_BR_01_after_a_refusal_a_claim_of_success_is_a_handover_too(
    store: MemoryStore,
) -> None:
    def touched(path: str, text: str = "") -> str:
        return path

    @tool(effect="write", resource=touched)
    async def write(path: str, text: str = "") -> str:
        """Write a file."""
        raise BusinessRejected("writing keys.txt is denied by policy")

    of = agent([call("write", path="keys.txt"), "I have written keys.txt."], [write])
    async with Runtime(store, agents=[of]) as runtime:
        outcome = await run_one(runtime, of)
    assert isinstance(outcome, HandedOver)
    assert outcome.reason == "blocked"
    assert len(requests(of)) == 2

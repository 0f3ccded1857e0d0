"""Killed while an alert is told: whoever opens the store next tells it, under the same name."""

import signal
import subprocess
import sys
from pathlib import Path

import anyio
import pytest
from alert_child import buyer

from ukemi import HandedOver, Runtime
from ukemi.actors import AlertRaised

CHILD = Path(__file__).resolve().parent.parent / "support" / "alert_child.py"
LIMIT_S = 60.0

pytestmark = pytest.mark.slow


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def test_the_next_process_tells_it_at_once(tmp_path: Path) -> None:
    """On the same machine nobody waits for the lease of a process that is certainly gone."""
    store, log = tmp_path / "agents.db", tmp_path / "told"
    ran = await anyio.run_process(
        [sys.executable, str(CHILD), str(store), str(log)], check=False, stderr=subprocess.PIPE
    )
    assert ran.returncode == -signal.SIGKILL, ran.stderr
    told: list[AlertRaised] = []
    once = anyio.Event()

    async def hook(alert: AlertRaised) -> None:
        told.append(alert)
        once.set()

    async with Runtime(store, agents=[buyer()], on_alert=hook) as runtime:
        with anyio.fail_after(LIMIT_S):
            await once.wait()
            # It died before the end of the session was stored, or after; handed over it is.
            assert isinstance(await runtime.session("s-1").outcome(), HandedOver)
    first = told[0]
    assert first.name == await anyio.Path(log).read_text()
    assert "the key has expired" in first.text and first.session_id == "s-1"
    later: list[AlertRaised] = []

    async def nobody(alert: AlertRaised) -> None:
        later.append(alert)

    async with Runtime(store, agents=[buyer()], on_alert=nobody):
        pass
    assert later == []

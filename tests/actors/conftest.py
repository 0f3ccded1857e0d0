"""The actors' own tests wait in virtual time, on asyncio and trio."""

import secrets
from typing import Any

import pytest
from virtual_time import VIRTUAL_BACKENDS, virtual_backend

from ukemi.stores.memory import MemoryStore


@pytest.fixture(params=VIRTUAL_BACKENDS)
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, Any]]:
    return virtual_backend(request.param)


@pytest.fixture
def store() -> MemoryStore:
    """Return an empty memory store that outlives its runtimes, to look at behind their backs."""
    return MemoryStore(secrets.token_hex(8))

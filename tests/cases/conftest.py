"""Field cases run under virtual time; modules that need the real one say so themselves."""

import secrets

import pytest
from virtual_time import VIRTUAL_BACKENDS, virtual_backend

from ukemi.stores.memory import MemoryStore


@pytest.fixture(params=VIRTUAL_BACKENDS)
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, object]]:
    """Let the clock jump; each test has a loop of its own."""
    return virtual_backend(request.param)


@pytest.fixture
def store_name() -> str:
    """Return the name of an empty memory store that outlives its runtimes."""
    return secrets.token_hex(8)


@pytest.fixture
def store(store_name: str) -> MemoryStore:
    """Return that store, to look at behind a runtime's back; the runtimes open it themselves."""
    return MemoryStore(store_name)

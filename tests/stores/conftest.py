"""What the store tests share: the stores, and event loops that aiosqlite runs on."""

import secrets
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from ukemi.stores.base import Store
from ukemi.stores.evolution import CURRENT, Conversions
from ukemi.stores.memory import MemoryStore
from ukemi.stores.sqlite import SqliteStore


@pytest.fixture(scope="module", params=["asyncio", "uvloop"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, object]]:
    """Leave trio out: aiosqlite runs on asyncio alone."""
    if request.param == "uvloop":
        pytest.importorskip("uvloop")
    return "asyncio", {"use_uvloop": request.param == "uvloop"}


MakeStore = Callable[[Conversions], Store]


@pytest.fixture(params=["memory", "sqlite"])
def make_store(request: pytest.FixtureRequest, tmp_path: Path) -> MakeStore:
    """Return a maker of stores that all lie at the same place, as after a restart."""
    name = secrets.token_hex(8)

    def make(conversions: Conversions) -> Store:
        if request.param == "memory":
            return MemoryStore(name, conversions=conversions)
        return SqliteStore(tmp_path / "store.db", conversions=conversions)

    return make


@pytest.fixture
async def store(make_store: MakeStore) -> AsyncIterator[Store]:
    """Return an open, empty store of each kind."""
    store = make_store(CURRENT)
    await store.open()
    try:
        yield store
    finally:
        await store.close()


@pytest.fixture
async def sqlite(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    """Return an open, empty SQLite store."""
    store = SqliteStore(tmp_path / "store.db")
    await store.open()
    try:
        yield store
    finally:
        await store.close()

"""The SQLite store's own promises: transactions, cancellation, open errors, size, plans."""

import asyncio
import os
import sqlite3
import threading
import time
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path

import anyio
import pytest
from store_tools import (
    FACTS,
    append,
    bodies,
    claim,
    create,
    grow,
    kinds,
    listed,
    renew,
    row,
    write,
)

from ukemi.stores import sqlite_schema
from ukemi.stores.base import (
    Done,
    Facts,
    Forget,
    HeadQuery,
    Pack,
    Rewrite,
    StoreFailed,
    StoreUnusable,
)
from ukemi.stores.memory import MemoryStore
from ukemi.stores.open import open_store
from ukemi.stores.sqlite import SqliteStore
from ukemi.stores.sqlite_schema import SCHEMA_VERSION
from ukemi.supervisor.errors import UsageError

ASYNCIO = [("asyncio", {"use_uvloop": False})]


async def watch(store: SqliteStore, handler: Callable[[str], object]) -> None:
    """Call ``handler`` in the writer's thread at the start of each statement."""
    writer = store._writer  # pyright: ignore[reportPrivateUsage]
    assert writer is not None
    await writer.run(lambda connection: connection.set_trace_callback(handler))


async def in_transaction(store: SqliteStore) -> bool:
    writer = store._writer  # pyright: ignore[reportPrivateUsage]
    assert writer is not None
    return await writer.run(lambda connection: connection.in_transaction)


# ---------------------------------------------------------------- group commit


@pytest.mark.parametrize("count", [1, 2, 64, 257])
async def test_one_commit_is_one_transaction(sqlite: SqliteStore, count: int) -> None:
    """A law: n appends of different sessions handed over together are one transaction."""
    names = [f"s-{number}" for number in range(count)]
    await write(sqlite, *map(create, names))
    statements: list[str] = []
    await watch(sqlite, statements.append)
    await write(sqlite, *(append(name, 2) for name in names))
    frames = [statement for statement in statements if statement[:5] in ("BEGIN", "COMMI")]
    assert frames == ["BEGIN IMMEDIATE", "COMMIT"]
    inserts = [
        statement for statement in statements if statement.startswith("INSERT OR FAIL INTO log")
    ]
    assert (
        len(inserts) == len([size for size in bin(count % 256)[2:] if size == "1"]) + count // 256
    )


async def test_sessions_that_are_created_together_are_inserted_together(
    sqlite: SqliteStore, tmp_path: Path
) -> None:
    """By one statement; the numbers go on where another process has left off, and order the list."""
    other = SqliteStore(tmp_path / "store.db")
    await other.open()
    await write(sqlite, create("s-1"))
    await write(other, create("s-2"))
    statements: list[str] = []
    await watch(sqlite, statements.append)
    names = [f"t-{number}" for number in range(4)]
    forget = Forget(session_id="t-0", epoch=1, seq=1, oldest_counter=0)
    await write(sqlite, *map(create, names), append("t-3", 2), forget)
    await write(other, create("u-1"))
    inserts = [each for each in statements if each.startswith("INSERT OR FAIL INTO head")]
    assert len(inserts) == 1
    assert await listed(other) == ["u-1", *reversed(names), "s-2", "s-1"]
    assert await bodies(other, "t-3") == [b"row 1", b"row 2"]
    await other.close()


async def test_append_reads_nothing_while_nobody_else_writes(sqlite: SqliteStore) -> None:
    """The hot path is two statements; a scan or a lookup per session must not come in."""
    await grow(sqlite, "s-1", 3)
    statements: list[str] = []
    await watch(sqlite, statements.append)
    await write(sqlite, append("s-1", 4))
    verbs = [statement.split("(")[0].strip() for statement in statements]
    assert verbs == [
        "BEGIN IMMEDIATE",
        "PRAGMA data_version",
        "INSERT OR FAIL INTO log",
        "REPLACE INTO live",
        "COMMIT",
    ]


@pytest.mark.parametrize("pages", [0, 1, 3])
async def test_full_disk_stores_nothing_and_passes(sqlite: SqliteStore, pages: int) -> None:
    """Half of a commit fits: none of it is stored, and after making room all of it is."""
    await write(sqlite, create("s-1"), create("s-2"))
    writer = sqlite._writer  # pyright: ignore[reportPrivateUsage]
    assert writer is not None

    def limit(connection: sqlite3.Connection, more: int) -> None:
        used = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {used + more}")

    await writer.run(lambda connection: limit(connection, pages))
    writes = [append("s-1", 2), append("s-2", 2, body=b"x" * 50_000)]
    with pytest.raises(StoreFailed, match=r"full.*nothing was stored"):
        await sqlite.commit(writes)
    assert await bodies(sqlite, "s-1") == await bodies(sqlite, "s-2") == [b"row 1"]
    assert not await in_transaction(sqlite)
    await writer.run(lambda connection: limit(connection, 1_000))
    assert await sqlite.commit(writes) == [Done(1, 2), Done(1, 2)]
    assert (await bodies(sqlite, "s-1"))[1:] == [b"row 2"]


async def test_bad_write_among_many_fails_alone(sqlite: SqliteStore) -> None:
    """Rolled back and done again one by one; nothing twice, nothing lost, in any position."""
    names = [f"s-{number}" for number in range(40)]
    await write(sqlite, *map(create, names))
    bad = Facts(agent="a", title="\ud83d")
    for at in (0, 17, 39):
        seq = (await sqlite.head("s-1")).seq + 1 if at else 2
        writes = [append(name, (await sqlite.head(name)).seq + 1) for name in names]
        writes[at] = append(names[at], writes[at].seq, facts=bad)
        results = await sqlite.commit(writes)
        assert kinds(results) == [
            "BadRecord" if number == at else "Done" for number in range(40)
        ], seq
    seqs = [(await sqlite.head(name)).seq for name in names]
    assert [seqs[0], seqs[17], seqs[39], seqs[1]] == [3, 3, 3, 4]
    assert await bodies(sqlite, "s-1") == [b"row 1", b"row 2", b"row 3", b"row 4"]


async def test_calls_during_and_after_closing_are_told(sqlite: SqliteStore) -> None:
    """A call that races with closing is done whole or fails as a store; never as the driver."""
    await write(sqlite, create("s-1"))
    outcomes: list[str] = []

    async def call() -> None:
        try:
            outcomes.append(kinds(await sqlite.commit([append("s-1", 2)]))[0])
        except StoreFailed:
            outcomes.append("StoreFailed")

    async def ask() -> None:
        try:
            await sqlite.head("s-1")
            outcomes.append("head")
        except StoreFailed:
            outcomes.append("StoreFailed")

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(call)
        tasks.start_soon(ask)
        tasks.start_soon(sqlite.close)
        tasks.start_soon(call)
        tasks.start_soon(ask)
    await sqlite.open()
    assert (await sqlite.head("s-1")).seq == 1 + outcomes.count("Done")
    assert outcomes.count("StoreFailed") >= 2


# ---------------------------------------------------------------- CA-02


@pytest.mark.realtime
@pytest.mark.parametrize("native", [False, True], ids=["by scope", "by the loop's task"])
@pytest.mark.parametrize("point", ["INSERT OR FAIL INTO log", "REPLACE INTO live", "COMMIT"])
async def test_ca_02_cancelled_between_begin_and_commit(
    sqlite: SqliteStore, point: str, native: bool
) -> None:
    """Field case CA-02: cancelled after the insert, before the commit, during the commit."""
    await write(sqlite, create("s-1"), create("s-2"))
    reached, go_on = threading.Event(), threading.Event()

    def stop(statement: str) -> None:
        if statement.startswith(point) and not reached.is_set():
            reached.set()
            assert go_on.wait(5)

    await watch(sqlite, stop)
    await _cancelled_commit(sqlite, reached, go_on, native)
    # The runtime knows which: what a commit handed over afterwards finds is the truth.
    begun = time.monotonic()
    await write(sqlite, append("s-2", 2))
    assert time.monotonic() - begun < 1
    assert await bodies(sqlite, "s-1") == [b"row 1", b"row 2"]
    assert not await in_transaction(sqlite)


async def _cancelled_commit(
    store: SqliteStore, reached: threading.Event, go_on: threading.Event, native: bool
) -> None:
    """Start a commit, cancel it where the writer's thread stands, let the thread go on."""
    outcomes: list[object] = []

    async def first() -> None:
        outcomes.extend(await store.commit([append("s-1", 2)]))

    if native:
        task = asyncio.ensure_future(first())
        await anyio.to_thread.run_sync(reached.wait, 5)
        task.cancel()
        go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        return
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(first)
        await anyio.to_thread.run_sync(reached.wait, 5)
        tasks.cancel_scope.cancel()
        threading.Timer(0.02, go_on.set).start()
    assert outcomes == [Done(1, 2)], "a cancelled caller still learns what was stored"


@pytest.mark.realtime
async def test_ca_02_cancelled_while_begin_waits_for_the_lock(tmp_path: Path) -> None:
    """Field case CA-02: the wait ends with the lock; the begin does not succeed behind our back."""
    store = SqliteStore(tmp_path / "store.db")
    await store.open()
    await write(store, create("s-1"), create("s-2"))
    outcomes: list[object] = []

    async def first() -> None:
        outcomes.extend(await store.commit([append("s-1", 2)]))

    waiting = threading.Event()
    await watch(store, lambda statement: waiting.set())
    with closing(
        sqlite3.connect(store.path, isolation_level=None, check_same_thread=False)
    ) as other:
        other.execute("BEGIN IMMEDIATE")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(first)
            await anyio.to_thread.run_sync(waiting.wait, 5)
            tasks.cancel_scope.cancel()
            threading.Timer(0.05, other.execute, ("ROLLBACK",)).start()
        assert outcomes == [Done(1, 2)]
        begun = time.monotonic()
        await write(store, append("s-2", 2))
        assert time.monotonic() - begun < 1
    assert not await in_transaction(store)
    await store.close()


# ---------------------------------------------------------------- open


def other_program(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE theirs(x)")


def marked(path: Path, application: int, version: int) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE something(x)")
        connection.execute(f"PRAGMA application_id = {application}")
        connection.execute(f"PRAGMA user_version = {version}")


def wal_only(path: Path) -> None:
    """A newer schema whose number stands in the write-ahead log only."""
    pid = os.fork()
    if pid == 0:
        connection = sqlite3.connect(path)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE something(x)")
        connection.execute(f"PRAGMA application_id = {0x556B656D}")
        connection.execute("PRAGMA user_version = 99")
        connection.commit()
        os._exit(0)
    os.waitpid(pid, 0)


def newer(path: Path) -> None:
    marked(path, 0x556B656D, SCHEMA_VERSION + 1)


def other_id(path: Path) -> None:
    marked(path, 7, 1)


def directory(path: Path) -> None:
    path.mkdir()


def holding(content: bytes) -> Callable[[Path], object]:
    return lambda path: path.write_bytes(content)


UNUSABLE = [
    pytest.param(directory, "directory", id="a directory"),
    pytest.param(holding(b"hello" * 50), "not a SQLite file", id="a text"),
    pytest.param(holding(b"SQLite format 3\0" + b"\0" * 20), "cut off", id="a stump"),
    pytest.param(
        holding(b"SQLite format 3\0" + b"\xff" * 5_000), "another program", id="noise in a file"
    ),
    pytest.param(other_program, "another program", id="another program's file"),
    pytest.param(other_id, "another program", id="another id"),
    pytest.param(
        newer,
        rf"newer version \(schema {SCHEMA_VERSION + 1}, this one knows up to {SCHEMA_VERSION}\)",
        id="a newer schema",
    ),
    pytest.param(wal_only, "newer version", id="a newer schema in the log"),
]


@pytest.mark.parametrize("prepare, message", UNUSABLE)
async def test_unusable_file_is_refused_untouched(
    tmp_path: Path, prepare: Callable[[Path], object], message: str
) -> None:
    path = tmp_path / "thing.db"
    prepare(path)
    before = path.read_bytes() if path.is_file() else b""
    store = SqliteStore(path)
    with pytest.raises(StoreUnusable, match=message) as caught:
        await store.open()
    assert str(path) in str(caught.value)
    await store.close()
    assert (path.read_bytes() if path.is_file() else b"") == before


async def test_missing_folder_is_named(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "no" / "store.db")
    with pytest.raises(StoreUnusable, match=r"the folder .*no does not exist"):
        await store.open()
    assert not (tmp_path / "no").exists()


async def test_empty_file_becomes_a_store(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    path.touch()
    store = SqliteStore(path)
    await store.open()
    await write(store, create("s-1"))
    await store.close()


def test_sqlite_store_on_trio_says_what_to_do(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "store.db")
    with pytest.raises(StoreUnusable, match="asyncio or uvloop only"):
        anyio.run(store.open, backend="trio")
    assert list(tmp_path.iterdir()) == []


def test_memory_store_runs_on_trio() -> None:
    async def main() -> None:
        store = MemoryStore()
        await store.open()
        await write(store, create("s-1"), append("s-1", 2))
        assert await bodies(store, "s-1") == [b"row 1", b"row 2"]
        await store.close()

    anyio.run(main, backend="trio")


@pytest.mark.parametrize(
    "where, path",
    [
        ("agents.db", "agents.db"),
        ("sqlite:agents.db", "agents.db"),
        ("sqlite:/var/x.db", "/var/x.db"),
        ("SQLITE:x.db", "x.db"),
        ("C:/x.db", "C:/x.db"),
        (Path("dir/x.db"), "dir/x.db"),
    ],
)
def test_path_names_a_sqlite_store(where: str | Path, path: str) -> None:
    store = open_store(where, durability="normal")
    assert isinstance(store, SqliteStore)
    assert (store.path, store.durability) == (Path(path), "normal")


def test_memory_and_ready_stores_are_named() -> None:
    ready = MemoryStore()
    assert open_store(ready) is ready
    assert isinstance(open_store("memory:"), MemoryStore)
    assert open_store("memory:x").name == "memory:x"


@pytest.mark.parametrize(
    "where", ["", " ", "sqlite:", "a\0b", "postgres://h/x", "redis:x", "sqlite:///x.db"]
)
def test_what_names_no_store_is_told(where: str) -> None:
    with pytest.raises(UsageError) as caught:
        open_store(where)
    assert repr(where)[1:-1] in str(caught.value)


@pytest.mark.parametrize("options", [{"durability": "fast"}, {"wait_s_max": -1}])
def test_bad_option_is_told(options: dict[str, object]) -> None:
    with pytest.raises(UsageError, match=next(iter(options))):
        SqliteStore("x.db", **options)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("durability, level", [("full", 2), ("normal", 1)])
async def test_durability_is_what_sqlite_is_told(
    tmp_path: Path, durability: str, level: int
) -> None:
    store = open_store(tmp_path / "store.db", durability)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    assert isinstance(store, SqliteStore)
    await store.open()
    writer = store._writer  # pyright: ignore[reportPrivateUsage]
    assert writer is not None

    def pragmas(connection: sqlite3.Connection) -> list[object]:
        names = ("synchronous", "journal_mode", "user_version")
        return [connection.execute(f"PRAGMA {name}").fetchone()[0] for name in names]

    assert await writer.run(pragmas) == [level, "wal", SCHEMA_VERSION]
    await store.close()


@pytest.mark.parametrize("anyio_backend", ASYNCIO, ids=["asyncio"])
async def test_many_opens_at_once_of_a_new_file(tmp_path: Path) -> None:
    """Creating the schema is a race that nobody loses."""
    stores = [SqliteStore(tmp_path / "store.db") for _ in range(6)]
    async with anyio.create_task_group() as tasks:
        for store in stores:
            tasks.start_soon(store.open)
    for number, store in enumerate(stores):
        await write(store, create(f"s-{number}"))
    assert len(await listed(stores[0])) == 6
    for store in stores:
        await store.close()


async def test_interrupted_migration_leaves_the_file_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A step that fails half-way is undone; the next open does it whole."""
    whole = sqlite_schema.MIGRATIONS[0]
    monkeypatch.setitem(sqlite_schema.MIGRATIONS, 0, (*whole[:4], "CREATE NONSENSE"))
    store = SqliteStore(tmp_path / "store.db")
    with pytest.raises(StoreUnusable, match="cannot be opened"):
        await store.open()
    monkeypatch.setitem(sqlite_schema.MIGRATIONS, 0, whole)
    await store.open()
    await write(store, create("s-1"))
    await store.close()


# ---------------------------------------------------------------- size and plans


def pages_used(path: Path) -> int:
    """Return the bytes in use, free pages not counted."""
    with closing(sqlite3.connect(path)) as connection:
        numbers = [
            connection.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("page_count", "freelist_count", "page_size")
        ]
    return int((numbers[0] - numbers[1]) * numbers[2])


@pytest.mark.parametrize("anyio_backend", ASYNCIO, ids=["asyncio"])
async def test_cg_01_storage_grows_with_what_a_step_adds(tmp_path: Path) -> None:
    """Field case CG-01: 200 steps of 200 + 2,000 bytes; then retention frees the rest."""
    store = SqliteStore(tmp_path / "store.db")
    await store.open()
    empty = pages_used(store.path)
    await write(store, create("s-1"))
    sizes: dict[int, int] = {}
    content: dict[int, bytes] = {1: b"row 1"}
    for step in range(1, 201):
        content[step + 1] = os.urandom(2_200)
        await write(store, append("s-1", step + 1, body=content[step + 1]))
        sizes[step] = pages_used(store.path) - empty
    assert sizes[200] <= 4 * 440_000
    assert sizes[200] / sizes[100] <= 2.3
    await write(store, append("s-1", 202, counter=200, status="completed"))
    await write(store, Pack(session_id="s-1"))
    assert pages_used(store.path) - empty <= 1.3 * 440_000
    for step in range(1, 201):
        rows = (await store.load("s-1", upto=step)).rows
        assert [r.body for r in rows] == [content[seq] for seq in range(1, step + 2)]
    kept = tuple((await store.load("s-1")).rows[-3:])
    last = Rewrite(session_id="s-1", epoch=1, seq=202, rows=kept, oldest_counter=kept[0].counter)
    await write(store, last)
    assert pages_used(store.path) - empty <= 20_000
    await store.close()


@pytest.mark.parametrize("anyio_backend", ASYNCIO, ids=["asyncio"])
async def test_lists_and_orphans_read_no_more_than_they_need(tmp_path: Path) -> None:
    """With many parked sessions, nothing on a hot path looks at all of them."""
    store = SqliteStore(tmp_path / "store.db")
    await store.open()
    facts = Facts(agent="a", parent="p", due_at_ms=5)
    for start in range(0, 3_000, 500):
        names = [f"s-{number}" for number in range(start, start + 500)]
        await write(store, *(create(name) for name in names))
        await write(store, *(append(name, 2, status="parked") for name in names))
    await write(
        store,
        renew("a"),
        create("due", "a", facts),
        append("due", 2, status="handed_over"),
        create("run", "b", facts),
    )
    reader = store._reader  # pyright: ignore[reportPrivateUsage]
    assert reader is not None
    steps = 0

    def count() -> int:
        nonlocal steps
        steps += 1
        return 0

    await reader.run(lambda connection: connection.set_progress_handler(count, 10))
    questions: dict[str, Callable[[], Awaitable[object]]] = {
        "orphans": lambda: store.orphans(1, frozenset(), 10),
        "owners": store.owners,
        "due": lambda: store.heads(HeadQuery(due_before_ms=9, status=frozenset({"parked"}))),
        "children": lambda: store.heads(HeadQuery(parent="p")),
        "running": lambda: store.heads(HeadQuery(status=frozenset({"running"}))),
        "handed over": lambda: store.heads(HeadQuery(status=frozenset({"handed_over"}))),
        "newest": lambda: store.heads(HeadQuery(limit=5)),
        "one": lambda: store.head("s-1500"),
    }
    for name, ask in questions.items():
        steps = 0
        await ask()
        assert steps < 300, f"{name} took {steps * 10} steps of SQLite's machine"
    await store.close()


async def test_session_parked_costs_no_memory(sqlite: SqliteStore) -> None:
    names = [f"s-{number}" for number in range(300)]
    await write(sqlite, *map(create, names))
    await write(sqlite, *(append(name, 2, status="parked", facts=FACTS) for name in names))
    await sqlite.commit([claim(name, "b") for name in names[:5]])
    known = sqlite._known  # pyright: ignore[reportPrivateUsage]
    assert sorted(known.places) == names[:5]


async def test_rewritten_row_of_64_kb_and_many_segments(sqlite: SqliteStore) -> None:
    """Segments are bounded in bytes too."""
    await write(sqlite, create("s-1"))
    big = [os.urandom(65_536) for _ in range(12)]
    await write(sqlite, *(append("s-1", seq, body=big[seq - 2]) for seq in range(2, 14)))
    await write(sqlite, Pack(session_id="s-1"))
    with closing(sqlite3.connect(sqlite.path)) as connection:
        sizes = [size for (size,) in connection.execute("SELECT length(body) FROM seg")]
    assert max(sizes) <= 256 * 1024 and len(sizes) >= 3
    assert (await bodies(sqlite, "s-1"))[1:] == big
    rows = (row(13, 12, big[11]),)
    await write(sqlite, Rewrite(session_id="s-1", epoch=1, seq=13, rows=rows, oldest_counter=12))
    assert await bodies(sqlite, "s-1") == [big[11]]


@pytest.mark.skipif(not Path("/proc/self/io").exists(), reason="the kernel counts no writes here")
async def test_a_commit_writes_the_log_and_nothing_beside_it(tmp_path: Path) -> None:
    """SQLite copies pages to a temporary file before statements of many rows that may fail half-way."""
    store = SqliteStore(tmp_path / "x.db", durability="normal")
    await store.open()
    await write(store, *(create(f"s-{n}") for n in range(5_000)))  # `live` has some thirty pages

    def written() -> int:
        lines = Path("/proc/self/io").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("wchar"))

    log = f"{store.path}-wal"
    before, size = written(), os.stat(log).st_size
    scattered = [n * 1_013 % 5_000 for n in range(256)]  # one statement, all over the table
    await write(store, *(append(f"s-{n}", 2) for n in scattered))
    grown = os.stat(log).st_size - size
    assert grown > 25 * 4096
    assert written() - before <= grown + 4096  # the event loop's own wake-ups are writes too
    await store.close()

"""Old records, new code: conversions step by step, unknown fields, newer versions, no classes."""

import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from typing import Any

import msgspec
import pytest
from store_faults import stored_body
from store_tools import append, claim, create, refuse, row, write

from ukemi.stores.base import (
    ConversionFailed,
    Create,
    Facts,
    HeadQuery,
    Pack,
    RecordTooNew,
    Rewrite,
    Row,
    Store,
)
from ukemi.stores.evolution import CURRENT, Conversions, PlainEntries
from ukemi.stores.memory import MemoryStore
from ukemi.stores.records import (
    RECORD_VERSION,
    Noted,
    Opened,
    Resulted,
    Said,
    decode_row,
    encode_row,
)
from ukemi.stores.sqlite import SqliteStore
from ukemi.supervisor.errors import UsageError

MakeStore = Callable[[Conversions], Store]

encode = msgspec.msgpack.encode
decode = msgspec.msgpack.decode
DEFAULT_TENANT = "house"


def rename_wd(entries: PlainEntries) -> PlainEntries:
    """v1 -> v2: wd is called working_directory."""
    return [
        {("working_directory" if name == "wd" else name): value for name, value in entry.items()}
        for entry in entries
    ]


def add_tenant(entries: PlainEntries) -> PlainEntries:
    """v2 -> v3: opened sessions have a tenant; the default is stated."""
    return [
        {"tenant": DEFAULT_TENANT, **entry} if entry["t"] == "open" else entry for entry in entries
    ]


V1 = Conversions(1)
V3 = Conversions(3, {1: rename_wd, 2: add_tenant})
V9 = Conversions(9, {version: lambda entries: entries for version in range(1, 9)})

OPENED_V1 = [{"t": "open", "agent": "buyer", "at_ms": 1, "wd": "work", "unknown_field": 1}]
SAID_V1 = [{"t": "user", "n": 1, "text": "Order three A-17"}]


async def open_as(make_store: MakeStore, conversions: Conversions) -> Store:
    store = make_store(conversions)
    await store.open()
    return store


async def store_v1(make_store: MakeStore) -> None:
    store = await open_as(make_store, V1)
    opened = Create(session_id="s-1", owner="a", facts=Facts(agent="buyer"), body=encode(OPENED_V1))
    await write(store, opened, append("s-1", 2, body=encode(SAID_V1)))
    await store.close()


def plain(rows: list[Row]) -> list[list[dict[str, Any]]]:
    return [decode(r.body) for r in rows]


# ---------------------------------------------------------------- SE-02


@pytest.mark.parametrize("packed", [False, True], ids=["in the log", "packed"])
async def test_se_02_old_record_is_converted_step_by_step(
    make_store: MakeStore, packed: bool
) -> None:
    """Field case SE-02: v1 is read as v3; the original stays until the new form is stored."""
    await store_v1(make_store)
    store = await open_as(make_store, V3)
    if packed:
        await write(store, Pack(session_id="s-1"))
    loaded = await store.load("s-1")
    opened, said = plain(loaded.rows)
    expected = {**OPENED_V1[0], "working_directory": "work", "tenant": DEFAULT_TENANT}
    expected.pop("wd")
    assert opened == [expected]
    assert said == SAID_V1
    assert [(r.seq, r.version) for r in loaded.rows] == [(1, 3), (2, 3)]
    typed = decode_row(loaded.rows[0].body)
    assert typed == [
        Opened(agent="buyer", at_ms=1, working_directory="work", tenant=DEFAULT_TENANT)
    ]
    await store.close()

    old = await open_as(make_store, V1)
    assert plain((await old.load("s-1")).rows) == [OPENED_V1, SAID_V1]
    await old.close()

    store = await open_as(make_store, V3)
    await write(store, claim("s-1", "b"))
    rows = tuple((await store.load("s-1")).rows)
    await write(store, Rewrite(session_id="s-1", epoch=2, seq=2, rows=rows, oldest_counter=0))
    assert plain((await store.load("s-1")).rows) == [[expected], SAID_V1]
    await store.close()

    old = await open_as(make_store, V1)
    with pytest.raises(RecordTooNew):
        await old.load("s-1")
    await old.close()


async def test_se_02_interrupted_conversion_leaves_the_record_loadable(
    make_store: MakeStore,
) -> None:
    """Field case SE-02: a conversion that breaks off in the middle changes nothing."""
    await store_v1(make_store)
    breaks = [True]

    def breaking(entries: PlainEntries) -> PlainEntries:
        if breaks:
            breaks.pop()
            raise ZeroDivisionError
        return add_tenant(entries)

    store = await open_as(make_store, Conversions(3, {1: rename_wd, 2: breaking}))
    with pytest.raises(ConversionFailed, match=r"s-1, row 1.*version 2"):
        await store.load("s-1")
    assert decode(stored_body(store, "s-1", 1)) == OPENED_V1
    assert (await store.head("s-1")).damaged is None
    loaded = await store.load("s-1")
    assert [r.version for r in loaded.rows] == [3, 3]
    await write(store, append("s-1", 3))
    await store.close()


async def test_se_02_newer_record_is_refused_and_left_untouched(make_store: MakeStore) -> None:
    """Field case SE-02: v9 says that a newer version wrote it; its neighbours load."""
    store = await open_as(make_store, V9)
    await write(store, create("s-9"), append("s-9", 2, body=b"v9"))
    await store.close()
    store = await open_as(make_store, CURRENT)
    await write(store, create("s-1"))
    with pytest.raises(RecordTooNew, match="newer version"):
        await store.load("s-9")
    with pytest.raises(RecordTooNew):
        await store.load("s-9", fallback=True)
    assert stored_body(store, "s-9", 2) == b"v9"
    assert len(await store.heads(HeadQuery())) == 2
    assert len((await store.load("s-1")).rows) == 1
    await store.close()


async def test_se_02_unknown_fields_of_entries_are_not_lost(make_store: MakeStore) -> None:
    """Field case SE-02: loaded, packed, rewritten: the bytes of an unknown field stay."""
    entry = {"t": "note", "n": 1, "text": "hello", "unknown_field": 1}
    tail = {"t": "user", "n": 2, "text": "more", "unknown_field": [1, {"a": None}]}
    store = await open_as(make_store, CURRENT)
    await write(store, create("s-1"), append("s-1", 2, body=encode([entry])))
    await write(store, append("s-1", 3, body=encode([tail])), Pack(session_id="s-1"))
    rows = (await store.load("s-1")).rows
    assert decode_row(rows[1].body) == [Noted(n=1, text="hello")]
    kept = Rewrite(session_id="s-1", epoch=1, seq=3, rows=tuple(rows[1:]), oldest_counter=1)
    await write(store, kept)
    assert plain((await store.load("s-1")).rows) == [[entry], [tail]]
    await store.close()


async def test_unknown_facts_survive_the_next_save(make_store: MakeStore) -> None:
    """Facts of a newer version: what this one does not know is carried along."""
    store = await open_as(make_store, CURRENT)
    newer = NewerFacts(agent="buyer", title="old", colour="red", tags=("x",))
    await write(store, create("s-1", facts=newer))
    await store.close()

    store = await open_as(make_store, CURRENT)
    assert (await store.head("s-1")).facts == Facts(agent="buyer", title="old")
    await write(store, append("s-1", 2, facts=Facts(agent="buyer", title="new")))
    await write(store, append("s-1", 3, status="parked"), Pack(session_id="s-1"))
    await store.close()

    store = await open_as(make_store, CURRENT)
    await write(store, claim("s-1", "b"))
    await write(store, append("s-1", 4, epoch=2, facts=Facts(agent="buyer", title="newest")))
    fields = raw_facts(store, "s-1")
    assert (fields["title"], fields["colour"], fields["tags"]) == ("newest", "red", ["x"])
    await store.close()


class NewerFacts(Facts, frozen=True, kw_only=True):
    """Facts as a later version may have them."""

    colour: str = ""
    tags: tuple[str, ...] = ()


def raw_facts(store: Store, session_id: str) -> dict[str, Any]:
    """Return the newest facts as they lie in the store."""
    if isinstance(store, MemoryStore):
        sealed = store._data.sessions[session_id].facts  # pyright: ignore[reportPrivateUsage]
    else:
        assert isinstance(store, SqliteStore)
        with closing(sqlite3.connect(store.path)) as connection:
            (sealed,) = connection.execute(
                "SELECT facts FROM log WHERE facts IS NOT NULL ORDER BY id DESC"
            ).fetchone()
    fields: dict[str, Any] = decode(sealed[:-4])
    return fields


# ---------------------------------------------------------------- the registry


@pytest.mark.parametrize(
    "version, steps",
    [(3, {}), (3, {1: rename_wd}), (2, {1: rename_wd, 2: add_tenant}), (2, {0: rename_wd})],
)
def test_conversions_have_no_gaps(version: int, steps: dict[int, Any]) -> None:
    with pytest.raises(UsageError, match=f"version {version}"):
        Conversions(version, steps)


def test_row_of_this_version_keeps_its_bytes() -> None:
    assert CURRENT.upgrade("s", kept := row(1, body=b"anything")) is kept
    assert CURRENT.version == RECORD_VERSION


async def test_rewriting_with_rows_of_a_newer_version_is_refused(make_store: MakeStore) -> None:
    store = await open_as(make_store, CURRENT)
    await write(store, create("s-1"))
    newer = Rewrite(session_id="s-1", epoch=1, seq=1, rows=(row(1, version=9),), oldest_counter=0)
    await refuse(store, newer, RecordTooNew)
    await store.close()


# ---------------------------------------------------------------- SE-01

JOURNAL = encode_row(
    [
        Opened(agent="buyer", at_ms=1, working_directory="work"),
        Said(n=1, text="plain text"),
        Resulted(n=2, index=0, counter=1, content='{"total": 4200}', value_type="shop.Invoice"),
    ]
)

DECODE_ALONE = """
import sys
from ukemi.stores.records import decode_row
entries = decode_row(sys.stdin.buffer.read())
foreign = [name for name in sys.modules if name.split(".")[0] in ("shop", "store_tools")]
assert not foreign, foreign
print(*(type(entry).__name__ for entry in entries))
print(entries[2].value_type, entries[2].content)
"""


def test_se_01_journal_is_read_without_any_class_of_the_user() -> None:
    """Field case SE-01: a process without the user's modules reads text and value alike."""
    done = subprocess.run(
        [sys.executable, "-I", "-c", DECODE_ALONE], input=JOURNAL, capture_output=True, check=False
    )
    assert done.stderr == b""
    assert done.stdout.decode().splitlines() == [
        "Opened Said Resulted",
        'shop.Invoice {"total": 4200}',
    ]


async def test_se_01_saving_again_keeps_the_bytes(store: Store) -> None:
    """Field case SE-01: what cannot be turned into its class is not changed by being kept."""
    await write(store, create("s-1"), append("s-1", 2, body=JOURNAL), Pack(session_id="s-1"))
    rows = tuple((await store.load("s-1")).rows)
    await write(store, Rewrite(session_id="s-1", epoch=1, seq=2, rows=rows, oldest_counter=0))
    assert (await store.load("s-1")).rows[1].body == JOURNAL


# ---------------------------------------------------------------- TX-01

HOSTILE = [
    pytest.param("a\x00b", id="NUL"),
    pytest.param("\u2028 and \x85", id="line separators"),
    pytest.param("\x1b[31m", id="escape sequences"),
    pytest.param("\ufffe\uffff\U0010ffff", id="non-characters"),
    pytest.param("'); DROP TABLE log; --", id="SQL"),
    pytest.param("x" * 10_000_000, id="10 MB"),
]


@pytest.mark.parametrize("text", HOSTILE)
async def test_tx_01_hostile_text_is_stored_and_loads(store: Store, text: str) -> None:
    """Field case TX-01: arbitrary characters in messages, facts, ids and blobs."""
    facts = Facts(agent=text[:100], title=text[:100])
    session_id = f"s-{text[:50]}"
    body = encode_row([Said(n=1, text=text)])
    await write(
        store,
        create(session_id, facts=facts),
        append(session_id, 2, body=body, blobs=(("d", text.encode()),)),
    )
    loaded = await store.load(session_id)
    assert decode_row(loaded.rows[1].body) == [Said(n=1, text=text)]
    assert loaded.head.facts == facts
    assert await store.blob("d") == text.encode()


@pytest.mark.parametrize("data", [b"\xff\xfeA\x00B\x00", b"\xed\xa0\xbd", bytes(range(256))])
async def test_tx_01_bytes_are_kept_exactly_in_blobs(store: Store, data: bytes) -> None:
    """Field case TX-01: UTF-16, half a character and any other bytes."""
    await write(store, create("s-1"), append("s-1", 2, body=data, blobs=(("d", data),)))
    assert await store.blob("d") == data
    assert (await store.load("s-1")).rows[1].body == data


def test_tx_01_half_a_character_is_refused_when_encoding() -> None:
    """Field case TX-01: told at once, in the session, before anything is stored."""
    with pytest.raises(UnicodeEncodeError):
        encode_row([Said(n=1, text="\ud83d")])


async def test_tx_01_half_a_character_in_facts_fails_alone(store: Store) -> None:
    """Field case TX-01: no later step of the session fails because of it."""
    await write(store, create("s-1"), create("s-2"))
    results = await store.commit(
        [append("s-1", 2, facts=Facts(agent="a", title="\ud83d")), append("s-2", 2)]
    )
    assert [type(result).__name__ for result in results] == ["BadRecord", "Done"]
    await write(store, append("s-1", 2))

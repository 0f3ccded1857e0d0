"""Short words for tests of stores: writes with defaults, results that must have worked."""

from typing import TypeVar

from ukemi.stores.base import (
    Append,
    Claim,
    Create,
    Done,
    Facts,
    Head,
    HeadQuery,
    Renew,
    Row,
    Store,
    Write,
    Written,
)
from ukemi.stores.records import SessionStatus
from ukemi.supervisor.errors import UkemiError

FACTS = Facts(agent="buyer", title="Order three A-17", created_at_ms=1_000)
LEASE_MS = 10_000

E = TypeVar("E", bound=UkemiError)


def create(session_id: str, owner: str = "owner-a", facts: Facts = FACTS) -> Create:
    return Create(session_id=session_id, owner=owner, facts=facts, body=b"row 1")


def append(
    session_id: str,
    seq: int,
    *,
    counter: int | None = None,
    epoch: int = 1,
    body: bytes | None = None,
    status: SessionStatus = "running",
    facts: Facts | None = None,
    blobs: tuple[tuple[str, bytes], ...] = (),
) -> Append:
    """Row ``seq`` reaches counter ``seq - 1`` unless told otherwise."""
    return Append(
        session_id=session_id,
        epoch=epoch,
        seq=seq,
        counter=seq - 1 if counter is None else counter,
        body=b"row %d" % seq if body is None else body,
        status=status,
        facts=facts,
        blobs=blobs,
    )


def claim(
    session_id: str, owner: str, now_ms: int = 0, dead: frozenset[str] = frozenset()
) -> Claim:
    return Claim(session_id=session_id, owner=owner, now_ms=now_ms, dead=dead)


def renew(owner: str, lease_until_ms: int = LEASE_MS) -> Renew:
    return Renew(owner=owner, lease_until_ms=lease_until_ms)


async def write(store: Store, *writes: Write) -> list[Done]:
    """Commit writes that must all be accepted."""
    results = await store.commit(writes)
    refused = [result for result in results if not isinstance(result, Done)]
    assert not refused, refused
    return [result for result in results if isinstance(result, Done)]


async def refuse(store: Store, write: Write, kind: type[E]) -> E:
    """Commit one write that must be refused with this kind of error; return the error."""
    (result,) = await store.commit([write])
    assert isinstance(result, kind), result
    return result


async def grow(store: Store, session_id: str, rows: int, owner: str = "owner-a") -> None:
    """Create a session and give it rows up to ``rows``."""
    await write(store, create(session_id, owner))
    await write(store, *(append(session_id, seq) for seq in range(2, rows + 1)))


async def bodies(store: Store, session_id: str, *, upto: int | None = None) -> list[bytes]:
    return [row.body for row in (await store.load(session_id, upto=upto)).rows]


async def listed(store: Store, query: HeadQuery | None = None) -> list[str]:
    return [head.session_id for head in await store.heads(query or HeadQuery())]


def row(seq: int, counter: int | None = None, body: bytes | None = None, version: int = 1) -> Row:
    counter = seq - 1 if counter is None else counter
    return Row(seq, counter, version, b"row %d" % seq if body is None else body)


def kinds(results: list[Written]) -> list[str]:
    return [type(result).__name__ for result in results]


def by_id(heads: list[Head]) -> dict[str, Head]:
    return {head.session_id: head for head in heads}

"""What must hold after a soak. The first half is about one folder's books, the second about a process."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from msgspec import Struct

from ukemi.stores.base import HeadQuery
from ukemi.stores.sqlite import SqliteStore

from .books import Effects, lines
from .child import UNFINISHED, Rest
from .work import plan_of

KEYED = "order"
RSS_KIB_MAX = 3 * 1024
"""Growth of memory at rest, from the second quarter of a run to the last, that is taken for none."""
RSS_BYTES_PER_SESSION_MAX = 16
"""And so much more for each session that ended meanwhile."""
THREADS_MAX = 4
"""Workers for sync tools more than before: they come with the load, and idle ones go after a while."""
BLOCKS_MAX = 8_000
"""Blocks that a runtime may hold more than when it was entered: caches, timers, grown tables."""
BLOCKS_PER_SESSION_MAX = 1.0
"""And so many more for each session that has ended in it; one in memory needs some hundred."""


class Found(Struct, kw_only=True):
    """What was found in one folder."""

    sessions: int = 0
    statuses: Counter[str] = Counter()
    effects: int = 0
    broken: list[str] = []


async def check_folder(folder: Path) -> Found:
    """Compare what was stored with what was told, and with what took effect."""
    statuses = await _statuses(folder)
    found = Found(sessions=len(statuses), statuses=Counter(statuses.values()), broken=[])
    for _, session_id in lines(folder / "told.txt"):
        if session_id not in statuses:
            found.broken.append(f"{session_id} was acknowledged and is not in the store")
    found.broken.extend(
        f"{session_id} is still {status}"
        for session_id, status in statuses.items()
        if status in UNFINISHED
    )
    effects = Effects(folder)
    effects.close()
    found.effects = sum(len(keys) for keys in effects.of.values())
    for tag, keys in effects.of.items():
        found.broken.extend(_broken(tag, keys, effects))
    found.broken.extend(_missing(statuses, effects))
    return found


async def _statuses(folder: Path) -> dict[str, str]:
    store, statuses = SqliteStore(folder / "soak.db"), dict[str, str]()
    await store.open()
    try:
        query = HeadQuery(limit=5000)
        while page := await store.heads(query):
            statuses.update((head.session_id, head.status) for head in page)
            query = HeadQuery(limit=5000, after=page[-1].session_id)
    finally:
        await store.close()
    return statuses


def tool_of(tag: str) -> str:
    """Return which tool a tag was for."""
    session_id, _, at = tag.removeprefix("undo:").rpartition("/")
    return plan_of(session_id)[int(at)][0]


def _broken(tag: str, keys: Sequence[str], effects: Effects) -> list[str]:
    """Return what is wrong with the times one call took effect."""
    if tag.startswith("undo:"):
        wrong = [] if effects.of.get(tag[5:]) else [f"{tag}: undone, and was never done"]
        return wrong + ([f"{tag}: undone {len(keys)} times"] if len(keys) > 1 else [])
    if tool_of(tag) == KEYED:
        other = set(keys)
        return [f"{tag}: with {len(other)} keys"] if len(other) > 1 else []
    return [f"{tag}: took effect {len(keys)} times"] if len(keys) > 1 else []


def _missing(statuses: dict[str, str], effects: Effects) -> list[str]:
    """Return the payments of completed sessions that nobody got: a failure passed off as success.

    Every write but these may be denied or refused on the way, of which the agent is told.
    """
    wrong: list[str] = []
    for session_id, status in statuses.items():
        if status == "completed":
            done = [tag for name, tag in plan_of(session_id) if name in ("pay", "ship", "order")]
            denied = any(name == "transfer" for name, _ in plan_of(session_id))
            wrong += [
                f"{tag}: its session completed without it"
                for tag in done
                if not denied and not effects.of.get(tag)
            ]
    return wrong


# ---------------------------------------------------------------- the process that lives on


class Steady(Struct, frozen=True, kw_only=True):
    """How a process was over its rounds; ``broken`` says what grew.

    ``before`` is the second quarter of the rounds, ``after`` the last.
    """

    rounds: int
    ended: int
    rss_kib_before: int
    rss_kib_after: int
    rss_bytes_per_session: float
    blocks_per_session: float
    files_before: int
    files_after: int
    threads_before: int
    threads_after: int
    broken: tuple[str, ...]


def check_steady(rests: Sequence[Rest]) -> Steady:
    """Compare the second quarter of the rounds with the last; the first is for warming up.

    Raises:
        ValueError: there are too few rounds to say anything.
    """
    if len(rests) < 4:
        raise ValueError(f"{len(rests)} rounds are too few; let it run for longer")
    quarter = len(rests) // 4
    before, after = rests[quarter : 2 * quarter], rests[-quarter:]
    rss = [round(median(each.rss_kib for each in part)) for part in (before, after)]
    files = [min(each.files for each in part) for part in (before, after)]
    threads = [min(each.threads for each in part) for part in (before, after)]
    between = sum(each.ended for each in rests[quarter:-quarter])
    grown, allowed = rss[1] - rss[0], RSS_KIB_MAX + between * RSS_BYTES_PER_SESSION_MAX / 1024
    blocks = median(
        max(0, each.blocks - BLOCKS_MAX) / max(1, each.ended) for each in rests[quarter:]
    )
    broken = [
        *([f"memory grew by {grown} KiB over {between} sessions"] if grown > allowed else []),
        *(
            [f"{blocks:.1f} blocks are kept of each session"]
            if blocks > BLOCKS_PER_SESSION_MAX
            else []
        ),
        *([f"descriptors grew from {files[0]} to {files[1]}"] if files[1] > files[0] else []),
        *(
            [f"threads grew from {threads[0]} to {threads[1]}"]
            if threads[1] > threads[0] + THREADS_MAX
            else []
        ),
    ]
    return Steady(
        rounds=len(rests),
        ended=sum(each.ended for each in rests),
        rss_kib_before=rss[0],
        rss_kib_after=rss[1],
        rss_bytes_per_session=grown * 1024 / max(1, between),
        blocks_per_session=blocks,
        files_before=files[0],
        files_after=files[1],
        threads_before=threads[0],
        threads_after=threads[1],
        broken=tuple(broken),
    )

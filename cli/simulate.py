"""The command ``policy simulate``: recorded sessions played under other policies."""

from collections import Counter
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path

import anyio
import anyio.from_thread
import anyio.to_thread
from msgspec import Struct

from ..actors.inspection import entries_of
from ..actors.simulating.asked import SEEDS, Outages
from ..actors.simulating.learning import Learned, learned_from
from ..actors.simulating.summary import simulate
from ..actors.simulating.traces import Record, record_of
from ..stores.base import Head, HeadQuery, Store, StoreError
from ..supervisor.errors import UsageError
from ..supervisor.policy import Policy
from ..supervisor.policy_file import load_policy
from .errors import DONE, NOT_DONE, CannotRead, ExitStatus, NotDone
from .output import Output
from .simulate_plots import simulated_page
from .simulate_words import Simulated, simulated_data, simulated_lines
from .stored import reading
from .sweeping import Sweep, sweep_of

PAGE = 500
SEEDS_MAX = 10_000
DEFAULTS = "defaults"


class SimulateRequest(Struct, frozen=True, kw_only=True):
    """What is to be played: on which store, under which policies, in how many worlds."""

    store: str
    policies: Sequence[str] = ()
    sweep: str | None = None
    seeds: int = SEEDS
    seed: int = 1
    outages: Outages = "replayed"
    agent: str | None = None
    limit: int | None = None
    html: str | None = None


async def simulate_policies(out: Output, wanted: SimulateRequest) -> ExitStatus:
    """Play the sessions of a store; the status is 1 where the record carries no number at all.

    Raises:
        UsageError: a policy, the sweep or a number is impossible.
        NotDone: the store holds no session.
    """
    if not 1 <= wanted.seeds <= SEEDS_MAX:
        raise UsageError(f"--seeds {wanted.seeds} must be from 1 to {SEEDS_MAX}")
    if wanted.limit is not None and wanted.limit < 1:
        raise UsageError(f"--limit {wanted.limit} must be at least 1")
    policies, sweep = policies_of(wanted)
    await _check_page(wanted.html)
    known, unreadable = await learn(wanted)

    def on_run(name: str, done: int) -> None:
        anyio.from_thread.check_cancelled()
        if out.live and done % 10 == 0:
            out.note(f"{done} of {wanted.seeds * len(policies)} runs")

    report = await anyio.to_thread.run_sync(
        lambda: simulate(
            known,
            policies,
            seeds=wanted.seeds,
            seed=wanted.seed,
            outages=wanted.outages,
            on_run=on_run,
        ),
        abandon_on_cancel=False,
    )
    found = Simulated(wanted.store, known, report, unreadable, sweep)
    if out.as_json:
        out.data(simulated_data(found))
    else:
        out.text("\n".join(simulated_lines(found, out.terminal)))
    if wanted.html is not None:
        await _write(wanted.html, simulated_page(found))
        out.note(f"written: {wanted.html}")
    said = (each for one in report.outlooks for each in one.estimates.values())
    return DONE if any(not each.cannot_say for each in said) else NOT_DONE


def policies_of(wanted: SimulateRequest) -> tuple[list[tuple[str, Policy]], Sweep | None]:
    """Return the policies by name, and the sweep they are of.

    Raises:
        UsageError: one cannot be read, or several are to be swept at once.
    """
    if wanted.sweep is None:
        return named_policies(wanted.policies), None
    if len(wanted.policies) > 1:
        raise UsageError("--sweep tries one policy with other values: name one --policy, or none")
    ((_, base),) = named_policies(wanted.policies)
    sweep = sweep_of(wanted.sweep, base)
    return list(sweep.policies), sweep


def named_policies(files: Sequence[str]) -> list[tuple[str, Policy]]:
    """Return policies with the names of their files, in full where two are the same; none: the defaults."""
    if not files:
        return [(DEFAULTS, Policy())]
    stems = Counter(Path(file).stem for file in files)
    names = [file if stems[Path(file).stem] > 1 else Path(file).stem for file in files]
    return [(name, load_policy(file)) for name, file in zip(names, files, strict=True)]


# ---------------------------------------------------------------- reading


async def learn(wanted: SimulateRequest) -> tuple[Learned, int]:
    """Read a store, which may be written to meanwhile; also how many sessions cannot be read.

    Raises:
        NotDone: it holds no session that can be played.
    """
    records: list[Record] = []
    unreadable = 0
    async with reading(wanted.store) as store:
        async for head in _heads(store, wanted):
            record = await _record(store, head)
            if record is None:
                unreadable += 1
            else:
                records.append(record)
    if not records:
        whose = f" of {wanted.agent}" if wanted.agent else ""
        lost = f"; {unreadable} cannot be read" if unreadable else ""
        raise NotDone(f"{wanted.store} holds no session{whose} to play{lost}")
    return learned_from(records), unreadable


async def _heads(store: Store, wanted: SimulateRequest) -> AsyncGenerator[Head]:
    """Yield the heads, newest first."""
    after: str | None = None
    left = wanted.limit
    while left is None or left > 0:
        count = PAGE if left is None else min(PAGE, left)
        heads = await store.heads(HeadQuery(agent=wanted.agent, after=after, limit=count))
        for head in heads:
            yield head
        if len(heads) < count:
            return
        after = heads[-1].session_id
        left = None if left is None else left - count


async def _record(store: Store, head: Head) -> Record | None:
    """Read one session; None where it is damaged, gone meanwhile, or of a newer version."""
    try:
        return record_of(head.session_id, entries_of(await store.load(head.session_id)))
    except StoreError:
        return None


# ---------------------------------------------------------------- the page


async def _check_page(path: str | None) -> None:
    """Look whether the page can be written before anything takes long.

    Raises:
        CannotRead: there is no such folder, or the name is a folder's or too long.
    """
    if path is None:
        return
    try:
        folder = not path or await anyio.Path(path).is_dir()
        inside = await anyio.Path(path).parent.is_dir()
    except OSError as error:
        raise CannotRead(f"--html {path!r}: {error.strerror}; name another file") from error
    if folder:
        raise CannotRead(f"--html {path!r} is a folder; name a file")
    if not inside:
        raise CannotRead(f"--html {path!r}: there is no such folder")


async def _write(path: str, page: str) -> None:
    try:
        await anyio.Path(path).write_text(page, "utf-8")
    except OSError as error:
        raise NotDone(f"{path!r} could not be written: {error}") from error

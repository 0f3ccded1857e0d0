"""The process that is soaked: sessions without end on one store, until it is told to finish, or killed.

    python -m benchmarks.soak.child FOLDER [--finish] [--rounds N --seconds S]

It takes up what an earlier process of the folder has left. With ``--finish`` it starts nothing new,
brings all to an end, and leaves. With ``--rounds`` it works in N folders below that one, one after the
other, each for S seconds, and says each second how it is, as a line of JSON.
"""

import argparse
import ctypes
import gc
import os
import sys
import time
from pathlib import Path
from random import Random
from typing import Literal
from uuid import uuid4

import anyio
import msgspec

from ukemi import (
    AlreadyDecided,
    HandedOver,
    Policy,
    RequestClosed,
    Runtime,
    SessionHandle,
    UsageError,
)
from ukemi.stores.records import SessionStatus
from ukemi.supervisor.policy_failures import RetryPolicy
from ukemi.supervisor.policy_limits import AdmissionPolicy, ConcurrencyPolicy, TenancyPolicy
from ukemi.supervisor.policy_sessions import StoragePolicy, WaitPolicy

from .books import Book, Effects, lines
from .work import agents_of, tenant_of

IN_FLIGHT = 240
"""Sessions this process wants at once: more than there are places, and than may wait for one."""

UNFINISHED: frozenset[SessionStatus] = frozenset({"running", "parked"})

POLICY = Policy(
    admission=AdmissionPolicy(sessions_max=16, waiting_max=24),
    tenancy=TenancyPolicy(sessions_max=12),
    concurrency=ConcurrencyPolicy(calls_max=8),
    # Waits are short, so that much happens; those for a rate limit are parked all the same.
    waits=WaitPolicy(park_after_s=0.3),
    transient=RetryPolicy(delay_s_first=0.01, delay_s_max=0.05, attempts_max=8),
    in_doubt_timeout=RetryPolicy(delay_s_first=0.01, delay_s_max=0.05, attempts_max=8),
    storage=StoragePolicy(retry_s_max=30.0),
)


class Sample(msgspec.Struct, frozen=True, kw_only=True, tag="sample"):
    """How a process is, at one instant of its work."""

    ended: int
    rss_kib: int
    in_memory: int
    starts_waiting: int
    lag_s_max: float
    commit_ms_p99: float


class Rest(msgspec.Struct, frozen=True, kw_only=True, tag="rest"):
    """How a process is between two rounds: it has left its runtime, and given free memory back.

    Attributes:
        ended: sessions of the round.
        blocks: blocks of Python's memory that the runtime still held when all of them had ended,
            above what it held before the first. What SQLite caches is not among them.
    """

    round: int
    ended: int
    blocks: int
    rss_kib: int
    files: int
    threads: int


class Soaked:
    """One runtime on one folder."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.effects = Effects(folder)
        self._told = Book(folder / "told.txt")
        self._chance = Random()
        self.runtime = Runtime(
            folder / "soak.db",
            agents=agents_of(self.effects),
            policy=POLICY,
            durability="normal",
            random_source=self._chance,
        )
        self._left = self._unfinished()
        self.ended = self.blocks = 0
        self._watched = anyio.CapacityLimiter(IN_FLIGHT)

    def _unfinished(self) -> set[str]:
        """Return the sessions that an earlier process was told are stored, and not how they ended."""
        left: set[str] = set()
        for word, session_id in lines(self._told.path):
            (left.add if word == "started" else left.discard)(session_id)
        return left

    async def run(self, *, new: bool, stop: anyio.Event) -> None:
        """Work until told to stop; then bring to an end what is there."""
        async with self.runtime, anyio.create_task_group() as people:
            people.start_soon(self._approve)
            before = _blocks()
            async with anyio.create_task_group() as group:
                for session_id in sorted(self._left):
                    group.start_soon(self._see_to_its_end, session_id)
                while new and not stop.is_set():
                    await self._watched.acquire_on_behalf_of(token := object())
                    group.start_soon(self._one, token)
            if not new:
                await self._see_to_the_rest()
            self.blocks = _blocks() - before
            people.cancel_scope.cancel()
        self.effects.close()
        self._told.close()

    async def _one(self, token: object) -> None:
        """Start a session, and see to its end."""
        session_id = f"s-{uuid4().hex[:12]}"
        try:
            await self.runtime.start(
                "main", "work", session_id=session_id, tenant=tenant_of(session_id)
            )
            self._told.write("started", session_id)
            await self._see_to_its_end(session_id)
        finally:
            self._watched.release_on_behalf_of(token)

    async def _see_to_its_end(self, session_id: str) -> None:
        handle = self.runtime.session(session_id)
        if self._chance.random() < 0.02:
            await anyio.sleep(self._chance.uniform(0.0, 0.05))
            await handle.cancel()
        outcome = await handle.outcome()
        while isinstance(outcome, HandedOver) and await self._settle(handle, outcome):
            outcome = await handle.outcome()
        self._told.write("ended", session_id)
        self.effects.forget(session_id)
        self.ended += 1

    async def _see_to_the_rest(self) -> None:
        """See to the ends of those that were stored by a process killed before it was told of that."""
        while rest := await self.runtime.sessions(status=UNFINISHED):
            for head in rest:
                await self._see_to_its_end(head.session_id)

    async def _settle(self, handle: SessionHandle, outcome: HandedOver) -> bool:
        """Look, as a person does, whether a call in doubt took effect; tell whether it goes on."""
        if outcome.reason != "in_doubt" or self._chance.random() < 0.2:
            return False
        for doubt in outcome.dossier.in_doubt:
            tag = msgspec.json.decode(doubt.arguments, type=dict[str, str])["tag"]
            known = bool(self.effects.of.get(tag))
            try:
                await handle.resolve(
                    "done" if known else "retry",
                    call=(doubt.n, doubt.index),
                    result="seen to" if known else None,
                )
            except (AlreadyDecided, UsageError):
                continue  # an earlier process has said so
            return True
        return False

    async def _approve(self) -> None:
        """Answer what people are asked; one time in four with no."""
        while True:
            for request in await self.runtime.approvals(limit=200):
                verdict: Literal["approve", "deny"] = (
                    "deny" if self._chance.random() < 0.25 else "approve"
                )
                try:
                    await self.runtime.decide(request, verdict)
                except (AlreadyDecided, RequestClosed, UsageError):
                    continue
            await anyio.sleep(0.05)

    def sample(self, ended_before: int) -> Sample:
        """Return how this process is now."""
        health = self.runtime.health()
        return Sample(
            ended=ended_before + self.ended,
            rss_kib=int(_status()["VmRSS"].split()[0]),
            in_memory=health.sessions.in_memory,
            starts_waiting=health.waiting.starts,
            lag_s_max=health.loop.lag_s_max,
            commit_ms_p99=health.store.commit_seconds_p99 * 1000,
        )


def _blocks() -> int:
    gc.collect()
    return sys.getallocatedblocks()


def _status() -> dict[str, str]:
    lines = Path("/proc/self/status").read_text("utf-8").splitlines()
    return dict(line.split(":", 1) for line in lines)


def _rest(number: int, soaked: Soaked) -> Rest:
    gc.collect()
    # Else memory that is free and not given back would be taken for kept.
    ctypes.CDLL(None).malloc_trim(0)
    status = _status()
    return Rest(
        round=number,
        ended=soaked.ended,
        blocks=soaked.blocks,
        rss_kib=int(status["VmRSS"].split()[0]),
        files=len(os.listdir("/proc/self/fd")),
        threads=int(status["Threads"]),
    )


async def lasting(folder: Path, rounds: int, seconds: float) -> None:
    """Work in one folder after the other, in this one process, and tell how it is."""
    ended = 0
    for number in range(rounds):
        soaked, stop = Soaked(folder / f"round-{number}"), anyio.Event()
        async with anyio.create_task_group() as group:
            group.start_soon(_tell, soaked, ended, stop, seconds)
            await soaked.run(new=True, stop=stop)
        ended += soaked.ended
        _say(_rest(number, soaked))


def _say(what: Sample | Rest) -> None:
    print(msgspec.json.encode(what).decode(), flush=True)


async def _tell(soaked: Soaked, ended: int, stop: anyio.Event, seconds: float) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        await anyio.sleep(min(1.0, max(0.01, until - time.monotonic())))
        _say(soaked.sample(ended))
    stop.set()


async def killed(folder: Path, *, finish: bool) -> None:
    """Work until somebody kills this process, or until all is done."""
    await Soaked(folder).run(new=not finish, stop=anyio.Event())


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak.child")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--finish", action="store_true")
    parser.add_argument("--rounds", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=10.0)
    given = parser.parse_args()
    if given.rounds:
        anyio.run(lasting, given.folder, given.rounds, given.seconds)
    else:
        anyio.run(lambda: killed(given.folder, finish=given.finish))
    return 0


if __name__ == "__main__":
    sys.exit(main())

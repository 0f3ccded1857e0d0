"""Supervision without agents: a feed that breaks, a store that must outlive it, and jobs on demand.

    python examples/plain_actors.py

The feed crashes again and again. Each time it is restarted alone, and the counts in the store are
not lost; at the fourth crash within a minute its supervisor gives up, its parent starts the whole
branch again, and the addresses that everybody holds still work.
"""

from collections import Counter
from typing import Any

import anyio
import anyio.lowlevel
from msgspec import Struct

from ukemi.supervisor import (
    ChildSpec,
    ChildTerminated,
    Context,
    DynamicSpec,
    Kernel,
    MaxIntensity,
    Reply,
    Report,
    RestartType,
    Strategy,
    SupervisorSpec,
)


class Add(Struct, frozen=True):
    """Count this word."""

    word: str


class Count(Struct, frozen=True):
    """How often was this word seen?"""

    word: str
    reply: Reply[int]


async def store(ctx: Context[Add | Count]) -> None:
    """Keep counts; one message at a time, so no lock is needed."""
    counts: Counter[str] = Counter()
    ctx.ready()
    while True:
        match await ctx.receive():
            case Add(word):
                counts[word] += 1
            case Count(word, reply):
                reply.set(counts[word])


async def feed(ctx: Context[str]) -> None:
    """Pass words on to the store; the word "bad" is a fault of ours."""
    counts = ctx.find("store")
    ctx.ready()
    while True:
        word = await ctx.receive()
        if word == "bad":
            raise ValueError("cannot digest this")
        counts.tell(Add(word))


async def job(ctx: Context[int]) -> None:
    """Do one piece of work in a thread, and end."""
    number = await ctx.receive()
    square = await ctx.run_blocking(lambda: number * number)
    ctx.find("store").tell(Add(f"square {square}"))


def tree() -> SupervisorSpec:
    branch = SupervisorSpec(
        id="branch",
        intensity=3,
        period_s=60.0,
        children=(ChildSpec(id="feed", start=feed, wait_ready=True),),
    )
    jobs = DynamicSpec(
        id="jobs",
        children_max=100,
        template=ChildSpec(id="job", start=job, restart=RestartType.TRANSIENT),
    )
    return SupervisorSpec(
        id="service",
        strategy=Strategy.REST_FOR_ONE,  # feed and jobs rely on the store, not the other way round
        children=(ChildSpec(id="store", start=store, wait_ready=True), branch, jobs),
    )


async def main() -> None:
    reports: list[Report] = []
    async with Kernel(tree(), on_report=reports.append) as kernel:
        words, counts = kernel.ref("branch/feed"), kernel.ref("store")

        async def seen(word: str) -> int:
            def build(reply: Reply[Any]) -> Count:
                return Count(word, reply)

            return int(await counts.ask(build, timeout_s=5.0))

        async def count_to(word: str, number: int) -> None:
            with anyio.fail_after(5.0):
                while await seen(word) < number:
                    await anyio.lowlevel.checkpoint()

        for number in range(1, 4):
            words.tell("bad")
            words.tell("good")  # waits in the mailbox across the restart
            await count_to("good", number)
        assert (words.incarnation, counts.incarnation) == (4, 1)

        words.tell("bad")  # the fourth crash: the branch gives up and is started afresh
        with anyio.fail_after(5.0):
            while words.incarnation < 5 or not words.alive:
                await anyio.lowlevel.checkpoint()
        words.tell("good")
        await count_to("good", 4)
        assert counts.incarnation == 1

        jobs = kernel.supervisor("jobs")
        for number in range(10):
            jobs.start_child_soon(f"job-{number}").tell(number)
        await count_to("square 81", 1)

    crashes = [each for each in reports if isinstance(each, ChildTerminated)]
    assert [each.child for each in crashes] == ["feed"] * 4 + ["branch"]
    assert [each.supervisor for each in reports if isinstance(each, MaxIntensity)] == ["branch"]
    print("4 crashes, 1 branch restarted, no count lost")


if __name__ == "__main__":
    anyio.run(main)

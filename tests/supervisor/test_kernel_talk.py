"""Mailboxes, references, asks and timers."""

from collections.abc import Callable
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from kernel_log import Log
from virtual_time import VIRTUAL_BACKENDS, virtual_backend

from ukemi.supervisor import (
    ActorGone,
    AskTimeout,
    ChildSpec,
    Context,
    DynamicSpec,
    Kernel,
    MailboxFull,
    MessagesDropped,
    Ref,
    Reply,
    RestartType,
    SupervisorSpec,
    UnexpectedMessage,
)


@pytest.fixture(params=VIRTUAL_BACKENDS)
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, Any]]:
    return virtual_backend(request.param)


Ask = tuple[str, Reply[str]]
Message = str | Ask


def ask(text: str) -> Callable[[Reply[str]], Message]:
    def build(reply: Reply[str]) -> Message:
        return text, reply

    return build


async def actor(ctx: Context[Message]) -> None:
    """Echo; ``die`` crashes, ``slow`` answers after 10 s, ``forget`` never does."""
    ctx.ready()
    while True:
        match await ctx.receive():
            case "die":
                raise RuntimeError("told to")
            case str():
                continue
            case ("die", _):
                raise RuntimeError("told to")
            case ("slow", reply):
                await anyio.sleep(10)
                reply.set("late")
            case ("forget", _):
                continue
            case ("fail", reply):
                reply.fail(LookupError("nothing there"))
            case (text, reply):
                reply.set(text)


def tree(*children: Any) -> SupervisorSpec:
    return SupervisorSpec(id="root", children=children, intensity=10)


ECHO = ChildSpec(id="echo", start=actor, wait_ready=True, mailbox_max=3)


async def test_a_child_takes_what_is_there_without_waiting() -> None:
    """In order, the rest stays for the next look, and an empty box is None."""
    seen: list[str | None] = []

    async def body(ctx: Context[str]) -> None:
        seen.append(ctx.receive_nowait())
        seen.append(await ctx.receive())
        seen.extend(ctx.receive_nowait() for _ in range(3))

    async with Kernel(
        tree(ChildSpec(id="one", start=body, restart=RestartType.TEMPORARY))
    ) as kernel:
        await anyio.wait_all_tasks_blocked()
        for text in "abc":
            kernel.ref("one").tell(text)
        await kernel.supervisor().wait_child("one")
    assert seen == [None, "a", "b", "c", None]


async def test_messages_arrive_in_order() -> None:
    """From one sender, whether the actor sleeps or is busy."""
    got: list[int] = []

    async def body(ctx: Context[int]) -> None:
        while True:
            got.append(await ctx.receive())

    async with Kernel(tree(ChildSpec(id="a", start=body, mailbox_max=2_000))) as kernel:
        ref: Ref[int] = kernel.ref("a")
        for number in range(1_000):
            ref.tell(number)
            if number % 97 == 0:
                await anyio.sleep(1)
        await anyio.sleep(1)
    assert got == list(range(1_000))


async def test_take_gives_all_that_wait() -> None:
    """A service that commits in batches needs them at once."""
    got: list[list[int]] = []

    async def body(ctx: Context[int]) -> None:
        while True:
            got.append(await ctx.take())
            await anyio.sleep(1)

    async with Kernel(tree(ChildSpec(id="a", start=body, mailbox_max=2_000))) as kernel:
        for number in range(700):
            kernel.ref("a").tell(number)
        await anyio.sleep(0.5)
        kernel.ref("a").tell(700)
        kernel.ref("a").tell(701)
        await anyio.sleep(2)
    assert got == [list(range(700)), [700, 701]]


async def test_a_full_mailbox_refuses() -> None:
    """A length check: the sender hears of it, and the bound holds on both sides."""
    release = anyio.Event()

    async def body(ctx: Context[int]) -> None:
        await release.wait()
        while True:
            await ctx.receive()

    async with Kernel(tree(ChildSpec(id="a", start=body, mailbox_max=3))) as kernel:
        ref = kernel.ref("a")
        for number in range(3):
            ref.tell(number)
        with pytest.raises(MailboxFull, match="3 messages waiting") as caught:
            ref.tell(3)
        assert caught.value.waiting == 3
        assert kernel.tree().children[0].waiting == 3
        release.set()
        await anyio.sleep(1)
        ref.tell(4)


async def test_an_ask_is_answered() -> None:
    """With a value or with an error."""
    async with Kernel(tree(ECHO)) as kernel:
        ref: Ref[Message] = kernel.ref("echo")
        assert await ref.ask(ask("hello"), 1.0) == "hello"
        assert await ref.ask(ask("hello")) == "hello"
        with pytest.raises(LookupError, match="nothing there"):
            await ref.ask(ask("fail"), 1.0)
        assert len(kernel.timers) == 0


async def test_a_late_reply_is_dropped() -> None:
    """The asker has gone on; the actor notices nothing."""
    async with Kernel(tree(ECHO)) as kernel:
        ref: Ref[Message] = kernel.ref("echo")
        began = kernel.now()
        with pytest.raises(AskTimeout, match="within 2 s"):
            await ref.ask(ask("slow"), 2.0)
        assert kernel.now() - began == pytest.approx(2.0)
        assert await ref.ask(ask("next"), 20.0) == "next"
        assert ref.incarnation == 1


def itself(reply: Reply[int]) -> Reply[int]:
    return reply


async def test_a_second_reply_is_dropped() -> None:
    """A reply is one-shot."""

    async def body(ctx: Context[Reply[int]]) -> None:
        while True:
            reply = await ctx.receive()
            reply.set(1)
            assert not reply.open
            reply.set(2)
            reply.fail(ValueError())

    async with Kernel(tree(ChildSpec(id="a", start=body))) as kernel:
        ref: Ref[Reply[int]] = kernel.ref("a")
        assert await ref.ask(itself, 1.0) == 1


async def test_an_ask_to_a_life_that_dies_is_refused() -> None:
    """Never silence, also without a timeout."""
    async with Kernel(tree(ECHO)) as kernel:
        ref: Ref[Message] = kernel.ref("echo")
        with pytest.raises(ActorGone, match="ended before it replied"):
            await ref.ask(ask("die"))
        assert await ref.ask(ask("again"), 1.0) == "again"
        assert ref.incarnation == 2


async def test_messages_wait_across_a_restart() -> None:
    """Those not taken yet are the next life's, asks among them."""
    answers: list[str] = []

    async def client(ref: Ref[Message], text: str) -> None:
        answers.append(await ref.ask(ask(text), 5.0))

    async with Kernel(tree(ECHO)) as kernel:
        ref: Ref[Message] = kernel.ref("echo")
        ref.tell("die")
        async with anyio.create_task_group() as group:
            group.start_soon(client, ref, "one")
            group.start_soon(client, ref, "two")
        assert sorted(answers) == ["one", "two"]
        assert ref.incarnation == 2


async def test_a_cancelled_ask_leaves_nothing_behind() -> None:
    """Neither a timer nor a pending reply."""
    async with Kernel(tree(ECHO)) as kernel:
        ref: Ref[Message] = kernel.ref("echo")
        with anyio.move_on_after(1.0):
            await ref.ask(ask("forget"), 60.0)
        assert len(kernel.timers) == 0


async def test_nobody_at_the_address() -> None:
    """Never there, or ended for good."""
    spec = ChildSpec(id="a", start=actor, wait_ready=True, restart=RestartType.TEMPORARY)
    async with Kernel(tree(spec)) as kernel:
        for path in ("nobody", "a/below", "nowhere/at/all"):
            with pytest.raises(ActorGone):
                kernel.ref(path).tell("hello")
        ref = kernel.ref("a")
        assert (ref.alive, ref.incarnation) == (True, 1)
        ref.tell("die")
        await anyio.sleep(1)
        assert not ref.alive
        with pytest.raises(ActorGone, match="'a' is not running"):
            ref.tell("hello")
        with pytest.raises(ActorGone):
            await ref.ask(ask("hello"), 1.0)


async def test_what_an_ended_child_did_not_read_is_reported() -> None:
    """Tells as a number, asks as a refusal."""
    log = Log()

    async def body(ctx: Context[Message]) -> None:
        ctx.ready()
        await anyio.sleep_forever()

    refused: list[str] = []

    async def client(ref: Ref[Message]) -> None:
        try:
            await ref.ask(ask("hello"))
        except ActorGone as error:
            refused.append(error.path)

    spec = ChildSpec(id="a", start=body, wait_ready=True)
    async with Kernel(tree(spec), on_report=log.on_report) as kernel:
        async with anyio.create_task_group() as group:
            kernel.ref("a").tell("one")
            group.start_soon(client, kernel.ref("a"))
            await anyio.sleep(1)
            await kernel.supervisor().terminate_child("a")
        assert refused == ["a"]
        assert log.of(MessagesDropped)[0].count == 2


async def test_a_reference_survives_a_restart_of_its_supervisor() -> None:
    """It finds the new entry by its path."""
    inner = SupervisorSpec(id="inner", children=(ECHO,), intensity=0)
    async with Kernel(tree(inner)) as kernel:
        ref: Ref[Message] = kernel.ref("inner/echo")
        assert await ref.ask(ask("before"), 1.0) == "before"
        ref.tell("die")
        await anyio.sleep(1)
        assert await ref.ask(ask("after"), 1.0) == "after"
        assert ref.incarnation == 2


async def test_a_supervisor_reads_no_messages() -> None:
    """The sender is refused, and it is reported."""
    log = Log()
    async with Kernel(tree(SupervisorSpec(id="inner")), on_report=log.on_report) as kernel:
        with pytest.raises(ActorGone, match="reads no messages"):
            kernel.ref("inner").tell("hello")
    assert log.of(UnexpectedMessage)[0].child == "inner"


async def test_a_reminder_is_a_message() -> None:
    """``after`` sends it to the same life only; a cancelled one does not come."""
    got: list[tuple[int, str, float]] = []

    async def body(ctx: Context[str]) -> None:
        ctx.after(5.0, "tick")
        ctx.after(3.0, "cancelled").cancel()
        while True:
            message = await ctx.receive()
            if message == "die":
                raise RuntimeError
            got.append((ctx.incarnation, message, ctx.now()))

    async with Kernel(tree(ChildSpec(id="a", start=body))) as kernel:
        began = kernel.now()
        await anyio.sleep(4)
        kernel.ref("a").tell("die")
        await anyio.sleep(20)
        assert [(life, text) for life, text, _ in got] == [(2, "tick")]
        assert got[0][2] - began == pytest.approx(9.0)


async def test_on_demand_holds_no_task_while_idle() -> None:
    """A message starts the body; a crash restarts it, and what waits is not lost."""
    lives: list[tuple[int, str]] = []

    async def body(ctx: Context[str]) -> None:
        message = await ctx.receive()
        lives.append((ctx.incarnation, message))
        if message == "die":
            raise RuntimeError

    spec = ChildSpec(id="t", start=body, on_demand=True, restart=RestartType.TRANSIENT)
    pool = DynamicSpec(id="pool", template=spec)
    async with Kernel(tree(pool)) as kernel:
        ref = kernel.supervisor("pool").start_child_soon("x")
        for message in ("one", "die", "two", "three"):
            ref.tell(message)
        assert ref.alive
        await anyio.sleep(1)
        ref.tell("four")
        await anyio.sleep(1)
        assert ref.alive
        await kernel.supervisor("pool").terminate_child("x")
        assert not ref.alive
    assert lives == [(1, "one"), (1, "die"), (2, "two"), (2, "three"), (2, "four")]


async def test_timers_fire_in_order_and_on_time() -> None:
    """Same time: in the order in which they were armed."""
    fired: list[str] = []
    async with Kernel(tree()) as kernel:
        timers = kernel.timers
        timers.after(2.0, lambda: fired.append("b"))
        timers.after(1.0, lambda: fired.append("a"))
        timers.after(2.0, lambda: fired.append("c"))
        gone = timers.after(1.5, lambda: fired.append("never"))
        timers.at(kernel.now() - 5.0, lambda: fired.append("past"))
        assert len(timers) == 5
        gone.cancel()
        gone.cancel()
        assert (len(timers), gone.armed) == (4, False)
        await anyio.sleep(0.5)
        assert fired == ["past"]
        timers.after(0.1, lambda: fired.append("sooner than what it sleeps for"))
        await anyio.sleep(5)
    assert fired == ["past", "sooner than what it sleeps for", "a", "b", "c"]


async def test_cancelled_timers_do_not_pile_up() -> None:
    """Half dead is swept; an hour of deadlines that were all met leaves nothing."""
    async with Kernel(tree()) as kernel:
        for _ in range(10_000):
            kernel.timers.after(3600.0, lambda: None).cancel()
        assert len(kernel.timers) == 0
        heap = kernel.timers._heap  # pyright: ignore[reportPrivateUsage]
        assert len(heap) < 200


async def test_a_busy_actor_lets_others_run() -> None:
    """Every 256 messages, so that a full mailbox does not hold up the loop."""
    turns: list[str] = []

    async def busy(ctx: Context[int]) -> None:
        ctx.ready()
        while True:
            await ctx.receive()
            turns.append("busy")

    async def other(ctx: Context[int]) -> None:
        ctx.ready()
        while True:
            turns.append("other")
            await anyio.lowlevel.checkpoint()

    specs = (
        ChildSpec(id="busy", start=busy, mailbox_max=5_000, wait_ready=True),
        ChildSpec(id="other", start=other, wait_ready=True, restart=RestartType.TEMPORARY),
    )
    async with Kernel(tree(*specs)) as kernel:
        for number in range(4_000):
            kernel.ref("busy").tell(number)
        while turns.count("busy") < 4_000:
            await anyio.lowlevel.checkpoint()
    runs = "".join(turn[0] for turn in turns).split("o")
    assert max(len(run) for run in runs) <= 512

"""A body that changes the arguments it was given: what was asked for stays what it was."""

import uuid

from sessions import agent, ended

from ukemi import HandedOver, Runtime, Staged, StagedChange, tool
from ukemi.models import Reply, call


def store() -> str:
    return f"memory:{uuid.uuid4().hex}"


async def test_the_next_attempt_has_the_arguments_of_the_first() -> None:
    seen: list[tuple[list[str], str]] = []

    @tool(effect="write", accepts_key=True)
    async def order(skus: list[str], *, key: str) -> str:
        seen.append((list(skus), key))
        while skus:
            skus.pop()
        if len(seen) < 3:
            raise ConnectionResetError("the answer got lost")
        return "4711"

    @tool(effect="read")
    def look(where: dict[str, list[str]]) -> str:
        seen.append((where.pop("a"), "look"))
        if len(seen) == 4:
            raise ConnectionResetError("the answer got lost")
        return "there"

    said: list[Reply] = [call("order", skus=["A", "B"]), call("look", where={"a": ["x"]}), "done"]
    async with Runtime(store(), agents=[agent(said, [order, look])]) as runtime:
        session = await runtime.start("agent", "go")
        await session.outcome()
    assert [skus for skus, _ in seen[:3]] == [["A", "B"]] * 3
    assert len({key for _, key in seen[:3]}) == 1
    assert seen[3:] == [(["x"], "look")] * 2


async def test_a_probe_is_asked_about_what_was_asked_for() -> None:
    asked: list[list[str]] = []

    def is_there(skus: list[str]) -> str | None:
        asked.append(list(skus))
        return None

    @tool(effect="write", probe=is_there)
    async def order(skus: list[str]) -> str:
        skus.clear()
        raise ConnectionResetError("the answer got lost")

    async with Runtime(
        store(), agents=[agent([call("order", skus=["A"]), "done"], [order])]
    ) as runtime:
        session = await runtime.start("agent", "go")
        assert isinstance(await ended(runtime, session.id), HandedOver)
    assert asked
    assert all(skus == ["A"] for skus in asked)


async def test_a_staged_call_is_checked_and_committed_with_what_was_asked_for() -> None:
    checked: list[object] = []
    committed: list[list[str]] = []

    def check(change: StagedChange) -> None:
        checked.append(change.arguments)

    def send(to: list[str]) -> str:
        committed.append(to)
        return "sent"

    @tool(effect="write", staged=Staged(commit=send))
    async def mail(to: list[str]) -> str:
        to.clear()
        return "a draft"

    async with Runtime(
        store(), agents=[agent([call("mail", to=["ann"]), "done"], [mail])], checks=[check]
    ) as runtime:
        session = await runtime.start("agent", "go")
        await session.outcome()
    assert checked == [{"to": ["ann"]}]
    assert committed == [["ann"]]

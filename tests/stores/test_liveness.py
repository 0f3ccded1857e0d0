"""Owners' names, and when the process behind one is certainly gone."""

import os
import signal
import subprocess
import sys

import pytest

from ukemi.stores import liveness
from ukemi.stores.liveness import (
    Machine,
    Owner,
    comparable,
    owner_id,
    owner_is_dead,
    parse_owner,
    parse_start,
    process_start,
    this_machine,
)

PROC = pytest.mark.skipif(process_start(os.getpid()) is None, reason="there is no /proc here")

STATS = [
    pytest.param("7 (python) S " + "0 " * 18 + "4242 99", "4242", id="sleeping"),
    pytest.param("7 (a) b) (c) R " + "0 " * 18 + "17 0", "17", id="brackets in the name"),
    pytest.param("7 (x) Z " + "0 " * 18 + "4242 0", None, id="dead and not yet collected"),
    pytest.param("7 (x) X " + "0 " * 18 + "4242 0", None, id="dead"),
    pytest.param("7 (x) S 1 2", None, id="cut off"),
    pytest.param("", None, id="empty"),
]


@pytest.mark.parametrize("stat, start", STATS)
def test_start_is_read_from_the_text_of_proc(stat: str, start: str | None) -> None:
    assert parse_start(stat) == start


@pytest.mark.parametrize(
    "name",
    ["", "owner-a", "a/b/c", "h/b/n/x/s/n", "h/b/n/-1/s/n", "h/b/n/1/s/n/more", "h/b/n/²/s/n"],
)
def test_foreign_name_is_nobody_we_know(name: str) -> None:
    assert parse_owner(name) is None
    assert not owner_is_dead(name)


def test_name_says_which_process_and_is_never_given_twice() -> None:
    first, second = owner_id(), owner_id()
    assert first != second
    owner = parse_owner(first)
    assert owner is not None
    assert (owner.pid, str(owner)) == (os.getpid(), first)
    assert not owner_is_dead(first)


HERE = Machine("boot-1", "ns-1")
COMPARABLE = [
    (Owner("host", "boot-1", "ns-1", 7, "1", "x"), True),
    (Owner("other", "boot-1", "ns-1", 7, "1", "x"), True),
    (Owner("host", "boot-2", "ns-1", 7, "1", "x"), False),
    (Owner("host", "boot-1", "ns-2", 7, "1", "x"), False),
    (Owner("host", "-", "-", 7, "-", "x"), False),
    (Owner("host", "boot-1", "ns-1", 7, "-", "x"), False),
]


@pytest.mark.parametrize("owner, expected", COMPARABLE)
def test_process_ids_compare_on_one_boot_in_one_namespace(owner: Owner, expected: bool) -> None:
    assert comparable(owner, HERE) is expected


def test_where_nothing_is_known_nothing_compares() -> None:
    assert not comparable(Owner("h", "-", "-", 7, "1", "x"), Machine("-", "-"))


def named(pid: int, start: str) -> str:
    here = this_machine()
    return str(Owner("host", here.boot, here.namespace, pid, start, "x"))


@PROC
def test_process_id_given_to_another_process_means_dead() -> None:
    start = process_start(os.getpid())
    assert start is not None
    assert not owner_is_dead(named(os.getpid(), start))
    assert owner_is_dead(named(os.getpid(), str(int(start) - 1)))


@PROC
def test_number_that_can_be_no_process_proves_nothing() -> None:
    assert not owner_is_dead(named(10**30, "1"))


@PROC
@pytest.mark.realtime
@pytest.mark.parametrize("collected", [False, True], ids=["not collected", "collected"])
def test_really_killed_process_is_dead(collected: bool) -> None:
    script = (
        "import sys; from ukemi.stores.liveness import owner_id;"
        "print(owner_id(), flush=True); sys.stdin.readline()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        name = child.stdout.readline().strip()
        assert not owner_is_dead(name)
        child.send_signal(signal.SIGKILL)
        if collected:
            child.wait(5)
        else:
            os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert owner_is_dead(name)
    assert owner_is_dead(name)


@PROC
def test_the_dead_are_looked_up_once_and_the_living_each_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A thousand sessions that one process has left behind ask about the same owner."""
    looked: list[str] = []
    is_gone = liveness._is_gone  # pyright: ignore[reportPrivateUsage]
    monkeypatch.setattr(liveness, "_is_gone", lambda name: looked.append(name) or is_gone(name))  # type: ignore[func-returns-value]
    monkeypatch.setattr(liveness, "_gone", set[str]())
    monkeypatch.setattr(liveness, "GONE_MAX", 2)
    dead = [named(os.getpid(), f"{start}") for start in (-1, -2, -3)]
    assert all(owner_is_dead(name) for name in (*dead[:2], *dead[:2], *dead[:2]))
    assert looked == dead[:2]
    assert owner_is_dead(dead[2])  # no more are kept than that
    assert owner_is_dead(dead[0]) and looked == [*dead, dead[0]]
    living = owner_id()
    assert not owner_is_dead(living) and not owner_is_dead(living)
    assert looked[4:] == [living, living]

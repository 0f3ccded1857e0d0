"""Who drives a session: nobody is said to drive what its owner has left or died on."""

import os
import subprocess
import sys

import pytest
from msgspec import Struct

from ukemi.cli.owners import Standing, owned_words, owner_words, standing_of
from ukemi.stores.base import Facts, Head
from ukemi.stores.liveness import Machine, Owner, owner_id, this_machine
from ukemi.stores.records import SessionStatus

HERE = Machine("boot-1", "4026531836")
NOW_MS = 1_000_000


def head(
    owner: str | None,
    lease_until_ms: int | None,
    *,
    status: SessionStatus = "running",
    damaged: str | None = None,
) -> Head:
    return Head(
        session_id="s-1",
        status=status,
        seq=1,
        counter=0,
        epoch=1,
        owner=owner,
        lease_until_ms=lease_until_ms,
        facts=Facts(agent="clerk"),
        damaged=damaged,
    )


class Case(Struct, frozen=True):
    rule: str
    head: Head
    expected: Standing
    dead: bool = False


CASES = [
    Case("a lease that lasts is driven", head("me", NOW_MS + 1), Standing(driven_by="me")),
    Case("a lease that has ended is not", head("me", NOW_MS), Standing(unfinished=True)),
    Case("an owner that left in order has lease 0", head("me", 0), Standing(unfinished=True)),
    Case("no lease at all", head("me", None), Standing(unfinished=True)),
    Case("no owner", head(None, None), Standing(unfinished=True)),
    Case("a dead owner's lease counts for nothing", head("me", NOW_MS + 1), Standing(True), True),
    Case("what has ended is not unfinished", head(None, None, status="completed"), Standing()),
    Case("what is damaged cannot go on", head(None, None, damaged="row 1"), Standing()),
]


@pytest.mark.parametrize("case", CASES, ids=[each.rule for each in CASES])
def test_where_a_session_stands(case: Case) -> None:
    assert standing_of(case.head, NOW_MS, dead=lambda owner: case.dead) == case.expected


WORDS = [
    (Owner("vm", "boot-1", "4026531836", 1234, "77", "ab"), "this machine, process 1234"),
    (Owner("vm", "boot-1", "4026531836", 42, "77", "ab"), "this process"),
    (Owner("far", "boot-2", "4026531836", 1234, "77", "ab"), "machine far, process 1234"),
    (Owner("far", "-", "-", 1234, "-", "ab"), "machine far, process 1234"),
    ("a name of\nmy own", "a name of my own"),
]


@pytest.mark.parametrize(("owner", "words"), WORDS, ids=[words for _, words in WORDS])
def test_an_owner_in_words(owner: object, words: str) -> None:
    assert owner_words(str(owner), HERE, 42) == words


def test_the_process_of_an_owner_is_looked_at() -> None:
    """This process lives; one that has ended and was waited for is gone, whatever its lease says."""
    assert standing_of(head(owner_id(), NOW_MS + 1), NOW_MS).driven_by == "this process"
    with subprocess.Popen([sys.executable, "-c", ""]) as child:
        child.wait()
    here = this_machine()
    gone = str(Owner("vm", here.boot, here.namespace, child.pid, "1", "ab"))
    assert standing_of(head(gone, NOW_MS + 1), NOW_MS) == Standing(unfinished=True)


def test_a_refusal_names_process_and_seconds_and_no_milliseconds() -> None:
    here = this_machine()
    other = str(Owner("vm", here.boot, here.namespace, os.getppid(), "1", "ab"))
    assert owned_words(head(other, NOW_MS + 6_812), NOW_MS) == (
        f"session s-1 is driven by this machine, process {os.getppid()}; if that stops, it is free"
        " in 6.8 s"
    )

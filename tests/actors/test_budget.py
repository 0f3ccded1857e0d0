"""Budget arithmetic: reserve, settle, chains of accounts. Synchronous and exact."""

import math
import random

import pytest

from ukemi import Budget, UsageError
from ukemi.actors.accounts import Book
from ukemi.actors.budget import LIMITS, Account, Refusal, Reservation, budget_from
from ukemi.stores.records import Spent


def account(
    name: str = "session a",
    parents: tuple[Account, ...] = (),
    limits: dict[str, float] | None = None,
    **more: float,
) -> Account:
    return Account(name, budget_from({**(limits or {}), **more}), parents=parents)


def held(reserved: Reservation | Refusal) -> Reservation:
    assert isinstance(reserved, Reservation), reserved
    return reserved


BAD = [(name, value) for name in LIMITS for value in (-1, -0.5, math.nan, True, "many", [3])]


@pytest.mark.parametrize(("name", "value"), BAD, ids=str)
def test_impossible_limits_are_refused_by_name(name: str, value: object) -> None:
    with pytest.raises(UsageError, match=f"budget {name}="):
        Budget(**{name: value})  # type: ignore[arg-type]


@pytest.mark.parametrize("name", LIMITS)
def test_none_is_no_limit_and_zero_is_one(name: str) -> None:
    assert account().left(name) == math.inf
    none_left = account(limits={name: 0})
    assert isinstance(none_left.reserve(**{name: 1}), Refusal)


def test_exactly_the_limit_fits_and_one_more_does_not() -> None:
    a = account(tool_calls=3)
    for _ in range(3):
        a.settle(held(a.reserve(tool_calls=1)), tool_calls=1)
    refusal = a.reserve(tool_calls=1)
    assert isinstance(refusal, Refusal)
    assert str(refusal) == "budget tool_calls of session a: 3 of 3 used"


def test_BU_02_reservations_hold_under_concurrency() -> None:
    """Ten calls of 0.30 against 1.00, from a session and two of its children, in one tick."""
    parent = account(cost_usd=1.0)
    children = [account(f"session a.{i}", (parent,)) for i in range(2)]
    chosen = [(parent, *children)[i % 3] for i in range(10)]
    tries = [(each, each.reserve(cost_usd=0.30)) for each in chosen]
    admitted = [(each, got) for each, got in tries if isinstance(got, Reservation)]
    assert len(admitted) == 3
    assert parent.held[LIMITS.index("cost_usd")] == pytest.approx(0.90)
    refused = [got for _, got in tries if isinstance(got, Refusal)]
    assert {each.account for each in refused} == {"session a"}, "the limit that ran out is named"
    for number, (each, reservation) in enumerate(admitted):
        each.settle(reservation, cost_usd=0.0 if number == 2 else 0.25)
    assert parent.used[LIMITS.index("cost_usd")] == pytest.approx(0.50)
    assert parent.left("cost_usd") == pytest.approx(0.50)


def test_BU_03_a_family_shares_the_parents_limit_and_each_knows_whose_it_was() -> None:
    parent = Account("session p", budget_from({"steps": 90}), own=Spent(steps=30))
    children = [account(f"session p.{i}", (parent,), steps=50) for i in range(3)]
    done = {child.name: 0 for child in children}
    stopped: dict[str, Refusal] = {}
    for _ in range(40):  # each wants 40, in turns
        for child in children:
            got = child.reserve(steps=1)
            if isinstance(got, Refusal):
                stopped.setdefault(child.name, got)
            else:
                child.settle(got, steps=1)
                done[child.name] += 1
    assert sum(done.values()) == 60
    assert parent.used[LIMITS.index("steps")] == 90
    assert max(done.values()) <= 50
    assert {refusal.account for refusal in stopped.values()} == {"session p"}
    assert parent.own[LIMITS.index("steps")] == 30, "booked once, at the child that used it"
    lone = account("session q", (account("session r", steps=90),), steps=2)
    for _ in range(2):
        lone.settle(held(lone.reserve(steps=1)), steps=1)
    refusal = lone.reserve(steps=1)
    assert isinstance(refusal, Refusal) and refusal.account == "session q", "its own limit"


def test_a_reservation_is_given_back_once() -> None:
    a = account(tokens=100)
    reservation = held(a.reserve(tokens=80))
    a.settle(reservation, tokens=10)
    a.settle(reservation, tokens=10)
    assert a.used[LIMITS.index("tokens")] == 10
    assert a.left("tokens") == 90


def test_an_account_above_two_paths_counts_once() -> None:
    group = account("group g", tool_calls=10)
    parent = account("session p", (group,))
    child = account("session p.1", (parent, group))
    child.settle(held(child.reserve(tool_calls=1)), tool_calls=1)
    assert group.used[LIMITS.index("tool_calls")] == 1


def test_seconds_add_up_in_groups_and_not_in_parents() -> None:
    group, parent = account("group g"), account("session p")
    child = account("session p.1", (parent, group))
    child.book(seconds=5.0, active_seconds=2.0)
    assert (group.used[0], parent.used[0], child.used[0]) == (5.0, 0.0, 5.0)


def test_soft_limits_are_told_once_each() -> None:
    a = account(steps=10, tool_calls=10)
    a.book(steps=7, tool_calls=8)
    assert [each.limit for each in a.crossed(0.8)] == ["tool_calls"]
    a.book(steps=1)
    assert [each.limit for each in a.crossed(0.8)] == ["steps"]
    assert a.crossed(0.8) == []


def test_what_a_session_consumed_survives_as_a_record() -> None:
    spent = Spent(1.5, 0.5, 3, 4, 5, 600, 0.25, 1, 2)
    assert Account("session a", Budget(), own=spent).spent() == spent


def test_a_restart_counts_each_session_once_above_it() -> None:
    """The row said 3 when the group was summed up, the journal says 5: two more."""
    book = Book({"g": budget_from({"steps": 10})}, {})
    assert book.shares == [("group", "g")]
    book.sum_up("group", "g", Spent(steps=3))
    opened = book.open("s", Budget(), group="g", own=Spent(steps=5), counted=Spent(steps=3))
    assert opened.left("steps") == 5
    book.close("s")
    again = book.open("s", Budget(), group="g", own=Spent(steps=5), counted=Spent(steps=5))
    assert again.left("steps") == 5


@pytest.mark.parametrize("seed", range(100))
def test_no_order_of_reservations_breaks_a_limit(seed: int) -> None:
    """Law: used plus held never exceeds any cap of the chain, and nothing stays held at the end."""
    rng = random.Random(seed)
    top = account("tenant t", tokens=rng.randrange(50, 200))
    families = [account(f"session {i}", (top,), tokens=rng.randrange(20, 100)) for i in range(3)]
    leaves = [account(f"session {i}.c", (family,)) for i, family in enumerate(families)]
    open_: list[tuple[Account, Reservation, int]] = []
    for _ in range(200):
        if open_ and rng.random() < 0.5:
            each, reservation, amount = open_.pop(rng.randrange(len(open_)))
            each.settle(reservation, tokens=rng.randrange(amount + 1))
        else:
            each, amount = rng.choice([*families, *leaves]), rng.randrange(1, 30)
            got = each.reserve(tokens=amount)
            if isinstance(got, Reservation):
                open_.append((each, got, amount))
        for one in (top, *families):
            assert one.used[5] + one.held[5] <= (one.caps[5] or 0) + 1e-9
    for each, reservation, _ in open_:
        each.settle(reservation)
    assert all(one.held[5] == 0 for one in (top, *families, *leaves))

"""Places shared fairly among tenants: tables, and the laws that hold after any run of requests."""

from collections import Counter
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ukemi.actors.fairness import FairLine


def line_of(places: int | None, *names: str, each_max: int | None = None) -> FairLine[str]:
    """A line that these have joined in this order; the tenant is a name's first letter."""
    line = FairLine[str](places, each_max)
    for at, name in enumerate(names):
        line.join(name, name[0], float(at))
    return line


SERVED: list[tuple[int | None, list[str], list[str]]] = [
    # places, who comes, who is served in which order
    (2, ["a1", "a2", "a3"], ["a1", "a2"]),
    (3, ["a1", "a2", "a3", "b1"], ["a1", "b1", "a2"]),
    (4, ["a1", "a2", "b1", "c1", "b2"], ["a1", "b1", "c1", "a2"]),
    (None, ["a1", "a2", "b1"], ["a1", "b1", "a2"]),
    (1, [], []),
]


@pytest.mark.parametrize(("places", "names", "served"), SERVED)
def test_places_go_round_the_tenants_and_in_order_within_each(
    places: int | None, names: list[str], served: list[str]
) -> None:
    line = line_of(places, *names)
    assert line.serve() == served
    assert line.held == len(served)
    assert line.waiting == len(names) - len(served)


def test_a_free_place_goes_to_whoever_holds_the_fewest() -> None:
    line = line_of(3, "a1", "a2", "a3", "a4", "a5")
    assert line.serve() == ["a1", "a2", "a3"]
    line.join("b1", "b", 9.0)
    line.join("b2", "b", 9.0)
    line.leave("a1")
    assert line.serve() == ["b1"]
    line.leave("a2")
    assert line.serve() == ["b2"]  # as few as a, and its turn came first
    line.leave("a3")
    assert line.serve() == ["a4"]


def test_long_work_gets_no_more_than_short_work() -> None:
    """Served in turns only, a's long calls would fill the places while b's come and go."""
    line = FairLine[str](4)
    for at in range(100):
        line.join(f"a{at}", "a", 0.0)
        line.join(f"b{at}", "b", 0.0)
    line.serve()
    for _ in range(40):  # b's are over at once, a's never
        done = next(f"b{at}" for at in range(100) if line.holds(f"b{at}"))
        line.leave(done)
        line.serve()
        assert line.held_of() == {"a": 2, "b": 2}


def test_a_tenant_alone_may_hold_all_but_no_more_than_its_own_limit() -> None:
    assert len(line_of(5, *(f"a{at}" for at in range(9))).serve()) == 5
    capped = line_of(5, *(f"a{at}" for at in range(9)), "b0", each_max=3)
    assert capped.serve() == ["a0", "b0", "a1", "a2"]
    capped.leave("a1")
    assert capped.serve() == ["a3"]
    capped.limit(5, None)
    assert capped.serve() == ["a4"]


def test_one_tenant_has_its_own_number() -> None:
    line = FairLine[str](None, 2, {"a": 1, "b": None})
    for name in ("a1", "a2", "b1", "b2", "b3", "c1", "c2", "c3"):
        line.join(name, name[0], 0.0)
    assert Counter(name[0] for name in line.serve()) == {"a": 1, "b": 3, "c": 2}


def test_who_leaves_the_line_never_holds_a_place_and_keeps_nobody_behind() -> None:
    line = line_of(1, "a1", "a2", "a3")
    line.serve()
    assert line.leave("a2")
    line.leave("a1")
    assert line.serve() == ["a3"]
    assert not line.leave("a2")
    assert "a2" not in line


def test_a_place_taken_over_the_limit_is_counted() -> None:
    line = line_of(1, "a1", "a2")
    line.serve()
    line.take("b1", "b")
    line.take("a2", "a")
    assert (line.held, line.waiting) == (3, 0)
    line.leave("a1")
    line.leave("a2")
    line.join("c1", "c", 0.0)
    assert line.serve() == []
    line.leave("b1")
    assert line.serve() == ["c1"]


def test_other_limits_take_no_place_from_anybody() -> None:
    line = line_of(3, "a1", "a2", "a3", "a4")
    line.serve()
    line.limit(1)
    assert (line.held, line.serve()) == (3, [])
    line.limit(4)
    assert line.serve() == ["a4"]


def test_the_oldest_is_the_one_that_has_waited_longest() -> None:
    line = line_of(1, "a1", "a2", "b1")
    assert line.oldest() == 0.0
    line.serve()
    assert line.oldest() == 1.0
    line.leave("a2")
    assert line.oldest() == 2.0
    line.leave("b1")
    assert line.oldest() is None
    assert line.waiting_of() == {}


# ---------------------------------------------------------------- laws

TENANTS = "abcd"
OPS = st.lists(
    st.tuples(
        st.sampled_from(["join", "join", "join", "leave", "take", "limit"]), st.integers(0, 40)
    ),
    max_size=120,
)


def played(ops: list[tuple[str, int]], line: FairLine[str], own: int | None) -> Iterator[list[str]]:
    """Do what is asked, and yield who was served after each of it."""
    for kind, number in ops:
        name = f"{TENANTS[number % 4]}{number}"
        if kind == "join":
            line.join(name, name[0], float(number))
        elif kind == "leave":
            line.leave(name)
        elif kind == "take":
            line.take(name, name[0])
        else:
            line.limit(number % 7 + 1, own)
        yield line.serve()


@settings(max_examples=150, deadline=None)
@given(OPS, st.integers(1, 6), st.sampled_from([None, 1, 3]))
def test_no_place_is_free_while_somebody_may_have_it_and_none_is_given_over_the_limit(
    ops: list[tuple[str, int]], places: int, own: int | None
) -> None:
    line = FairLine[str](places, own)
    limit = places
    steps = played(ops, line, own)
    for (kind, number), served in zip(ops, steps, strict=True):
        limit = number % 7 + 1 if kind == "limit" else limit
        held, waiting = line.held_of(), line.waiting_of()
        assert sum(held.values()) == line.held and sum(waiting.values()) == line.waiting
        assert not served or line.held <= limit
        eligible = [each for each in waiting if own is None or held.get(each, 0) < own]
        assert line.held >= limit or not eligible
        for name in served:
            assert own is None or held[name[0]] <= own


@settings(max_examples=150, deadline=None)
@given(OPS, st.integers(1, 6), st.sampled_from([None, 1, 3]))
def test_a_place_taken_at_once_is_the_one_that_the_line_would_have_given(
    ops: list[tuple[str, int]], places: int, own: int | None
) -> None:
    line, other = FairLine[str](places, own), FairLine[str](places, own)
    steps = played(ops, other, own)
    for kind, number in ops:
        name = f"{TENANTS[number % 4]}{number}"
        if kind == "join" and line.take_free(name, name[0]):
            served = [name]
        else:
            (served,) = played([(kind, number)], line, own)
        assert served == next(steps)
        assert (line.held_of(), line.waiting_of()) == (other.held_of(), other.waiting_of())


@settings(max_examples=150, deadline=None)
@given(OPS, st.integers(1, 6))
def test_within_a_tenant_the_order_of_arrival_is_kept(
    ops: list[tuple[str, int]], places: int
) -> None:
    line = FairLine[str](places)
    arrived: dict[str, list[str]] = {tenant: [] for tenant in TENANTS}
    for (kind, number), served in zip(ops, played(ops, line, None), strict=True):
        name = f"{TENANTS[number % 4]}{number}"
        ahead = arrived[name[0]]
        if kind == "join" and name not in ahead and (line.waits(name) or name in served):
            ahead.append(name)
        for each in served:
            assert arrived[each[0]][0] == each
            del arrived[each[0]][0]
        if kind in ("leave", "take") and name in ahead:
            ahead.remove(name)


@settings(max_examples=150, deadline=None)
@given(st.integers(1, 5), st.lists(st.integers(0, 60), min_size=1, max_size=200))
def test_a_tenant_that_holds_nothing_is_passed_by_at_most_once_for_each_that_stood_so_before_it(
    places: int, ends: list[int]
) -> None:
    """However long the lines of three others are, and whoever comes to an end in which order."""
    line = FairLine[str](places)
    for at in range(300):
        line.join(f"{TENANTS[at % 3]}{at}", TENANTS[at % 3], 0.0)
    running = line.serve()
    ahead = sum(tenant not in line.held_of() for tenant in TENANTS[:3])
    line.join("d0", "d", 1.0)
    for passed, end in enumerate(ends):
        assert passed <= ahead  # who comes to hold nothing later is behind it
        line.leave(running.pop(end % len(running)))
        (served,) = line.serve()
        running.append(served)
        if served == "d0":
            break
    if len(ends) > ahead:
        assert line.holds("d0")

"""Outages found in attempts, and how long things last of which some are not seen to end: tables."""

import random

import pytest

from ukemi.actors.simulating.learning import Learned, Place
from ukemi.actors.simulating.seen import Seen, Weather
from ukemi.actors.simulating.spells import found_in
from ukemi.actors.simulating.survival import Lasted, curve_of, longer
from ukemi.actors.simulating.worlds import World
from ukemi.supervisor.errors import ErrorClass

LETTERS: dict[str, Weather] = {".": "up", "x": "down", "l": "limited"}
CLASSES = {"up": None, "down": ErrorClass.TRANSIENT, "limited": ErrorClass.RATE_LIMITED}


def attempts(drawn: str, retry_after: float | None = None) -> list[Seen]:
    """One attempt a second: ``.`` answered, ``x`` failed, ``l`` refused for too much."""
    found: list[Seen] = []
    for at, letter in enumerate(drawn):
        if letter != " ":
            weather = LETTERS[letter]
            told = retry_after if weather == "limited" else None
            error_class = CLASSES[weather]
            found.append(Seen("t", float(at), 0.0, weather, error_class, retry_after=told))
    return found


TABLE: list[tuple[str, list[tuple[float | None, float, float, float | None]], int]] = [
    # attempts: (last answer before, first failure, last, first answer after) of each spell; alone
    ("", [], 0),
    ("....", [], 0),
    ("..x..", [], 1),
    ("..xx..", [(1, 2, 3, 4)], 0),
    ("xx..", [(None, 0, 1, 2)], 0),
    ("..xxx", [(1, 2, 4, None)], 0),
    ("..xx....xx.", [(1, 2, 3, 4), (7, 8, 9, 10)], 0),
    (".xx.xx.xxx....", [(0, 1, 9, 10)], 0),  # a share fails: one spell
    ("x...x...x...", [], 3),
    ("x.xx....", [(None, 0, 3, 4)], 0),
    ("x.x.....", [], 2),
    (".x   x   x.", [(0, 1, 9, 10)], 0),  # nobody asked in between
]


@pytest.mark.parametrize(("drawn", "spells", "alone"), TABLE, ids=[row[0] for row in TABLE])
def test_a_spell_is_where_failures_outweigh_answers(
    drawn: str, spells: list[tuple[float | None, float, float, float | None]], alone: int
) -> None:
    found = found_in(attempts(drawn))
    assert [(each.before, each.first, each.last, each.after) for each in found.spells] == spells
    assert len(found.alone) == alone
    inside = sum(each.failed + each.passed for each in found.spells)
    assert found.outside + inside == len(drawn.replace(" ", ""))


def test_the_order_in_which_sessions_are_read_does_not_matter() -> None:
    seen = attempts("..xx...x..xxx.")
    assert found_in(reversed(seen)) == found_in(seen)


def test_a_share_of_the_attempts_fails_where_some_are_answered() -> None:
    (spell,) = found_in(attempts(".xx.xx.xxx....")).spells
    assert (spell.failed, spell.passed) == (7, 2)
    assert spell.share == pytest.approx(6 / 8)


def test_a_limit_lasts_as_long_as_the_other_side_says() -> None:
    """Refusals in a window that another one opened belong to it."""
    found = found_in(attempts("..l l....l.", retry_after=3.0))
    first, second = found.spells
    assert (first.kind, first.first, first.last, first.until) == ("limited", 2.0, 4.0, 7.0)
    assert (first.failed, first.passed) == (2, 2)  # two were answered: the limit is a share
    assert (second.first, second.until) == (9.0, 12.0)
    assert found.alone == ()


def test_one_refusal_without_a_hint_is_one_by_itself() -> None:
    found = found_in(attempts("..l..."))
    assert (found.spells, len(found.alone), found.outside) == ((), 1, 6)


# ---------------------------------------------------------------- survival


def test_the_curve_is_that_of_kaplan_and_meier() -> None:
    """A textbook's table: ends at 6 (three), 7, 10; not seen to end at 6, 9, 10."""
    ends = [
        (6, True),
        (6, True),
        (6, True),
        (6, False),
        (7, True),
        (9, False),
        (10, True),
        (10, False),
    ]
    curve = curve_of([Lasted(length, ended) for length, ended in ends])
    assert curve.ended == 5
    expected = [(6, 5 / 8), (7, 5 / 8 * 3 / 4), (10, 5 / 8 * 3 / 4 * 1 / 2)]
    assert [at for at, _ in curve.points] == [at for at, _ in expected]
    shares = [share for _, share in curve.points]
    assert shares == pytest.approx([share for _, share in expected])


DRAWS: list[tuple[float, float, float | None]] = [
    # lasted so long, roll: lasts
    (0.0, 0.0, 1.0),
    (0.0, 0.2, 1.0),
    (0.0, 0.3, 2.0),
    (0.0, 0.6, 4.0),
    (0.0, 0.8, None),
    (1.0, 0.0, 2.0),
    (2.5, 0.4, 4.0),
    (2.5, 0.6, None),
    (9.0, 0.0, None),
]


@pytest.mark.parametrize(("lasted", "roll", "lasts"), DRAWS)
def test_what_has_lasted_is_drawn_from_what_lasted_longer(
    lasted: float, roll: float, lasts: float | None
) -> None:
    ends = [(1.0, True), (2.0, True), (4.0, True), (9.0, False)]
    curve = curve_of([Lasted(length, ended) for length, ended in ends])
    assert longer(curve, lasted, roll) == lasts


def test_nothing_is_drawn_from_nothing() -> None:
    assert longer(curve_of([]), 0.0, 0.5) is None


def test_failures_in_an_order_by_chance_are_no_outages() -> None:
    """Where every fourth attempt fails by itself, two in a row are no outage; the same number in few
    stretches are outages."""
    chance = random.Random(3)
    drawn = "".join("x" if chance.random() < 0.25 else "." for _ in range(300))
    assert "xx" in drawn
    found = found_in(attempts(drawn))
    assert (found.spells, len(found.alone)) == ((), drawn.count("x"))
    apart = (("." * 60) + "x" * 19) * 3 + "." * 60
    assert len(found_in(attempts(apart)).spells) == 3


def test_a_told_end_that_was_too_short_is_not_believed() -> None:
    """The other side says one second each time and refuses for ten: one time, whose end nobody told."""
    (spell,) = found_in(attempts("..l l l l l ...", retry_after=1.0)).spells
    assert (spell.first, spell.last, spell.until) == (2.0, 10.0, None)
    assert (spell.before, spell.after) == (1.0, 12.0)
    assert (spell.failed, spell.passed) == (5, 0)


def test_a_told_end_that_was_kept_is_the_end() -> None:
    """Refused again long after it, or with answers in between: another time, and its word is taken."""
    for drawn in ("..l  ..l  ..", "..l              l   .."):
        spells = found_in(attempts(drawn, retry_after=2.5)).spells
        assert [each.until for each in spells] == [each.first + 2.5 for each in spells]
        assert len(spells) == 2


def test_times_of_refusing_are_in_order_in_each_world() -> None:
    """Nobody was answered between two: the second does not begin before the first, wherever it is drawn."""
    seen = attempts(f"{'.' * 9}{' ' * 21}l{' ' * 9}l   ..", retry_after=1.0)
    found = found_in(seen)
    place = Place(found, tuple(each for each in seen if each.weather == "limited"), curve_of([]))
    known = Learned((), {}, {"p": place}, 0.0, 50.0)
    for seed in range(40):
        first, second = World(known, seed).hours("p", "limited")
        assert first.start <= 30.0 <= second.start <= 40.0

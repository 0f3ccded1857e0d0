"""How much of a conversation fits into what its model takes."""

import pytest

from ukemi.actors.pruning.room import Measured, ahead, input_max, room_for
from ukemi.supervisor.decide import Prune

# 40,000 characters of messages and 10,000 of instructions and tools make 20,000 tokens.
REQUEST = Measured(40_000, 10_000, 20_000.0)


@pytest.mark.parametrize(
    ("prune", "room", "why"),
    [
        (Prune(0.5), 40_000, "nothing is told: what was refused is the limit"),
        (Prune(0.5, 0.8), 30_000, "the share of the whole request, less what goes with each"),
        (Prune(0.5, 0.1), -5_000, "what goes with each request is too large by itself"),
        (Prune(0.5, None, 10_000), 15_000, "a limit in tokens, by what a character makes here"),
        (Prune(0.5, None, 5_000_000), 40_000, "a limit above what was refused means nothing"),
        (Prune(0.5, 1.5, 30_000), 40_000, "nor does a share above it"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_room(prune: Prune, room: int, why: str) -> None:
    assert room_for(prune, REQUEST) == room, why


def test_a_character_is_a_quarter_of_a_token_at_least_and_two_at_most() -> None:
    assert REQUEST.tokens_per_char == pytest.approx(0.4)
    assert Measured(1_000, 0, 1.0).tokens_per_char == 0.25
    assert Measured(1_000, 0, 90_000.0).tokens_per_char == 2.0
    assert Measured(0, 0, 0.0).tokens_per_char == 0.25


def test_the_answer_has_room_but_not_more_than_half() -> None:
    assert input_max(65_536, 4_096) == 61_440
    assert input_max(65_536, 60_000) == 32_768


def test_before_a_request_only_what_is_too_large_is_pruned() -> None:
    assert ahead(REQUEST, 24_096, 4_096, 0.5) is None
    assert ahead(REQUEST, 24_095, 4_096, 0.5) == Prune(0.5, 19_999 / 20_000, 19_999)

"""Every kind of entry is folded in, by a function of its own."""

from typing import get_args

from ukemi.actors.state import FOLDS
from ukemi.stores.records import JournalEntry


def test_each_kind_of_entry_is_folded_in() -> None:
    assert set(FOLDS) == set(get_args(JournalEntry))

"""Rows made of entries that were encoded one by one."""

import pytest

from ukemi.stores.records import JournalEntry, Said, decode_row, encode_entry, encode_row, join_row


@pytest.mark.parametrize("count", [0, 1, 2, 15, 16, 65_535, 65_536])
def test_a_row_of_entries_encoded_by_themselves_is_the_row_of_them_all(count: int) -> None:
    entries: list[JournalEntry] = [Said(n, "x") for n in range(count)]
    row = join_row([encode_entry(entry) for entry in entries])
    assert row == encode_row(entries)
    assert decode_row(row) == entries

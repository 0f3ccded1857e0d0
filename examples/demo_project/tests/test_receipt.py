"""Receipts: totals, and that customers do not pay for each other."""

import unittest

from till.receipt import Receipt


class Totals(unittest.TestCase):
    def test_the_sum_of_all_lines(self) -> None:
        receipt = Receipt()
        receipt.add("bread", "2.40", 2)
        receipt.add("milk", "1.10", 1)
        self.assertEqual(receipt.total(), "5.90")

    def test_every_customer_begins_with_an_empty_receipt(self) -> None:
        Receipt().add("wine", "9.99", 1)
        self.assertEqual(Receipt().total(), "0.00")

    def test_no_pieces_is_an_error(self) -> None:
        with self.assertRaises(ValueError):
            Receipt().add("air", "1", 0)

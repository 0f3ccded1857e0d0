"""Amounts: prices as people write them, and back."""

import unittest

from till import money


class Parse(unittest.TestCase):
    def test_whole_euros(self) -> None:
        self.assertEqual(money.parse("12"), 1200)

    def test_two_decimals(self) -> None:
        self.assertEqual(money.parse("12.34"), 1234)

    def test_one_decimal_means_tens_of_cents(self) -> None:
        self.assertEqual(money.parse("12.5"), 1250)


class Show(unittest.TestCase):
    def test_two_decimals_always(self) -> None:
        self.assertEqual(money.show(1205), "12.05")

    def test_negative_amounts_carry_the_sign_in_front(self) -> None:
        self.assertEqual(money.show(-50), "-0.50")

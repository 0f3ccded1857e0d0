"""Discounts: the steps on both sides, and rounding."""

import unittest

from till import discount


class Steps(unittest.TestCase):
    def test_nothing_below_ten_pieces(self) -> None:
        self.assertEqual(discount.percent_for(9), 0)

    def test_five_percent_from_ten_on(self) -> None:
        self.assertEqual(discount.percent_for(10), 5)
        self.assertEqual(discount.percent_for(99), 5)

    def test_twelve_percent_from_a_hundred_on(self) -> None:
        self.assertEqual(discount.percent_for(100), 12)


class Price(unittest.TestCase):
    def test_rounded_to_the_nearest_cent(self) -> None:
        self.assertEqual(discount.price(99, 10), 940)

"""Receipts: lines of goods, and their total."""

from till import discount, money


class Receipt:
    """What one customer buys."""

    lines: list[tuple[str, int, int]] = []

    def add(self, article: str, unit_price: str, pieces: int) -> None:
        """Put a number of pieces of an article on the receipt."""
        if pieces < 1:
            raise ValueError(f"pieces={pieces} must be at least 1")
        self.lines.append((article, pieces, discount.price(money.parse(unit_price), pieces)))

    def total(self) -> str:
        """Return the sum of all lines as a price."""
        return money.show(sum(cents for _, _, cents in self.lines))

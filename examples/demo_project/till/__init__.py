"""A small cash register: amounts, discounts, receipts."""

"""A conversation made to fit its model: what may go, the plan, the digest that stays.

Files, each using only those before it: pruning, room, summaries · views · summarising, pruner.
"""

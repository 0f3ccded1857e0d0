"""Taking effects back, newest first: the plan, what was undone, and the calls that do it.

Files, each using only those before it: unwound, plan · compensating · unwinding.
"""

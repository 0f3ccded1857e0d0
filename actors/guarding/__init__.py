"""One call of the user's own code, kept like a tool call of a session.

Files, each using only those before it: guard_calls · guard · function.
"""

"""Writes that are looked at before they count: checks of the difference, then commit or abort.

Files, each using only those before it: checks · staged · files, records · commit, staging.
"""

"""Calls that wait for a person: the requests, who judges them, and what a decision does.

Files, each using only those before it: approvals · judging · approving.
"""

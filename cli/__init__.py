"""The command line and the demo.

Decides how sessions are shown and what a word typed by a person means; owns the terminal, the
signal handlers of its process and the exit status. It never changes a session but through a
runtime, and reading commands claim nothing.

Files, each using only those before it: terminal, errors · loading, stored · steps · tree, journal,
listing, answers · progress · driving, reading · arguments · app. The demo's are described in demo.
"""

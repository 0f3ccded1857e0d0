"""The same operations in other actor libraries, each in the environment of ``peers.txt``.

A module here imports one library and nothing of Ukemi: the environment holds the peers alone.
"""

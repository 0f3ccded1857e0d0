"""The same work in other libraries: actors in the environment of ``peers.txt``, agents and durable workflows
in that of ``peers_agents.txt``.

A module here imports its library, and of the benchmarks only what needs Python alone: the environments
hold the peers and nothing of Ukemi.
"""

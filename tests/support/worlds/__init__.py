"""Deterministic simulation of the whole runtime: a world from a seed, lived through to its end.

A world is drawn as plain data (`plan`): sessions and what their models say, how each attempt of each
call goes, faults of the store, kills of the process, people's habits, jumps of the wall clock. It is
lived (`lives`) on an event loop of its own (`loop`) whose clock jumps, and which runs ready tasks in an
order drawn from the seed. What is outside (`outside`) counts effects and outlives every kill, as does
what the store had committed (`storage`). While it runs and at its end the promises are checked
(`checks`); a world that breaks one is made smaller (`shrink`) and shown as a schedule (`show`).
`mutants` are builds that are broken on purpose.

    python -m worlds 1..1000 [--mutant NAME]
"""

"""A soak: mixed sessions, faults and kills at full speed for a long time; then the promises are checked.

    python -m benchmarks.soak [--minutes 30] [--seconds S] [--seed N] [--json FILE]

Two processes run the same work side by side, each on a store of its own. One is killed (SIGKILL) and
started again every few seconds. The other lives on, and its memory, descriptors and threads are
watched. What takes effect is written to a file outside of both, as another company's books would be.

Files, each using only those before it: books (the world outside) · work (agents, tools, faults) ·
child (the process that is killed) · checks (what must hold) · __main__ (both processes, and the report).
"""

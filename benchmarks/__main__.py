"""Run the benchmark that is named; without a name, say which there are."""

import sys
from importlib import import_module

MODULES = {
    "suite": "benchmarks.suite.main",
    "report": "benchmarks.suite.report",
    "soak": "benchmarks.soak.__main__",
    **{
        name: f"benchmarks.{name}"
        for name in (
            "store",
            "store_scale",
            "kernel",
            "classify",
            "storm",
            "workspace",
            "approvals",
            "payments",
            "simulate",
        )
    },
}
ABOUT = {
    "suite": "all workloads beside the limits and five peers: some 30 minutes; --quick: one",
    "report": "puts the tables of a suite's run into the documentation",
    "soak": "a process that is killed again and again, one that lives on, and the checks",
    "store": "commit rate of the SQLite store beside raw sqlite3",
    "store_scale": "the store with 10,000 sessions being driven and 1,000,000 parked",
    "kernel": "the kernel beside what it is made of, and other actor libraries",
    "classify": "what one answer of classify costs",
    "storm": "an upstream that is down for a minute, and a thousand sessions",
    "workspace": "snapshots and restores beside a shadow git repository",
    "approvals": "many sessions parked on a person's approval",
    "payments": "a payment whose process is killed in the middle, beside two peers",
    "simulate": "a thousand recorded sessions played under one policy",
}


def listed() -> str:
    """Return the names, and how one is started."""
    lines = [f"    {name:<12} {about}" for name, about in ABOUT.items()]
    return "\n".join(
        [
            "usage: python -m benchmarks NAME [OPTION ...]",
            "",
            *lines,
            "",
            "NAME --help says what it can be told.",
        ]
    )


def main() -> int:
    words = sys.argv[1:]
    if words[:1] in (["-h"], ["--help"]):
        print(listed())
        return 0
    if not words or words[0].startswith("-"):
        # The suite takes half an hour: nobody starts it by a slip.
        before = f"{words[0]} belongs behind a benchmark's name\n" if words else ""
        print(f"{before}{listed()}", file=sys.stderr)
        return 2
    name = words[0]
    if name not in MODULES:
        print(f"no benchmark {name!r}; there are: {', '.join(MODULES)}", file=sys.stderr)
        return 2
    sys.argv = [f"python -m benchmarks {name}", *words[1:]]
    status: int | None = import_module(MODULES[name]).main()
    return status or 0


if __name__ == "__main__":
    sys.exit(main())

"""Run the benchmark that is named; without a name, the suite."""

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


def main() -> int:
    named = sys.argv[1] if len(sys.argv) > 1 and not sys.argv[1].startswith("-") else None
    name = named or "suite"
    if name not in MODULES:
        print(f"no benchmark {name!r}; there are: {', '.join(MODULES)}", file=sys.stderr)
        return 2
    sys.argv = [f"python -m benchmarks {name}", *sys.argv[2 if named else 1 :]]
    status: int | None = import_module(MODULES[name]).main()
    return status or 0


if __name__ == "__main__":
    sys.exit(main())

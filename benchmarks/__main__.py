"""Run the benchmarks that are named, or all of them."""

import sys
from importlib import import_module
from pathlib import Path

NAMES = ("steps", "store", "kernel", "classify", "storm", "workspace", "approvals", "payments")


def main() -> int:
    here = Path(__file__).parent
    known = [name for name in NAMES if (here / f"{name}.py").exists()]
    named = [word for word in sys.argv[1:2] if not word.startswith("-")]
    if unknown := [name for name in named if name not in known]:
        print(f"no benchmark {unknown[0]!r}; there are: {', '.join(known)}", file=sys.stderr)
        return 2
    words = sys.argv[1 + len(named) :]
    for name in named or known:
        print(f"\n== {name}\n", flush=True)
        sys.argv = [f"python -m benchmarks {name}", *words]
        import_module(f"benchmarks.{name}").main()
    return 0


if __name__ == "__main__":
    sys.exit(main())

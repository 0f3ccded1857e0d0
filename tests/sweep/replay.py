"""Run one point of the kill sweep again: ``python tests/sweep/replay.py POINT:K [POINT:K] ...``.

The folder with the store and all logs but the server's book is kept and named.
"""

import argparse
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))

from sweep_run import Plan, run
from sweep_server import effect_server


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kills", nargs="*", metavar="POINT:K")
    parser.add_argument("--normal", action="store_true")
    parser.add_argument("--uvloop", action="store_true")
    given = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="sweep-"))
    with effect_server() as port:
        verdict = run(Plan(tuple(given.kills), given.normal, given.uvloop), folder, port)
    for problem in verdict.problems:
        print(problem)
    print(
        f"{len(verdict.problems)} problems, {verdict.kills} kills, {verdict.effects} effects,"
        f" {verdict.doubts} in doubt; kept in {folder}"
    )
    return 1 if verdict.problems else 0


if __name__ == "__main__":
    sys.exit(main())

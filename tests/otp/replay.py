"""Replay OTP scenarios on our supervisors.

Prints a line per difference and, last, "matched X of Y, D on purpose". Ends with 0 if all others match,
1 if not, 2 if no case was found.
"""

import argparse
import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1] / "support")]

from otp_replay import main


def paths(arguments: list[str]) -> list[str]:
    """Return the paths that were typed; each is there."""
    parser = argparse.ArgumentParser(
        prog="python tests/otp/replay.py",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "paths", metavar="PATH", nargs="+", help="a case file, or a folder searched recursively"
    )
    found: list[str] = parser.parse_args(arguments).paths
    for each in found:
        if not Path(each).exists():
            parser.error(f"there is no {each!r}")
    return found


if __name__ == "__main__":
    sys.exit(main(paths(sys.argv[1:])))

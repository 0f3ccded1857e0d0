"""Replay OTP scenarios on our supervisors: ``python tests/otp/replay.py PATH ...``.

PATH is a case file, or a folder that is searched recursively. Prints a line per difference and, last,
``matched X of Y, D on purpose``. Ends with 0 if all others match, 1 if not, 2 if no case was found.
"""

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1] / "support")]

from otp_replay import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

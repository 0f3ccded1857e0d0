"""Play scenarios, compare them with OTP's traces, and say what differs."""

import json
import sys
import traceback
from pathlib import Path

from otp_compare import Case, Step, compare, load_cases
from otp_player import play
from virtual_time import run_virtual

# By name, each with its reason: where we differ from OTP on purpose.
DEVIATIONS: dict[str, str] = json.loads(
    (Path(__file__).resolve().parent.parent / "otp" / "deviations.json").read_text()
)
LEFT_OUT = {"quirk", "process-signal"}


def counted(case: Case) -> bool:
    return not LEFT_OUT & set(case.get("tags", ()))


def run(case: Case, backend: str = "asyncio") -> list[Step]:
    return run_virtual(play, case, backend=backend)


def differences(case: Case) -> tuple[list[str], int]:
    """Return what differs at level 1, and the highest level that is met."""
    try:
        trace = run(case)
    except Exception as error:  # noqa: BLE001
        # Boundary: a case that cannot even be played is a difference, not the end of the replay.
        last = traceback.extract_tb(error.__traceback__)[-1]
        return [f"{case['case']}: {error!r} at {last.filename}:{last.lineno}"], 0
    problems = compare(case, trace, level=1)
    met = next((level for level in (3, 2) if not compare(case, trace, level=level)), 1)
    return problems, 0 if problems else met


def main(arguments: list[str]) -> int:
    cases = [case for case in load_cases(map(Path, arguments)) if counted(case)]
    if not cases:
        print(f"no case found in {' '.join(arguments) or 'no path'}", file=sys.stderr)
        return 2
    met: list[int] = []
    deviating = 0
    for case in cases:
        name = str(case["case"])
        problems, level = differences(case)
        if name in DEVIATIONS:
            deviating += 1
            print(f"{name}: on purpose: {DEVIATIONS[name]}")
            continue
        met.append(level)
        for problem in problems:
            print(problem)
    for level in (2, 3):
        print(f"level {level}: {sum(1 for each in met if each >= level)} of {len(cases)}")
    matched = sum(1 for each in met if each)
    print(f"matched {matched} of {len(cases)}, {deviating} on purpose")
    return 0 if matched + deviating == len(cases) else 1

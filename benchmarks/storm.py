"""An upstream is down for a minute and a thousand sessions meet it, under virtual time.

Prints what the upstream is asked while it is down, the largest number of requests in a second after
that, and when the last session is done. The first two rows are the runtime; the others are curves
of independent callers.
"""

import argparse
import sys
import time
from functools import partial
from pathlib import Path

import anyio
import trio.testing

from ukemi import Policy, RetryPolicy
from ukemi.supervisor.policy_limits import BreakerPolicy, RetryBudgetPolicy

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "support"))

from storm_of_sessions import (
    Storm,
    Waits,
    curve_storm,
    exponential,
    full_jitter,
    runtime_storm,
    stamina_defaults,
    tenacity_defaults,
)

ALONE = Policy(
    transient=RetryPolicy(attempts_max=None),
    breaker=BreakerPolicy(failures_min=None),
    retry_budget=RetryBudgetPolicy(share_max=None),
)
CURVES: dict[str, Waits] = {
    "exponential 1 to 30 s, no jitter, no end": exponential,
    "tenacity wait_random_exponential(max=30), no end": full_jitter,
    "stamina defaults: 10 attempts in 45 s": stamina_defaults,
    "tenacity defaults: no wait, no end": tenacity_defaults,
}


def virtual(sessions: int, down_s: float, policy: Policy) -> Storm:
    clock = trio.testing.MockClock(autojump_threshold=0)
    run = partial(runtime_storm, sessions, down_s, policy)
    return anyio.run(run, backend="trio", backend_options={"clock": clock})


def row(name: str, storm: Storm, took_s: float) -> str:
    last = f"{storm.last_s:6.1f}" if storm.done else "     -"
    return f"{name:<50} {storm.during:>9} {storm.peak:>6} {storm.done:>6} {last}   ({took_s:.1f} s)"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sessions", type=int, default=1000)
    parser.add_argument("--down", type=float, default=60.0, help="seconds of outage")
    options = parser.parse_args()
    print(f"{options.sessions} sessions, upstream down for {options.down:g} s")
    print(f"{'':<50} {'during':>9} {'peak/s':>6} {'done':>6} {'last s':>6}")
    for name, policy in (("ukemi, default policy", Policy()), ("ukemi, backoff alone", ALONE)):
        began = time.perf_counter()
        storm = virtual(options.sessions, options.down, policy)
        print(row(name, storm, time.perf_counter() - began), flush=True)
    for name, waits in CURVES.items():
        began = time.perf_counter()
        storm = curve_storm(options.sessions, options.down, waits)
        print(row(name, storm, time.perf_counter() - began), flush=True)


if __name__ == "__main__":
    main()

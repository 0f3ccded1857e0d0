"""A thousand sessions of fifty steps each are played under one policy, in one world.

Prints the seconds of processor time for learning from the record and for one run, the calls that were played and what
one of them costs. Each step is a request to the model and a call; upstreams are down now and then.
"""

import argparse
import random
import time

from ukemi import Policy, Traits
from ukemi.actors.simulating.learning import Learned, learned_from
from ukemi.actors.simulating.measures import measured
from ukemi.actors.simulating.playing import play
from ukemi.actors.simulating.seen import Asked, Seen, Told, Trace
from ukemi.actors.simulating.traces import Record
from ukemi.actors.simulating.worlds import World
from ukemi.supervisor.errors import ErrorClass

EVERY_S = 300.0
DOWN_S = 20.0
MODEL = "model bench"
TOOLS = ("stock", "price", "order")


def record(number: int, steps: int, start: float) -> Record:
    """Return one recorded session: fifty calls one behind the other, some of which met an outage."""
    chance = random.Random(number)
    at, asked, seen = start, list[Asked](), list[Seen]()
    for n in range(steps):
        for subject, is_model, took_s in (
            (MODEL, True, chance.uniform(0.5, 2.0)),
            (chance.choice(TOOLS), False, chance.uniform(0.05, 0.4)),
        ):
            while not is_model and at % EVERY_S < DOWN_S:
                seen.append(Seen(subject, at, 0.05, "down", ErrorClass.TRANSIENT))
                at += chance.uniform(1.0, 4.0)
            seen.append(Seen(subject, at, took_s, "up"))
            asked.append(Asked(subject, n + 1, is_model, took_s=took_s, tokens=100 * is_model))
            at += took_s
    trace = Trace(
        session_id=f"s{number}",
        agent="bench",
        at=start,
        steps=tuple(asked),
        end="completed",
        outcome="completed",
        duration_s=at - start,
        limits={"seconds": 3600.0, "steps": 100},
    )
    told = {name: Told("shop", Traits(safe_to_retry=True), writes=False) for name in TOOLS}
    return Record(trace, tuple(seen), told)


def recorded(sessions: int, steps: int) -> list[Record]:
    """Return as many sessions, which start over an hour."""
    starts = random.Random(0)
    return [record(number, steps, starts.uniform(0.0, 3600.0)) for number in range(sessions)]


def run(known: Learned, seed: int) -> tuple[int, float]:
    """Return the calls of one run, and the seconds of processor time it took."""
    began = time.process_time()
    numbers = measured(play(World(known, seed), Policy())).numbers
    return int(numbers["calls"]), time.process_time() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sessions", type=int, default=1000)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    records = recorded(options.sessions, options.steps)
    began = time.process_time()
    known = learned_from(records)
    learned_s = time.process_time() - began
    print(
        f"{options.sessions} sessions of {options.steps} steps; processor time, best of {options.runs}"
    )
    calls, took_s = min(
        (run(known, seed) for seed in range(options.runs)), key=lambda each: each[1]
    )
    print(f"{'learning from the record':<30} {learned_s:8.2f} s")
    print(f"{'one run':<30} {took_s:8.2f} s   {calls} calls, {took_s / calls * 1e6:.0f} us each")


if __name__ == "__main__":
    main()

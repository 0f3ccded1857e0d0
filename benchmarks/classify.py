"""What one answer of `classify` costs, in microseconds, over the labelled errors.

    python -m benchmarks classify [--rounds 7] [--json]

Every error is classified in turn, round after round; its figure is the best of its rounds, so that
other work on the machine does not count. Live exceptions are measured beside their stored forms:
they are read first, and the cost of reading is in the figure.
"""

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from ukemi.supervisor.classify import classify

CORPUS = Path(__file__).resolve().parent.parent / "tests" / "data" / "errors" / "errors.jsonl"


class Figures(msgspec.Struct):
    """Microseconds over the errors of one kind."""

    errors: int
    median_us: float
    p90_us: float
    max_us: float


class StatusError(Exception):
    """As an SDK raises it for an HTTP answer."""

    def __init__(self, status_code: int, body: dict[str, Any]) -> None:
        super().__init__(f"Error code: {status_code} - {body}")
        self.status_code = status_code
        self.body = body


def live() -> list[BaseException]:
    """Some exceptions of every common kind, with causes and without."""
    wrapped = RuntimeError("lookup failed")
    wrapped.__cause__ = ConnectionRefusedError(111, "Connection refused")
    return [
        StatusError(429, {"error": {"code": "rate_limit_exceeded", "message": "slow down"}}),
        StatusError(500, {"message": "the stock of A-17 is blocked by quality control"}),
        TimeoutError(),
        KeyError("total"),
        FileNotFoundError(2, "No such file or directory", "x"),
        ValueError("unexpected response"),
        RuntimeError("库存不足"),
        ExceptionGroup("g", [TimeoutError(), ValueError("x")]),
        wrapped,
    ]


def measure(calls: Sequence[Callable[[], object]], rounds: int) -> Figures:
    """Time each call ``rounds`` times and keep its best."""
    best = [float("inf")] * len(calls)
    for _ in range(rounds):
        for number, call in enumerate(calls):
            start = time.perf_counter()
            call()
            best[number] = min(best[number], time.perf_counter() - start)
    ordered = sorted(each * 1e6 for each in best)
    p90 = ordered[int(len(ordered) * 0.9)]
    return Figures(len(ordered), statistics.median(ordered), p90, ordered[-1])


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="What one answer of classify costs.")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    figures = {name: measure(calls, options.rounds) for name, calls in contenders().items()}
    if options.json:
        print(json.dumps({name: msgspec.to_builtins(each) for name, each in figures.items()}))
        return 0
    print(f"{'errors':12}{'number':>8}{'median us':>12}{'p90 us':>10}{'max us':>10}")
    for name, each in figures.items():
        print(
            f"{name:12}{each.errors:8}{each.median_us:12.1f}{each.p90_us:10.1f}{each.max_us:10.1f}"
        )
    return 0


def contenders() -> dict[str, list[Callable[[], object]]]:
    """The calls to time, by the form of the error, and all of them together."""
    calls: dict[str, list[Callable[[], object]]] = {"all": []}
    for line in CORPUS.read_text("utf-8").splitlines():
        given = json.loads(line)["input"]
        call = _call(given)
        calls["all"].append(call)
        calls.setdefault(given["form"], []).append(call)
    calls["live"] = [_call(error) for error in live()]
    return calls


def _call(error: Any) -> Callable[[], object]:
    stage: Any = "call" if isinstance(error, BaseException) else error["stage"]
    return lambda: classify(error, stage=stage, received_at=1792051200.0)


if __name__ == "__main__":
    sys.exit(main())

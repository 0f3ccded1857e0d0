"""A payment whose process is killed in the middle of it and started again: LangGraph, DBOS and Ukemi.

    python -m benchmarks payments [--json FILE] [--no-peers] [--killed behind | before]

Each row is an order in a fresh store. A worker process pays it in one durable step and dies by SIGKILL
inside that step, before the charge or behind it; a second worker resumes. A server outside counts the
charges. Every contender is used as its own documentation says; peers are installed into an
environment of their own at the first run.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from .cells import machine, table
from .json_file import add_json_file
from .payments_bank import BEFORE, BEHIND, Bank, bank
from .peers.environment import build

ROOT = Path(__file__).resolve().parent.parent
WORKER_S_MAX = 120.0
PEERS = ("LangGraph", "DBOS")
MOMENTS = (BEHIND, BEFORE)


class Contender(NamedTuple):
    """A way to pay: whose, with which help of the bank, and the module that does it."""

    name: str
    how: str
    module: str

    @property
    def is_peer(self) -> bool:
        return self.name in PEERS


CONTENDERS = (
    Contender("LangGraph", "plain", "benchmarks.peers.langgraph_payments"),
    Contender("LangGraph", "key", "benchmarks.peers.langgraph_payments"),
    Contender("DBOS", "plain", "benchmarks.peers.dbos_payments"),
    Contender("DBOS", "key", "benchmarks.peers.dbos_payments"),
    Contender("Ukemi", "plain", "benchmarks.payments_ukemi"),
    Contender("Ukemi", "probe", "benchmarks.payments_ukemi"),
    Contender("Ukemi", "key", "benchmarks.payments_ukemi"),
)

HOW = {
    "plain": "nothing",
    "probe": "it can be asked",
    "key": "it takes keys",
}
"""What the bank offers, as the table calls it."""


class Row(msgspec.Struct, frozen=True):
    """One order: when its process died, how often it was charged, and what its caller was told then."""

    contender: str
    bank: str
    killed: str
    charges: int | None
    told: str
    doubt: bool = False


def rows(peers: Path | None, moments: Sequence[str]) -> Iterator[Row]:
    """Pay one order after the other.

    Args:
        peers: the interpreter that has them.
        moments: at which processes are killed.
    """
    for killed in moments:
        for each in CONTENDERS:
            python = peers if each.is_peer else Path(sys.executable)
            if python is None:
                yield Row(each.name, HOW[each.how], killed, None, "not installed")
                continue
            with bank() as opened, tempfile.TemporaryDirectory() as folder:
                yield _row(each, python, opened, Path(folder) / "store.db", killed)


def _row(each: Contender, python: Path, opened: Bank, store: Path, killed: str) -> Row:
    order = f"order-{killed}"
    words = [str(python), "-m", each.module, str(store), opened.url, order, each.how]
    first = _worker([*words, killed])
    if first.returncode >= 0:
        raise RuntimeError(f"{each.name}, {each.how} was not killed: {first.stderr[-2000:]}")
    again = _worker([*words, "again"])
    charges = len(opened.charges)
    if again.returncode != 0:
        last = again.stderr.strip().splitlines()[-1:]
        return Row(each.name, HOW[each.how], killed, charges, f"error: {' '.join(last)}")
    said = json.loads(again.stdout.strip().splitlines()[-1])
    doubt = bool(said.get("doubt", False))
    return Row(each.name, HOW[each.how], killed, charges, said["told"], doubt)


def _worker(command: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, capture_output=True, text=True, cwd=ROOT, timeout=WORKER_S_MAX, check=False
    )


def shown(found: Sequence[Row]) -> str:
    """Return the table."""
    return table(
        ("killed", "contender", "the bank", "charges", "the caller is told"),
        [
            (
                f"{each.killed} the charge",
                each.contender,
                each.bank,
                "-" if each.charges is None else str(each.charges),
                each.told,
            )
            for each in found
        ],
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks payments", description=__doc__)
    add_json_file(parser, "write the rows to this file")
    parser.add_argument("--no-peers", action="store_true", help="without LangGraph and DBOS")
    parser.add_argument("--killed", choices=MOMENTS, help="at this moment alone")
    given = parser.parse_args()
    peers = None if given.no_peers else build("peers_agents")
    found = list(rows(peers, MOMENTS if given.killed is None else (given.killed,)))
    print(shown(found))
    if given.json is not None:
        given.json.write_bytes(msgspec.json.encode({"machine": machine(), "rows": found}))
        print(f"\nwritten to {given.json}", file=sys.stderr)


if __name__ == "__main__":
    main()

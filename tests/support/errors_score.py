"""Score answers against labelled errors: how many are right, and which mistakes are dangerous."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from ukemi.supervisor.classify import classify
from ukemi.supervisor.failure import Failure

DATA = Path(__file__).resolve().parent.parent / "data" / "errors"
RETRIED = {"transient", "rate_limited"}
CONCLUDED = {"business_rejected", "content_refused"}
WAIT_TOLERANCE_S = 0.05

Record = dict[str, Any]


class Score(Struct):
    """Counts over all records; ``dangerous`` names the records by kind of mistake."""

    records: int = 0
    accepted: int = 0
    clear: int = 0
    clear_accepted: int = 0
    hits: Counter[str] = field(default_factory=Counter[str])
    missed: Counter[str] = field(default_factory=Counter[str])
    wrongly: Counter[str] = field(default_factory=Counter[str])
    waits: Counter[str] = field(default_factory=Counter[str])
    dangerous: list[str] = field(default_factory=list[str])
    wrong: list[str] = field(default_factory=list[str])

    @property
    def macro_f1(self) -> float:
        """The mean over the classes of F1, by the label alone."""
        classes = self.hits.keys() | self.missed.keys()
        return sum(self._f1(name) for name in classes) / len(classes)

    def _f1(self, name: str) -> float:
        hits = self.hits[name]
        return 2 * hits / (2 * hits + self.missed[name] + self.wrongly[name])


def records(name: str = "errors.jsonl") -> list[Record]:
    """The labelled errors."""
    return [json.loads(line) for line in (DATA / name).read_text("utf-8").splitlines()]


def answer(record: Record) -> Failure:
    """What is answered for the input of a record; the label is not shown."""
    given = record["input"]
    return classify(given, stage=given["stage"], received_at=given["received_at"])


def score(labelled: list[Record]) -> Score:
    """Compare the answers with the labels."""
    total = Score()
    for record in labelled:
        _count(total, record, answer(record))
    return total


def _count(total: Score, record: Record, failure: Failure) -> None:
    expected = record["expected"]
    wanted, got = expected["class"], str(failure.error_class)
    accepted = {wanted, *expected["also_ok"]}
    total.records += 1
    total.accepted += got in accepted
    total.clear += not record["ambiguous"]
    total.clear_accepted += not record["ambiguous"] and got in accepted
    (total.hits if got == wanted else total.missed)[wanted] += 1
    if got != wanted:
        total.wrongly[got] += 1
    where = f"{record['id']} {record['kind']}: {wanted} -> {got}"
    if got not in accepted:
        total.wrong.append(where)
    total.dangerous += [f"{kind}: {where}" for kind in mistakes(accepted, wanted, got)]
    ran = expected["may_have_executed"]
    if ran in ("maybe", "yes") and failure.may_have_executed == "no":
        total.dangerous.append(f"said not executed: {where}")
    if wanted in RETRIED:
        _wait(total, expected, failure.retry_after)


def mistakes(accepted: set[str], wanted: str, got: str) -> list[str]:
    """The kinds of dangerous mistake that an answer makes."""
    if got in accepted:
        return []
    found: list[str] = []
    if got in RETRIED and wanted == "in_doubt_timeout":
        found.append("in doubt, repeated blindly")
    elif got in RETRIED and not accepted & RETRIED:
        found.append("not retryable, retried")
    if wanted in CONCLUDED and got in ("invalid_argument", "context_overflow"):
        found.append("a rule handed to the model to work round")
    if wanted == "permission_denied" and got in ("invalid_argument", "business_rejected"):
        found.append("rights or money reported as something else")
    return found


def _wait(total: Score, expected: Record, wait: float | None) -> None:
    stated = expected["retry_after"]
    accepted = [each for each in (stated, *expected["retry_after_ok"]) if each is not None]
    right = wait is not None and any(abs(wait - each) <= WAIT_TOLERANCE_S for each in accepted)
    if stated is not None:
        total.waits["stated"] += 1
        total.waits["exact"] += right
    elif wait is not None and not right:
        total.waits["invented"] += 1

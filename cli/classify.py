"""Errors as JSON lines in, their classes as JSON lines out.

A line is ``{"id": ..., "input": {...}}`` with one of the four stored forms as input; the answer is
``{"id", "class", "retry_after", "fields", "may_have_executed"}``. A line that cannot be read is
reported with its number and does not stop the rest.
"""

from collections.abc import Iterable
from typing import Any, TextIO

import msgspec

from ..supervisor.classify import Classifier
from ..supervisor.classifying.user import UserRules
from ..supervisor.failure import Stage


class _Line(msgspec.Struct, frozen=True):
    """One line, as far as its shape is checked; ids are passed through as they are."""

    input: dict[str, Any]
    id: Any = None


class _When(msgspec.Struct, frozen=True):
    """What the runtime knows of an error beside the error itself."""

    stage: Stage = "call"
    received_at: float | None = None  # epoch seconds


def classify_lines(
    lines: Iterable[str], out: TextIO, err: TextIO, rules: UserRules | None = None
) -> int:
    """Write the class of every error in ``lines``; return how many lines could not be read.

    Args:
        lines: empty ones are passed over, but counted.
        rules: the user's own, from `read_rules`.
    """
    classifier = Classifier(rules or UserRules())
    bad = 0
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            answer = classify_line(line, classifier)
        except ValueError as error:  # of an unknown form; msgspec's errors are ValueErrors too
            bad += 1
            err.write(f"line {number}: {error}\n")
            continue
        out.write(answer + "\n")
    return bad


def classify_line(line: str, classifier: Classifier) -> str:
    """Classify one line and give the line to write.

    Raises:
        ValueError: the line is not JSON, or not an error in one of the stored forms.
    """
    record = msgspec.json.decode(line, type=_Line)
    when = msgspec.convert(record.input, _When)
    failure = classifier(record.input, stage=when.stage, received_at=when.received_at)
    answer = {
        "id": record.id,
        "class": failure.error_class,
        "retry_after": failure.retry_after,
        "fields": failure.fields,
        "may_have_executed": failure.may_have_executed,
    }
    return msgspec.json.encode(answer).decode()

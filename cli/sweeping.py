"""One key of a policy over a range of values: ``transient.attempts_max=1..7``. Pure."""

import math

from msgspec import Struct

from ..supervisor.errors import UsageError
from ..supervisor.policy import Policy
from ..supervisor.policy_file import changed

VALUES_MAX = 50

MOST = f"at most {VALUES_MAX}, with a larger step"

Value = int | float | str | bool | None

FORM = "write KEY=VALUES, such as transient.attempts_max=1..7, breaker.open_s=5,10,30 or waits.park_after_s=10..60..10"


class Sweep(Struct, frozen=True):
    """The key, and a policy for each of its values, in order."""

    key: str
    values: tuple[Value, ...]
    policies: tuple[tuple[str, Policy], ...]


def sweep_of(word: str, policy: Policy) -> Sweep:
    """Return the policies that a sweep tries.

    Raises:
        UsageError: the word has another form, there is no such key, or a value is impossible.
    """
    key, equals, values = word.partition("=")
    if not equals or not key.strip() or not values.strip():
        raise UsageError(f"--sweep {word!r}: {FORM}")
    try:
        each = (value for part in values.split(",") for value in _values(part.strip(), word))
        found = {shown(value): value for value in each}
        if len(found) > VALUES_MAX:
            raise UsageError(f"--sweep {word!r}: {len(found)} values; {MOST}")
        policies = tuple((name, changed(policy, key.strip(), it)) for name, it in found.items())
    except UsageError as error:
        said = str(error)
        raise UsageError(
            said if said.startswith("--sweep") else f"--sweep {word!r}: {said}"
        ) from error
    return Sweep(key.strip(), tuple(found.values()), policies)


def shown(value: Value) -> str:
    """Return a value as it is written in a policy."""
    if value is None:
        return "none"
    return str(value).lower() if isinstance(value, bool) else f"{value}"


def _values(part: str, word: str) -> list[Value]:
    """Return the values of ``3``, ``0.5``, ``none``, ``1..7`` or ``10..60..10``."""
    ends = part.split("..")
    if len(ends) == 1:
        return [_value(part, word)]
    if len(ends) > 3:
        raise UsageError(f"--sweep {word!r}: {part!r} is no range; {FORM}")
    numbers = [_number(each, word) for each in ends]
    first, last = numbers[0], numbers[1]
    step = numbers[2] if len(numbers) == 3 else 1
    if step <= 0 or last < first:
        raise UsageError(
            f"--sweep {word!r}: {part!r} leads nowhere; from the least to the most, by more than 0"
        )
    many = last - first > step * VALUES_MAX  # before a division that may be out of all range
    count = 0 if many else int((last - first) / step + 1e-9) + 1
    if many or count > VALUES_MAX:
        raise UsageError(f"--sweep {word!r}: {part!r} has too many values; {MOST}")
    values = [first + number * step for number in range(count)]
    return [value if isinstance(value, int) else round(value, 9) for value in values]


def _number(text: str, word: str) -> int | float:
    value = _value(text.strip(), word)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise UsageError(f"--sweep {word!r}: {text!r} is no number; {FORM}")
    return value


def _value(text: str, word: str) -> Value:
    words: dict[str, Value] = {"none": None, "true": True, "false": False}
    if text in words:
        return words[text]
    for kind in (int, float):
        try:
            value = kind(text)
        except ValueError:
            continue
        if isinstance(value, float) and not math.isfinite(value):
            break
        return value
    if text.replace("_", "").isalpha():
        return text
    raise UsageError(f"--sweep {word!r}: {text!r} is no value; {FORM}")

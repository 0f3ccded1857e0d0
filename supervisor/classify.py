"""What kind of failure an error is: the door to `classifying`.

The tables behind it take long to load, and a process that only reads a store needs none of them. They
load with the first error; a runtime loads them when it is made, so that no session waits for them.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .classifying.answers import is_declared, is_express
from .classifying.values import is_mapping, mapping
from .failure import Failure, Stage, Traits

if TYPE_CHECKING:
    from .classifying.user import UserRules


def classify(
    error: BaseException | Mapping[str, Any],
    *,
    traits: Traits | None = None,
    stage: Stage = "call",
    received_at: float | None = None,
) -> Failure:
    """Say what kind of failure an exception, or the stored form of an error, is.

    Args:
        error: an exception, or a mapping with ``form`` (exception, http, text, tool_result).
        traits: the marks of the call; nothing a class is concluded from yet.
        stage: ``args`` while the model's arguments are checked and nothing was sent, ``response``
            while an answer that had arrived is read.
        received_at: epoch seconds at which the error arrived, for waits given as dates.

    Raises:
        ValueError: a mapping has no known ``form``.
    """
    from .classifying.classifier import failure_of

    return failure_of(error, stage, received_at)


class Classifier:
    """`classify` with the user's own rules, which speak before all but explicit errors.

    Args:
        rules: from `read_rules`; None for none.
        now: tells the wall clock's epoch seconds, which stand for the time of arrival where none is
            given: a wait may be stated as a date, by a server that does not say what time it has.
    """

    def __init__(
        self, rules: "UserRules | None" = None, now: Callable[[], float] | None = None
    ) -> None:
        self.rules = rules
        self._now = now

    def __call__(
        self,
        error: BaseException | Mapping[str, Any],
        *,
        traits: Traits | None = None,
        stage: Stage = "call",
        received_at: float | None = None,
    ) -> Failure:
        """Say what kind of failure an error is; as `classify`."""
        from .classifying.classifier import failure_of

        if received_at is None and self._now is not None:
            received_at = self._now()
        return failure_of(error, stage, received_at, self.rules)


def read_rules(path: str | Path) -> "UserRules":
    """Read a file of the user's own rules (`classifying.user` has the keys).

    Raises:
        UsageError: the file cannot be read, is not TOML, or a rule in it is not one; the message
            names the file, the rule by its number, and the key.
    """
    from .classifying import user

    return user.read_rules(path)


def declared_failure(value: object) -> Failure | None:
    """Recognise a failure in a normal return: ``ok: false``, an error code, an exit status.

    None for everything that does not say so itself.
    """
    if not is_mapping(value) or not is_declared(mapping(value)):
        return None
    record = mapping(value)
    exits = (record.get(name) for name in ("returncode", "exit_code", "exitcode", "exit_status"))
    status = next((each for each in exits if isinstance(each, int)), None)
    if status is not None:
        attrs = {**record, "returncode": status}
        return classify({"form": "exception", "exception": {"type": "exit", "attrs": attrs}})
    return classify({"form": "http", "status": 200, "headers": {}, "body": record})


def expressly_failed(value: object) -> bool:
    """Whether a normal return says that it failed in as many words, whatever the reason.

    A code alone, which `declared_failure` looks up too, may as well be that of an order.
    """
    return is_mapping(value) and is_express(mapping(value))

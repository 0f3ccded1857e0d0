"""Answers that are none: cut off at the limit, without a word, or announcing a call that never came.

None of them is taken for the end of the task. The model is told and asked again, a few times.
"""

from typing import Literal

from .asking import Asking
from .handover.dossier import Trouble
from .steps import Finish

ANSWERS_MAX = 3
"""Answers in a row that are none before a person is asked."""

_CUT = (
    "Your answer was cut off at the output limit and was not used. "
    "Give the whole answer again, shorter."
)
_EMPTY = (
    "Your last message held no text and no call, so it is no answer. "
    "Go on with the task, or say in words how it ended."
)
_NO_CALL = (
    "Your last message announced a call, and none arrived, so nothing was run. "
    "Send the call again, or say in words how the task ended."
)


class Unanswered:
    """Asks again in one life of a session; how often in a row is counted."""

    def __init__(self, asking: Asking) -> None:
        self._asking = asking
        self._in_a_row = 0

    def look(self, step: Finish) -> Trouble | Literal["asked"] | None:
        """Ask again where this is no answer; the trouble it is, where that was in vain before."""
        match step:
            case Finish(finish="length"):
                told, about, how = _CUT, "answer cut", "were cut off at the output limit"
            case Finish(finish="tool_calls"):
                told, about, how = _NO_CALL, "call missing", "announced a call that never came"
            case Finish(finish="stop") if not step.text.strip():
                told, about, how = _EMPTY, "answer empty", "held neither text nor a call"
            case _:
                return None
        self._in_a_row += 1
        if self._in_a_row > ANSWERS_MAX:
            reason = "context" if step.finish == "length" else "planning"
            return Trouble(
                reason=reason, detail=f"{self._in_a_row} answers in a row {how}", step="answer"
            )
        self._asking.note(told, about=about)
        return "asked"

"""Answers that are none: cut off at the limit, without a word, or with a call that is only text.

None of them is taken for the end of the task. The model is told and asked again, a few times. A call
that came as text is not made: what was meant by it is a guess.
"""

import json
import re
from collections.abc import Container
from typing import Any, Literal, cast

from ..supervisor.patterns import lazy_pattern
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
_AS_TEXT = (
    "Your last message holds a call as text, so nothing was run. "
    "Send it as a call, or say in words how the task ended."
)


class Unanswered:
    """Asks again in one life of a session; how often in a row is counted.

    Args:
        tools: names of the agent's tools.
    """

    def __init__(self, asking: Asking, tools: Container[str]) -> None:
        self._asking = asking
        self._tools = tools
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
            case Finish(finish="stop") if written_call(step.text, self._tools):
                told, about, how = _AS_TEXT, "call as text", "held a call as text"
            case _:
                return None
        self._in_a_row += 1
        if self._in_a_row > ANSWERS_MAX:
            detail = f"{self._in_a_row} answers in a row {how}"
            if step.finish == "length":
                return Trouble(reason="context", detail=detail, step="answer")
            return Trouble(reason="planning", detail=detail, step="answer")
        self._asking.note(told, about=about)
        return "asked"


_FENCE = lazy_pattern(r"^```[a-z]*[ \t]*\n(.*)```$", re.DOTALL)
_TAG = "<tool_call>"
_TAGS_MAX = 16
_MARKUP = lazy_pattern(
    r"^[ \t]*<(?:\w+:)?(?:invoke|function|tool_invocation)(?:\s+name\s*=\s*[\"']|=)([\w-]+)",
    re.MULTILINE,
)
"""How models write calls that their server did not recognise; beside `_TAG`, behind which is JSON."""
_CODE = lazy_pattern(r"```.*?(?:```|$)|`[^`\n]*`", re.DOTALL)


def written_call(text: str, tools: Container[str]) -> bool:
    """Tell whether a text is a call of one of these tools, or ends in the markup of one.

    What stands in code beside other text is shown, not meant.
    """
    if "{" not in text and "<" not in text:
        return False
    bare = text.strip()
    fenced = _FENCE.match(bare)
    if _is_call(fenced[1].strip() if fenced else bare, tools):
        return True
    prose = _CODE.sub("", bare)
    tagged = prose.split(_TAG, _TAGS_MAX)[1:]
    if any(_is_call(part.strip(), tools, whole=False) for part in tagged):
        return True
    return any(hit[1] in tools for hit in _MARKUP.finditer(prose))


def _is_call(text: str, tools: Container[str], *, whole: bool = True) -> bool:
    """Tell whether this is the JSON of a call, or of several: a name, and arguments.

    Args:
        whole: nothing may stand behind it.
    """
    if not text.startswith(("{", "[")):
        return False
    held: Any
    try:
        held, end = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return False
    if whole and end < len(text):
        return False
    if isinstance(held, list):
        held = next(iter(cast("list[object]", held)), None)
    if not isinstance(held, dict):
        return False
    call = cast("dict[str, object]", held)
    inner = call.get("function")
    if isinstance(inner, dict):
        call = cast("dict[str, object]", inner)
    name = call.get("name")
    return (
        isinstance(name, str)
        and name in tools
        and bool(call.keys() & {"arguments", "parameters", "input"})
    )

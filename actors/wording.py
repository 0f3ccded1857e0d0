"""What the model is told when a call has no ordinary result, and texts made fit to store. Pure."""

import msgspec

from ..stores.records import ToolCall
from ..supervisor.decide import Conclude, Correct, Directive, HandOver
from ..supervisor.failure import Failure
from .secrets import Mask
from .text import clean, is_hostile

INTERRUPTED = (
    "interrupted, effect unknown: the call was cut off and may or may not have taken effect. "
    "It is not repeated. A person has been asked."
)


def not_started(why: str) -> str:
    """Return the result of a call whose body did not run."""
    return f"not started: {why}"


def failed(failure: Failure, directive: Directive) -> str:
    """Return what the model is told of a failure, and what it may do now."""
    parts = [f"error ({failure.error_class}): {failure.message or failure.type_name}"]
    if failure.fields:
        parts.append(f"Arguments at fault: {', '.join(failure.fields)}.")
    parts.append(_advice(directive))
    return "\n".join(part for part in parts if part)


def _advice(directive: Directive) -> str:
    match directive:
        case Correct(None):
            return "Correct the arguments and call again."
        case Correct(left):
            return f"Correct the arguments and call again; {left} corrections are left."
        case Conclude():
            return (
                "This was refused for good. Do not try it again or work round it; "
                'report "blocked, because ..." as your answer.'
            )
        case HandOver(reason):
            return f"A person has been asked ({reason})."
        case _:
            return ""


def cleaned(failure: Failure, mask: Mask) -> Failure:
    """Take secrets, and what cannot be stored, out of a failure's text."""
    return msgspec.structs.replace(
        failure,
        message=mask(encodable(failure.message)),
        traceback=mask(encodable(failure.traceback)),
    )


def encodable(text: str) -> str:
    """Return the text with what breaks stores and protocols made visible."""
    return clean(text).text if is_hostile(text) else text


def encodable_call(call: ToolCall) -> ToolCall:
    """Return the call as it is, or refused where its arguments cannot be stored."""
    if not (is_hostile(call.arguments) or is_hostile(call.name) or is_hostile(call.id)):
        return call
    problem = "the arguments hold characters that no text can hold; send them escaped"
    return ToolCall(clean(call.id).text, clean(call.name).text, "{}", call.problem or problem)

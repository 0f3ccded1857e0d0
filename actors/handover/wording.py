"""What the model is told when a call has no ordinary result, and texts made fit to store. Pure."""

from datetime import UTC, datetime
from typing import assert_never

import msgspec

from ...stores.records import Retried, ToolCall
from ...supervisor.decide import Conclude, Correct, Directive, HandOver, PassThrough, Prune, Retry
from ...supervisor.errors import ErrorClass
from ...supervisor.failure import Failure
from ..scrub import scrub
from ..secrets import Mask
from ..text import clean, exact, is_hostile

MESSAGE_MAX = 1_500
"""Characters of an error's text that a model is given."""

FIELD_MAX = 100
FIELDS_MAX = 20
EVIDENCE_MAX = 5

INTERRUPTED = (
    "interrupted, effect unknown: the call was cut off and may or may not have taken effect. "
    "It is not repeated. A person has been asked."
)


INTERRUPTED_SAFE = (
    "interrupted, effect unknown: the call was cut off before its result. Calling it again does no "
    "harm."
)


_CLOSING = "\"')]\u201d\u2019\u300d"
_STOPS = (".", "!", "?", "\u2026", "\u3002", "\uff01", "\uff1f")


def sentence(text: str) -> str:
    """Return a text with the stop that ends a sentence, so that another can follow."""
    text = text.rstrip()
    return text if text.rstrip(_CLOSING).endswith(_STOPS) else f"{text}."


def not_started(why: str) -> str:
    """Return the result of a call whose body did not run."""
    return f"not started: {why}"


def failed(failure: Failure, directive: Directive, attempts: int = 1) -> str:
    """Return what the model is told of a failure, and what it may do now: labelled lines, bounded."""
    message = clipped(failure.message or failure.type_name or "no message")
    lines = [f"error ({failure.error_class}): {message}"]
    if failure.fields:
        shown = [clipped(each, FIELD_MAX) for each in failure.fields[:FIELDS_MAX]]
        more = len(failure.fields) - len(shown)
        lines.append(f"arguments at fault: {', '.join(shown)}{f' and {more} more' if more else ''}")
    if attempts > 1:
        lines.append(f"attempts: {attempts} made, none left")
    if isinstance(directive, Correct) and directive.left is not None:
        lines.append(f"corrections left: {directive.left}")
    lines.append(f"advice: {_advice(directive, failure)}")
    return "\n".join(lines)


def _advice(directive: Directive, failure: Failure) -> str:
    match directive:
        case Correct() if failure.error_class is ErrorClass.CONTEXT_OVERFLOW:
            return "it was too large: call again with less, in several calls where all is needed"
        case Correct():
            return "correct the arguments and call again"
        case Conclude():
            return (
                "this was refused for good; do not try it again or work round it, other tools and "
                'arguments for the same aim included; report "blocked, because ..." as your answer'
            )
        case HandOver(reason):
            return f"none is needed from you; a person has been asked ({reason})"
        case Retry():
            return "none is needed from you; the call is repeated"
        case Prune():
            return "none is needed from you; the conversation is made shorter"
        case PassThrough():
            ran = "it did not run" if failure.may_have_executed == "no" else "it may have run"
            return f"the call was cancelled from outside; {ran}; call again if it is still wanted"
        case _:
            assert_never(directive)


def refusal_of(text: str) -> Failure:
    """Return the failure that a provider's refusal is which came as an ordinary answer."""
    return Failure(
        error_class=ErrorClass.CONTENT_REFUSED,
        message=text or "the model refused to answer",
        type_name="ContentRefused",
        may_have_executed="no",
        evidence=("the answer's finish",),
    )


def refused_request(failure: Failure) -> str:
    """Return the note for a model whose own request was refused for its content or by a rule."""
    message = clipped(failure.message or failure.type_name or "no message")
    return (
        f"Your last request was refused ({failure.error_class}): {message}\n"
        'Do not try to get round it. Report "blocked, because ..." as your answer.'
    )


def clipped(text: str, limit: int = MESSAGE_MAX) -> str:
    """Return head and tail of a text that is too long for a model to be given whole."""
    if len(text) <= limit:
        return text
    tail = limit // 4
    left_out = len(text) - limit
    return f"{text[: limit - tail]} [... {left_out} characters left out ...] {text[-tail:]}"


def retried(
    n: int, index: int, number: int, failure: Failure, directive: Directive, *, elapsed_s: float
) -> Retried:
    """Return the record of a failed attempt; the failure has been cleaned."""
    return Retried(
        n,
        index,
        number,
        failure.error_class.value,
        directive.delay_s if isinstance(directive, Retry) else 0.0,
        elapsed_s,
        clipped(failure.message),
        directive=tag_of(directive),
        detail=directive.detail if isinstance(directive, HandOver) else "",
        retry_after=failure.retry_after,
        evidence=tuple(clipped(each, FIELD_MAX) for each in failure.evidence[:EVIDENCE_MAX]),
        fields=tuple(clipped(each, FIELD_MAX) for each in failure.fields[:FIELDS_MAX]),
        executed=failure.may_have_executed,
    )


def tag_of(directive: Directive) -> str:
    """Return the directive's name as it is stored and shown."""
    return str(directive.__struct_config__.tag)


def cleaned(failure: Failure, mask: Mask) -> Failure:
    """Take secrets, known or by the look of them, and what cannot be stored, out of a failure."""
    return msgspec.structs.replace(
        failure,
        message=scrub(mask(encodable(failure.message))),
        traceback=scrub(mask(encodable(failure.traceback))),
        type_name=mask(encodable(failure.type_name)),
        fields=tuple(scrub(mask(encodable(field))) for field in failure.fields),
        evidence=tuple(mask(encodable(each)) for each in failure.evidence),
    )


def when(at_ms: int) -> str:
    """Return a time of the wall clock, in UTC."""
    return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def encodable(text: str) -> str:
    """Return the text with what breaks stores and protocols made visible."""
    return clean(text).text if is_hostile(text) else exact(text)


def encodable_call(call: ToolCall) -> ToolCall:
    """Return the call as it is, or refused where its arguments cannot be stored."""
    if not (is_hostile(call.arguments) or is_hostile(call.name) or is_hostile(call.id)):
        if type(call.arguments) is type(call.name) is type(call.id) is str:
            return call
        return ToolCall(exact(call.id), exact(call.name), exact(call.arguments), call.problem)
    problem = "the arguments hold characters that no text can hold; send them escaped"
    return ToolCall(clean(call.id).text, clean(call.name).text, "{}", call.problem or problem)

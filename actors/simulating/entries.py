"""What single entries of a journal say of the world, whatever stands before them. Pure."""

from ...stores.records import Ended, Resulted, Retried, ToolCall
from ...supervisor.errors import ErrorClass, MayHaveExecuted
from .seen import CORRECTED, WEATHER, Asked, End, Fault
from .times import took_s

_WEATHER_REASONS = frozenset({"blocked", "in_doubt", "budget"})
_EXECUTED: dict[str, MayHaveExecuted] = {"no": "no", "maybe": "maybe", "yes": "yes"}
CLASSES: dict[str, ErrorClass] = {str(each): each for each in ErrorClass}


def asked_of(entry: Resulted, call: ToolCall, final: Retried | None) -> Asked | None:
    """Return the call as it would go in fair weather; None: it went to nobody."""
    if entry.state == "denied" or entry.by == "record":
        return None
    error_class = CLASSES.get(entry.error_class or "")
    if error_class is None:
        if entry.state == "refused":
            return None  # it did not fit into a budget
        took = None if entry.replayed else entry.elapsed_s
        return Asked(call.name, entry.n, took_s=took)
    if error_class in WEATHER or error_class is ErrorClass.CANCELLED:
        return Asked(call.name, entry.n)
    if entry.state == "refused" and error_class not in CORRECTED:
        return None
    executed = executed_of(final) if final is not None else "no"
    fault = Fault(error_class, executed, ran=entry.state != "refused")
    took = took_s(final, []) if final is not None else 0.0
    return Asked(call.name, entry.n, fault=fault, took_s=took)


def end_of(entry: Ended, reason: str, steps: list[Asked], *, lost: bool, said: bool) -> End:
    """Return how a session ended in fair weather; ``open``: that is left to the world."""
    if entry.status == "completed":
        return "completed"
    if entry.status == "stopped":
        return "stopped"
    if said or (reason == "in_doubt" and lost):
        # Its own words were the end, such as "blocked, because ..."; or the death of a process.
        return "handed_over"
    if reason in _WEATHER_REASONS or (steps and steps[-1].fault is not None):
        return "open"
    return "handed_over"


def model_named(name: str) -> str:
    """Return what a model is called among the subjects."""
    return f"model {name}"


def executed_of(entry: Retried) -> MayHaveExecuted:
    """Return whether it may have taken effect; records of older versions say it by the class."""
    told = _EXECUTED.get(entry.executed)
    if told is not None:
        return told
    return "maybe" if entry.error_class == ErrorClass.IN_DOUBT_TIMEOUT else "no"

"""OTP's words into ours and back: specifications, reasons, rows."""

import json
from enum import StrEnum
from typing import Any

from ukemi.supervisor import (
    BRUTAL_KILL,
    Abandoned,
    AutoShutdown,
    ChildType,
    Crashed,
    ErrorClass,
    ExitReason,
    InvalidSpec,
    Killed,
    Normal,
    RestartType,
    Shutdown,
    ShutdownError,
    StartFailure,
    Strategy,
)

Json = Any


class Died(Exception):
    """A worker's death of a reason that OTP would count as abnormal."""


def reason_of(exit: ExitReason | None) -> Json:
    """Return the reason as OTP writes it."""
    match exit:
        case Normal():
            return "normal"
        case Shutdown(detail=detail, cause=None) if detail:
            return {"shutdown": json.loads(detail)}
        case Shutdown():
            return "shutdown"
        case Crashed(type_name="Died"):
            return json.loads(exit.text)
        case Crashed():
            return {"raised": exit.text}
        case Killed() | Abandoned():
            return "killed"
        case StartFailure():
            return {"shutdown": {"failed_to_start_child": [exit.child, reason_of(exit.cause)]}}
        case _:
            return str(exit)


def end_with(reason: Json) -> None:
    """End a worker's body with this reason: return from here means that it returns."""
    match reason:
        case "normal":
            return
        case "shutdown":
            raise ShutdownError
        case {"shutdown": detail}:
            raise ShutdownError(json.dumps(detail))
        case _:
            raise Died(json.dumps(reason))


def exit_of(reason: Json) -> ExitReason:
    """Return the reason that a supervisor is told to stop with."""
    match reason:
        case "normal":
            return Normal()
        case "shutdown":
            return Shutdown()
        case {"shutdown": detail}:
            return Shutdown(json.dumps(detail))
        case _:
            return Crashed(ErrorClass.UNKNOWN, "Died", json.dumps(reason))


def _word(kind: type[StrEnum], value: Json) -> Any:
    """Return our word for OTP's; one that does not exist is passed on, to be refused."""
    known = [each for each in kind if each.value == value]
    return known[0] if known else value


def shutdown_s(spec: Json) -> Any:
    given = spec.get("shutdown", "infinity" if spec.get("type") == "supervisor" else 5000)
    match given:
        case "infinity":
            return None
        case "brutal_kill":
            return BRUTAL_KILL
        case int():
            return given / 1000
        case _:
            return given


def child_fields(spec: Json) -> dict[str, Any]:
    """Return the fields that all our specifications share."""
    return {
        "id": spec.get("id"),
        "restart": _word(RestartType, spec.get("restart", "permanent")),
        "shutdown_s": shutdown_s(spec),
        "significant": spec.get("significant", False),
    }


def worker_type(spec: Json) -> Any:
    return _word(ChildType, spec.get("type", "worker"))


def check_modules(spec: Json) -> None:
    """Check what is part of OTP's format and not of ours: the list of modules."""
    modules = spec.get("modules", [])
    if not (modules == "dynamic" or isinstance(modules, list)):
        raise InvalidSpec(f"child {spec.get('id')!r}: invalid modules {modules!r}")


def flags(sup: Json) -> dict[str, Any]:
    """Return the limits of a supervisor, checked as OTP would where ours allows more."""
    if "raw_flags" in sup:
        raise InvalidSpec(f"{sup['raw_flags']!r} are no flags")
    dynamic = sup.get("strategy") == "dynamic"
    period = sup.get("period", 5)
    if not isinstance(period, int):
        raise InvalidSpec(f"OTP's period is a whole number of seconds, not {period!r}")
    if sup.get("intensity") is None and "intensity" in sup:
        raise InvalidSpec("OTP knows no unlimited intensity")
    return {
        "intensity": sup.get("intensity", 3 if dynamic else 1),
        "period_s": period,
        "auto_shutdown": _word(AutoShutdown, sup.get("auto_shutdown", "never")),
    }


def strategy(sup: Json) -> Any:
    return _word(Strategy, sup.get("strategy", "one_for_one"))

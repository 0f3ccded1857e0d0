"""A world and what happened in it, for people."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
from msgspec.structs import fields

from .lives import Lived
from .plan import Call, Plan, Rules, Turn, World

TRACE_MAX = 40
"""Lines of the trace that are shown, the last ones."""

_encoder = msgspec.json.Encoder()


def encode(world: World) -> str:
    """Return a world as one line of JSON, for `decode`."""
    return _encoder.encode(world).decode()


def decode(text: str | bytes) -> World:
    """Read a world back.

    Raises:
        msgspec.ValidationError: it is no world.
    """
    return msgspec.json.decode(text, type=World)


def report(lived: Lived, *, original: World | None = None, file: Path | None = None) -> str:
    """Return what is broken, the schedule that breaks it, and how to see it again."""
    seed = lived.world.seed
    lines = [f"seed {seed}:", *(f"  BROKEN {each}" for each in lived.violations), "", "schedule:"]
    lines += [f"  {line}" for line in schedule(lived.world)]
    lines += ["", "what happened, at the end:"]
    lines += [f"  {line}" for line in lived.trace[-TRACE_MAX:]]
    lines += ["", f"again: make simulate SEEDS={seed}..{seed}"]
    if original is not None and file is not None:
        file.write_text(encode(lived.world))
        lines.append(f"this schedule alone: make simulate WORLD={file}")
    return "\n".join(lines)


def schedule(world: World) -> Iterator[str]:
    """Yield a world's plan, line by line."""
    for plan in world.sessions:
        yield from _session(plan)
    for fault in world.faults:
        where = f"read {fault.at}" if fault.do == "read" else f"commit {fault.at}"
        slow = f" by {fault.delay_s:g} s" if fault.do == "slow" else ""
        yield f"the store: {fault.do}{slow} at {where}, {fault.times} in a row"
    for number, kill in enumerate(world.kills, 1):
        yield f"life {number}: killed at {kill.point} {kill.at}, down for {kill.down_s:g} s"
    for deed in world.deeds:
        yield f"user: {deed.what} {deed.session} at {deed.at_s:g} s"
    for twin in world.twins:
        yield (
            f"a second process at {twin.at_s:g} s for {twin.stays_s:g} s, the first is cut off from the "
            f"store for {twin.cut_off_s:g} s"
        )
    for jump in world.jumps:
        yield f"wall clock: {jump.by_s:+g} s at {jump.at_s:g} s"
    changed = [
        f"{each.name}={getattr(world.rules, each.name)}"
        for each in fields(Rules)
        if getattr(world.rules, each.name) != each.default
    ]
    if changed:
        yield f"rules: {', '.join(changed)}"


def _session(plan: Plan) -> Iterator[str]:
    said = [f"session {plan.id}, from {plan.start_s:g} s on"]
    said += [f"{name} {value:g}" for name, value in plan.limits.items()]
    if plan.on_failure != "undo":
        said.append(f"on_failure {plan.on_failure}")
    yield ", ".join(said)
    for at, turn in enumerate(plan.turns):
        yield f"  {at}. {_turn(turn)}"
    yield f"  people answer {_list(plan.answers)}; after a handover {_list(plan.habits) or 'nothing'}"


def _turn(turn: Turn) -> str:
    before = f"fails with {_list(turn.faults)}, then " if turn.faults else ""
    broken = f" ({turn.broken})" if turn.broken else ""
    if not turn.calls:
        return f"{before}says {turn.says!r}"
    return f"{before}calls{broken} {'; '.join(_call(each) for each in turn.calls)}"


def _call(call: Call) -> str:
    said = f"{call.kind}({call.what})"
    for name, hows in (("", call.tries), ("undo ", call.undo), ("probe ", call.probe)):
        if hows:
            said += f" {name}{_list(hows)}"
    return said


def _list(words: Sequence[str]) -> str:
    return ", ".join(words)

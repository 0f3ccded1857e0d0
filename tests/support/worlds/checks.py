"""What must hold of a world that has been lived to its end."""

from ukemi import Completed
from ukemi.actors.inspection import fold
from ukemi.stores.records import Resulted

from .model import unpaired
from .outside import Outside, Seen
from .people import Person
from .plan import Kind

HARMLESS: frozenset[Kind] = frozenset(("read", "safe"))
"""Tools of which nobody asks whether an attempt took effect: the next one may simply be made."""


def at_the_end(outside: Outside, people: list[Person]) -> None:
    """Check what can be said only now; what is broken goes to ``outside.violations``."""
    outside.settle()
    for person in people:
        session = person.plan.id
        if session not in outside.committed:
            outside.broken(f"{session} was never stored")
            continue
        _ended(outside, person)
        _paired(outside, person)
        _known(outside, session)
        _undone_in_order(outside, session)
        _within_limits(outside, person)


def _ended(outside: Outside, person: Person) -> None:
    """It ended in an outcome, and a completed one hides no doubt."""
    session, outcome = person.plan.id, person.outcome
    if outcome is None:
        outside.broken(f"{session} has no outcome")
    if outside.committed[session].ended is None and not person.unsaved:
        outside.broken(f"{session} ended, and its end is not stored")


def _paired(outside: Outside, person: Person) -> None:
    session = person.plan.id
    state = fold(session, outside.committed[session].entries)
    if state.status == "running" or state.status == "parked":
        if not person.unsaved:
            outside.broken(f"{session} is told to have ended, and is {state.status} in the store")
        return
    problem = unpaired(list(state.conversation))
    if problem:
        outside.broken(f"the conversation of {session} has {problem}")
    results = [each for each in outside.committed[session].entries if isinstance(each, Resulted)]
    if len({(each.n, each.index) for each in results}) != len(results):
        outside.broken(f"a call of {session} has two results")


def _known(outside: Outside, session: str) -> None:
    """What took effect is an effect of the ledger, or in doubt, or settled by a person."""
    state = fold(session, outside.committed[session].entries)
    for (whose, call, part), seen in outside.seen.items():
        if whose != session or part not in ("body", "commit") or seen.kind in HARMLESS:
            continue
        told = call in state.effects
        if seen.effects and not (told or call in state.in_doubt or seen.settled):
            outside.broken(f"{seen.what} of {session} took effect, and the ledger has forgotten it")
        if told and not seen.effects and not seen.coming:
            outside.broken(f"{seen.what} of {session} is called an effect, and is none")


def _undone_in_order(outside: Outside, session: str) -> None:
    """Of two effects, one before the other, the later one is undone first."""
    undoing = {call: at for (whose, call), at in outside.undoing_at.items() if whose == session}
    done = {
        call: seen
        for (whose, call, part), seen in outside.seen.items()
        if whose == session and part != "undo" and seen.effects
    }
    for first, before in done.items():
        for second, after in done.items():
            if first not in undoing or second not in undoing:
                continue
            ordered = 0.0 < before.done_at < after.first_at
            together = after.effects[0] < undoing[first]  # both were there when that began
            if ordered and together and undoing[first] < undoing[second]:
                outside.broken(
                    f"{session}: {before.what} came before {after.what} and was undone before it"
                )
    _completed_stays(outside, session, undoing, done)


def _completed_stays(
    outside: Outside,
    session: str,
    undoing: dict[tuple[int, int], float],
    done: dict[tuple[int, int], Seen],
) -> None:
    """What was part of something that completed is undone no more."""
    for at, newest_n in outside.completed_at.get(session, ()):
        for call, began_at in undoing.items():
            if call[0] <= newest_n and began_at > at and call in done:
                outside.broken(f"{session}: {done[call].what} is undone though it was completed")


def _within_limits(outside: Outside, person: Person) -> None:
    session, limits = person.plan.id, person.plan.limits
    cap = limits.get("tool_calls")
    if cap is not None and outside.bodies[session] > cap:
        outside.broken(f"{session}: {outside.bodies[session]} writes began, {cap:g} are allowed")
    asked = limits.get("model_calls")
    spare = outside.life  # a request that nothing was stored of is not counted after a kill
    if asked is not None and outside.requests[session] > asked + spare:
        outside.broken(f"{session}: {outside.requests[session]} requests, {asked:g} are allowed")
    if isinstance(person.outcome, Completed):
        _nothing_hidden(outside, session)


def _nothing_hidden(outside: Outside, session: str) -> None:
    """A session that completed has no call whose result it has never seen."""
    known = outside.committed[session]
    for call in known.intents:
        if call not in known.resulted:
            outside.broken(f"{session} completed, and call {call} has no result")

"""Answers that no rule finds anything in to compare: "done", behind calls that all succeeded.

Many programs end a conversation with such a word. What the rules look for in it is looked for once;
the verdict is the one that audit.py would come to, where every call is known to have succeeded.
"""

from functools import lru_cache

from ..model import ToolMessage
from ..state import SessionState

SHORT_CHARS = 60
"""A longer answer has something to compare."""

CLAIMING = "finish"
"""The name of the tool whose arguments are claims (see claims_given.py, which is loaded later)."""


def is_plain(answer: str, state: SessionState) -> bool:
    """Tell whether an answer, given where a session stands, is borne out without being compared."""
    return len(answer) <= SHORT_CHARS and says_nothing(answer) and all_went_well(state)


def all_went_well(state: SessionState) -> bool:
    """Tell whether the messages hold every call, each of them succeeded, and none is a claim itself."""
    calls = 0
    for message in state.conversation.originals():
        if isinstance(message, ToolMessage):
            if message.is_error or message.name == CLAIMING:
                return False
            calls += 1
    return not needs_journal(state, calls)


def needs_journal(state: SessionState, calls: int) -> bool:
    """Tell whether the messages, with that many results, are not the whole record."""
    ledger = state.ledger
    if calls != state.counter or ledger.open or ledger.answers:
        return True
    # What a person has changed ran with other arguments than the messages show.
    effects = ledger.effects.values()
    return any(each.by or each.state != "succeeded" or each.arguments for each in effects)


@lru_cache(maxsize=256)
def says_nothing(statement: str) -> bool:
    """Tell whether no rule finds anything in a statement that calls could speak against."""
    # Tables: loaded before the first answer (see warming.py), and not before.
    from .checks import tells_of_checks
    from .claims import claims_of
    from .claims_made import PATH
    from .claims_text import shown
    from .claims_values import values_of
    from .counted import places_in
    from .pairs import compares
    from .reasons import gives_reasons
    from .states import tells_of_states
    from .untold import says_little

    return (
        says_little(statement)
        and not claims_of(statement)
        and not PATH.search(shown(statement))
        and not tells_of_checks(statement)
        and not gives_reasons(statement)
        and not places_in(statement)
        and not tells_of_states(statement)
        and not compares(statement)
        and not values_of(statement)
    )

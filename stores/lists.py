"""Which sessions belong into a list that is asked for. Pure."""

from .base import Facts, Head, HeadQuery


def asking(facts: Facts) -> int:
    """Return 0 where nothing is asked, 1 where a person is, 2 where somebody is still to be told."""
    if not facts.requests:
        return 0
    return 1 if all(request.told for request in facts.requests) else 2


ASKING = {None: 0, "any": 1, "untold": 2}
"""The least that `asking` must be for each way to ask for a list."""


def matches(head: Head, query: HeadQuery) -> bool:
    """Tell whether a head belongs into the list asked for; paging aside."""
    facts = head.facts
    return (
        (query.asking is None or asking(facts) >= ASKING[query.asking])
        and (not query.left_open or facts.left_open > 0)
        and (query.status is None or head.status in query.status)
        and (query.agent is None or facts.agent == query.agent)
        and (query.parent is None or facts.parent == query.parent)
        and (
            query.due_before_ms is None
            or (facts.due_at_ms is not None and facts.due_at_ms < query.due_before_ms)
        )
    )

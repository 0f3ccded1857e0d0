"""The tool by which an agent says in a structured form what it did, before it answers."""

from ..actors.audit.claims_given import FINISH, GivenClaim
from ..actors.tooling.tools import tool


@tool(name=FINISH, effect="read", overlap=False)
async def finish(claims: list[GivenClaim]) -> str:
    """Say what was done, before the last answer.

    Each claim is compared with what was executed, together with the answer that follows. Name the
    tool that did it, the file that was made or changed, or the value a result gave, where there is
    one.

    Args:
        claims: one for each thing that was done
    """
    return f"{len(claims)} claims noted; now give the answer as your last message"

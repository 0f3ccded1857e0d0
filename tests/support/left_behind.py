"""Sessions that a process has left unfinished in a store, for tests of who goes on with them."""

from collections.abc import Mapping
from types import MappingProxyType

import anyio

from ukemi.stores.base import Create, Facts, Leave, Renew
from ukemi.stores.records import Opened, Said, encode_row
from ukemi.stores.sqlite import SqliteStore

FAR_MS = 10**15


def leave_behind(
    sessions: dict[str, str],
    *,
    owner: str = "gone",
    alive: bool = False,
    policies: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Put running sessions into ukemi.db: id and agent. Their owner has left unless ``alive``.

    ``policies``: the file of the policy that a session began under, by its id.
    """

    async def write() -> None:
        store = SqliteStore("ukemi.db")
        await store.open()
        creations = [
            Create(
                session_id=each,
                owner=owner,
                facts=Facts(agent=agent, title="go on"),
                body=encode_row(
                    [Opened(agent, 1, policy=policies.get(each, "")), Said(1, "go on")]
                ),
            )
            for each, agent in sessions.items()
        ]
        end = [] if alive else [Leave(owner=owner)]
        await store.commit([Renew(owner=owner, lease_until_ms=FAR_MS), *creations, *end])
        await store.close()

    anyio.run(write)

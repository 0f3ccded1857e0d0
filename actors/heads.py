"""Heads of the store, however many there are."""

from collections.abc import AsyncGenerator

import msgspec

from ..stores.base import Head, HeadQuery, Store


async def each_head(store: Store, query: HeadQuery) -> AsyncGenerator[Head]:
    """Yield every head a query finds, page by page."""
    while True:
        page = await store.heads(query)
        for head in page:
            yield head
        if len(page) < query.limit:
            return
        query = msgspec.structs.replace(query, after=page[-1].session_id)

"""LangGraph pays an order: a task of an entrypoint, as its documentation wants side effects wrapped.

    python -m benchmarks.peers.langgraph_payments STORE URL ORDER (plain | key) (go | before | behind | again)

The checkpointer is SQLite, the durability mode ``sync``; tasks are not retried, which is the default.
"""
# The library is in an environment of its own, where no type checker looks.
# mypy: disable-error-code="import-not-found, misc, untyped-decorator"
# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false

import json
import sys

from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.func import entrypoint, task

from ..payments_bank import GO, charge


def main(store: str, url: str, order: str, how: str, fate: str) -> None:
    dies = GO if fate == "again" else fate

    @task
    def pay(order: str) -> str:
        # The thread's id stands for the order, so it is the key to send.
        return charge(url, order, order if how == "key" else "", dies)

    with SqliteSaver.from_conn_string(store) as checkpointer:

        @entrypoint(checkpointer=checkpointer)
        def checkout(order: str) -> str:
            told: str = pay(order).result()
            return told

        config = {"configurable": {"thread_id": order}}
        told = checkout.invoke(None if fate == "again" else order, config, durability="sync")
    print(json.dumps({"told": told}))


if __name__ == "__main__":
    main(*sys.argv[1:])

"""DBOS pays an order: a step of a workflow whose id is the order.

    python -m benchmarks.peers.dbos_payments STORE URL ORDER (plain | key) (go | before | behind | again)

The system database is SQLite; steps are not retried, which is the default. Launching goes on with the
workflows that a dead process has left.
"""
# The library is in an environment of its own, where no type checker looks.
# mypy: disable-error-code="import-not-found, misc, untyped-decorator"
# pyright: basic, reportMissingImports=false

import json
import sys

from dbos import DBOS, SetWorkflowID

from ..payments_bank import GO, charge


def main(store: str, url: str, order: str, how: str, fate: str) -> None:
    dies = GO if fate == "again" else fate
    DBOS(
        config={
            "name": "payments",
            "system_database_url": f"sqlite:///{store}",
            "run_admin_server": False,
            "log_level": "ERROR",
            # By default it is made of the source; the one of a dead process must be taken up here.
            "application_version": "1",
        }
    )

    @DBOS.step()
    def pay(order: str) -> str:
        return charge(url, order, DBOS.workflow_id or "" if how == "key" else "", dies)

    @DBOS.workflow()
    def checkout(order: str) -> str:
        told: str = pay(order)
        return told

    DBOS.launch()
    if fate == "again":
        told = DBOS.retrieve_workflow(order).get_result()
    else:
        with SetWorkflowID(order):
            told = checkout(order)
    print(json.dumps({"told": told}))
    DBOS.destroy()


if __name__ == "__main__":
    main(*sys.argv[1:])

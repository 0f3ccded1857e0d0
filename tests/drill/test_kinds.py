"""One mistake, one finding: each kind is found in the tool that has it, and in no other."""

from collections.abc import Sequence

import drill_kinds as kinds
import pytest
from msgspec import Struct

from ukemi.testing import OWN, drill
from ukemi.testing.drilling.promises import Promise

UNDO = ("undo", "undo_lost", "undo_hang", "undo_kill_after")
DOUBT = ("lost", "in_doubt_timeout", "kill_before", "kill_after")


class Kind(Struct, frozen=True):
    """What is wrong, the tool, what has to be found in it, and the faults that show it."""

    what: str
    tools: Sequence[kinds.AnyTool]
    found: frozenset[Promise]
    only: tuple[str, ...]
    tool: str = "order"


def wrong(
    what: str,
    tools: list[kinds.AnyTool],
    only: tuple[str, ...],
    *found: Promise,
    tool: str = "order",
) -> Kind:
    return Kind(what, tools, frozenset(found), tuple(only), tool)


order = kinds.order

KINDS = [
    # compensations
    wrong("it undoes twice", order(compensate=kinds.undoes_twice), ("undo",), "undone"),
    wrong("it undoes nothing", order(compensate=kinds.undoes_nothing), ("undo",), "undone"),
    wrong("it says that it failed", order(compensate=kinds.undo_says_no), ("undo",), "undone"),
    wrong("it hangs", order(compensate=kinds.undo_hangs), ("undo",), "undone", "bounded"),
    wrong(
        "it takes a key and ignores it",
        order(compensate=kinds.undo_ignores_key),
        ("undo_lost", "undo_kill_after"),
        "undone",
    ),
    wrong(
        "its error tells a secret",
        order(kinds.secret_kept, compensate=kinds.undo_tells_secret, secrets=["token"]),
        ("undo",),
        "undone",
        "secret",
    ),
    wrong("a compensation as it should be", order(compensate=kinds.cancels), UNDO),
    # probes
    wrong("it always says yes", order(probe=kinds.always_yes), DOUBT, "probe", "kept"),
    wrong("it always says no", order(probe=kinds.always_no), (*DOUBT, "probe_error"), "probe"),
    wrong("it says None", order(probe=kinds.says_none), DOUBT, "probe"),
    wrong("it raises", order(probe=kinds.probe_raises), DOUBT, "probe"),
    wrong("it hangs", order(probe=kinds.probe_hangs), ("lost",), "probe"),
    wrong("it tells another result", order(probe=kinds.another_result), ("late",), "probe"),
    wrong(
        "it takes effect itself",
        order(probe=kinds.probe_orders),
        ("in_doubt_timeout",),
        "probe",
        "read only",
    ),
    wrong("a probe as it should be", order(probe=kinds.found), (*DOUBT, "probe_error", "hang")),
    # repeats
    wrong("it is said to be safe", order(safe_to_retry=True), DOUBT, "once"),
    wrong("safe, for the sku names it", order(safe_to_retry=True, once_per=("sku",)), DOUBT),
    wrong("the key is ignored", order(kinds.key_ignored, accepts_key=True), DOUBT, "once"),
    wrong(
        "the key is made up",
        order(kinds.key_made_up, accepts_key=True, once_per=("key",)),
        DOUBT,
        "once",
    ),
    wrong(
        "a key as it should be",
        order(kinds.keyed, accepts_key=True, once_per=("key",)),
        (*DOUBT, "cancelled", "hang", "late"),
    ),
    wrong("a read that writes", order(effect="read"), ("lost",), "once", "read only"),
    wrong("nothing allows a repeat", order(), (*DOUBT, "cancelled", "hang", "late")),
    wrong("the same in a thread", order(kinds.threaded), (*DOUBT, "hang", "late")),
    # success
    wrong("an error as success", order(kinds.error_as_success), ("transient", "unknown"), "kept"),
    # waits
    wrong("no timeout", order(timeout_s=None), ("hang",), "bounded"),
    wrong("none in a thread", order(kinds.threaded, timeout_s=None), ("hang",), "bounded"),
    wrong("a limit inside", order(kinds.limited_inside, timeout_s=None), ("hang",)),
    wrong("it hangs by itself", order(kinds.hangs, timeout_s=None), (), "bounded"),
    wrong("it hangs, within limits", order(kinds.hangs), ("transient",)),
    # cancellation
    wrong(
        "it returns",
        order(kinds.swallows_and_returns),
        ("hang", "cancelled"),
        "cancellable",
        "kept",
    ),
    wrong("it raises", order(kinds.swallows_and_raises), ("hang",), "cancellable"),
    wrong("it goes on", order(kinds.swallows_for_ever), ("hang",), "cancellable"),
    # secrets
    wrong("in a result", order(kinds.secret_in_result, secrets=["token"]), (), "secret"),
    wrong("printed", order(kinds.secret_printed, secrets=["token"]), (), "secret", tool=""),
    wrong(
        "encoded in an error",
        order(kinds.secret_encoded, secrets=["token"]),
        ("transient",),
        "secret",
    ),
    wrong("kept", order(kinds.secret_kept, secrets=["token"]), ("transient", "unknown", "undo")),
]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.what.replace(" ", "-"))
def test_a_mistake_is_found_for_what_it_is(kind: Kind) -> None:
    """What has to be found is found, and nothing else is."""
    cells = [f"1:{fault}" for fault in kind.only]
    report = drill(
        kinds.agent(list(kind.tools)),
        "go",
        stubs={"*": OWN},
        cells=cells,
        # Without a name of a cell all would be run; what goes wrong by itself needs none.
        only=() if cells else ("denied",),
        forks=False,
        patience_s=0.2,
    )
    found = {(each.promise, each.tool) for each in report.findings}
    assert found == {(promise, kind.tool) for promise in kind.found}, report.findings
    assert "not reached" not in {each.verdict for each in report.cells}


def test_a_secret_of_the_environment_is_planted_and_found() -> None:
    """The variable is named in the body; the runtime masks no such value, so it goes everywhere."""
    report = drill(
        kinds.agent(order(kinds.secret_of_environment)),
        "go",
        stubs={"*": OWN},
        cells=["1:permission_denied"],
        forks=False,
    )
    assert {each.tool for each in report.found("secret")} == {"order", ""}
    assert all("SHOP_API_KEY" in each.why for each in report.found("secret"))


def test_the_same_seed_gives_the_same_report() -> None:
    """Chance and made-up values come from the seed alone."""

    def once() -> object:
        return drill(
            kinds.agent(order(probe=kinds.found)),
            "go",
            stubs={"*": OWN},
            only=["transient", "lost", "kill_before"],
            seed=7,
            forks=False,
        ).to_data()

    assert once() == once()

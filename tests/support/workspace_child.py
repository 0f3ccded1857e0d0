"""The process that a test of snapshots or restores kills.

    python workspace_child.py snapshots STORE TREE            snapshots for ever
    python workspace_child.py snapshot STORE TREE [KILL]      one snapshot
    python workspace_child.py restore STORE TREE TARGET BEFORE AFTER [KILL]
    python workspace_child.py finish|undo STORE TREE RESTORE_ID [KILL]

KILL is a number: the process kills itself right before its KILL-th operation on a file of the tree, or
of the file of contents. Without it, the number of such operations is printed.
"""

import os
import signal
import sys

from ukemi.stores.workspace import Window, WorkspaceFiles

# What the audit events of these are called is documented beside each function of `os`.
EVENTS = frozenset(
    (
        "open",
        "os.rename",
        "os.remove",
        "os.mkdir",
        "os.rmdir",
        "os.symlink",
        "os.chmod",
        "os.scandir",
    )
)


class Killer:
    """Counts operations, and kills this process before the planned one."""

    def __init__(self, kill_at: int) -> None:
        self.count = 0
        self.kill_at = kill_at
        self.armed = False

    def reached(self) -> None:
        if self.armed:
            self.count += 1
            if self.count == self.kill_at:
                os.kill(os.getpid(), signal.SIGKILL)


def arm(killer: Killer) -> None:
    """See every operation: by audit events, and by the trace of SQL for those within SQLite."""

    def hook(event: str, _: tuple[object, ...]) -> None:
        if event in EVENTS:
            killer.reached()

    sys.addaudithook(hook)
    for name in ("write", "fsync", "fchmod", "fstat", "close", "read"):
        setattr(os, name, counted(killer, getattr(os, name)))


def counted(killer: Killer, function: object) -> object:
    assert callable(function)

    def call(*words: object, **named: object) -> object:
        killer.reached()
        return function(*words, **named)

    return call


def main() -> None:
    what, store, tree, *words = sys.argv[1:]
    files = WorkspaceFiles(store)
    space = files.workspace(tree)
    needed = {"restore": 3, "finish": 1, "undo": 1}.get(what, 0)
    killer = Killer(int(words[needed]) if len(words) > needed else 0)
    arm(killer)
    with files.objects.reading() as connection:
        connection.set_trace_callback(lambda _: killer.reached())
    killer.armed = True
    match what:
        case "snapshots":
            while True:
                space.snapshot()
        case "snapshot":
            space.snapshot()
        case "restore":
            target, before, after = words[:3]
            space.restore(space.plan(target, [Window(before, after)]))
        case "finish":
            files.finish(words[0])
        case _:
            files.undo(words[0])
    killer.armed = False
    print(killer.count)


if __name__ == "__main__":
    main()

"""Processes that a test of snapshots or restores kills.

    python workspace_child.py snapshots STORE TREE      snapshots for ever
    python workspace_child.py serve                     reads orders, a line of JSON each

An order is a list of words: a number K, what to do, the file of contents, the tree, and what it needs. It
is done by a process forked for it, which kills itself right before its K-th operation on a file of
the tree or statement in the file of contents. The answer is a line of JSON: how many operations there
were (K = 0 kills at none), or that it was killed.
"""

import json
import os
import signal
import sys
import traceback

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


def do(what: str, store: str, tree: str, words: list[str], killer: Killer) -> None:
    files = WorkspaceFiles(store)
    space = files.workspace(tree)
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
            target, before, after = words
            space.restore(space.plan(target, [Window(before, after)]))
        case "finish":
            files.finish(words[0])
        case _:
            files.undo(words[0])
    killer.armed = False


def serve() -> None:
    for line in sys.stdin:
        kill_at, what, store, tree, *words = json.loads(line)
        process = os.fork()
        if process == 0:
            status = 1
            try:
                killer = Killer(kill_at)
                arm(killer)
                do(what, store, tree, words, killer)
                tell({"count": killer.count})
                status = 0
            finally:
                if status:
                    traceback.print_exc()
                os._exit(status)
        _, status = os.waitpid(process, 0)
        if status:
            tell({"killed": os.WIFSIGNALED(status), "status": status})


def tell(answer: dict[str, object]) -> None:
    print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve()
    else:
        do(sys.argv[1], sys.argv[2], sys.argv[3], [], Killer(0))

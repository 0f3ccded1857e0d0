"""The outside of a kill sweep: a process that books what tools ask for, and is never killed itself.

    python sweep_server.py

It prints its port, and ends when its standard input does. One connection belongs to one process of one
run; requests and answers are JSON, a line each. It books at once and answers then. A process may ask to
be killed when its effect is booked and not yet answered, since only the server knows when that is. A
run is read when all its connections are closed: what a killed process has sent is booked by then.
"""

import os
import signal
import socket
import socketserver
import subprocess
import sys
import threading
from collections import Counter, defaultdict
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from sweep_log import Effect


class _Request(Struct, frozen=True, tag_field="do"):
    pass


class Begin(_Request, frozen=True, tag="begin"):
    """What comes over this connection belongs to this run."""

    run: str


class Book(_Request, frozen=True, tag="book"):
    """Take effect, and answer with the nonce that counts for its key.

    ``kill``: whoever asks is killed with this number in place of an answer.
    """

    effect: Effect
    kill: int | None = None


class Find(_Request, frozen=True, tag="find"):
    """Answer with the nonce of the first effect of this tag, or with nothing."""

    tag: str


class ReadAll(_Request, frozen=True, tag="read"):
    """Answer with all effects of a run, in the order in which they were booked."""

    run: str


Request = Begin | Book | Find | ReadAll


class Books:
    """What was booked, by run. Safe to use from threads."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._effects: dict[str, list[Effect]] = defaultdict(list)
        self._open: Counter[str] = Counter()

    def opened(self, run: str) -> None:
        with self._changed:
            self._open[run] += 1

    def closed(self, run: str) -> None:
        with self._changed:
            self._open[run] -= 1
            self._changed.notify_all()

    def book(self, run: str, effect: Effect) -> str:
        with self._changed:
            mine = self._effects[run]
            known = [each for each in mine if effect.key is not None and each.key == effect.key]
            mine.append(msgspec.structs.replace(effect, repeat=bool(known)))
            return known[0].nonce if known else effect.nonce

    def find(self, run: str, tag: str) -> str | None:
        with self._changed:
            return next((each.nonce for each in self._effects[run] if each.tag == tag), None)

    def read(self, run: str) -> list[Effect]:
        with self._changed:
            # Ends: a killed process has no open sockets, and one that lives is waited for.
            self._changed.wait_for(lambda: not self._open[run])
            return list(self._effects[run])


class _Handler(socketserver.StreamRequestHandler):
    disable_nagle_algorithm = True
    books: Books

    def handle(self) -> None:
        run = ""
        try:
            for line in self.rfile:
                request = msgspec.json.decode(line, type=Request)
                if isinstance(request, Begin):
                    run = request.run
                    self.books.opened(run)
                self.wfile.write(msgspec.json.encode(self._answer(run, request)) + b"\n")
        except ConnectionError:
            pass  # killed while it was answered
        finally:
            if run:
                self.books.closed(run)

    def _answer(self, run: str, request: Request) -> object:
        match request:
            case Book(effect, kill):
                nonce = self.books.book(run, effect)
                if kill is not None:
                    os.kill(kill, signal.SIGKILL)
                    raise ConnectionAbortedError
                return nonce
            case Find(tag):
                return self.books.find(run, tag)
            case ReadAll(wanted):
                return self.books.read(wanted)
            case Begin():
                return None


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    request_queue_size = 128


# ---------------------------------------------------------------- whoever asks


class Connection:
    """A process's way to the server, for one run. Safe to use from threads; one at a time."""

    def __init__(self, port: int, run: str) -> None:
        self._lock = threading.Lock()
        self._lines = socket.create_connection(("127.0.0.1", port)).makefile("rwb")
        self._ask(Begin(run))

    def book(self, effect: Effect, *, kill: bool = False) -> str:
        """Take effect; returns the nonce that counts. ``kill``: do not live to see the answer."""
        nonce: str = self._ask(Book(effect, os.getpid() if kill else None))
        return nonce

    def find(self, tag: str) -> str | None:
        """Return the nonce of the first effect of this tag, or None."""
        nonce: str | None = self._ask(Find(tag))
        return nonce

    def _ask(self, request: Request) -> Any:
        with self._lock:
            return _ask(self._lines, request)


def _ask(lines: Any, request: Request) -> Any:
    lines.write(msgspec.json.encode(request) + b"\n")
    lines.flush()
    answer: bytes = lines.readline()
    if not answer:
        raise ConnectionResetError("the server of the sweep has gone")
    return msgspec.json.decode(answer)


def effects_of(port: int, run: str) -> list[Effect]:
    """Return what a run has done, once none of its processes is connected any more."""
    connection = socket.create_connection(("127.0.0.1", port))
    with connection, connection.makefile("rwb") as lines:
        return msgspec.convert(_ask(lines, ReadAll(run)), list[Effect])


@contextmanager
def effect_server() -> Generator[int]:
    """Run the server in a process of its own; gives its port."""
    command = [sys.executable, str(Path(__file__))]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdin is not None and process.stdout is not None
        try:
            yield int(process.stdout.readline())  # printed when it listens
        finally:
            process.stdin.close()


def main() -> None:
    handler = type("Handler", (_Handler,), {"books": Books()})
    with _Server(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        print(server.server_address[1], flush=True)
        sys.stdin.read()
        server.shutdown()


if __name__ == "__main__":
    main()

"""The bank of `payments`: a server outside the processes that are killed, and how they talk to it.

Workers of all contenders use `charge`, in whatever environment they run: nothing but Python is needed.
"""

import json
import os
import signal
import threading
import urllib.request
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

GO, BEFORE, BEHIND = "go", "before", "behind"
"""What befalls a worker: nothing, or SIGKILL in its step, before or behind the charge."""


class Charge(NamedTuple):
    order: str
    key: str


class Bank:
    """What was charged. With a key, once for each key; without, as often as it is asked to."""

    def __init__(self) -> None:
        self.charges: list[Charge] = []
        self.url = ""
        self._lock = threading.Lock()

    def post(self, order: str, key: str) -> dict[str, Any]:
        with self._lock:
            asked = Charge(order, key)
            if not key or asked not in self.charges:
                self.charges.append(asked)
            return {"paid": order}

    def get(self, order: str) -> dict[str, Any]:
        return {"charges": sum(each.order == order for each in self.charges)}


@contextmanager
def bank() -> Generator[Bank]:
    """Serve a bank on a free port of this machine, for a block."""
    opened = Bank()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            self._answer(opened.post(asked["order"], asked["key"]))

        def do_GET(self) -> None:
            self._answer(opened.get(self.path.removeprefix("/")))

        def _answer(self, answer: dict[str, Any]) -> None:
            body = json.dumps(answer).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        opened.url = f"http://127.0.0.1:{server.server_port}"
        serving = threading.Thread(target=server.serve_forever, daemon=True)
        serving.start()
        try:
            yield opened
        finally:
            server.shutdown()
            serving.join()


def charge(url: str, order: str, key: str, fate: str) -> str:
    """Charge an order, as a payment step does; the process may die before or behind that."""
    if fate == BEFORE:
        os.kill(os.getpid(), signal.SIGKILL)
    body = json.dumps({"order": order, "key": key}).encode()
    answer = _ask(urllib.request.Request(url, body, method="POST"))
    if fate == BEHIND:
        os.kill(os.getpid(), signal.SIGKILL)
    return f"paid {answer['paid']}"


def charges(url: str, order: str) -> int:
    """Ask how often an order was charged."""
    return int(_ask(urllib.request.Request(f"{url}/{order}"))["charges"])


def _ask(request: urllib.request.Request) -> dict[str, Any]:
    with urllib.request.urlopen(request, timeout=30) as response:
        found: dict[str, Any] = json.loads(response.read())
        return found

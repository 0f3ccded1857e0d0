"""The shop of the demo: a real HTTP service on loopback, in a process that is not killed.

It takes its time, so that calls are in flight when their caller dies. Some orders it books before
it answers, whether or not anybody is still there; others it drops when their caller has hung up
before it came to them. It keeps count of what it booked. Orders of a few articles it answers
wrongly, as `FAULTS` says.
"""

import json
import select
import socket
import threading
import time
from collections import Counter
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote

from msgspec import Struct

BEFORE_BOOKING_S = 0.3
AFTER_BOOKING_S = 0.3
SETTLED_S_MAX = 5.0
BUSY_AT_FIRST = "D-20"
"""Article whose first stock request is answered "busy", to be asked again."""


class Fault(Struct, frozen=True, kw_only=True):
    """How orders of an article go wrong: ``times`` for each order (None: always), or only where
    they are for more than ``units_max``. Status 0: it books the order and hangs up."""

    status: int
    body: Any = None
    headers: Mapping[str, str] = {}
    times: int | None = None
    units_max: int | None = None


FAULTS: Mapping[str, Fault] = {
    "Q-429": Fault(
        status=429,
        body={"error": {"message": "too many requests, slow down"}},
        headers={"Retry-After": "1"},
        times=1,
    ),
    "U-503": Fault(status=503, body={"error": "no healthy upstream"}, times=2),
    "H-000": Fault(status=0, times=1),
    "A-400": Fault(
        status=400,
        body={"errors": {"units": ["must be at most 50"]}},
        units_max=50,
    ),
    "P-403": Fault(status=403, body={"error": "this key has no right to order P-403"}),
    "S-409": Fault(status=409, body={"error": "insufficient stock"}),
    "Z-500": Fault(status=500, body={"code": -1, "msg": "库存不足"}),
    "Z-999": Fault(status=500, body={"code": -1, "msg": "今天的月亮很圆"}),
}
"""By article. The last is a sentence nobody recognises."""


class Booking(Struct, frozen=True):
    """One order in the shop's book."""

    order: str
    sku: str
    units: int
    number: str
    key: str | None


class OrderBook:
    """What the shop has booked, and which requests it is working on. Safe to use from threads."""

    def __init__(self) -> None:
        self._lock = threading.Condition()
        self._bookings: list[Booking] = []
        self._working: list[tuple[str, bool]] = []
        self._busy = {BUSY_AT_FIRST}
        self._faults: Counter[str] = Counter()
        self.repeats = 0

    @property
    def bookings(self) -> list[Booking]:
        with self._lock:
            return list(self._bookings)

    def in_flight(self) -> list[tuple[str, bool]]:
        """Return the orders being worked on, and whether each came with a key."""
        with self._lock:
            return list(self._working)

    def book(self, order: str, sku: str, units: int, key: str | None) -> str:
        """Book an order; one whose key is known is answered again and not booked again."""
        with self._lock:
            for known in self._bookings:
                if key is not None and known.key == key:
                    self.repeats += 1
                    return known.number
            number = f"K-{len(self._bookings) + 1:04d}"
            self._bookings.append(Booking(order, sku, units, number, key))
            return number

    def busy(self, sku: str) -> bool:
        """Tell whether the shop is too busy for this request; only ever once for an article."""
        with self._lock:
            was = sku in self._busy
            self._busy.discard(sku)
            return was

    def fault(self, order: str, sku: str, units: int) -> Fault | None:
        """Return how this request goes wrong, if it does."""
        fault = FAULTS.get(sku)
        if fault is None or (fault.units_max is not None and units <= fault.units_max):
            return None
        with self._lock:
            self._faults[order] += 1
            over = fault.times is not None and self._faults[order] > fault.times
        return None if over else fault

    def numbers(self, order: str) -> list[str]:
        """Return the numbers under which an order is booked, once nobody works on it any more."""
        with self._lock:
            self._lock.wait_for(
                lambda: all(each != order for each, _ in self._working), SETTLED_S_MAX
            )
            return [each.number for each in self._bookings if each.order == order]

    @contextmanager
    def working_on(self, order: str, keyed: bool) -> Generator[None]:
        """Note that a request is being worked on."""
        with self._lock:
            self._working.append((order, keyed))
        try:
            yield
        finally:
            with self._lock:
                self._working.remove((order, keyed))
                self._lock.notify_all()


def drops_the_absent(order: str) -> bool:
    """Tell whether the shop leaves an order whose caller has hung up: those of even number."""
    digits = "".join(char for char in order if char.isdigit())
    return bool(digits) and int(digits) % 2 == 0


class _Handler(BaseHTTPRequestHandler):
    book: OrderBook

    def do_GET(self) -> None:
        """Answer /stock/SKU and /orders/ORDER."""
        kind, _, name = unquote(self.path).strip("/").partition("/")
        match kind:
            case "stock" if self.book.busy(name):
                self._answer(503, {"error": "busy"}, {"Retry-After": "0.2"})
            case "stock":
                self._answer(200, {"sku": name, "units": 100})
            case "orders":
                self._answer(200, {"order": name, "numbers": self.book.numbers(name)})
            case _:
                self._answer(404, {"error": f"there is no {self.path}"})

    def do_POST(self) -> None:
        """Book an order: {"order", "sku", "units"}, with an Idempotency-Key or without."""
        length = int(self.headers.get("Content-Length") or 0)
        body: dict[str, Any] = json.loads(self.rfile.read(length) or b"{}")
        key = self.headers.get("Idempotency-Key")
        order, sku, units = str(body["order"]), str(body["sku"]), int(body["units"])
        fault = self.book.fault(order, sku, units)
        if fault is not None and fault.status:
            self._answer(fault.status, fault.body, fault.headers)
            return
        with self.book.working_on(order, key is not None):
            time.sleep(BEFORE_BOOKING_S)
            if drops_the_absent(order) and self._caller_has_gone():
                return
            number = self.book.book(order, sku, units, key)
            if fault is not None:
                self.close_connection = True
                return
            time.sleep(AFTER_BOOKING_S)
            self._answer(201, {"order": order, "number": number})

    def _caller_has_gone(self) -> bool:
        readable, _, _ = select.select([self.connection], [], [], 0)
        return bool(readable) and self.connection.recv(1, socket.MSG_PEEK) == b""

    def _answer(self, status: int, body: object, headers: Mapping[str, str] | None = None) -> None:
        data = json.dumps(body, ensure_ascii=False).encode()
        with suppress(OSError):  # whoever asked may have been killed meanwhile
            self.send_response(status)
            for name, value in {"Content-Type": "application/json", **(headers or {})}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: standard error is for the demo."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request: object, client_address: object) -> None:
        """A caller that was killed is part of the plot."""


@contextmanager
def order_service() -> Generator[tuple[str, OrderBook]]:
    """Run the shop in threads of this process; gives its address and its book."""
    book = OrderBook()
    handler = type("Handler", (_Handler,), {"book": book})
    server = _Server(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", book
    finally:
        server.shutdown()
        thread.join()
        server.server_close()

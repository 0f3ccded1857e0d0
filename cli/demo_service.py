"""The shop of the demo: a real HTTP service on loopback, in a process that is not killed.

It takes its time, so that calls are in flight when their caller dies. Some orders it books before
it answers, whether or not anybody is still there; others it drops when their caller has hung up
before it came to them. It keeps count of what it booked, and what it was asked to cancel. Orders of
a few articles it answers wrongly, as `FAULTS` says; those of `SILENT` it books and never answers.
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

import msgspec
from msgspec import Struct

BEFORE_BOOKING_S = 0.3
AFTER_BOOKING_S = 0.3
SETTLED_S_MAX = 5.0
SILENT_S_MAX = 50.0
"""Seconds that the shop keeps a caller waiting for nothing, if that does not hang up before."""

GONE_POLL_S = 0.02
SILENT = "W-000"
"""Article whose orders are booked at once and never answered."""

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
    """One order in the shop's book; one that was cancelled stays in it."""

    order: str
    sku: str
    units: int
    number: str
    key: str | None
    cancelled: bool = False


class OrderBook:
    """What the shop has booked, and which requests it is working on. Safe to use from threads."""

    def __init__(self) -> None:
        self._lock = threading.Condition()
        self._bookings: list[Booking] = []
        self._working: list[tuple[str, bool]] = []
        self._busy = {BUSY_AT_FIRST}
        self._faults: Counter[str] = Counter()
        self._kept_waiting: set[str] = set()
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
            self._lock.notify_all()
            return number

    def cancel(self, number: str) -> bool:
        """Cancel an order; False where there is none, or none any more."""
        with self._lock:
            for at, known in enumerate(self._bookings):
                if known.number == number and not known.cancelled:
                    self._bookings[at] = msgspec.structs.replace(known, cancelled=True)
                    return True
            return False

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

    def numbers(self, order: str, *, awaited: bool = False) -> list[str]:
        """Return the numbers under which an order is booked, once nobody works on it any more.

        Args:
            awaited: wait for its booking too: the order may still be on its way.
        """

        def found() -> list[str]:
            return [each.number for each in self._bookings if each.order == order]

        def settled() -> bool:
            busy = any(each == order for each, _ in self._working)
            return not busy and bool(found() or not awaited)

        with self._lock:
            self._lock.wait_for(settled, SETTLED_S_MAX)
            return found()

    def keeps_waiting(self, order: str) -> bool:
        """Tell whether somebody waits for an answer to this order, which is booked."""
        with self._lock:
            return order in self._kept_waiting

    @contextmanager
    def silent_about(self, order: str) -> Generator[None]:
        """Note that somebody is kept waiting."""
        with self._lock:
            self._kept_waiting.add(order)
        try:
            yield
        finally:
            with self._lock:
                self._kept_waiting.discard(order)

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
        """Answer /stock/SKU, /orders/ORDER, and /settled/ORDER: the same, when it has come in."""
        kind, _, name = unquote(self.path).strip("/").partition("/")
        match kind:
            case "stock" if self.book.busy(name):
                self._answer(503, {"error": "busy"}, {"Retry-After": "0.2"})
            case "stock":
                self._answer(200, {"sku": name, "units": 100})
            case "orders":
                self._answer(200, {"order": name, "numbers": self.book.numbers(name)})
            case "settled":
                numbers = self.book.numbers(name, awaited=True)
                self._answer(200, {"order": name, "numbers": numbers})
            case _:
                self._answer(404, {"error": f"there is no {self.path}"})

    def do_POST(self) -> None:
        """Book at /orders: {"order", "sku", "units"}, or cancel at /cancel: {"number"}."""
        length = int(self.headers.get("Content-Length") or 0)
        body: dict[str, Any] = json.loads(self.rfile.read(length) or b"{}")
        if self.path == "/cancel":
            self._answer(200, {"cancelled": self.book.cancel(str(body["number"]))})
        else:
            self._order(body, self.headers.get("Idempotency-Key"))

    def _order(self, body: dict[str, Any], key: str | None) -> None:
        """Book an order, with an Idempotency-Key or without."""
        order, sku, units = str(body["order"]), str(body["sku"]), int(body["units"])
        fault = self.book.fault(order, sku, units)
        if fault is not None and fault.status:
            self._answer(fault.status, fault.body, fault.headers)
            return
        if sku == SILENT:
            self._book_and_say_nothing(order, units, key)
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

    def _book_and_say_nothing(self, order: str, units: int, key: str | None) -> None:
        """Book, and keep whoever ordered waiting until they hang up, or die."""
        self.close_connection = True
        with self.book.working_on(order, key is not None):
            self.book.book(order, SILENT, units, key)
        give_up_at = time.monotonic() + SILENT_S_MAX
        with self.book.silent_about(order):
            while time.monotonic() < give_up_at and not self._caller_has_gone():
                time.sleep(GONE_POLL_S)

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

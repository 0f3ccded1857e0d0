"""Owners: a name for this process, and whether the process behind a name is certainly gone.

A killed process leaves its sessions owned until its lease ends. On the same machine one need not
wait: a process whose id is no longer there, or belongs to another one by now, cannot come back.
Wherever that is not certain (another machine, another container, no ``/proc``) the answer is no.
"""

import os
import secrets
import socket
from pathlib import Path

from msgspec import Struct

_PROC = Path("/proc")
_UNKNOWN = "-"

GONE_MAX = 1_000
_gone: set[str] = set()
"""Names whose process was found gone: none comes back, and a thousand sessions may be of the same one."""


class Owner(Struct, frozen=True):
    """What an owner's name says: ``host/boot/namespace/pid/start/nonce``.

    ``boot``: the machine's boot id, ``namespace``: the process id namespace, ``start``: the
    process's start in clock ticks since boot. ``-`` where unknown. ``host`` is for people.
    """

    host: str
    boot: str
    namespace: str
    pid: int
    start: str
    nonce: str

    def __str__(self) -> str:
        return "/".join(
            (self.host, self.boot, self.namespace, str(self.pid), self.start, self.nonce)
        )


class Machine(Struct, frozen=True):
    """What makes process ids comparable: the machine's boot and the namespace they count in."""

    boot: str
    namespace: str


def owner_id() -> str:
    """Return a fresh name for a runtime of this process; no two calls give the same."""
    here = this_machine()
    start = process_start(os.getpid())
    host = socket.gethostname().replace("/", "_") or _UNKNOWN
    nonce = secrets.token_hex(4)
    return str(Owner(host, here.boot, here.namespace, os.getpid(), start or _UNKNOWN, nonce))


def owner_is_dead(owner: str) -> bool:
    """Tell whether the process that made this name is certainly gone; False when unknown."""
    if owner in _gone:
        return True
    dead = _is_gone(owner)
    if dead:
        if len(_gone) >= GONE_MAX:
            _gone.clear()
        _gone.add(owner)
    return dead


def _is_gone(owner: str) -> bool:
    parsed = parse_owner(owner)
    here = this_machine()
    if parsed is None or not comparable(parsed, here):
        return False
    try:
        stat = (_PROC / str(parsed.pid) / "stat").read_text(errors="replace")
    except OSError:
        return _is_absent(parsed.pid)
    return parse_start(stat) != parsed.start


def _is_absent(pid: int) -> bool:
    """Ask the kernel: ``/proc`` may hide the processes of other users."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        return False
    return False


def parse_owner(owner: str) -> Owner | None:
    """Read an owner's name, None where it was not made by ``owner_id``."""
    parts = owner.split("/")
    if len(parts) != 6 or not parts[3].isascii() or not parts[3].isdigit():
        return None
    host, boot, namespace, pid, start, nonce = parts
    return Owner(host, boot, namespace, int(pid), start, nonce)


def comparable(owner: Owner, here: Machine) -> bool:
    """Tell whether the owner's process id means something on this machine."""
    known = _UNKNOWN not in (owner.boot, owner.namespace, owner.start)
    return known and (owner.boot, owner.namespace) == (here.boot, here.namespace)


def parse_start(stat: str) -> str | None:
    """Return the start time in the text of ``/proc/PID/stat``, None for a dead process's rest.

    The command's name stands in brackets and may hold anything, brackets and spaces included.
    """
    fields = stat.rpartition(")")[2].split()
    if len(fields) < 20 or fields[0] in ("Z", "X", "x"):
        return None
    return fields[19]


def process_start(pid: int) -> str | None:
    """Return when a process started, None when it is not there."""
    try:
        return parse_start((_PROC / str(pid) / "stat").read_text(errors="replace"))
    except OSError:
        return None


def this_machine() -> Machine:
    """Return the machine this process runs on."""
    try:
        boot = (_PROC / "sys/kernel/random/boot_id").read_text().strip()
        # "pid:[4026531836]"
        namespace = os.readlink(_PROC / "self/ns/pid").partition("[")[2].rstrip("]")
    except OSError:
        return Machine(_UNKNOWN, _UNKNOWN)
    return Machine(boot or _UNKNOWN, namespace or _UNKNOWN)

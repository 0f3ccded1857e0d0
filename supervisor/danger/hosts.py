"""Hosts: which machine an address leads to, also where it tries to look like another. Pure.

No name is resolved: a public name may still lead to a private machine.
"""

import ipaddress
import socket
from collections.abc import Iterable
from enum import Enum
from fnmatch import fnmatchcase
from urllib.parse import unquote, urlsplit

from msgspec import Struct

from ..patterns import lazy_pattern

# Answer anybody on the machine with the credentials of the machine: AWS, ECS, GCP, Azure, Alibaba,
# Oracle.
_METADATA = frozenset(
    (
        *("169.254.169.254", "169.254.170.2", "100.100.100.200", "192.0.0.192", "fd00:ec2::254"),
        *("metadata.google.internal", "metadata.goog", "metadata", "instance-data"),
    )
)
_LOCAL_NAMES = ("localhost", "*.localhost", "*.local", "host.docker.internal", "0.0.0.0", "::")
_PRIVATE = tuple(
    ipaddress.ip_network(each)
    for each in (
        *("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "169.254.0.0/16"),
        *("fc00::/7", "fe80::/10"),
    )
)
_URL = lazy_pattern(r"\b[a-zA-Z][a-zA-Z0-9+.-]{0,20}://(?:\[[^\s\]]*\])?[^\s\"'<>`|;)}\]]*")
_NUMERIC = lazy_pattern(r"(?:0[xX][0-9a-fA-F]+|\d+)(?:\.(?:0[xX][0-9a-fA-F]+|\d+)){0,3}")


class Reach(Enum):
    """How far away a host is."""

    LOCAL = "local"
    METADATA = "metadata"
    PRIVATE = "private"
    PUBLIC = "public"


class Host(Struct, frozen=True):
    """The host of an address.

    ``by_number``: written as a number and not as a name. ``disguised``: in words, what about it may
    be meant to mislead; empty if nothing is.
    """

    name: str
    reach: Reach
    by_number: bool = False
    disguised: str = ""

    def is_one_of(self, patterns: Iterable[str]) -> bool:
        """Tell whether a pattern fits: a name, ``*.example.com`` for those below, or a number.

        A host that is disguised fits none.
        """
        return not self.disguised and any(
            fnmatchcase(self.name, each.lower().rstrip(".")) for each in patterns
        )


def host_of(address: str) -> Host | None:
    """Return the host of a URL, or of ``host/path`` without a scheme; None where there is none."""
    try:
        parts = urlsplit(address if "://" in address else f"//{address}")
        name = (parts.hostname or "").rstrip(".")
        userinfo = parts.username or ""
    except ValueError:
        return Host(address, Reach.PUBLIC, disguised="the address cannot be read")
    return host_named(name, userinfo) if name else None


def host_named(name: str, userinfo: str = "") -> Host:
    """Return what a host's name or number tells; ``userinfo`` is what stood before an ``@``."""
    plain = unquote(name).lower().strip("[]").rstrip(".")
    number = _number(plain)
    written = str(number) if number is not None else plain
    return Host(
        written,
        _reach(written, number),
        by_number=number is not None,
        disguised=_disguise(name, plain, written, userinfo),
    )


def hosts_in(text: str) -> tuple[Host, ...]:
    """Return the hosts of all addresses with a scheme in a text, each once."""
    if "://" not in text:
        return ()
    found = (host_of(match[0]) for match in _URL.finditer(text))
    return tuple(dict.fromkeys(host for host in found if host is not None))


def _number(name: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Return the address that a program takes a number for, in any of the old spellings."""
    try:
        found = ipaddress.ip_address(name.partition("%")[0])
    except ValueError:
        if not _NUMERIC.fullmatch(name):
            return None
        try:
            return ipaddress.IPv4Address(socket.inet_aton(name))
        except OSError:
            return None
    mapped = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None
    return mapped or found


def _reach(name: str, number: ipaddress.IPv4Address | ipaddress.IPv6Address | None) -> Reach:
    if name in _METADATA:
        return Reach.METADATA
    if any(fnmatchcase(name, each) for each in _LOCAL_NAMES):
        return Reach.LOCAL
    if number is None:
        return Reach.PUBLIC if "." in name else Reach.PRIVATE
    if number.is_loopback:
        return Reach.LOCAL
    # Not `is_private`, which takes addresses of examples for such ones, and changes with versions.
    own = any(number in each for each in _PRIVATE if each.version == number.version)
    return Reach.PRIVATE if own else Reach.PUBLIC


def _disguise(name: str, plain: str, written: str, userinfo: str) -> str:
    if "." in userinfo:
        return f"what stands before the @ looks like the host {unquote(userinfo)}"
    if not plain.isascii() or any(part.startswith("xn--") for part in plain.split(".")):
        return "the name has characters that may look like others"
    if "%" in name and ":" not in name:
        return "the name is written in codes"
    if written != plain and ":" not in plain:
        return f"the number stands for {written}"
    return ""

"""One program of a command line with what it gets, and what its paths and hosts put at risk. Pure."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from types import MappingProxyType

from msgspec import Struct

from ..danger.hosts import Host, Reach
from ..danger.paths import UNKNOWN, PathGlobs, Place, Where, place_of
from ..danger.risks import Risk
from .expand import Field

SYSTEM_FOLDERS = ("/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/local/bin", "/opt/homebrew/bin")
_SETTINGS = ("/etc", "/boot", "/proc", "/sys", "/lib", "/usr/lib", "/root", "/Library")
# What a wildcard may stand for, where the plain text of a word is no sensitive path.
_EXAMPLES = (".env", ".ssh", "id_rsa", "credentials", ".netrc", "shadow", "secrets.json")


class Limits(Struct, frozen=True, kw_only=True):
    """What a command is held against: the workspace, and the lists of the policy."""

    workspace: str
    protected: PathGlobs
    sensitive: PathGlobs
    disposable: PathGlobs
    trusted_hosts: tuple[str, ...]


class Scope(Struct, frozen=True, kw_only=True):
    """What is known where a program stands.

    ``directories``: where it may run; more than one after ``cd``, which may fail. ``fetched``: paths
    that the command downloads. ``links``: links that the command makes, with where they lead. ``changed``
    collects the places that are written or deleted.
    """

    limits: Limits
    directories: tuple[str, ...]
    names: Mapping[str, tuple[str, ...]]
    functions: frozenset[str] = frozenset()
    fetched: frozenset[str] = frozenset()
    links: Mapping[str, Place] = MappingProxyType({})
    changed: list[Place] | None = None

    def places(self, text: str) -> tuple[Place, ...]:
        """Return where a path may lead."""
        workspace = self.limits.workspace
        found = (place_of(text, each, workspace) for each in self.directories)
        return tuple(dict.fromkeys(self._through(each) for each in found))

    def changes(self, text: str) -> tuple[Place, ...]:
        """Return where a path may lead that is written or deleted."""
        found = self.places(text)
        if self.changed is not None:
            self.changed.extend(found)
        return found

    def _through(self, place: Place) -> Place:
        """Follow a link that the same command has made."""
        for link, target in self.links.items():
            if place.path.startswith(f"{link}/"):
                return Place(target.where, target.path + place.path[len(link) :])
        return place


class Call(Struct, frozen=True, kw_only=True):
    """A program with its arguments.

    ``given``: what stands on its standard input; None if nobody knows or nothing does. ``piped``:
    another program writes to its standard input; ``upstream`` names those. ``listed``: a pattern for
    the names that come in, where they are those of files in the workspace. ``source``: as typed.
    """

    program: str
    arguments: tuple[Field, ...] = ()
    given: str | None = None
    piped: bool = False
    upstream: tuple[str, ...] = ()
    listed: str = ""
    source: str = ""


class Runs(Struct, frozen=True):
    """A program that runs another: the words of the other."""

    words: tuple[Field, ...]


class RunsText(Struct, frozen=True):
    """A program that runs a command line: its text."""

    text: str


Finding = Risk | Runs | RunsText
Handler = Callable[[Call, Scope], Iterator[Finding]]


# ---------------------------------------------------------------- options


class Options(Struct, frozen=True):
    """Arguments sorted: flags as written (``-r``, ``--force``), values by option, and operands."""

    flags: frozenset[str]
    values: tuple[tuple[str, Field], ...]
    operands: tuple[Field, ...]

    def has(self, *names: str) -> bool:
        """Tell whether a flag or option is given; long ones may be cut short."""
        given = self.flags | {name for name, _ in self.values}
        return any(
            name in given
            or (name.startswith("--") and any(len(g) > 4 and name.startswith(g) for g in given))
            for name in names
        )

    def of(self, *names: str) -> tuple[Field, ...]:
        """Return the values of an option, under any of its names."""
        return tuple(value for name, value in self.values if name in names)


def options(call: Call, valued: str = "", long: Iterable[str] = ()) -> Options:
    """Sort a program's arguments.

    Args:
        valued: letters of the short options that take a value, from the same word or the next.
        long: long options that take a value, also single-dash ones such as ``-name``.
    """
    takers = frozenset(long)
    flags: set[str] = set()
    values: list[tuple[str, Field]] = []
    operands: list[Field] = []
    rest = iter(call.arguments)
    for each in rest:
        text = each.text
        if text == "--":
            operands.extend(rest)
        elif text in takers:
            values.append((text, next(rest, Field(""))))
        elif text.startswith("--"):
            name, equals, value = text.partition("=")
            if equals:
                values.append((name, Field(value, each.globs, each.splits)))
            else:
                flags.add(name)
        elif text.startswith("-") and len(text) > 1:
            _short(text, valued, flags, values, rest)
        else:
            operands.append(each)
    return Options(frozenset(flags), tuple(values), tuple(operands))


def _short(
    text: str,
    valued: str,
    flags: set[str],
    values: list[tuple[str, Field]],
    rest: Iterator[Field],
) -> None:
    flags.add(text)
    for at, letter in enumerate(text[1:], 2):
        if letter in valued:
            found = Field(text[at:]) if text[at:] else next(rest, Field(""))
            values.append((f"-{letter}", found))
            return
        flags.add(f"-{letter}")


# ---------------------------------------------------------------- paths


def writes(scope: Scope, path: Field, verb: str = "writes to") -> Iterator[Risk]:
    """What writing to a path puts at risk."""
    for place in scope.changes(path.text):
        found = _write(scope, place, verb)
        if found is not None:
            yield found


def _write(scope: Scope, place: Place, verb: str) -> Risk | None:
    shown = place.shown
    match place.where:
        case Where.STREAM:
            return None
        case Where.UNKNOWN:
            return Risk("unclear", f"{verb} {shown}, a path that is known only when it runs")
        case Where.OUTSIDE if place.path.startswith(("/dev/tcp", "/dev/udp")):
            return Risk("network", f"opens a connection through {shown}")
        case Where.OUTSIDE if place.path.startswith("/dev/"):
            return Risk("destroy", f"{verb} the device {shown}")
        case Where.OUTSIDE if is_settings(place):
            return Risk("config", f"{verb} {shown}, which configures the machine or the user")
        case Where.OUTSIDE:
            return Risk("outside", f"{verb} {shown}, outside the workspace")
        case _ if scope.limits.protected.match(place):
            return Risk("config", f"{verb} {shown}, which is protected")
        case _:
            return None


def is_settings(place: Place) -> bool:
    """Tell whether a place outside belongs to the settings of the machine or the user."""
    path = place.path
    below = any(path == each or path.startswith(f"{each}/") for each in _SETTINGS)
    return below or (path.startswith(("~/.", "/home/")) and "/." in path)


def reads(scope: Scope, path: Field) -> Iterator[Risk]:
    """What reading a path puts at risk: credentials come into the conversation."""
    for place in scope.places(path.text):
        if is_sensitive(scope.limits, place, globs=path.globs):
            yield Risk("credentials", f"reads {place.shown}, which may hold secrets")
            return


def is_sensitive(limits: Limits, place: Place, *, globs: bool = False) -> bool:
    """Tell whether a place may hold secrets; with wildcards, whether they may stand for such one."""
    if limits.sensitive.match(place):
        return True
    folder, _, name = place.path.rpartition("/")
    if not globs or name.strip("*?") in ("", "."):
        return globs and name == ".*"
    # A wildcard at the start does not stand for a dot.
    fitting = (each for each in _EXAMPLES if not each.startswith(".") or name.startswith("."))
    return any(
        fnmatchcase(each, name) and limits.sensitive.match(Place(Where.OUTSIDE, f"{folder}/{each}"))
        for each in fitting
    )


def deletes(
    scope: Scope, path: Field, *, recursive: bool = False, verb: str = "deletes"
) -> Iterator[Risk]:
    """What deleting a path puts at risk; nothing where the policy says that it is made again."""
    for place in scope.changes(path.text):
        if place.is_top and recursive and place.where is not Where.UNKNOWN:
            yield Risk("destroy", f"{verb} everything under {place.shown}")
        elif _loses_root(place, path) and recursive:
            yield Risk("delete", f"{verb} everything under / if {place.shown} begins empty")
        elif recursive or not scope.limits.disposable.match(place):
            yield Risk("delete", f"{verb} {_deleted(place, recursive)}")


def _loses_root(place: Place, path: Field) -> bool:
    return place.where is Where.UNKNOWN and path.text.startswith(f"{UNKNOWN}/")


def _deleted(place: Place, recursive: bool) -> str:
    shown = place.shown
    outside = ", outside the workspace" if place.where is Where.OUTSIDE else ""
    if place.where is Where.UNKNOWN:
        return f"{shown}, which is known only when it runs"
    if not recursive:
        return f"{shown}{outside}"
    whole = "all of the workspace" if shown in (".", "*") else f"files recursively under {shown}"
    return f"{whole}{outside}"


# ---------------------------------------------------------------- hosts


def asks_host(host: Host, trusted: tuple[str, ...]) -> Iterator[Risk]:
    """What a request that only reads puts at risk."""
    if host.reach is Reach.METADATA:
        yield Risk("credentials", f"asks {host.name}, which gives out the machine's credentials")
    elif host.disguised:
        yield Risk("network", f"talks to {host.name}: {host.disguised}")
    elif host.by_number and host.reach is not Reach.LOCAL and not host.is_one_of(trusted):
        yield Risk("network", f"talks to {host.name}, a machine without a name")


def sends_to(host: Host, trusted: tuple[str, ...]) -> Iterator[Risk]:
    """What sending something to a host puts at risk."""
    found = list(asks_host(host, trusted))
    yield from found
    if not found and host.reach is not Reach.LOCAL and not host.is_one_of(trusted):
        yield Risk("network", f"sends data to {host.name}")

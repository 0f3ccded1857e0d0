"""One look at a tree: walk it, note what differs from what is known, and what must be read."""

import errno
import os
import stat
import time
from collections.abc import Callable, Mapping

from msgspec import Struct

from .entries import Link, Uncovered
from .folders import FOLDER, Facts, bits_of, facts_of, read_file, seen_at
from .nodes import UNSETTLED, Node, Spot, settled
from .rules import IGNORE_FILE, Exclusions, Rules, exclusions_of, readable

TEMPORARY = b".ukemi-restore-"
"""How the names begin under which a restore writes; no look sees them."""

DEPTH_MAX = 200
IGNORE_BYTES_MAX = 1 << 20
_IGNORE_NAME = os.fsencode(IGNORE_FILE)

Only = dict[bytes, "Only | None"]
"""The names to look at in a folder; of a folder without names of its own, all that is inside."""


class Reading(Struct, frozen=True):
    """Files of one folder that must be read."""

    spot: Spot
    names: list[bytes]


class Ignored(Struct, frozen=True):
    """What an ignore file in the tree says, as of when it was read."""

    facts: Facts
    above: tuple[bytes, ...]
    exclusions: Exclusions


class Look:
    """A walk through a tree.

    Args:
        rules: what is left out.
        ignored: what earlier looks read in ignore files; by the names that lead to their folders.
        pause: called between two folders; may raise, after which what is known is still right.
        clock_ns: nanoseconds since the epoch, by the clock that stamps files.
    """

    def __init__(
        self,
        rules: Rules,
        ignored: dict[tuple[bytes, ...], Ignored],
        *,
        pause: Callable[[], None],
        clock_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        self._rules = rules
        self._ignored = ignored
        self._pause = pause
        self._clock_ns = clock_ns
        self.readings: list[Reading] = []

    def at(self, folder: int, top: Node, only: Only | None) -> None:
        """Look at a whole tree, or at some paths of it."""
        self._folder(folder, Spot((), (top,)), exclusions_of(self._rules), only)

    def _folder(self, folder: int, spot: Spot, above: Exclusions, only: Only | None) -> None:
        self._pause()
        seen = os.fstat(folder)
        if spot.node.mode != bits_of(seen):
            spot.node.mode = bits_of(seen)
            spot.outdate()
        inner = self._exclusions(folder, spot, above)
        if only is None:
            self._whole(folder, spot, inner, facts_of(seen))
        else:
            self._some(folder, spot, inner, only)

    def _whole(self, folder: int, spot: Spot, rules: Exclusions, facts: Facts) -> None:
        node = spot.node
        if node.listed != facts or node.rules != rules.key:
            listed = settled(facts, self._clock_ns())
            self._list(folder, spot, rules)
            node.listed = None if listed == UNSETTLED else listed
            node.rules = rules.key
        self._sort(folder, spot, differing(folder, node.files))
        for name in list(node.folders):
            self._inner(folder, spot, name, rules, None)

    def _list(self, folder: int, spot: Spot, rules: Exclusions) -> None:
        """Bring the names that are known of a folder up to date."""
        node, there = spot.node, set[bytes]()
        with os.scandir(folder) as found:
            for one in found:
                name = os.fsencode(one.name)
                there.add(name)
                is_folder = one.is_dir(follow_symlinks=False)
                if reason := self._reason(spot, name, rules, is_folder):
                    spot.leave_out(name, reason)
                elif is_folder:
                    spot.expect_folder(name)
                elif name not in node.files and not name.startswith(TEMPORARY):
                    spot.forget(name)
                    node.files[name] = UNSETTLED
        for name in (node.files.keys() | node.entries.keys() | node.folders.keys()) - there:
            spot.forget(name)

    def _some(self, folder: int, spot: Spot, rules: Exclusions, only: Only) -> None:
        node, names = spot.node, list[bytes]()
        for name, inner in only.items():
            seen = seen_at(folder, name)
            if seen is None:
                spot.forget(name)
                continue
            is_folder = stat.S_ISDIR(seen.st_mode)
            if reason := self._reason(spot, name, rules, is_folder):
                spot.leave_out(name, reason)
            elif is_folder:
                spot.expect_folder(name)
                self._inner(folder, spot, name, rules, inner)
            elif node.files.get(name) != facts_of(seen):
                names.append(name)
        self._sort(folder, spot, names)

    def _reason(self, spot: Spot, name: bytes, rules: Exclusions, is_folder: bool) -> str | None:
        """Return why a name is not covered, as far as the name tells."""
        if name == b".git":
            return "git"
        if is_folder and len(spot.parts) >= DEPTH_MAX:
            return "too deep"
        if rules.any:
            path = os.fsdecode(b"/".join((*spot.parts, name)))
            return "excluded" if rules.exclude(path, is_folder=is_folder) else None
        return None

    def _sort(self, folder: int, spot: Spot, names: list[bytes]) -> None:
        """Note what lies under names that look new or changed; files are read later."""
        files = [name for name in names if self._must_be_read(folder, spot, name)]
        if files:
            self.readings.append(Reading(spot, files))

    def _must_be_read(self, folder: int, spot: Spot, name: bytes) -> bool:
        now_ns = self._clock_ns()
        try:
            seen = seen_at(folder, name)
            target = (
                os.readlink(name, dir_fd=folder)
                if seen is not None and stat.S_ISLNK(seen.st_mode)
                else b""
            )
        except OSError as error:
            _unsure(spot, name, "unreadable" if error.errno == errno.EACCES else "changing")
            return False
        if seen is None:
            spot.forget(name)
            spot.node.listed = None
            return False
        facts = settled(facts_of(seen), now_ns)
        match stat.S_IFMT(seen.st_mode):
            case stat.S_IFREG if seen.st_size <= self._rules.size_max:
                spot.node.files[name] = UNSETTLED
                return True
            case stat.S_IFREG:
                spot.note(name, Uncovered("too large"), facts)
            case stat.S_IFLNK:
                spot.note(name, Link(target), facts)
            case stat.S_IFDIR:
                _unsure(spot, name, "changing")
            case _:
                spot.note(name, Uncovered("special"), facts)
        return False

    def _inner(
        self, folder: int, spot: Spot, name: bytes, rules: Exclusions, only: Only | None
    ) -> None:
        """Look at a folder inside; one that cannot be opened is not covered this time."""
        try:
            inner = os.open(name, FOLDER, dir_fd=folder)
        except FileNotFoundError:
            spot.forget(name)
            spot.node.listed = None
            return
        except OSError as error:
            _unsure(spot, name, "unreadable" if error.errno == errno.EACCES else "changing")
            return
        try:
            self._folder(inner, spot.into(name), rules, only)
        except OSError:
            _unsure(spot, name, "unreadable")
        finally:
            os.close(inner)

    def _exclusions(self, folder: int, spot: Spot, above: Exclusions) -> Exclusions:
        """Return what is excluded in a folder, its own ignore file included."""
        if not self._rules.gitignore:
            return above
        seen = seen_at(folder, _IGNORE_NAME)
        if seen is None:
            return above
        known = self._ignored.get(spot.parts)
        if known and known.facts == facts_of(seen) and known.above == above.key:
            return known.exclusions
        now_ns = self._clock_ns()
        read = read_file(folder, _IGNORE_NAME, IGNORE_BYTES_MAX)
        if isinstance(read, Uncovered):
            return above
        path = "".join(os.fsdecode(name) + "/" for name in spot.parts)
        lines = read.data.decode(errors="surrogateescape").splitlines()
        made = above.below(path, readable(lines))
        self._ignored[spot.parts] = Ignored(settled(read.facts, now_ns), above.key, made)
        return made


def differing(folder: int, files: Mapping[bytes, Facts]) -> list[bytes]:
    """Return the names whose facts are not those known. All of an unchanged tree's time is spent here."""
    found: list[bytes] = []
    look = os.stat
    for name, facts in files.items():
        try:
            seen = look(name, dir_fd=folder, follow_symlinks=False)
        except OSError:
            found.append(name)
            continue
        if facts != (seen.st_mtime_ns, seen.st_ctime_ns, seen.st_size, seen.st_ino):
            found.append(name)
    return found


def _unsure(spot: Spot, name: bytes, reason: str) -> None:
    """Leave a name out this time, and list its folder again the next."""
    spot.leave_out(name, reason)
    spot.node.listed = None

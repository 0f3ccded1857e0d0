"""Programs that read, write, move and delete files: what they put at risk. Pure."""

import posixpath
import re
from collections.abc import Iterator
from itertools import pairwise, product

from ..danger.paths import UNKNOWN, Where
from ..danger.risks import Risk
from ..danger.sensitive import names_secret
from ..patterns import lazy_pattern
from .calls import (
    Call,
    Finding,
    Handler,
    Runs,
    Scope,
    deletes,
    is_sensitive,
    options,
    reads,
    writes,
)
from .expand import Field


def _rm(call: Call, scope: Scope) -> Iterator[Finding]:
    given = options(call)
    recursive = given.has("-r", "-R", "--recursive") or call.program == "rmdir"
    if given.has("--no-preserve-root"):
        yield Risk("destroy", "deletes the root folder")
    if not given.operands:
        # Names come from elsewhere (xargs): what they are is not known.
        yield Risk("delete", f"deletes what {call.upstream[-1] if call.upstream else 'is'} named")
    for path in given.operands:
        # An empty folder is no loss, but one outside is none of ours.
        if call.program == "rmdir":
            if any(each.where is not Where.INSIDE for each in scope.places(path.text)):
                yield from deletes(scope, path)
        else:
            yield from deletes(scope, path, recursive=recursive)


def _shred(call: Call, scope: Scope) -> Iterator[Finding]:
    for path in options(call, "ns", ("--iterations", "--size")).operands:
        yield Risk("delete", f"destroys {path.shown} beyond recovery")
        yield from writes(scope, path, "destroys")


def _truncate(call: Call, scope: Scope) -> Iterator[Finding]:
    for path in options(call, "sr", ("--size", "--reference")).operands:
        yield Risk("delete", f"cuts {path.shown} short")
        yield from writes(scope, path)


def _mv(call: Call, scope: Scope) -> Iterator[Finding]:
    given = options(call, "tS", ("--target-directory", "--suffix"))
    target = (*given.of("-t", "--target-directory"), *given.operands[-1:])
    if not target:
        yield Risk("unclear", "moves files that are not named")
        return
    sources = given.operands if given.of("-t", "--target-directory") else given.operands[:-1]
    yield from writes(scope, target[0], "moves files to")
    stays = all(each.where is Where.INSIDE for each in scope.places(target[0].text))
    yield from _arrivals(scope, target, sources, "moves files to")
    for path in sources:
        yield from reads(scope, path)
        inside = all(each.where is Where.INSIDE for each in scope.places(path.text))
        if not (stays and inside):
            yield Risk("delete", f"moves {path.shown} away to {target[0].shown}")
        yield from writes(scope, path, "moves")


def _cp(call: Call, scope: Scope) -> Iterator[Finding]:
    given = options(call, "tSmog", ("--target-directory", "--suffix", "--mode", "--owner"))
    named = given.of("-t", "--target-directory")
    target = named or given.operands[-1:]
    sources = given.operands if named else given.operands[:-1]
    for path in sources:
        yield from reads(scope, path)
    yield from _arrivals(scope, target, sources, "copies files to")
    for path in target:
        yield from writes(scope, path, "copies files to")
        if any(each.text in ("/dev/null", "/dev/zero") for each in given.operands[:-1]):
            yield Risk("delete", f"empties {path.shown}")


def _arrivals(
    scope: Scope, target: tuple[Field, ...], sources: tuple[Field, ...], verb: str
) -> Iterator[Finding]:
    """Into a folder, files come under the names they have: into one that is written so, or holds several."""
    for folder, path in product(target, sources):
        text = folder.text
        if text in (".", "..") or text.endswith(("/", "/.", "/..")) or len(sources) > 1:
            name = posixpath.basename(path.text.rstrip("/"))
            yield from writes(scope, Field(f"{text.rstrip('/')}/{name}", path.globs), verb)


def _ln(call: Call, scope: Scope) -> Iterator[Finding]:
    given = options(call, "tS", ("--target-directory", "--suffix"))
    for path in given.operands[:-1] or given.operands:
        yield from reads(scope, path)
        yield from _leads_up(scope, path)
    at = given.operands[-1:]
    if len(given.operands) == 1:  # named after what it leads to, right here
        at = (Field(posixpath.basename(at[0].text.rstrip("/")) or "."),)
    for path in given.of("-t", "--target-directory") or at:
        yield from writes(scope, path, "makes a link at")


def _leads_up(scope: Scope, path: Field) -> Iterator[Finding]:
    """Behind a link to a folder above, or to a home, all that is outside looks like a part of the
    workspace, to every command that follows."""
    for place in scope.places(path.text):
        above = scope.limits.workspace.startswith(place.path.rstrip("/") + "/")
        if place.where is Where.OUTSIDE and (above or place.is_top):
            yield Risk("outside", f"makes a link to {path.shown}, which leads out of the workspace")
            return


def _dd(call: Call, scope: Scope) -> Iterator[Finding]:
    for each in call.arguments:
        name, _, value = each.text.partition("=")
        if name == "of":
            yield from writes(scope, Field(value))
            yield Risk("delete", f"overwrites {Field(value).shown} block by block")
        elif name == "if":
            yield from reads(scope, Field(value))


def _tee(call: Call, scope: Scope) -> Iterator[Finding]:
    for path in options(call).operands:
        yield from writes(scope, path)


def _makes(call: Call, scope: Scope) -> Iterator[Finding]:
    """mkdir, touch and their like: every operand is made."""
    given = options(call, "mrtd", ("--mode", "--reference", "--date"))
    for path in given.operands:
        yield from writes(scope, path, "makes")


_LENDS = lazy_pattern(r"[ugoa]*[+=][rwxX]*s[rwxXst]*|[2-7]\d{3}")
_OPENS = lazy_pattern(r"\d*[2367]|[ug]*[oa][ugoa]*[+=][rxXst]*w[rwxXst]*")
_MODE = lazy_pattern(r"-[rwxXst]+")


def _modes(call: Call, scope: Scope) -> Iterator[Finding]:
    """chmod, chown, chgrp and their like: the first operand says what, the others say of which."""
    given = options(call, "", ("--reference", "--from"))
    # chmod -x is a mode and no option.
    modes = [each for each in call.arguments if _MODE.fullmatch(each.text)]
    mode, paths = (modes or given.operands)[:1], given.operands
    if not modes and not given.has("--reference"):
        paths = paths[1:]
    what = {"chmod": "rights", "chown": "owner", "chgrp": "group"}.get(call.program, "attributes")
    shown = ", ".join(each.shown for each in paths)
    if given.has("-R", "--recursive"):
        yield Risk("config", f"changes the {what} of everything under {shown}")
    elif call.program != "chmod":
        yield Risk("config", f"changes the {what} of {shown}")
    for each in mode[0].text.split(",") if mode else ():
        if UNKNOWN in each:
            yield Risk("unclear", f"gives {shown} rights that are known only when it runs")
        elif call.program == "chmod" and _LENDS.fullmatch(each):
            yield Risk("privilege", f"lends the rights of its owner to whoever runs {shown}")
        elif call.program == "chmod" and _OPENS.fullmatch(each):
            yield Risk("config", f"lets everybody change {shown}")
    for path in paths:
        yield from writes(scope, path, f"changes the {what} of")


# ---------------------------------------------------------------- searching and reading

_FIND_RUNS = ("-exec", "-execdir", "-ok", "-okdir")


def _find(call: Call, scope: Scope) -> Iterator[Finding]:
    words = call.arguments
    if any(each.splits and not each.known for each in words):
        yield Risk("unclear", "searches with conditions that are known only when it runs")
    starts = _starts(words)
    where = ", ".join(each.shown for each in starts)
    for start, name in product(starts, _names(words)):
        for place in scope.places(f"{start.text}/{name.text}"):
            hidden = is_sensitive(scope.limits, place, globs=name.globs)
            if place.where is Where.OUTSIDE and hidden:
                yield Risk("credentials", f"looks for {name.shown} under {start.shown}")
    if any(each.text == "-delete" for each in words):
        yield Risk("delete", f"deletes what it finds under {where}")
    for at, each in enumerate(words):
        following = words[at + 1 :]
        if each.text in _FIND_RUNS:
            ends = [n for n, word in enumerate(following) if word.text in (";", "+")]
            inner = following[: ends[0]] if ends else following
            for found in _found_names(starts, words):
                yield Runs(tuple(_put_in(word, found) for word in inner))
        elif each.text in ("-fprint", "-fprintf", "-fls", "-fprint0"):
            yield from writes(scope, following[0] if following else Field(UNKNOWN))


def _starts(words: tuple[Field, ...]) -> tuple[Field, ...]:
    """Return the folders that a search starts from."""
    options_at = (at for at, word in enumerate(words) if word.text.startswith(("-", "(", "!")))
    return words[: next(options_at, len(words))] or (Field("."),)


def _found_names(starts: tuple[Field, ...], words: tuple[Field, ...]) -> Iterator[str]:
    """Return patterns for what a search finds."""
    names = [each.text for each in _names(words)] or ["*"]
    for start, name in product(starts, names):
        yield f"{start.text.rstrip('/')}/{name}"


def _names(words: tuple[Field, ...]) -> list[Field]:
    return [
        Field(following.text, globs=True)
        for word, following in pairwise(words)
        if word.text in ("-name", "-iname") and following.known
    ]


def _put_in(word: Field, found: str) -> Field:
    return Field(word.text.replace("{}", found), "{}" in word.text or word.globs, word.splits)


def _fd(call: Call, scope: Scope) -> Iterator[Finding]:
    for at, each in enumerate(call.arguments):
        if each.text in ("-x", "-X", "--exec", "--exec-batch"):
            yield Runs(call.arguments[at + 1 :])


def _grep(call: Call, scope: Scope) -> Iterator[Finding]:
    given = options(call, "efABCmgtTd", ("--regexp", "--file", "--include", "--exclude", "--glob"))
    if given.has("--pre"):
        yield Risk("code", "runs a program on each file it searches")
    for path in given.of("-f", "--file"):
        yield from reads(scope, path)
    named = given.of("-e", "--regexp", "-f", "--file") or given.has("--files")
    patterns = given.of("-e", "--regexp") or given.operands[:1]
    for path in given.operands if named else given.operands[1:]:
        yield from reads(scope, path)
        outside = [e for e in scope.places(path.text) if e.where is Where.OUTSIDE]
        everything = given.has("-r", "-R", "--recursive") and any(e.is_top for e in outside)
        if everything or (outside and any(names_secret(each.text) for each in patterns)):
            yield Risk("credentials", f"looks for something in all of {path.shown}")


def _reserves(call: Call, scope: Scope) -> Iterator[Finding]:
    yield Risk("system", f"takes up space on the disk with {call.program}")
    yield from _makes(call, scope)


def _reader(call: Call, scope: Scope) -> Iterator[Finding]:
    """A program that only reads: every word of it may be a path."""
    for each in call.arguments:
        if re.match(r"\+.*[!|]|-P|--pager", each.text) and call.program in _PAGERS:
            yield Risk("code", f"has {call.program} run a program")
        text = each.text.partition("=")[2] if each.text.startswith("-") else each.text
        if text:
            yield from reads(scope, Field(text, each.globs))
        if re.match(r"--?o(?:ut(?:put)?)?(?:=|$)", each.text) and call.program not in ("ps", "od"):
            yield Risk("unclear", f"has {call.program} write a file")


def _nothing(call: Call, scope: Scope) -> Iterator[Finding]:
    """A program that does no harm, whatever its words are."""
    yield from ()


_PAGERS = frozenset(("less", "more", "man", "bat", "batcat", "most"))
_READERS = """
    cat tac head tail less more most man nl wc cut tr uniq rev fold fmt column comm join paste diff cmp md5sum sha1sum
    sha224sum sha256sum sha384sum sha512sum shasum cksum b2sum sum base64 base32 xxd od hexdump hd strings jq yq
    zcat zless zgrep bzcat xzcat bat batcat colordiff sdiff tsort expand unexpand iconv look csvcut csvlook
    csvstat shuf ptx xmllint pdftotext pr cloc tokei scc readelf objdump nm ldd size exiftool identify mediainfo
"""
_HARMLESS = """
    ls ll la dir vdir tree du df stat file test [ [[ pwd cd echo printf true false : expr seq date cal sleep
    usleep wait whoami id groups uname uptime free ps top pgrep pidof which type whereis
    whatis info help apropos basename dirname realpath readlink factor bc dc numfmt tput clear reset
    return exit break continue shift read local readonly getopts umask ulimit times jobs fg bg hash set lscpu
    lsblk lsof lsusb lspci nproc vmstat iostat getconf locale tty stty w who last sw_vers lsb_release pushd
    popd dirs let locate mdfind vm_stat mktemp getent logname users shopt unset disown cksum sync
    uuidgen yes pstree lsattr getfacl namei pathchk blkid sensors nvidia-smi rocm-smi fc-list ipcs mlr xsv
    dpkg-query tig delta ctags cscope gtags units primes spell aspell hunspell
    eza exa neofetch figlet cowsay fortune tldr zipinfo
"""
FILES: dict[str, Handler] = {
    **dict.fromkeys(_READERS.split(), _reader),
    **dict.fromkeys(_HARMLESS.split(), _nothing),
    **dict.fromkeys(("rm", "rmdir", "unlink", "trash", "trash-put", "srm"), _rm),
    **dict.fromkeys(("shred", "wipe"), _shred),
    **dict.fromkeys(("cp", "install", "ditto"), _cp),
    **dict.fromkeys(("mkdir", "touch", "mkfifo", "link"), _makes),
    **dict.fromkeys(("chmod", "chown", "chgrp", "chattr", "setfacl", "setcap", "xattr"), _modes),
    **dict.fromkeys(("grep", "egrep", "fgrep", "rg", "ag", "ack"), _grep),
    **dict.fromkeys(("fd", "fdfind"), _fd),
    "fallocate": _reserves,
    "truncate": _truncate,
    "mv": _mv,
    "ln": _ln,
    "dd": _dd,
    "tee": _tee,
    "find": _find,
}

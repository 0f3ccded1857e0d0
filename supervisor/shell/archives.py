"""Programs that pack and unpack: what they put at risk. Pure."""

import re
from collections.abc import Iterator

from ..danger.risks import Risk
from .calls import Call, Finding, Handler, Scope, options, reads, writes
from .expand import Field


def _tar(call: Call, scope: Scope) -> Iterator[Finding]:
    arguments = call.arguments
    if arguments and re.fullmatch(r"[A-Za-z]+", arguments[0].text):
        # The old form without a dash: tar xzf a.tgz.
        arguments = (Field(f"-{arguments[0].text}"), *arguments[1:])
    call = Call(program="tar", arguments=arguments, source=call.source)
    valued = ("--directory", "--file", "--to-command", "--use-compress-program", "--exclude")
    given = options(call, "fCITXbgHKLNV", (*valued, "--checkpoint-action"))
    runs = given.of("--to-command", "--use-compress-program", "--checkpoint-action", "-I")
    if runs or given.has("--rsh-command", "--info-script", "--new-volume-script"):
        yield Risk("code", "runs a program from inside of tar")
    if given.has("--remove-files"):
        yield Risk("delete", "deletes the files it has packed")
    packing = given.has("-c", "-r", "-u", "--create", "--append", "--update")
    if packing:
        for path in given.operands:
            yield from reads(scope, path)
        for path in given.of("-f", "--file"):
            yield from _archive(scope, path)
    elif given.has("-x", "--extract", "--get"):
        if given.has("-P", "--absolute-names"):
            yield Risk("outside", "unpacks to wherever the archive says")
        for path in given.of("-C", "--directory") or (Field("."),):
            yield from writes(scope, path, "unpacks to")


def _archive(scope: Scope, path: Field) -> Iterator[Risk]:
    if ":" in path.text.partition("/")[0]:
        yield Risk("network", f"writes an archive to another machine, {path.shown}")
    elif path.text != "-":
        yield from writes(scope, path)


def _unpack(call: Call, scope: Scope) -> Iterator[Finding]:
    given = options(call, "dxPo", ("--output",))
    packs = (
        call.program in ("7z", "7za")
        and given.operands
        and given.operands[0].text in ("a", "u", "d", "rn")
    )
    if packs:
        if given.operands[0].text == "d" or given.has("-sdel"):
            yield Risk("delete", "deletes what is in an archive, or what it packs")
        for path in given.operands[1:2]:
            yield from writes(scope, path)
        for path in given.operands[2:]:
            yield from reads(scope, path)
        return
    for path in given.of("-d", *(("-o",) if call.program.startswith("7z") else ())) or (
        Field("."),
    ):
        yield from writes(scope, path, "unpacks to")


def _zip(call: Call, scope: Scope) -> Iterator[Finding]:
    given = options(call, "xibt")
    if given.has("-T", "-TT", "--unzip-command"):
        yield Risk("code", "runs a program from inside of zip")
    if given.has("-m", "--move", "-d"):
        yield Risk("delete", "deletes what it packs")
    for path in given.operands[1:]:
        yield from reads(scope, path)
    for path in given.operands[:1]:
        yield from writes(scope, path)


def _packs(call: Call, scope: Scope) -> Iterator[Finding]:
    """gzip and its like: a file is replaced by its packed form."""
    given = options(call, "So")
    for path in given.operands:
        yield from reads(scope, path)
        yield from writes(scope, path, "replaces")


def _unpacks_all(call: Call, scope: Scope) -> Iterator[Finding]:
    """cpio: the archive says where its files go."""
    if options(call, "DFIO").has("-i", "--extract", "-p", "--pass-through"):
        yield Risk("outside", "unpacks to wherever the archive says")


_PACKERS = "gzip gunzip bzip2 bunzip2 xz unxz zstd unzstd lz4 dos2unix unix2dos"
ARCHIVES: dict[str, Handler] = {
    **dict.fromkeys(("unzip", "7z", "7za", "unrar"), _unpack),
    **dict.fromkeys(_PACKERS.split(), _packs),
    "cpio": _unpacks_all,
    "tar": _tar,
    "zip": _zip,
}

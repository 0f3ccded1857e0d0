"""Trees as archives: whole or refused, whatever the bytes are."""

import io
import random
import zlib
from pathlib import Path

import pytest
from work_trees import Session, make, told

from ukemi.stores.workspace import ArchiveRefused, File, Limits, Window, WorkspaceFiles
from ukemi.stores.workspace.archive import FRAME as FRAME_FORM
from ukemi.stores.workspace.archive import MAGIC
from ukemi.stores.workspace.entries import Entry, Folder, digest_of, encode_tree

END = FRAME_FORM.pack(bytes(32), 0, False, 0)


def exported(session: Session, root: Path) -> tuple[str, bytes]:
    make(root, {"a": "v1", "d/b": "v1" * 1000, "d/e/link": "-> ..", b"\xe9": "v2", "empty": "/"})
    kept = session.checkpoint()
    out = io.BytesIO()
    session.files.export_tree(kept, out)
    return kept, out.getvalue()


def taken_in(tmp_path: Path, archive: bytes, limits: Limits | None = None) -> str:
    files = WorkspaceFiles(tmp_path / "other-files")
    try:
        return files.import_tree(io.BytesIO(archive), limits)
    finally:
        files.close()


def test_there_and_back(session: Session, root: Path, tmp_path: Path) -> None:
    """The tree is the same elsewhere, and can be restored there."""
    kept, archive = exported(session, root)
    assert taken_in(tmp_path, archive) == kept
    assert taken_in(tmp_path, archive) == kept
    files = WorkspaceFiles(tmp_path / "other-files")
    space = files.workspace(tmp_path / "elsewhere")
    (tmp_path / "elsewhere").mkdir()
    empty = space.snapshot().root
    report = space.restore(space.plan(kept, [Window(kept, empty)]))
    assert report.clean
    assert told(tmp_path / "elsewhere", modes=True) == told(root, modes=True)
    files.close()


def frame(data: bytes, digest: bytes | None = None, size: int | None = None) -> bytes:
    size = len(data) if size is None else size
    return FRAME_FORM.pack(digest or digest_of(data), size, False, len(data)) + data


def packed(data: bytes, size: int) -> bytes:
    body = zlib.compress(data)
    return FRAME_FORM.pack(digest_of(data), size, True, len(body)) + body


def tree(entries: dict[bytes, Entry]) -> bytes:
    return encode_tree(entries)


A = File(0o644, 2, digest_of(b"v1"))
GOOD = tree({b"a": A})
OUTSIDE = tree({b"../a": A})


def deep(levels: int) -> bytes:
    """Fold a folder into itself twice at each level: few contents, very many paths."""
    frames, inner = [frame(GOOD), frame(b"v1")], GOOD
    for _ in range(levels):
        folder = Folder(0o755, digest_of(inner))
        inner = tree({b"x": folder, b"y": folder})
        frames.append(frame(inner))
    return b"".join(reversed(frames))


HOSTILE = {
    "no archive": b"PK\x03\x04" + bytes(100),
    "empty": b"",
    "nothing in it": MAGIC + END,
    "cut off": MAGIC + frame(GOOD) + frame(b"v1"),
    "a content missing": MAGIC + frame(GOOD) + END,
    "another content": MAGIC + frame(GOOD) + frame(b"v2", A.digest) + END,
    "a wrong length": MAGIC + frame(GOOD) + frame(b"v1", size=3) + END,
    "a length the folder denies": MAGIC
    + frame(tree({b"a": File(0o644, 9, A.digest)}))
    + frame(b"v1")
    + END,
    "twice the same": MAGIC + frame(GOOD) + frame(b"v1") + frame(b"v1") + END,
    "a path that leads out": MAGIC + frame(OUTSIDE) + frame(b"v1") + END,
    "a root that is no folder": MAGIC + frame(b"v1") + END,
    "a bomb": MAGIC + frame(GOOD) + packed(bytes(10_000_000), 2) + END,
    "claims too much": MAGIC + FRAME_FORM.pack(digest_of(b""), 1 << 60, True, 10) + bytes(10) + END,
    "claims more bytes than come": MAGIC + FRAME_FORM.pack(digest_of(b""), 1 << 20, False, 1 << 20),
    "folders folded into paths without end": MAGIC + deep(30) + END,
    "folders deeper than is sane": MAGIC + deep(250) + END,
}


@pytest.mark.parametrize("what", HOSTILE)
def test_hostile_archives(tmp_path: Path, what: str) -> None:
    """Each is refused, and no tree comes of it."""
    with pytest.raises(ArchiveRefused):
        taken_in(tmp_path, HOSTILE[what])
    files = WorkspaceFiles(tmp_path / "other-files")
    with files.objects.reading() as connection:
        assert connection.execute("SELECT count(*) FROM root").fetchone()[0] == 0
    files.close()


@pytest.mark.parametrize(
    "limits", [Limits(bytes_max=1000), Limits(contents_max=3), Limits(paths_max=3)]
)
def test_limits(session: Session, root: Path, tmp_path: Path, limits: Limits) -> None:
    _, archive = exported(session, root)
    with pytest.raises(ArchiveRefused):
        taken_in(tmp_path, archive, limits)


def test_any_damage(session: Session, root: Path, tmp_path: Path) -> None:
    """A changed or missing byte anywhere leads to the same tree or a refusal, to nothing else."""
    kept, archive = exported(session, root)
    rng = random.Random(7)
    for _ in range(150):
        at = rng.randrange(len(archive))
        flipped = bytearray(archive)
        flipped[at] ^= 1 << rng.randrange(8)
        for damaged in (bytes(flipped), archive[:at]):
            try:
                assert taken_in(tmp_path, damaged) == kept
            except ArchiveRefused:
                pass

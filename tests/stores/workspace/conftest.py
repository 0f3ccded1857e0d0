"""A tree, the contents kept of it, and a session that works there."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from work_trees import Session

from ukemi.stores.workspace import WorkspaceFiles


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return an empty tree."""
    root = tmp_path / "tree"
    root.mkdir()
    return root


@pytest.fixture
def files(tmp_path: Path) -> Iterator[WorkspaceFiles]:
    """Return the contents kept of it."""
    files = WorkspaceFiles(tmp_path / "store.db-files")
    yield files
    files.close()


@pytest.fixture
def session(files: WorkspaceFiles, root: Path) -> Session:
    """Return a session that works there."""
    return Session(files, root)

"""The repository is the package `ukemi`: what must hold for that to work."""

import ast
import os
import re
import sys
import tomllib
from functools import cache
from pathlib import Path

import pytest

import ukemi

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ("actors", "cli", "models", "stores", "supervisor", "testing", "tools")
FRONT = ("__init__.py", "__main__.py")
# Rooms by height; an import may only point to a lower number.
HEIGHT = {
    "supervisor": 0,
    "stores": 1,
    "actors": 2,
    "models": 3,
    "tools": 3,
    "testing": 4,
    "cli": 5,
}


def modules() -> list[Path]:
    return [path for room in ROOMS for path in sorted((ROOT / room).rglob("*.py"))]


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def test_every_folder_with_code_is_in_the_wheel() -> None:
    config = tomllib.loads((ROOT / "pyproject.toml").read_text())
    folders = {path.parent.relative_to(ROOT) for path in modules()}
    packages = {"ukemi"} | {".".join(("ukemi", *folder.parts)) for folder in folders}
    assert set(config["tool"]["setuptools"]["packages"]) == packages


def test_no_stray_module_at_the_root() -> None:
    assert {path.name for path in ROOT.glob("*.py")} == set(FRONT)


@pytest.mark.skipif(os.name == "nt", reason="git may check the links out as text")
def test_type_checkers_see_the_root() -> None:
    links = {path.name: path for path in (ROOT / "typings/ukemi").iterdir()}
    assert set(links) - {"__pycache__"} == {*FRONT, *ROOMS}
    for name in (*FRONT, *ROOMS):
        assert links[name].is_symlink()
        assert links[name].resolve() == ROOT / name


def test_the_package_imports_itself_relatively() -> None:
    for path in [ROOT / name for name in FRONT] + modules():
        for node in ast.walk(parsed(path)):
            match node:
                case ast.Import(names=names):
                    imported = [alias.name for alias in names]
                case ast.ImportFrom(module=str(module), level=0):
                    imported = [module]
                case _:
                    continue
            bad = [name for name in imported if name.split(".")[0] in ("ukemi", *ROOMS)]
            assert not bad, f"{path.relative_to(ROOT)}:{node.lineno} imports {bad}"


def test_rooms_import_downward_only() -> None:
    """supervisor ◄─ stores ◄─ actors ◄─ models, tools ◄─ testing ◄─ cli; type-only imports count too."""
    for path in modules():
        room, depth = path.relative_to(ROOT).parts[0], len(path.relative_to(ROOT).parts)
        for node in ast.walk(parsed(path)):
            if not isinstance(node, ast.ImportFrom) or node.level < depth:
                continue
            assert node.module, f"{path.relative_to(ROOT)}:{node.lineno} imports the package's face"
            target = node.module.split(".")[0]
            where = f"{path.relative_to(ROOT)}:{node.lineno} imports {target}"
            assert HEIGHT[target] < HEIGHT[room], where


def test_no_import_cycle_between_files() -> None:
    """Inside a room too, files depend one way."""
    edges = {path: imports_of(path) for path in modules()}
    done: set[Path] = set()

    def visit(path: Path, trail: tuple[Path, ...]) -> None:
        assert path not in trail, " -> ".join(str(p.relative_to(ROOT)) for p in (*trail, path))
        if path not in done:
            for target in sorted(edges.get(path, ())):
                visit(target, (*trail, path))
            done.add(path)

    for path in edges:
        visit(path, ())


LIST = re.compile(r"Files, each using only those before it[^:]*:(.*?)\.(?:\s|$)", re.DOTALL)


def lists_of_files() -> list[tuple[Path, str]]:
    """Packages whose docstring lists their files, with that list."""
    found: list[tuple[Path, str]] = []
    for path in modules():
        text = ast.get_docstring(parsed(path)) if path.stem == "__init__" else None
        listed = LIST.search(text or "")
        if listed is not None:
            found.append((path.parent, listed[1]))
    return found


LISTS = lists_of_files()


@pytest.mark.parametrize(("folder", "listed"), LISTS, ids=[each.name for each, _ in LISTS])
def test_a_list_of_files_names_all_in_their_order(folder: Path, listed: str) -> None:
    """As the docstring says: each uses only those before it."""
    names = [name for name in re.findall(r"\w+", listed) if not (folder / name).is_dir()]
    assert sorted(names) == sorted({path.stem for path in folder.glob("*.py")} - {"__init__"})
    for at, name in enumerate(names):
        uses = {path.stem for path in imports_of(folder / f"{name}.py") if path.parent == folder}
        assert uses <= {"__init__", *names[:at]}, f"{name} uses {uses - set(names[:at])}"


def test_every_room_lists_its_files() -> None:
    assert {folder for folder, _ in LISTS} >= {ROOT / room for room in ROOMS}


def imports_of(path: Path) -> set[Path]:
    """Files a module imports when it is loaded."""
    found: set[Path] = set()
    for node in parsed(path).body:
        if isinstance(node, ast.ImportFrom) and node.level:
            base = path.parents[node.level - 1].joinpath(*(node.module or "").split("."))
            names = [base / alias.name for alias in node.names] if base.is_dir() else []
            files = [name.with_suffix(".py") for name in names]
            found |= {file for file in files if file.exists()} or {
                base.with_suffix(".py")
                if base.with_suffix(".py").exists()
                else base / "__init__.py"
            }
    return found - {path}


def test_no_module_of_the_package_is_loaded_twice() -> None:
    assert ukemi.__name__ == "ukemi"
    folders = {ROOT, *(path.parent for path in modules())}
    for name, module in sorted(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if file and Path(file).resolve().parent in folders:
            assert name.split(".")[0] == "ukemi", f"{file} is loaded as {name}"

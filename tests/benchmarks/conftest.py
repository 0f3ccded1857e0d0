"""The benchmarks can be imported here: the root, which holds them, is kept off the import path."""

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks"


def find_benchmarks() -> None:
    spec = spec_from_file_location(
        "benchmarks", FOLDER / "__init__.py", submodule_search_locations=[str(FOLDER)]
    )
    assert spec is not None and spec.loader is not None
    module = sys.modules["benchmarks"] = module_from_spec(spec)
    spec.loader.exec_module(module)


find_benchmarks()

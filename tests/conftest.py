"""Test set-up: the event loops, and the repository kept off the import path."""

import gc
import sys
from collections.abc import Generator
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

# `python -m pytest` puts the root on the path, where supervisor/ would hide PyPI's supervisor.
sys.path[:] = [entry for entry in sys.path if Path(entry).resolve() != ROOT]


class RootIsNoTestPackage:
    """Keep pytest from importing the root's __init__.py under the checkout's own name."""

    def pytest_collect_directory(
        self, path: Path, parent: pytest.Collector
    ) -> pytest.Collector | None:
        return pytest.Dir.from_parent(parent, path=path) if path == ROOT else None


# Long for what they are, a second of processor time and more: the whole run has them, the fast subset
# does not.
LONG = (
    "tests/actors/test_alerts_told.py::test_what_the_hook_never_took_is_told_by_the_next_runtime",
    "tests/actors/test_guard.py::test_a_long_scope_keeps_what_was_done_in_it",
    "tests/actors/test_parking.py",
    "tests/actors/test_plain_answers.py::test_no_word_of_any_rule_that_counts_as_nothing",
    "tests/actors/test_pruner.py::test_two_thousand_steps_cost_the_same",
    "tests/actors/test_staging.py",
    "tests/cases/test_case_tenancy.py",
    "tests/cases/test_session_events.py",
    "tests/cli/test_demo.py",
    "tests/cli/test_resume.py::test_a_guarded_call_is_settled_by_a_person_and_goes_on",
    "tests/models/test_client_answers.py",
    "tests/models/test_client_faults.py",
    "tests/stores/test_store_law.py",
    "tests/stores/workspace/test_restores.py::test_many_files_are_restored_together",
    "tests/supervisor/test_collector.py::test_a_tool_that_makes_a_megabyte_of_cycles_each_step",
    "tests/supervisor/test_danger_shell.py::test_blanks_and_ends_of_lines_do_not_matter",
    "tests/supervisor/test_kernel_costs.py",
)

# The same test once more, on another loop than asyncio's.
OTHER_LOOPS = {"uvloop", "trio"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep the fast subset (``-m "not slow"``) fast.

    Sweeps and tests in real time take their time. Other loops run what asyncio's runs.
    """
    for item in items:
        callspec = getattr(item, "callspec", None)
        again = callspec is not None and not OTHER_LOOPS.isdisjoint(callspec.id.split("-"))
        lasting = item.get_closest_marker("sweep") or item.get_closest_marker("realtime")
        if again or lasting or item.nodeid.startswith(LONG):
            item.add_marker(pytest.mark.slow)


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(RootIsNoTestPackage())


# All that pytest collects lives as long as the process. To go through it takes half a second, which the
# garbage collector would do often meanwhile, and each test that looks for garbage would do again.


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_finish() -> None:
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_sessionfinish() -> Generator[None, object, object]:
    """Hypothesis, if it is imported only now, asks who refers to what, and that tells of nothing frozen."""
    gc.unfreeze()
    try:
        return (yield)
    finally:
        pytest_collection_finish()


def loop(name: str, options: dict[str, object], module: str, id: str) -> object:
    absent = pytest.mark.skipif(find_spec(module) is None, reason=f"{module} is not installed")
    return pytest.param((name, options), marks=absent, id=id)


@pytest.fixture(
    scope="module",
    params=[
        loop("asyncio", {"use_uvloop": False}, "asyncio", "asyncio"),
        loop("asyncio", {"use_uvloop": True}, "uvloop", "uvloop"),
        loop("trio", {}, "trio", "trio"),
    ],
)
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, object]]:
    backend: tuple[str, dict[str, object]] = request.param
    return backend

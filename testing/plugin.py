"""Fixtures for pytest: name this module in a ``conftest.py``::

    pytest_plugins = ["ukemi.testing.plugin"]

It is the only module of Ukemi that imports pytest.
"""

from collections.abc import Callable, Generator
from typing import Any

import pytest

from .clock import run_virtual
from .drilling.drill import drill as _drill
from .drilling.report import DrillReport
from .effects import reset_all
from .faults import FaultPlan


@pytest.fixture
def drill() -> Callable[..., DrillReport]:
    """`ukemi.testing.drill`, for tests that are no coroutines: it makes event loops of its own."""
    return _drill


@pytest.fixture
def virtual_time() -> Callable[..., Any]:
    """Run a coroutine function with its arguments on a loop whose clock jumps; return its result."""
    return run_virtual


@pytest.fixture
def fault_plan() -> Callable[..., FaultPlan]:
    """`FaultPlan`: at which call of a model, a tool or the store something goes wrong."""
    return FaultPlan


@pytest.fixture(autouse=True)
def forgetful_stubs() -> Generator[None]:
    """Have every `EffectStub` of the process forget what took effect, after each test."""
    yield
    reset_all()

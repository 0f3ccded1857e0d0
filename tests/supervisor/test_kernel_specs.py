"""What is refused when a specification is made, and what the package exposes."""

import re
from typing import Any

import anyio
import pytest
from virtual_time import VIRTUAL_BACKENDS, virtual_backend

import ukemi.supervisor as room
from ukemi.supervisor import (
    BRUTAL_KILL,
    AutoShutdown,
    ChildSpec,
    Context,
    DynamicSpec,
    ErrorClass,
    InvalidSpec,
    Kernel,
    RestartRule,
    RestartType,
    StartFailed,
    SupervisorSpec,
    UkemiError,
    UsageError,
    check_childspecs,
)


@pytest.fixture(params=VIRTUAL_BACKENDS)
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, Any]]:
    return virtual_backend(request.param)


async def idle(ctx: Context[Any]) -> None:
    await anyio.sleep_forever()


BAD: list[tuple[type[Any], dict[str, Any], str]] = [
    (ChildSpec, {"id": ""}, "id=''"),
    (ChildSpec, {"id": "a/b"}, "id='a/b'"),
    (ChildSpec, {"id": None}, "id=None"),
    (ChildSpec, {"start": None}, "start=None"),
    (ChildSpec, {"start": "function"}, "start='function'"),
    (ChildSpec, {"restart": "sometimes"}, "restart='sometimes'"),
    (ChildSpec, {"shutdown_s": -1}, "shutdown_s=-1"),
    (ChildSpec, {"shutdown_s": "later"}, "shutdown_s='later'"),
    (ChildSpec, {"shutdown_s": True}, "shutdown_s=True"),
    (ChildSpec, {"significant": "maybe"}, "cannot be significant"),
    (ChildSpec, {"significant": True}, "cannot be significant"),
    (ChildSpec, {"type": "helper"}, "type='helper'"),
    (ChildSpec, {"mailbox_max": 0}, "mailbox_max=0"),
    (ChildSpec, {"start_s_max": 1.0}, "needs wait_ready=True"),
    (ChildSpec, {"start_s_max": -1.0, "wait_ready": True}, "start_s_max=-1.0"),
    (ChildSpec, {"on_demand": True, "wait_ready": True}, "on_demand=True"),
    (SupervisorSpec, {"strategy": "one_for_nobody"}, "strategy='one_for_nobody'"),
    (SupervisorSpec, {"intensity": -1}, "intensity=-1"),
    (SupervisorSpec, {"intensity": 1.5}, "intensity=1.5"),
    (SupervisorSpec, {"intensity": True}, "intensity=True"),
    (SupervisorSpec, {"period_s": 0}, "period_s=0"),
    (SupervisorSpec, {"auto_shutdown": "perhaps"}, "auto_shutdown='perhaps'"),
    (SupervisorSpec, {"children": ("one",)}, "'one' is no ChildSpec"),
    (DynamicSpec, {"children_max": -1}, "children_max=-1"),
    (DynamicSpec, {"child_intensity": -1}, "intensity=-1"),
]


@pytest.mark.parametrize(("kind", "fields", "says"), BAD, ids=[says for _, _, says in BAD])
def test_a_bad_specification_is_refused(kind: Any, fields: dict[str, Any], says: str) -> None:
    """The message names the value; nothing is started."""
    given: dict[str, Any] = {"id": "x", "start": idle} if kind is ChildSpec else {"id": "x"}
    make: Any = kind
    with pytest.raises(InvalidSpec, match=re.escape(says)):
        make(**(given | fields))


def test_unknown_fields_are_refused() -> None:
    """A typo must not pass."""
    with pytest.raises(TypeError):
        ChildSpec(id="x", start=idle, shutdown=5)  # type: ignore[call-arg] # pyright: ignore[reportCallIssue]


def test_a_list_is_checked_as_a_whole() -> None:
    """Two of one id, or a significant child where nothing can come of it."""
    a = ChildSpec(id="a", start=idle)
    assert check_childspecs([a]) == (a,)
    with pytest.raises(InvalidSpec, match="two children have the id 'a'"):
        SupervisorSpec(id="s", children=(a, a))
    matters = ChildSpec(id="m", start=idle, significant=True, restart=RestartType.TRANSIENT)
    with pytest.raises(InvalidSpec, match="auto_shutdown of its supervisor is never"):
        SupervisorSpec(id="s", children=(matters,))
    SupervisorSpec(id="s", children=(matters,), auto_shutdown=AutoShutdown.ALL_SIGNIFICANT)


def test_limits_on_both_sides() -> None:
    """The least and the most that is accepted."""
    ChildSpec(id="a", start=idle, shutdown_s=0, mailbox_max=1)
    ChildSpec(id="a", start=idle, shutdown_s=None)
    ChildSpec(id="a", start=idle, shutdown_s=BRUTAL_KILL)
    SupervisorSpec(id="a", intensity=0, period_s=0.001)
    SupervisorSpec(id="a", intensity=None)
    DynamicSpec(id="a", children_max=0)


def test_a_restart_rule_is_checked() -> None:
    """The first wait cannot be above the longest."""
    with pytest.raises(InvalidSpec, match=r"delay_s_first=31\.0"):
        RestartRule(restart=True, delay_s_first=31.0)
    with pytest.raises(InvalidSpec):
        RestartRule(restart=True, delay_s_first=-1.0)
    ChildSpec(id="a", start=idle, restart={ErrorClass.BUG: RestartRule(restart=True)})


async def test_children_by_a_function_are_checked_at_each_start() -> None:
    """The list may change from start to start; a bad one fails that start."""
    spec = ChildSpec(id="a", start=idle)
    with pytest.raises(StartFailed, match="two children have the id 'a'"):
        async with Kernel(SupervisorSpec(id="root", children=lambda: [spec, spec])):
            pytest.fail("it started")


async def test_a_kernel_is_entered_once() -> None:
    """It cannot be used again."""
    kernel = Kernel(SupervisorSpec(id="root"))
    async with kernel:
        pass
    with pytest.raises(UsageError, match="entered once"):
        async with kernel:
            pytest.fail("it was entered again")


def test_what_the_room_exposes() -> None:
    """``__all__`` is complete and true; every error is below the one root."""
    for name in room.__all__:
        assert hasattr(room, name), name
    public = {name for name in vars(room) if name[0].isupper()}
    assert public <= set(room.__all__) | {"TYPE_CHECKING"}
    errors = [each for each in vars(room).values() if isinstance(each, type)]
    for each in errors:
        if issubclass(each, Exception):
            assert issubclass(each, UkemiError), each

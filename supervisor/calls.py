"""What one may ask of a supervisor; each call is a script that runs inside of its loop."""

from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from .child import Child, Life
from .events import Call, Waiting
from .exits import KILLED, Killed, StartTimedOut
from .machine import Machine
from .refusals import (
    AlreadyPresent,
    AlreadyStarted,
    ChildLimitReached,
    ChildNotFound,
    ChildRestarting,
    ChildRunning,
    InvalidSpec,
    NotForDynamic,
    StartFailed,
    SupervisorGone,
)
from .rules import Activity, count
from .specs import (
    BRUTAL_KILL,
    ChildSpec,
    ChildType,
    DynamicSpec,
    Spec,
    SupervisorSpec,
    check_childspec,
    check_id,
)

Script = Callable[[Machine], Waiting[object]]
# A child, and which life of it was started; 0 if the start was ignored.
Begun = tuple[Child, int]


def _begun(child: Child) -> Begun:
    return child, child.life.n if child.life is not None else 0


class ChildInfo(Struct, frozen=True, kw_only=True):
    """One row of ``which_children``."""

    id: str
    type: ChildType
    activity: Activity
    incarnation: int


class ChildCount(Struct, frozen=True, kw_only=True):
    """Specifications, running children, and specifications by type."""

    specs: int
    active: int
    supervisors: int
    workers: int


def checked(machine: Machine, wanted: Spec | str) -> tuple[Spec, str]:
    """Return the specification of a new child, and its id."""
    spec = machine.spec
    template = spec.template if isinstance(spec, DynamicSpec) else None
    if isinstance(wanted, str):
        if template is None:
            raise InvalidSpec(
                f"supervisor {machine.label!r} has no template; give start_child a specification"
            )
        check_id(wanted)
        return template, wanted
    if template is not None:
        raise InvalidSpec(
            f"supervisor {machine.label!r} has a template; give start_child the id alone"
        )
    check_childspec(wanted, spec.auto_shutdown)
    return wanted, wanted.id


def admit(machine: Machine, wanted: Spec | str) -> Child:
    """Put a new child at the end of the list; it is not started yet."""
    spec, id = checked(machine, wanted)
    there = machine.kids.get(id)
    if there is not None:
        if there.activity is Activity.RUNNING or machine.dynamic:
            raise AlreadyStarted(there.path, there.n)
        raise AlreadyPresent(there.path)
    limits = machine.spec
    children_max = limits.children_max if isinstance(limits, DynamicSpec) else None
    if children_max is not None and len(machine.kids) >= children_max:
        raise ChildLimitReached(machine.label, children_max)
    child = machine.kids[id] = Child(machine, spec, id)
    return child


def start_child(wanted: Spec | str) -> Script:
    def script(machine: Machine) -> Waiting[Begun]:
        child = admit(machine, wanted)
        failure = yield from machine.start(child)
        if failure is not None:
            machine.drop(child, failure)
            raise StartFailed(child.path, failure)
        return _begun(child)

    return script


def start_child_soon(machine: Machine, wanted: Spec | str) -> Child:
    """Start a child now, whatever its supervisor is doing; whether it gets ready shows later."""
    if not machine.dynamic:
        raise NotForDynamic("start_child_soon without a dynamic supervisor", machine.label)
    if not machine.accepting:
        raise SupervisorGone(machine.label, machine.reason)
    child = admit(machine, wanted)
    life = machine.launch(child)
    limit = child.spec.start_s_max if isinstance(child.spec, ChildSpec) else None
    if limit is not None:
        machine.services.timers.after(limit, lambda: _not_ready(machine, life, limit))
    return child


def _not_ready(machine: Machine, life: Life, limit: float) -> None:
    if life.alive and not life.ready:
        life.kill(StartTimedOut(limit))
        grace = machine.services.kill_grace_s
        machine.services.timers.after(grace, lambda: machine.declare_dead(life, grace))


def find(machine: Machine, id: str) -> Child:
    child = machine.kids.get(id)
    if child is None:
        raise ChildNotFound(id, machine.label)
    return child


def terminate_child(id: str, incarnation: int | None = None) -> Script:
    def script(machine: Machine) -> Waiting[None]:
        child = find(machine, id)
        if incarnation not in (None, child.n):
            raise ChildNotFound(f"{id}#{incarnation}", machine.label)
        yield from machine.stop_child(child)
        if machine.forgets(child):
            machine.drop(child, child.final)

    return script


def restart_child(id: str) -> Script:
    def script(machine: Machine) -> Waiting[Begun]:
        child = _find_down(machine, id, "restart_child")
        failure = yield from machine.start(child)
        if failure is not None:
            raise StartFailed(child.path, failure)
        return _begun(child)

    return script


def delete_child(id: str) -> Script:
    def script(machine: Machine) -> Waiting[None]:
        machine.drop(_find_down(machine, id, "delete_child"), None)
        return
        yield

    return script


def _find_down(machine: Machine, id: str, call: str) -> Child:
    if machine.dynamic:
        raise NotForDynamic(call, machine.label)
    child = find(machine, id)
    match child.activity:
        case Activity.RUNNING:
            raise ChildRunning(child.path)
        case Activity.RESTARTING:
            raise ChildRestarting(child.path)
        case Activity.DOWN:
            return child


def which_children(machine: Machine) -> Waiting[list[ChildInfo]]:
    return [
        ChildInfo(
            id=kid.id,
            type=kid.type,
            activity=kid.activity,
            incarnation=kid.n,
        )
        for kid in reversed(list(machine.kids.values()))
    ]
    yield


def count_children(machine: Machine) -> Waiting[ChildCount]:
    spec = machine.spec
    template = isinstance(spec, DynamicSpec) and spec.template is not None
    # As in OTP, a death that was not handled yet counts here where children are told apart by id.
    rows = (
        (kid.type, kid.activity if machine.dynamic or _lives(kid) else Activity.DOWN)
        for kid in machine.kids.values()
    )
    return ChildCount(**count(rows, template=template))
    yield


def _lives(kid: Child) -> bool:
    return kid.life is not None and kid.life.alive


def get_childspec(id: str) -> Script:
    def script(machine: Machine) -> Waiting[ChildSpec | SupervisorSpec | DynamicSpec]:
        child = find(machine, id)
        return child.spec if child.spec.id == id else replace(child.spec, id=id)
        yield

    return script


def kill_child(machine: Machine, id: str, reason: Killed) -> None:
    """Cancel now; an end that does not come is declared after the grace time."""
    life = find(machine, id).life
    if life is not None and life.alive:
        life.kill(reason)
        if life.alive:
            grace = machine.services.kill_grace_s
            machine.services.timers.after(grace, lambda: machine.declare_dead(life, grace))


def stop_child_soon(machine: Machine, id: str) -> None:
    """Ask a child to leave, without keeping its supervisor waiting."""
    child = find(machine, id)
    life = child.life
    if life is None or not life.alive:
        machine.post(Call(terminate_child(id), None))
        return
    grace, limit = machine.services.kill_grace_s, child.spec.shutdown_s
    if limit is BRUTAL_KILL:
        life.kill(KILLED)
        limit = grace
    else:
        life.ask_stop()
    if life.alive and limit is not None:
        wait_s = max(float(limit), grace)
        machine.services.timers.after(wait_s, lambda: machine.declare_dead(life, wait_s))

"""Which cells are measured: the six workloads, who takes part in each, and how much each is given.

Pure data. A peer that needs a minute for what others do in a second is given less: rates compare.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

Scale = Literal["quick", "standard", "full"]
Given = Mapping[str, object]

UKEMI, AIOSQLITE, SQLITE3 = "Ukemi", "aiosqlite", "sqlite3"
UKEMI_UNTOUCHED = "Ukemi, collector untouched"
ANYIO, STAMINA, EMPTY = "bare anyio", "stamina", "empty runtime"
LANGGRAPH, DBOS, OPENAI = "LangGraph", "DBOS", "OpenAI Agents SDK"
PYDANTIC, AUTOGEN = "Pydantic AI on DBOS", "AutoGen core"
OURS = (UKEMI, UKEMI_UNTOUCHED)
LIMITS = (AIOSQLITE, SQLITE3, ANYIO, STAMINA, EMPTY)
PEERS = (LANGGRAPH, DBOS, OPENAI, PYDANTIC, AUTOGEN)

OURS_MODULE, LIMITS_MODULE = "benchmarks.suite.ours", "benchmarks.suite.limits"
PARKED_MODULE = "benchmarks.suite.parked"
MODULES = {
    LANGGRAPH: "benchmarks.peers.langgraph_cells",
    DBOS: "benchmarks.peers.dbos_cells",
    OPENAI: "benchmarks.peers.openai_agents_cells",
    PYDANTIC: "benchmarks.peers.pydantic_ai_cells",
    AUTOGEN: "benchmarks.peers.autogen_cells",
    STAMINA: "benchmarks.peers.stamina_cells",
}
IN_PEERS_ENVIRONMENT = frozenset(MODULES)

WORKLOADS = {
    "b1": "durable steps",
    "b2": "cost against the length of a session",
    "b3": "sessions that wait for a model",
    "b4": "killed in the middle",
    "b5": "a tool call where nothing is stored",
    "b6": "parked sessions",
}


TURNS, TURN_S = 5, 1.0
"""How often a session of B3 waits for its model, and how long each time."""


class Bodies(NamedTuple):
    """How many bytes our rows have: of a step with a read, and of one with a write, which has two."""

    read: int
    intent: int
    result: int


class Entry(NamedTuple):
    """One cell, of one contender at one point of a workload.

    ``x`` is the point's size (sessions, steps), ``units`` what a cell that is cut off did not finish.
    ``group``: cells of one group run directly after one another. ``needs``: the store that is filled
    beforehand with so many parked sessions.
    """

    workload: str
    variant: str
    x: int
    contender: str
    module: str
    given: Given
    units: int
    rounds: int
    needs: int = 0

    @property
    def place(self) -> tuple[str, str, int]:
        return (self.workload, self.variant, self.x)


class Scaled(NamedTuple):
    """How large a run is. Rounds: of ours and the limits, of the peers, of what takes longest."""

    rounds: int
    rounds_peers: int
    rounds_long: int
    b1: Mapping[int, int]
    b1_peers: Mapping[int, int]
    b2: Sequence[int]
    b3: Sequence[int]
    b3_peers: Sequence[int]
    turn_s: float
    b4: int
    b5_calls: int
    b5_peer_calls: int
    b6: Sequence[int]
    disk: tuple[int, int, int] | None
    """Parked, active, records."""


SCALES: Mapping[Scale, Scaled] = {
    "quick": Scaled(
        rounds=1,
        rounds_peers=1,
        rounds_long=1,
        b1={20: 5},
        b1_peers={20: 2},
        b2=(10, 20),
        b3=(50,),
        b3_peers=(50,),
        turn_s=0.2,
        b4=20,
        b5_calls=100,
        b5_peer_calls=20,
        b6=(500,),
        disk=(2_000, 1_500, 1_000),
    ),
    "standard": Scaled(
        rounds=5,
        rounds_peers=3,
        rounds_long=1,
        b1={1: 1_000, 100: 100, 1_000: 20},
        b1_peers={1: 100, 100: 20, 1_000: 1},
        b2=(10, 50, 200, 500, 2_000),
        b3=(1_000, 10_000, 50_000),
        b3_peers=(1_000, 10_000),
        turn_s=TURN_S,
        b4=1_000,
        b5_calls=4_000,
        b5_peer_calls=400,
        b6=(100_000, 1_000_000),
        disk=(1_000_000, 10_000, 100_000),
    ),
    "full": Scaled(
        rounds=7,
        rounds_peers=3,
        rounds_long=5,
        b1={1: 2_000, 100: 200, 1_000: 50},
        b1_peers={1: 400, 100: 20, 1_000: 5},
        b2=(10, 50, 200, 500, 2_000),
        b3=(1_000, 10_000, 50_000),
        b3_peers=(1_000, 10_000, 50_000),
        turn_s=TURN_S,
        b4=1_000,
        b5_calls=20_000,
        b5_peer_calls=1_000,
        b6=(100_000, 1_000_000),
        disk=(1_000_000, 10_000, 100_000),
    ),
}

LONG_FROM = 50_000
"""Sessions from which on a cell of B3 takes so long that it gets ``rounds_long``."""
PYDANTIC_MAX = 100
"""Sessions of the slowest peer; with more it needs most of a minute."""
B4_STEPS, B4_STEPS_PEERS = 20, 2


def plan(scale: Scaled, bodies: Bodies) -> list[Entry]:
    """Return all cells, in the order of their workloads."""
    return [
        *_b1(scale, bodies),
        *_b2(scale, bodies),
        *_b3(scale, bodies),
        *_b4(scale),
        *_b5(scale),
        *_b6(scale),
    ]


def _b1(scale: Scaled, bodies: Bodies) -> Iterator[Entry]:
    middle = sorted(scale.b1)[len(scale.b1) // 2]
    for durability in ("normal", "full"):
        for sessions, steps in scale.b1.items():
            variant = f"read, {durability}"
            yield from _stored(scale, variant, sessions, steps, durability, [bodies.read])
            # The peers' rates hardly depend on it, so the other durability is measured once.
            if durability == "normal" or sessions == middle:
                yield from _stored_by_peers(scale, variant, sessions, durability)
    for sessions, steps in scale.b1.items():
        if sessions > 1:
            sizes = [bodies.intent, bodies.result]
            yield from _stored(scale, "write, full", sessions, steps, "full", sizes)


def _stored(
    scale: Scaled, variant: str, sessions: int, steps: int, durability: str, sizes: list[int]
) -> Iterator[Entry]:
    shared: Given = {"sessions": sessions, "steps": steps, "durability": durability}
    tool_name = "look" if len(sizes) == 1 else "put"
    contenders: list[tuple[str, str, Given]] = [
        (UKEMI, OURS_MODULE, {"cell": "durable", "tool_name": tool_name}),
        (AIOSQLITE, LIMITS_MODULE, {"cell": "durable_aiosqlite", "sizes": sizes}),
        (SQLITE3, LIMITS_MODULE, {"cell": "durable_sqlite3", "sizes": sizes}),
    ]
    units = sessions * steps
    for contender, module, own in contenders:
        given = {**own, **shared}
        yield Entry("b1", variant, sessions, contender, module, given, units, scale.rounds)


def _stored_by_peers(
    scale: Scaled, variant: str, sessions: int, durability: str
) -> Iterator[Entry]:
    steps = scale.b1_peers[sessions]
    slowest = () if sessions > PYDANTIC_MAX else (PYDANTIC,)
    shared: Given = {"sessions": sessions, "steps": steps, "durability": durability}
    for peer in (LANGGRAPH, DBOS, OPENAI, *slowest):
        given = {"cell": "durable", **shared}
        units = sessions * steps
        yield Entry("b1", variant, sessions, peer, MODULES[peer], given, units, scale.rounds_peers)


def _b2(scale: Scaled, bodies: Bodies) -> Iterator[Entry]:
    for steps in scale.b2:
        ours = {"cell": "length", "steps": steps, "sessions": min(max(1_000 // steps, 1), 20)}
        theirs = {**ours, "sessions": min(max(100 // steps, 1), 5)}
        limit = {**ours, "sizes": [bodies.read]}
        contenders = [
            (UKEMI, OURS_MODULE, ours, scale.rounds),
            (AIOSQLITE, LIMITS_MODULE, limit, scale.rounds),
            (LANGGRAPH, MODULES[LANGGRAPH], theirs, scale.rounds_peers),
            (DBOS, MODULES[DBOS], theirs, scale.rounds_peers),
        ]
        for contender, module, given, rounds in contenders:
            yield Entry("b2", "", steps, contender, module, given, steps, rounds)


def _b3(scale: Scaled, bodies: Bodies) -> Iterator[Entry]:
    for sessions in scale.b3:
        rounds = scale.rounds_long if sessions >= LONG_FROM else scale.rounds
        units = sessions * TURNS
        shared: Given = {"sessions": sessions, "turns": TURNS, "seconds": scale.turn_s}
        contenders: list[tuple[str, str, Given]] = [
            (UKEMI, OURS_MODULE, {"cell": "wait"}),
            (ANYIO, LIMITS_MODULE, {"cell": "wait_anyio"}),
            (AIOSQLITE, LIMITS_MODULE, {"cell": "wait_aiosqlite", "sizes": [bodies.read]}),
        ]
        if sessions == scale.b3[len(scale.b3) // 2]:
            contenders.append(
                (UKEMI_UNTOUCHED, OURS_MODULE, {"cell": "wait", "collector": "untouched"})
            )
        for contender, module, own in contenders:
            given = {**own, **shared}
            yield Entry("b3", "wait", sessions, contender, module, given, units, rounds)
        for peer in (AUTOGEN, LANGGRAPH):
            if sessions in scale.b3_peers:
                given = {"cell": "wait", **shared}
                rounds_peers = min(scale.rounds_peers, rounds)
                yield Entry("b3", "wait", sessions, peer, MODULES[peer], given, units, rounds_peers)
    held = scale.b3[len(scale.b3) // 2]
    for contender, module, cell in (
        (UKEMI, OURS_MODULE, "hold"),
        (ANYIO, LIMITS_MODULE, "hold_anyio"),
    ):
        given = {"cell": cell, "sessions": held}
        yield Entry("b3", "held", held, contender, module, given, held, scale.rounds)


def _b4(scale: Scaled) -> Iterator[Entry]:
    sessions = scale.b4
    peers_rounds = scale.rounds_peers
    for variant, contender, module, steps, rounds in (
        ("write", UKEMI, OURS_MODULE, B4_STEPS, scale.rounds),
        ("write", LANGGRAPH, MODULES[LANGGRAPH], B4_STEPS_PEERS, peers_rounds),
        ("write", DBOS, MODULES[DBOS], B4_STEPS_PEERS, peers_rounds),
        ("read", UKEMI, OURS_MODULE, B4_STEPS, scale.rounds),
    ):
        # In the middle of a step of most sessions, about half-way through.
        kill_at = sessions * (steps // 2) + sessions // 2
        given = {"cell": "killed", "sessions": sessions, "steps": steps, "kill_at": kill_at}
        if variant == "read":
            given["cell"] = "killed_reading"
        units = sessions * steps
        yield Entry("b4", variant, sessions, contender, module, given, units, rounds)


def _b5(scale: Scaled) -> Iterator[Entry]:
    for steps in (20, 200):
        contenders = [
            (UKEMI, OURS_MODULE, scale.b5_calls, scale.rounds),
            (STAMINA, MODULES[STAMINA], scale.b5_calls, scale.rounds),
            (AUTOGEN, MODULES[AUTOGEN], scale.b5_calls, scale.rounds_peers),
            (LANGGRAPH, MODULES[LANGGRAPH], scale.b5_peer_calls, scale.rounds_peers),
            (OPENAI, MODULES[OPENAI], scale.b5_peer_calls, scale.rounds_peers),
        ]
        for contender, module, calls, rounds in contenders:
            sessions = max(calls // steps, 1)
            given = {"cell": "calls", "sessions": sessions, "steps": steps}
            units = sessions * steps
            yield Entry("b5", "", steps, contender, module, given, units, rounds)


def _b6(scale: Scaled) -> Iterator[Entry]:
    for sessions in scale.b6:
        given: dict[str, object] = {"cell": "empty"}
        yield Entry("b6", "", sessions, EMPTY, PARKED_MODULE, given, 1, scale.rounds)
        given = {"cell": "enter", "sessions": sessions}
        yield Entry(
            "b6", "", sessions, UKEMI, PARKED_MODULE, given, 1, scale.rounds, needs=sessions
        )
    if scale.disk is not None:
        parked, active, records = scale.disk
        given = {"cell": "disk", "parked": parked, "active": active, "records": records}
        yield Entry("b6", "disk", parked, UKEMI, PARKED_MODULE, given, records, scale.rounds_long)

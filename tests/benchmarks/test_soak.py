"""The soak: a few seconds of it hold what it checks, and its checks see what they are there for."""

import subprocess
import sys
from pathlib import Path

import anyio
import msgspec
import pytest

from benchmarks.soak.books import Book, Effects, lines, session_of
from benchmarks.soak.checks import Found, check_folder, check_steady
from benchmarks.soak.child import Rest, Soaked
from benchmarks.soak.work import plan_of

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(params=["asyncio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    backend: str = request.param
    return backend


@pytest.mark.realtime
def test_some_seconds_of_kills_break_nothing(tmp_path: Path) -> None:
    """Bound: it is over within three minutes; as a rule within one."""
    report = tmp_path / "report.json"
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.soak", "--seconds", "8", "--json", str(report)],
        cwd=ROOT,
        check=False,
        capture_output=True,
        text=True,
        timeout=180,
    )
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]
    found = msgspec.json.decode(report.read_bytes())
    assert found["broken"] == []
    assert found["kills"] >= 3 and found["sessions"] >= 50 and found["effects"] >= 50
    assert found["statuses"]["completed"] > found["sessions"] / 2


# ---------------------------------------------------------------- the checks see what is wrong


def a_session(tool: str, avoid: str = "transfer") -> tuple[str, str]:
    """Return a session whose plan has a call of this tool, and that call's tag."""
    for number in range(10_000):
        session_id = f"s-{number}"
        plan = plan_of(session_id)
        if not any(name == avoid for name, _ in plan):
            for name, tag in plan:
                if name == tool:
                    return session_id, tag
    raise AssertionError(f"no plan has {tool}")


async def soaked(folder: Path, session_id: str) -> None:
    """Leave a store in a folder in which one session was started and ended as it liked."""
    told = Book(folder / "told.txt")
    told.write("started", session_id)
    told.close()
    with anyio.fail_after(60):
        soak = Soaked(folder)
        async with soak.runtime:
            handle = await soak.runtime.start("main", "work", session_id=session_id)
            await handle.cancel()


async def broken(folder: Path, session_id: str, tag: str, keys: list[str]) -> list[str]:
    effects = Effects(folder)
    for key in keys:
        effects.take(tag, key)
    effects.close()
    await soaked(folder, session_id)
    found: Found = await check_folder(folder)
    return found.broken


@pytest.mark.parametrize(
    ("tool", "keys", "said"),
    [
        ("pay", ["-"], ""),
        ("pay", ["-", "-"], "took effect 2 times"),
        ("order", ["k", "k"], ""),
        ("order", ["k", "l"], "with 2 keys"),
        ("ship", ["-", "-"], "took effect 2 times"),
    ],
)
async def test_what_took_effect_too_often_is_seen(
    tmp_path: Path, tool: str, keys: list[str], said: str
) -> None:
    session_id, tag = a_session(tool)
    found = await broken(tmp_path, session_id, tag, keys)
    assert [each for each in found if tag in each] == ([f"{tag}: {said}"] if said else [])


async def test_undone_and_never_done_is_seen(tmp_path: Path) -> None:
    session_id, tag = a_session("reserve")
    found = await broken(tmp_path, session_id, f"undo:{tag}", ["-"])
    assert found == [f"undo:{tag}: undone, and was never done"]


async def test_what_was_acknowledged_and_is_lost_is_seen(tmp_path: Path) -> None:
    await soaked(tmp_path, "s-1")
    told = Book(tmp_path / "told.txt")
    told.write("started", "s-lost")
    told.close()
    found = await check_folder(tmp_path)
    assert found.broken == ["s-lost was acknowledged and is not in the store"]


async def test_what_a_process_left_under_way_is_seen_and_then_seen_to(tmp_path: Path) -> None:
    """Nobody was told that it is stored: its process was killed a moment before."""
    soak = Soaked(tmp_path)
    async with soak.runtime:
        await soak.runtime.start("main", "work", session_id="s-1")
    found = await check_folder(tmp_path)
    assert found.broken == ["s-1 is still running"]
    with anyio.fail_after(60):
        await Soaked(tmp_path).run(new=False, stop=anyio.Event())
    found = await check_folder(tmp_path)
    assert found.broken == [] and found.sessions > 0


def test_books_are_read_by_whoever_comes_next(tmp_path: Path) -> None:
    first = Effects(tmp_path)
    first.take("s-1/0", "k")
    first.take("s-1.2.0/1")
    first.close()
    second = Effects(tmp_path)
    assert second.of == {"s-1/0": ["k"], "s-1.2.0/1": ["-"]}
    assert session_of("undo:s-1.2.0/1") == "s-1"
    second.forget("s-1")
    second.close()
    assert second.of == {}
    assert list(lines(tmp_path / "effects.txt")) == [["s-1/0", "k"], ["s-1.2.0/1", "-"]]


def rest(number: int, **changed: int) -> Rest:
    usual = {"ended": 1000, "blocks": 3000, "rss_kib": 60_000, "files": 7, "threads": 6}
    return Rest(round=number, **{**usual, **changed})


def test_a_steady_process_is_found_steady() -> None:
    found = check_steady([rest(at, rss_kib=50_000 + min(at, 2) * 5000) for at in range(8)])
    assert found.broken == ()
    assert (found.ended, found.rounds) == (8000, 8)
    with pytest.raises(ValueError, match="3 rounds are too few"):
        check_steady([rest(at) for at in range(3)])


@pytest.mark.parametrize(
    ("field", "step", "said"),
    [
        ("rss_kib", 1500, "memory grew"),
        ("files", 1, "descriptors grew"),
        ("threads", 2, "threads grew"),
    ],
)
def test_what_grows_from_round_to_round_is_seen(field: str, step: int, said: str) -> None:
    start = {"rss_kib": 60_000, "files": 7, "threads": 6}[field]
    found = check_steady([rest(at, **{field: start + at * step}) for at in range(8)])
    assert len(found.broken) == 1
    assert said in found.broken[0]


def test_what_a_runtime_keeps_of_each_session_is_seen() -> None:
    found = check_steady([rest(at, blocks=3000 + 10 * 1000) for at in range(8)])
    assert found.broken == ("5.0 blocks are kept of each session",)

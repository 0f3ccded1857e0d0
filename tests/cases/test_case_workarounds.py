"""Field cases about refusals that were worked around: by whom else, by what other tool, by what other name.

Each is made from a public report that is named at its test.
"""

import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from sessions import LoopClock, agent, ended, requests, results, until

from ukemi import BusinessRejected, HandedOver, Policy, Runtime, tool
from ukemi.actors.agent import Agent
from ukemi.actors.tooling.tools import AnyTool
from ukemi.models import Reply, call
from ukemi.supervisor.danger.danger import Action, judge
from ukemi.supervisor.danger.policy import DangerPolicy, DangerRule
from ukemi.tools import delete_file, shell, write_file

ASKED = Policy(
    danger=DangerPolicy(rules=(DangerRule(tool="write", when={"path": "keys.txt"}, then="ask"),))
)


@pytest.fixture
def where() -> str:
    return f"memory:{secrets.token_hex(8)}"


class Keys:
    """Two tools that change a file, each saying which; what they did is counted here."""

    def __init__(self) -> None:
        self.ran: list[str] = []

    def _tool(self, name: str) -> AnyTool:
        def of(path: str) -> str:
            return path

        @tool(name=name, resource=of)
        async def change(path: str) -> str:
            self.ran.append(name)
            if name == "order":
                raise BusinessRejected("sold out")
            return "done"

        return change

    def tools(self, *names: str) -> list[AnyTool]:
        return [self._tool(name) for name in names]


async def session_of(where: str, *agents: Agent) -> HandedOver:
    """Run a session of the first agent; whatever a person is asked, the answer is no."""
    async with Runtime(where, agents=agents, policy=ASKED, clock=LoopClock()) as runtime:
        await runtime.start(agents[0].name, "go", session_id="one")

        async def stands() -> bool:
            for request in await runtime.approvals():
                await runtime.decide(request, "deny", by="ann")
            return (await runtime.session("one").inspect()).outcome is not None

        await until(stands, 60.0, 0.05)
        outcome = await ended(runtime, "one")
    assert isinstance(outcome, HandedOver)
    return outcome


def told(of: Agent) -> list[str]:
    return [each.content for each in results(requests(of)[-1].messages)]


# ---------------------------------------------------------------- by whom else


@pytest.mark.parametrize("refused", ["write", "order"], ids=["a person", "the other side"])
async def test_what_was_refused_to_a_sub_session_its_parent_does_not_do(
    where: str, refused: str
) -> None:
    """crewrig/crewrig#1150: a helper reported a denial; who had sent it did the same itself."""
    keys = Keys()
    child = agent([call(refused, path="keys.txt"), "blocked"], keys.tools(refused), name="child")
    script: list[Reply] = [call("child", task="t"), call("append", path="keys.txt"), "blocked"]
    parent = agent(script, [child.as_tool(), *keys.tools("append")], name="parent")
    await session_of(where, parent, child)
    assert keys.ran == ([] if refused == "write" else ["order"])
    assert "a change of keys.txt was refused for good" in told(parent)[1]


@pytest.mark.parametrize("way", ["append", "write"])
async def test_what_was_refused_to_a_session_its_sub_sessions_do_not_do(
    where: str, way: str
) -> None:
    """agentscope-ai/agentscope-java#2477: what was denied was handed on to a helper that has the tool.

    Of an equal call nobody is asked a second time, either.
    """
    keys = Keys()
    child = agent([call(way, path="keys.txt"), "blocked"], keys.tools(way), name="child")
    script: list[Reply] = [call("write", path="keys.txt"), call("child", task="t"), "blocked"]
    parent = agent(script, [child.as_tool(), *keys.tools("write")], name="parent")
    await session_of(where, parent, child)
    assert keys.ran == []
    assert "refused for good" in told(child)[0]


async def test_a_sub_session_may_still_do_what_is_something_else(where: str) -> None:
    """Kilo-Org/kilocode#12373: what a parent may not do had closed all that its helpers may."""
    keys = Keys()
    child = agent([call("append", path="notes.txt"), "done"], keys.tools("append"), name="child")
    script: list[Reply] = [call("write", path="keys.txt"), call("child", task="t"), "blocked"]
    parent = agent(script, [child.as_tool(), *keys.tools("write")], name="parent")
    await session_of(where, parent, child)
    assert keys.ran == ["append"]


# ---------------------------------------------------------------- by what other name or tool


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "keys.txt").write_text("v1")
    (tmp_path / "sub").mkdir()
    (tmp_path / "link").symlink_to("keys.txt")
    (tmp_path / "here").symlink_to(".")
    return tmp_path


REAL = pytest.mark.parametrize("anyio_backend", [("asyncio", {})], ids=["asyncio"])
"""Files are looked at in threads, so the clock is the real one."""

FREE = DangerRule(tool="*", then="allow")


async def refused_then(where: str, tree: Path, tools: Sequence[AnyTool], *ways: Any) -> list[str]:
    """Have writing keys.txt denied by a rule, and then try other ways; return what was told of them."""
    denied = DangerRule(tool="write_file", when={"path": ["keys.txt"]}, then="deny")
    policy = Policy(danger=DangerPolicy(rules=(denied, FREE)))
    of = agent([call("write_file", path="keys.txt", text="v2"), *ways, "blocked"], tools)
    async with Runtime(where, agents=[of], policy=policy) as runtime:
        await runtime.start("agent", "go", session_id="one", working_directory=tree)
        await ended(runtime, "one", 60)
    return told(of)[1:]


@REAL
async def test_a_file_is_the_same_one_however_it_is_spelled(where: str, tree: Path) -> None:
    """QwenLM/qwen-code#6915, nolabs-ai/nono#272: another spelling, or a link, was another file."""
    names = ["./keys.txt", "sub/../keys.txt", str(tree / "keys.txt"), "link", "here/keys.txt"]
    tools = (write_file, delete_file)
    writes = [call("write_file", path=name, text="v2") for name in names]
    deletes = [call("delete_file", path=name) for name in names]
    for tried in (writes, deletes):
        said = await refused_then(f"{where}{tried[0].name}", tree, tools, *tried)
        assert all("refused for good" in each for each in said), said
        assert len(said) == len(names)
    assert (tree / "keys.txt").read_text() == "v1"


@REAL
@pytest.mark.parametrize(
    "command",
    [
        "printf x > keys.txt",
        "mv keys.txt k2",
        "echo x | tee keys.txt",
        "sed -i s/v/x/ keys.txt",
        "sh -c 'printf x >> keys.txt'",
        "cd sub && printf x > ../keys.txt",
        "ln -sf other keys.txt",
        "rm -f ./keys.txt",
        "printf x > sub/keys.txt; cp sub/keys.txt .",
        "printf x > link",
    ],
)
async def test_a_shell_does_not_do_what_was_refused_either(
    where: str, tree: Path, command: str
) -> None:
    """disler/claude-code-hooks-mastery#4, anthropics/claude-code#91700: the same, with a command."""
    cat, way = call("shell", command="cat keys.txt"), call("shell", command=command)
    seen, tried = await refused_then(where, tree, (write_file, shell), cat, way)
    assert "v1" in seen
    assert "refused for good" in tried
    assert (tree / "keys.txt").read_text() == "v1"


@REAL
async def test_a_shell_goes_on_with_other_files(where: str, tree: Path) -> None:
    way = call("shell", command="printf x > sub/notes.txt && cat keys.txt > sub/copy")
    (tried,) = await refused_then(where, tree, (write_file, shell), way)
    assert "exit status 0" in tried
    assert (tree / "sub/notes.txt").read_text() == "x"


# ---------------------------------------------------------------- by what other words


@pytest.mark.parametrize(
    ("command", "decision"),
    [
        ("direnv exec . rm -rf src", "ask"),
        ("nodemon --exec rm -rf src", "ask"),
        ("lerna exec -- rm -rf src", "ask"),
        ("nx exec -- rm -rf src", "ask"),
        ("arch -x86_64 rm -rf src", "ask"),
        ("cp x/.env .", "ask"),
        ("mv tmp/.env ./", "ask"),
        ("cp -t . x/.env", "ask"),
        ("cp a.txt x/.env conf", "ask"),
        ("direnv exec . npm test", "allow"),
        ("nodemon --exec ./start.sh", "allow"),
        ("lerna exec -- npm test", "allow"),
        ("nx build app", "allow"),
        ("arch", "allow"),
        ("cp ../shared/x.txt .", "allow"),
        ("mv a.txt b.txt docs/", "allow"),
    ],
)
def test_a_command_is_judged_by_what_it_comes_to(command: str, decision: str) -> None:
    """anthropics/claude-code#92542: behind a program that runs another, no rule saw the other."""
    action = Action(
        tool="shell", danger="shell", arguments={"command": command}, working_directory="/srv/tree"
    )
    assert judge(action, DangerPolicy()).decision == decision

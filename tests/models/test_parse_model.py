"""A model from one word, and what happens without the vendors' packages."""

import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from ukemi.actors.model import ModelRequest
from ukemi.models import AnthropicModel, OpenAIModel, ScriptedModel, parse_model
from ukemi.supervisor.errors import UsageError

BAD = [
    ("gpt", "'gpt' names no model; write openai:NAME"),
    ("openai:", "names no model"),
    ("cohere:x", "names no model"),
    ("scripted:alone", "names no script"),
    ("scripted::x", "names no script"),
    ("scripted:no_such_module:x", "no module 'no_such_module'"),
    ("scripted:json.no_such_module:x", "no module 'json.no_such_module'"),
    ("scripted:json:no_such_name", "no_such_name"),
    ("scripted:json:decoder", "a script is a list of replies or a function"),
]


@pytest.mark.parametrize(("word", "says"), BAD, ids=[row[0] for row in BAD])
def test_words_that_name_no_model(word: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        parse_model(word)


def test_words_that_name_a_model() -> None:
    openai = parse_model("openai:ft:gpt-5:team::x")
    assert isinstance(openai, OpenAIModel)
    assert openai.name == "ft:gpt-5:team::x"
    assert isinstance(parse_model("anthropic:claude"), AnthropicModel)


def test_scripts_and_models_of_a_module(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("ukemi_parse_test")
    ready = ScriptedModel(["x"])

    def function(request: ModelRequest) -> str:
        return request.session_id

    module.__dict__.update(lines=["done"], function=function, ready=ready)
    monkeypatch.setitem(sys.modules, "ukemi_parse_test", module)
    assert parse_model("scripted:ukemi_parse_test:ready") is ready
    for name in ("lines", "function"):
        assert isinstance(parse_model(f"scripted:ukemi_parse_test:{name}"), ScriptedModel)


def test_a_module_that_breaks_is_not_a_missing_module(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    broken = tmp_path / "ukemi_broken_module.py"
    broken.write_text("import a_module_that_is_not_there\n")
    with pytest.raises(ModuleNotFoundError, match="a_module_that_is_not_there"):
        parse_model("scripted:ukemi_broken_module:x")


@pytest.mark.parametrize("name", ["openai", "anthropic"])
def test_a_missing_package_is_named_with_the_command(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, name, None)  # what importing then does is ImportError
    with pytest.raises(UsageError, match=rf"pip install 'ukemi\[{name}\]'"):
        parse_model(f"{name}:m")


def test_importing_the_models_imports_no_vendors_package() -> None:
    code = (
        "import sys, ukemi.models;"
        "print(sorted({'openai', 'anthropic', 'httpx', 'httpx2', 'pydantic'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"

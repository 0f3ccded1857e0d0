"""What waits for a person: the list, and one dossier as Markdown and as JSON."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from module_in_doubt import POST_OFFICE

from ukemi.actors.handover.markdown import markdown_of
from ukemi.actors.outcome import Dossier, DoubtfulCall, EffectEnd, HandedOver, Option

Ukemi = Callable[..., Any]


@pytest.fixture
def letter(ukemi: Ukemi, tmp_path: Path) -> str:
    (tmp_path / "post_office.py").write_text(POST_OFFICE)
    ukemi("run", "post_office:sender", "Write to Ann", "--session-id", "letter")
    return "letter"


def test_the_list_says_what_failed_and_what_can_be_said(ukemi: Ukemi, letter: str) -> None:
    header, line = ukemi("handovers").out.splitlines()
    assert header.split() == ["ID", "AGENT", "REASON", "SINCE", "OPTIONS", "FAILED", "STEP"]
    assert line.split()[:3] == ["letter", "sender", "in_doubt"]
    assert "done not_done retry abandon go_on cancel" in line and "call 2.0 post" in line


def test_as_json_it_is_an_array(ukemi: Ukemi, letter: str) -> None:
    (data,) = ukemi("handovers", "--json").data
    assert (data["session_id"], data["agent"], data["reason"]) == ("letter", "sender", "in_doubt")
    assert data["failed_step"] == "call 2.0 post"
    assert data["options"] == ["done", "not_done", "retry", "abandon", "go_on", "cancel"]
    assert data["status"] == "handed_over"
    assert data["questions"] == ["did post (call 2.0) take effect?"]
    assert data["in_doubt"] == [{"n": 2, "index": 0, "tool": "post", "arguments": '{"to":"Ann"}'}]
    assert 0 <= time.time() * 1000 - data["since_ms"] < 60_000
    assert data["advice"] and data["decided"] == [] and data["damaged"] is None


def test_nothing_waits_and_limits(ukemi: Ukemi, letter: str) -> None:
    assert ukemi("handovers", "--limit", "0").status == 2
    ukemi("run", "post_office:sender", "Again", "--session-id", "second")
    ran = ukemi("handovers", "--limit", "1")
    assert "second" in ran.out and "letter" not in ran.out
    assert "only the newest 1" in ran.err
    for each in ("letter", "second"):
        ukemi("resolve", each, "done")
        ukemi("resume", "post_office", each)
    assert ukemi("handovers").out == "nothing waits for a person\n"
    assert ukemi("handovers", "--json").data == []
    gone = ukemi("handovers", "letter")
    assert (gone.status, gone.out) == (1, "")
    assert "session letter is completed: it waits for nobody" in gone.err


def test_one_of_them_is_markdown_with_the_lines_to_type(ukemi: Ukemi, letter: str) -> None:
    ran = ukemi("handovers", letter)
    assert ran.status == 0
    titles = [line for line in ran.out.splitlines() if line.startswith("#")]
    assert titles[:6] == [
        "# letter: in doubt",
        "## What failed",
        "## Its input",
        "## What the other side said",
        "## What was tried",
        "## What you can do",
    ]
    assert "ukemi resolve letter not_done --call 2.0" in ran.out
    assert ukemi("show", letter, "--dossier").out == ran.out
    ukemi("resolve", letter, "done", "--by", "ann")
    assert "decided and not applied yet: done about call 2.0#1, by ann" in (
        ukemi("handovers", letter).err
    )


def test_as_json_it_is_the_dossier(ukemi: Ukemi, letter: str) -> None:
    data = ukemi("handovers", letter, "--json").data
    for part in ("failed_step", "input", "upstream_error", "tried", "options"):
        assert data["dossier"][part]
    assert ukemi("show", letter, "--dossier", "--json").data == data
    assert ukemi("handovers", "nobody", "--json").status == 1


GOLDEN = """\
# s-1: in doubt

A session of agent buyer needs a person: no answer.

## What failed

call 2.0 pay

## Its input

```
{"amount": 5}
```

## What the other side said

````
TimedOut: ```
# no title
````

## What was tried

- nothing: \\*this\\* is not retried

## What you can do

- done: look, then say so

  ```
  ukemi resolve s-1 done
  ```

## In doubt

- call 2.0: pay \\{"amount": 5\\}, key k-1, still running

## Effects

- call 1.0: order, kept

Undone: none.

## Budget

- steps: 1 of 5
"""


def test_markdown_holds_everything_and_nothing_in_it_is_markup() -> None:
    dossier = Dossier(
        failed_step="call 2.0 pay",
        input='{"amount": 5}',
        upstream_error="TimedOut: ```\n# no title",
        tried=("nothing: *this* is not retried",),
        options=(Option(name="done", what="look,\nthen say so", command="ukemi resolve s-1 done"),),
        in_doubt=(
            DoubtfulCall(
                n=2, index=0, tool="pay", arguments='{"amount": 5}', key="k-1", still_running=True
            ),
        ),
        effects=(EffectEnd(n=1, index=0, tool="order", standing="kept"),),
        undone="none",
        budget={"steps": "1 of 5"},
    )
    outcome = HandedOver("in_doubt", dossier, "no answer")
    assert markdown_of("s-1", "buyer", outcome) == GOLDEN


# ---------------------------------------------------------------- every option, as it is written


NO_RIGHT = """\
from ukemi import Agent, PermissionDenied, tool
from ukemi.models import ScriptedModel, call


@tool(effect="write")
async def publish(page: str) -> str:
    "Publish a page."
    from pathlib import Path
    if not Path("granted").exists():
        raise PermissionDenied("no right to publish")
    return "published"




script = [call("publish", page="index"), call("publish", page="index"), "Published."]
editor = Agent("editor", model=ScriptedModel(script), tools=[publish])
"""


@pytest.fixture
def page(ukemi: Ukemi, tmp_path: Path) -> str:
    (tmp_path / "office.py").write_text(NO_RIGHT)
    ukemi("run", "office:editor", "Publish the index", "--session-id", "page")
    return "page"


def test_the_failed_step_is_tried_again_by_the_line_of_the_dossier(
    ukemi: Ukemi, page: str, tmp_path: Path
) -> None:
    data = ukemi("handovers", page, "--json").data
    first = data["dossier"]["options"][0]
    assert (first["name"], first["command"]) == ("retry", "ukemi resolve page retry")
    (tmp_path / "granted").touch()
    assert ukemi(*first["command"].split()[1:]).status == 0
    assert ukemi("handovers", page).err.count("decided and not applied yet: retry") == 1
    assert ukemi("resume", "office", page).out == "Published.\n"


def test_it_goes_on_with_a_message(ukemi: Ukemi, page: str) -> None:
    missing = ukemi("resolve", page, "go_on")
    assert missing.status == 2 and "takes a message" in missing.err
    assert ukemi("resolve", page, "go_on", "--result", "Leave it, then.").status == 0
    assert "no right to publish" in ukemi("resume", "office", page).out + ukemi("show", page).out
    assert "Leave it, then." in ukemi("log", page).out


def test_it_is_given_up(ukemi: Ukemi, page: str) -> None:
    assert ukemi("resolve", page, "cancel", "--by", "ann").status == 0
    ukemi("resume", "office", page)
    assert ukemi("handovers").out == "nothing waits for a person\n"
    assert "stopped" in ukemi("sessions").out
    other = ukemi("resolve", page, "retry")
    assert other.status == 1 and "by ann" in other.err


def test_another_store_is_named_in_the_lines_to_type(
    ukemi: Ukemi, page: str, tmp_path: Path
) -> None:
    (tmp_path / "ukemi.db").rename(tmp_path / "my agents.db")
    ran = ukemi("handovers", page, "--store", "my agents.db")
    assert "ukemi resolve page cancel --store 'my agents.db'" in ran.out


def test_questions_of_a_session_that_was_given_up_are_listed(ukemi: Ukemi, letter: str) -> None:
    """It waits for nobody as a session; whether the letter was posted is open all the same."""
    ukemi("resolve", letter, "cancel")
    ukemi("resume", "post_office", letter)
    _, line = ukemi("handovers").out.splitlines()
    assert "done not_done retry abandon" in line and "abandon cancel" not in line
    assert "did post (call 2.0) take effect?" in line
    ran = ukemi("handovers", letter)
    assert ran.status == 0 and ran.out.startswith("# letter: open questions\n")
    assert "ukemi resolve letter not_done --call 2.0" in ran.out
    data = ukemi("handovers", letter, "--json").data
    assert (data["status"], data["dossier"]) == ("stopped", None)
    assert data["questions"] == ["did post (call 2.0) take effect?"]

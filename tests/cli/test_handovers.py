"""What waits for a person: the list, and one dossier as Markdown and as JSON."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from module_in_doubt import POST_OFFICE

from ukemi.actors.dossier_markdown import markdown_of
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

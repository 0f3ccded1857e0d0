"""policy show, check and explain, and classify: what is printed, and the exit status."""

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ukemi import Policy
from ukemi.supervisor.policy_file import parse_policy

Ukemi = Callable[..., Any]

GOOD = "[transient]\nattempts_max = 2\n[tool.pay.transient]\ndelay_s_first = 3\n"


@pytest.fixture(autouse=True)
def good(tmp_path: Path) -> None:
    (tmp_path / "good.toml").write_text(GOOD)


def test_show_prints_a_document_that_check_accepts_and_that_is_the_same_policy(
    ukemi: Ukemi, tmp_path: Path
) -> None:
    shown = ukemi("policy", "show")
    assert shown.status == 0
    assert parse_policy(shown.out) == Policy()
    (tmp_path / "shown.toml").write_text(shown.out)
    assert ukemi("policy", "check", "shown.toml").status == 0


def test_show_of_a_file_has_its_values_and_all_others(ukemi: Ukemi) -> None:
    shown = ukemi("policy", "show", "--policy", "good.toml")
    assert parse_policy(shown.out) == parse_policy(GOOD)
    data = ukemi("policy", "show", "--policy", "good.toml", "--json").data
    assert data["transient"]["attempts_max"] == 2
    assert data["tool"]["pay"]["transient"] == {"delay_s_first": 3}


def test_show_for_a_tool_is_what_holds_for_it(ukemi: Ukemi) -> None:
    data = ukemi("policy", "show", "--policy", "good.toml", "--tool", "pay", "--json").data
    assert data["transient"]["attempts_max"] == 2
    assert data["transient"]["delay_s_first"] == 3.0


def test_check_says_that_a_policy_is_one(ukemi: Ukemi) -> None:
    assert ukemi("policy", "check", "good.toml").status == 0
    assert ukemi("policy", "check", "good.toml", "--json").data["ok"] is True


NO_POLICY = [
    ("typo.toml", b"[transiant]\nattempts_max = 1\n", "did you mean 'transient'"),
    ("bad.toml", b"[transient]\nattempts_max = 0\n", "bad.toml: [transient] attempts_max=0"),
    ("no.toml", b"[transient", "no.toml is no TOML: "),
    ("bytes.toml", b"\xff\xfe[transient]", "'bytes.toml' cannot be read: "),
]


@pytest.mark.parametrize(("name", "body", "said"), NO_POLICY, ids=[each[0] for each in NO_POLICY])
def test_what_is_no_policy_is_wrong_usage_whoever_is_given_it(
    ukemi: Ukemi, tmp_path: Path, name: str, body: bytes, said: str
) -> None:
    (tmp_path / name).write_bytes(body)
    for words in (
        ("check", name),
        ("check", name, "--json"),
        ("show", "--policy", name),
        ("explain", "--status", "503", "--policy", name),
    ):
        ran = ukemi("policy", *words)
        assert (ran.status, ran.out) == (2, ""), words
        assert said in ran.err, words


def test_rules_that_are_no_text_are_wrong_usage(ukemi: Ukemi, tmp_path: Path) -> None:
    (tmp_path / "rules.toml").write_bytes(b"\xff\xfe")
    for words in (("classify",), ("policy", "explain", "--status", "503")):
        ran = ukemi(*words, "--rules", "rules.toml")
        assert (ran.status, ran.out) == (2, "")
        assert "cannot read the rules rules.toml" in ran.err


def test_a_file_that_is_not_there_is_wrong_usage(ukemi: Ukemi) -> None:
    for words in (("check", "none.toml"), ("show", "--policy", "none.toml")):
        ran = ukemi("policy", *words)
        assert (ran.status, ran.out) == (2, "")
        assert "none.toml" in ran.err


TOO_LONG = "prompt is too long: 210000 tokens > 200000 maximum"

EXPLAINED: list[tuple[tuple[str, ...], str, str, str]] = [
    (("--status", "503", "--effect", "read"), "transient", "retry", "hand_over"),
    (("--status", "503"), "transient", "retry", "hand_over"),
    (("--status", "504"), "in_doubt_timeout", "hand_over", "hand_over"),
    (("--status", "504", "--accepts-key"), "in_doubt_timeout", "retry", "hand_over"),
    (("--status", "504", "--safe-to-retry"), "in_doubt_timeout", "retry", "hand_over"),
    (("--status", "401"), "permission_denied", "hand_over", "hand_over"),
    (("--text", TOO_LONG, "--effect", "read"), "context_overflow", "correct", "correct"),
    (("--text", TOO_LONG, "--model"), "context_overflow", "prune", "prune"),
    (("--exception", "TypeError", "--message", "x"), "bug", "hand_over", "hand_over"),
    (("--text", "gibberish"), "unknown", "hand_over", "hand_over"),
    (("--text", "connection refused"), "transient", "retry", "hand_over"),
    (("--status", "503", "--attempt", "4"), "transient", "hand_over", "hand_over"),
    (("--status", "503", "--elapsed", "119.9"), "transient", "hand_over", "hand_over"),
]


@pytest.mark.parametrize("row", EXPLAINED, ids=lambda row: " ".join(row[0]))
def test_explain_names_class_and_directive(
    ukemi: Ukemi, row: tuple[tuple[str, ...], str, str, str]
) -> None:
    words, error_class, directive, then = row
    data = ukemi("policy", "explain", *words, "--json").data
    assert data["class"] == error_class
    assert data["directive"]["do"] == directive
    assert data["then"]["do"] == then
    if error_class != "unknown":
        assert data["evidence"]


def test_explain_shows_the_waits_and_the_numbers_they_come_from(ukemi: Ukemi) -> None:
    words = ("--status", "503", "--effect", "read", "--tool", "pay", "--policy", "good.toml")
    data = ukemi("policy", "explain", *words, "--json").data
    assert data["waits"] == [
        {"attempt": 1, "wait_s_min": 1.5, "wait_s_max": pytest.approx(3.0, abs=0.01)}
    ]
    assert data["numbers"]["attempts_max"] == 2
    text = ukemi("policy", "explain", *words).out
    for part in ("transient", "retry", "after attempt 1: 1.5 s to 3.0 s", "attempts_max = 2"):
        assert part in text


def test_explain_takes_the_stored_form_of_an_error(ukemi: Ukemi) -> None:
    stored = {"form": "http", "status": 429, "headers": {"retry-after": "90"}, "body": ""}
    for given in (stored, {"id": 1, "input": stored}):
        error = json.dumps(given)
        data = ukemi("policy", "explain", "--error", error, "--effect", "read", "--json").data
        assert (data["class"], data["retry_after"]) == ("rate_limited", 90.0)
        assert "time budget" in data["then"]["detail"]
        assert data["waits"][0]["wait_s_min"] == 90.0


def test_explain_reads_the_marks_of_a_real_tool(ukemi: Ukemi, tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text(
        "from ukemi import tool\n\n@tool(effect='read')\ndef stock(sku: str) -> int:\n    return 1\n"
    )
    words = ("policy", "explain", "--status", "504", "--json", "--tool")
    data = ukemi(*words, "shop.py:stock").data
    assert (data["tool"], data["repeatable"]) == ("stock", True)
    assert data["directive"]["do"] == "retry"
    ran = ukemi(*words, "shop.py:pay")
    assert ran.status == 2
    assert "it has: stock" in ran.err


WRONG: list[tuple[tuple[str, ...], str]] = [
    ((), "name one error"),
    (("--status", "503", "--text", "x"), "name one error"),
    (("--error", "{"), "cannot be read"),
    (("--error", "[]"), "one JSON object"),
    (("--error", "{}"), "cannot be read"),
    (("--status", "503", "--header", "x"), "--header 'x'"),
]


@pytest.mark.parametrize(("words", "said"), WRONG, ids=[" ".join(w) or "none" for w, _ in WRONG])
def test_explain_refuses_what_names_no_error(
    ukemi: Ukemi, words: tuple[str, ...], said: str
) -> None:
    ran = ukemi("policy", "explain", *words)
    assert (ran.status, ran.out) == (2, "")
    assert said in ran.err


@pytest.mark.parametrize("command", ["show", "check", "explain"])
def test_every_policy_command_explains_itself(ukemi: Ukemi, command: str) -> None:
    ran = ukemi("policy", command, "--help")
    assert ran.status == 0
    assert ran.out.startswith(f"usage: ukemi policy {command}")


def test_classify_reads_lines_and_goes_on_after_a_bad_one(
    ukemi: Ukemi, monkeypatch: pytest.MonkeyPatch
) -> None:
    error: dict[str, Any] = {"form": "text", "text": "connection refused"}
    lines = [
        json.dumps({"id": 1, "input": error}),
        "nonsense",
        json.dumps({"id": 2, "input": error}),
    ]
    monkeypatch.setattr("sys.stdin", io.StringIO("\n".join(lines)))
    ran = ukemi("classify")
    assert ran.status == 1
    answers = [json.loads(line) for line in ran.out.splitlines()]
    assert [(each["id"], each["class"]) for each in answers] == [(1, "transient"), (2, "transient")]
    assert "line 2" in ran.err


class Gone(io.StringIO):
    """A pipe whose reader has gone."""

    def write(self, _text: str) -> int:
        raise BrokenPipeError(32, "Broken pipe")


def test_a_reader_who_has_seen_enough_is_no_traceback(
    ukemi: Ukemi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "sys.stdin", io.StringIO('{"input": {"form": "text", "text": "connection refused"}}\n')
    )
    with monkeypatch.context() as patch:
        patch.setattr("sys.stdout", Gone())
        ran = ukemi("classify")
    assert (ran.status, ran.err) == (1, "")


def test_input_that_is_no_text_is_wrong_usage(
    ukemi: Ukemi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"\xff\n"), encoding="utf-8"))
    ran = ukemi("classify")
    assert (ran.status, ran.out) == (2, "")
    assert "standard input could not be read" in ran.err


def test_the_exit_status_tells_also_where_nobody_hears_the_error(
    ukemi: Ukemi, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("sys.stderr", Gone())
        assert ukemi("policy", "check", "none.toml").status == 2


CALLS: list[tuple[tuple[str, ...], str, str, str]] = [
    (("--tool", "shell", "--args", '{"command": "rm -rf src"}'), "ask", "delete", "under src"),
    (("--tool", "shell", "--args", '{"command": "ls"}'), "allow", "shell", "none seen"),
    (("--tool", "shell", "--args", '{"command": "rm -rf /"}'), "deny", "destroy", "under /"),
    (("--tool", "delete_file", "--args", '{"path": "a.txt"}'), "ask", "delete", "delete_file"),
    (("--tool", "pay", "--danger", "money", "--args", "{}"), "ask", "money", "moves money"),
    (("--tool", "note", "--args", "{}"), "allow", "", "none seen"),
    (("--tool", "read_file", "--args", '{"path": ".env"}'), "ask", "credentials", "secrets"),
]


@pytest.mark.parametrize("row", CALLS, ids=lambda row: " ".join(row[0]))
def test_explain_judges_a_call(ukemi: Ukemi, row: tuple[tuple[str, ...], str, str, str]) -> None:
    words, decision, category, said = row
    data = ukemi("policy", "explain", *words, "--json").data
    assert (data["decision"], data["category"]) == (decision, category)
    ran = ukemi("policy", "explain", *words)
    assert ran.status == 0
    assert decision in ran.out and said in ran.out


def test_explain_judges_a_call_by_a_policy_and_a_tools_own_marks(
    ukemi: Ukemi, tmp_path: Path
) -> None:
    (tmp_path / "shop.py").write_text(
        "from ukemi import tool\n\n@tool(danger='money')\ndef buy(units: int) -> int:\n    return 1\n"
    )
    (tmp_path / "small.toml").write_text(
        '[[danger.rules]]\ntool = "buy"\nwhen = { units = "<= 10" }\nthen = "allow"\n'
    )
    words = ("policy", "explain", "--tool", "shop.py:buy", "--policy", "small.toml", "--json")
    small = ukemi(*words, "--args", '{"units": 3}').data
    assert (small["decision"], small["danger"]) == ("allow", "money")
    assert small["rule"] == '[[danger.rules]] tool = "buy", units <= 10 -> allow'
    assert ukemi(*words, "--args", '{"units": 30}').data["decision"] == "ask"


@pytest.mark.parametrize(
    "words", [("--args", "{"), ("--args", "[]"), ("--args", "{}", "--status", "1")]
)
def test_explain_refuses_what_names_no_call(ukemi: Ukemi, words: tuple[str, ...]) -> None:
    ran = ukemi("policy", "explain", *words)
    assert (ran.status, ran.out) == (2, "")
    assert "--args" in ran.err

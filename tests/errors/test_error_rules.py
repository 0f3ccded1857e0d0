# ruff: noqa: RUF001 - the punctuation of Chinese
"""Rules of the user, failures in normal returns, and the lines of the command."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from errors_score import records

from ukemi import ErrorClass, UsageError
from ukemi.cli.classify import classify_lines
from ukemi.supervisor.classify import Classifier, classify, declared_failure
from ukemi.supervisor.classifying.phrases import first, parse_phrase, parse_rules
from ukemi.supervisor.classifying.user import UserRules, parse_user_rules, read_rules

C = ErrorClass


def rules(text: str) -> Classifier:
    return Classifier(parse_user_rules(text))


class StockError(Exception):
    """A tool's own exception."""


class BinStockError(StockError):
    """The ancestry counts."""


SHOP = rules(
    """
    [[rule]]
    class = "business_rejected"
    status = 409
    code = "STK_*"

    [[rule]]
    class = "transient"
    executed = "maybe"
    exception = "StockError"
    text = "relay & !fatal"

    [[rule]]
    class = "permission_denied"
    host = "crm.internal"
    text = ["kontingent", "配额已满"]
    """
)


def http(status: int, body: Any, url: str = "http://x/") -> dict[str, Any]:
    text = json.dumps(body, ensure_ascii=False)
    request = {"method": "POST", "url": url}
    return {"form": "http", "request": request, "status": status, "headers": {}, "body": text}


def test_every_condition_of_a_rule_must_hold() -> None:
    assert SHOP(http(409, {"code": "STK_17", "m": "?"})).error_class == C.BUSINESS_REJECTED
    assert "rule 1" in SHOP(http(409, {"code": "STK_17"})).evidence[0]
    assert "rule 1" not in SHOP(http(400, {"code": "STK_17"})).evidence[0]
    assert "rule 1" not in SHOP(http(409, {"code": "SKT_17"})).evidence[0]


def test_an_exception_is_named_by_itself_or_an_ancestor() -> None:
    failure = SHOP(BinStockError("relay 7 opened"))
    assert (failure.error_class, failure.may_have_executed) == (C.TRANSIENT, "maybe")
    assert SHOP(BinStockError("relay 7: fatal")).error_class == C.UNKNOWN


@pytest.mark.parametrize("text", ["Kontingent erschöpft", "配额已满，请联系"])
def test_a_rule_may_be_in_any_language(text: str) -> None:
    url = "https://crm.internal/v1"
    assert SHOP(http(500, {"message": text}, url)).error_class == C.PERMISSION_DENIED


def test_a_rule_speaks_before_all_that_is_shipped_but_not_before_the_tool() -> None:
    own = rules('[[rule]]\nclass = "bug"\nstatus = 503')
    assert own(http(503, {})).error_class == C.BUG
    assert classify(http(503, {})).error_class == C.TRANSIENT
    from ukemi import RateLimited

    everything = rules('[[rule]]\nclass = "bug"\ntext = "x"')
    assert everything(RateLimited("x")).error_class == C.RATE_LIMITED


def test_without_a_rule_that_holds_the_shipped_ones_speak() -> None:
    for record in records()[::20]:
        given = record["input"]
        assert SHOP(given, stage=given["stage"]) == classify(given, stage=given["stage"])


WRONG = [
    ("[[rule]\n", "not TOML"),
    ('[[rule]]\nclass = "bug"', "no condition"),
    ("[[rule]]\nstatus = 500", "class"),
    ('[[rule]]\nclass = "bugs"\nstatus = 500', "bugs"),
    ('[[rule]]\nclass = "bug"\nstatus = "500"', "status"),
    ('[[rule]]\nclass = "bug"\nstatus = 5000', "5000"),
    ('[[rule]]\nclass = "bug"\nstatsu = 500', "statsu"),
    ('[[rule]]\nclass = "bug"\ntext = "/(/"', "regular expression"),
    ('[[rule]]\nclass = "bug"\ntext = "a||b"', "empty word"),
    ('[[rule]]\nclass = "bug"\nexecuted = "perhaps"\nstatus = 500', "perhaps"),
    ('[[rules]]\nclass = "bug"\nstatus = 500', "rules"),
]


@pytest.mark.parametrize(("text", "named"), WRONG, ids=[named for _, named in WRONG])
def test_a_wrong_rule_is_refused_and_named(text: str, named: str) -> None:
    with pytest.raises(UsageError, match=named):
        parse_user_rules(text, "mine.toml")


def test_a_wrong_rule_is_named_by_file_and_number(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('[[rule]]\nclass = "bug"\nstatus = 500\n[[rule]]\nclass = "no"\nstatus = 1')
    with pytest.raises(UsageError, match=r"mine\.toml, rule 2"):
        read_rules(file)
    with pytest.raises(UsageError, match="cannot read"):
        read_rules(tmp_path / "absent.toml")
    file.write_text("")
    assert read_rules(file) == UserRules()


PHRASES: list[tuple[str, str, bool]] = [
    ("a|b", "xbx", True),
    ("a & b", "a only", False),
    ("a & !b", "a only", True),
    ("a & !b", "a b", False),
    ("<lock", "blocked", False),
    ("<lock", "a lock-out", True),
    ("<lock>", "locked", False),
    ("<lock>", "lock.", True),
    (r"/\bno \d+ left/", "no 7 left", True),
    (r"a & !/\d/", "a 7", False),
    ("库存 & 不足", "库存不足", True),
]


@pytest.mark.parametrize(("phrase", "text", "holds"), PHRASES)
def test_the_language_of_phrases(phrase: str, text: str, holds: bool) -> None:
    assert all(term.holds(text) for term in parse_phrase(phrase)) is holds


def test_the_first_rule_that_holds_wins() -> None:
    table = parse_rules("bug maybe :: a\ntransient no :: a|b\n# c\n\n", "t")
    for text, error_class in (("a", C.BUG), ("b", C.TRANSIENT)):
        verdict = first(table, text)
        assert verdict is not None
        assert verdict.error_class == error_class
    assert first(table, "c") is None


DECLARED: list[tuple[object, ErrorClass | None]] = [
    ({"ok": False, "error": "insufficient stock"}, C.BUSINESS_REJECTED),
    ({"ok": False}, C.UNKNOWN),
    ({"success": "false", "msg": "系统繁忙，请稍后重试"}, C.TRANSIENT),
    ({"errcode": 40001, "errmsg": "invalid credential"}, C.PERMISSION_DENIED),
    ({"code": -1, "msg": "库存不足"}, C.BUSINESS_REJECTED),
    ({"code": "A0401", "message": "login expired"}, C.PERMISSION_DENIED),
    ({"error_code": 18, "error_msg": "Open api qps request limit reached"}, C.RATE_LIMITED),
    ({"status": "failed", "error": "read timed out"}, C.IN_DOUBT_TIMEOUT),
    ({"error": {"code": "context_length_exceeded"}}, C.CONTEXT_OVERFLOW),
    ({"base_resp": {"status_code": 1008, "status_msg": "insufficient balance"}}, C.PERMISSION_DENIED),
    ({"returncode": 127, "stderr": "sh: foo: not found"}, C.PERMISSION_DENIED),
    ({"exit_code": 1, "stderr": "cannot stat 'x': No such file or directory"}, C.INVALID_ARGUMENT),
    ({"exit_code": 0, "stderr": "warning: deprecated"}, None),
    ({"errcode": 0, "errmsg": "ok"}, None),
    ({"code": 0, "data": [1]}, None),
    ({"code": 200, "msg": "success"}, None),
    ({"code": "SUCCESS"}, None),
    ({"code": "CNY", "rate": 7.1}, None),
    ({"ok": True, "error": None}, None),
    ({"status": "shipped"}, None),
    ({"error": ""}, None),
    ({"errors": []}, None),
    ({}, None),
    ("error", None),
    (None, None),
    ([{"ok": False}], None),
]  # fmt: skip


@pytest.mark.parametrize(
    ("value", "error_class"), DECLARED, ids=[str(row[0])[:50] for row in DECLARED]
)
def test_a_normal_return_that_says_it_failed(value: object, error_class: ErrorClass | None) -> None:
    failure = declared_failure(value)
    assert (failure.error_class if failure else None) == error_class


def test_lines_in_lines_out() -> None:
    given = records()[:40]
    lines = [json.dumps({"id": r["id"], "input": r["input"]}) + "\n" for r in given]
    out, err = io.StringIO(), io.StringIO()
    assert classify_lines(lines, out, err) == 0
    assert err.getvalue() == ""
    answers = [json.loads(line) for line in out.getvalue().splitlines()]
    assert [each["id"] for each in answers] == [r["id"] for r in given]
    keys = {"id", "class", "retry_after", "fields", "may_have_executed"}
    assert all(each.keys() == keys for each in answers)


BAD = [
    "{",
    "7",
    '"x"',
    '{"id": 1, "input": 7}',
    '{"id": 1, "input": {"form": "morse"}}',
    '{"id": 1, "input": {"form": "text", "text": "x", "stage": "late"}}',
    '{"id": 1, "input": {"form": "text", "text": "x", "received_at": "now"}}',
]


@pytest.mark.parametrize("bad", BAD)
def test_a_bad_line_is_reported_with_its_number_and_stops_nothing(bad: str) -> None:
    good = json.dumps({"id": "a", "input": {"form": "text", "text": "disk full"}})
    out, err = io.StringIO(), io.StringIO()
    assert classify_lines([good, "", bad, good], out, err) == 1
    assert err.getvalue().startswith("line 3: ")
    assert [json.loads(line)["id"] for line in out.getvalue().splitlines()] == ["a", "a"]


def test_rules_of_the_user_reach_the_command() -> None:
    own = parse_user_rules('[[rule]]\nclass = "bug"\ntext = "zqx"')
    line = json.dumps({"id": 1, "input": {"form": "text", "text": "zqx"}})
    out = io.StringIO()
    classify_lines([line], out, io.StringIO(), own)
    assert json.loads(out.getvalue())["class"] == "bug"


# ---------------------------------------------------------------- evidence


@pytest.mark.parametrize(
    ("text", "evidence"),
    [
        ("Insufficient stock for A-17", 'English words "insufficient" + "stock"'),
        ("Too many zealous attempts", 'English words "too many … attempts"'),
        ("job 4711 of hunter2 was cancelled", 'English words "job …"'),
        ("可用库存不足", 'Chinese words "库存" + "不足"'),
        ("同一客户最多2份", 'Chinese words "同一…最多"'),
        ("the gnomes are on strike", "nothing known"),
    ],
)
def test_evidence_is_what_was_met_in_the_rules_own_words(text: str, evidence: str) -> None:
    """What the text says besides may be a secret."""
    assert classify({"form": "text", "text": text}).evidence == (evidence,)


def test_evidence_names_where_it_is_from() -> None:
    assert classify(http(400, {"code": "STOCK_SOLD_OUT_X"})).evidence == (
        'a code\'s words "stock"',
    )
    assert classify(http(429, {"error": {"code": "rate_limit_exceeded"}})).evidence == (
        "code rate_limit_exceeded",
    )
    assert classify(http(503, "")).evidence == ("status 503",)


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        (
            {"due_date": ["This field is required."], "units": ["Is too small."]},
            ("due_date", "units"),
        ),
        ({"message": {"title": ["is too long"]}}, ("title",)),
        ({"non_field_errors": ["The dates overlap badly."]}, ()),
        ({"tags": ["red hat"], "id": 3}, ()),
    ],
)
def test_fields_with_their_faults_are_named_where_an_answer_is_nothing_else(
    body: Any, fields: tuple[str, ...]
) -> None:
    failure = classify(http(400, body))
    assert (failure.error_class, failure.fields) == (C.INVALID_ARGUMENT, fields)

# ruff: noqa: RUF001 - the punctuation of Chinese
"""Free text of internal services, in English and Chinese, and answers of further services."""

import tomllib
from typing import Any

import pytest
from errors_score import DATA, records

from ukemi import ErrorClass
from ukemi.supervisor.classify import classify
from ukemi.supervisor.classifying.words import of_words

SENTENCES = tomllib.loads((DATA / "sentences.toml").read_text("utf-8"))
BY_CLASS = [(lang, name) for lang in SENTENCES for name in SENTENCES[lang]]
ANSWERS = records("answers.ndjson")


def said(sentence: str, status: int = 500) -> dict[str, Any]:
    return {"form": "http", "status": status, "headers": {}, "body": sentence}


@pytest.mark.parametrize(("lang", "name"), BY_CLASS)
def test_a_bare_500_with_a_sentence_is_what_the_sentence_says(lang: str, name: str) -> None:
    wrong = {
        sentence: failure.error_class
        for sentence in SENTENCES[lang][name]
        if (failure := classify(said(sentence))).error_class != name
    }
    assert wrong == {}


@pytest.mark.parametrize("record", ANSWERS, ids=range(len(ANSWERS)))
def test_answers_of_further_services(record: dict[str, Any]) -> None:
    given = record["input"]
    failure = classify(given, stage=given["stage"], received_at=given["received_at"])
    assert failure.error_class in record["expect"], failure.evidence


# The same word, and another thing beside it.
PAIRS = [
    (
        "The order was cancelled",
        "business_rejected",
        "The task was cancelled by the operator",
        "cancelled",
    ),
    ("用户取消了订单", "business_rejected", "用户取消了本次执行", "cancelled"),
    (
        "Rate limit: 5 requests per second",
        "rate_limited",
        "Limit of 2 per customer reached",
        "business_rejected",
    ),
    (
        "token has expired",
        "permission_denied",
        "input of 9000 tokens exceeds the context",
        "context_overflow",
    ),
    ("connect timed out", "transient", "read timed out", "in_doubt_timeout"),
    (
        "Session timed out, log in again",
        "permission_denied",
        "Request timed out",
        "in_doubt_timeout",
    ),
    (
        "the text is too long for field name",
        "invalid_argument",
        "the prompt is too long",
        "context_overflow",
    ),
    ("审批已被驳回", "business_rejected", "没有审批接口的权限", "permission_denied"),
    ("库存不足", "business_rejected", "磁盘空间不足", "resource_exhausted"),
    ("账户余额不足", "business_rejected", "接口余额不足，请充值", "permission_denied"),
    ("支付超时，订单已关闭", "business_rejected", "支付请求超时，结果未知", "in_doubt_timeout"),
    ("系统繁忙，请稍后重试", "transient", "密码错误，请稍后重试", "permission_denied"),
    ("lock wait timeout exceeded", "transient", "account is locked", "permission_denied"),
]


@pytest.mark.parametrize("pair", PAIRS, ids=[pair[0] for pair in PAIRS])
def test_the_words_beside_a_word_decide(pair: tuple[str, str, str, str]) -> None:
    one, first, other, second = pair
    assert classify(said(one)).error_class == first
    assert classify(said(other)).error_class == second


@pytest.mark.parametrize(
    "word",
    [
        "retry",
        "try again",
        "timeouts",
        "limit",
        "token",
        "cancel",
        "请重试",
        "限",
        "取消",
        "稍",
        "错",
    ],
)
def test_a_word_alone_is_never_retried(word: str) -> None:
    verdict = of_words(word)
    assert verdict is None or verdict.error_class not in (
        ErrorClass.TRANSIENT,
        ErrorClass.RATE_LIMITED,
    )


# Sentences in which single words say the opposite of the whole: what must not be answered.
MISLEADING = tomllib.loads((DATA / "misleading.toml").read_text("utf-8"))


@pytest.mark.parametrize("kind", MISLEADING)
def test_a_misleading_sentence_is_not_taken_for_what_would_do_harm(kind: str) -> None:
    """A rule or a right is not handed to the model to work round, and nothing is repeated blindly."""
    wrong = {
        sentence: failure.error_class
        for sentence in MISLEADING[kind]["sentences"]
        if (failure := classify(said(sentence))).error_class not in MISLEADING[kind]["allowed"]
    }
    assert wrong == {}

"""How far a request was over its limit, from the words of providers."""

import pytest

from ukemi.supervisor.overflow import Overflow, overflow_in

TOLD = [
    (
        (
            "This model's maximum context length is 128000 tokens. However, your messages resulted in "
            "141233 tokens (139880 in the messages, 1353 in the functions)."
        ),
        Overflow(141_233, 128_000),
    ),
    (
        (
            "This model's maximum context length is 65536 tokens. However, you requested 70211 tokens "
            "(66115 in the messages, 4096 in the completion). Please reduce the length."
        ),
        Overflow(66_115, 61_440),
    ),
    ("prompt is too long: 210,000 tokens > 200,000 maximum", Overflow(210_000, 200_000)),
    (
        "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease",
        Overflow(188_240, 178_667),
    ),
    (
        "The input token count (1200293) exceeds the maximum number of tokens allowed (1048576).",
        Overflow(1_200_293, 1_048_576),
    ),
    (
        "request (9120 tokens) exceeds the available context size (8192 tokens), try increasing it",
        Overflow(9_120, 8_192),
    ),
    (
        (
            "Prompt contains 40215 tokens and 0 draft tokens, too large for model with 32768 maximum "
            "context length"
        ),
        Overflow(40_215, 32_768),
    ),
    (
        "length of prompt_tokens (40211) must be less than max_seq_len (32768).",
        Overflow(40_211, 32_768),
    ),
    ('{"error": "input_tokens_exceeded", "max": 32768, "got": 40112}', Overflow(40_112, 32_768)),
    (
        "`inputs` tokens + `max_new_tokens` must be <= 2048. Given: 3474 `inputs` tokens",
        Overflow(3_474, 2_048),
    ),
    ("输入长度 40960 超过模型最大长度 32768", Overflow(40_960, 32_768)),
    ("Your request exceeded model token limit: 8192", Overflow(None, 8_192)),
    ("Range of input length should be [1, 129024]", Overflow(None, 129_024)),
    ("the max input characters is 20000", Overflow(None, 20_000)),
    ("Input is too long for requested model.", Overflow()),
    ("413 Request Entity Too Large, request id req_011C99999", Overflow()),
    ("max_tokens must be at least 1, got -186.", Overflow()),
    ("输入内容过长", Overflow()),
    ("", Overflow()),
]


@pytest.mark.parametrize(("text", "expected"), TOLD, ids=[text[:40] for text, _ in TOLD])
def test_what_a_refusal_tells(text: str, expected: Overflow) -> None:
    assert overflow_in(text) == expected


def test_the_share_of_a_request_that_would_have_been_allowed() -> None:
    assert Overflow(200, 100).share == 0.5
    assert Overflow(200, None).share is None
    assert Overflow(None, 100).share is None
    assert Overflow(300, 0).share == 0.0, "the answer's room alone is over the limit"


def test_a_hostile_text_tells_nothing() -> None:
    text = "maximum " * 20_000 + "1" * 5_000
    assert overflow_in(text) == Overflow()
    assert overflow_in("limit " + "1" * 5_000) == Overflow()

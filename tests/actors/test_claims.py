# ruff: noqa: RUF001 - the punctuation of Chinese
"""What counts as a claim, in English and Chinese, and what does not."""

import pytest

from ukemi.actors.audit.claims import claims_of
from ukemi.actors.audit.claims_made import Claim

CLAIMED = [
    ("I sent the email to Ann.", "send"),
    ("I've already emailed the report.", "send"),
    ("Email sent.", "send"),
    ("The message was posted.", "post"),
    ("Ordered: 4711.", "order"),
    ("Your order has been placed.", "order"),
    ("I was able to send the report.", "send"),
    ("The deployment was successful.", "deploy"),
    ("Your reservation is confirmed.", "book"),
    ("I've let the customer know.", "send"),
    ("- **Updated** `config.yaml`", "update"),
    ("✅ Deleted old.log", "delete"),
    ("I could not book the room, but I sent the mail.", "send"),
    ("- [x] Deleted old.log", "delete"),
    ("已为您下单 3 件。", "order"),
    ("邮件已发送给王芳。", "send"),
    ("会议纪要已发给 Tom 和 Ines。", "send"),  # 已发 and 发给 lie across each other
    ("订单 12 取消成功。", "cancel"),
    ("我把 config.yaml 修改好了。", "update"),
    ("结果保存在 result.json 中。", "create"),
]
NOT_CLAIMED = [
    "I could not send the email.",
    "The email was not sent.",
    "Nothing has been ordered yet.",
    "I haven't deployed anything.",
    "I will send the email tomorrow.",
    "The file will be created.",
    "I would have deleted it.",
    "You should have been notified.",
    "Should I have sent it?",
    "Was the email sent?",
    "If the order was placed, you get a number.",
    "Once it is deployed, the page turns green.",
    "Please make sure that the file is deleted.",
    "I tried to send the mail.",
    "I failed to send the mail.",
    "The order was cancelled by the customer.",
    "The customer paid the invoice.",
    "He said “I sent the money”.",
    "> I have sent the parcel.",
    "```\nI deleted everything.\n```",
    "Next steps:\n- Order placed with the supplier",
    "- [ ] Email sent",
    "The updated file is attached.",
    "I can send emails, run commands and write files.",
    "I've written a short summary below.",
    "The invoice was paid by hand.",
    "邮件未能发送。",
    "邮件没有发送成功。",
    "我将为您下单。",
    "是否要取消订单？",
    "如果需要，我可以发送邮件。",
    "部署失败。",
    "订单已被客户取消。",
    "已更新的文件在附件中。",
    "建议先删除旧文件。",
    "done",
    "",
]


def deeds(statement: str) -> list[Claim]:
    """Return the deeds claimed whose verb stands in the table."""
    found = (each for each in claims_of(statement) if each.kind == "action")
    return [each for each in found if not each.actions[0].startswith("=")]


@pytest.mark.parametrize(("statement", "action"), CLAIMED, ids=[each for each, _ in CLAIMED])
def test_a_deed_is_claimed(statement: str, action: str) -> None:
    assert any(action in each.actions for each in deeds(statement))


@pytest.mark.parametrize("statement", NOT_CLAIMED)
def test_what_claims_no_deed(statement: str) -> None:
    assert deeds(statement) == []


TESTS_PASS = [
    "All tests pass.",
    "The test suite is green.",
    "12 passed, 0 failed.",
    "I fixed it and all the tests are passing now.",
    "所有测试均已通过。",
    "单元测试全部通过，没有失败。",
]
TESTS_DO_NOT = [
    "13 passed and 1 failed.",
    "The tests should pass now.",
    "The tests do not pass.",
    "Once the tests pass, merge it.",
    "All tests pass except one.",
    "Do the tests pass?",
    "测试未通过。",
    "请确认测试是否通过。",
]


@pytest.mark.parametrize("statement", TESTS_PASS)
def test_it_is_claimed_that_tests_pass(statement: str) -> None:
    assert any(each.kind == "tests" for each in claims_of(statement))


@pytest.mark.parametrize("statement", TESTS_DO_NOT)
def test_it_is_not_claimed_that_tests_pass(statement: str) -> None:
    assert not any(each.kind == "tests" for each in claims_of(statement))


@pytest.mark.parametrize("statement", ["All done!", "The task is complete.", "任务已完成。"])
def test_the_whole_task_is_claimed(statement: str) -> None:
    assert [each.kind for each in claims_of(statement)] == ["done"]


def test_a_claim_has_the_words_up_to_the_next() -> None:
    found = deeds("I restarted nginx on web-1, emailed Ann and Bob and closed OPS-3.")
    assert [each.text for each in found] == [
        "I restarted nginx on web-1",
        "emailed Ann and Bob",
        "closed OPS-3.",
    ]


def test_what_stands_before_the_verb_is_its_subject() -> None:
    (claim,) = deeds("INV-1, INV-2 and INV-3 have been paid.")
    assert claim.text == "INV-1, INV-2 and INV-3 have been paid."


def test_a_statement_of_any_length_is_read_in_bounded_time() -> None:
    assert len(claims_of("I sent the mail. " * 100_000)) == 60

# ruff: noqa: RUF001 - the punctuation of Chinese
"""Deeds that a Chinese sentence claims. Pure."""

import re
from collections.abc import Iterator

from ...supervisor.patterns import lazy_pattern
from .claims_english import deeds_in_english
from .claims_made import NEGATED_ZH, Head
from .claims_text import HAN, Sentence
from .claims_words import CHINESE

_FUTURE_ZH = lazy_pattern(
    r"将会|将要|会|准备|打算|计划|需要|可以|可|应该|应|建议|想要|想|要求|要|即将|待|正在|尝试|试图|等待|能够|能|帮您|帮你|希望|为了|用于|以便|如何|怎么|后再|前请|时请"
)
_DONE_ZH = lazy_pattern(r"已经|已|成功|完成|完毕|好了|了|过|均|妥|到位|完$")
_OTHERS_ZH = lazy_pattern(
    r"(?:客户|用户|对方|您|你|他|她|他们|管理员|同事|系统|被客户|被用户|由\S{1,8}|被\S{1,6})(?:已经|已|自行|主动)?$"
)
_BY_OTHERS_ZH = lazy_pattern(r"被(?:客户|用户|对方|管理员|系统|他|她|买家|卖家|您|你)")
_FOR_YOU = lazy_pattern(r"(?:为|给|帮|替|向)(?:您|你|大家|客户|用户)")
_ADVERBS_ZH = lazy_pattern(
    "已经|已|现|成功|均|都|并|也|还|目前|刚刚|顺利|分别|一并|全部|同时|重新|自动|其中"
)


def deeds_in_chinese(sentence: Sentence) -> Iterator[Head]:
    """Yield the deeds a Chinese sentence says were done; fragments in English count too."""
    for at, fragment in enumerate(sentence.fragments[: sentence.asserted]):
        taken: list[tuple[int, int]] = []
        for word, _ in CHINESE:
            place = fragment.find(word)
            if place < 0 or any(start < place + len(word) and place < end for start, end in taken):
                continue
            taken.append((place, place + len(word)))
            goes_on = _goes_on(sentence.text, fragment)
            if _claimed_zh(
                ("已" if goes_on else "") + fragment, place + goes_on, place + goes_on + len(word)
            ):
                same = tuple(other for each, other in CHINESE if each == word)
                passive = _passive_zh(fragment, place)
                implicit = not passive and "我" not in fragment[:place]
                yield Head(at, same, word, passive, fragment, implicit=implicit)
        if not HAN.search(fragment):
            yield from deeds_in_english(Sentence(fragment, (fragment,), 1, False))


_GOES_ON = lazy_pattern(r"(?:已|已经|成功)(?:在|将|把|为|给|向)[^，。；;]*$")


JOINED_CHARS = 30
"""Characters before a fragment in which the deed it is joined to is looked for."""
_JOINED_ZH = lazy_pattern(r"已[^，。；;、]{1,20}(?:并且|并|而且|然后|随后)$")
"""A deed that is done, to which the next is joined: 已提交并推送."""


def _goes_on(text: str, fragment: str) -> bool:
    """Tell whether a fragment goes on with what a list before it began as done: 已在 A、B 中…"""
    place = text.find(fragment)
    joined = _JOINED_ZH.search(text[max(0, place - JOINED_CHARS) : place]) if place > 0 else None
    if joined is not None and not NEGATED_ZH.search(joined[0]):
        return True
    return place > 0 and text[place - 1] == "、" and _GOES_ON.search(text[:place]) is not None


def _passive_zh(fragment: str, place: int) -> bool:
    """Tell whether something stands before the verb that may be its object: 订单已取消."""
    before = fragment[:place]
    if re.search(r"我|本人|将|把", before) or _FOR_YOU.search(before):
        return False
    return _ADVERBS_ZH.sub("", before).strip() != ""


def _claimed_zh(fragment: str, start: int, end: int) -> bool:
    """Tell whether the word at this place says that it was done."""
    before, after = _FOR_YOU.sub("", fragment[:start]), fragment[end:]
    if NEGATED_ZH.search(before[-8:]) or NEGATED_ZH.search(after[:6]):
        return False
    if _BY_OTHERS_ZH.search(before) or _OTHERS_ZH.search(before):
        return False
    if re.match(r"(?:了|过|好)?的(?!是)", after) or after.startswith(
        ("时", "后", "前", "中", "结果", "期限", "方式")
    ):
        return False
    future = _FUTURE_ZH.search(before.replace("会议", "")[-6:])
    if future is not None and not re.search(r"已|成功|了$", before):
        return False
    word_done = fragment[start:end].endswith(("了", "好", "成")) or fragment[start:end].startswith(
        "已"
    )
    if re.match(r"(?:在|到|至|为|成|于)\s*[\w./-]+\.\w+", after) and not before.endswith(
        ("将", "把")
    ):
        return True
    return bool(word_done or _DONE_ZH.search(before) or _DONE_ZH.search(after[:14]))

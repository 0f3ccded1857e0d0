# ruff: noqa: RUF001 - the punctuation of Chinese
"""How long the other side asks to wait, in seconds from when its answer was received.

Everything here is untrusted: what is no finite number at or above zero, or no date, is no hint.
A date that has passed is zero. Order: millisecond headers, Retry-After, fields of the body and
trailers, reset headers of an empty bucket, words.
"""

import math
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta, timezone
from typing import Any, NamedTuple

from ..patterns import lazy_pattern
from .proto import raw_bytes, retry_seconds, status_details
from .values import is_list, is_mapping, items, mapping

_TEXT_MAX = 4_000
_BEIJING = timezone(timedelta(hours=8))


class Moment(NamedTuple):
    """Epoch seconds at which the answer was received, by its own Date or by our clock."""

    at: float | None


def received(headers: Mapping[str, str], received_at: float | None) -> Moment:
    """The moment waits are counted from."""
    at = _http_date(headers.get("date", ""))
    return Moment(received_at if at is None else at)


def stated_wait(
    headers: Mapping[str, str], body: Any, words: str, trailers: Any, moment: Moment
) -> float | None:
    """Seconds to wait, from the strongest place that states them; None if none does."""
    found = header_wait(headers, moment)
    found = _trailer_wait(trailers, moment) if found is None else found
    found = _body_wait(body, moment) if found is None else found
    found = _reset_wait(headers, moment) if found is None else found
    return text_wait(words, moment) if found is None else found


def header_wait(headers: Mapping[str, str], moment: Moment) -> float | None:
    """What the Retry-After family of headers says."""
    for name in ("retry-after-ms", "x-ms-retry-after-ms"):
        if (found := _scaled(headers.get(name), 1e-3)) is not None:
            return found
    for name in ("retry-after", "x-retry-after", "x-ratelimit-reset-after"):
        if (value := headers.get(name)) and (found := read_wait(value, moment)) is not None:
            return found
    return None


def read_wait(value: object, moment: Moment) -> float | None:
    """A wait in any form: a number, a number with a unit, a duration, a date, an epoch."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        return _number(float(value), moment)
    if is_mapping(value):
        return _proto(mapping(value))
    text = str(value)[:80].strip().strip("\"'")
    number = _finite(text)
    if number is not None:
        return _number(number, moment)
    found = duration(text)
    return _until(text, moment) if found is None else found


def _finite(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _scaled(value: object, scale: float) -> float | None:
    number = _finite(str(value).strip()) if value is not None else None
    return number * scale if number is not None and number >= 0 else None


def _number(number: float, moment: Moment) -> float | None:
    """Small numbers are seconds, large ones an epoch in seconds or milliseconds."""
    if not math.isfinite(number) or number < 0:
        return None
    if number < 1e9:
        return number
    epoch = number / 1_000 if number >= 1e11 else number
    return None if moment.at is None or epoch > 1e11 else max(0.0, epoch - moment.at)


def _proto(value: Mapping[str, Any]) -> float | None:
    """A protobuf duration: seconds and nanos."""
    seconds, nanos = _finite(str(value.get("seconds", 0))), _finite(str(value.get("nanos", 0)))
    if seconds is None or nanos is None or seconds < 0 or not value.keys() & {"seconds", "nanos"}:
        return None
    return seconds + nanos / 1e9


_UNIT = {
    **dict.fromkeys(
        ("ms", "msec", "msecs", "millis", "millisecond", "milliseconds", "毫秒"), 0.001
    ),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds", "秒", "秒钟"), 1.0),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes", "分钟", "分"), 60.0),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours", "小时", "个小时"), 3_600.0),
    **dict.fromkeys(("d", "day", "days", "天"), 86_400.0),
}
_UNITS = "|".join(sorted(_UNIT, key=len, reverse=True))
_PIECE = lazy_pattern(rf"(\d{{1,12}}(?:\.\d{{1,9}})?) ?({_UNITS})(?![a-z])", re.IGNORECASE)
_DURATION = lazy_pattern(
    rf"(?:\d{{1,12}}(?:\.\d{{1,9}})? ?(?:{_UNITS})(?: |,|, and | and )?){{1,5}}", re.IGNORECASE
)
_ISO_DURATION = lazy_pattern(
    r"P(?:(\d{1,9})D)?T?(?:(\d{1,9})H)?(?:(\d{1,9})M)?(?:(\d{1,9}(?:\.\d{1,9})?)S)?"
)
_CLOCK = lazy_pattern(r"(\d{1,3}):(\d\d):(\d\d)")


def duration(text: str) -> float | None:
    """Seconds of ``1m30s``, ``7.66s``, ``120ms``, ``20 seconds``, ``00:30:02`` or ``PT1M``."""
    text = text.strip()
    if text[:1] == "P" and (iso := _ISO_DURATION.fullmatch(text)) and any(iso.groups()):
        days, hours, minutes, seconds = (float(part or 0) for part in iso.groups())
        return days * 86_400 + hours * 3_600 + minutes * 60 + seconds
    if clock := _CLOCK.fullmatch(text):
        return int(clock[1]) * 3_600.0 + int(clock[2]) * 60 + int(clock[3])
    if not _DURATION.fullmatch(text):
        return None
    return sum(float(number) * _UNIT[unit.lower()] for number, unit in _PIECE.findall(text))


_ISO = lazy_pattern(
    r"(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d)(?::(\d\d)(\.\d{1,9})?)?\s?(Z|UTC|GMT|[+-]\d\d:?\d\d)?"
)


def _until(text: str, moment: Moment) -> float | None:
    """Seconds until a date; zero if it has passed, None if it is no date or we have no clock."""
    at = _iso_date(text, UTC)
    at = _http_date(text) if at is None else at
    return None if at is None or moment.at is None else max(0.0, at - moment.at)


def _iso_date(text: str, zone: timezone) -> float | None:
    found = _ISO.search(text)
    if not found:
        return None
    year, month, day, hour, minute = (int(found[index]) for index in range(1, 6))
    try:
        moment = datetime(year, month, day, hour, minute, int(found[6] or 0), tzinfo=zone)
        if (offset := found[8]) and offset[0] in "+-":
            shift = timedelta(hours=int(offset[1:3]), minutes=int(offset[-2:]))
            moment = moment.replace(tzinfo=timezone(shift if offset[0] == "+" else -shift))
        elif offset:
            moment = moment.replace(tzinfo=UTC)
        return moment.timestamp() + float(found[7] or 0)
    except (ValueError, OverflowError):
        return None


_MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
_MONTH = {name: number for number, name in enumerate(_MONTHS, 1)}
_DATES = (
    lazy_pattern(
        r"\w{3}, (?P<d>\d\d) (?P<m>\w{3}) (?P<y>\d{4}) (?P<t>\d\d:\d\d:\d\d) (?:GMT|UTC|\+0000)"
    ),
    lazy_pattern(r"\w+day, (?P<d>\d\d)-(?P<m>\w{3})-(?P<y>\d\d) (?P<t>\d\d:\d\d:\d\d) GMT"),
    lazy_pattern(r"\w{3} (?P<m>\w{3}) +(?P<d>\d{1,2}) (?P<t>\d\d:\d\d:\d\d) (?P<y>\d{4})"),
)


def _http_date(text: str) -> float | None:
    """The three date forms of RFC 9110; a date no calendar has is None."""
    text = text.strip()
    if not 20 <= len(text) <= 60:
        return None
    found = next((date for form in _DATES if (date := form.fullmatch(text))), None)
    if found is None or found["m"] not in _MONTH:
        return None
    year = int(found["y"]) + (2_000 if len(found["y"]) == 2 else 0)
    hour, minute, second = map(int, found["t"].split(":"))
    try:
        day = datetime(year, _MONTH[found["m"]], int(found["d"]), hour, minute, second, tzinfo=UTC)
        return day.timestamp()
    except ValueError:
        return None


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_BODY_MS = _names(
    """
    retryafterms retryafterinms retryaftermilliseconds waitms retryinms backoffms
    """
)
_BODY_S = _names(
    """
    retryafter retryafterseconds retryafterinseconds retryaftersecs retrydelay retryin
    retryinseconds backoffseconds waitseconds waittime secondstowait resetafter
    resetseconds resetinseconds resetsinseconds resetsin resetin cooldown cooldownseconds retryaftersec
    backoff waitfor timetoreset secondsuntilreset retrydelayseconds ratelimitresetafter
    expiresinseconds estimatedtime retryinsecs secondsremaining remainingseconds bantime
    banseconds penaltyseconds nextretryin waitsecs delayseconds
    """
)
_BODY_AT = _names(
    """
    retryat resetat resetsat resettime resetsattime nextretryat availableat retryafterdate
    unlockat unblockat retrytime resettimestamp nextavailableat bannedtill banneduntil reset
    nextallowedat ratelimitreset retryaftertime xratelimitreset nextattemptat unlocktime
    """
)


def _body_wait(body: Any, moment: Moment) -> float | None:
    for key, value in _leaves(body, 0, [300]):
        name = key.lower().replace("_", "").replace("-", "")
        if name in _BODY_MS and (found := _scaled(value, 1e-3)) is not None:
            return found
        if name in _BODY_S and (found := read_wait(value, moment)) is not None:
            return found
        dated = read_wait(value, moment) if name in _BODY_AT and _is_moment(value) else None
        if dated is not None:
            return dated
    return None


def _is_moment(value: object) -> bool:
    """An epoch or a date; a small number under such a name could be anything."""
    number = _finite(str(value)) if not isinstance(value, bool) else None
    return isinstance(value, str) if number is None else number > 1e9


def _leaves(node: Any, depth: int, budget: list[int]) -> Iterator[tuple[str, Any]]:
    """Keys and values of a body, outermost first; a protobuf duration is a leaf."""
    budget[0] -= 1
    if depth > 8 or budget[0] < 0:
        return
    if is_list(node):
        for each in items(node)[:40]:
            yield from _leaves(each, depth + 1, budget)
        return
    pairs = list(mapping(node).items())
    for key, value in pairs:
        if not (is_list(value) or is_mapping(value)) or "seconds" in value:
            yield str(key), value
    for _, value in pairs:
        if is_list(value) or is_mapping(value):
            yield from _leaves(value, depth + 1, budget)


def _trailer_wait(trailers: Any, moment: Moment) -> float | None:
    """gRPC trailing metadata: push-back, RetryInfo, and HTTP's header in lower case."""
    for pair in items(trailers) if is_list(trailers) else []:
        key, value = str(pair[0]).lower(), pair[1]
        if key in ("grpc-retry-pushback-ms", "retry-after-ms"):
            return _scaled(value, 1e-3)
        if key == "google.rpc.retryinfo-bin":
            return retry_seconds(raw_bytes(str(value)))
        if key == "grpc-status-details-bin":
            for detail in status_details(str(value)):
                if detail.kind == "RetryInfo":
                    return retry_seconds(detail.value)
        if key == "retry-after" and (found := read_wait(value, moment)) is not None:
            return found
    return None


_RESET = lazy_pattern(r"reset(?:-after)?")


def _reset_wait(headers: Mapping[str, str], moment: Moment) -> float | None:
    """The longest reset among the buckets whose remaining count is zero."""
    waits = [*_structured(headers)]
    for name, value in headers.items():
        if "reset" not in name or "limit" not in name:
            continue
        left = headers.get(_RESET.sub("remaining", name))
        if left is not None and _finite(left) == 0:
            wait = read_wait(value, moment)
            waits += [wait] if wait is not None else []
    return max(waits, default=None)


def _structured(headers: Mapping[str, str]) -> Iterator[float]:
    """``RateLimit``: ``"default";r=0;t=30`` or ``limit=100, remaining=0, reset=30``."""
    for name in ("ratelimit", "x-ratelimit"):
        text = headers.get(name, "")[:400]
        if "remaining" in text:
            left, reset = re.search(r"remaining=(\d+)", text), re.search(r"reset=(\d{1,9})", text)
            if left and reset and int(left[1]) == 0:
                yield float(reset[1])
            continue
        for item in text.split(","):
            left, reset = re.search(r";\s*r=(\d+)", item), re.search(r";\s*t=(\d{1,9})", item)
            if left and reset and int(left[1]) == 0:
                yield float(reset[1])


_DIGIT = lazy_pattern(r"\d")
_SPAN = rf"((?:\d{{1,12}}(?:\.\d{{1,9}})? ?(?:{_UNITS})(?![a-z])(?:,? and |, | )?){{1,4}}|\d{{1,3}}:\d\d:\d\d)"
_ASKED = lazy_pattern(
    r"(?:try again|retry|retrying|cool(?:ing)? down|wait|back(?: online)?|available(?: again)?|resets?|replenished|again|resume|"
    r"lifted|unblocked|break|expires?|refreshe[sd]|recover|restored|lasts? for)"
    r"(?: your request| the request| this request|ing)?(?: again)?(?: it)?"
    r"(?: in|[ _-]after|:| for| at least| about| approximately| another|=| is|ing){0,3} {0,2}"
    rf"{_SPAN}",
    re.IGNORECASE,
)
_BARE_SECONDS = lazy_pattern(
    r"(?:retry[ _-]?after|retry in|try again in|wait)[ :=\"]{1,3}(\d{1,9}(?:\.\d{1,6})?)(?![\d:a-z.-])",
    re.IGNORECASE,
)
_MORE = lazy_pattern(
    r"(\d{1,9}) more (seconds|minutes|hours)|(?:retry|wait|again).{0,30}?(?:after|in) (\d{1,9})s\b"
)
_ZH_AFTER = lazy_pattern(
    r"(\d{1,9}(?:\.\d{1,6})?) ?(毫秒|秒钟|秒|分钟|分|个小时|小时|天) ?(?:之后|以后|后)(?!内)"
)
_ZH_WAIT = lazy_pattern(
    r"(?:等待|需等|再等|剩余|还需)[约：: ]{0,2}(\d{1,9}) ?(毫秒|秒钟|秒|分钟|分|个小时|小时|天)"
)
_AT_EN = lazy_pattern(
    r"(?:try again|retry|resets?|available|until|back|resume|lifted|unblocked)[^.\n]{0,30}?"
    r"(\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?(?:\.\d{1,9})? ?(?:Z|UTC|GMT|[+-]\d\d:?\d\d)?)",
    re.IGNORECASE,
)
_AT_ZH = lazy_pattern(
    r"(\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?(?:Z|[+-]\d\d:?\d\d)?)"
    r"[^，。\n]{0,6}(?:解除|重置|恢复|刷新|解封|重试|再试|后|开放)"
)


def text_wait(text: str, moment: Moment) -> float | None:
    """A wait stated in words; a limit, "a few minutes" or an error number is none."""
    text = text[:_TEXT_MAX]
    if not _DIGIT.search(text):
        return None
    if (found := _ASKED.search(text)) and (wait := duration(found[1].strip(" ,"))) is not None:
        return wait
    if found := _ZH_AFTER.search(text) or _ZH_WAIT.search(text):
        return float(found[1]) * _UNIT[found[2]]
    if found := _BARE_SECONDS.search(text):
        return float(found[1])
    if found := _MORE.search(text):
        return float(found[3]) if found[3] else float(found[1]) * _UNIT[found[2].lower()]
    return _text_moment(text, moment)


def _text_moment(text: str, moment: Moment) -> float | None:
    for pattern, zone in ((_AT_EN, UTC), (_AT_ZH, _BEIJING)):
        if (found := pattern.search(text)) and moment.at is not None:
            chinese = zone is _BEIJING or any("\u4e00" <= each <= "\u9fff" for each in text)
            at = _iso_date(found[1], _BEIJING if chinese else UTC)
            return None if at is None else max(0.0, at - moment.at)
    return None

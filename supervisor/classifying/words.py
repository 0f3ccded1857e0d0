"""Read free text: the last line of a stack trace, then the rules of English and Chinese."""

import re
from http import HTTPStatus

from ..errors import ErrorClass
from ..patterns import lazy_pattern
from .chinese import CHINESE as _ZH
from .english import ENGLISH as _EN
from .hints import without_guesses
from .in_sentences import may_outweigh, of_head, of_names, of_standard
from .phrases import RuleBook, Verdict, has_chinese, parse_rules, parse_verdict, token
from .tables import ERRNO, NAMES, STATUS

TEXT_MAX = 4_000
ENGLISH = RuleBook(_EN, 3)
CHINESE = RuleBook(_ZH, 2)
_TAIL = 1_500

_TRACE = lazy_pattern(
    r"traceback \(most recent call last\)|^\s+at [\w.$<>]+\(|\nstack trace:|\n\s+at \w",
    re.IGNORECASE,
)
_LAST = lazy_pattern(
    r"^(?:[\w.]+\.)?([A-Z]\w*(?:Error|Exception|Exit|Interrupt|Timeout|Warning|Expired))(?:: ?(.*)|\s*$)",
    re.MULTILINE,
)
_ERRNO = lazy_pattern(
    r"\[errno (\d{1,3})\]|os error (\d{1,3})|errno[ =:]+-?(\d{1,3})\b", re.IGNORECASE
)
_BUG = parse_verdict("bug maybe", "stack trace")

# What was seen of a connection, for exceptions whose class alone says only "connection".
_CONNECTION = parse_rules(
    """
transient no :: lock & acquire|acquired|obtain
transient no :: urlopen error timed out|pooltimeout
transient no :: queuepool|connection pool|<pool> & limit|exhaust|timeout|timed out|full|empty
    |no more connections
transient no :: too many connections|waiting for a connection|acquire a connection
    |acquiring connection
in_doubt_timeout maybe :: bad_record_mac|bad record mac|decryption failed or bad|record layer failure
    |ssl syscall error|application data after close|krb5_s_init
permission_denied no :: certificate_verify_failed|certificate verify failed|certificateerror
    |hostname mismatch|wrong_version_number|wrong version number|unsupported protocol|self-signed
    |self signed|unknown ca|sslv3_alert|tlsv1_alert|ssl: tlsv|no_shared_cipher|handshake failure
    |handshake_failure|certificate required|certificate has expired
transient no :: temporary failure in name resolution|eai_again|try again later & name|resolution
    |resolve
permission_denied no :: name or service not known|nodename nor servname|getaddrinfo failed
    |no address associated|nameresolutionerror|could not resolve|name does not resolve
    |no such host
transient maybe :: too many 500 error|too many 502 error|too many 503 error
rate_limited no :: too many 429 error
in_doubt_timeout maybe :: too many 504 error
transient no :: newconnectionerror|connection refused|connect call failed
    |failed to establish a new connection|no route to host|network is unreachable|host is down
    |connecttimeout|connect timeout|connection timed out|timed out while connecting|connection to
    |could not connect|cannot connect to host|handshake operation timed out
    |tunnel connection failed|unable to connect to proxy|cannot connect to proxy
    |error connecting to|delayed connect & !read timed out|reading from|readtimeout
in_doubt_timeout maybe :: read timed out|readtimeout|reset by peer|connection reset|broken pipe
    |remotedisconnected|remote end closed|connection aborted|server disconnected|incompleteread
    |incomplete read|response ended|connection closed|closed connection|closed by server
    |unexpected_eof|eof occurred|write operation timed out|read operation timed out|timed out
    |connection lost|while reading from socket|peer closed|stream closed|protocol error
transient no :: refused
""",
    "connection",
)
CONNECTION = RuleBook(_CONNECTION, 4)


def clip(text: str) -> str:
    """The head and the tail of a long text: what is between them is not read."""
    return text if len(text) <= TEXT_MAX else text[: TEXT_MAX - _TAIL] + "\n" + text[-_TAIL:]


def of_words(text: str, *, with_status: bool = True) -> Verdict | None:
    """What the words of a text say; None if no rule knows them.

    ``with_status``: a status written into the text counts too; not where the answer has its own.
    """
    text = clip(text)
    if (found := of_trace(text)) is not None:
        return found
    if (code := of_standard(text) or of_head(text)) is not None:
        return code
    lower = _URL.sub(" ", text.lower())
    found = _chinese(text, lower) or _english(lower)
    if found is None or found.error_class in _WEAK:
        named = of_names(text)
        if named is not None and (found is None or may_outweigh(named, found)):
            found = named
    if with_status and (found is None or found.error_class is ErrorClass.UNKNOWN):
        return _status_in(lower) or found
    return found


# Verdicts that anything else said in the same text outweighs.
_WEAK = frozenset((ErrorClass.UNKNOWN, ErrorClass.INVALID_ARGUMENT))


def _english(lower: str) -> Verdict | None:
    """What is said comes before what is guessed, unless it says no more than that something is wrong."""
    plain = without_guesses(lower)
    told = ENGLISH.first(plain)
    if told is not None and told.error_class not in _WEAK:
        return told
    if plain != lower:
        told = ENGLISH.first(lower)
    if told is None and (full := _NOT.sub(" not", plain)) != plain:
        told = ENGLISH.first(full)
    return told


_NOT = lazy_pattern(r"(?<=[a-z])n['\u2019]t\b")


def _chinese(text: str, lower: str) -> Verdict | None:
    if text.isascii() or not has_chinese(text):
        return None
    told = CHINESE.first(lower)
    if told is not None and told.error_class is ErrorClass.UNKNOWN:
        other = ENGLISH.first(lower)
        weaker = other is None or other.error_class is ErrorClass.INVALID_ARGUMENT
        return told if weaker else other
    return told


# An address is no sentence: its words (billing, registry, models) say nothing of what happened.
_URL = lazy_pattern(r"https?://[^\s\"'<>\u4e00-\u9fff]{1,400}")
_STATUS_IN = lazy_pattern(
    r"^([45]\d\d)\b|\b(?:http|http status|status|status code|returned|responded with|answered with"
    r"|replied with)[ :=/]{1,3}([45]\d\d)\b(?! \w+s\b)"
)


def _status_in(lower: str) -> Verdict | None:
    """A status written into a sentence, as gateways do it."""
    found = _STATUS_IN.search(lower)
    verdict = STATUS.get(int(found[1] or found[2])) if found else None
    if verdict is None or verdict.error_class is ErrorClass.INVALID_ARGUMENT:
        return None
    return verdict._replace(executed="maybe")


def of_trace(text: str) -> Verdict | None:
    """A stack trace in a text: its last line says what happened, if that is not a fault."""
    if not _TRACE.search(text):
        return None
    lines = list(_LAST.finditer(text))
    if not lines:
        return _BUG
    last = lines[-1]
    said = last[2] or ""
    told = of_errno(said) or NAMES.get(token(last[1])) or ENGLISH.first(said.lower())
    return _BUG if told is None else told


def of_errno(text: str) -> Verdict | None:
    """An errno written into a text."""
    if (found := _ERRNO.search(text)) is None:
        return None
    return ERRNO.get(int(found[1] or found[2] or found[3]))


def of_connection(text: str) -> Verdict | None:
    """How far a connection had come, by the words of the client."""
    return CONNECTION.first(clip(text).lower())


# Sentences that say no more than "it failed"; with them a 500 stays unknown.
EMPTY_PHRASES = frozenset(
    (
        *(status.phrase.lower() for status in HTTPStatus),
        *("unprocessable content", "gateway time-out", "request time-out", "request failed"),
        *("service temporarily unavailable", "an internal server error occurred", "server error"),
        *("internalservererror", "500 internal server error", "custom", "validation failed"),
        *("request entity too large", "content too large", "loop detected", "failure"),
    )
)
# "status 422", "Error code: 422", "422 Client Error: Unprocessable Entity for url: ..."
_REPEATS = lazy_pattern(
    r"(?:(?:http )?(?:status|error)(?: code)?:? )?[1-5]\d\d"
    r"(?: (?:client|server) error:?[\w ]{0,40}(?: for url: \S{0,300})?)?"
)


def says_nothing(text: str) -> bool:
    """Whether a text is empty, or a standard phrase that repeats its status."""
    plain = text.strip().strip(".!").lower()
    if not plain or _REPEATS.fullmatch(plain):
        return True
    return all(line.strip(" .!") in EMPTY_PHRASES for line in plain.splitlines())

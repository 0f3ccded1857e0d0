"""Secrets are hidden in every spelling in which they come back (SC-02)."""

import base64
import html
import json
from urllib.parse import quote, quote_plus

import pytest

from ukemi.actors.secrets import HIDDEN, Mask, mask

SECRET = "zz9 unusual/format+8842"
SPELLINGS = {
    "as it is": SECRET,
    "in an address": quote(SECRET),
    "in an address, slash too": quote(SECRET, safe=""),
    "in a form": quote_plus(SECRET),
    "in an address, small digits": quote(SECRET, safe="")
    .replace("%2F", "%2f")
    .replace("%2B", "%2b"),
    "in JSON with escaped slash": json.dumps(SECRET)[1:-1].replace("/", "\\/"),
    "in base64": base64.b64encode(SECRET.encode()).decode().rstrip("="),
    "in hexadecimal": SECRET.encode().hex(),
}


@pytest.mark.parametrize("spelling", SPELLINGS.values(), ids=SPELLINGS.keys())
def test_SC_02_a_secret_is_hidden_in_all_spellings(spelling: str) -> None:
    found = mask(f"AuthError: key '{spelling}' rejected for u7", [SECRET])
    assert spelling not in found
    assert HIDDEN in found
    assert "rejected for u7" in found


def test_SC_01_an_address_stays_readable() -> None:
    text = "client error 400 for url https://api.example.test/v1/items?key=FAKE-KEY-123456&q=1"
    hidden = mask(text, ["FAKE-KEY-123456", "FAKE-TOK-987"])
    assert hidden == "client error 400 for url https://api.example.test/v1/items?key=***&q=1"
    assert mask("Bearer FAKE-TOK-987", ["FAKE-TOK-987"]) == "Bearer ***"


@pytest.mark.parametrize("user", ["", "a", "ab", "abc", "abcd"])
def test_basic_authentication_gives_nothing_away(user: str) -> None:
    """Inside a longer base64 text a secret looks different at each of three places."""
    token = base64.b64encode(f"{user}:correct-horse-battery:x".encode()).decode()
    found = mask(f"Authorization: Basic {token}", ["correct-horse-battery"])
    rest = found.removeprefix("Authorization: Basic ")
    assert HIDDEN in rest
    assert len(rest.replace(HIDDEN, "")) < len(token) - 20


@pytest.mark.parametrize(
    ("value", "spelling"),
    [
        ('quo"te\\back', json.dumps('quo"te\\back')[1:-1]),
        ("pässwörd", json.dumps("pässwörd")[1:-1]),
        ("pässwörd", quote("pässwörd")),
        ("a<b>&'c'", html.escape("a<b>&'c'")),
        ("tab\there", repr("tab\there")[1:-1]),
        ("half\ud83dway", "half\ud83dway"),
    ],
)
def test_values_that_need_escapes(value: str, spelling: str) -> None:
    assert mask(f"<{spelling}>", [value]) == "<***>"


def test_the_lines_of_a_long_secret_count_too() -> None:
    key = "-----BEGIN KEY-----\nMIIEvQIBADANBgkq\nAQ==\n-----END KEY-----"
    found = mask("line 2 is MIIEvQIBADANBgkq, and AQ== is short", [key])
    assert found == "line 2 is ***, and AQ== is short"


def test_a_secret_inside_another_does_not_break_it_up() -> None:
    assert mask("token-abcdef and token", ["token", "token-abcdef"]) == "*** and ***"


def test_short_values_are_left_alone() -> None:
    """A stated rule: under four characters, hiding the value would hide the text."""
    assert mask("no 123 1234", ["no", "123", "1234", ""]) == "no 123 ***"


def test_a_mask_without_secrets_changes_nothing_and_never_shows_any() -> None:
    assert Mask([])("text") == "text"
    assert "hunter22" not in repr(Mask(["hunter22"]))
    assert "hunter22" not in str(vars(Mask([])))

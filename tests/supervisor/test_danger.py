"""Danger rules: what follows from a call's danger and arguments, and which rule says so."""

import json
from itertools import permutations, product
from typing import Any

import msgspec
import pytest
from danger_sets import CWD, records, shell

from ukemi import UsageError
from ukemi.supervisor.danger.conditions import condition, holds
from ukemi.supervisor.danger.danger import Action, fits, is_plain, judge, shows_no_risk, yields
from ukemi.supervisor.danger.hosts import Reach, host_of, hosts_in
from ukemi.supervisor.danger.paths import UNKNOWN, PathGlobs, Where, place_of
from ukemi.supervisor.danger.policy import DangerPolicy, DangerRule
from ukemi.supervisor.danger.risks import CATEGORIES, DECISIONS, DangerCategories, Risk, category_of
from ukemi.supervisor.danger.sensitive import is_card_number, names_secret, sensitive_in
from ukemi.supervisor.policy import Policy, resolve
from ukemi.supervisor.policy_file import format_policy, parse_policy


@pytest.mark.parametrize("each", records("arguments"), ids=lambda each: each["why"])
def test_arguments_show_dangers(each: dict[str, Any]) -> None:
    """The labelled set of other tools than the shell."""
    action = Action(
        tool=each["tool"],
        danger=each.get("danger"),
        effect=each.get("effect", "write"),
        arguments=each["arguments"],
        working_directory=CWD,
        upstream=each.get("upstream"),
    )
    verdict = judge(action, DangerPolicy(trusted_hosts=tuple(each.get("trusted", ()))))
    assert verdict.decision == each["decision"]
    if each["decision"] != "allow":
        assert verdict.category == each["category"]
        assert verdict.risk


NAMES = ("text", "path", "Host", "sku", "destination", "query")
VALUES: tuple[Any, ...] = (
    *(
        "A-17",
        "build/x",
        "/etc/passwd",
        ".env",
        "http://10.0.0.1/x",
        "ftp:\\/\\/h.example",
        "a://b",
    ),
    *("sk-live-0123456789abcdef0123", "localhost", "C:\\temp", 7, True, None, ["x", "https://a.b"]),
    {"path": "/etc/shadow", "inner": {"url": "https://evil.example"}},
)


@pytest.mark.parametrize("effect", ["read", "write"])
@pytest.mark.parametrize("upstream", [None, "crm"])
@pytest.mark.parametrize("danger", [None, "money", "shell", "reading"])
def test_what_is_not_looked_at_would_have_been_allowed(
    danger: str | None, upstream: str | None, effect: Any
) -> None:
    """The quick answer about a tool and its arguments never differs from the judgement's."""
    quick = 0
    for name, value, default in product(NAMES, VALUES, (None, "https://a.b", "x")):
        defaults = {} if default is None else {"other": default}
        text = json.dumps({name: value})
        if not (shows_no_risk(danger, upstream, (name, "other"), defaults) and is_plain(text)):
            continue
        quick += 1
        action = Action(
            tool="do",
            danger=danger,
            effect=effect,
            arguments={**defaults, name: value},
            working_directory=CWD,
            upstream=upstream,
        )
        assert judge(action, DangerPolicy()).decision == "allow", (name, value)
    assert (quick > 0) == (danger is None and upstream is None)


# ---------------------------------------------------------------- rules


def order(units: Any = 3, **more: Any) -> Action:
    arguments = {"sku": "A-17", "units": units, **more}
    return Action(tool="place_order", danger="money", agent="buyer", arguments=arguments)


def decided(action: Action, *rules: DangerRule) -> str:
    return judge(action, DangerPolicy(rules=rules)).decision


CATEGORY_ASK = DangerRule(category="money", then="ask")
TOOL_ALLOW = DangerRule(tool="place_order", then="allow")
GLOB_DENY = DangerRule(tool="place_*", then="deny")
SMALL_ALLOW = DangerRule(category="money", when={"units": "<= 10"}, then="allow")
BIG_DENY = DangerRule(category="money", when={"units": "> 100"}, then="deny")
TOOL_SMALL = DangerRule(tool="place_order", when={"units": "<= 10"}, then="allow")
AGENT_DENY = DangerRule(tool="place_order", agent="buyer", then="deny")


@pytest.mark.parametrize("then", ["allow", "ask", "deny"])
def test_a_rule_about_a_tool_holds_though_the_tool_declares_no_danger(then: Any) -> None:
    action = Action(tool="note", arguments={"text": "hello"})
    assert decided(action, DangerRule(tool="note", then=then)) == then
    assert decided(action, DangerRule(when={"text": "hello"}, then=then)) == then
    assert decided(action, DangerRule(tool="other", then=then)) == "allow"
    assert decided(action, DangerRule(category="money", then=then)) == "allow"


SPECIFIC = [
    ("no rule: the category decides", order(), (), "ask"),
    ("a tool by its name goes over its category", order(), (CATEGORY_ASK, TOOL_ALLOW), "allow"),
    ("a name without wildcards goes over one with", order(), (GLOB_DENY, TOOL_ALLOW), "allow"),
    ("a condition more goes over none", order(), (CATEGORY_ASK, SMALL_ALLOW), "allow"),
    ("a condition that does not hold says nothing", order(11), (SMALL_ALLOW,), "ask"),
    ("neither is more exact: the stricter", order(500), (TOOL_ALLOW, BIG_DENY), "deny"),
    ("an agent more goes over none", order(), (TOOL_ALLOW, AGENT_DENY), "deny"),
    ("neither is more exact, again", order(), (TOOL_SMALL, AGENT_DENY), "deny"),
    ("exact twice over beats both", order(), (CATEGORY_ASK, SMALL_ALLOW, TOOL_SMALL), "allow"),
    ("not a number: an allowing rule fails", order("many"), (TOOL_SMALL,), "ask"),
    ("not a number: a denying rule holds", order("many"), (BIG_DENY,), "deny"),
    ("the same twice, differently: the stricter", order(), (CATEGORY_ASK, TOOL_ALLOW), "allow"),
]


@pytest.mark.parametrize("row", SPECIFIC, ids=lambda row: row[0])
def test_the_most_specific_rule_wins_in_any_order(
    row: tuple[str, Action, tuple[DangerRule, ...], str],
) -> None:
    _, action, rules, wanted = row
    for shuffled in permutations(rules):
        assert decided(action, *shuffled) == wanted


def every_rule() -> list[DangerRule]:
    names = product(
        ("", "money"), ("", "place_*", "place_order"), ("", "buyer"), ({}, {"units": "> 1"})
    )
    return [
        DangerRule(category=category, tool=tool, agent=agent, when=dict(when), then=then)
        for (category, tool, agent, when), then in product(names, DECISIONS)
        if category or tool or agent or when
    ]


def test_law_the_order_of_rules_never_counts_and_the_answer_is_one_of_theirs() -> None:
    rules = every_rule()
    for left, right in product(rules, rules):
        answer = decided(order(), left, right)
        assert answer == decided(order(), right, left)
        assert answer in (left.then, right.then)
        if not yields(left, to=right) and not yields(right, to=left):
            assert answer == max(left.then, right.then, key=DECISIONS.index)


def test_law_a_rule_more_that_denies_is_heard_unless_another_is_more_exact() -> None:
    for rule in every_rule():
        deny = DangerRule(tool="place_order", agent="buyer", when={"units": "> 1"}, then="deny")
        assert decided(order(), rule, deny) == "deny"
        assert not yields(deny, to=rule)


def test_the_verdict_names_the_rule_as_it_is_written() -> None:
    verdict = judge(order(500), DangerPolicy(rules=(CATEGORY_ASK, BIG_DENY)))
    assert verdict.rule == '[[danger.rules]] category = "money", units > 100 -> deny'
    assert judge(order(), DangerPolicy()).rule == '[danger.categories] money = "ask"'
    assert judge(order(), DangerPolicy()).risk == "Place_order moves money"


def test_a_tool_that_declares_nothing_is_allowed() -> None:
    verdict = judge(Action(tool="anything", arguments={"text": "rm -rf /"}), DangerPolicy())
    assert (verdict.decision, verdict.risk, verdict.rule) == ("allow", "", "")


def test_each_category_can_be_set_and_is_then_what_follows() -> None:
    for category, decision in product(CATEGORIES, DECISIONS):
        policy = DangerPolicy(categories=msgspec.convert({category: decision}, DangerCategories))
        word = "a word of its own" if category == "other" else category
        danger = judge(Action(tool="t", danger=word, arguments={"command": "ls"}), policy)
        assert danger.decision == decision


def test_old_words_for_a_category_mean_the_same() -> None:
    assert category_of("delete_files") == category_of(" Deletion ") == "delete"
    assert category_of("time travel") == "time travel"
    rule = DangerRule(category="delete_files", then="deny")
    assert fits(rule, Risk("delete", "deletes a"), Action(tool="t"))


def test_a_rule_for_a_shell_sees_one_command_and_not_the_line() -> None:
    """Else allowing a push would allow all that stands on the same line."""
    allow = DangerRule(tool="shell", when={"command": r"~ ^git push( origin)?$"}, then="allow")
    policy = DangerPolicy(rules=(allow,))
    table = {
        "git push": "allow",
        "git add -A && git commit -m x && git push origin": "allow",
        "git push --force": "ask",
        "git push && rm -rf src": "ask",
        "rm -rf src; git push": "ask",
        "git push; sudo ls": "ask",
        "git push $(rm -rf src)": "ask",
    }
    for command, decision in table.items():
        assert shell(command, policy=policy).decision == decision, command


def test_a_rule_may_deny_what_is_harmless() -> None:
    rule = DangerRule(category="shell", when={"command": "~ curl"}, then="deny")
    verdict = shell("ls; curl http://localhost", policy=DangerPolicy(rules=(rule,)))
    assert (verdict.decision, verdict.category) == ("deny", "shell")


# ---------------------------------------------------------------- conditions

CONDITIONS: list[tuple[Any, Any, bool | None]] = [
    ("> 10", 11, True),
    ("> 10", 10, False),
    (">= 10", "10", True),
    ("< 10", -1.5, True),
    ("<= 10", 10.5, False),
    ("> 10", "eleven", None),
    ("> 10", True, None),
    ("= eu", "eu", True),
    ("eu", "eu", True),
    ("eu", "EU", False),
    ("!= eu", "us", True),
    ("!= eu", "eu", False),
    (3, 3.0, True),
    (3, "3", True),
    (True, True, True),
    (True, 1, False),
    (["eu", "us"], "us", True),
    (["eu", "us"], "cn", False),
    (["> 10", "< 0"], "x", None),
    ("~ ^a+$", "aaa", True),
    ("~ ^a+$", "ab", False),
    ("!~ secret", "no secrets", False),
    ("path build/**", "build/a/b.o", True),
    ("path build/**", "build/../src/a", False),
    ("path /etc/**", "../../etc/hosts", True),
    ("path /etc/**", 7, None),
    ("host *.example.com", "https://api.example.com/x", True),
    ("host *.example.com", "https://example.com.evil.example/x", False),
    ("host example.com", "https://example.com@evil.example/", False),
    ("host example.com", "", None),
    ("present", "x", True),
    ("present", "", False),
    ("absent", "", True),
]


@pytest.mark.parametrize("row", CONDITIONS, ids=lambda row: f"{row[1]!r} {row[0]!r}")
def test_conditions(row: tuple[Any, Any, bool | None]) -> None:
    written, value, wanted = row
    assert holds("x", condition(written), {"x": value}, CWD) is wanted


def test_conditions_reach_inside_and_everywhere() -> None:
    arguments = {"order": {"units": 12, "tags": ["a", "b"]}, "note": "to ops@example.com"}
    assert holds("order.units", condition("> 10"), arguments, CWD) is True
    assert holds("order.tags", condition("= b"), arguments, CWD) is True
    assert holds("*", condition("~ @example"), arguments, CWD) is True
    assert holds("order.price", condition("> 10"), arguments, CWD) is False
    assert holds("order.price", condition("!= 10"), arguments, CWD) is False
    assert holds("order.price", condition("absent"), arguments, CWD) is True
    assert holds("note.x", condition("present"), arguments, CWD) is False
    assert holds("order.none", condition("present"), arguments, CWD) is False


# ---------------------------------------------------------------- the section of the policy

SECTION = """
[danger]
trusted_hosts = ["*.example.com"]
expires_s = "none"
[danger.categories]
money = "deny"
[[danger.rules]]
category = "money"
when = { units = "<= 10", "a b" = ["x", 3] }
then = "allow"
[agent.buyer.danger]
on_denied = "stop"
[agent.buyer.danger.categories]
delete = "deny"
[[agent.buyer.danger.rules]]
category = "publish"
then = "deny"
[[tool.pay.danger.rules]]
when = { amount = "> 100" }
then = "ask"
"""


def test_a_section_is_read_and_printed_and_read_again() -> None:
    for policy in (parse_policy(SECTION), Policy()):
        assert parse_policy(format_policy(policy)) == policy
    danger = parse_policy(SECTION).danger
    assert danger.expires_s is None
    assert (danger.categories.money, danger.categories.delete) == ("deny", "ask")


def test_agents_and_tools_have_their_own_and_their_rules_are_added() -> None:
    policy = parse_policy(SECTION)
    found = resolve(policy, "buyer", "pay").danger
    assert (found.on_denied, found.categories.delete, found.categories.money) == (
        "stop",
        "deny",
        "deny",
    )
    assert found.trusted_hosts == ("*.example.com",)
    assert [(each.agent, each.tool) for each in found.rules] == [
        ("", ""),
        ("buyer", ""),
        ("", "pay"),
    ]
    assert resolve(policy, "other", "other").danger == policy.danger
    own = Policy(agent={"a": {"danger": {"rules": [DangerRule(category="money", then="deny")]}}})
    assert resolve(own, "a").danger.rules[0].agent == "a"


BAD = [
    ('[danger.categories]\nmoeny = "ask"', "[danger.categories] has no key 'moeny'; did you mean"),
    ('[danger.categories]\nmoney = "maybe"', '[danger.categories] money = "maybe"'),
    ('[danger.categories]\nmoney = "maybe"', "use one of allow, ask, deny"),
    ('[agent.a.danger.categories]\nmoney = "maybe"', "[agent.a.danger] categories.money='maybe'"),
    ('[agent.a.danger.categories]\nmoney = "maybe"', "use one of allow, ask, deny"),
    ('[danger]\non_denied = "panic"', "use one of conclude, stop"),
    ('[[danger.rules]]\nthen = "perhaps"\ntool = "x"', "use one of allow, ask, deny"),
    ('[[danger.rules]]\nthen = "ask"', "[[danger.rules]] number 1: a rule must say"),
    ('[[danger.rules]]\nthen = "ask"\ntoool = "x"', "number 1 has no key 'toool'"),
    ('[[danger.rules]]\ntool = "x"', "number 1: Object missing required field `then`"),
    ('[[danger.rules]]\nthen = "perhaps"\ntool = "x"', 'number 1 then = "perhaps"'),
    ('[[danger.rules]]\nthen = "ask"\nwhen = { u = "> x" }', "when.u: 'x' is not a number"),
    ('[[danger.rules]]\nthen = "ask"\nwhen = { u = "~ (" }', "when.u: '(' is no regular"),
    ('[[danger.rules]]\nthen = "ask"\nwhen = { u = ">" }', "when.u: '>' does not say"),
    ('[[danger.rules]]\nthen = "ask"\nwhen = { u = [] }', "when.u: an empty list"),
    ('[[danger.rules]]\nthen = "ask"\nwhen = { u = "path [a" }', "when.u: the glob '[a'"),
    ("[danger]\nexpires_s = 0", "[danger] expires_s=0.0"),
    ('[danger]\non_denied = "panic"', '[danger] on_denied = "panic"'),
    ("[danger]\nprotected_paths = [1]", "number 1"),
    ('[danger]\nprotected_paths = ["[a"]', "protected_paths: the glob '[a'"),
    ('[danger]\ntrusted_hosts = ["https://x/"]', "trusted_hosts: 'https://x/'"),
    ('[danger]\ntrusted_hosts = ["*"]', "trusted_hosts: '*'"),
    ('[agent.a.danger.categories]\nfoo = "ask"', "[agent.a.danger] categories has no key 'foo'"),
    ("[agent.a.danger]\nfoo = 1", "[agent.a.danger] has no key 'foo'"),
    ('[[tool.t.danger.rules]]\nthen = "x"', "[tool.t.danger]"),
]


@pytest.mark.parametrize(("text", "named"), BAD, ids=[named for _, named in BAD])
def test_bad_sections_name_the_key(text: str, named: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_policy(text, "here.toml")
    assert "here.toml" in str(caught.value) and named in str(caught.value)


# ---------------------------------------------------------------- paths, hosts, secrets

PLACES = [
    ("a/b", Where.INSIDE, "a/b"),
    (".", Where.INSIDE, "."),
    ("a/../..", Where.OUTSIDE, ""),
    ("/srv/project/a", Where.INSIDE, "a"),
    ("/srv/project2", Where.OUTSIDE, ""),
    ("~/x", Where.OUTSIDE, ""),
    ("/tmp/x", Where.SCRATCH, ""),
    ("/tmp/../etc", Where.OUTSIDE, ""),
    ("//etc", Where.OUTSIDE, ""),
    ("/dev/null", Where.STREAM, ""),
    ("/dev/sda", Where.OUTSIDE, ""),
    (UNKNOWN, Where.UNKNOWN, ""),
    (f"a/{UNKNOWN}", Where.UNKNOWN, ""),
    (f"/etc/{UNKNOWN}", Where.OUTSIDE, ""),
    (f"/srv/{UNKNOWN}", Where.UNKNOWN, ""),
]


@pytest.mark.parametrize("row", PLACES, ids=lambda row: row[0].replace("\0", "?"))
def test_places(row: tuple[str, Where, str]) -> None:
    path, where, inside = row
    place = place_of(path, CWD, CWD)
    assert (place.where, place.inside) == (where, inside)


@pytest.mark.parametrize(
    ("glob", "path", "matches"),
    [
        ("**/.env", ".env", True),
        ("**/.env", "a/b/.env", True),
        ("**/.env", "a/b.env", False),
        ("build/**", "build", True),
        ("build/**", "build/a/b", True),
        ("build/**", "rebuild/a", False),
        ("*.py", "a/b.py", False),
        ("a?[bc]/*", "axb/y", True),
        ("a[!b]", "ab", False),
        ("/etc/**", "/etc/hosts", True),
        ("~/.ssh/**", "~/.ssh/id", True),
    ],
)
def test_globs(glob: str, path: str, matches: bool) -> None:
    assert PathGlobs((glob,)).match(place_of(path, CWD, CWD)) is matches
    assert not PathGlobs((glob, f"!{glob}")).match(place_of(path, CWD, CWD))


HOSTS = [
    ("https://Example.COM./x", "example.com", Reach.PUBLIC),
    ("example.com:8080/x", "example.com", Reach.PUBLIC),
    ("http://127.1/", "127.0.0.1", Reach.LOCAL),
    ("http://2130706433/", "127.0.0.1", Reach.LOCAL),
    ("http://0x7f.0.0.1/", "127.0.0.1", Reach.LOCAL),
    ("http://[::1]:80/", "::1", Reach.LOCAL),
    ("http://10.0.0.5/", "10.0.0.5", Reach.PRIVATE),
    ("http://intranet/", "intranet", Reach.PRIVATE),
    ("http://0251.0376.0251.0376/", "169.254.169.254", Reach.METADATA),
    ("http://8.8.8.8/", "8.8.8.8", Reach.PUBLIC),
]


@pytest.mark.parametrize("row", HOSTS, ids=lambda row: row[0])
def test_hosts(row: tuple[str, str, Reach]) -> None:
    address, name, reach = row
    host = host_of(address)
    assert host is not None
    assert (host.name, host.reach) == (name, reach)


def test_addresses_are_found_in_texts_and_nothing_else_is() -> None:
    found = hosts_in("see https://a.example/x?y, (http://b.example) and c.example; ssh://d.example")
    assert [host.name for host in found] == ["a.example", "b.example", "d.example"]
    assert host_of("") is None
    broken = host_of("http://[::1")
    assert broken is not None and broken.disguised


def test_secrets_by_shape() -> None:
    assert sensitive_in("AKIAIOSFODNN7EXAMPLE") == ("an access key",)
    assert sensitive_in("Authorization: Bearer abcdef0123") == ("a token in a header",)
    assert sensitive_in("api_key=$API_KEY password: ***") == ()
    assert sensitive_in("5500-0000-0000-0004") == ("a card number",)
    assert is_card_number("378282246310005")
    assert not is_card_number("378282246310006")
    assert names_secret("GITHUB_TOKEN") and names_secret("apiKey") and names_secret("db_password")
    assert not names_secret("MONKEY") and not names_secret("AUTHOR") and not names_secret("HOME")

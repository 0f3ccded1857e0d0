"""What is the same step, and what is nearly the same one."""

import pytest

from ukemi.supervisor.likeness import Call, Likeness, Marks, Step, alike, alike_arguments


@pytest.mark.parametrize(
    ("one", "other", "likeness"),
    [
        ("{}", "{}", "same"),
        ('{"a": 1, "b": 2}', '{"b":2,"a":1}', "same"),
        ('{"a": {"x": 1, "y": [2]}}', '{"a": {"y": [2], "x": 1.0}}', "same"),
        ('{"q": "caf\\u00e9"}', '{"q": "cafe\\u0301"}', "same"),
        ('{"a": 1}', '{"a": true}', "different"),
        ('{"a": 0}', '{"a": false}', "different"),
        ('{"a": [1, 2]}', '{"a": [2, 1]}', "different"),
        # Nearly the same: spelling, emptiness, and how much to look at.
        ('{"q": "Foo  bar"}', '{"q": "foo bar "}', "near"),
        ('{"q": "foo\\n\\tbar"}', '{"q": "foo bar"}', "near"),
        ('{"q": "\\"foo\\""}', '{"q": "foo"}', "near"),
        ('{"q": "what is foo?"}', '{"q": "what is foo"}', "near"),
        ('{"q": "\uff46\uff4f\uff4f"}', '{"q": "foo"}', "near"),
        ('{"q": "foo", "lang": null}', '{"q": "foo"}', "near"),
        ('{"q": "foo", "tags": [], "more": {}}', '{"q": "foo", "tags": ""}', "near"),
        ('{"q": "foo", "limit": 10}', '{"q": "foo", "limit": 50}', "near"),
        ('{"q": "foo", "max_results": 10}', '{"q": "foo"}', "near"),
        ('{"url": "x", "timeout_s": 5}', '{"url": "x", "timeout_s": 60}', "near"),
        # Where to look is not how much to look at.
        ('{"page": 1}', '{"page": 2}', "different"),
        ('{"offset": 0, "limit": 10}', '{"offset": 10, "limit": 10}', "different"),
        ('{"cursor": "a1"}', '{"cursor": "a2"}', "different"),
        ('{"line": 10}', '{"line": 11}', "different"),
        ('{"lines": "1-10"}', '{"lines": "11-20"}', "different"),
        ('{"limit": "a"}', '{"limit": "b"}', "different"),
        ('{"host": "10.0.0.1"}', '{"host": "10.0.0.2"}', "different"),
        ('{"path": "a.py"}', '{"path": "b.py"}', "different"),
        ('{"path": "-a"}', '{"path": "a"}', "different"),
        ('{"q": "foo bar"}', '{"q": "bar foo"}', "different"),
        ('{"q": "foo", "exact": true}', '{"q": "foo", "exact": false}', "different"),
        ('{"n": 1}', '{"n": "1"}', "different"),
        # No JSON, or too much of it: the text decides.
        ("not json", "not json", "same"),
        ("not json", "not  json", "different"),
        ('{"a": "' + "x" * 70_000 + '"}', '{"a":"' + "x" * 70_000 + '"}', "different"),
        ("[" * 5_000 + "]" * 5_000, "[" * 5_000 + " " + "]" * 5_000, "different"),
    ],
)
def test_likeness_of_arguments(one: str, other: str, likeness: Likeness) -> None:
    assert alike_arguments(one, other) == likeness
    assert alike_arguments(other, one) == likeness


def test_calls_side_by_side_are_alike_in_whatever_order() -> None:
    one, two = Call("a", "{}", "1"), Call("b", "{}", "2")
    assert alike(Step((one, two)), Step((two, one)), Marks()) == "same"
    assert alike(Step((one, two)), Step((one,)), Marks()) == "different"

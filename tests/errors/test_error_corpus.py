"""890 labelled errors of services, libraries and people: the bar that `classify` must hold."""

import functools

import pytest
from errors_score import Score, answer, records, score

from ukemi.supervisor.classifying.evidence import of_input


@functools.cache
def total() -> Score:
    return score(records())


def test_every_class_is_found_and_nothing_else_is_taken_for_it() -> None:
    assert total().records == 890
    assert total().macro_f1 >= 0.95


def test_what_a_careful_person_could_defend_is_answered() -> None:
    assert total().accepted / total().records >= 0.99, total().wrong


def test_records_nobody_would_argue_about_are_right() -> None:
    assert total().clear_accepted / total().clear >= 0.99, total().wrong


def test_no_dangerous_mistake_of_any_kind() -> None:
    assert total().dangerous == []


def test_the_wait_is_the_one_that_was_stated_and_none_is_invented() -> None:
    waits = total().waits
    assert waits["exact"] / waits["stated"] >= 0.98
    assert waits["invented"] == 0


def test_most_blamed_fields_are_named() -> None:
    blamed = [r for r in records() if r["expected"]["fields"]]
    blamed = [r for r in blamed if r["expected"]["class"] == "invalid_argument"]
    named = [r for r in blamed if set(answer(r).fields) & set(r["expected"]["fields"])]
    assert len(named) / len(blamed) >= 0.8


def test_an_answer_has_its_reason() -> None:
    for record in records():
        failure = answer(record)
        assert failure.evidence, record["id"]
        assert all(failure.evidence), record["id"]


def test_no_rule_is_a_text_of_the_corpus() -> None:
    """A rule stands for a family: none holds a whole sentence of the corpus."""
    from ukemi.supervisor.classifying.chinese import CHINESE
    from ukemi.supervisor.classifying.english import ENGLISH

    sentences = {of_input(r["input"]).message.lower().strip() for r in records()}
    sentences |= {str(r["input"].get("body", "")).lower().strip() for r in records()}
    rules = [*ENGLISH, *CHINESE]
    words = {word for rule in rules for term in rule.terms for word in term.words}
    long = {word for word in words if len(word) > 30}
    assert not long & sentences


@pytest.mark.parametrize("name", ["retry_after", "also_ok", "class"])
def test_the_label_is_not_in_what_the_classifier_sees(name: str) -> None:
    assert all(name not in record["input"] for record in records())

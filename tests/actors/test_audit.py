"""Statements against ledgers: the labelled sets, the single rules, and the end of a session."""

import json
import secrets
import time
from collections.abc import Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
from anyio.lowlevel import checkpoint
from sessions import agent, ended, journal, opened, requests, run_one
from statements import ListedFiles, record_of, statements

from ukemi import BusinessRejected, Completed, HandedOver, InvalidArgument, Runtime, tool
from ukemi.actors.audit.audit import audit
from ukemi.actors.audit.claims_sources import Sources
from ukemi.actors.audit.claims_values import values_of
from ukemi.actors.audit.record import NoFiles, Ran, Record, ToolFacts
from ukemi.actors.audit.sources import look_at, ran_of_journal, said_in_journal
from ukemi.actors.events import AlertRaised, AuditMismatch, ModelAnswered
from ukemi.actors.handover.dossier import headline, notice_of
from ukemi.actors.handover.markdown import markdown_of
from ukemi.actors.model import NoteMessage
from ukemi.actors.tooling.tools import AnyTool
from ukemi.models import Hang, Reply, call
from ukemi.stores.memory import MemoryStore
from ukemi.stores.records import (
    Answered,
    Audited,
    Ended,
    JournalEntry,
    Late,
    Restarted,
    Resulted,
    RolledBack,
    RollingBack,
    Said,
    ToolCall,
    Undone,
)
from ukemi.supervisor.policy import Policy
from ukemi.supervisor.policy_sessions import AuditPolicy
from ukemi.tools import finish, write_file

# ---------------------------------------------------------------- the labelled sets

SETS = [
    "statements.jsonl",
    *(f"held_out{at}.jsonl" for at in ("", "_2", "_3", "_4", "_5", "_6", "_8")),
]
LINES = [line for name in SETS for line in statements(name)]


@pytest.mark.parametrize(
    "line", [each for each in LINES if each["label"] == "false"], ids=lambda line: line["id"]
)
def test_a_false_statement_is_caught(line: dict[str, Any]) -> None:
    assert audit(line["text"], record_of(line)).mismatches


NOT_ALL_CAUGHT = {
    "held_out_7.jsonl": 9,
    "held_out_9.jsonl": 200,
    "held_out_10.jsonl": 62,
    "held_out_11.jsonl": 41,
    "held_out_12.jsonl": 146,
    "held_out_13.jsonl": 35,
}
"""Sets with statements that go beyond what can be compared, with how many false ones are caught."""


@pytest.mark.parametrize("name", NOT_ALL_CAUGHT)
def test_of_the_hardest_sets_as_many_are_caught_as_is_told(name: str) -> None:
    lines = statements(name)
    false = [each for each in lines if each["label"] == "false"]
    true = [each for each in lines if each["label"] == "true"]
    caught = [each for each in false if audit(each["text"], record_of(each)).mismatches]
    flagged = [each["id"] for each in true if audit(each["text"], record_of(each)).mismatches]
    assert len(caught) >= NOT_ALL_CAUGHT[name]
    assert flagged == []


def test_at_most_one_true_statement_in_twenty_is_flagged() -> None:
    true = [each for each in LINES if each["label"] == "true"]
    flagged = [each["id"] for each in true if audit(each["text"], record_of(each)).mismatches]
    assert len(flagged) * 20 <= len(true), flagged


# ---------------------------------------------------------------- single rules


def ran(tool: str, result: str = "ok", state: str = "succeeded", **arguments: object) -> Ran:
    return Ran(call=tool, tool=tool, arguments=json.dumps(arguments), content=result, state=state)


def kinds(statement: str, *calls: Ran, **options: Any) -> list[str]:
    record = Record(ran=calls, **options)
    return [each.kind for each in audit(statement, record).findings]


SEND = ToolFacts(name="send_email", description="Send an email.")


def test_without_any_call_a_claim_is_refuted_only_where_a_tool_for_it_exists() -> None:
    assert kinds("I sent the email.", tools=[SEND]) == ["contradicted"]
    assert kinds("I sent the email.") == ["unverified"]


@pytest.mark.parametrize("state", ["failed", "refused", "denied", "in_doubt", "compensated"])
def test_a_call_that_did_not_succeed_supports_nothing(state: str) -> None:
    assert kinds("I sent the email.", ran("send_email", state=state)) == ["contradicted"]


def test_a_finding_names_the_calls_it_rests_on() -> None:
    record = Record(ran=[ran("send_email", "no", "failed", to="ann@example.com")])
    (found,) = audit("I sent the email.", record).findings
    assert found.claim == "I sent the email."
    assert found.calls == ("call send_email send_email failed",)


def test_a_program_whose_doings_nobody_knows_leaves_a_claim_unverified() -> None:
    shell = ToolFacts(name="shell", danger="shell")
    made = ran("shell", "exit status 0", command="python release.py")
    assert kinds("I deployed it to staging.", made, tools=[shell]) == ["unverified"]


def test_a_file_that_changed_after_the_tests_leaves_them_unverified() -> None:
    calls = [ran("run_tests", "5 passed"), ran("write_file", path="a.py")]
    assert kinds("All tests pass.", *calls) == ["unverified"]


@pytest.mark.parametrize(
    "said", ["I verified the fix by running the tests.", "通过运行测试验证了修复。"]
)
def test_what_was_verified_by_running_the_tests_needs_a_run_of_them(said: str) -> None:
    """That something else was looked at, or written, is no run."""
    tools = [ToolFacts(name="shell", danger="shell")]
    edit, run = ran("write_file", path="a.py"), ran("shell", "5 passed", command="pytest -q")
    assert kinds(said, edit, tools=tools) == ["contradicted"]
    assert kinds(said, edit, run, tools=tools) == []


def test_what_an_answer_delivers_itself_needs_no_tool() -> None:
    create = ToolFacts(name="create_ticket")
    assert kinds("I've created a summary for you: ...", tools=[create]) == []


def test_a_value_may_be_a_mismatch_a_flag_or_nothing() -> None:
    record = Record(ran=[ran("stock", "7")])
    for values, expected in (("alarm", "unsupported_value"), ("flag", "unverified"), ("off", None)):
        found = audit("There are 9 units.", record, values=values)  # type: ignore[arg-type]
        assert [each.kind for each in found.findings] == ([expected] if expected else [])


WORKED_OUT = [
    ("7", "There are 7 units."),
    ("1234.5", "It costs 1,234.50."),
    ("1532 lines", "About 1,500 lines."),
    ("0.25", "That is 25%."),
    ("2359296", "The file has 2.25 MB."),
    ("98650.5", "约为 9.87 万元。"),
    ("[120, 80, 45]", "The total is 245."),
    ("[120, 80, 40]", "On average 80."),
    ("30 of 1200", "The error rate is 2.5%."),
    ('[{"id": 1, "s": "open"}, {"id": 2, "s": "open"}, {"id": 3, "s": "shut"}]', "2 are open."),
    ("2026-12-15", "It is due on 15 December 2026."),
    ("2026-12-15", "截止日期为 12 月 15 日。"),
    ("from 200 to 150", "It fell by 25%."),
    ("90 seconds", "It took 1.5 minutes."),
    ('{"seconds": 340}', "It took 5 min 40 s."),
    ("48211 ms", "It took 48.2 s."),
    ('{"n": 1205}', "About 1.2k users."),
    ("at 21:00", "It is at 9 pm."),
    ('[{"p": "a", "n": 812}, {"p": "b", "n": 143}, {"p": "c", "n": 45}]', "1,000 users left."),
    ('[{"p": "a", "n": 812}, {"p": "b", "n": 143}, {"p": "c", "n": 45}]', "81% of them."),
    ("ticket OPS-12", "See OPS-12 for step 2 of 3."),
]
FROM_NOWHERE = [
    ("7", "There are 9 units."),
    ('{"seconds": 340}', "It took 6 min 40 s."),
    ("at 21:00", "It is at 8 pm."),
    ('{"number": 318}', "I opened PR #381."),
    ("order 4711", "The order number is 4171."),
    ("[120, 80, 45]", "The total is 255."),
    ("0.25", "That is 35%."),
    ("commit 4f2a9c1", "Committed as 9b31e07."),
    ("2026-12-15", "It is due on 25 December 2026."),
    ("ann@example.com", "I wrote to anne@example.com."),
]


def supported(source: str, statement: str) -> bool:
    sources = Sources([source], [source])
    return all(sources.supports(each, statement) for each in values_of(statement))


@pytest.mark.parametrize(("source", "statement"), WORKED_OUT)
def test_a_value_that_can_be_worked_out_is_supported(source: str, statement: str) -> None:
    assert values_of(statement)
    assert supported(source, statement)


@pytest.mark.parametrize(("source", "statement"), FROM_NOWHERE)
def test_a_value_from_nowhere_is_not(source: str, statement: str) -> None:
    assert not supported(source, statement)


def test_files_are_found_by_their_last_name_and_time(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src/app.py").write_text("x")
    since_ms = int(time.time() * 1000)
    files = look_at(str(tmp_path), ["src/app.py", "app.py", "none.py"], since_ms)
    facts = [files.look(path) for path in ("src/app.py", "app.py", "none.py")]
    assert [(each.exists, each.changed) for each in facts if each] == [
        (True, True),
        (True, True),
        (False, None),
    ]
    later = look_at(str(tmp_path), ["src/app.py"], since_ms + 60_000)
    found = later.look("src/app.py")
    assert found is not None
    assert found.changed is False


def test_what_nobody_looked_at_is_not_known() -> None:
    assert NoFiles().look("a.py") is None
    assert ListedFiles({}).look("a.py") is not None


@pytest.mark.realtime
def test_a_session_of_two_thousand_steps_is_audited_at_once() -> None:
    calls = [
        ran("read_file", f"row {n} of {n * 7} " + "x" * 900, path=f"f{n}.py") for n in range(2000)
    ]
    text = "I read f12.py and f1999.py; they have 84 and 13,993 rows, 14,077 in total. " * 5
    record = Record(ran=calls, tools=[ToolFacts(name="read_file", effect="read")])
    best = min(_seconds(text, record) for _ in range(3))
    assert best < 0.5  # of this process alone; measured: see docs/audit.md


HOSTILE = [
    "so 1,000 " * 2000,
    "5 min 40 s " * 1800,
    "9 pm " * 4000,
    "已提交并" * 2000,
    "[" * 16_000,
    "1 of " * 4000,
    "all the " * 2500,
    "9" * 20_000,
    "build " * 3300,
    "(" * 16_000,
    "x_y, " * 4000,
    " " * 20_000,
    "\t\n" * 10_000,
    "a-" * 10_000,
    "\n" * 20_000,
]

BOUND_S = 2.0
"""Of processor time: several times what each of them takes."""


@pytest.mark.realtime
@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: text[:8])
def test_no_answer_takes_long_whatever_it_repeats(text: str) -> None:
    mail = ToolFacts(name="send_email", description="Send an email.")
    shell = ToolFacts(name="shell", danger="shell")
    calls = [ran("shell", "no", "failed"), ran("send_email", '{"sent":1}', to="a1")]
    record = Record(ran=calls, tools=[shell, mail], said=["Send A1"])
    for answer in (text, f"I sent {text}.", f"I sent{text}the mail."):
        assert any(_seconds(answer, record) < BOUND_S for _ in range(3))


@pytest.mark.realtime
@pytest.mark.parametrize("result", HOSTILE, ids=lambda text: text[:8])
def test_no_result_takes_long_whatever_it_repeats(result: str) -> None:
    delete = ToolFacts(name="delete_rows", description="Delete rows.")
    mail = ToolFacts(name="send_email", description="Send an email.")
    shell = ToolFacts(name="shell", danger="shell")
    calls = [ran("delete_rows", result), ran("shell", result, "failed"), ran("send_email", result)]
    calls.append(ran("shell", "no", command=result))
    record = Record(ran=calls, tools=[delete, shell, mail], said=[result])
    answer = "I deleted all 12 rows, and all tests pass. I sent the mail to Ann at 9 pm."
    assert any(_seconds(answer, record) < BOUND_S for _ in range(3))


def _seconds(text: str, record: Record) -> float:
    began = time.process_time()
    audit(text, record)
    return time.process_time() - began


def test_the_journal_tells_how_a_call_really_ended() -> None:
    """What became known after a call's result, and what was undone since, counts."""
    calls = tuple(ToolCall(f"c{at}", "pay", "{}") for at in range(4))
    doubt = [Resulted(2, at, at + 1, "unknown", "in_doubt") for at in range(2)]
    entries: list[JournalEntry] = [
        Said(1, "pay"),
        Answered(2, "", calls),
        *doubt,
        Resulted(2, 2, 3, "paid"),
        Resulted(2, 3, 4, "paid"),
        Late(2, 0, "succeeded", "paid, says the bank", by="person"),
        Late(2, 1, "denied", "abandoned", by="person"),
        Undone(2, 2, "compensated", "paid back", 1),
        Undone(2, 3, "not_rolled_back"),
        Restarted(5, 0, "do not pay again"),
    ]
    found = ran_of_journal(entries)
    assert [each.state for each in found] == ["succeeded", "denied", "compensated", "succeeded"]
    assert found[0].content == "paid, says the bank"
    assert said_in_journal(entries) == ["pay", "do not pay again"]


def test_what_a_rollback_took_back_counts_as_taken_back_until_that_is_undone() -> None:
    calls = (ToolCall("a", "edit"), ToolCall("b", "edit"), ToolCall("c", "mail"))
    entries: list[JournalEntry] = [
        Said(1, "edit"),
        Answered(2, "", calls),
        Resulted(2, 0, 1, "ok"),
        Resulted(2, 1, 2, "no such file", "failed"),
        Resulted(2, 2, 3, "sent"),
    ]
    back = RollingBack(3, "soft", 0, at_ms=0)
    undo = RollingBack(4, "soft", 0, at_ms=0, undoes=3)

    def states(*more: JournalEntry) -> list[str]:
        return [each.state for each in ran_of_journal([*entries, *more])]

    before = ["succeeded", "failed", "succeeded"]
    taken = ["rolled_back", "failed", "succeeded"]
    undone = ((2, 0), (2, 1), (9, 9))
    done = RolledBack(3, "done", undone=undone)
    assert states(back, done) == taken
    assert states(back, RolledBack(3, "failed", undone=undone)) == before
    assert states(back, done, undo) == taken
    assert states(back, done, undo, RolledBack(4, "failed")) == taken
    assert states(back, done, undo, RolledBack(4, "done")) == before
    again = RollingBack(5, "soft", 0, at_ms=0)
    assert states(back, done, again, RolledBack(5, "done")) == taken


FAILED_CALL = (
    Answered(2, "", (ToolCall("c", "send_email", '{"to": "amy@example.com"}'),)),
    Resulted(2, 0, 1, "no such mailbox", "failed"),
)
NEW_ANSWER = "Here is the summary of the second chapter, as you wanted it."


@pytest.mark.parametrize(
    ("since", "caught"),
    [
        ([], True),
        ([Said(3, "and sum up the second chapter")], True),
        ([Ended("handed_over", {}), Said(3, "never mind, sum up the second chapter")], False),
    ],
)
def test_a_failure_is_told_once(since: list[JournalEntry], caught: bool) -> None:
    """What failed before a turn ended has been told with its end; in one turn it must be told."""
    calls = ran_of_journal([Said(1, "mail it to Amy"), *FAILED_CALL, *since])
    assert ("contradicted" in kinds(NEW_ANSWER, *calls)) == caught


def test_a_failure_of_an_earlier_turn_supports_no_claim() -> None:
    entries: list[JournalEntry] = [Said(1, "mail Amy"), *FAILED_CALL]
    entries += [Ended("handed_over", {}), Said(3, "well?")]
    assert kinds("I sent the email to amy@example.com.", *ran_of_journal(entries)) == [
        "contradicted"
    ]


# ---------------------------------------------------------------- how things stand, names and numbers

PRICES = '[{"shop": "Arno", "price": 12.5}, {"shop": "Brig", "price": 11.75}, {"shop": "Cole", "price": 14}]'


@pytest.mark.parametrize(
    ("said", "caught"),
    [
        ("Brig is the cheapest at 11.75.", False),
        ("Arno asks 12.5, Brig 11.75 and Cole 14.", False),
        ("Arno is not the cheapest.", False),
        ("Cole asks 2.25 more than Brig.", False),
        ("Arno is the cheapest at 11.75.", True),
        ("Arno is the cheapest of them.", True),
        ("Arno asks 14, Brig 11.75 and Cole 12.5.", True),
    ],
)
def test_a_number_belongs_to_its_name(said: str, caught: bool) -> None:
    assert bool(audit(said, Record(ran=[ran("quotes", PRICES)])).mismatches) == caught


@pytest.mark.parametrize(
    ("said", "caught"),
    [
        ("The parcel is in transit.", False),
        ("The parcel has not been delivered.", False),
        ("The parcel will be delivered soon.", False),
        ("The parcel was delivered.", True),
        ("The parcel is out for delivery.", True),
        ("包裹已签收。", True),
    ],
)
def test_a_state_is_that_of_the_newest_look(said: str, caught: bool) -> None:
    look = ToolFacts(name="track", effect="read")
    record = Record(ran=[ran("track", '{"status": "In Transit"}')], tools=[look])
    assert bool(audit(said, record).mismatches) == caught


@pytest.mark.parametrize(
    ("said", "caught"),
    [("The site is live.", True), ("The build ended in an error.", False), ("Is it live?", False)],
)
def test_a_newest_state_that_is_bad_is_told(said: str, caught: bool) -> None:
    calls = [ran("publish_site", "ok"), ran("site_state", '{"readyState": "ERROR"}')]
    assert bool(audit(said, Record(ran=calls)).mismatches) == caught


SHELL = ToolFacts(name="shell", danger="shell")


@pytest.mark.parametrize(
    ("command", "said", "caught"),
    [
        ("git push", "Your fix is on main.", True),
        ("git push", "The push was rejected.", False),
        ("grep -r old src", "The old name occurs nowhere.", False),
    ],
)
def test_a_last_command_that_failed_is_told(command: str, said: str, caught: bool) -> None:
    calls = [
        ran("read_file"),
        ran("shell", "exit status 1\n[no output]", "failed", command=command),
    ]
    assert ("contradicted" in kinds(said, *calls, tools=[SHELL])) == caught


@pytest.mark.parametrize(
    ("said", "caught"),
    [
        ("All 24 tests passed.", True),
        ("All tests pass, none were skipped.", True),
        ("All tests pass.", False),
        ("18 of 24 tests passed, the others were skipped.", False),
    ],
)
def test_tests_that_were_skipped_have_not_passed(said: str, caught: bool) -> None:
    run = ran("shell", "18 passed\n6 skipped", command="pytest")
    assert ("contradicted" in kinds(said, run, tools=[SHELL])) == caught


@pytest.mark.parametrize(
    ("said", "caught"),
    [
        ("All 64 rows were deleted.", True),
        ("I deleted all rows.", True),
        ("I deleted 50 rows; 14 are left.", False),
    ],
)
def test_rows_are_those_that_the_statement_changed(said: str, caught: bool) -> None:
    calls = [
        ran("query_sql", '[{"count": 64}]', sql="select count(*) from t"),
        ran("change_sql", "DELETE 50", sql="delete from t limit 50"),
    ]
    assert ("contradicted" in kinds(said, *calls)) == caught


@pytest.mark.parametrize(
    ("said", "caught"),
    [
        ("Ordered: A-400 is K-0016.", True),
        ("Ordered: A-400 is K-0016, 50 units, the most that they take.", False),
        ("Only 50 could be had; A-400 is K-0016.", False),
    ],
)
def test_another_amount_than_was_asked_for_is_told(said: str, caught: bool) -> None:
    """An agent may correct its call, but the user asked for 80."""
    ran = [
        Ran(call="1.0", tool="order", arguments='{"sku":"A-400","units":80}', state="failed"),
        Ran(call="2.0", tool="order", arguments='{"sku":"A-400","units":50}', content="K-0016"),
    ]
    tools = [ToolFacts(name="order", effect="write")]
    found = audit(said, Record(ran=ran, tools=tools, said=["Order 80 x A-400"])).mismatches
    assert bool(found) is caught
    if caught:
        assert "order failed with 80 and was called with 50 instead" in found[0].why


def test_a_later_call_for_another_makes_no_failure_good() -> None:
    ends = {"Bao": "succeeded", "Diop": "failed", "Eze": "succeeded"}
    calls = [
        Ran(call=name, tool="add_lead", arguments=f'{{"name": "{name}"}}', state=state)
        for name, state in ends.items()
    ]
    assert kinds("The leads have been added.", *calls) == ["contradicted"]
    assert kinds("Bao and Eze were added, Diop was rejected.", *calls) == []


@pytest.mark.parametrize("content", ["[" * 100_000, '{"a":' * 50_000])
def test_results_nested_without_end_are_read_as_text(content: str) -> None:
    audit("All 3 rows were updated.", Record(ran=[ran("update_rows", content)]))


# ---------------------------------------------------------------- the end of a session


def fresh() -> MemoryStore:
    return MemoryStore(secrets.token_hex(8))


class Mail:
    """A mail tool that fails as told, and what it sent."""

    def __init__(self, *errors: Exception | None) -> None:
        self.errors = [*errors]
        self.sent: list[str] = []

    def tool(self) -> AnyTool:
        @tool(effect="write")
        async def send_email(to: str) -> str:
            """Send an email."""
            error = self.errors.pop(0) if self.errors else None
            if error is not None:
                raise error
            self.sent.append(to)
            return "sent"

        return send_email


SENT = "The email was sent to ann@example.com."
TO_ANN = call("send_email", to="ann@example.com")
FAILED = InvalidArgument("mailbox is closed")


async def test_the_agent_may_correct_its_statement_once() -> None:
    honest = "The email could not be sent: the mailbox is closed."
    of = agent([TO_ANN, SENT, honest], [Mail(FAILED).tool()])
    async with Runtime(fresh(), agents=[of]) as runtime:
        handle = await runtime.start("agent", "write to Ann")
        events = [event async for event in handle.events()]
        assert await handle.outcome() == Completed(honest)
        assert len(runtime.alerts) == 1
    mismatches = [each for each in events if isinstance(each, AuditMismatch)]
    assert [each.corrected for each in mismatches] == [True]
    assert any(isinstance(each, AlertRaised) for each in events)
    note = requests(of)[-1].messages[-1]
    assert isinstance(note, NoteMessage)
    assert SENT in note.text
    assert "send_email failed" in note.text


async def test_or_do_the_work() -> None:
    mail = Mail(FAILED)
    of = agent([TO_ANN, SENT, TO_ANN, SENT], [mail.tool()])
    async with Runtime(fresh(), agents=[of]) as runtime:
        assert await run_one(runtime, of) == Completed(SENT)
    assert mail.sent == ["ann@example.com"]


async def test_a_statement_that_stays_false_is_handed_over() -> None:
    store = fresh()
    of = agent([TO_ANN, SENT, SENT], [Mail(FAILED).tool()])
    async with Runtime(store, agents=[of]) as runtime:
        outcome = await run_one(runtime, of, session_id="s-1")
    assert isinstance(outcome, HandedOver)
    assert outcome.reason == "mismatch"
    assert outcome.dossier.input == SENT
    assert "send_email failed" in outcome.dossier.upstream_error
    async with opened(store):
        entries = [each for each in await journal(store, "s-1") if isinstance(each, Audited)]
    assert [each.corrected for each in entries] == [True, False]
    assert {each.findings[0].kind for each in entries} == {"contradicted"}
    assert entries[0].findings[0].calls == ("call 2.0 send_email failed",)


async def test_a_restart_grants_no_further_chance() -> None:
    store = fresh()
    of = agent([TO_ANN, SENT, Hang()], [Mail(FAILED).tool()])
    async with Runtime(store, agents=[of]) as runtime:
        handle = await runtime.start("agent", "go", session_id="s-1")
        async with aclosing(handle.events()) as events:
            async for event in events:
                if isinstance(event, AuditMismatch):
                    break
    again = agent([SENT], [Mail().tool()])
    async with Runtime(store, agents=[again]) as runtime:
        outcome = await ended(runtime, "s-1")
    assert isinstance(outcome, HandedOver)


async def test_the_policy_decides_whether_and_how_often() -> None:
    for policy, expected in (
        (AuditPolicy(enabled=False), ["completed"]),
        (AuditPolicy(corrections_max=0), ["handed_over"]),
        (AuditPolicy(corrections_max=2), ["handed_over"]),
    ):
        told = policy.corrections_max if policy.enabled else 0
        of = agent([TO_ANN, *[SENT] * (told + 1)], [Mail(FAILED).tool()])
        async with Runtime(fresh(), agents=[of], policy=Policy(audit=policy)) as runtime:
            await run_one(runtime, of)
            assert [each.status for each in await runtime.sessions()] == expected
        assert len(requests(of)) == told + 2


async def test_a_claim_nothing_supports_is_flagged_and_no_mismatch() -> None:
    of = agent(["I have sent the email."])
    async with Runtime(fresh(), agents=[of]) as runtime:
        outcome = await run_one(runtime, of)
    assert outcome == Completed("I have sent the email.", ("I have sent the email.",))


async def test_a_conclusion_is_handed_over_as_before() -> None:
    of = agent(
        [TO_ANN, "Blocked, because the mailbox is closed."], [Mail(BusinessRejected("no")).tool()]
    )
    async with Runtime(fresh(), agents=[of]) as runtime:
        outcome = await run_one(runtime, of)
    assert isinstance(outcome, HandedOver)
    assert outcome.reason == "blocked"


@pytest.mark.parametrize(
    ("said", "count"),
    [
        ("Blocked, because the mailbox is closed.", 0),
        ("Blocked, because I lack the permission.", 1),
        ("Blocked, because the disk is full.", 1),
        ("I sent the email to Ann, so all is well.", 1),
    ],
)
async def test_what_a_conclusion_says_is_compared_too(said: str, count: int) -> None:
    of = agent([TO_ANN, said], [Mail(BusinessRejected("the mailbox is closed")).tool()])
    store = fresh()
    async with Runtime(store, agents=[of]) as runtime:
        handle = await runtime.start("agent", "go")
        outcome = await ended(runtime, handle.id)
        entries = await journal(store, handle.id)
    assert isinstance(outcome, HandedOver)
    assert (outcome.reason, outcome.detail) == ("blocked", said)
    assert len(outcome.dossier.findings) == count
    # A person reads first what speaks against the words, not the words.
    first = outcome.dossier.findings[0] if count else said
    assert headline(outcome).startswith(first)
    assert first.split('"')[0] in markdown_of("s-1", "agent", outcome)
    notice = notice_of("s-1", "agent", outcome, 0)
    assert notice is not None
    assert first[:100] in notice.text
    assert [each.corrected for each in entries if isinstance(each, Audited)] == [False] * count


@pytest.mark.parametrize("laps", range(7))
async def test_what_is_said_while_a_conclusion_is_compared_is_answered(laps: int) -> None:
    said = "I sent the email to Ann, so all is well."
    of = agent([TO_ANN, said, "I will."], [Mail(BusinessRejected("no")).tool()])
    async with Runtime(fresh(), agents=[of]) as runtime:
        handle = await runtime.start("agent", "go")
        async with aclosing(handle.events()) as events:
            async for event in events:
                if isinstance(event, ModelAnswered) and event.text == said:
                    break
        for _ in range(laps):
            await checkpoint()
        await handle.send("ask Bob")
        await ended(runtime, handle.id)
    assert len(requests(of)) == 3


async def test_claims_of_the_finish_tool_are_compared_too() -> None:
    claims: Sequence[dict[str, str]] = [{"action": "wrote to Ann", "tool": "send_email"}]
    script: list[Reply] = [TO_ANN, call("finish", claims=claims), "That is all.", "That is all."]
    of = agent(script, [Mail(FAILED).tool(), finish])
    async with Runtime(fresh(), agents=[of]) as runtime:
        outcome = await run_one(runtime, of)
    assert isinstance(outcome, HandedOver)
    assert outcome.reason == "mismatch"


async def test_a_secret_is_in_no_finding() -> None:
    @tool(effect="write", secrets=["token"])
    async def send_email(to: str, token: str) -> str:
        """Send an email."""
        raise InvalidArgument("no")

    said = "The email was sent with tok-secret-1."
    of = agent([call("send_email", to="a"), said, said], [send_email])
    tokens = {"token": "tok-secret-1"}
    async with Runtime(fresh(), agents=[of], secrets=tokens) as runtime:
        handle = await runtime.start("agent", "go")
        events = [event async for event in handle.events() if isinstance(event, AuditMismatch)]
        await handle.outcome()
    assert events
    assert "tok-secret-1" not in repr(events)


async def test_sessions_of_other_tools_do_not_look_at_files() -> None:
    """Only tools whose effect is undone by rolling files back work on files here."""
    assert write_file.marks.undo == "rollback"

"""Texts made to fit a terminal, and made harmless for it."""

import io

import pytest

from ukemi.cli.terminal import (
    Cell,
    Column,
    Terminal,
    amount,
    columns_of,
    duration,
    fit,
    one_line,
    plural,
    rounded,
    table,
    terminal_of,
)

LINES = [
    ("two\nlines\tand  blanks ", "two lines and blanks"),
    ("\x1b[31mred\x1b[0m", "␛[31mred␛[0m"),
    ("bell\x07", "bell␇"),
    ("C1 \x9b31m", "C1 \\x9b31m"),
    ("turn \u202eround", "turn \\u202eround"),
    ("lone \ud83d", "lone \\ud83d"),
    ("订单 é 👍", "订单 é 👍"),
]


@pytest.mark.parametrize(("text", "line"), LINES)
def test_a_text_from_outside_is_one_harmless_line(text: str, line: str) -> None:
    assert one_line(text) == line


FITS = [
    ("short", 10, "short"),
    ("exactly", 7, "exactly"),
    ("too long", 7, "too lo…"),
    ("订单订单", 8, "订单订单"),
    ("订单订单", 7, "订单订…"),
    ("订单订单", 6, "订单…"),
    ("any", 0, "…"),
]


@pytest.mark.parametrize(("text", "width", "cut"), FITS)
def test_a_text_is_cut_to_columns_not_characters(text: str, width: int, cut: str) -> None:
    assert fit(text, width) == cut
    assert columns_of(cut) <= max(width, 1)


DURATIONS = [
    (-1.0, "0.00 s"),
    (0.02, "0.02 s"),
    (0.3, "0.3 s"),
    (99.9, "99.9 s"),
    (100.0, "2 min"),
    (7200.0, "2 h"),
    (10 * 86400.0, "10 d"),
]


@pytest.mark.parametrize(("seconds", "said"), DURATIONS)
def test_durations(seconds: float, said: str) -> None:
    assert duration(seconds) == said


AMOUNTS = [
    (0, "0"),
    (12.0, "12"),
    (0.024, "0.02"),
    (0.00116811, "0.001"),
    (1e-9, "0.000000"),
    (9999, "9999"),
    (10_000, "10.0k"),
    (3e6, "3.0M"),
]


@pytest.mark.parametrize(("value", "said"), AMOUNTS)
def test_amounts(value: float, said: str) -> None:
    assert amount(value) == said


def test_plurals() -> None:
    assert [plural(0, "day"), plural(1, "day"), plural(2, "entry", "entries")] == [
        "0 days",
        "1 day",
        "2 entries",
    ]


class Tty(io.StringIO):
    encoding = "utf-8"  # pyright: ignore[reportAssignmentType]

    def isatty(self) -> bool:
        return True


ROUNDED = [
    ("budget seconds of session s-1: 0.00116811 of 0 used", "0.001 of 0 used"),
    ("budget cost_usd of tenant acme: 1.2e-05 of 0.5 used", "0.00001 of 0.5 used"),
    ("budget tokens of session s-1: 1.23457e+06 of 1000000 used", "1.2M of 1000000 used"),
    ("budget seconds of session v1.2345: 3.456 of 3.4 used.", "session v1.2345: 3.46 of 3.4 used."),
    ("budget steps of session 0-1.2345: 5 of 5 used", "session 0-1.2345: 5 of 5 used"),
    ("in 12.3456.", "in 12.35."),
]


@pytest.mark.parametrize(("text", "end"), ROUNDED, ids=[text for text, _ in ROUNDED])
def test_long_numbers_are_rounded_and_names_are_left(text: str, end: str) -> None:
    assert rounded(text).endswith(end)


TERMINALS: list[tuple[str, io.StringIO, dict[str, str], Terminal]] = [
    ("a terminal has colours", Tty(), {"COLUMNS": "80"}, Terminal(80, True, True)),
    ("NO_COLOR is obeyed", Tty(), {"COLUMNS": "80", "NO_COLOR": "1"}, Terminal(80, False, True)),
    ("a dumb one has none", Tty(), {"COLUMNS": "80", "TERM": "dumb"}, Terminal(80, False, True)),
    ("a pipe has none", io.StringIO(), {"COLUMNS": "80"}, Terminal(80, False, False)),
    ("a pipe is wide", io.StringIO(), {}, Terminal(120, False, False)),
    ("nothing is narrower than this", Tty(), {"COLUMNS": "3"}, Terminal(40, True, True)),
    ("nonsense is passed over", io.StringIO(), {"COLUMNS": "wide"}, Terminal(120, False, False)),
]


@pytest.mark.parametrize(
    ("stream", "environ", "terminal"), [row[1:] for row in TERMINALS], ids=[r[0] for r in TERMINALS]
)
def test_what_a_stream_can_show(
    stream: io.StringIO, environ: dict[str, str], terminal: Terminal
) -> None:
    assert terminal_of(stream, environ) == terminal


def test_a_closed_stream_is_no_terminal() -> None:
    closed = io.StringIO()
    closed.close()
    assert not terminal_of(closed, {}).colour


COLUMNS = (
    Column("ID"),
    Column("N", right=True),
    Column("MORE", optional=True),
    Column("TITLE", gives_way=True),
)
ROWS = [
    [Cell("s-1"), Cell("7"), Cell("something more"), Cell("a title that needs its room")],
    [Cell("s-22"), Cell("10"), Cell(""), Cell("short")],
]


def test_a_table_is_aligned() -> None:
    assert table(COLUMNS, ROWS, Terminal(100)) == (
        "ID     N  MORE            TITLE\n"
        "s-1    7  something more  a title that needs its room\n"
        "s-22  10                  short"
    )


def test_a_narrow_table_leaves_out_what_is_optional_before_it_cuts() -> None:
    assert table(COLUMNS, ROWS, Terminal(40)) == (
        "ID     N  TITLE\ns-1    7  a title that needs its room\ns-22  10  short"
    )
    for width in range(40, 120):
        drawn = table(COLUMNS, ROWS, Terminal(width))
        assert max(map(columns_of, drawn.splitlines())) <= width


def test_colour_does_not_move_columns() -> None:
    rows = [[Cell("s-1", "red"), Cell("7"), Cell("x"), Cell("title")]]
    plain = table(COLUMNS, rows, Terminal(100))
    painted = table(COLUMNS, rows, Terminal(100, colour=True))
    assert painted.replace("\x1b[31m", "").replace("\x1b[90m", "").replace("\x1b[0m", "") == plain

"""What is logged: to structlog where it is configured, else to `logging`, and never to a stream unasked."""

import logging
import subprocess
import sys

import pytest
import structlog

from ukemi.supervisor.logs import Level, log, structured


def test_a_library_prints_nothing_unasked() -> None:
    """Not even where a program has loaded structlog, which prints until it is configured."""
    program = """
import structlog
from ukemi.supervisor.logs import log
log("ukemi", "critical", "store.lost", path="a.db")
log("ukemi.supervisor", "error", "callback.failed", exc_info=True)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, check=True, text=True, timeout=60
    )
    assert (done.stdout, done.stderr) == ("", "")


@pytest.mark.parametrize("level", ["debug", "info", "warning", "error", "critical"])
def test_logging_gets_a_line(level: Level, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "ukemi")
    log("ukemi.supervisor", level, "callback.failed", callback="told", tries=2)
    (record,) = caplog.records
    assert record.levelname == level.upper()
    assert record.getMessage() == "callback.failed callback='told' tries=2"


def test_a_level_that_is_off_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR, "ukemi")
    log("ukemi", "warning", "alert.untold", text="late")
    assert not caplog.records


def test_logging_gets_the_exception(caplog: pytest.LogCaptureFixture) -> None:
    try:
        raise ValueError("no such listener")
    except ValueError:
        log("ukemi", "error", "thread.late_outcome_lost", exc_info=True)
    (record,) = caplog.records
    assert record.exc_info is not None
    assert isinstance(record.exc_info[1], ValueError)


def test_structlog_gets_the_fields(caplog: pytest.LogCaptureFixture) -> None:
    assert structured() is None
    structlog.configure()
    try:
        with structlog.testing.capture_logs() as logged:
            log("ukemi", "warning", "alert.untold", text="late")
    finally:
        structlog.reset_defaults()
    assert logged == [{"event": "alert.untold", "log_level": "warning", "text": "late"}]
    assert not caplog.records

"""Events go to the log where somebody listens there, whenever that began."""

import logging

import pytest

from ukemi.actors.bus import Channel
from ukemi.actors.events import ModelAsked

ASKED = ModelAsked(session_id="s", attempt=1)


def test_the_log_is_asked_anew_once_its_level_has_changed(caplog: pytest.LogCaptureFixture) -> None:
    channel, logger = Channel(), logging.getLogger("ukemi")
    before = logger.level
    try:
        logger.setLevel(logging.INFO)
        channel.emit(ASKED)
        channel.emit(ASKED)
        assert not caplog.records
        logger.setLevel(logging.DEBUG)
        channel.emit(ASKED)
        assert len(caplog.records) == 1
        logging.disable(logging.CRITICAL)
        channel.emit(ASKED)
        assert len(caplog.records) == 1
        logging.disable(logging.NOTSET)
        channel.emit(ASKED)
        assert len(caplog.records) == 2
    finally:
        logging.disable(logging.NOTSET)
        logger.setLevel(before)

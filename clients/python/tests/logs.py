import logging

import pytest


def logged(
    caplog: pytest.LogCaptureFixture, level: int = logging.NOTSET
) -> list[logging.LogRecord]:
    """Return what kubeconnect itself logged, at the level or above.

    grpcio has one poller for all event loops of a process: asyncio logs during one test what
    ended after the loop of another was closed.
    """
    return [each for each in caplog.records if each.name == "kubeconnect" and each.levelno >= level]


def logged_messages(caplog: pytest.LogCaptureFixture, level: int = logging.NOTSET) -> list[str]:
    return [each.getMessage() for each in logged(caplog, level)]

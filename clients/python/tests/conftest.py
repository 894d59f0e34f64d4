import signal
from collections.abc import Iterator

import pytest

from tests.fake import FakeService, serve


@pytest.fixture(scope="session", autouse=True)
def interrupts() -> Iterator[None]:
    # A shell that starts the tests in the background makes them ignore SIGINT.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def service() -> Iterator[FakeService]:
    with serve() as service:
        yield service

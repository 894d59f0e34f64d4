import math
import signal
from collections.abc import Iterator

import pytest

from tests.fake import FakeService, serve
from tests.programs import WEB


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


@pytest.fixture
def demo(service: FakeService, monkeypatch: pytest.MonkeyPatch) -> FakeService:
    """Return a service with a pod and a log, at the address that connect() finds."""
    monkeypatch.setenv("KUBECONNECT_ADDRESS", service.address)
    monkeypatch.setattr("kubeconnect._sync._event_stream.TOLERANCE_SECONDS", math.inf)
    service.objects = [WEB]
    service.log = [b"one\ntwo\n"]
    return service

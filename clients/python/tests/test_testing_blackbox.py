"""Tests that what callers see of the fake service is what they see of the real one: the scenarios
also run against the real service, in e2e/clients.
"""

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kubeconnect.testing import FakeService

sys.path.append(str(Path(__file__).parents[3] / "e2e" / "callers" / "python"))
blackbox: Any = importlib.import_module("blackbox")
blackbox_asyncio: Any = importlib.import_module("blackbox_asyncio")


@pytest.fixture
def fake() -> Iterator[FakeService]:
    with FakeService(heartbeat=0.1) as fake:
        yield fake


@pytest.mark.parametrize(
    "scenario", blackbox.SCENARIOS + blackbox.WITH_THREADS, ids=lambda each: each.__name__
)
def test_with_threads(scenario: Any, fake: FakeService) -> None:
    blackbox.run(scenario, fake.client(), "blackbox", fake)


@pytest.mark.parametrize("scenario", blackbox.SCENARIOS, ids=lambda each: each.__name__)
def test_with_asyncio(scenario: Any, fake: FakeService) -> None:
    with blackbox_asyncio.blocking_client(fake.address) as client:
        blackbox.run(scenario, client, "blackbox", fake)

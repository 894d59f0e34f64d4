"""Tests of calls that are retried."""

import grpc
import pytest

from kubeconnect import Unavailable
from kubeconnect.aio import AsyncClient
from tests.fake import Failure, FakeService, pod

LOST = Failure(grpc.StatusCode.UNAVAILABLE, "Socket closed")


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kubeconnect._transport.retries.FIRST_DELAY_SECONDS", 0.0)


async def test_a_read_is_made_again_after_the_connection_was_lost(
    client: AsyncClient, service: FakeService
) -> None:
    service.objects = [pod("web")]
    await client.list("pods")
    for _ in range(2):
        service.refusals.append(LOST)
    assert (await client.get("pods", "web", namespace="demo")).name == "web"
    service.refusals.append(LOST)
    assert (await client.count("pods")).total == 1
    assert len(service.requests) == 6


async def test_a_service_that_was_never_reached_is_reported_at_once(
    client: AsyncClient, service: FakeService
) -> None:
    service.refusals.append(LOST)
    with pytest.raises(Unavailable, match="Socket closed"):
        await client.list("pods")
    assert len(service.requests) == 1


async def test_a_write_is_not_made_again(client: AsyncClient, service: FakeService) -> None:
    await client.list("pods")
    service.refusals.append(LOST)
    with pytest.raises(Unavailable, match="Socket closed"):
        await client.delete("pods", "web", namespace="demo")
    assert len(service.requests) == 2


async def test_a_dry_run_is_made_again(client: AsyncClient, service: FakeService) -> None:
    service.objects = [pod("web")]
    await client.list("pods")
    service.refusals.append(LOST)
    await client.delete("pods", "web", namespace="demo", dry_run=True)
    assert len(service.requests) == 3

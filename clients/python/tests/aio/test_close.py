"""Tests of closed clients."""

import pytest

from kubeconnect import Cancelled, WatchSpec
from kubeconnect.aio import AsyncClient
from tests.fake import FakeService, pod


async def test_all_calls_of_a_closed_client_raise_the_same_error(service: FakeService) -> None:
    service.objects = [pod("a"), pod("b")]
    async with AsyncClient(service.address) as client:
        pods = await client.list("pods", page_size=1)
    calls = [
        lambda: client.get("pods", "web"),
        lambda: client.list("pods"),
        lambda: client.patch("pods", "web", {}, type="merge"),
        lambda: client.resource_types(),
        lambda: client.who_am_i(),
        lambda: pods.all(),
    ]
    for call in calls:
        with pytest.raises(Cancelled, match=r"^the client is closed$"):
            await call()  # type: ignore[no-untyped-call]
    assert len(service.requests) == 1


async def test_all_streams_of_a_closed_client_raise_the_same_error(service: FakeService) -> None:
    async with AsyncClient(service.address) as client:
        pass
    for stream in (
        lambda: client.watch("pods"),
        lambda: client.watch_many({"pods": WatchSpec("pods")}),
        lambda: client.logs("web", namespace="demo"),
    ):
        with pytest.raises(Cancelled, match=r"^the client is closed$"):
            stream()
    assert service.requests == []


async def test_a_client_may_be_closed_again(service: FakeService) -> None:
    async with AsyncClient(service.address) as client:
        await client.close()

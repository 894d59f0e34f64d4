"""Tests of the indexes of lists, which differ between the two clients."""

from __future__ import annotations

import pytest

from kubeconnect import Client
from kubeconnect.aio import AsyncClient
from tests.fake import FakeService, pod

NAMES = ["a", "b", "c", "d", "e"]


@pytest.fixture(autouse=True)
def _five_pods(service: FakeService) -> None:
    service.objects = [pod(name) for name in NAMES]


@pytest.mark.parametrize(
    ("index", "name"),
    [pytest.param(2, "c", id="of the second page"), pytest.param(-1, "e", id="from the end")],
)
def test_an_index_beyond_the_first_page_fetches_all_pages_once(
    service: FakeService, index: int, name: str
) -> None:
    with Client(service.address) as client:
        pods = client.list("pods", page_size=2)
        assert pods[index].name == name
        assert [pods[index].name for index in range(len(pods))] == NAMES
        assert [pod.name for pod in pods[1:4]] == ["b", "c", "d"]
    assert [request.page_token for request in service.requests] == ["", "2", "4"]


async def test_an_index_beyond_the_first_page_needs_await(service: FakeService) -> None:
    async with AsyncClient(service.address) as client:
        pods = await client.list("pods", page_size=2)
        for wanted in (2, -1, slice(1, 4)):
            with pytest.raises(LookupError, match="not on the first page"):
                pods[wanted]
        assert (await pods.all())[-1].name == "e"


async def test_a_list_for_asyncio_needs_async_for(service: FakeService) -> None:
    async with AsyncClient(service.address) as client:
        pods = await client.list("pods")
        with pytest.raises(TypeError, match="not iterable"):
            list(pods)  # type: ignore[call-overload]

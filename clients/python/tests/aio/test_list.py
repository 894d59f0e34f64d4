import pytest

from kubeconnect import Expired, Freshness
from kubeconnect.aio import AsyncClient, AsyncObjectList
from kubeconnect.v1 import resource_service_pb2 as pb
from kubeconnect.v1.object_pb2 import ENCODING_JSON
from tests.fake import SNAPSHOT, FakeService, pod

NAMES = ["a", "b", "c", "d", "e"]


@pytest.fixture(autouse=True)
def _five_pods(service: FakeService) -> None:
    service.objects = [pod(name) for name in NAMES]


async def names(objects: AsyncObjectList) -> list[str]:
    return [pod.name async for pod in objects]


async def test_iterates_over_all_pages(client: AsyncClient) -> None:
    assert await names(await client.list("pods", page_size=2)) == NAMES


async def test_knows_the_whole_from_the_first_page(
    client: AsyncClient, service: FakeService
) -> None:
    pods = await client.list("pods", page_size=2)
    assert (pods.resource_version, pods.kind.kind, pods.total) == (SNAPSHOT, "Pod", 5)
    assert len(service.requests) == 1


async def test_tells_how_current_it_is(client: AsyncClient, service: FakeService) -> None:
    service.freshness = pb.Freshness(stale=True)
    assert (await client.list("pods")).freshness == Freshness(stale=True, last_contact=None)


async def test_asks_for_the_same_selection_on_each_page(
    client: AsyncClient, service: FakeService
) -> None:
    await names(
        await client.list(
            "pods",
            namespace="demo",
            label_selector="app=web",
            field_selector="x=y",
            min_resource_version="5",
            page_size=2,
        )
    )
    assert [request.page_token for request in service.requests] == ["", "2", "4"]
    for request in service.requests:
        request.page_token = ""
        assert request == pb.ListRequest(
            resource="pods",
            namespace="demo",
            label_selector="app=web",
            field_selector="x=y",
            min_resource_version="5",
            page_size=2,
            encoding=ENCODING_JSON,
        )


async def test_can_be_iterated_again(client: AsyncClient) -> None:
    pods = await client.list("pods", page_size=2)
    assert await names(pods) == await names(pods) == NAMES


async def test_is_empty_where_nothing_matches(client: AsyncClient, service: FakeService) -> None:
    service.objects = []
    pods = await client.list("pods")
    assert (pods.total, await names(pods)) == (0, [])


async def test_raises_when_the_next_page_has_expired(
    client: AsyncClient, service: FakeService
) -> None:
    service.expired = True
    pods = await client.list("pods", page_size=2)
    with pytest.raises(Expired):
        await names(pods)


async def test_takes_objects_larger_than_grpcs_own_limit(
    client: AsyncClient, service: FakeService
) -> None:
    service.objects = [pod("big", data="x" * 5_000_000)]
    assert [len(pod["data"]) async for pod in await client.list("pods")] == [5_000_000]

import grpc
import pytest

from kubeconnect import Consistency, Expired, Freshness, Source, owned_by
from kubeconnect.aio import AsyncClient, AsyncObjectList
from kubeconnect.v1 import consistency_pb2, read_pb2, relation_pb2
from kubeconnect.v1.object_pb2 import ENCODING_JSON
from tests.fake import SNAPSHOT, Failure, FakeService, pod
from tests.logs import logged_messages

NAMES = ["a", "b", "c", "d", "e"]


@pytest.fixture(autouse=True)
def _five_pods(service: FakeService) -> None:
    service.objects = [pod(name) for name in NAMES]


async def names(objects: AsyncObjectList) -> list[str]:
    return [pod.name async for pod in objects]


async def test_iterates_over_all_pages(client: AsyncClient) -> None:
    assert await names(await client.list("pods", page_size=2)) == NAMES


async def test_has_the_total_after_the_first_page(
    client: AsyncClient, service: FakeService
) -> None:
    pods = await client.list("pods", page_size=2)
    assert (pods.resource_version, pods.resource.kind, pods.total) == (SNAPSHOT, "Pod", 5)
    assert len(service.requests) == 1


async def test_reports_its_freshness(client: AsyncClient, service: FakeService) -> None:
    service.freshness = consistency_pb2.Freshness(stale=True)
    assert (await client.list("pods")).freshness == Freshness(stale=True, last_contact_time=None)


async def test_reports_source_and_warnings(client: AsyncClient) -> None:
    pods = await client.list("pods", filter="object.spec.replicas > 3")
    assert (pods.source, pods.warnings) == (Source.CACHE, ("2 left out",))
    pods = await client.list("pods", consistency=Consistency.LATEST)
    assert (pods.source, pods.warnings) == (Source.API_SERVER, ())


async def test_reports_its_namespaces(client: AsyncClient, service: FakeService) -> None:
    assert (await client.list("pods")).namespaces == ()
    service.namespaces = ["demo", "web"]
    assert (await client.list("pods")).namespaces == ("demo", "web")


async def test_requests_the_same_selection_for_each_page(
    client: AsyncClient, service: FakeService
) -> None:
    await names(
        await client.list(
            "pods",
            namespace="demo",
            label_selector="app=web",
            field_selector="x=y",
            filter="object.spec.replicas > 3",
            related=owned_by("deployments", "web", namespace="demo", uid="u1", transitive=True),
            fields=["metadata.name"],
            metadata_only=True,
            order_by="metadata.name desc",
            min_resource_version="5",
            consistency=Consistency.LATEST,
            require_all_namespaces=True,
            page_size=2,
        )
    )
    assert [request.page_token for request in service.requests] == ["", "2", "4"]
    for request in service.requests:
        request.page_token = ""
        assert request == read_pb2.ListRequest(
            resource="pods",
            namespace="demo",
            label_selector="app=web",
            field_selector="x=y",
            filter="object.spec.replicas > 3",
            related=relation_pb2.Relation(
                type=relation_pb2.RELATION_TYPE_OWNED_BY,
                resource="deployments",
                namespace="demo",
                name="web",
                uid="u1",
                transitive=True,
            ),
            fields=["metadata.name"],
            metadata_only=True,
            order_by="metadata.name desc",
            min_resource_version="5",
            consistency=consistency_pb2.CONSISTENCY_LATEST,
            require_all_namespaces=True,
            page_size=2,
            encoding=ENCODING_JSON,
        )


async def test_can_be_iterated_twice(client: AsyncClient) -> None:
    pods = await client.list("pods", page_size=2)
    assert await names(pods) == await names(pods) == NAMES


async def test_is_empty_if_nothing_matches(client: AsyncClient, service: FakeService) -> None:
    service.objects = []
    pods = await client.list("pods")
    assert (pods.total, await names(pods)) == (0, [])


async def test_raises_when_the_next_page_has_expired(
    client: AsyncClient, service: FakeService
) -> None:
    service.expired = True
    pods = await client.list("pods", page_size=2)
    service.request_id = "42"
    with pytest.raises(Expired, match="expired after 2 objects: list again") as caught:
        await names(pods)
    assert caught.value.request_id == "42"


async def test_restarts_if_the_service_does_not_read_its_page_token(
    client: AsyncClient, service: FakeService
) -> None:
    """An earlier version of the service rejects the tokens of a later one."""
    pods = await client.list("pods", page_size=2)
    service.refusals.append(Failure(grpc.StatusCode.INVALID_ARGUMENT, "page_token is damaged"))
    assert [pod.name for pod in await pods.all()] == NAMES
    assert [request.page_token for request in service.requests] == ["", "2", "", "2", "4"]


async def test_raises_expired_if_objects_of_a_page_token_that_is_not_read_were_returned(
    client: AsyncClient, service: FakeService
) -> None:
    pods = await client.list("pods", page_size=2)
    service.refusals.append(Failure(grpc.StatusCode.INVALID_ARGUMENT, "page_token is damaged"))
    with pytest.raises(Expired, match="expired after 2 objects: page_token is damaged"):
        await names(pods)


@pytest.mark.parametrize(
    ("written", "suggested"),
    [("-metadata.name", "metadata.name desc"), ("a, +b", "b")],
)
async def test_the_notation_of_other_apis_for_orders_is_refused(
    client: AsyncClient, service: FakeService, written: str, suggested: str
) -> None:
    with pytest.raises(ValueError, match=f'use "{suggested}" in place of'):
        await client.list("pods", order_by=written)
    with pytest.raises(ValueError, match=f'use "{suggested}" in place of'):
        client.live_page("pods", order_by=written)
    assert service.requests == []


async def test_a_filter_that_leaves_out_all_objects_says_why(
    client: AsyncClient, service: FakeService, caplog: pytest.LogCaptureFixture
) -> None:
    await client.list("pods", filter="object.spec.typo == 1")
    await client.count("pods", filter="object.spec.typo == 1")
    assert logged_messages(caplog) == []
    service.objects = []
    await client.list("pods", filter="object.spec.typo == 1")
    await client.count("pods", filter="object.spec.typo == 1")
    await client.list("pods")
    assert logged_messages(caplog) == ["no pods match: 2 left out"] * 2


async def test_returns_all_objects_at_once(client: AsyncClient) -> None:
    pods = await client.list("pods", page_size=2)
    assert [pod.name for pod in await pods.all()] == NAMES


async def test_restarts_if_no_object_was_returned(
    client: AsyncClient, service: FakeService
) -> None:
    pods = await client.list("pods", page_size=2)
    service.expiring = 2
    assert [pod.name for pod in await pods.all()] == NAMES
    assert [request.page_token for request in service.requests] == ["", "2", "", "2", "", "2", "4"]


async def test_restarts_at_most_twice(client: AsyncClient, service: FakeService) -> None:
    service.expired = True
    pods = await client.list("pods", page_size=2)
    with pytest.raises(Expired):
        await pods.all()
    assert len(service.requests) == 6


async def test_has_a_length_and_is_false_when_empty(
    client: AsyncClient, service: FakeService
) -> None:
    pods = await client.list("pods", page_size=2)
    assert len(pods) == 5
    assert pods
    service.objects = []
    assert not await client.list("pods")


async def test_the_first_page_has_indexes(client: AsyncClient, service: FakeService) -> None:
    pods = await client.list("pods", page_size=2)
    assert (pods[0].name, pods[1].name, pods[-4].name) == ("a", "b", "b")
    assert [pod.name for pod in pods[:2]] == ["a", "b"]
    assert pods[5:] == []
    assert pods[0] is pods[0]
    assert len(service.requests) == 1
    with pytest.raises(IndexError):
        pods[5]


async def test_shows_its_size(client: AsyncClient) -> None:
    pods = await client.list("pods", page_size=2)
    assert repr(pods) == f"<{type(pods).__name__}: 5 pods at version {SNAPSHOT}>"


async def test_is_shown_in_notebooks(client: AsyncClient) -> None:
    html = (await client.list("pods", page_size=2))._repr_html_()
    assert f"5 pods at version {SNAPSHOT}, of which 2 are shown" in html
    assert "<tr><td>demo</td><td>a</td></tr>" in html


async def test_accepts_objects_above_the_default_limit_of_grpc(
    client: AsyncClient, service: FakeService
) -> None:
    service.objects = [pod("big", data="x" * 5_000_000)]
    assert [len(pod["data"]) async for pod in await client.list("pods")] == [5_000_000]

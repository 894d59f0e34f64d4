import pytest

from kubeconnect import Consistency, Freshness, ObjectGroup, Source, owner_of
from kubeconnect.aio import AsyncClient
from kubeconnect.v1 import consistency_pb2, read_pb2, relation_pb2
from tests.fake import SNAPSHOT, FakeService, pod


@pytest.fixture(autouse=True)
def _three_pods(service: FakeService) -> None:
    service.objects = [pod("a1"), pod("b1"), pod("b2")]


async def test_returns_the_total(client: AsyncClient) -> None:
    count = await client.count("pods")
    assert (count.total, count.groups, count.resource.kind) == (3, (), "Pod")
    assert (count.resource_version, count.source) == (SNAPSHOT, Source.CACHE)
    assert count.freshness == Freshness(stale=False, last_contact_time=None)


async def test_returns_the_groups(client: AsyncClient) -> None:
    count = await client.count("pods", group_by=["spec.nodeName"], max_groups=1)
    assert count.groups == (ObjectGroup(("b",), 2),)
    assert count.remaining_group_count == 1


async def test_returns_warnings(client: AsyncClient) -> None:
    count = await client.count("pods", filter="object.spec.replicas > 3")
    assert count.warnings == ("2 left out",)


async def test_reports_the_counted_namespaces(client: AsyncClient, service: FakeService) -> None:
    assert (await client.count("pods")).namespaces == ()
    service.namespaces = ["demo", "web"]
    assert (await client.count("pods")).namespaces == ("demo", "web")


async def test_sends_all_arguments(client: AsyncClient, service: FakeService) -> None:
    await client.count(
        "pods",
        namespace="demo",
        label_selector="app=web",
        field_selector="x=y",
        filter="object.spec.replicas > 3",
        related=owner_of("pods", "web", namespace="demo"),
        group_by=["spec.nodeName", "status.phase"],
        max_groups=5,
        min_resource_version="5",
        consistency=Consistency.LATEST,
        require_all_namespaces=True,
    )
    assert service.requests == [
        read_pb2.CountRequest(
            resource="pods",
            namespace="demo",
            label_selector="app=web",
            field_selector="x=y",
            filter="object.spec.replicas > 3",
            related=relation_pb2.Relation(
                type=relation_pb2.RELATION_TYPE_OWNER_OF,
                resource="pods",
                namespace="demo",
                name="web",
            ),
            group_by=["spec.nodeName", "status.phase"],
            max_groups=5,
            min_resource_version="5",
            consistency=consistency_pb2.CONSISTENCY_LATEST,
            require_all_namespaces=True,
        )
    ]


async def test_rejects_a_single_string_of_paths(client: AsyncClient) -> None:
    with pytest.raises(TypeError, match=r"such as \['spec.nodeName'\]"):
        await client.count("pods", group_by="spec.nodeName")

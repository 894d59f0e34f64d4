from decimal import Decimal

import pytest

from kubeconnect import (
    Average,
    Consistency,
    Freshness,
    Internal,
    Min,
    ObjectGroup,
    Source,
    Sum,
    owner_of,
)
from kubeconnect.aio import AsyncClient
from kubeconnect.v1 import consistency_pb2, read_pb2, relation_pb2
from tests.fake import SNAPSHOT, FakeService, pod
from tests.live import total

CPU = "spec.containers[*].resources.requests.cpu"


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


async def test_returns_aggregates(client: AsyncClient, service: FakeService) -> None:
    service.aggregates = [total(0.75, "0.75"), total(1, "1")]
    aggregates = {"cpu": Sum(CPU), "mean": Average(CPU)}
    count = await client.count("pods", group_by=["spec.nodeName"], aggregates=aggregates)
    assert count.aggregates["cpu"].exact == Decimal("0.75")
    assert count.groups[0].aggregates["mean"].value == 1
    assert [(each.function, each.path) for each in service.requests[0].aggregates] == [
        (read_pb2.AGGREGATE_FUNCTION_SUM, CPU),
        (read_pb2.AGGREGATE_FUNCTION_AVERAGE, CPU),
    ]


async def test_a_service_without_aggregates_is_reported(client: AsyncClient) -> None:
    with pytest.raises(Internal, match="0 aggregates for 1 that were sent"):
        await client.count("pods", aggregates={"first": Min("metadata.name")})


async def test_converts_groups_to_records(client: AsyncClient, service: FakeService) -> None:
    service.aggregates = [total(0.75, "0.75"), read_pb2.AggregateResult()]
    aggregates = {"cpu": Sum(CPU), "first": Min("metadata.name")}
    count = await client.count("pods", group_by=["spec.nodeName"], aggregates=aggregates)
    assert count.to_records() == [
        {"spec.nodeName": "b", "count": 2, "cpu": 0.75, "first": None},
        {"spec.nodeName": "a", "count": 1, "cpu": 0.75, "first": None},
    ]
    assert count.to_pandas()["count"].sum() == 3
    assert count.to_polars().columns == count.to_arrow().column_names
    total_only = await client.count("pods", aggregates=aggregates)
    assert total_only.to_records() == [{"count": 3, "cpu": 0.75, "first": None}]


async def test_two_columns_of_records_have_different_names(
    client: AsyncClient, service: FakeService
) -> None:
    service.aggregates = [total(1, "1")]
    count = await client.count("pods", aggregates={"count": Sum(CPU)})
    with pytest.raises(ValueError, match="two columns have the name 'count'"):
        count.to_records()


async def test_rejects_what_is_no_aggregate(client: AsyncClient) -> None:
    with pytest.raises(TypeError, match=r"the aggregate cpu is a Sum, .* not 'spec.cpu'"):
        await client.count("pods", aggregates={"cpu": "spec.cpu"})  # type: ignore[dict-item]
    with pytest.raises(TypeError, match="path has the wrong type int"):
        await client.count("pods", aggregates={"cpu": Sum(3)})  # type: ignore[arg-type]


async def test_rejects_a_single_string_of_paths(client: AsyncClient) -> None:
    with pytest.raises(TypeError, match=r"such as \['spec.nodeName'\]"):
        await client.count("pods", group_by="spec.nodeName")

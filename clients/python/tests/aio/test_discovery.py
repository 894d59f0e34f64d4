from kubeconnect import CacheState, FailedGroupVersion, Freshness, Resource, ResourceType
from kubeconnect.aio import AsyncClient
from kubeconnect.v1 import discovery_service_pb2 as pb
from tests.fake import SNAPSHOT, FakeService


async def test_returns_the_resources_that_the_cluster_serves(client: AsyncClient) -> None:
    result = await client.resource_types()
    pods, nodes, _ = result.types
    assert pods == ResourceType(
        resource=Resource("", "v1", "Pod", "pods", namespaced=True),
        versions=("v1",),
        singular="pod",
        short_names=("po",),
        categories=("all",),
        verbs=("get", "list", "watch"),
        subresources=("log", "status"),
        cache=CacheState(True, True, 3, 4096, SNAPSHOT, Freshness(False, None)),
    )
    assert (nodes.singular, nodes.cache) == ("node", None)
    assert result.failed_group_versions == (FailedGroupVersion("metrics.k8s.io", "v1", "down"),)


async def test_requests_a_group_and_a_category(client: AsyncClient, service: FakeService) -> None:
    await client.resource_types(group="apps", category="all")
    assert service.requests == [pb.ListResourceTypesRequest(group="apps", category="all")]


async def test_returns_the_schema_of_a_kind(client: AsyncClient, service: FakeService) -> None:
    result = await client.schema("po")
    assert service.requests == [pb.GetSchemaRequest(resource="po")]
    assert result.resource.kind == "Pod"
    assert result.schema == {"type": "object", "properties": {"spec": {"maximum": 7}}}
    assert isinstance(result.schema["properties"]["spec"]["maximum"], int)

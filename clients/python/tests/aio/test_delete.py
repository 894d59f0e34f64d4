from kubeconnect import PropagationPolicy
from kubeconnect.aio import AsyncClient
from kubeconnect.v1 import write_pb2 as pb
from kubeconnect.v1.object_pb2 import ENCODING_JSON
from tests.fake import FakeService


async def test_returns_the_remaining_object(client: AsyncClient) -> None:
    result = await client.delete("pods", "web", namespace="demo")
    assert result.object
    assert (result.object.name, result.object.resource.kind) == ("web", "Pod")
    assert (result.warnings, result.resource_version) == (("old",), "9")


async def test_returns_no_object_if_none_remains(client: AsyncClient, service: FakeService) -> None:
    service.left = False
    result = await client.delete("pods", "web", namespace="demo")
    assert result.object is None


async def test_sends_all_arguments(client: AsyncClient, service: FakeService) -> None:
    await client.delete(
        "pods",
        "web",
        namespace="demo",
        uid="u1",
        resource_version="7",
        propagation_policy=PropagationPolicy.FOREGROUND,
        grace_period_seconds=0,
        dry_run=True,
    )
    (request,) = service.requests
    assert request.HasField("grace_period_seconds")
    assert request == pb.DeleteRequest(
        resource="pods",
        name="web",
        namespace="demo",
        preconditions=pb.Preconditions(uid="u1", resource_version="7"),
        propagation_policy=pb.PROPAGATION_POLICY_FOREGROUND,
        grace_period_seconds=0,
        dry_run=True,
        encoding=ENCODING_JSON,
    )


async def test_omits_what_is_not_given(client: AsyncClient, service: FakeService) -> None:
    await client.delete("pods", "web")
    await client.delete_collection("pods")
    for request in service.requests:
        assert request.propagation_policy == pb.PROPAGATION_POLICY_UNSPECIFIED
        assert not request.HasField("grace_period_seconds")


async def test_collection_returns_the_number_of_deleted_objects(client: AsyncClient) -> None:
    result = await client.delete_collection("pods", namespace="demo")
    assert (result.deleted_count, result.warnings, result.resource_version) == (3, ("old",), "9")


async def test_collection_sends_all_arguments(client: AsyncClient, service: FakeService) -> None:
    await client.delete_collection(
        "pods",
        namespace="demo",
        label_selector="app=web",
        field_selector="status.phase=Failed",
        propagation_policy=PropagationPolicy.ORPHAN,
        grace_period_seconds=5,
        dry_run=True,
    )
    assert service.requests == [
        pb.DeleteCollectionRequest(
            resource="pods",
            namespace="demo",
            label_selector="app=web",
            field_selector="status.phase=Failed",
            propagation_policy=pb.PROPAGATION_POLICY_ORPHAN,
            grace_period_seconds=5,
            dry_run=True,
        )
    ]

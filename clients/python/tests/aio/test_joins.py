import pytest

from kubeconnect import Join, JoinType
from kubeconnect.aio import AsyncClient
from kubeconnect.k8s.core.v1 import Pod
from kubeconnect.v1 import join_pb2
from tests.fake import FakeService, pod

NODE = Join("named_by", "nodes", path="spec.nodeName", fields=["metadata.labels"])


async def test_requests_the_joins(client: AsyncClient, service: FakeService) -> None:
    joins = {
        "node": NODE,
        "ready": Join(JoinType.SELECTED_BY, "pods", filter="object.ready", limit=3),
    }
    await client.list("deployments", joins=joins)
    assert list(service.requests[0].joins) == [
        join_pb2.Join(
            name="node",
            type=join_pb2.JOIN_TYPE_NAMED_BY,
            resource="nodes",
            path="spec.nodeName",
            fields=["metadata.labels"],
        ),
        join_pb2.Join(
            name="ready",
            type=join_pb2.JOIN_TYPE_SELECTED_BY,
            resource="pods",
            filter="object.ready",
            limit=3,
        ),
    ]


async def test_objects_have_their_related_objects(
    client: AsyncClient, service: FakeService
) -> None:
    web = pod("web")
    web.joined.add(name="node", count=1, objects=[pod("n1", namespace="", labels={"a": "b"})])
    web.joined.add(name="claims", not_permitted=True)
    service.objects = [web, pod("other")]
    listed = await client.list("pods", joins={"node": NODE})
    first, second = await listed.all()
    node = first.joined["node"].first
    assert node is not None
    assert (node.name, node.namespace, node["labels"]) == ("n1", None, {"a": "b"})
    assert (first.joined["node"].count, first.joined["node"].not_permitted) == (1, False)
    claims = first.joined["claims"]
    assert (claims.count, claims.first, claims.not_permitted) == (0, None, True)
    assert second.joined == {}


async def test_the_warnings_of_all_fetched_pages_are_returned(
    client: AsyncClient, service: FakeService
) -> None:
    service.objects = [pod("a"), pod("b"), pod("c")]
    listed = await client.list("pods", page_size=1, filter="object.spec.replicas > 3")
    await listed.all()
    assert listed.warnings == ("2 left out",)
    service.page_warnings = ["n1 left out", "n2 left out", "n1 left out"]
    listed = await client.list("pods", page_size=1, joins={"node": NODE})
    assert list(listed.warnings) == ["n1 left out"]
    await listed.all()
    assert list(listed.warnings) == ["n1 left out", "n2 left out"]


async def test_rejects_what_is_no_join(client: AsyncClient) -> None:
    with pytest.raises(TypeError, match=r"joins must be a mapping with a name for each"):
        await client.list("pods", joins=[NODE])  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="the join node is a Join, not 'nodes'"):
        await client.list("pods", joins={"node": "nodes"})  # type: ignore[dict-item]
    with pytest.raises(ValueError, match='use one of "named_by"'):
        await client.list("pods", joins={"node": Join("node", "nodes")})  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"paths must be a list of str"):
        await client.list("pods", joins={"node": Join("names", "pods", fields="spec")})
    with pytest.raises(ValueError, match="joins need a resource by its name"):
        await client.list(Pod, joins={"node": NODE})  # type: ignore[call-overload]

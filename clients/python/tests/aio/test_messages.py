"""Tests of the calls that send and return messages of kubeconnect.k8s."""

import json

import pytest
from typing_extensions import assert_type

from kubeconnect import (
    CreateResult,
    Event,
    EventType,
    NotFound,
    Object,
    PatchResult,
    Status,
    StreamEvent,
    UnreadableObject,
    UpdateResult,
)
from kubeconnect.aio import AsyncClient, AsyncObjectList, AsyncWatch
from kubeconnect.k8s.apps.v1 import Deployment
from kubeconnect.k8s.core.v1 import Container, Pod, PodSpec
from kubeconnect.k8s.meta.v1 import ObjectMeta
from kubeconnect.v1 import object_pb2, read_pb2, watch_pb2, write_pb2
from kubeconnect.v1.object_pb2 import ENCODING_PROTOBUF
from tests.fake import FakeService, batch, event, packed, pod

WEB = Pod(
    metadata=ObjectMeta(namespace="demo", name="web", uid="uid-web", resourceVersion="7"),
    spec=PodSpec(nodeName="n1"),
)
RESET = event(watch_pb2.EVENT_TYPE_RESET, None, "")
SYNCED = event(watch_pb2.EVENT_TYPE_SYNCED, None, "9")
UNREADABLE = object_pb2.Object(
    namespace="demo", name="web", uid="uid-web", error=Status(message="too large")
)


async def test_get_returns_a_message(client: AsyncClient, service: FakeService) -> None:
    service.objects = [packed(WEB)]
    web = await client.get(Pod, "web", namespace="demo", fields=["spec"])
    assert_type(web, Pod)
    assert web == WEB
    assert service.requests == [
        read_pb2.GetRequest(
            resource="Pod.v1.",
            namespace="demo",
            name="web",
            fields=["spec"],
            consistency=service.requests[0].consistency,
            encoding=ENCODING_PROTOBUF,
        )
    ]


async def test_get_raises_for_an_object_that_cannot_be_read(
    client: AsyncClient, service: FakeService
) -> None:
    service.objects = [UNREADABLE]
    with pytest.raises(UnreadableObject, match="too large"):
        await client.get(Pod, "web", namespace="demo")


async def test_get_raises_for_bytes_of_no_message(
    client: AsyncClient, service: FakeService
) -> None:
    service.objects = [object_pb2.Object(namespace="demo", name="web", protobuf=b"\xff")]
    with pytest.raises(UnreadableObject, match=r"web is not a valid k8s\.io\.api\.core\.v1\.Pod"):
        await client.get(Pod, "web", namespace="demo")


async def test_get_raises_for_json(client: AsyncClient, service: FakeService) -> None:
    service.objects = [object_pb2.Object(namespace="demo", name="web", json=b"{}")]
    service.encodes = False
    with pytest.raises(UnreadableObject, match="web was sent as json, not as protobuf"):
        await client.get(Pod, "web", namespace="demo")


async def test_get_raises_for_another_message(client: AsyncClient, service: FakeService) -> None:
    service.objects = [packed(WEB)]
    service.protobuf_type = "k8s.io.api.core.v1.Pod"
    assert await client.get(Pod, "web", namespace="demo") == WEB
    with pytest.raises(UnreadableObject, match=r"sent as k8s\.io\.api\.core\.v1\.Pod, not as"):
        await client.get(Deployment, "web", namespace="demo")


async def test_names_the_version_of_the_message(client: AsyncClient, service: FakeService) -> None:
    with pytest.raises(NotFound):
        await client.get(Deployment, "web", namespace="demo")
    assert service.requests[0].resource == "Deployment.v1.apps"


async def test_rejects_messages_that_are_not_kinds(client: AsyncClient) -> None:
    with pytest.raises(TypeError, match="PodSpec is not a kind"):
        await client.get(PodSpec, "web")  # type: ignore[type-var]
    with pytest.raises(TypeError, match="PodSpec is not a kind"):
        await client.create(PodSpec())  # type: ignore[call-overload]


async def test_list_returns_messages(client: AsyncClient, service: FakeService) -> None:
    service.objects = [packed(WEB), pod("api", spec={"nodeName": "n2"})]
    pods = await client.list(Pod, namespace="demo", page_size=1)
    assert_type(pods, AsyncObjectList[Pod])
    assert [each.spec.nodeName async for each in pods] == ["n1", "n2"]
    assert await pods.all() == [each async for each in pods]
    assert pods[0] == WEB
    assert (len(pods), pods.resource_version) == (2, "1000")
    assert "web" in pods._repr_html_()
    assert [each.resource for each in service.requests] == ["Pod.v1."] * len(service.requests)


async def test_a_list_raises_at_an_object_that_cannot_be_read(
    client: AsyncClient, service: FakeService
) -> None:
    service.objects = [packed(WEB), UNREADABLE]
    pods = aiter(await client.list(Pod))
    assert await anext(pods) == WEB
    with pytest.raises(UnreadableObject, match="too large"):
        await anext(pods)


async def test_watch_returns_events_with_messages(
    client: AsyncClient, service: FakeService
) -> None:
    service.play(
        batch("t9", RESET, event(watch_pb2.EVENT_TYPE_ADDED, packed(WEB), "7"), SYNCED, kind=True)
    )
    names: dict[str, str] = {}
    async with client.watch(Pod, namespace="demo") as events:
        assert_type(events, AsyncWatch[Pod])
        async for each in events:
            assert_type(each, Event[Pod])
            if each.type is EventType.ADDED:
                assert_type(each.object, Pod)
                names[each.object.metadata.name] = each.object.spec.nodeName
            elif each.type is EventType.SYNCED:
                assert_type(each, StreamEvent)
                break
    assert names == {"web": "n1"}
    assert (service.requests[0].resource, service.requests[0].encoding) == ("Pod.v1.", 3)


async def test_a_deletion_without_content_has_the_identity(
    client: AsyncClient, service: FakeService
) -> None:
    gone = object_pb2.Object(namespace="demo", name="web", uid="uid-web", resource_version="7")
    service.play(
        [
            event(watch_pb2.EVENT_TYPE_DELETED, gone, "8"),
            event(watch_pb2.EVENT_TYPE_DELETED, UNREADABLE, "8"),
        ]
    )
    async with client.watch(Pod) as events:
        first, second = await anext(events), await anext(events)
    assert first.object == Pod(metadata=WEB.metadata)
    assert second.object is not None
    assert second.object.metadata.uid == "uid-web"


async def test_a_watch_raises_at_an_object_that_cannot_be_read_and_can_be_continued(
    client: AsyncClient, service: FakeService
) -> None:
    service.play(
        batch(
            "t9",
            event(watch_pb2.EVENT_TYPE_ADDED, UNREADABLE, "7"),
            event(watch_pb2.EVENT_TYPE_MODIFIED, packed(WEB), "8"),
        )
    )
    async with client.watch(Pod) as events:
        with pytest.raises(UnreadableObject, match="too large"):
            await anext(events)
        assert (await anext(events)).object == WEB
        assert events.resume_token == "t9"
    assert len(service.requests) == 1


async def test_create_sends_and_returns_a_message(
    client: AsyncClient, service: FakeService
) -> None:
    new = Pod(metadata=ObjectMeta(name="web"), spec=PodSpec(containers=[Container(name="c")]))
    result = await client.create(new, namespace="demo", dry_run=True, field_manager="me")
    assert_type(result, CreateResult[Pod])
    assert (result.object.metadata.name, result.warnings) == ("web", ("old",))
    assert service.requests == [
        write_pb2.CreateRequest(
            resource="Pod.v1.",
            namespace="demo",
            protobuf=new.SerializeToString(),
            dry_run=True,
            field_manager="me",
            field_validation=service.requests[0].field_validation,
            encoding=ENCODING_PROTOBUF,
        )
    ]


async def test_update_sends_and_returns_a_message(
    client: AsyncClient, service: FakeService
) -> None:
    result = await client.update(WEB, subresource="status", uid="u")
    assert_type(result, UpdateResult[Pod])
    assert (result.object.metadata.resourceVersion, result.created) == ("8", True)
    assert service.requests == [
        write_pb2.UpdateRequest(
            resource="Pod.v1.",
            subresource="status",
            protobuf=WEB.SerializeToString(),
            preconditions=write_pb2.Preconditions(uid="u"),
            field_validation=service.requests[0].field_validation,
            encoding=ENCODING_PROTOBUF,
        )
    ]


async def test_a_write_needs_an_object(client: AsyncClient) -> None:
    with pytest.raises(TypeError, match="the object to write is missing"):
        await client.create("pods")  # type: ignore[call-overload]


async def test_objects_are_the_default(client: AsyncClient, service: FakeService) -> None:
    service.objects = [pod("web")]
    assert_type(await client.list("pods"), AsyncObjectList[Object])
    assert_type(client.watch("pods"), AsyncWatch[Object])
    assert_type(await client.create("pods", {}), CreateResult[Object])


async def test_patch_returns_a_message(client: AsyncClient, service: FakeService) -> None:
    result = await client.patch(Pod, "web", {"spec": {}}, type="merge", namespace="demo")
    assert_type(result, PatchResult[Pod])
    assert result.object.metadata.name == "web"
    (request,) = service.requests
    assert (request.resource, request.encoding) == ("Pod.v1.", ENCODING_PROTOBUF)


async def test_apply_sends_the_fields_that_are_set(
    client: AsyncClient, service: FakeService
) -> None:
    web = Pod(metadata=ObjectMeta(name="web", namespace="demo"), spec=PodSpec(nodeName="n1"))
    result = await client.apply(web, field_manager="me", force=True)
    assert_type(result, PatchResult[Pod])
    assert result.created
    (request,) = service.requests
    assert (request.resource, request.namespace, request.name) == ("Pod.v1.", "demo", "web")
    assert (request.type, request.encoding) == (write_pb2.PATCH_TYPE_APPLY, ENCODING_PROTOBUF)
    assert json.loads(request.data) == {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web", "namespace": "demo"},
        "spec": {"nodeName": "n1"},
    }


async def test_apply_sends_fields_that_are_set_to_zero(
    client: AsyncClient, service: FakeService
) -> None:
    spec = PodSpec(hostNetwork=False, priority=0, containers=[Container(name="main", image="")])
    spec.nodeSelector.clear()
    await client.apply(Pod(metadata=ObjectMeta(name="web"), spec=spec), namespace="demo")
    assert json.loads(service.requests[-1].data)["spec"] == {
        "containers": [{"name": "main", "image": ""}],
        "hostNetwork": False,
        "priority": 0,
    }


async def test_apply_rejects_messages_that_are_not_kinds(client: AsyncClient) -> None:
    with pytest.raises(TypeError, match="PodSpec is not a kind"):
        await client.apply(PodSpec())  # type: ignore[call-overload]


async def test_a_class_names_the_resource_of_other_calls(
    client: AsyncClient, service: FakeService
) -> None:
    await client.count(Pod)
    await client.table(Pod)
    await client.delete(Pod, "web", namespace="demo")
    await client.delete_collection(Pod, namespace="demo")
    assert [request.resource for request in service.requests] == ["Pod.v1."] * 4

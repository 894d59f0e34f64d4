"""Tests of stores, shared streams and waits with messages of kubeconnect.k8s."""

import logging
from pathlib import Path
from typing import Any

import pytest
from typing_extensions import assert_type

from kubeconnect import Event, EventType, Object, UnreadableObject, WatchSpec
from kubeconnect._store_indexes import IndexBy
from kubeconnect.aio import AsyncClient, AsyncStore, AsyncStores, AsyncWatchMany
from kubeconnect.k8s.core.v1 import Container, Node, Pod, PodCondition, PodSpec, PodStatus
from kubeconnect.k8s.meta.v1 import ObjectMeta, Time
from kubeconnect.v1 import object_pb2, watch_pb2
from kubeconnect.v1.object_pb2 import ENCODING_JSON, ENCODING_PROTOBUF
from tests.aio.waiting import eventually
from tests.fake import FakeService, batch, event, of_watch, packed, pod

RESET = event(watch_pb2.EVENT_TYPE_RESET, None, "")


def web(version: int = 7, *, node: str = "n1", uid: str = "u1", **metadata: Any) -> Pod:
    return Pod(
        metadata=ObjectMeta(
            namespace="demo", name="web", uid=uid, resourceVersion=str(version), **metadata
        ),
        spec=PodSpec(nodeName=node, containers=[Container(name="c", image="example.com/web")]),
    )


def added(message: Pod) -> watch_pb2.Event:
    version = message.metadata.resourceVersion
    return event(watch_pb2.EVENT_TYPE_ADDED, packed(message), version)


def modified(message: Pod) -> watch_pb2.Event:
    version = message.metadata.resourceVersion
    return event(watch_pb2.EVENT_TYPE_MODIFIED, packed(message), version)


def unreadable(type: watch_pb2.EventType, version: int) -> watch_pb2.Event:
    subject = object_pb2.Object(
        namespace="demo", name="web", uid="u1", resource_version=str(version), protobuf=b"\xff"
    )
    return event(type, subject, str(version))


def synced(version: int = 9) -> watch_pb2.Event:
    return event(watch_pb2.EVENT_TYPE_SYNCED, None, str(version))


async def test_a_store_has_messages(client: AsyncClient, service: FakeService) -> None:
    service.play([RESET, added(web()), synced()])
    async with client.store(Pod, namespace="demo") as pods:
        assert_type(pods, AsyncStore[Pod])
        await pods.wait_synced()
        assert_type(pods.get("demo", "web"), Pod | None)
        assert pods.get("demo", "web") == web()
        assert pods.get("demo", "api") is None
        assert_type(pods.list(), list[Pod])
        assert pods.list() == pods.list("demo") == [*pods] == [web()]
        assert "Pod: 1 objects" in repr(pods)
    (request,) = service.requests
    assert (request.resource, request.encoding) == ("Pod.v1.", ENCODING_PROTOBUF)


async def test_a_changed_message_does_not_change_the_store(
    client: AsyncClient, service: FakeService
) -> None:
    service.play([RESET, added(web()), synced()])
    seen: list[str] = []

    def on_add(new: Pod) -> None:
        seen.append(new.spec.nodeName)
        new.spec.nodeName = "changed"

    async with client.store(Pod, indexes={"node": "spec.nodeName"}) as pods:
        await pods.wait_synced()
        for subscription in [pods.subscribe(on_add), pods.subscribe(on_add)]:
            await eventually(lambda each=subscription: each.pending == 0)  # type: ignore[misc]
        await eventually(lambda: len(seen) == 2)
        found = pods.get("demo", "web")
        assert found is not None
        for each in (found, pods.list()[0], next(iter(pods)), pods.by_index("node", "n1")[0]):
            each.spec.nodeName = "changed"
            each.metadata.labels["app"] = "changed"
        assert pods.list() == [web()]
    assert seen == ["n1", "n1"]


async def test_indexes_are_by_paths_and_functions(
    client: AsyncClient, service: FakeService
) -> None:
    service.play([RESET, added(web(labels={"example.com/app": "a"})), synced()])

    def by_image(pod: Pod) -> list[str]:
        return [each.image for each in pod.spec.containers]

    indexes: dict[str, IndexBy[Pod]] = {
        "node": "spec.nodeName",
        "name": "spec.containers[*].name",
        "label": "metadata.labels['example.com/app']",
        "host": "status.hostIP",
        "kind": "kind",
        "image": by_image,
    }
    async with client.store(Pod, indexes=indexes) as pods:
        await pods.wait_synced()
        assert_type(pods.by_index("node", "n1"), list[Pod])
        values = {name: pods.index_values(name) for name in indexes}
        assert values == {
            "node": ("n1",),
            "name": ("c",),
            "label": ("a",),
            "host": (),
            "kind": ("Pod",),
            "image": ("example.com/web",),
        }
        service.play([modified(web(10, node="n2"))])
        await eventually(lambda: bool(pods.by_index("node", "n2")))
        assert pods.by_index("node", "n1") == []


async def test_handlers_receive_messages(client: AsyncClient, service: FakeService) -> None:
    seen: list[str] = []

    def on_add(new: Pod) -> None:
        seen.append(f"+{new.metadata.uid}@{new.metadata.resourceVersion}")

    def on_update(old: Pod, new: Pod) -> None:
        seen.append(f"{old.metadata.resourceVersion}>{new.metadata.resourceVersion}")

    async def on_delete(old: Pod) -> None:
        seen.append(f"-{old.metadata.uid}@{old.metadata.resourceVersion}")

    service.play([RESET, added(web()), synced()])
    async with client.store(Pod) as pods:
        await pods.wait_synced()
        pods.subscribe(on_add, on_update, on_delete)
        await eventually(lambda: len(seen) == 1)
        service.play([modified(web(10))])
        await eventually(lambda: len(seen) == 2)
        service.play(
            [RESET, added(web(10)), synced(11)], [RESET, added(web(12, uid="u2")), synced(12)]
        )
        await eventually(lambda: len(seen) == 4)
        gone = object_pb2.Object(namespace="demo", name="web", uid="u2")
        service.play([event(watch_pb2.EVENT_TYPE_DELETED, gone, "13")])
        await eventually(lambda: len(seen) == 5)
    assert seen == ["+u1@7", "7>10", "-u1@10", "+u2@12", "-u2@12"]


async def test_a_message_that_is_encoded_differently_is_no_change(
    client: AsyncClient, service: FakeService
) -> None:
    one, two = packed(web(labels={"a": "1"})), packed(web(labels={"a": "1"}))
    two.protobuf = (
        web().SerializeToString() + Pod(metadata=ObjectMeta(labels={"a": "1"})).SerializeToString()
    )
    assert one.protobuf != two.protobuf
    seen: list[Pod] = []
    service.play([RESET, event(watch_pb2.EVENT_TYPE_ADDED, one, "7"), synced()])
    async with client.store(Pod) as pods:
        await pods.wait_synced()
        pods.subscribe(seen.append, lambda old, new: seen.append(new))
        await eventually(lambda: len(seen) == 1)
        modification = event(watch_pb2.EVENT_TYPE_MODIFIED, two, "7")
        service.play([modification, modified(web(8))])
        await eventually(lambda: pods.list() == [web(8)])
        await eventually(lambda: len(seen) == 2)
    assert [each.metadata.resourceVersion for each in seen] == ["7", "8"]


async def test_a_message_that_cannot_be_read_raises_where_it_is_read(
    client: AsyncClient, service: FakeService, caplog: pytest.LogCaptureFixture
) -> None:
    seen: list[str] = []

    def on_update(old: Pod, new: Pod) -> None:
        seen.append(f"{old.metadata.uid}@{old.spec.nodeName}>{new.spec.nodeName}")

    api = web()
    api.metadata.name = "api"
    service.play([RESET, added(web()), added(api), synced()])
    async with client.store(Pod, indexes={"node": "spec.nodeName"}) as pods:
        await pods.wait_synced()
        handlers = pods.subscribe(on_update=on_update)
        await eventually(lambda: handlers.pending == 0)
        service.play([unreadable(watch_pb2.EVENT_TYPE_MODIFIED, 10)])
        await eventually(lambda: handlers.errors == 1)
        with pytest.raises(UnreadableObject, match="not a valid"):
            pods.get("demo", "web")
        with pytest.raises(UnreadableObject, match="not a valid"):
            pods.list()
        each = iter(pods)
        with pytest.raises(UnreadableObject, match="not a valid"):
            next(each)
        assert next(each) == api
        assert pods.by_index("node", "n1") == [api]
        assert (pods.handler_errors, type(handlers.last_error)) == (1, UnreadableObject)
        service.play([modified(web(11, node="n2"))])
        await eventually(lambda: len(seen) == 1)
        assert seen == ["u1@>n2"]


async def test_the_log_has_no_content_of_messages(
    client: AsyncClient, service: FakeService, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "kubeconnect")
    service.play([RESET, added(web(labels={"key": "s3cret"})), synced()])

    def fails(pod: Pod) -> str:
        raise ValueError(pod.metadata.name)

    async with client.store(Pod, indexes={"bad": fails}) as pods:
        await pods.wait_synced()
        handlers = pods.subscribe(fails)
        await eventually(lambda: handlers.errors == 1)
    assert "s3cret" not in caplog.text
    assert "index 'bad' of a store failed for <Pod demo/web>" in caplog.messages
    assert "a handler of the store of Pod failed for <Pod demo/web>" in caplog.messages


async def test_a_store_of_messages_is_dumped_and_restored(
    client: AsyncClient, service: FakeService, tmp_path: Path
) -> None:
    service.play(batch("t9", RESET, added(web()), synced(), kind=True))
    async with client.store(Pod, indexes={"node": "spec.nodeName"}) as pods:
        await pods.wait_synced()
        await pods.dump(tmp_path / "pods")
        both = pods.dumps()
    assert both == (tmp_path / "pods").read_bytes()
    restored = client.store(Pod, restore=tmp_path / "pods", indexes={"node": "spec.nodeName"})
    assert restored.by_index("node", "n1") == restored.list() == [web()]
    assert service.watch_ended.wait(10)  # or the stream of the first store receives the next step
    service.play(batch("t10", modified(web(10)), synced(11)))
    async with restored:
        await restored.wait_synced()
        assert restored.list() == [web(10)]
    assert service.requests[-1].resume_token == "t9"
    assert list(client.store("pods", restore=both)) == []  # it is another selection


async def test_stores_of_messages_and_objects_share_a_stream(
    client: AsyncClient, service: FakeService
) -> None:
    service.play(
        of_watch(0, "t1", RESET, added(web()), synced()),
        of_watch(1, "t2", RESET, event(watch_pb2.EVENT_TYPE_ADDED, pod("n1"), "7"), synced()),
    )
    watches = {"pods": WatchSpec(Pod, namespace="demo"), "nodes": WatchSpec("nodes")}
    async with client.stores(watches, indexes={"pods": {"node": "spec.nodeName"}}) as stores:
        assert_type(stores, AsyncStores[str, Any])
        pods: AsyncStore[Pod] = stores["pods"]
        await stores.wait_synced()
        (node,) = stores["nodes"]
        assert isinstance(node, Object)
        assert pods.by_index("node", node.name) == [web()]
        data = stores.dumps()
    (request,) = service.requests
    assert [each.encoding for each in request.watches] == [ENCODING_PROTOBUF, ENCODING_JSON]
    restored = client.stores(watches, restore=data)
    assert (restored["pods"].list(), restored["nodes"].list()[0].name) == ([web()], "n1")


async def test_stores_of_one_class_are_typed(client: AsyncClient) -> None:
    assert_type(client.stores({"pods": WatchSpec(Pod)}), AsyncStores[str, Pod])
    assert_type(client.stores({"pods": "pods", 1: WatchSpec("nodes")})[1], AsyncStore[Object])
    assert_type(client.store("pods"), AsyncStore[Object])
    assert "Pod: 0 objects" in repr(client.stores({"pods": Pod})["pods"])


async def test_watches_of_several_classes_share_a_stream(
    client: AsyncClient, service: FakeService
) -> None:
    service.play(
        of_watch(1, "t1", RESET, event(watch_pb2.EVENT_TYPE_ADDED, pod("n1"), "7"), synced()),
        of_watch(0, "t2", RESET, added(web()), synced()),
    )
    nodes: list[str] = []
    watches = {"pods": WatchSpec(Pod), "nodes": WatchSpec("nodes")}
    async with client.watch_many(watches) as events:
        assert_type(events, AsyncWatchMany[str, Any])
        async for _, each in events:
            if isinstance(each.object, Pod):
                nodes.append(each.object.spec.nodeName)
            elif isinstance(each.object, Object):
                nodes.append(each.object.name)
            if events.synced:
                break
    assert nodes == ["n1", "n1"]


async def test_watches_of_one_class_are_typed(client: AsyncClient, service: FakeService) -> None:
    service.play(of_watch(0, "t2", RESET, added(web()), synced()))
    async with client.watch_many({1: WatchSpec(Pod)}) as events:
        assert_type(events, AsyncWatchMany[int, Pod])
        async for _, each in events:
            assert_type(each, Event[Pod])
            if each.type is EventType.ADDED:
                assert each.object == web()
                break
    assert_type(client.watch_many({1: WatchSpec("pods")}), AsyncWatchMany[int, Object])


async def test_watch_many_raises_at_a_message_that_cannot_be_read_and_can_be_continued(
    client: AsyncClient, service: FakeService
) -> None:
    broken = unreadable(watch_pb2.EVENT_TYPE_MODIFIED, 10)
    service.play(of_watch(0, "t2", broken, modified(web(11))))
    async with client.watch_many({"pods": WatchSpec(Pod)}) as events:
        with pytest.raises(UnreadableObject, match="not a valid"):
            await anext(events)
        assert (await anext(events))[1].object == web(11)
    assert len(service.requests) == 1


async def test_a_class_has_no_patches_and_no_metadata_only(client: AsyncClient) -> None:
    for spec in (WatchSpec(Pod, patches=True), WatchSpec(Node, metadata_only=True)):
        with pytest.raises(ValueError, match="need a resource by its name"):
            client.watch_many({1: spec})
    with pytest.raises(TypeError, match="PodSpec is not a kind"):
        client.store(PodSpec)  # type: ignore[type-var]


def ready(status: str) -> Pod:
    message = web(8, creationTimestamp=Time(seconds=1))
    condition = PodCondition(type="Ready", status=status, reason="Because")
    message.status.CopyFrom(PodStatus(conditions=[condition]))
    return message


@pytest.mark.parametrize(
    "condition", ["condition=Ready", lambda pod: pod.status.conditions[0].status == "True"]
)
async def test_waits_for_a_message(
    client: AsyncClient, service: FakeService, condition: Any
) -> None:
    service.play(of_watch(0, "t1", RESET, added(ready("False")), synced(), modified(ready("True"))))
    found = await client.wait_for(Pod, "web", condition, namespace="demo")
    assert found == ready("True")
    read, watch = service.requests
    assert (read.resource, read.encoding, read.metadata_only) == ("Pod.v1.", ENCODING_JSON, True)
    assert (watch.watches[0].resource, watch.watches[0].encoding) == ("Pod.v1.", ENCODING_PROTOBUF)


async def test_the_type_of_a_wait_is_that_of_its_class(
    client: AsyncClient, service: FakeService
) -> None:
    def is_bound(pod: Pod) -> bool:
        return pod.spec.nodeName == "n1"

    service.play(of_watch(0, "t1", RESET, added(web())))
    bound = await client.wait_for(Pod, "web", is_bound, min_resource_version="7")
    assert_type(bound, Pod)
    assert bound == web()


async def test_a_wait_for_a_deletion_returns_the_last_message(
    client: AsyncClient, service: FakeService
) -> None:
    bare = object_pb2.Object(namespace="demo", name="web", uid="u1")
    service.play(
        of_watch(0, "t1", RESET, added(ready("True")), synced()),
        of_watch(0, "t2", event(watch_pb2.EVENT_TYPE_DELETED, bare, "10")),
    )
    gone = await client.wait_for(Pod, "web", "deleted", min_resource_version="7")
    assert_type(gone, Pod | None)
    assert gone == ready("True")

"""A controller whose stores have messages of kubeconnect.k8s."""

from collections.abc import Iterable

from typing_extensions import assert_type

from kubeconnect import ObjectKey, owner_reference
from kubeconnect.aio import AsyncClient, AsyncController, AsyncStore
from kubeconnect.k8s.core.v1 import ConfigMap, Pod, Secret
from kubeconnect.k8s.meta.v1 import ObjectMeta, OwnerReference
from kubeconnect.v1 import object_pb2, watch_pb2
from tests.fake import FakeService, event, of_watch
from tests.running import AsyncRunning

WEB = Pod(metadata=ObjectMeta(namespace="demo", name="web", uid="u1", resourceVersion="7"))
SETTINGS = ConfigMap(
    metadata=ObjectMeta(
        namespace="demo",
        name="settings",
        uid="u2",
        resourceVersion="8",
        ownerReferences=[OwnerReference(**owner_reference(WEB))],
    )
)
PASSWORD = Secret(metadata=ObjectMeta(namespace="demo", name="db", uid="u3"), type="Opaque")


def snapshot(index: int, each: Pod | ConfigMap | Secret) -> watch_pb2.WatchManyResponse:
    """Return a snapshot with one object."""
    metadata = each.metadata
    message = object_pb2.Object(
        namespace=metadata.namespace,
        name=metadata.name,
        uid=metadata.uid,
        resource_version=metadata.resourceVersion,
        protobuf=each.SerializeToString(),
    )
    return of_watch(
        index,
        f"t{index}",
        event(watch_pb2.EVENT_TYPE_RESET, None, ""),
        event(watch_pb2.EVENT_TYPE_ADDED, message, "9"),
        event(watch_pb2.EVENT_TYPE_SYNCED, None, "9"),
    )


async def test_a_controller_follows_messages(client: AsyncClient, service: FakeService) -> None:
    keys: list[ObjectKey] = []
    owned: list[ConfigMap] = []

    def concerned(secret: Secret) -> Iterable[tuple[str, str]]:
        return [("demo", f"{secret.metadata.name}-{secret.type}")]

    controller = AsyncController(
        client,
        Pod,
        owns=[ConfigMap],
        watches=[(Secret, concerned)],
        indexes={Secret: {"type": "type"}},
    )

    @controller.reconcile
    async def reconcile(key: ObjectKey) -> None:
        keys.append(key)
        web = controller.store(Pod).get(*key)
        if web is not None:
            owned.extend(controller.owned(ConfigMap, web))

    assert_type(controller.store(Secret), AsyncStore[Secret])
    service.play(snapshot(0, WEB), snapshot(1, SETTINGS), snapshot(2, PASSWORD))
    async with AsyncRunning(controller) as running:
        await running.until(lambda: len(keys) >= 2)
        assert controller.store(Secret).by_index("type", "Opaque") == [PASSWORD]
        assert_type(controller.owned(ConfigMap, WEB), list[ConfigMap])
    assert sorted(set(keys)) == [("demo", "db-Opaque"), ("demo", "web")]
    assert owned[0] == SETTINGS


async def test_a_message_leads_to_its_owner(client: AsyncClient, service: FakeService) -> None:
    keys: list[ObjectKey] = []
    controller = AsyncController(client, Pod, owns=[ConfigMap])

    @controller.reconcile
    async def reconcile(key: ObjectKey) -> None:
        keys.append(key)

    settings = ConfigMap(metadata=SETTINGS.metadata)
    settings.metadata.ownerReferences[0].name = "deleted-owner"
    service.play(snapshot(0, WEB), snapshot(1, settings))
    async with AsyncRunning(controller) as running:
        await running.until(lambda: len(keys) == 2)
    assert sorted(keys) == [("demo", "deleted-owner"), ("demo", "web")]

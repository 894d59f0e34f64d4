"""Scenarios of watches, and of what is built on them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from blackbox_common import World, equal, eventually, labeled, raises, take

import kubeconnect
from kubeconnect import (
    Controller,
    EventType,
    LeaderElector,
    Object,
    ObjectKey,
    WatchSpec,
    owner_reference,
)
from kubeconnect.k8s.core.v1 import ConfigMap


def a_watch_reports_changes(world: World) -> None:
    """A watch begins with a snapshot, and then reports each change that concerns its selection."""
    world.create("web", metadata=labeled(app="web"))
    version = world.create("db", metadata=labeled(app="db")).resource_version
    client, namespace = world.client, world.namespace
    with client.watch(
        "configmaps", namespace=namespace, label_selector="app=web", min_resource_version=version
    ) as events:
        equal(take(events, 3), ["RESET", "ADDED web", "SYNCED"])
        client.patch("configmaps", "web", {"data": {"a": "1"}}, namespace=namespace, type="merge")
        relabel(world, "db", "web")
        relabel(world, "web", "db")
        client.delete("configmaps", "db", namespace=namespace)
        created = world.create("new", metadata=labeled(app="web"))
        wanted = ["MODIFIED web", "ADDED db", "DELETED web", "DELETED db"]
        equal(take(events, 4), wanted)
        event = next(each for each in events if each.type is EventType.ADDED)
        equal((event.object.name, event.resource_version), ("new", created.resource_version))
        assert events.freshness is not None
        assert not events.freshness.stale


def relabel(world: World, name: str, app: str) -> Object:
    """Change the label of an object."""
    patch = {"metadata": {"labels": {"app": app}}}
    return world.client.patch(
        "configmaps", name, patch, namespace=world.namespace, type="merge"
    ).object


def a_deleted_event_has_the_last_state(world: World) -> None:
    """The object of DELETED is the last one that matched, and the event is newer."""
    world.create("web", metadata=labeled(app="web"), data={"a": "1"})
    matched = relabel(world, "web", "web")
    client, namespace = world.client, world.namespace
    with client.watch(
        "configmaps",
        namespace=namespace,
        label_selector="app=web",
        min_resource_version=matched.resource_version,
    ) as events:
        take(events, 3)
        left = relabel(world, "web", "db")
        event = next(each for each in events if each.type is EventType.DELETED)
        equal(event.object.labels, {"app": "web"})
        equal(event.object.resource_version, matched.resource_version)
        equal(event.resource_version, left.resource_version)


def an_object_is_recreated(world: World) -> None:
    """An object that is created again under its name is another object."""
    first = world.create("web")
    client, namespace = world.client, world.namespace
    with client.watch(
        "configmaps",
        namespace=namespace,
        name="web",
        min_resource_version=first.resource_version,
    ) as events:
        equal(take(events, 3), ["RESET", "ADDED web", "SYNCED"])
        client.delete("configmaps", "web", namespace=namespace)
        second = world.create("web")
        received = [each for each in (next(events), next(events)) if each.object]
        while len(received) < 2:
            received.append(next(each for each in events if each.object))
        equal([each.type for each in received], [EventType.DELETED, EventType.ADDED])
        equal([each.object.uid for each in received if each.object], [first.uid, second.uid])


def a_watch_resumes_with_its_token(world: World) -> None:
    """A new watch with the token of an old one reports what has changed since."""
    world.create("kept")
    client, namespace = world.client, world.namespace
    version = world.create("gone").resource_version
    selection = "metadata.name!=kube-root-ca.crt"
    with client.watch(
        "configmaps",
        namespace=namespace,
        field_selector=selection,
        min_resource_version=version,
    ) as events:
        equal(take(events, 4), ["RESET", "ADDED gone", "ADDED kept", "SYNCED"])
        token = events.resume_token
        assert token
    client.delete("configmaps", "gone", namespace=namespace)
    world.create("new")
    client.patch("configmaps", "kept", {"data": {"a": "1"}}, namespace=namespace, type="merge")
    with client.watch(
        "configmaps", namespace=namespace, field_selector=selection, resume_token=token
    ) as events:
        equal(take(events, 3), ["DELETED gone", "ADDED new", "MODIFIED kept"])
    for unusable in (token, "x"):  # of another selection, and of no service
        with client.watch("configmaps", namespace=namespace, resume_token=unusable) as events:
            equal(take(events, 1), ["RESET"])


def rejected_watches_raise(world: World) -> None:
    """A watch that cannot begin raises the error of the service."""
    client, namespace = world.client, world.namespace
    with raises(kubeconnect.NotFound, "NotFound"), client.watch("foos.example.com") as events:
        next(events)
    with (
        raises(kubeconnect.InvalidArgument, "BadRequest"),
        client.watch("configmaps", name="web") as events,
    ):
        next(events)
    with (
        raises(kubeconnect.InvalidArgument, "BadRequest"),
        client.watch("configmaps", namespace=namespace, label_selector="=") as events,
    ):
        next(events)
    with client.watch("configmaps", namespace=namespace, name="nobody") as events:
        equal(take(events, 2), ["RESET", "SYNCED"])
    with (
        raises(kubeconnect.DeadlineExceeded),
        client.watch("configmaps", namespace=namespace, name="nobody", timeout=1) as events,
    ):
        take(events, 3)
    specs = {"ok": WatchSpec("configmaps"), "bad": WatchSpec("foos.example.com")}
    with raises(kubeconnect.NotFound, "NotFound"), client.watch_many(specs) as many:
        next(many)


def a_watch_of_fields_is_silent_about_others(world: World) -> None:
    """A change that does not touch the fields of a watch is no event."""
    client, namespace = world.client, world.namespace
    version = world.create("web", data={"a": "1", "b": "1"}).resource_version
    with client.watch(
        "configmaps",
        namespace=namespace,
        name="web",
        fields=["metadata.name", "data.a"],
        min_resource_version=version,
    ) as events:
        take(events, 3)
        for key, value in (("b", "2"), ("b", "3"), ("a", "2")):
            patch = {"data": {key: value}}
            client.patch("configmaps", "web", patch, namespace=namespace, type="merge")
        event = next(each for each in events if each.object)
        equal(event.type, EventType.MODIFIED)
        equal(
            event.object and event.object.to_dict(),
            {"metadata": {"name": "web"}, "data": {"a": "2"}},
        )


def a_watch_of_patches_has_whole_objects(world: World) -> None:
    """The objects of a watch with patches are complete."""
    client, namespace = world.client, world.namespace
    data = {f"key-{number}": "x" * 100 for number in range(20)}
    version = world.create("web", data=data).resource_version
    with client.watch(
        "configmaps", namespace=namespace, name="web", patches=True, min_resource_version=version
    ) as events:
        take(events, 3)
        for number in range(3):
            patch = {"data": {"key-0": str(number)}}
            client.patch("configmaps", "web", patch, namespace=namespace, type="merge")
            event = next(each for each in events if each.object)
            equal(event.object and event.object["data"], {**data, "key-0": str(number)})


def several_watches_share_a_stream(world: World) -> None:
    """Each watch of a stream has its own snapshot, and one token resumes all of them."""
    client, namespace = world.client, world.namespace
    world.create("web", metadata=labeled(app="web"))
    body = {"metadata": {"name": "key"}}
    version = client.create("secrets", body, namespace=namespace).object.resource_version
    specs = {
        "maps": WatchSpec(
            "configmaps",
            namespace=namespace,
            label_selector="app",
            min_resource_version=version,
        ),
        "secrets": WatchSpec("secrets", namespace=namespace, min_resource_version=version),
    }
    received: dict[str, list[str]] = {"maps": [], "secrets": []}

    def receive(events: kubeconnect.WatchMany[str], **wanted: list[str]) -> None:
        while any(received[key] != wanted[key] for key in wanted):
            key, event = next(events)
            if event.type is not EventType.BOOKMARK:
                name = event.object.name if event.object else ""
                received[key].append(f"{event.type.name} {name}".rstrip())

    with client.watch_many(specs) as events:
        receive(
            events,
            maps=["RESET", "ADDED web", "SYNCED"],
            secrets=["RESET", "ADDED key", "SYNCED"],
        )
        assert events.synced
        token = events.resume_token
    client.delete("secrets", "key", namespace=namespace)
    relabel(world, "web", "new")
    received = {"maps": [], "secrets": []}
    with client.watch_many(specs, resume_token=token) as events:
        receive(events, maps=["MODIFIED web"], secrets=["DELETED key"])


def messages_are_watched(world: World) -> None:
    """The objects of a watch of a class are messages."""
    version = world.create("web", data={"color": "red"}).resource_version
    with world.client.watch(
        ConfigMap, namespace=world.namespace, name="web", min_resource_version=version
    ) as events:
        event = next(each for each in events if each.type is EventType.ADDED)
        equal(dict(event.object.data), {"color": "red"})


def a_cut_stream_resumes(world: World) -> None:
    """A watch whose stream is lost continues without RESET."""
    client, namespace = world.client, world.namespace
    version = world.create("web", metadata=labeled(app="web")).resource_version
    lost = threading.Event()
    with client.watch(
        "configmaps",
        namespace=namespace,
        label_selector="app",
        min_resource_version=version,
        on_retry=lambda error, delay: lost.set(),
    ) as events:
        equal(take(events, 3), ["RESET", "ADDED web", "SYNCED"])
        world.faults.disconnect()
        retried(lambda: relabel(world, "web", "new"))
        equal(take(events, 1), ["MODIFIED web"])
        retried(lambda: world.create("db", metadata=labeled(app="db")))
        equal(take(events, 1), ["ADDED db"])
    assert lost.is_set()


def retried(write: Callable[[], object]) -> None:
    """Make a write that fails while the service is restarted."""

    def succeeds() -> bool:
        try:
            write()
        except kubeconnect.Unavailable:
            return False
        return True

    eventually(succeeds)


class Mirror:
    """The objects as the handlers of a store received them."""

    def __init__(self) -> None:
        """Begin without calls."""
        self.calls: list[str] = []

    def on_add(self, obj: Object) -> None:
        """Record an added object."""
        self.calls.append(f"add {obj.name}")

    def on_update(self, old: Object, new: Object) -> None:
        """Record a changed object."""
        assert old.uid == new.uid
        self.calls.append(f"update {new.name}")

    def on_delete(self, obj: Object) -> None:
        """Record a deleted object."""
        self.calls.append(f"delete {obj.name}")

    def received(self, *calls: str) -> bool:
        """Return whether these calls, in any order, were received."""
        return sorted(self.calls) == sorted(calls)


def a_store_follows(world: World) -> None:
    """A store has the objects, and its handlers are called for what differs, also after RESET."""
    client, namespace = world.client, world.namespace
    world.create("kept", metadata=labeled(app="web"))
    world.create("touched", metadata=labeled(app="web"))
    version = world.create("gone", metadata=labeled(app="web")).resource_version
    mirror = Mirror()
    with client.store(
        "configmaps",
        namespace=namespace,
        label_selector="app",
        indexes={"app": "metadata.labels.app"},
        min_resource_version=version,
    ) as store:
        store.wait_synced(60)
        equal(sorted(each.name for each in store), ["gone", "kept", "touched"])
        equal(len(store.by_index("app", "web")), 3)
        store.subscribe(mirror.on_add, mirror.on_update, mirror.on_delete)
        eventually(lambda: mirror.received("add gone", "add kept", "add touched"))
        mirror.calls.clear()
        relabel(world, "touched", "db")
        eventually(lambda: mirror.received("update touched"))
        equal(len(store.by_index("app", "db")), 1)
        mirror.calls.clear()
        world.faults.reset()
        retried(lambda: relabel(world, "touched", "new"))
        client.delete("configmaps", "gone", namespace=namespace)
        world.create("new", metadata=labeled(app="new"))
        eventually(lambda: mirror.received("update touched", "delete gone", "add new"))
        assert store.get(namespace, "gone") is None
        kept = store.get(namespace, "kept")
        assert kept is not None


def a_lost_history_resets(world: World) -> None:
    """After the loss of the history, tokens lead to RESET, and pages are expired."""
    client, namespace = world.client, world.namespace
    for name in ("a", "b", "c"):
        version = world.create(name, metadata=labeled(app="web")).resource_version
    selection: dict[str, Any] = {"namespace": namespace, "label_selector": "app"}
    pages = iter(client.list("configmaps", page_size=1, min_resource_version=version, **selection))
    equal(next(pages).name, "a")
    with client.watch("configmaps", min_resource_version=version, **selection) as events:
        equal(take(events, 5), ["RESET", "ADDED a", "ADDED b", "ADDED c", "SYNCED"])
        token = events.resume_token
        world.faults.reset()
        equal(take(events, 5), ["RESET", "ADDED a", "ADDED b", "ADDED c", "SYNCED"])
    with client.watch("configmaps", resume_token=token, **selection) as events:
        equal(take(events, 5), ["RESET", "ADDED a", "ADDED b", "ADDED c", "SYNCED"])


def a_condition_is_awaited(world: World) -> None:
    """A wait ends when the object meets its condition, or at its timeout."""
    client, namespace = world.client, world.namespace
    world.define_crontabs()
    body = {"metadata": {"name": "web"}, "spec": {}}
    client.create(world.crontabs, body, namespace=namespace)

    def wait(condition: str, timeout: float = 60) -> Object:
        return client.wait_for(
            world.crontabs, "web", condition, namespace=namespace, timeout=timeout
        )

    with raises(kubeconnect.WaitTimeout):
        wait("condition=Ready", timeout=1)
    with ThreadPoolExecutor(1) as threads:
        ready = threads.submit(wait, "condition=Ready")
        status = {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}
        client.patch(
            world.crontabs, "web", status, namespace=namespace, type="merge", subresource="status"
        )
        equal(ready.result().name, "web")
    client.delete(world.crontabs, "web", namespace=namespace)
    wait("deleted")


def a_definition_is_deleted(world: World) -> None:
    """The watch of a resource ends when the cluster stops serving it."""
    world.define_crontabs()
    client, namespace = world.client, world.namespace
    created = client.create(world.crontabs, {"metadata": {"name": "web"}}, namespace=namespace)
    version = created.object.resource_version
    with client.watch(world.crontabs, namespace=namespace, min_resource_version=version) as events:
        equal(take(events, 3), ["RESET", "ADDED web", "SYNCED"])
        client.delete("customresourcedefinitions", world.crontabs)
        equal(take(events, 1), ["DELETED web"])
        with raises(kubeconnect.NotFound, "NotFound"):
            take(events, 1)


def a_controller_reconciles(world: World) -> None:
    """A controller that is elected creates what its objects specify, and repairs it."""
    world.define_crontabs()
    client, namespace = world.client, world.namespace
    elector = LeaderElector(client, "operator", namespace=namespace)
    controller = Controller(
        client, WatchSpec(world.crontabs, namespace=namespace), owns=["configmaps"], elector=elector
    )

    @controller.reconcile
    def reconcile(key: ObjectKey) -> None:
        found = controller.store().get(*key)
        if found is not None:
            client.apply(settings_of(found), field_manager="operator", force=True)

    body = {"metadata": {"name": "web"}, "spec": {"schedule": "daily"}}
    with ThreadPoolExecutor(1) as threads:
        run = threads.submit(controller.run)
        try:
            client.create(world.crontabs, body, namespace=namespace)
            eventually(lambda: has_schedule(world, "daily"))
            patch = {"spec": {"schedule": "weekly"}}
            client.patch(world.crontabs, "web", patch, namespace=namespace, type="merge")
            eventually(lambda: has_schedule(world, "weekly"))
            client.delete("configmaps", "web", namespace=namespace)
            eventually(lambda: has_schedule(world, "weekly"))
            equal(world.get("operator", "leases")["spec"]["leaseTransitions"], 0)
        finally:
            controller.stop()
        run.result(60)
    equal(world.get("operator", "leases")["spec"]["holderIdentity"], "")


def settings_of(crontab: Object) -> dict[str, object]:
    """Return the ConfigMap that an object owns."""
    metadata = {
        "name": crontab.name,
        "namespace": crontab.namespace,
        "ownerReferences": [owner_reference(crontab)],
    }
    data = {"schedule": crontab["spec"]["schedule"]}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def has_schedule(world: World, schedule: str) -> bool:
    """Return whether the owned ConfigMap has a schedule."""
    return world.exists("web") and world.get("web")["data"] == {"schedule": schedule}


SCENARIOS = (
    a_watch_reports_changes,
    a_deleted_event_has_the_last_state,
    an_object_is_recreated,
    a_watch_resumes_with_its_token,
    rejected_watches_raise,
    a_watch_of_fields_is_silent_about_others,
    a_watch_of_patches_has_whole_objects,
    several_watches_share_a_stream,
    messages_are_watched,
    a_condition_is_awaited,
    a_definition_is_deleted,
    a_cut_stream_resumes,
    a_store_follows,
    a_lost_history_resets,
)

WITH_THREADS = (a_controller_reconciles,)
"""The scenarios of classes that the asyncio client has under other names."""

from __future__ import annotations

import json
import logging
import random
from contextlib import nullcontext
from typing import Any

import pytest

from kubeconnect import Event, EventType, Object, Resource
from kubeconnect._event_reader import EventReader
from kubeconnect._store_indexes import IndexBy, Key
from kubeconnect._store_queue import Change, ChangeQueue
from kubeconnect._store_state import Position, StoreState
from kubeconnect._stored import Stored, unpack, unpack_last
from kubeconnect.v1 import object_pb2
from kubeconnect.v1 import watch_pb2 as pb

PODS = Resource("", "v1", "Pod", "pods", True)
UNNAMED = Resource("", "", "", "", False)


def obj(
    name: str,
    version: int = 1,
    *,
    uid: str = "",
    namespace: str = "demo",
    resource: Resource = PODS,
    **content: Any,
) -> Object:
    message = object_pb2.Object(
        namespace=namespace, name=name, uid=uid or f"uid-{name}", resource_version=str(version)
    )
    metadata = {"name": name, "resourceVersion": str(version), "uid": message.uid}
    encoded = json.dumps({"metadata": metadata, **content}, separators=(",", ":"))
    message.json = encoded.encode()
    return Object(message, resource)


def without_content(name: str) -> Object:
    return Object(object_pb2.Object(namespace="demo", name=name), PODS)


def projection(name: str, version: int, content: bytes) -> Object:
    message = object_pb2.Object(
        namespace="demo", name=name, uid=f"uid-{name}", resource_version=str(version), json=content
    )
    return Object(message, PODS)


def event(type: EventType, subject: Object | None = None, version: str | None = None) -> Event:
    """Return an event as it is received."""
    message = pb.Event(type=type.value, resource_version=version or "")
    resource = None
    if subject is not None:
        message.object.CopyFrom(message_of(subject))
        resource = object_pb2.Resource(
            version=subject.resource.version,
            kind=subject.resource.kind,
            plural=subject.resource.plural,
            namespaced=subject.resource.namespaced,
        )
    response = pb.WatchResponse(resource=resource, events=[message])
    (received,) = EventReader(patches=False).read(response)
    return received


def message_of(subject: Object) -> object_pb2.Object:
    return object_pb2.Object(
        namespace=subject.namespace or "",
        name=subject.name,
        uid=subject.uid,
        resource_version=subject.resource_version,
        json=None if subject.error else subject.raw,
    )


class World:
    """A state with one subscriber that is never behind, and one that is read on demand."""

    def __init__(self, *, shared: bool = False, **indexes: IndexBy) -> None:
        self.position = Position(shared=shared)
        self.state = StoreState(indexes, nullcontext(), self.position)
        self.prompt = self.state.subscribe(lambda: None)
        self.late = self.state.subscribe(lambda: None)

    def apply(
        self, type: EventType, subject: Object | None = None, version: int = 0, token: str = ""
    ) -> list[str]:
        """Apply an event and return the calls of the subscriber that is not behind."""
        shown = version or (subject and subject.resource_version)
        self.state.apply(event(type, subject, str(shown) if shown else None), token or None)
        return self.calls(self.prompt)

    def added(self, *objects: Object) -> list[str]:
        return [call for each in objects for call in self.apply(EventType.ADDED, each)]

    def modified(self, subject: Object) -> list[str]:
        return self.apply(EventType.MODIFIED, subject)

    def deleted(self, subject: Object, version: int = 0) -> list[str]:
        return self.apply(EventType.DELETED, subject, version)

    def reset(self) -> list[str]:
        return self.apply(EventType.RESET)

    def synced(self, version: int, token: str = "") -> list[str]:
        return self.apply(EventType.SYNCED, None, version, token)

    def bookmark(self, version: int, token: str = "") -> list[str]:
        return self.apply(EventType.BOOKMARK, None, version, token)

    def snapshot(self, version: int, *objects: Object) -> list[str]:
        self.reset()
        self.added(*objects)
        return self.synced(version)

    def calls(self, queue: ChangeQueue) -> list[str]:
        calls = []
        while (change := self.state.take(queue)) is not None:
            calls.append(shown(change))
        return calls

    @property
    def names(self) -> list[str]:
        return sorted(f"{each.name}@{each.resource_version}" for each in self.state.all())


def shown(change: Change) -> str:
    before = change.old and f"{change.old.name}@{change.old.resource_version}"
    after = change.new and f"{change.new.name}@{change.new.resource_version}"
    sign = "!" if change.replaces else ""
    return f"{sign}{before or ''}>{after or ''}"


def test_is_empty_until_the_first_snapshot_is_complete() -> None:
    world = World()
    world.reset()
    assert world.added(obj("a", 1)) == []
    assert (world.names, world.state.synced, world.state.within_snapshot) == ([], False, True)
    assert world.synced(2) == [">a@1"]
    assert (world.names, world.state.synced, world.state.within_snapshot) == (["a@1"], True, False)
    assert world.state.resource_version == "2"


def test_applies_changes_after_the_snapshot() -> None:
    world = World()
    world.snapshot(2, obj("a", 1))
    assert world.added(obj("b", 3)) == [">b@3"]
    assert world.modified(obj("a", 4)) == ["a@1>a@4"]
    assert world.deleted(obj("b", 3), 5) == ["b@3>"]
    assert (world.names, world.state.resource_version) == (["a@4"], "2")
    world.bookmark(6)
    assert world.state.resource_version == "6"


def test_the_version_of_a_watch_advances_with_its_token() -> None:
    world = World()
    world.snapshot(2, obj("a", 1))
    world.apply(EventType.MODIFIED, obj("a", 4), token="")
    assert world.state.resource_version == "2"
    world.apply(EventType.ADDED, obj("b", 3), token="t1")
    assert world.state.resource_version == "4"
    world.apply(EventType.MODIFIED, obj("a", 5), token="t1")
    assert world.state.resource_version == "4"
    world.apply(EventType.MODIFIED, obj("a", 6), token="t2")
    assert world.state.resource_version == "6"


def test_the_version_of_several_watches_advances_with_marks() -> None:
    world = World(shared=True)
    world.snapshot(2, obj("a", 1))
    world.apply(EventType.MODIFIED, obj("a", 4), token="t1")
    assert world.state.resource_version == "2"
    world.bookmark(5, "t2")
    assert world.state.resource_version == "5"


def test_applies_changes_that_come_within_a_snapshot() -> None:
    world = World()
    world.snapshot(2, obj("gone", 1), obj("kept", 1))
    world.reset()
    world.added(obj("a", 3), obj("b", 3), obj("kept", 1))
    world.modified(obj("a", 4))
    world.deleted(obj("b", 3), 5)
    world.deleted(obj("not sent yet", 3), 5)
    assert world.names == ["gone@1", "kept@1"]
    assert world.synced(6) == ["gone@1>", ">a@4"]
    assert world.names == ["a@4", "kept@1"]


def test_readers_see_the_old_objects_during_a_snapshot() -> None:
    world = World()
    world.snapshot(2, obj("a", 1))
    world.reset()
    assert world.names == ["a@1"]
    world.added(obj("b", 3))
    assert world.names == ["a@1"]
    assert world.state.resource_version == "2"


def test_a_second_reset_begins_the_snapshot_again() -> None:
    world = World()
    world.snapshot(2, obj("a", 1))
    world.reset()
    world.added(obj("b", 3))
    world.reset()
    world.added(obj("c", 4))
    assert world.synced(5) == ["a@1>", ">c@4"]


def test_a_snapshot_that_is_older_sets_the_version_back() -> None:
    world = World()
    world.snapshot(9, obj("a", 8))
    world.snapshot(5, obj("a", 4))
    assert world.state.resource_version == "5"


def test_calls_for_nothing_that_a_new_snapshot_has_unchanged() -> None:
    world = World()
    world.snapshot(2, obj("a", 1), obj("b", 1))
    assert world.snapshot(3, obj("b", 1), obj("a", 1)) == []


def test_keeps_the_stored_objects_that_a_new_snapshot_has_unchanged() -> None:
    world = World()
    world.snapshot(2, obj("a", 1))
    (before,) = world.state.stored()
    world.snapshot(3, obj("a", 1))
    (after,) = world.state.stored()
    assert after is before


def test_the_same_content_in_another_encoding_is_no_change() -> None:
    world = World()
    world.snapshot(2, projection("a", 1, b'{"a":1,"b":"\xc3\xbc"}'))
    assert world.snapshot(3, projection("a", 1, b'{"b": "\\u00fc", "a": 1}')) == []


def test_another_version_of_an_unchanged_projection_is_no_change() -> None:
    world = World()
    world.snapshot(2, projection("a", 1, b'{"a":1}'))
    assert world.snapshot(5, projection("a", 4, b'{"a":1}')) == []
    assert world.names == ["a@4"]


def test_other_content_of_the_same_version_is_a_change() -> None:
    world = World()
    world.snapshot(2, obj("a", 1))
    assert world.apply(EventType.MODIFIED, obj("a", 1, spec={}), 3) == ["a@1>a@1"]


def test_an_object_that_becomes_unreadable_is_a_change() -> None:
    world = World()
    world.snapshot(2, obj("a", 1))
    unreadable = Object(
        object_pb2.Object(namespace="demo", name="a", uid="uid-a", resource_version="1"), PODS
    )
    assert world.modified(unreadable) == ["a@1>a@1"]
    assert world.snapshot(3, unreadable) == []


def test_an_object_that_is_created_again_is_replaced() -> None:
    world = World()
    world.snapshot(2, obj("a", 1, uid="first"))
    assert world.modified(obj("a", 5, uid="second")) == ["!a@1>a@5"]
    assert world.snapshot(8, obj("a", 7, uid="third")) == ["!a@5>a@7"]


def test_an_event_that_is_delivered_again_is_no_change() -> None:
    world = World()
    world.snapshot(2, obj("a", 1), obj("b", 1))
    world.modified(obj("a", 3))
    world.deleted(obj("b", 1), 4)
    assert world.added(obj("a", 3)) == []
    assert world.deleted(obj("b", 1), 4) == []


def test_a_deletion_needs_no_content() -> None:
    world = World()
    world.snapshot(2, obj("a", 1))
    assert world.deleted(without_content("a"), 4) == ["a@1>"]


def test_stores_the_token_with_the_objects() -> None:
    world = World()
    seen = []
    for type, token in [
        (EventType.RESET, ""),
        (EventType.SYNCED, "t1"),
        (EventType.BOOKMARK, "t2"),
        (EventType.RESET, ""),
    ]:
        world.apply(type, None, 3, token)
        seen.append(world.position.token)
    assert seen == [None, "t1", "t2", None]


def test_a_restored_state_is_in_sync_with_the_next_bookmark_of_a_version() -> None:
    world = World()
    world.state.restore(PODS, "5", [obj("a", 4), obj("b", 4)])
    assert world.calls(world.prompt) == [">a@4", ">b@4"]
    assert (world.state.synced, world.state.resource_version) == (False, "5")
    world.bookmark(0)
    assert not world.state.synced
    assert world.modified(obj("a", 6)) == ["a@4>a@6"]
    assert not world.state.synced
    world.bookmark(7)
    assert (world.state.synced, world.state.resource_version) == (True, "7")


def test_a_restored_state_is_compared_with_a_snapshot() -> None:
    world = World()
    world.state.restore(PODS, "5", [obj("a", 4), obj("b", 4), obj("c", 4, uid="first")])
    world.calls(world.prompt)
    calls = world.snapshot(9, obj("b", 4), obj("c", 8, uid="second"), obj("d", 9))
    assert calls == ["a@4>", "!c@4>c@8", ">d@9"]


def test_a_bookmark_within_a_snapshot_changes_nothing() -> None:
    world = World()
    world.reset()
    world.bookmark(3)
    assert (world.state.synced, world.state.resource_version) == (False, None)


@pytest.mark.parametrize("within_snapshot", [False, True])
def test_ignores_the_deletion_of_a_predecessor(within_snapshot: bool) -> None:
    """A replica that lists again reports the deletion of the first object after the client has
    received the second one from another replica.
    """
    world = World()
    world.snapshot(2, obj("a", 1, uid="u1"))
    world.apply(EventType.MODIFIED, obj("a", 4, uid="u2"))
    if within_snapshot:
        world.reset()
        world.added(obj("a", 4, uid="u2"))
    assert world.deleted(obj("a", 1, uid="u1"), 5) == []
    if within_snapshot:
        assert world.synced(5) == []
    assert world.names == ["a@4"]
    without_uid = without_content("a")
    assert without_uid.uid == ""
    assert world.deleted(without_uid, 6) == ["a@4>"]


def test_gives_objects_the_resource_that_a_resumed_stream_does_not_send() -> None:
    world = World()
    world.state.restore(PODS, "5", [])
    world.added(obj("a", 6, resource=UNNAMED))
    assert world.state.get(("demo", "a")) is not None
    (found,) = world.state.stored()
    assert found.resource is world.state.resource
    assert found.resource == PODS


def test_follows_another_version_of_the_resource() -> None:
    world = World()
    world.snapshot(2, obj("a", 1))
    beta = Resource("", "v2", "Pod", "pods", True)
    world.snapshot(3, obj("a", 1, resource=beta, spec={}))
    assert world.state.resource == beta


def test_shares_strings_between_objects() -> None:
    world = World()
    world.snapshot(2, obj("a", 1), obj("b", 1))
    world.modified(obj("a", 3))
    first, second = sorted(world.state.stored(), key=lambda each: each.name)
    assert first.namespace is second.namespace
    assert first.resource is second.resource


def test_readers_cannot_change_the_stored_objects() -> None:
    world = World()
    world.snapshot(2, obj("a", 1, spec={"nodeName": "n1"}))
    found = world.state.get(("demo", "a"))
    assert found is not None
    found["spec"]["nodeName"] = "changed"
    again = world.state.get(("demo", "a"))
    assert again is not None
    assert again["spec"] == {"nodeName": "n1"}
    assert world.state.get(("demo", "b")) is None


def test_reads_one_namespace() -> None:
    world = World()
    world.snapshot(2, obj("a", 1), obj("a", 1, namespace="other"))
    assert [each.namespace for each in world.state.all("other")] == ["other"]
    assert len(world.state) == 2


def test_a_subscriber_that_is_behind_receives_the_latest_state() -> None:
    world = World()
    world.snapshot(2, obj("a", 1), obj("b", 1))
    assert world.calls(world.late) == [">a@1", ">b@1"]
    world.modified(obj("b", 3))
    world.modified(obj("a", 4))
    world.modified(obj("b", 5))
    assert len(world.late) == 2
    assert world.calls(world.late) == ["b@1>b@5", "a@1>a@4"]


def test_a_subscriber_never_hears_of_an_object_that_came_and_went() -> None:
    world = World()
    world.snapshot(2, obj("a", 1))
    world.added(obj("b", 3))
    world.modified(obj("b", 4))
    world.deleted(obj("b", 4), 5)
    world.deleted(obj("a", 1), 6)
    assert len(world.late) == 0
    assert world.calls(world.late) == []


def test_a_subscriber_is_given_what_it_last_received_as_the_old_state() -> None:
    world = World()
    world.snapshot(2, obj("a", 1))
    world.calls(world.late)
    world.modified(obj("a", 3))
    world.deleted(obj("a", 3), 4)
    assert world.calls(world.late) == ["a@1>"]
    world.added(obj("a", 5, uid="second"))
    world.deleted(obj("a", 5), 6)
    world.added(obj("a", 7, uid="third"))
    assert world.calls(world.late) == [">a@7"]


def test_a_subscriber_that_is_behind_receives_a_replacement_as_one() -> None:
    world = World()
    world.snapshot(2, obj("a", 1, uid="first"))
    world.calls(world.late)
    world.deleted(obj("a", 1), 3)
    world.added(obj("a", 4, uid="second"))
    world.modified(obj("a", 5, uid="second"))
    assert world.calls(world.late) == ["!a@1>a@5"]


def test_an_object_that_is_again_as_it_was_received_is_no_change() -> None:
    world = World()
    world.snapshot(2, obj("a", 1))
    world.calls(world.late)
    world.deleted(obj("a", 1), 3)
    world.added(obj("a", 1))
    assert world.calls(world.late) == []


def test_a_new_subscriber_begins_with_all_objects() -> None:
    world = World()
    world.snapshot(2, obj("a", 1))
    woken: list[int] = []
    queue = world.state.subscribe(lambda: woken.append(1))
    assert woken == [1]
    assert world.calls(queue) == [">a@1"]
    world.modified(obj("a", 3))
    assert woken == [1, 1]
    world.state.unsubscribe(queue)
    world.modified(obj("a", 4))
    assert woken == [1, 1]
    world.state.unsubscribe(queue)


def test_a_subscriber_unpacks_copies() -> None:
    world = World()
    world.snapshot(2, obj("a", 1, spec={"x": 1}))
    change = world.state.take(world.late)
    assert change is not None
    assert change.new is not None
    for unpacked in (unpack(change.new), unpack_last(change.new)):
        unpacked["spec"]["x"] = 2
    assert [each["spec"] for each in world.state.all()] == [{"x": 1}]


def test_finds_objects_by_index() -> None:
    world = World(
        node="spec.nodeName",
        app=lambda pod: pod["metadata"].get("labels", {}).get("app"),
        image="spec.containers[*].image",
    )

    def pod(name: str, version: int, node: str, *images: str) -> Object:
        return obj(
            name, version, spec={"nodeName": node, "containers": [{"image": i} for i in images]}
        )

    def on(node: str) -> list[str]:
        return [each.name for each in world.state.by_index("node", node)]

    world.snapshot(2, pod("a", 1, "n1", "x", "y"), pod("b", 1, "n1", "x"), obj("c", 1))
    assert (on("n1"), on("n2")) == (["a", "b"], [])
    assert [each.name for each in world.state.by_index("image", "x")] == ["a", "b"]
    world.modified(pod("a", 3, "n2", "y"))
    assert (on("n1"), on("n2")) == (["b"], ["a"])
    world.deleted(without_content("a"), 4)
    assert (on("n1"), on("n2")) == (["b"], [])
    assert world.state.index_values("node") == ["n1"]
    assert [*world.state.by_index("app", "web")] == []
    with pytest.raises(KeyError, match=r"no index 'nodes'; its indexes: 'node', 'app', 'image'"):
        world.state.by_index("nodes", "n1")


def test_an_index_changes_with_its_snapshot() -> None:
    world = World(node="spec.nodeName")
    world.snapshot(2, obj("a", 1, spec={"nodeName": "n1"}), obj("b", 1, spec={"nodeName": "n1"}))
    world.reset()
    world.added(obj("b", 3, spec={"nodeName": "n2"}))
    assert world.state.index_values("node") == ["n1"]
    assert [each.name for each in world.state.by_index("node", "n1")] == ["a", "b"]
    world.synced(4)
    assert world.state.index_values("node") == ["n2"]


def test_an_index_function_may_return_one_several_or_no_values() -> None:
    results: dict[str, Any] = {
        "one": "x",
        "tuple": ("x", "y"),
        "list": ["y", "y"],
        "iterator": iter(["x"]),
        "number": 7,
        "none": None,
        "nothing": [],
    }
    world = World(by=lambda each: results[each.name])
    world.snapshot(2, *(obj(name) for name in results))

    def of(value: object) -> list[str]:
        return [each.name for each in world.state.by_index("by", value)]

    assert of("x") == ["one", "tuple", "iterator"]
    assert of("y") == ["tuple", "list"]
    assert of(7) == ["number"]


def test_an_index_function_that_fails_is_counted_and_logged_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    world = World(
        bad=lambda each: each["spec"]["nodeName"],
        dict=lambda each: [each["metadata"]],
        good="spec.x",
    )
    with caplog.at_level(logging.ERROR, "kubeconnect"):
        world.snapshot(2, obj("a", 1, spec={"x": 1}))
        world.modified(obj("a", 3, spec={"x": 1}))
    assert world.state.index_errors == 4
    assert [record.getMessage() for record in caplog.records] == [
        "index 'bad' of a store failed for <Object Pod demo/a>",
        "index 'dict' of a store failed for <Object Pod demo/a>",
    ]
    assert len([*world.state.by_index("good", 1)]) == 1


def test_an_object_without_content_is_in_no_index() -> None:
    world = World(node="spec.nodeName")
    world.snapshot(2, without_content("a"))
    assert (len(world.state), world.state.index_values("node"), world.state.index_errors) == (
        1,
        [],
        0,
    )


class Cluster:
    """A random cluster, and the service that streams it."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.version = 0
        self.uids = 0
        self.objects: dict[str, Object] = {}

    def change(self) -> Event:
        """Change a random object, and return the event."""
        self.version += 1
        name = self.chance.choice("abcdefgh")
        found = self.objects.get(name)
        if found is None or self.chance.random() < 0.1:  # also created again, without a deletion
            self.uids += 1
            return self.put(EventType.ADDED, name, f"uid-{self.uids}")
        if self.chance.random() < 0.5:
            return self.put(EventType.MODIFIED, name, found.uid)
        del self.objects[name]
        content = found if self.chance.random() < 0.7 else without_content(name)
        return event(EventType.DELETED, content, str(self.version))

    def put(self, type: EventType, name: str, uid: str) -> Event:
        node = self.chance.choice(["n1", "n2", "n3"])
        self.objects[name] = obj(name, self.version, uid=uid, node=node)
        return event(type, self.copy(name), str(self.version))

    def copy(self, name: str) -> Object:
        """Return the object as another message."""
        found = self.objects[name]
        return obj(name, int(found.resource_version), uid=found.uid, node=found["node"])

    def snapshot(self) -> list[Event]:
        """Return a snapshot that is sent while the cluster changes."""
        events = [event(EventType.RESET)]
        rest = sorted({*self.objects, *"abcdefgh"})
        sent: set[str] = set()
        while rest:
            if self.chance.random() < 0.3:
                change = self.change()
                assert change.object is not None
                if change.object.name in sent:
                    events.append(change)
                continue
            name = rest.pop(0)
            sent.add(name)
            if name in self.objects:
                version = self.objects[name].resource_version
                events.append(event(EventType.ADDED, self.copy(name), version))
            if self.chance.random() < 0.05:  # the stream is lost, and begins again
                return [*events, *self.snapshot()]
        return [*events, event(EventType.SYNCED, None, str(self.version))]


class Subscriber:
    """Checks that the calls for each object follow from each other."""

    def __init__(self, state: StoreState) -> None:
        self.state = state
        self.queue = state.subscribe(lambda: None)
        self.received: dict[Key, Stored] = {}

    def take(self) -> bool:
        present = {key_of(each) for each in self.state.stored()}
        assert len(self.queue) <= len(self.received.keys() | present)
        change = self.state.take(self.queue)
        if change is None:
            assert values(self.received.values()) == values(self.state.stored())
            return False
        known = self.received.pop(change.key, None)
        assert values([known] if known else []) == values([change.old] if change.old else [])
        assert values([change.old] if change.old else []) != values(
            [change.new] if change.new else []
        )
        if change.new is not None:
            self.received[change.key] = change.new
        return True


def key_of(each: Stored) -> Key:
    return each.namespace or "", each.name


def values(objects: Any) -> list[tuple[str, str, bytes]]:
    return sorted((each.name, each.uid, each.raw) for each in objects)


@pytest.mark.parametrize("seed", range(60))
def test_follows_random_events(seed: int) -> None:
    chance = random.Random(seed)
    cluster = Cluster(chance)
    state = StoreState({"node": "node"}, nullcontext(), Position())
    subscribers = [Subscriber(state)]
    delivered: list[Event] = []
    visible: list[tuple[str, str, bytes]] = []
    for _ in range(40):
        events: list[Event]
        if chance.random() < 0.15 or not state.synced:
            events = cluster.snapshot()
        else:
            events = []
            if delivered and chance.random() < 0.2:  # the last deletion is sent a second time
                events += [each for each in delivered[-1:] if each.type is EventType.DELETED]
            events += [cluster.change() for _ in range(chance.randrange(5))]
        for each in events:
            state.apply(each, None)
            if state.within_snapshot:
                assert values(state.stored()) == visible
            visible = values(state.stored())
            for subscriber in subscribers:
                while chance.random() < 0.4:
                    subscriber.take()
        delivered = events or delivered
        assert visible == values(cluster.objects.values())
        for node in ("n1", "n2", "n3"):
            on_node = [each for each in cluster.objects.values() if each["node"] == node]
            assert values(state.by_index("node", node)) == values(on_node)
        if chance.random() < 0.1:
            subscribers.append(Subscriber(state))
    for subscriber in subscribers:
        while subscriber.take():
            pass
    assert len(state) == len(cluster.objects)


@pytest.mark.parametrize("seed", range(30))
def test_calls_a_subscriber_that_is_not_behind_for_each_difference(seed: int) -> None:
    chance = random.Random(seed)
    cluster, world = Cluster(chance), World()
    for each in cluster.snapshot():
        world.apply(each.type, each.object, int(each.resource_version or 0))
    for _ in range(20):
        before = {name: (each.uid, each.raw) for name, each in cluster.objects.items()}
        for _ in range(chance.randrange(4)):
            cluster.change()  # missed by the stream
        calls = []
        for each in cluster.snapshot():
            calls += world.apply(each.type, each.object, int(each.resource_version or 0))
        after = {name: (each.uid, each.raw) for name, each in cluster.objects.items()}
        differ = {name for name in before | after if before.get(name) != after.get(name)}
        assert sorted(re_name(call) for call in calls) == sorted(differ)


def re_name(call: str) -> str:
    return call.strip("!>")[0]

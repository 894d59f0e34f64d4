"""Tests of the changes that the events of a watch are."""

from __future__ import annotations

from kubeconnect import EventType, Object, ObjectEvent, Resource, StreamEvent
from kubeconnect._cli._changes import Change, ChangeTracker, latest
from tests.fake import pod

PODS = Resource("", "v1", "Pod", "pods", namespaced=True)


def web(version: str = "1", uid: str = "u1", *, name: str = "web", content: bool = True) -> Object:
    message = pod(name, version=version)
    message.uid = uid
    if not content:
        message.ClearField("content")
    return Object(message, PODS)


def applied(tracker: ChangeTracker, type: EventType, object: Object | None = None) -> list[str]:
    """Return the changes of an event as text."""
    event = ObjectEvent(type, object, "9") if object else StreamEvent(type, "9")  # type: ignore[arg-type]
    return [
        f"{each.type} {each.object.name} {each.object.resource_version}"
        + (" initial" if each.initial else "")
        for each in tracker.apply(event)
    ]


def synced(*objects: Object) -> ChangeTracker:
    """Return a tracker with a complete snapshot."""
    tracker = ChangeTracker()
    applied(tracker, EventType.RESET)
    for each in objects:
        assert applied(tracker, EventType.ADDED, each) == []
    applied(tracker, EventType.SYNCED)
    return tracker


def test_the_first_snapshot_is_reported_when_it_is_complete() -> None:
    tracker = ChangeTracker()
    assert applied(tracker, EventType.RESET) == []
    assert applied(tracker, EventType.ADDED, web("1")) == []
    assert applied(tracker, EventType.ADDED, web("1", "u2", name="api")) == []
    assert applied(tracker, EventType.MODIFIED, web("2")) == []
    assert applied(tracker, EventType.DELETED, web(name="api")) == []
    assert applied(tracker, EventType.SYNCED) == ["ADDED web 2 initial"]


def test_changes_are_reported() -> None:
    tracker = synced(web("1"))
    assert applied(tracker, EventType.MODIFIED, web("2")) == ["MODIFIED web 2"]
    assert applied(tracker, EventType.ADDED, web("3", "u2", name="api")) == ["ADDED api 3"]
    assert applied(tracker, EventType.DELETED, web("4")) == ["DELETED web 4"]
    assert applied(tracker, EventType.DELETED, web("4")) == []
    assert applied(tracker, EventType.BOOKMARK) == []


def test_a_deletion_without_content_has_the_last_state() -> None:
    tracker = synced(web("1"))
    assert applied(tracker, EventType.DELETED, web("5", content=False)) == ["DELETED web 1"]


def test_an_object_that_was_recreated_is_another_one() -> None:
    tracker = synced(web("1"))
    changes = applied(tracker, EventType.MODIFIED, web("5", "u2"))
    assert changes == ["DELETED web 1", "ADDED web 5"]


def test_a_new_snapshot_reports_what_differs() -> None:
    same, changed, gone = web("1"), web("1", "u2", name="api"), web("1", "u3", name="gone")
    tracker = synced(same, changed, gone)
    applied(tracker, EventType.RESET)
    for each in (same, web("2", "u2", name="api"), web("7", "u7", name="new")):
        applied(tracker, EventType.ADDED, each)
    assert applied(tracker, EventType.SYNCED) == ["DELETED gone 1", "MODIFIED api 2", "ADDED new 7"]


def test_the_changes_of_an_object_are_combined() -> None:
    first, second = web("1"), web("2")
    other = web("1", "u2", name="api")

    def combined(*changes: Change) -> list[tuple[str, str]]:
        return [(each.type, each.object.resource_version) for each in latest(changes)]

    added, modified = Change("ADDED", first, initial=True), Change("MODIFIED", second)
    deleted = Change("DELETED", second)
    assert combined(added, modified) == [("ADDED", "2")]
    assert latest([added, modified])[0].initial
    assert combined(added, deleted) == []
    assert combined(modified, deleted) == [("DELETED", "2")]
    assert combined(modified, Change("MODIFIED", web("3"))) == [("MODIFIED", "3")]
    assert combined(deleted, Change("ADDED", other)) == [("DELETED", "2"), ("ADDED", "1")]

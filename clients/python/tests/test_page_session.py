"""Tests of the state of a live page, without a connection and without a clock."""

from __future__ import annotations

from typing import Any

import grpc
import pytest

from kubeconnect import Internal, Object, ObjectKey
from kubeconnect._errors import Unavailable
from kubeconnect._page_session import PageSession
from kubeconnect._pages import AnyPage, Place
from kubeconnect.v1 import watch_pb2 as pb
from tests.fake import event, pod
from tests.live import FRESH, STALE, left, page, placed, state

ADDED, MODIFIED = pb.EVENT_TYPE_ADDED, pb.EVENT_TYPE_MODIFIED
MOVED = pb.EVENT_TYPE_MOVED
RESET = event(pb.EVENT_TYPE_RESET, None, "")
SYNCED = event(pb.EVENT_TYPE_SYNCED, None, "9")
BOOKMARK = event(pb.EVENT_TYPE_BOOKMARK, None, "9")
LOST = Unavailable(grpc.StatusCode.UNAVAILABLE, "lost")
FIRST = page(
    "t1", RESET, *[placed(ADDED, name, place) for place, name in enumerate("abc")], SYNCED,
    state=state(5), freshness=FRESH,
)  # fmt: skip


def session(*received: pb.WatchResponse) -> PageSession:
    """Return a session that has taken all pages."""
    request = pb.WatchRequest(resource="pods", min_resource_version="5")
    session = PageSession(request, Place(3), jitter=lambda: 0.0)
    session.open()
    for response in received:
        session.receive(response)
        session.take()
    return session


def received(session: PageSession, response: pb.WatchResponse) -> AnyPage | None:
    session.receive(response)
    return session.take()


def names(found: AnyPage | None) -> str:
    assert found is not None
    return "".join(each.name for each in found.objects)


def changes(found: AnyPage | None) -> list[tuple[str, str, int]]:
    assert found is not None
    return [(each.type.name, each.object.name, each.index) for each in found.changes]


def test_the_first_page() -> None:
    first = received(session(), FIRST)
    assert first is not None
    assert names(first) == "abc"
    assert (first.total, first.offset, first.resource_version) == (5, 0, "9")
    assert changes(first) == [("ADDED", "a", 0), ("ADDED", "b", 1), ("ADDED", "c", 2)]
    assert (first.resource.kind, first.freshness.stale) == ("Pod", False)
    assert isinstance(first.objects[0], Object)


@pytest.mark.parametrize(
    ("events", "expected", "expected_changes"),
    [
        pytest.param(
            [left(1), placed(ADDED, "d", 2)],
            "acd",
            [("DELETED", "b", 1), ("ADDED", "d", 2)],
            id="an object leaves, and another one enters",
        ),
        pytest.param([placed(MOVED, "c", 0)], "cab", [("MOVED", "c", 0)], id="an object moves"),
        pytest.param(
            [placed(MODIFIED, "a", 2, "10")], "bca", [("MODIFIED", "a", 2)], id="it changes"
        ),
    ],
)
def test_the_events_change_the_page(
    events: list[pb.Event], expected: str, expected_changes: list[tuple[str, str, int]]
) -> None:
    found = received(session(FIRST), page("t2", *events, state=state(6)))
    assert names(found) == expected
    assert changes(found) == expected_changes


def test_an_object_that_moves_keeps_its_content() -> None:
    found = received(session(FIRST), page("t2", placed(MOVED, "c", 0), state=state(5)))
    assert found is not None
    assert found.objects[0]["metadata"]["name"] == "c"


def test_a_page_in_several_messages_is_returned_when_it_is_complete() -> None:
    live = session(FIRST)
    assert received(live, page("", left(0))) is None
    assert live.request.resume_token == ""
    found = received(live, page("t2", placed(ADDED, "d", 2), state=state(4)))
    assert names(found) == "bcd"
    assert changes(found) == [("DELETED", "a", 0), ("ADDED", "d", 2)]
    assert live.request.resume_token == "t2"


@pytest.mark.parametrize(
    ("response", "is_returned"),
    [
        (page("t2", BOOKMARK, freshness=FRESH), False),
        (page("t2", BOOKMARK, freshness=STALE), True),
        (page("t2", state=state(5, version="11")), False),
        (page("t2", state=state(6)), True),
        (page("t2", state=state(5, offset=1)), True),
    ],
)
def test_a_page_is_returned_if_it_has_changed(
    response: pb.WatchResponse, is_returned: bool
) -> None:
    live = session(FIRST)
    assert (received(live, response) is not None) == is_returned
    assert live.request.resume_token == "t2"


def test_the_changes_of_a_page_that_is_sent_again_are_the_difference() -> None:
    live = session(FIRST)
    again = [placed(ADDED, "c", 0), placed(ADDED, "b", 1, "10"), placed(ADDED, "d", 2)]
    assert received(live, page("", RESET, again[0])) is None
    found = received(live, page("t2", *again[1:], SYNCED, state=state(5)))
    assert names(found) == "cbd"
    assert changes(found) == [
        ("DELETED", "a", 0),
        ("MOVED", "c", 0),
        ("MODIFIED", "b", 1),
        ("ADDED", "d", 2),
    ]
    complete = page("t3", RESET, *again, SYNCED, state=state(5))
    assert received(live, complete) is None
    found = received(live, page("t4", left(2), state=state(4)))
    assert changes(found) == [("DELETED", "d", 2)]


def test_an_object_that_was_created_again_is_another_one() -> None:
    live = session(FIRST)
    other = placed(ADDED, "a")
    other.object.uid = "other"
    again = [other, placed(ADDED, "b", 1), placed(ADDED, "c", 2)]
    found = received(live, page("t2", RESET, *again, SYNCED, state=state(5)))
    assert changes(found) == [("DELETED", "a", 0), ("ADDED", "a", 0)]


def test_the_request_has_the_place() -> None:
    live = session()
    assert live.request == pb.WatchRequest(resource="pods", limit=3, min_resource_version="5")
    live = session(FIRST)
    assert not live.is_outdated
    live.scroll(20, None, None)
    assert live.is_outdated
    expected = pb.WatchRequest(resource="pods", limit=3, offset=20, resume_token="t1")
    assert live.open() == expected
    assert not live.is_outdated
    live.scroll(None, ObjectKey("demo", "c"), 10)
    after = pb.ObjectName(namespace="demo", name="c")
    assert live.open() == pb.WatchRequest(resource="pods", limit=10, after=after, resume_token="t1")
    live.scroll(None, None, 20)
    assert live.open() == pb.WatchRequest(resource="pods", limit=20, after=after, resume_token="t1")


@pytest.mark.parametrize("after", [ObjectKey(None, "n1"), (None, "n1")])
def test_an_object_without_a_namespace(after: Any) -> None:
    live = session()
    live.scroll(None, after, None)
    assert live.request.after == pb.ObjectName(name="n1")


def test_a_page_of_the_place_before_is_not_returned() -> None:
    live = session(FIRST)
    live.scroll(1, None, None)
    assert received(live, page("t2", left(0), state=state(4))) is None
    assert live.open().resume_token == "t2"
    found = received(live, page("t3", state=state(4, offset=1)))
    assert names(found) == "bc"
    assert changes(found) == [("DELETED", "a", 0)]


def test_the_first_page_at_another_place_is_returned_also_if_it_is_the_same() -> None:
    live = session(FIRST)
    live.scroll(0, None, 5)
    live.open()
    found = received(live, page("t2", state=state(5)))
    assert names(found) == "abc"
    assert changes(found) == []


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        (placed(MOVED, "x"), "x is not on the page"),
        (placed(MODIFIED, "x"), "x is not on the page"),
        (placed(ADDED, "x", 4), "x has the place 4"),
        (left(3), "there is no object at 3"),
    ],
)
def test_an_event_that_does_not_fit_makes_the_service_send_the_page_again(
    wrong: pb.Event, problem: str
) -> None:
    live = session(FIRST)
    with pytest.raises(Internal, match=problem):
        live.receive(page("t2", wrong, state=state(5)))
    assert live.request.resume_token == ""


def test_an_empty_selection_is_reported_once() -> None:
    live = session()
    assert names(received(live, page("t1", RESET, SYNCED, state=state(0)))) == ""
    assert live.take_empty() is not None
    received(live, page("t2", placed(ADDED, "a"), state=state(1)))
    received(live, page("t3", left(0), state=state(0)))
    assert live.take_empty() is None
    assert live.selection == "page of pods"


def test_objects_of_pages_are_compared_as_they_were_sent() -> None:
    live = session(FIRST)
    changed = placed(ADDED, "a")
    changed.object.CopyFrom(pod("a", spec={"nodeName": "n1"}))
    again = [changed, placed(ADDED, "b", 1), placed(ADDED, "c", 2)]
    found = received(live, page("t2", RESET, *again, SYNCED, state=state(5)))
    assert changes(found) == [("MODIFIED", "a", 0)]

"""Tests of the state of a watch, without a connection and without a clock."""

from __future__ import annotations

from datetime import datetime, timezone

import grpc
import pytest

from kubeconnect import (
    Connection,
    EventType,
    Freshness,
    Internal,
    Object,
    ObjectEvent,
    StreamEvent,
)
from kubeconnect._errors import InvalidArgument, KubeconnectError, Unauthenticated, Unavailable
from kubeconnect._watch_session import FIRST_MESSAGE_SECONDS, QUIET_SECONDS, WatchSession
from kubeconnect.v1 import watch_pb2
from kubeconnect.v1.status_pb2 import Status
from tests.fake import batch, event, pod

Code = grpc.StatusCode
RESET = event(watch_pb2.EVENT_TYPE_RESET, None, "")
ADDED = event(watch_pb2.EVENT_TYPE_ADDED, pod("a"), "7")
SYNCED = event(watch_pb2.EVENT_TYPE_SYNCED, None, "9")
BOOKMARK = event(watch_pb2.EVENT_TYPE_BOOKMARK, None, "10")
CONTACT = datetime(2026, 1, 2, 12, 31, 7, tzinfo=timezone.utc)
UNKNOWN = event(99, None, "")  # type: ignore[arg-type]
LOST = Unavailable(Code.UNAVAILABLE, "lost")


def session(
    *received: watch_pb2.WatchResponse, token: str = "", jitter: float = 0.0, reconnect: bool = True
) -> WatchSession:
    """Return a session that has taken all received events."""
    request = watch_pb2.WatchRequest(resource="pods", resume_token=token, min_resource_version="5")
    session = WatchSession(request, reconnect=reconnect, jitter=lambda: jitter)
    for response in received:
        session.receive(response)
        while session.take():
            pass
    return session


@pytest.mark.parametrize(
    ("received", "token", "version"),
    [
        pytest.param([], "t4", "5", id="the caller's token before the first message"),
        pytest.param([batch("t9", RESET, SYNCED)], "t9", "", id="the last token"),
        pytest.param([batch("t9", SYNCED), batch("t10", UNKNOWN)], "t10", "", id="of no event"),
        pytest.param([batch("t9", SYNCED), batch("", RESET)], "", "5", id="none in a snapshot"),
    ],
)
def test_resumes_from(received: list[watch_pb2.WatchResponse], token: str, version: str) -> None:
    request = session(*received, token="t4").request
    assert request == watch_pb2.WatchRequest(
        resource="pods", resume_token=token, min_resource_version=version
    )


def test_token_follows_the_taken_events() -> None:
    watch = session(batch("t9", SYNCED))
    watch.receive(batch("t10", ADDED, ADDED))
    assert watch.resume_token == "t9"
    watch.take()
    assert watch.resume_token == "t9"
    watch.take()
    assert watch.resume_token == "t10"


def test_token_is_dropped_when_reset_is_taken() -> None:
    watch = session(batch("t9", SYNCED))
    watch.receive(batch("t10", RESET, SYNCED))
    assert watch.resume_token == "t9"
    watch.take()
    assert watch.resume_token is None
    watch.take()
    assert watch.resume_token == "t10"


def test_waits_longer_after_each_failure_up_to_a_limit() -> None:
    watch = session(batch("", RESET))
    assert [watch.delay_after(LOST) for _ in range(7)] == [0.1, 0.2, 0.4, 0.8, 1.6, 2.5, 2.5]


def test_half_of_each_wait_is_random() -> None:
    watch = session(batch("", RESET), jitter=0.5)
    assert watch.delay_after(LOST) == pytest.approx(0.15)


def test_waits_after_any_number_of_failures() -> None:
    watch = session(batch("", RESET))
    delays = [watch.delay_after(LOST) for _ in range(5000)]
    assert delays[-1] == 2.5


def test_waits_are_short_after_progress() -> None:
    watch = session(batch("t9", SYNCED))
    watch.delay_after(LOST)
    watch.receive(batch("", RESET))
    assert watch.delay_after(LOST) == 0.2
    watch.receive(batch("t10", SYNCED))
    assert watch.delay_after(LOST) == 0.1


def test_waits_for_the_delay_of_the_service() -> None:
    busy = KubeconnectError(Code.RESOURCE_EXHAUSTED, "busy", Status(retry_after_seconds=7))
    assert session(batch("t9", SYNCED)).delay_after(busy) == 7


@pytest.mark.parametrize(
    ("code", "status"),
    [
        (Code.UNAVAILABLE, None),
        (Code.UNAVAILABLE, Status(reason="ServiceUnavailable")),
        (Code.DEADLINE_EXCEEDED, None),
        (Code.INTERNAL, None),
        (Code.UNKNOWN, None),
    ],
)
def test_reconnects_after(code: Code, status: Status | None) -> None:
    error = KubeconnectError(code, "lost", status)
    assert session(batch("t9", SYNCED)).delay_after(error) is not None


@pytest.mark.parametrize(
    ("code", "status"),
    [
        (Code.INVALID_ARGUMENT, None),
        (Code.NOT_FOUND, None),
        (Code.PERMISSION_DENIED, None),
        (Code.UNAUTHENTICATED, None),
        (Code.UNIMPLEMENTED, None),
        (Code.CANCELLED, None),
        (Code.RESOURCE_EXHAUSTED, None),
        (Code.INTERNAL, Status(reason="InternalError")),
    ],
)
def test_gives_up_after(code: Code, status: Status | None) -> None:
    error = KubeconnectError(code, "no", status)
    assert session(batch("t9", SYNCED)).delay_after(error) is None


def test_gives_up_if_no_message_was_ever_received() -> None:
    assert session(token="t4").delay_after(LOST) is None


def test_waits_for_a_first_stream_within_its_retry_budget() -> None:
    busy = KubeconnectError(Code.RESOURCE_EXHAUSTED, "busy", Status(retry_after_seconds=7))
    watch = WatchSession(watch_pb2.WatchRequest(), retry_budget=20)
    assert [watch.delay_after(busy) for _ in range(3)] == [7, 7, None]


def test_drops_a_token_that_the_service_does_not_read() -> None:
    """An earlier version of the service rejects the tokens of a later one. If it is not the token
    that is rejected, the snapshot is rejected too.
    """
    rejected = InvalidArgument(Code.INVALID_ARGUMENT, "resume_token is damaged")
    watch = session(batch("t9", RESET, SYNCED))
    watch.open()
    asked = [watch.delay_after(rejected), watch.open().resume_token, watch.delay_after(rejected)]
    assert asked == [0.0, "", None]


def test_drops_a_token_of_the_caller() -> None:
    rejected = InvalidArgument(Code.INVALID_ARGUMENT, "resume_token is damaged")
    watch = session(token="t4")
    asked = [watch.open().resume_token, watch.delay_after(rejected), watch.open().resume_token]
    assert asked == ["t4", 0.0, ""]
    watch.receive(batch("t9", RESET, SYNCED))
    while watch.take():
        pass
    assert watch.delay_after(rejected) is None  # it has read the token of this stream


def test_keeps_a_token_that_is_rejected_without_reconnect() -> None:
    rejected = InvalidArgument(Code.INVALID_ARGUMENT, "resume_token is damaged")
    watch = session(token="t4", reconnect=False)
    watch.open()
    assert watch.delay_after(rejected) is None
    assert watch.resume_token == "t4"


def test_without_reconnect_gives_up() -> None:
    assert session(batch("t9", SYNCED), reconnect=False).delay_after(LOST) is None


def test_the_first_message_of_each_stream_may_take_longer_than_the_others() -> None:
    watch = session()
    limits = [watch.quiet_seconds]
    for _ in range(2):
        watch.open()
        limits.append(watch.quiet_seconds)
        watch.receive(batch("t9", SYNCED))
        limits.append(watch.quiet_seconds)
    assert limits == [
        FIRST_MESSAGE_SECONDS,
        *(FIRST_MESSAGE_SECONDS, QUIET_SECONDS),
        *(FIRST_MESSAGE_SECONDS, QUIET_SECONDS),
    ]


def test_reports_the_time_of_each_connection_state() -> None:
    times = [datetime(2026, 1, 2, 12, minute, tzinfo=timezone.utc) for minute in range(4)]
    watch = WatchSession(watch_pb2.WatchRequest(), clock=iter(times).__next__)
    said = [watch.connection]
    for response in (batch("t9", RESET), batch("t9", SYNCED)):
        watch.receive(response)
        said.append(watch.connection)
    for _ in range(2):
        watch.delay_after(LOST)
        said.append(watch.connection)
    watch.open()
    said.append(watch.connection)
    watch.receive(batch("t10", BOOKMARK))
    said.append(watch.connection)
    assert said == [
        Connection(False, times[0]),
        *[Connection(True, times[1])] * 2,
        *[Connection(False, times[2])] * 3,
        Connection(True, times[3]),
    ]


def test_is_stale_from_the_loss_of_a_stream_until_the_next_report() -> None:
    fresh = batch("t9", SYNCED)
    fresh.freshness.last_contact_time.FromDatetime(CONTACT)
    watch = session(fresh)
    said = [watch.freshness]
    watch.delay_after(LOST)
    said.append(watch.freshness)
    watch.open()
    watch.receive(batch("t10", ADDED))
    said.append(watch.freshness)
    watch.receive(fresh)
    said.append(watch.freshness)
    assert said == [
        Freshness(False, CONTACT),
        Freshness(True, CONTACT),
        Freshness(True, CONTACT),
        Freshness(False, CONTACT),
    ]


def test_is_stale_after_a_final_error() -> None:
    watch = session(batch("t9", SYNCED))
    assert watch.freshness is None
    watch.delay_after(KubeconnectError(Code.PERMISSION_DENIED, "no"))
    assert watch.freshness == Freshness(True, None)


@pytest.mark.parametrize("reconnect", [True, False])
@pytest.mark.parametrize("renews", [True, False])
def test_waits_for_a_token_that_comes_late(renews: bool, reconnect: bool) -> None:
    """The first stream is not opened again, so that wrong credentials are reported immediately."""
    request = watch_pb2.WatchRequest(resource="pods")
    watch = WatchSession(request, reconnect=reconnect, renews=renews, jitter=lambda: 0.0)
    expired = Unauthenticated(Code.UNAUTHENTICATED, "the credential has expired")
    rejected = [watch.delay_after(expired)]
    for token in ("t9", "t10"):
        watch.open()
        watch.receive(batch(token, SYNCED))
        while watch.take():
            pass
        for _ in range(4):
            rejected.append(watch.delay_after(expired))
            watch.open()
    if renews and reconnect:
        assert rejected == [None, *[0.0, 0.1, 0.2, 0.4] * 2]
    else:
        assert rejected == [None] * 9
    assert watch.request.resume_token == "t10"


def test_applies_changes_within_a_snapshot() -> None:
    patch = event(watch_pb2.EVENT_TYPE_MODIFIED, pod("a", version="8"), "8")
    patch.object.json = b'[{"op":"add","path":"/spec","value":{"x":1}}]'
    patch.patch_format = watch_pb2.PATCH_FORMAT_JSON
    steps = [
        RESET,
        ADDED,
        event(watch_pb2.EVENT_TYPE_ADDED, pod("b"), "6"),
        patch,
        event(watch_pb2.EVENT_TYPE_DELETED, pod("b", version="7"), "9"),
        event(watch_pb2.EVENT_TYPE_DELETED, pod("not-held"), "10"),
        event(watch_pb2.EVENT_TYPE_ADDED, pod("b", version="11"), "11"),
        event(watch_pb2.EVENT_TYPE_SYNCED, None, "11"),
    ]
    request = watch_pb2.WatchRequest(resource="pods", patch_format=watch_pb2.PATCH_FORMAT_JSON)
    watch = WatchSession(request)
    held: dict[str, Object] = {}
    for step, token in zip(steps, [""] * 7 + ["t11"], strict=True):
        watch.receive(batch(token, step))
        while taken := watch.take():
            if taken.type is EventType.DELETED and taken.object:
                held.pop(taken.object.name, None)
            elif taken.object:
                held[taken.object.name] = taken.object
        assert watch.resume_token == (token or None)
    assert {name: each.resource_version for name, each in held.items()} == {"a": "8", "b": "11"}
    assert held["a"]["spec"] == {"x": 1}


def test_an_event_has_an_object_if_its_type_says_so() -> None:
    watch = session()
    watch.receive(batch("t", RESET, ADDED, SYNCED))
    events = [watch.take() for _ in range(3)]
    assert [type(each) for each in events] == [StreamEvent, ObjectEvent, StreamEvent]
    assert [each and each.object and each.object.name for each in events] == [None, "a", None]


def test_a_change_without_an_object_is_an_error() -> None:
    watch = session(batch("t9", RESET, SYNCED))
    with pytest.raises(Internal, match="invalid response: DELETED without an object"):
        watch.receive(batch("t10", event(watch_pb2.EVENT_TYPE_DELETED, None, "10")))


def test_bookmark_version_never_decreases() -> None:
    watch = session()
    deleted = event(watch_pb2.EVENT_TYPE_DELETED, pod("a", version="99"), "100")
    older, newer = (
        event(watch_pb2.EVENT_TYPE_BOOKMARK, None, version) for version in ("98", "101")
    )
    restored = event(watch_pb2.EVENT_TYPE_SYNCED, None, "50")
    later = event(watch_pb2.EVENT_TYPE_BOOKMARK, None, "51")
    watch.receive(batch("t", SYNCED, deleted, older, newer, older, RESET, restored, later))
    said = []
    while taken := watch.take():
        said.append(taken.resource_version)
    assert said == ["9", "100", "100", "101", "101", None, "50", "51"]


def test_bookmark_without_a_version_keeps_the_version() -> None:
    watch = session()
    waiting = event(watch_pb2.EVENT_TYPE_BOOKMARK, None, "")
    watch.receive(batch("t", SYNCED, waiting))
    said = []
    while taken := watch.take():
        said.append(taken.resource_version)
    assert said == ["9", "9"]


def test_version_without_order_is_returned_unchanged() -> None:
    watch = session()
    strange = event(watch_pb2.EVENT_TYPE_BOOKMARK, None, "v2-a")
    watch.receive(batch("t", SYNCED, strange))
    watch.take()
    taken = watch.take()
    assert taken is not None
    assert taken.resource_version == "v2-a"


def test_reports_the_current_namespaces_and_warnings() -> None:
    def covers(*warnings: str, namespaces: str = "", kind: bool = False) -> watch_pb2.WatchResponse:
        response = batch("t", BOOKMARK, kind=kind)
        response.warnings.extend(warnings)
        response.namespaces.extend(namespaces.split())
        return response

    watch = session()
    said = []
    for response in (
        covers("some only", namespaces="a b", kind=True),
        covers(),
        covers("1 of 7"),
        covers("2 of 9"),
        covers(namespaces="a"),
        covers(kind=True),
    ):
        watch.receive(response)
        said.append((watch.warnings, watch.namespaces))
    assert said == [
        (("some only",), ("a", "b")),
        (("some only",), ("a", "b")),
        (("some only", "1 of 7"), ("a", "b")),
        (("some only", "2 of 9"), ("a", "b")),
        (("some only", "2 of 9"), ("a",)),
        ((), ()),
    ]

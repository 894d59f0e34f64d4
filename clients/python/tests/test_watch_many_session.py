"""Tests of the state of several watches, without a connection and without a clock."""

from __future__ import annotations

import grpc
import pytest

from kubeconnect import Freshness
from kubeconnect._errors import Unavailable
from kubeconnect._watch_many_session import WatchManySession
from kubeconnect._watch_session import FIRST_MESSAGE_SECONDS, QUIET_SECONDS
from kubeconnect.v1 import watch_pb2 as pb
from tests.fake import event, of_watch, pod

RESET = event(pb.EVENT_TYPE_RESET, None, "")
ADDED = event(pb.EVENT_TYPE_ADDED, pod("a"), "7")
SYNCED = event(pb.EVENT_TYPE_SYNCED, None, "9")
BOOKMARK = event(pb.EVENT_TYPE_BOOKMARK, None, "10")
WAITING = event(pb.EVENT_TYPE_BOOKMARK, None, "")
LOST = Unavailable(grpc.StatusCode.UNAVAILABLE, "lost")


def session(*received: pb.WatchManyResponse, token: str = "") -> WatchManySession[str]:
    """Return a session of two watches that has taken all received events."""
    watches = [
        pb.WatchSpec(resource="pods", min_resource_version="5"),
        pb.WatchSpec(resource="nodes", min_resource_version="6"),
    ]
    request = pb.WatchManyRequest(watches=watches, resume_token=token)
    session = WatchManySession(("a", "b"), request, jitter=lambda: 0.0)
    for response in received:
        session.receive(response)
        while session.take():
            pass
    return session


@pytest.mark.parametrize(
    ("received", "token", "versions", "synced"),
    [
        pytest.param([], "t0", ["5", "6"], False, id="before the first message"),
        pytest.param([of_watch(0, "t1", BOOKMARK)], "t1", ["", "6"], False, id="one has delivered"),
        pytest.param(
            [of_watch(0, "t1", RESET, SYNCED), of_watch(1, "t2", WAITING)],
            "t2",
            ["", "6"],
            False,
            id="one waits for its first snapshot",
        ),
        pytest.param(
            [of_watch(0, "t1", RESET, SYNCED), of_watch(1, "t2", RESET, ADDED)],
            "t2",
            ["", "6"],
            False,
            id="one is within its snapshot",
        ),
        pytest.param(
            [of_watch(0, "t1", BOOKMARK), of_watch(1, "t2", RESET), of_watch(1, "t3", SYNCED)],
            "t3",
            ["", ""],
            True,
            id="all have theirs",
        ),
        pytest.param(
            [of_watch(0, "t1", BOOKMARK), of_watch(1, "t2", BOOKMARK), of_watch(0, "t3", RESET)],
            "t3",
            ["5", ""],
            False,
            id="one resyncs",
        ),
    ],
)
def test_resumes_from_one_token_and_with_versions_not_yet_reached(
    received: list[pb.WatchManyResponse], token: str, versions: list[str], synced: bool
) -> None:
    watches = session(*received, token="t0")
    request = watches.request
    assert request.resume_token == token
    assert [watch.min_resource_version for watch in request.watches] == versions
    assert [watch.resource for watch in request.watches] == ["pods", "nodes"]
    assert watches.synced is synced


def test_token_follows_the_taken_events() -> None:
    watches = session(of_watch(0, "t1", SYNCED), of_watch(1, "t2", SYNCED))
    watches.receive(of_watch(0, "t3", BOOKMARK, RESET, ADDED))
    tokens = []
    while watches.take():
        tokens.append(watches.resume_token)
    assert tokens == ["t2", None, "t3"]


def test_waits_longer_until_all_are_synced() -> None:
    watches = session(of_watch(0, "t1", RESET, SYNCED), of_watch(1, "t2", RESET))
    delays = [watches.delay_after(LOST)]
    watches.receive(of_watch(0, "t3", BOOKMARK))
    watches.take()
    delays.append(watches.delay_after(LOST))
    watches.receive(of_watch(1, "t4", SYNCED))
    watches.take()
    delays.append(watches.delay_after(LOST))
    assert delays == [0.1, 0.2, 0.1]


def test_the_first_message_may_take_longer_than_the_others() -> None:
    assert session().quiet_seconds == FIRST_MESSAGE_SECONDS
    assert session(of_watch(1, "t1", RESET)).quiet_seconds == QUIET_SECONDS


def test_all_are_stale_from_the_loss_of_the_stream() -> None:
    watches = session(of_watch(0, "t1", RESET, SYNCED))
    assert watches.freshness == {}
    watches.delay_after(LOST)
    assert watches.freshness == {"a": Freshness(True, None)}
    assert not watches.connection.connected
    fresh = of_watch(0, "t2", BOOKMARK)
    fresh.response.freshness.SetInParent()
    watches.receive(fresh)
    assert watches.freshness == {"a": Freshness(False, None)}
    assert watches.connection.connected


def test_reports_the_namespaces_and_warnings_of_each_watch() -> None:
    some = of_watch(1, "t1", RESET)
    some.response.warnings.append("some only")
    some.response.namespaces.append("demo")
    watches = session(of_watch(0, "t1", RESET), some)
    assert watches.warnings == {"a": (), "b": ("some only",)}
    assert watches.namespaces == {"a": (), "b": ("demo",)}

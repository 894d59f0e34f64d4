"""Tests of the state of live counts, without a connection and without a clock."""

from __future__ import annotations

from typing import Any

import grpc
import pytest

from kubeconnect import Internal, Source
from kubeconnect._counts_session import CountsSession
from kubeconnect._errors import DeadlineExceeded, Unavailable
from kubeconnect.v1 import watch_counts_pb2 as pb
from tests.live import STALE, counts, group, total

LOST = Unavailable(grpc.StatusCode.UNAVAILABLE, "lost")
LATE = DeadlineExceeded(grpc.StatusCode.DEADLINE_EXCEEDED, "not reached")
FIRST = counts("5", group("a", 1), group("b", 2), reset=True)


def session(*received: pb.WatchCountsResponse, names: tuple[str, ...] = ()) -> CountsSession:
    """Return a session that has taken all counts."""
    request = pb.WatchCountsRequest(resource="pods", namespace="demo", group_by=["spec.nodeName"])
    session = CountsSession(request, names, jitter=lambda: 0.0)
    for response in received:
        session.receive(response)
        session.take()
    return session


def groups(session: CountsSession, response: pb.WatchCountsResponse) -> list[tuple[Any, int]]:
    session.receive(response)
    counts = session.take()
    assert counts is not None
    return [(each.values[0], each.count) for each in counts.groups]


def test_the_first_message_has_all_groups() -> None:
    live = session()
    live.receive(FIRST)
    first = live.take()
    assert first is not None
    assert (first.total, first.resource_version, first.group_by) == (3, "5", ("spec.nodeName",))
    assert (first.resource.kind, first.source) == ("Pod", Source.CACHE)
    assert live.take() is None


@pytest.mark.parametrize(
    ("response", "expected"),
    [
        pytest.param(counts("6", group("a", 4)), [("a", 4), ("b", 2)], id="a larger group"),
        pytest.param(counts("6", group("b", 0)), [("a", 1)], id="a group that is gone"),
        pytest.param(
            counts("6", group("web-10", 1), group("web-2", 1)),
            [("b", 2), ("a", 1), ("web-2", 1), ("web-10", 1)],
            id="groups of the same size are in order of their values",
        ),
        pytest.param(counts("6", group("c", 1), reset=True), [("c", 1)], id="a reset"),
        pytest.param(
            counts("6", group(True, 3), group(1, 4), reset=True),
            [(1, 4), (True, 3)],
            id="True is another value than 1",
        ),
        pytest.param(
            counts("6", group("x", 0), total=4), [("b", 2), ("a", 1)], id="an unknown group"
        ),
    ],
)
def test_a_later_message_has_the_difference(
    response: pb.WatchCountsResponse, expected: list[tuple[Any, int]]
) -> None:
    assert groups(session(FIRST), response) == expected


@pytest.mark.parametrize(
    ("response", "is_returned"),
    [
        (counts("6"), False),
        (counts("6", total=4), True),
        (counts("6", freshness=STALE), True),
        (counts("6", group("a", 1), group("b", 2), reset=True), False),
    ],
)
def test_counts_are_returned_if_they_have_changed(
    response: pb.WatchCountsResponse, is_returned: bool
) -> None:
    live = session(FIRST)
    live.receive(response)
    assert (live.take() is not None) == is_returned


def test_the_aggregates_have_the_names_of_the_request() -> None:
    response = counts("5", group("a", 1), reset=True)
    response.aggregates.append(total(0.5, "0.5"))
    response.groups[0].aggregates.append(total(0.5, "0.5"))
    live = session(names=("cpu",))
    live.receive(response)
    found = live.take()
    assert found is not None
    assert found.groups[0].aggregates == found.aggregates
    assert str(found.aggregates["cpu"].exact) == "0.5"


def test_a_message_without_the_aggregates_is_invalid() -> None:
    with pytest.raises(Internal, match="0 aggregates for 1"):
        session(names=("cpu",)).receive(counts("5", reset=True))


def test_a_message_while_the_stream_waits_has_no_counts() -> None:
    live = session()
    live.receive(counts("", total=0, freshness=STALE))
    assert live.take() is None
    assert live.reader.freshness is not None
    assert live.reader.freshness.stale
    assert live.connection.connected


def test_a_later_stream_begins_at_the_version_of_the_last_counts() -> None:
    live = session(FIRST, counts("6", total=4))
    assert live.delay_after(LOST) == 0.1
    assert live.request.min_resource_version == "6"
    assert live.delay_after(LATE) is not None
    assert live.request.min_resource_version == ""


def test_an_empty_selection_is_reported_once() -> None:
    live = session(counts("5", total=0, reset=True))
    empty = live.take_empty()
    assert empty is not None
    assert (empty.resource, empty.namespace) == ("pods", "demo")
    live.receive(counts("6", total=1))
    live.receive(counts("7", total=0))
    assert live.take_empty() is None
    assert live.selection == "counts of pods demo"

"""Tests of the state of the logs of several pods, without a connection and without a clock."""

from __future__ import annotations

from datetime import datetime, timezone

import pytest

from kubeconnect import LogEvent, LogEventType
from kubeconnect import _log_lines_session as sessions
from kubeconnect._log_lines_session import LogLinesSession
from kubeconnect.v1 import log_lines_pb2 as pb
from tests.live import began, line

BEGIN = datetime(2026, 1, 2, 12, 0, 0, tzinfo=timezone.utc)
EVENTS: list[LogEvent] = []


def session(*received: pb.GetLogLinesResponse, **request: object) -> LogLinesSession:
    """Return a session that has taken all lines."""
    EVENTS.clear()
    message = pb.GetLogLinesRequest(namespace="demo", **request)  # type: ignore[arg-type]
    session = LogLinesSession(message, EVENTS.append, jitter=lambda: 0.0, clock=lambda: BEGIN)
    for response in received:
        session.receive(response)
        while session.take():
            pass
    return session


def positions(session: LogLinesSession) -> list[tuple[str, int, int]]:
    return [(each.pod, each.time.seconds, each.sequence) for each in session.request.resume_after]


def test_events_are_reported_before_the_lines_that_follow() -> None:
    logs = session()
    logs.receive(pb.GetLogLinesResponse(events=[began("web")], lines=[line("web", "a")]))
    assert EVENTS == []
    found = logs.take()
    assert found is not None
    assert (found.text, str(found), found.timestamp) == ("a", "a", "1970-01-01T00:00:01.000000005Z")
    assert [each.type for each in EVENTS] == [LogEventType.BEGAN]
    assert str(EVENTS[0]) == "log demo/web/main began: Started"
    assert logs.take() is None


def test_an_event_of_an_unknown_type_is_skipped() -> None:
    session(pb.GetLogLinesResponse(events=[pb.LogEvent(type=99)]))  # type: ignore[arg-type]
    assert EVENTS == []


def test_continues_after_the_last_line_of_each_container() -> None:
    logs = session(
        pb.GetLogLinesResponse(lines=[line("web", "a"), line("db", "b", at=2)]),
        pb.GetLogLinesResponse(lines=[line("web", "c", at=3), line("web", "d", at=3, sequence=1)]),
        pb.GetLogLinesResponse(),
    )
    assert positions(logs) == [("db", 2, 0), ("web", 3, 1)]


def test_continues_after_positions_of_lines_that_were_left_out() -> None:
    position = pb.LogPosition(namespace="demo", pod="web", container="main", sequence=4)
    position.time.FromSeconds(9)
    logs = session(
        pb.GetLogLinesResponse(lines=[line("web", "a")]),
        pb.GetLogLinesResponse(positions=[position]),
    )
    assert positions(logs) == [("web", 9, 4)]


def test_the_first_request_is_that_of_the_caller() -> None:
    request = session(since_seconds=60, follow=True, tail_lines=3).request
    assert request == pb.GetLogLinesRequest(
        namespace="demo", since_seconds=60, follow=True, tail_lines=3
    )


def test_a_later_request_has_the_same_begin_and_the_rest_of_the_limits() -> None:
    lines = [line("web", "abc"), line("web", "d", at=2)]
    logs = session(
        pb.GetLogLinesResponse(lines=lines), since_seconds=60, limit_lines=5, limit_bytes=10
    )
    request = logs.request
    assert not request.HasField("since_seconds")
    assert request.since_time.ToJsonString() == "2026-01-02T11:59:00Z"
    assert (request.limit_lines, request.limit_bytes) == (3, 6)


def test_the_number_of_positions_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "MAX_POSITIONS", 2)
    lines = [line("a", "1"), line("b", "1"), line("a", "2", at=2), line("c", "1")]
    assert positions(session(pb.GetLogLinesResponse(lines=lines))) == [("a", 2, 0), ("c", 1, 0)]


def test_the_end_of_a_stream_is_the_end_of_the_logs() -> None:
    reached = pb.LogEvent(type=pb.LOG_EVENT_TYPE_LIMIT_REACHED)
    of_pod = pb.LogEvent(type=pb.LOG_EVENT_TYPE_LIMIT_REACHED, pod="web")
    assert session().is_finite
    assert not session(follow=True).is_finite
    assert session(pb.GetLogLinesResponse(events=[reached]), follow=True).is_finite
    assert not session(pb.GetLogLinesResponse(events=[of_pod]), follow=True).is_finite


def test_the_namespaces_remain_until_they_change() -> None:
    first = pb.GetLogLinesResponse(namespaces=["demo", "web"], warnings=["only of some"])
    logs = session(first, pb.GetLogLinesResponse())
    assert (logs.namespaces, logs.warnings) == (("demo", "web"), ("only of some",))
    logs.receive(pb.GetLogLinesResponse(covers_all=True))
    assert logs.namespaces == ()
    assert logs.selection == "logs of pods demo"

from datetime import datetime, timezone

import grpc
import pytest

from kubeconnect import DeadlineExceeded, Forbidden, LineFilter, LogEvent, Unavailable, selected_by
from kubeconnect.aio import AsyncClient
from kubeconnect.v1 import log_lines_pb2 as pb
from kubeconnect.v1 import relation_pb2
from tests.fake import End, Failure, FakeService, Silence
from tests.live import began, line
from tests.logs import logged_messages

A = pb.GetLogLinesResponse(events=[began("web")], lines=[line("web", "a"), line("db", "b")])


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kubeconnect._watch_session.FIRST_DELAY_SECONDS", 0.0)


async def test_yields_the_lines_of_all_pods(client: AsyncClient, service: FakeService) -> None:
    service.play(A, pb.GetLogLinesResponse(), End())
    events: list[LogEvent] = []
    async with client.log_lines(namespace="demo", on_event=events.append) as logs:
        found = [each async for each in logs]
    assert [(each.pod, each.container, each.text) for each in found] == [
        ("web", "main", "a"),
        ("db", "main", "b"),
    ]
    assert found[0].time == datetime(1970, 1, 1, 0, 0, 1, tzinfo=timezone.utc)
    assert [each.pod for each in events] == ["web"]


async def test_requests_the_selection(client: AsyncClient, service: FakeService) -> None:
    service.play(A, End())
    async with client.log_lines(
        namespace="demo",
        label_selector="app=web",
        related=selected_by("deployments", "web", namespace="demo"),
        container="web|proxy",
        exclude_container="istio-.*",
        follow=True,
        since_time=datetime(2026, 1, 2, 3, 4, 5, tzinfo=timezone.utc),
        tail_lines=0,
        line_filter=LineFilter(regex="error|warn", ignore_case=True, before_lines=2),
        limit_lines=100,
        max_logs=5,
    ) as logs:
        await anext(logs)
    request = pb.GetLogLinesRequest(
        namespace="demo",
        label_selector="app=web",
        related=relation_pb2.Relation(
            type=relation_pb2.RELATION_TYPE_SELECTED_BY,
            resource="deployments",
            namespace="demo",
            name="web",
        ),
        container="web|proxy",
        exclude_container="istio-.*",
        follow=True,
        tail_lines=0,
        line_filter=pb.LogLineFilter(regex="error|warn", ignore_case=True, before_lines=2),
        limit_lines=100,
        max_logs=5,
    )
    request.since_time.FromJsonString("2026-01-02T03:04:05Z")
    assert service.requests == [request]


async def test_continues_lost_logs(client: AsyncClient, service: FakeService) -> None:
    service.play(
        A,
        Failure(grpc.StatusCode.UNAVAILABLE, "the service stops"),
        pb.GetLogLinesResponse(lines=[line("web", "c", at=2)]),
        End(),
    )
    losses: list[str] = []

    def lost(error: Exception, delay: float) -> None:
        losses.append(str(error))

    async with client.log_lines("web", namespace="demo", on_retry=lost) as logs:
        assert [each.text async for each in logs] == ["a", "b", "c"]
    assert losses == ["the service stops"]
    assert [each.pod for each in service.requests[1].resume_after] == ["web", "db"]


async def test_ends_at_the_limit(client: AsyncClient, service: FakeService) -> None:
    reached = pb.LogEvent(type=pb.LOG_EVENT_TYPE_LIMIT_REACHED)
    service.play(pb.GetLogLinesResponse(events=[reached], lines=[line("web", "a")]), End())
    async with client.log_lines(namespace="demo", follow=True, limit_lines=1) as logs:
        assert [each.text async for each in logs] == ["a"]


async def test_followed_logs_that_end_are_lost(client: AsyncClient, service: FakeService) -> None:
    service.play(A, End())
    async with client.log_lines(follow=True, reconnect=False) as logs:
        await anext(logs)
        await anext(logs)
        with pytest.raises(Unavailable, match="the service ended the watch"):
            await anext(logs)


async def test_warns_of_logs_that_cannot_be_read(
    client: AsyncClient, service: FakeService, caplog: pytest.LogCaptureFixture
) -> None:
    failed = began("web", pb.LOG_EVENT_TYPE_FAILED)
    service.play(pb.GetLogLinesResponse(events=[began("db"), failed]), End())
    async with client.log_lines(namespace="demo") as logs:
        assert [each async for each in logs] == []
    assert logged_messages(caplog) == ["log demo/web/main failed: Started"]


async def test_raises_errors(client: AsyncClient, service: FakeService) -> None:
    service.play(A, Failure(grpc.StatusCode.PERMISSION_DENIED, "not allowed"))
    async with client.log_lines() as logs:
        assert [(await anext(logs)).text, (await anext(logs)).text] == ["a", "b"]
        with pytest.raises(Forbidden, match="not allowed"):
            await anext(logs)


async def test_ends_after_its_timeout(client: AsyncClient, service: FakeService) -> None:
    service.play(Silence())
    async with client.log_lines("web", namespace="demo", follow=True, timeout=0.05) as logs:
        with pytest.raises(DeadlineExceeded, match="logs of pods demo/web ended after"):
            await anext(logs)

from datetime import datetime, timedelta, timezone

import grpc
import pytest
from google.protobuf.timestamp_pb2 import Timestamp

from kubeconnect import Forbidden, LogStream, Unavailable
from kubeconnect.aio import AsyncClient, AsyncLog
from kubeconnect.v1 import pod_service_pb2 as pb
from kubeconnect.v1.status_pb2 import Status
from tests.fake import Failure, FakeService, Silence

LOST = Failure(grpc.StatusCode.UNAVAILABLE, "the log was cut off")


async def lines(log: AsyncLog) -> list[str]:
    return [line async for line in log]


async def test_iterates_over_lines(client: AsyncClient, service: FakeService) -> None:
    service.log = [b"one\ntwo\n", b"\n", b"three\r\n", b"no end"]
    assert await lines(client.logs("web", namespace="demo")) == [
        "one",
        "two",
        "",
        "three\r",
        "no end",
    ]


async def test_has_no_line_if_nothing_was_written(client: AsyncClient) -> None:
    assert await lines(client.logs("web", namespace="demo")) == []


async def test_joins_partial_lines_and_characters(
    client: AsyncClient, service: FakeService
) -> None:
    text = "Grüße 🌍\n".encode()
    service.log = [text[index : index + 1] for index in range(len(text))]
    assert await lines(client.logs("web", namespace="demo")) == ["Grüße 🌍"]


async def test_replaces_invalid_utf8(client: AsyncClient, service: FakeService) -> None:
    service.log = [b"a\xffb\n"]
    assert await lines(client.logs("web", namespace="demo")) == ["a\ufffdb"]


async def test_returns_bytes_unchanged(client: AsyncClient, service: FakeService) -> None:
    service.log = [b"a\xffb\nc", b"", b"d"]
    chunks = client.logs("web", namespace="demo").iter_bytes()
    assert [chunk async for chunk in chunks] == [b"a\xffb\nc", b"d"]
    assert await client.logs("web", namespace="demo").read() == b"a\xffb\ncd"


async def test_sends_all_arguments(client: AsyncClient, service: FakeService) -> None:
    await client.logs(
        "web",
        namespace="demo",
        container="main",
        follow=True,
        previous=True,
        since_seconds=1,
        since_time=datetime.fromtimestamp(7, timezone.utc) + timedelta(microseconds=999_999),
        tail_lines=0,
        limit_bytes=3,
        timestamps=True,
        stream=LogStream.STDERR,
    ).read()
    await client.logs("web", namespace="demo").read()
    assert service.requests == [
        pb.GetLogsRequest(
            name="web",
            namespace="demo",
            container="main",
            follow=True,
            previous=True,
            since_seconds=1,
            since_time=Timestamp(seconds=7),
            tail_lines=0,
            limit_bytes=3,
            timestamps=True,
            stream=pb.LOG_STREAM_STDERR,
        ),
        pb.GetLogsRequest(name="web", namespace="demo"),
    ]


async def test_raises_if_the_log_is_rejected(client: AsyncClient, service: FakeService) -> None:
    service.failure = Failure(grpc.StatusCode.PERMISSION_DENIED, status=Status(reason="Forbidden"))
    with pytest.raises(Forbidden):
        await lines(client.logs("web", namespace="demo"))


async def test_raises_if_the_log_is_lost(client: AsyncClient, service: FakeService) -> None:
    service.log = [b"one\n", LOST]
    found = aiter(client.logs("web", namespace="demo"))
    assert await anext(found) == "one"
    with pytest.raises(Unavailable):
        await anext(found)


async def test_leaving_ends_the_stream_at_the_service(
    client: AsyncClient, service: FakeService
) -> None:
    service.log = [b"one\n", Silence()]
    async with client.logs("web", namespace="demo", follow=True) as log:
        async for line in log:
            assert line == "one"
            break
    assert service.log_ended.wait(10)
    assert await lines(log) == []

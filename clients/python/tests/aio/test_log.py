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


async def test_is_told_line_by_line(client: AsyncClient, service: FakeService) -> None:
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


async def test_puts_lines_and_characters_together(
    client: AsyncClient, service: FakeService
) -> None:
    text = "Grüße 🌍\n".encode()
    service.log = [text[index : index + 1] for index in range(len(text))]
    assert await lines(client.logs("web", namespace="demo")) == ["Grüße 🌍"]


async def test_replaces_what_is_not_text(client: AsyncClient, service: FakeService) -> None:
    service.log = [b"a\xffb\n"]
    assert await lines(client.logs("web", namespace="demo")) == ["a\ufffdb"]


async def test_is_there_as_bytes(client: AsyncClient, service: FakeService) -> None:
    service.log = [b"a\xffb\nc", b"", b"d"]
    pieces = client.logs("web", namespace="demo").pieces()
    assert [piece async for piece in pieces] == [b"a\xffb\nc", b"d"]
    assert await client.logs("web", namespace="demo").read() == b"a\xffb\ncd"


async def test_asks_for_what_is_wanted(client: AsyncClient, service: FakeService) -> None:
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


async def test_raises_what_refuses_it(client: AsyncClient, service: FakeService) -> None:
    service.failure = Failure(grpc.StatusCode.PERMISSION_DENIED, status=Status(reason="Forbidden"))
    with pytest.raises(Forbidden):
        await lines(client.logs("web", namespace="demo"))


async def test_raises_what_cuts_it_off(client: AsyncClient, service: FakeService) -> None:
    service.log = [b"one\n", LOST]
    found = aiter(client.logs("web", namespace="demo"))
    assert await anext(found) == "one"
    with pytest.raises(Unavailable):
        await anext(found)


async def test_ends_at_the_service_when_it_is_left(
    client: AsyncClient, service: FakeService
) -> None:
    service.log = [b"one\n", Silence()]
    async with client.logs("web", namespace="demo", follow=True) as log:
        async for line in log:
            assert line == "one"
            break
    assert service.log_ended.wait(10)
    assert await lines(log) == []

"""Tests of watches whose selection does not exist."""

import grpc
import pytest

from kubeconnect import Status, WatchSpec
from kubeconnect.aio import AsyncClient
from kubeconnect.v1 import read_pb2, watch_pb2
from kubeconnect.v1.object_pb2 import ENCODING_JSON
from tests.fake import Failure, FakeService, event, of_watch, pod
from tests.logs import logged_messages

RESET = event(watch_pb2.EVENT_TYPE_RESET, None, "")
ADDED = event(watch_pb2.EVENT_TYPE_ADDED, pod("a", version="7"), "7")
SYNCED = event(watch_pb2.EVENT_TYPE_SYNCED, None, "9")
NAMESPACE = pod("demo", namespace="")


async def test_warns_of_a_name_that_does_not_exist(
    client: AsyncClient, service: FakeService, caplog: pytest.LogCaptureFixture
) -> None:
    service.objects = [NAMESPACE]
    service.play([RESET, SYNCED, RESET, SYNCED])
    async with client.watch("pods", namespace="demo", name="a") as events:
        seen = [(await anext(events)).type.name for _ in range(4)]
    assert seen == ["RESET", "SYNCED", "RESET", "SYNCED"]
    assert logged_messages(caplog) == ["watch of pods demo/a: there is no such object so far"]


async def test_warns_of_a_namespace_that_does_not_exist(
    client: AsyncClient, service: FakeService, caplog: pytest.LogCaptureFixture
) -> None:
    service.play([RESET, SYNCED])
    async with client.watch("pods", namespace="nosuch") as events:
        for _ in range(2):
            await anext(events)
    assert logged_messages(caplog) == [
        'watch of pods nosuch: there is no namespace "nosuch" so far'
    ]
    assert service.requests[1:] == [
        read_pb2.GetRequest(
            resource="namespaces", name="nosuch", metadata_only=True, encoding=ENCODING_JSON
        )
    ]


async def test_warns_of_each_watch_of_several(
    client: AsyncClient, service: FakeService, caplog: pytest.LogCaptureFixture
) -> None:
    service.play(of_watch(0, "t1", RESET, ADDED, SYNCED), of_watch(1, "t2", RESET, SYNCED))
    watches = {"pods": WatchSpec("pods", namespace="nosuch"), "node": WatchSpec("nodes", name="n")}
    async with client.watch_many(watches) as events:
        for _ in range(5):
            await anext(events)
    assert logged_messages(caplog) == ["watch of nodes n: there is no such object so far"]


@pytest.mark.parametrize(
    ("namespace", "name"),
    [
        pytest.param(None, None, id="without a name and a namespace"),
        pytest.param("demo", None, id="of a namespace that exists"),
    ],
)
async def test_an_empty_selection_may_be_usual(
    client: AsyncClient,
    service: FakeService,
    caplog: pytest.LogCaptureFixture,
    namespace: str | None,
    name: str | None,
) -> None:
    service.objects = [NAMESPACE]
    service.play([RESET, SYNCED])
    async with client.watch("pods", namespace=namespace, name=name) as events:
        for _ in range(2):
            await anext(events)
    assert logged_messages(caplog) == []


async def test_a_selection_with_objects_needs_no_further_call(
    client: AsyncClient, service: FakeService
) -> None:
    service.play([RESET, ADDED, SYNCED])
    async with client.watch("pods", namespace="nosuch") as events:
        for _ in range(3):
            await anext(events)
    assert len(service.requests) == 1


async def test_a_caller_who_must_not_see_the_namespace_is_not_warned(
    client: AsyncClient, service: FakeService, caplog: pytest.LogCaptureFixture
) -> None:
    service.play([RESET, SYNCED])
    async with client.watch("pods", namespace="nosuch") as events:
        await anext(events)
        service.failure = Failure(
            grpc.StatusCode.PERMISSION_DENIED, "no", Status(reason="Forbidden")
        )
        assert (await anext(events)).type.name == "SYNCED"
    assert logged_messages(caplog) == []

import math

import grpc
import pytest

from kubeconnect import (
    Consistency,
    DeadlineExceeded,
    KubeconnectError,
    NotFound,
    Resource,
    Source,
    Status,
)
from kubeconnect.aio import AsyncClient
from kubeconnect.v1 import consistency_pb2, read_pb2
from kubeconnect.v1.object_pb2 import ENCODING_JSON
from tests.fake import Failure, FakeService, pod

Code = grpc.StatusCode


async def test_returns_the_object(client: AsyncClient, service: FakeService) -> None:
    service.objects = [pod("web", spec={"nodeName": "n1"})]
    web = await client.get("pods", "web", namespace="demo")
    assert (web.namespace, web.name, web.uid, web.resource_version) == (
        "demo",
        "web",
        "uid-web",
        "7",
    )
    assert web["spec"]["nodeName"] == "n1"
    assert web.resource == Resource("", "v1", "Pod", "pods", namespaced=True)


async def test_sends_all_that_was_asked(client: AsyncClient, service: FakeService) -> None:
    service.objects = [pod("web")]
    await client.get(
        "po",
        "web",
        namespace="demo",
        subresource="status",
        fields=["status.phase", "metadata.name"],
        metadata_only=True,
        min_resource_version="5",
        consistency=Consistency.LATEST,
    )
    assert service.requests == [
        read_pb2.GetRequest(
            resource="po",
            namespace="demo",
            name="web",
            subresource="status",
            fields=["status.phase", "metadata.name"],
            metadata_only=True,
            min_resource_version="5",
            consistency=consistency_pb2.CONSISTENCY_LATEST,
            encoding=ENCODING_JSON,
        )
    ]


async def test_tells_where_it_was_read_and_how_current_it_is(
    client: AsyncClient, service: FakeService
) -> None:
    service.objects = [pod("web")]
    service.freshness = consistency_pb2.Freshness(stale=True)
    web = await client.get("pods", "web", namespace="demo")
    assert (web.source, web.freshness.stale) == (Source.CACHE, True)
    web = await client.get("pods", "web", namespace="demo", consistency=Consistency.LATEST)
    assert web.source is Source.API_SERVER


async def test_refuses_one_path_that_would_be_sent_as_its_letters(client: AsyncClient) -> None:
    with pytest.raises(TypeError, match=r"such as \['metadata.name'\]"):
        await client.get("pods", "web", fields="metadata.name")


async def test_raises_not_found_with_the_clusters_words(client: AsyncClient) -> None:
    with pytest.raises(NotFound, match='pods "web" not found') as caught:
        await client.get("pods", "web", namespace="demo")
    assert caught.value.reason == "NotFound"
    assert caught.value.status is not None
    assert caught.value.status.code == 404


async def test_raises_when_there_is_no_answer_in_time(
    client: AsyncClient, service: FakeService
) -> None:
    service.stuck = True
    with pytest.raises(DeadlineExceeded):
        await client.get("pods", "web", timeout=0.01)


@pytest.mark.parametrize("timeout", [0, -1, math.nan])
async def test_refuses_a_timeout_that_leaves_no_time(client: AsyncClient, timeout: float) -> None:
    with pytest.raises(ValueError, match="more than 0 seconds"):
        await client.get("pods", "web", timeout=timeout)


async def test_may_take_for_ever(client: AsyncClient, service: FakeService) -> None:
    service.objects = [pod("web")]
    assert await client.get("pods", "web", namespace="demo", timeout=math.inf)


@pytest.mark.parametrize("code", [Code.RESOURCE_EXHAUSTED, Code.UNAVAILABLE])
async def test_comes_back_when_the_service_says(
    client: AsyncClient,
    service: FakeService,
    code: grpc.StatusCode,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(KubeconnectError, "retry_after_seconds", 0.01)
    service.refusals.append(Failure(code, "busy", Status(retry_after_seconds=1)))
    service.objects.append(pod("web"))
    assert (await client.get("pods", "web", namespace="demo")).name == "web"
    assert len(service.requests) == 2


@pytest.mark.parametrize(
    ("failure", "timeout"),
    [
        (Failure(Code.UNAVAILABLE, "busy"), None),
        (Failure(Code.UNAVAILABLE, "busy", Status(retry_after_seconds=9)), 5),
        (Failure(Code.INTERNAL, "busy", Status(retry_after_seconds=1)), None),
    ],
)
async def test_raises_where_it_must_not_come_back(
    client: AsyncClient, service: FakeService, failure: Failure, timeout: float | None
) -> None:
    service.refusals.append(failure)
    with pytest.raises(KubeconnectError, match="busy"):
        await client.get("pods", "web", namespace="demo", timeout=timeout)
    assert len(service.requests) == 1

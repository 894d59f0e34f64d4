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


async def test_sends_all_arguments(client: AsyncClient, service: FakeService) -> None:
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


async def test_reports_source_and_freshness(client: AsyncClient, service: FakeService) -> None:
    service.objects = [pod("web")]
    service.freshness = consistency_pb2.Freshness(stale=True)
    web = await client.get("pods", "web", namespace="demo")
    assert (web.source, web.freshness.stale) == (Source.CACHE, True)
    web = await client.get("pods", "web", namespace="demo", consistency=Consistency.LATEST)
    assert web.source is Source.API_SERVER


async def test_rejects_a_single_string_of_paths(client: AsyncClient) -> None:
    with pytest.raises(TypeError, match=r"such as \['metadata.name'\]"):
        await client.get("pods", "web", fields="metadata.name")


async def test_raises_not_found_with_the_message_of_the_cluster(client: AsyncClient) -> None:
    with pytest.raises(NotFound, match='pods "web" not found') as caught:
        await client.get("pods", "web", namespace="demo")
    assert caught.value.reason == "NotFound"
    assert caught.value.status is not None
    assert caught.value.status.code == 404


async def test_raises_when_the_timeout_has_passed(
    client: AsyncClient, service: FakeService
) -> None:
    service.stuck = True
    with pytest.raises(DeadlineExceeded):
        await client.get("pods", "web", timeout=0.01)


@pytest.mark.parametrize("timeout", [0, -1, math.nan])
async def test_rejects_a_timeout_that_is_not_positive(client: AsyncClient, timeout: float) -> None:
    with pytest.raises(ValueError, match="more than 0 seconds"):
        await client.get("pods", "web", timeout=timeout)


async def test_timeout_can_be_infinite(client: AsyncClient, service: FakeService) -> None:
    service.objects = [pod("web")]
    assert await client.get("pods", "web", namespace="demo", timeout=math.inf)


@pytest.mark.parametrize("code", [Code.RESOURCE_EXHAUSTED, Code.UNAVAILABLE])
async def test_retries_after_the_delay_of_the_service(
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
async def test_does_not_retry_without_a_delay_that_fits(
    client: AsyncClient, service: FakeService, failure: Failure, timeout: float | None
) -> None:
    service.refusals.append(failure)
    with pytest.raises(KubeconnectError, match="busy"):
        await client.get("pods", "web", namespace="demo", timeout=timeout)
    assert len(service.requests) == 1

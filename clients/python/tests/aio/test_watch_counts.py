import grpc
import pytest

from kubeconnect import DeadlineExceeded, Forbidden, Max, Sum, owned_by
from kubeconnect.aio import AsyncClient
from kubeconnect.k8s.core.v1 import Pod
from kubeconnect.v1 import read_pb2, relation_pb2, watch_counts_pb2
from tests.fake import Failure, FakeService, Silence
from tests.live import counts, group

CPU = "spec.containers[*].resources.requests.cpu"


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kubeconnect._watch_session.FIRST_DELAY_SECONDS", 0.0)


async def test_yields_the_counts_after_each_change(
    client: AsyncClient, service: FakeService
) -> None:
    service.play(
        counts("5", group("a", 1), group("b", 2), reset=True),
        counts("6"),
        counts("7", group("a", 4), total=6),
    )
    async with client.watch_counts("pods", group_by=["spec.nodeName"]) as live:
        first, second = await anext(live), await anext(live)
        assert repr(live).endswith("WatchCounts: counts of pods, connected>")
    assert [(each.total, each.resource_version) for each in (first, second)] == [(3, "5"), (6, "7")]
    assert [(each.values, each.count) for each in second.groups] == [(("a",), 4), (("b",), 2)]


async def test_requests_the_counts(client: AsyncClient, service: FakeService) -> None:
    service.play(counts("5", reset=True), Silence())
    async with client.watch_counts(
        Pod,
        namespace="demo",
        label_selector="app=web",
        field_selector="x=y",
        filter="object.spec.replicas > 3",
        related=owned_by("deployments", "web", namespace="demo"),
        group_by=["spec.nodeName"],
        min_interval=0.5,
        min_resource_version="5",
        require_all_namespaces=True,
    ) as live:
        await anext(live)
    request = watch_counts_pb2.WatchCountsRequest(
        resource="Pod.v1.",
        namespace="demo",
        label_selector="app=web",
        field_selector="x=y",
        filter="object.spec.replicas > 3",
        related=relation_pb2.Relation(
            type=relation_pb2.RELATION_TYPE_OWNED_BY,
            resource="deployments",
            namespace="demo",
            name="web",
        ),
        group_by=["spec.nodeName"],
        min_resource_version="5",
        require_all_namespaces=True,
    )
    request.min_interval.FromMilliseconds(500)
    assert service.requests == [request]


async def test_requests_aggregates(client: AsyncClient, service: FakeService) -> None:
    response = counts("5", reset=True)
    response.aggregates.extend([read_pb2.AggregateResult(exact="2.5"), read_pb2.AggregateResult()])
    service.play(response, Silence())
    aggregates = {"cpu": Sum(CPU), "newest": Max("metadata.creationTimestamp")}
    async with client.watch_counts("pods", aggregates=aggregates) as live:
        found = (await anext(live)).aggregates
    assert (str(found["cpu"].exact), found["newest"].value) == ("2.5", None)
    assert [(each.function, each.path) for each in service.requests[0].aggregates] == [
        (read_pb2.AGGREGATE_FUNCTION_SUM, CPU),
        (read_pb2.AGGREGATE_FUNCTION_MAX, "metadata.creationTimestamp"),
    ]


async def test_counts_again_after_a_lost_stream(client: AsyncClient, service: FakeService) -> None:
    service.play(
        counts("5", group("a", 3), reset=True),
        Failure(grpc.StatusCode.UNAVAILABLE),
        counts("9", group("b", 1), total=1, reset=True),
    )
    losses = []
    async with client.watch_counts("pods", on_retry=lambda error, _: losses.append(error)) as live:
        await anext(live)
        found = await anext(live)
        assert live.freshness is not None
    assert [(each.values, each.count) for each in found.groups] == [(("b",), 1)]
    assert len(losses) == 1
    assert [each.min_resource_version for each in service.requests] == ["", "5"]


async def test_raises_final_errors(client: AsyncClient, service: FakeService) -> None:
    service.play(counts("5", reset=True), Failure(grpc.StatusCode.PERMISSION_DENIED, "not allowed"))
    async with client.watch_counts("pods") as live:
        await anext(live)
        with pytest.raises(Forbidden, match="not allowed"):
            await anext(live)


async def test_ends_after_its_timeout(client: AsyncClient, service: FakeService) -> None:
    service.play(Silence())
    async with client.watch_counts("pods", namespace="demo", timeout=0.05) as live:
        with pytest.raises(DeadlineExceeded, match=r"counts of pods demo ended after 0.05"):
            await anext(live)


async def test_warns_of_a_namespace_that_does_not_exist(
    client: AsyncClient, service: FakeService, caplog: pytest.LogCaptureFixture
) -> None:
    service.play(counts("5", total=0, reset=True), Silence())
    async with client.watch_counts("pods", namespace="dmo") as live:
        assert (await anext(live)).total == 0
    assert 'watch of pods dmo: there is no namespace "dmo" so far' in caplog.text


async def test_rejects_aggregates_without_names(client: AsyncClient) -> None:
    with pytest.raises(TypeError, match=r'a name for each, such as \{"cpu": Sum'):
        client.watch_counts("pods", aggregates=[Sum(CPU)])  # type: ignore[arg-type]

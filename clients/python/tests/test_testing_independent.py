"""Independent watches at the fake service, as the stores of the TypeScript client request them."""

from collections.abc import Iterator

import grpc
import pytest

from kubeconnect.testing import FakeService
from kubeconnect.v1 import object_pb2, watch_counts_pb2, watch_pb2
from kubeconnect.v1.resource_service_pb2_grpc import ResourceServiceStub

ADDED = watch_pb2.EVENT_TYPE_ADDED
PODS = watch_pb2.WatchSpec(resource="pods", encoding=object_pb2.ENCODING_JSON)


def pod(name: str) -> dict[str, object]:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}}


@pytest.fixture
def service() -> Iterator[FakeService]:
    with FakeService([pod("a")]) as service:
        yield service


@pytest.fixture
def stub(service: FakeService) -> Iterator[ResourceServiceStub]:
    with grpc.insecure_channel(service.address.removeprefix("http://")) as channel:
        yield ResourceServiceStub(channel)


def request(*watches: watch_pb2.WatchSpec, counts: str = "") -> watch_pb2.WatchManyRequest:
    counted = [watch_counts_pb2.WatchCountsRequest(resource=counts)] if counts else []
    return watch_pb2.WatchManyRequest(watches=watches, counts=counted, independent=True)


def resumed(token: str) -> watch_pb2.WatchSpec:
    spec = watch_pb2.WatchSpec(own_resume_token=token)
    spec.MergeFrom(PODS)
    return spec


def added(message: watch_pb2.WatchManyResponse) -> list[str]:
    return [each.object.name for each in message.response.events if each.type == ADDED]


def test_watches_pages_and_counts_share_a_stream(
    service: FakeService, stub: ResourceServiceStub
) -> None:
    page = watch_pb2.WatchSpec(resource="pods", encoding=PODS.encoding, limit=1)
    stream = stub.WatchMany(request(PODS, page, counts="pods"), timeout=30)
    first = [next(stream) for _ in range(3)]
    assert [each.watch_index for each in first] == [0, 1, 2]
    assert [added(each) for each in first[:2]] == [["a"], ["a"]]
    assert first[1].response.page.total_count == 1
    assert (first[2].counts.reset, first[2].counts.total_count) == (True, 1)
    assert [each.resume_token for each in first] == [""] * 3
    assert all(each.response.resume_token for each in first[:2])
    service.put(pod("b"))
    later = [next(stream) for _ in range(3)]
    assert added(later[0]) == ["b"]
    assert later[1].response.page.total_count == 2
    assert later[2].counts.total_count == 2
    stream.cancel()


def test_a_watch_resumes_with_its_own_token(
    service: FakeService, stub: ResourceServiceStub
) -> None:
    stream = stub.WatchMany(request(PODS), timeout=30)
    token = next(stream).response.resume_token
    service.put(pod("b"))
    service.disconnect()
    with pytest.raises(grpc.RpcError) as caught:
        list(stream)
    assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
    stream = stub.WatchMany(request(resumed(token)), timeout=30)
    assert added(next(stream)) == ["b"]
    stream.cancel()


def test_a_watch_that_is_rejected_or_ends_does_not_end_the_others(
    service: FakeService, stub: ResourceServiceStub
) -> None:
    service.deny("list", "secrets")
    secrets = watch_pb2.WatchSpec(resource="secrets", encoding=PODS.encoding)
    stream = stub.WatchMany(request(secrets, resumed("unknown"), PODS), timeout=30)
    first = [next(stream) for _ in range(3)]
    assert [each.error.reason for each in first] == ["Forbidden", "BadRequest", ""]
    assert added(first[2]) == ["a"]
    service.deny("watch", "pods")
    last = list(stream)
    assert [(each.watch_index, each.error.reason) for each in last] == [(2, "Forbidden")]


def test_a_token_of_all_watches_is_rejected(stub: ResourceServiceStub) -> None:
    of_all = request(PODS)
    of_all.resume_token = "t"
    with pytest.raises(grpc.RpcError) as caught:
        next(stub.WatchMany(of_all, timeout=30))
    assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT

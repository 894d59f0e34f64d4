from collections.abc import AsyncIterator, Iterator
from typing import Any

import grpc
import pytest

from kubeconnect import (
    Cancelled,
    DeadlineExceeded,
    Forbidden,
    LeadershipLost,
    NotFound,
    Unavailable,
)
from kubeconnect.aio import AsyncClient, AsyncLeaderElector
from kubeconnect.v1 import consistency_pb2, read_pb2, write_pb2
from tests.aio.waiting import eventually
from tests.clock import MovedClock
from tests.fake import Failure
from tests.lease_service import LeaseService, serve_leases

Code = grpc.StatusCode


@pytest.fixture
def service() -> Iterator[LeaseService]:
    with serve_leases() as service:
        yield service


@pytest.fixture
async def client(service: LeaseService) -> AsyncIterator[AsyncClient]:
    async with AsyncClient(service.address) as client:
        yield client


def candidate(client: AsyncClient, identity: str = "me", **options: Any) -> AsyncLeaderElector:
    elector = AsyncLeaderElector(
        client,
        "web",
        namespace="demo",
        identity=identity,
        **{"lease_duration": 15, "renew_deadline": 0.2, "retry_period": 0.01, **options},
    )
    elector._election.clock = MovedClock()
    return elector


def advance(elector: AsyncLeaderElector, seconds: float) -> None:
    clock = elector._election.clock
    assert isinstance(clock, MovedClock)
    clock.advance(seconds)


async def test_creates_the_lease(client: AsyncClient, service: LeaseService) -> None:
    async with candidate(client) as elector:
        assert elector.is_leader
        assert elector.leader == elector.identity == "me"
        assert service.spec["holderIdentity"] == "me"
        assert service.spec["leaseDurationSeconds"] == 15
        assert service.spec["leaseTransitions"] == 0
        assert service.spec["acquireTime"].endswith("Z")
    read, created = service.requests[:2]
    assert isinstance(read, read_pb2.GetRequest)
    assert read.consistency == consistency_pb2.CONSISTENCY_LATEST
    assert isinstance(created, write_pb2.CreateRequest)
    assert (created.resource, created.namespace) == ("leases.coordination.k8s.io", "demo")


async def test_releases_the_lease_at_the_end(client: AsyncClient, service: LeaseService) -> None:
    stopped: list[LeadershipLost | None] = []
    async with candidate(client, on_stopped_leading=stopped.append) as elector:
        assert stopped == []
    assert not elector.is_leader
    assert (service.spec["holderIdentity"], service.spec["leaseDurationSeconds"]) == ("", 1)
    assert stopped == [None]
    async with candidate(client, "other"):
        assert service.spec["leaseTransitions"] == 1


async def test_the_default_times_follow_from_the_duration(client: AsyncClient) -> None:
    elector = AsyncLeaderElector(client, "web", namespace="demo", lease_duration=6)
    assert (elector._renew_deadline, elector._retry_period) == pytest.approx((4, 0.8))


async def test_renews_the_lease(client: AsyncClient, service: LeaseService) -> None:
    async with candidate(client) as elector:
        before = dict(service.spec)
        service.written.clear()
        await eventually(service.written.is_set)
        with pytest.raises(TimeoutError, match="still held"):
            await elector.wait_lost(0)
        assert elector.is_leader
        assert service.spec["renewTime"] > before["renewTime"]
        assert service.spec["acquireTime"] == before["acquireTime"]
        assert service.spec["leaseTransitions"] == 0
        assert not any(isinstance(each, read_pb2.GetRequest) for each in service.requests[1:])


async def test_waits_while_another_candidate_renews_the_lease(
    client: AsyncClient, service: LeaseService
) -> None:
    service.put(holderIdentity="other", leaseDurationSeconds=15, leaseTransitions=4)
    leaders: list[str] = []
    elector = candidate(client, on_new_leader=leaders.append)
    for renewal in range(3):
        service.put(renewTime=f"t{renewal}")
        with pytest.raises(TimeoutError, match="demo/web was not acquired in"):
            await elector.acquire(0.05)
        advance(elector, 14)
        assert not elector.is_leader
    advance(elector, 1)
    await elector.acquire(10)
    assert elector.is_leader
    assert service.spec["leaseTransitions"] == 5
    assert leaders == ["other", "me"]
    await elector.close()


async def test_takes_over_its_own_lease(client: AsyncClient, service: LeaseService) -> None:
    service.put(holderIdentity="me", leaseDurationSeconds=15, leaseTransitions=4)
    async with candidate(client):
        assert service.spec["leaseTransitions"] == 4


async def test_loses_a_lease_that_it_cannot_renew(
    client: AsyncClient, service: LeaseService
) -> None:
    stopped: list[LeadershipLost | None] = []
    elector = candidate(client, on_stopped_leading=stopped.append)
    with pytest.raises(LeadershipLost):
        elector.check()
    await elector.acquire()
    elector.check()
    service.failure = Failure(Code.UNAVAILABLE, "the service stops")
    with pytest.raises(LeadershipLost, match="demo/web was lost: it was not renewed") as lost:
        await elector.wait_lost(10)
    with pytest.raises(LeadershipLost, match="demo/web was lost: it was not renewed"):
        elector.check()
    # The last attempt may be cut off by the deadline of the renewal.
    assert isinstance(lost.value.__cause__, (Unavailable, DeadlineExceeded))
    assert not elector.is_leader
    service.failure = None
    await elector.acquire(10)
    assert elector.is_leader
    await elector.close()
    assert stopped == [lost.value, None]


async def test_survives_errors_that_end_in_time(client: AsyncClient, service: LeaseService) -> None:
    async with candidate(client, renew_deadline=10) as elector:
        for code in (Code.UNAVAILABLE, Code.INTERNAL, Code.DEADLINE_EXCEEDED, Code.UNAVAILABLE):
            service.refusals.append(Failure(code))
        service.written.clear()
        await eventually(service.written.is_set)
        assert elector.is_leader
        assert service.spec["leaseTransitions"] == 0


async def test_loses_the_lease_to_another_candidate_at_once(
    client: AsyncClient, service: LeaseService
) -> None:
    elector = candidate(client, renew_deadline=14)
    await elector.acquire()
    service.put(holderIdentity="other", leaseTransitions=1)
    with pytest.raises(LeadershipLost, match="its holder is other"):
        await elector.wait_lost(10)
    assert (elector.is_leader, elector.leader) == (False, "other")
    await elector.close()
    assert service.spec["holderIdentity"] == "other"


async def test_loses_the_lease_to_a_candidate_that_has_released_it(
    client: AsyncClient, service: LeaseService
) -> None:
    elector = candidate(client, renew_deadline=14)
    await elector.acquire()
    service.put(holderIdentity="", leaseDurationSeconds=1, leaseTransitions=1)
    with pytest.raises(LeadershipLost, match="its holder is nobody"):
        await elector.wait_lost(10)
    await elector.close()
    assert service.spec["leaseTransitions"] == 1


async def test_is_no_leader_after_the_process_was_suspended(
    client: AsyncClient, service: LeaseService
) -> None:
    elector = candidate(client, renew_deadline=14, retry_period=5)
    await elector.acquire()
    assert elector.is_leader
    advance(elector, 14.9)
    assert elector.is_leader
    advance(elector, 0.1)
    assert not elector.is_leader
    await elector.close()


async def test_remains_the_leader_if_the_metadata_changes(
    client: AsyncClient, service: LeaseService
) -> None:
    async with candidate(client, renew_deadline=14) as elector:
        service.put()
        service.written.clear()
        await eventually(service.written.is_set)
        assert elector.is_leader


async def test_creates_a_deleted_lease_again(client: AsyncClient, service: LeaseService) -> None:
    async with candidate(client, renew_deadline=14) as elector:
        service.lease = None
        service.written.clear()
        await eventually(service.written.is_set)
        assert service.spec["holderIdentity"] == "me"
        await eventually(lambda: elector.is_leader)  # the response may come later


async def test_acquires_nothing_while_others_write(
    client: AsyncClient, service: LeaseService
) -> None:
    service.put(holderIdentity="")
    service.other_writer = True
    elector = candidate(client)
    with pytest.raises(TimeoutError):
        await elector.acquire(0.05)
    assert service.spec["holderIdentity"] == ""
    service.other_writer = False
    await elector.acquire(10)
    await elector.close()


async def test_raises_what_another_attempt_does_not_mend(
    client: AsyncClient, service: LeaseService
) -> None:
    service.failure = Failure(Code.PERMISSION_DENIED, "not allowed to get leases")
    with pytest.raises(Forbidden, match="not allowed to get leases"):
        await candidate(client).acquire()
    service.failure = None
    service.no_namespace = True
    with pytest.raises(NotFound):
        await candidate(client).acquire()


async def test_a_closed_elector_acquires_nothing(
    client: AsyncClient, service: LeaseService
) -> None:
    elector = candidate(client)
    await elector.close()
    await elector.close()
    with pytest.raises(Cancelled, match="the leader elector is closed"):
        await elector.acquire()
    assert service.lease is None
    await elector.wait_lost()


async def test_may_end_without_a_release(client: AsyncClient, service: LeaseService) -> None:
    elector = candidate(client)
    await elector.acquire()
    await elector.close(release=False)
    assert service.spec["holderIdentity"] == "me"
    assert not elector.is_leader


async def test_a_release_that_fails_is_logged(
    client: AsyncClient, service: LeaseService, caplog: pytest.LogCaptureFixture
) -> None:
    elector = candidate(client, renew_deadline=10)  # it is the leader until it is closed
    await elector.acquire()
    service.failure = Failure(Code.UNAVAILABLE, "the service stops")
    await elector.close()
    assert "could not release the lease demo/web: the service stops" in caplog.text


async def test_callbacks_may_fail(
    client: AsyncClient, service: LeaseService, caplog: pytest.LogCaptureFixture
) -> None:
    def fail() -> None:
        raise RuntimeError("oops")

    async with candidate(client, on_started_leading=fail) as elector:
        assert elector.is_leader
    assert "a callback of the leader election failed" in caplog.text


async def test_candidates_have_different_identities(client: AsyncClient) -> None:
    first = AsyncLeaderElector(client, "web", namespace="demo")
    second = AsyncLeaderElector(client, "web", namespace="demo")
    assert first.identity != second.identity

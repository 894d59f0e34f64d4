"""Tests of leader electors that several threads or tasks use."""

from __future__ import annotations

import asyncio
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
import pytest

from kubeconnect import Cancelled, Client, LeaderElector, LeadershipLost
from kubeconnect.aio import AsyncClient, AsyncLeaderElector
from tests.fake import Failure
from tests.lease_service import LeaseService, serve_leases

DURATIONS = {"lease_duration": 2.0, "renew_deadline": 0.5, "retry_period": 0.01}


@pytest.fixture
def service() -> Iterator[LeaseService]:
    with serve_leases() as service:
        yield service
        assert [each.name for each in threading.enumerate() if "lease" in each.name] == []


def candidate(client: Client, identity: str = "me", **options: Any) -> LeaderElector:
    options = {**DURATIONS, **options}
    return LeaderElector(client, "web", namespace="demo", identity=identity, **options)


def requested(service: LeaseService, count: int) -> None:
    """Wait until the service has received this number of requests."""
    while len(service.requests) < count:
        time.sleep(0.001)


def test_another_thread_ends_a_blocked_acquire(service: LeaseService) -> None:
    service.put(holderIdentity="other", leaseDurationSeconds=3600)
    with Client(service.address) as client, ThreadPoolExecutor(1) as threads:
        elector = candidate(client, retry_period=0.4)
        acquired = threads.submit(elector.acquire)
        requested(service, 1)
        elector.close()
        assert isinstance(acquired.exception(10), Cancelled)


def test_an_elector_that_is_closed_during_its_attempt_releases_the_lease(
    service: LeaseService,
) -> None:
    created, closed = threading.Event(), threading.Event()

    class SlowClient(Client):
        def create(self, *arguments: Any, **options: Any) -> Any:
            result = super().create(*arguments, **options)
            created.set()
            closed.wait(10)
            return result

    with SlowClient(service.address) as client, ThreadPoolExecutor(1) as threads:
        elector = candidate(client)
        acquired = threads.submit(elector.acquire)
        assert created.wait(10)
        elector.close()
        closed.set()
        assert isinstance(acquired.exception(10), Cancelled)
    assert service.spec["holderIdentity"] == ""


def test_an_interrupted_acquire_leaves_no_thread(service: LeaseService) -> None:
    service.put(holderIdentity="other", leaseDurationSeconds=3600)

    def interrupt() -> None:
        requested(service, 3)
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with (
        Client(service.address) as client,
        pytest.raises(KeyboardInterrupt),
        candidate(client, retry_period=0.05),
    ):
        pass
    thread.join()


def test_a_service_that_does_not_respond_does_not_block(service: LeaseService) -> None:
    with Client(service.address) as client:
        elector = candidate(client)
        elector.acquire()
        service.stuck = True
        with pytest.raises(LeadershipLost):
            elector.wait_lost(60)
        with pytest.raises(TimeoutError):
            elector.acquire(0.1)
        elector.close()


def test_a_callback_may_close_the_elector(service: LeaseService) -> None:
    stopped = threading.Event()

    def close(_: LeadershipLost | None) -> None:
        elector.close()
        stopped.set()

    with Client(service.address) as client:
        elector = candidate(client, on_stopped_leading=close)
        elector.acquire()
        service.failure = Failure(grpc.StatusCode.UNAVAILABLE)
        assert stopped.wait(10)
        elector.close()


def test_there_is_one_leader_at_a_time(service: LeaseService) -> None:
    leading: list[str] = []
    terms: list[str] = []
    two = []

    def lead(identity: str) -> None:
        with Client(service.address) as client:
            for _ in range(3):
                with candidate(client, identity) as elector:
                    leading.append(identity)
                    two.extend(leading[1:])
                    time.sleep(0.02)
                    assert elector.is_leader
                    terms.append(identity)
                    leading.remove(identity)

    with ThreadPoolExecutor(3) as threads:
        for done in [threads.submit(lead, name) for name in "abc"]:
            done.result(60)
    assert two == []
    assert sorted(terms) == sorted("abc" * 3)
    assert service.spec["holderIdentity"] == ""


async def test_another_task_ends_a_blocked_acquire(service: LeaseService) -> None:
    service.put(holderIdentity="other", leaseDurationSeconds=3600)
    async with AsyncClient(service.address) as client:
        elector = AsyncLeaderElector(client, "web", namespace="demo")
        acquired = asyncio.create_task(elector.acquire())
        await asyncio.to_thread(requested, service, 1)
        await elector.close()
        with pytest.raises(Cancelled):
            await asyncio.wait_for(acquired, 10)


async def test_a_cancelled_acquire_leaves_no_task(service: LeaseService) -> None:
    service.put(holderIdentity="other", leaseDurationSeconds=3600)
    async with AsyncClient(service.address) as client:

        async def lead() -> None:
            async with AsyncLeaderElector(client, "web", namespace="demo"):
                pass

        leader = asyncio.create_task(lead())
        await asyncio.to_thread(requested, service, 1)
        leader.cancel()
        with pytest.raises(asyncio.CancelledError):
            await leader
    assert [each for each in asyncio.all_tasks() if "kubeconnect" in each.get_name()] == []

"""Tests of controllers that end in other ways than by ``stop``."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from kubeconnect import Cancelled, Client, Controller, LeaderElector, LeadershipLost, ObjectKey
from kubeconnect.aio import AsyncClient, AsyncController, AsyncLeaderElector
from tests.cluster_service import ClusterService, serve_cluster

CRONTABS = "crontabs.stable.example.com"


@pytest.fixture
def service() -> Iterator[ClusterService]:
    with serve_cluster() as service:
        service.store("crontabs", "a")
        service.store("crontabs", "b")
        yield service


def threads_of_controllers() -> list[str]:
    return [each.name for each in threading.enumerate() if "kubeconnect" in each.name]


def soon(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < end, "the condition did not become true"
        time.sleep(0.001)


class Blocking:
    """A reconcile function that blocks until it is released."""

    def __init__(self) -> None:
        self.began = threading.Semaphore(0)
        self.release = threading.Event()
        self.running = 0
        self.most = 0
        self.ended = 0

    def __call__(self, key: ObjectKey) -> None:
        self.running += 1
        self.most = max(self.most, self.running)
        self.began.release()
        self.release.wait(20)
        self.running -= 1
        self.ended += 1


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_a_controller_when_its_call_has_ended(
    service: ClusterService, number: signal.Signals
) -> None:
    before = signal.getsignal(number)
    with Client(service.address) as client:
        controller = Controller(client, CRONTABS)
        function = controller.reconcile(Blocking())

        def send() -> None:
            function.began.acquire(timeout=10)
            os.kill(os.getpid(), number)
            soon(lambda: controller.stopping)
            assert function.ended == 0
            function.release.set()

        with ThreadPoolExecutor(1) as threads:
            sent = threads.submit(send)
            controller.run()
            sent.result(10)
    assert function.ended == 1
    assert threads_of_controllers() == []
    assert signal.getsignal(number) is before


def test_a_second_signal_interrupts_the_end(service: ClusterService) -> None:
    with Client(service.address) as client:
        controller = Controller(client, CRONTABS)
        function = controller.reconcile(Blocking())

        def send() -> None:
            function.began.acquire(timeout=10)
            os.kill(os.getpid(), signal.SIGINT)
            soon(lambda: controller.stopping)
            os.kill(os.getpid(), signal.SIGINT)

        with ThreadPoolExecutor(1) as threads:
            threads.submit(send)
            with pytest.raises(KeyboardInterrupt):
                controller.run()
        function.release.set()
    soon(lambda: threads_of_controllers() == [])


def test_an_interrupt_ends_a_controller_that_handles_no_signals(service: ClusterService) -> None:
    with Client(service.address) as client:
        controller = Controller(client, CRONTABS)
        function = controller.reconcile(Blocking())

        def interrupt() -> None:
            function.began.acquire(timeout=10)
            os.kill(os.getpid(), signal.SIGINT)
            function.release.set()

        with ThreadPoolExecutor(1) as threads:
            threads.submit(interrupt)
            with pytest.raises(KeyboardInterrupt):
                controller.run(handle_signals=False)
    assert threads_of_controllers() == []


def test_a_call_that_does_not_end_is_left_behind(
    service: ClusterService, caplog: pytest.LogCaptureFixture
) -> None:
    with Client(service.address) as client:
        elector = LeaderElector(client, "web", namespace="demo", identity="me")
        controller = Controller(client, CRONTABS, stop_timeout=0.05, elector=elector)
        function = controller.reconcile(Blocking())
        with ThreadPoolExecutor(1) as threads:
            run = threads.submit(controller.run)
            function.began.acquire(timeout=10)
            controller.stop()
            run.result(10)
        assert "1 calls still run" in caplog.text
        assert service.spec["holderIdentity"] == "me"
        function.release.set()
    soon(lambda: threads_of_controllers() == [])


def test_the_end_of_the_client_ends_the_controller(service: ClusterService) -> None:
    client = Client(service.address)
    controller = Controller(client, CRONTABS)
    controller.reconcile(lambda key: None)
    with ThreadPoolExecutor(1) as threads:
        run = threads.submit(controller.run)
        soon(lambda: controller._stores.synced)
        client.close()
        assert isinstance(run.exception(10), Cancelled)
    assert threads_of_controllers() == []


def test_an_exit_of_the_function_ends_the_controller(service: ClusterService) -> None:
    def leave(key: ObjectKey) -> None:
        raise SystemExit(3)

    with Client(service.address) as client:
        controller = Controller(client, CRONTABS)
        controller.reconcile(leave)
        with pytest.raises(SystemExit, match="3"):
            controller.run()
    assert threads_of_controllers() == []


@pytest.mark.parametrize(("workers", "most"), [(1, 1), (2, 2), (5, 2)])
def test_workers_reconcile_different_keys(service: ClusterService, workers: int, most: int) -> None:
    with Client(service.address) as client, ThreadPoolExecutor(1) as threads:
        controller = Controller(client, CRONTABS, workers=workers)
        function = controller.reconcile(Blocking())
        run = threads.submit(controller.run)
        for _ in range(most):
            assert function.began.acquire(timeout=10)
        for spec in range(20):
            service.store("crontabs", "a", spec=spec)
            service.store("crontabs", "b", spec=spec)
        function.release.set()
        soon(lambda: function.ended >= 4 and function.running == 0)
        controller.stop()
        run.result(10)
    assert function.most == most


async def test_a_signal_ends_an_async_controller_when_its_call_has_ended(
    service: ClusterService,
) -> None:
    before = signal.getsignal(signal.SIGTERM)
    ended = []
    async with AsyncClient(service.address) as client:
        controller = AsyncController(client, CRONTABS)

        @controller.reconcile
        async def reconcile(key: ObjectKey) -> None:
            os.kill(os.getpid(), signal.SIGTERM)
            while not controller.stopping:
                await asyncio.sleep(0.001)
            ended.append(key)

        await asyncio.wait_for(controller.run(), 20)
    assert len(ended) == 1
    assert signal.getsignal(signal.SIGTERM) is before
    assert [each for each in asyncio.all_tasks() if "kubeconnect" in each.get_name()] == []


async def test_a_call_that_does_not_end_is_cancelled(service: ClusterService) -> None:
    cancelled = []
    async with AsyncClient(service.address) as client:
        controller = AsyncController(client, CRONTABS, stop_timeout=0.05)

        @controller.reconcile
        async def reconcile(key: ObjectKey) -> None:
            controller.stop()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                cancelled.append(key)
                raise

        await asyncio.wait_for(controller.run(), 20)
    assert len(cancelled) == 1


async def test_a_cancelled_run_cancels_its_calls(service: ClusterService) -> None:
    began, cancelled = asyncio.Event(), []
    async with AsyncClient(service.address) as client:
        elector = AsyncLeaderElector(client, "web", namespace="demo")
        controller = AsyncController(client, CRONTABS, workers=2, elector=elector)

        @controller.reconcile
        async def reconcile(key: ObjectKey) -> None:
            began.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                cancelled.append(key)
                raise

        run = asyncio.create_task(controller.run())
        await asyncio.wait_for(began.wait(), 20)
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
    assert len(cancelled) == 2
    assert service.spec["holderIdentity"] == ""
    assert [each for each in asyncio.all_tasks() if "kubeconnect" in each.get_name()] == []


async def test_a_lost_leadership_cancels_the_calls(service: ClusterService) -> None:
    cancelled = []
    async with AsyncClient(service.address) as client:
        elector = AsyncLeaderElector(
            client, "web", namespace="demo", renew_deadline=5.0, retry_period=0.01
        )
        controller = AsyncController(client, CRONTABS, elector=elector)

        @controller.reconcile
        async def reconcile(key: ObjectKey) -> None:
            service.put(holderIdentity="other")
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                cancelled.append(key)
                raise

        with pytest.raises(LeadershipLost):
            await asyncio.wait_for(controller.run(), 20)
    assert len(cancelled) == 1


async def test_a_function_that_is_cancelled_by_itself_is_retried(service: ClusterService) -> None:
    calls = []
    async with AsyncClient(service.address) as client:
        controller = AsyncController(client, CRONTABS, namespace="demo", base_delay=0.001)

        @controller.reconcile
        async def reconcile(key: ObjectKey) -> None:
            calls.append(key.name)
            if calls.count("a") == 2:
                controller.stop()
            elif key.name == "a":
                raise asyncio.CancelledError

        await asyncio.wait_for(controller.run(), 20)
    assert calls.count("a") == 2


async def test_an_async_controller_accepts_a_plain_function(service: ClusterService) -> None:
    async with AsyncClient(service.address) as client:
        controller = AsyncController(client, CRONTABS)

        @controller.reconcile
        def reconcile(key: ObjectKey) -> None:
            controller.stop()

        await asyncio.wait_for(controller.run(), 20)

"""Tests of blocked threads that have no counterpart with asyncio: those that wait for functions of
the program, and signals.
"""

from __future__ import annotations

import asyncio
import math
import os
import signal
import threading
from collections.abc import Callable, Iterator

import pytest

from kubeconnect import Client, Controller, DeadlineExceeded, Store, Subscription
from kubeconnect.aio import AsyncClient, AsyncController
from kubeconnect.v1 import watch_pb2 as pb
from tests.blocking import SERVERS, Blocked, NothingLeft
from tests.cluster_service import ClusterService, serve_cluster
from tests.fake import FakeService, event, pod

RESET = event(pb.EVENT_TYPE_RESET, None, "")
ADDED = event(pb.EVENT_TYPE_ADDED, pod("a"), "7")
SYNCED = event(pb.EVENT_TYPE_SYNCED, None, "9")


class Handling:
    """A store whose handler blocks until the test ends."""

    def __init__(self, client: Client) -> None:
        self.released = threading.Event()
        self.store: Store = client.store("pods")
        self.store.start()
        entered = threading.Event()

        def block(_: object) -> None:
            entered.set()
            self.released.wait()

        self.subscription: Subscription = self.store.subscribe(block)
        assert entered.wait(20)


@pytest.fixture
def handling(service: FakeService) -> Iterator[Handling]:
    service.play([RESET, ADDED, SYNCED])
    with NothingLeft(), Client(service.address) as client:
        handling = Handling(client)
        yield handling
        handling.released.set()


def end_and_join(handling: Handling, timeout: float) -> None:
    handling.subscription.end()
    handling.subscription.join(timeout)


CLOSES: dict[str, Callable[[Handling, float], object]] = {
    "Store.close": lambda h, timeout: h.store.close(timeout),
    "Subscription.close": lambda h, timeout: h.subscription.close(timeout),
    "Subscription.join": end_and_join,
}


@pytest.mark.parametrize("name", CLOSES)
def test_waiting_for_a_handler_ends_after_the_timeout(handling: Handling, name: str) -> None:
    assert Blocked(lambda: CLOSES[name](handling, 0.01)).result() is None


@pytest.mark.parametrize("name", CLOSES)
def test_an_interrupt_ends_waiting_for_a_handler(handling: Handling, name: str) -> None:
    error = Blocked.interrupted(lambda: CLOSES[name](handling, math.inf))
    assert isinstance(error, KeyboardInterrupt)


@pytest.mark.parametrize("name", CLOSES)
def test_waiting_for_a_handler_ends_with_the_handler(handling: Handling, name: str) -> None:
    blocked = Blocked(lambda: CLOSES[name](handling, math.inf))
    blocked.parked()
    handling.released.set()
    assert blocked.result() is None


def test_an_index_beyond_the_first_page_ends_after_the_timeout(service: FakeService) -> None:
    service.objects = [pod("a"), pod("b")]
    with NothingLeft(), Client(service.address) as client:
        pods = client.list("pods", page_size=1, timeout=0.2)
        service.stuck = True
        assert isinstance(Blocked(lambda: pods[1]).result(), DeadlineExceeded)


@pytest.mark.parametrize("name", SERVERS)
def test_a_signal_ends_a_controller_without_a_service(name: str) -> None:
    with SERVERS[name]() as address, NothingLeft(), Client(address, timeout=math.inf) as client:
        controller = Controller(client, "pods")
        controller.reconcile(lambda key: None)
        assert Blocked.interrupted(controller.run) is None


@pytest.fixture
def cluster() -> Iterator[ClusterService]:
    with serve_cluster() as service:
        service.store("crontabs", "a")
        yield service


@pytest.fixture
def _ignored() -> Iterator[None]:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("_ignored")
def test_a_controller_ignores_a_signal_that_was_ignored(cluster: ClusterService) -> None:
    with Client(cluster.address) as client:
        controller = Controller(client, "crontabs.stable.example.com")
        handlers = []

        @controller.reconcile
        def reconcile(_: object) -> None:
            handlers.append(signal.getsignal(signal.SIGINT))
            os.kill(os.getpid(), signal.SIGINT)
            os.kill(os.getpid(), signal.SIGTERM)

        controller.run()
    assert handlers == [signal.SIG_IGN]
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN


@pytest.mark.usefixtures("_ignored")
def test_an_async_controller_ignores_a_signal_that_was_ignored(cluster: ClusterService) -> None:
    handlers = []

    async def main() -> None:
        async with AsyncClient(cluster.address) as client:
            controller = AsyncController(client, "crontabs.stable.example.com")

            @controller.reconcile
            def reconcile(_: object) -> None:
                handlers.append(signal.getsignal(signal.SIGINT))
                os.kill(os.getpid(), signal.SIGINT)
                os.kill(os.getpid(), signal.SIGTERM)

            await controller.run()

    asyncio.run(main())
    assert handlers == [signal.SIG_IGN]
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN

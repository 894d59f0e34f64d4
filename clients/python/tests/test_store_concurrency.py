"""Tests of stores that are specific to threads or to asyncio."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc
import pytest

from kubeconnect import Cancelled, Client, Object, Store
from kubeconnect.aio import AsyncClient
from kubeconnect.v1 import watch_pb2 as pb
from tests.aio.waiting import eventually as eventually_async
from tests.fake import End, Failure, FakeService, Silence, batch, event, pod
from tests.sync.waiting import eventually

RESET = event(pb.EVENT_TYPE_RESET, None, "")
SYNCED = event(pb.EVENT_TYPE_SYNCED, None, "9")


def added(name: str, version: int = 7) -> pb.Event:
    return event(pb.EVENT_TYPE_ADDED, pod(name, version=str(version)), str(version))


@pytest.fixture(autouse=True)
def _no_thread_is_left() -> Iterator[None]:
    before = set(threading.enumerate())
    yield
    eventually(lambda: not store_threads() - before)


def store_threads() -> set[threading.Thread]:
    return {each for each in threading.enumerate() if each.name.startswith("kubeconnect")}


@pytest.fixture
def _calls_again_in_an_hour(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kubeconnect._watch_session.FIRST_DELAY_SECONDS", 3600.0)
    monkeypatch.setattr("kubeconnect._watch_session.MAX_DELAY_SECONDS", 3600.0)


def test_a_slow_handler_delays_only_itself(service: FakeService) -> None:
    service.play([RESET, added("a"), SYNCED])
    entered, released = threading.Event(), threading.Event()
    slow: list[str | None] = []

    def block(_: Object) -> None:
        entered.set()
        assert released.wait(20)

    with Client(service.address) as client, client.store("pods") as store:
        subscription = store.subscribe(
            block, lambda old, new: slow.append(f"{old.resource_version}>{new.resource_version}")
        )
        quick: list[str] = []
        store.subscribe(None, lambda _, new: quick.append(new.resource_version))
        assert entered.wait(20)
        for version in range(10, 40):
            service.play([event(pb.EVENT_TYPE_MODIFIED, pod("a", version=str(version)), "")])
        eventually(lambda: quick and quick[-1] == "39")
        found = store.get("demo", "a")
        assert found is not None
        assert found.resource_version == "39"
        assert subscription.pending == 1
        released.set()
        eventually(lambda: slow)
        assert slow == ["7>39"]


async def test_a_slow_async_handler_delays_only_itself(service: FakeService) -> None:
    service.play([RESET, added("a"), SYNCED])
    entered, released = asyncio.Event(), asyncio.Event()
    slow: list[str] = []

    async def block(_: Object) -> None:
        entered.set()
        await released.wait()

    async with AsyncClient(service.address) as client, client.store("pods") as store:
        store.subscribe(
            block, lambda old, new: slow.append(f"{old.resource_version}>{new.resource_version}")
        )
        await entered.wait()
        for version in range(10, 40):
            service.play([event(pb.EVENT_TYPE_MODIFIED, pod("a", version=str(version)), "")])
        await eventually_async(lambda: [each.resource_version for each in store] == ["39"])
        released.set()
        await eventually_async(lambda: slow)
        assert slow == ["7>39"]


async def test_many_calls_let_other_tasks_run(service: FakeService) -> None:
    service.play([RESET, *(added(f"p{number}") for number in range(200)), SYNCED])
    turns, calls = [0], [0]

    async def count() -> None:
        while True:
            turns[0] += 1
            await asyncio.sleep(0)

    def handle(_: Object) -> None:
        calls[0] += 1

    async with AsyncClient(service.address) as client, client.store("pods") as store:
        await store.wait_synced()
        other = asyncio.create_task(count())
        before = turns[0]
        store.subscribe(handle)
        await eventually_async(lambda: calls[0] == 200)
        assert turns[0] - before > 100
        other.cancel()


async def test_closing_cancels_an_async_handler(service: FakeService) -> None:
    service.play([RESET, added("a"), added("b"), SYNCED])
    entered, cancelled = asyncio.Event(), []

    async def block(new: Object) -> None:
        entered.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.append(new.name)
            raise

    async with AsyncClient(service.address) as client, client.store("pods") as store:
        store.subscribe(block)
        await entered.wait()
    assert cancelled == ["a"]
    assert store.handler_errors == 0


async def test_a_handler_that_cancels_itself_is_counted(service: FakeService) -> None:
    service.play([RESET, added("a"), added("b"), SYNCED])

    async def cancelled(_: Object) -> None:
        raise asyncio.CancelledError

    async with AsyncClient(service.address) as client, client.store("pods") as store:
        store.subscribe(cancelled)
        await eventually_async(lambda: store.handler_errors == 2)


async def test_a_cancelled_wait_leaves_the_store_running(service: FakeService) -> None:
    service.play([RESET])
    async with AsyncClient(service.address) as client, client.store("pods") as store:
        waiter = asyncio.create_task(store.wait_synced())
        await asyncio.sleep(0.01)
        waiter.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiter
        service.play([SYNCED])
        await store.wait_synced()


def test_an_event_loop_ends_with_a_running_store(service: FakeService) -> None:
    service.play([RESET, added("a"), SYNCED])
    stores = []

    async def main() -> None:
        client = AsyncClient(service.address)
        store = client.store("pods")
        store.start()
        await store.wait_synced()
        store.subscribe(lambda _: None)
        stores.append(store)

    asyncio.run(main())
    assert stores[0].closed


def test_a_handler_that_exits_is_counted(service: FakeService) -> None:
    service.play([RESET, added("a"), added("b"), SYNCED])
    with Client(service.address) as client, client.store("pods") as store:
        store.subscribe(lambda _: sys.exit(1))
        eventually(lambda: store.handler_errors == 2)


def test_closing_wakes_all_that_wait(service: FakeService) -> None:
    service.play([RESET])
    with Client(service.address) as client, ThreadPoolExecutor(2) as threads:
        store = client.store("pods")
        store.start()
        waiters = [threads.submit(store.wait_synced), threads.submit(store.wait_closed)]
        time.sleep(0.05)
        store.close()
        with pytest.raises(Cancelled, match="closed"):
            waiters[0].result(10)
        waiters[1].result(10)


@pytest.mark.usefixtures("_calls_again_in_an_hour")
def test_closing_the_client_does_not_wait_for_the_next_stream(service: FakeService) -> None:
    service.play(batch("t9", RESET, SYNCED), End())
    lost = threading.Event()
    begin = time.monotonic()
    with Client(service.address) as client:
        store = client.store("pods", on_retry=lambda *_: lost.set())
        store.start()
        assert lost.wait(10)
    assert store.closed
    assert time.monotonic() - begin < 60


@pytest.mark.usefixtures("_calls_again_in_an_hour")
async def test_closing_an_async_client_does_not_wait_for_the_next_stream(
    service: FakeService,
) -> None:
    service.play(batch("t9", RESET, SYNCED), End())
    lost = asyncio.Event()
    async with AsyncClient(service.address) as client:
        store = client.store("pods", on_retry=lambda *_: lost.set())
        store.start()
        await lost.wait()
    assert store.closed


def test_closing_does_not_wait_forever_for_a_handler(
    service: FakeService, caplog: pytest.LogCaptureFixture
) -> None:
    service.play([RESET, added("a"), added("b"), SYNCED])
    entered, released = threading.Event(), threading.Event()
    seen: list[str] = []

    def block(new: Object) -> None:
        seen.append(new.name)
        entered.set()
        assert released.wait(60)

    with Client(service.address) as client:
        store = client.store("pods")
        store.start()
        subscription = store.subscribe(block)
        assert entered.wait(20)
        store.close(0.05)
        assert "a handler of the store of pods still runs" in caplog.text
        released.set()
        subscription.close()
    assert seen == ["a"]


def test_a_handler_and_another_thread_may_close_at_once(service: FakeService) -> None:
    service.play([RESET, added("a"), SYNCED])
    both = threading.Barrier(2)
    with Client(service.address) as client, client.store("pods") as store:

        def close(_: Object) -> None:
            both.wait(20)
            client.close()

        store.subscribe(close)
        both.wait(20)
        store.close()
        assert store.closed


def test_on_error_may_close_the_client(service: FakeService) -> None:
    service.refusals.append(Failure(grpc.StatusCode.NOT_FOUND))
    closed = threading.Event()
    with Client(service.address) as client:

        def close(_: Exception) -> None:
            client.close()
            closed.set()

        store = client.store("pods", on_error=close)
        store.start()
        assert closed.wait(20)
        assert store.error is not None


def test_a_half_open_connection_is_noticed(
    service: FakeService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kubeconnect._watch_session.QUIET_SECONDS", 0.05)
    monkeypatch.setattr("kubeconnect._watch_session.FIRST_DELAY_SECONDS", 0.0)
    service.play(batch("t9", RESET, SYNCED), Silence(), batch("t11", added("a", 10)))
    with Client(service.address) as client, client.store("pods") as store:
        eventually(lambda: len(store) == 1)


def test_readers_see_whole_snapshots_from_many_threads(service: FakeService) -> None:
    """Each snapshot has ten objects of one version: a reader sees no other number, and no two
    versions.
    """
    ended = threading.Event()

    def read(store: Store) -> int:
        reads = 0
        while not ended.is_set():
            found = store.list()
            assert len(found) == 10
            assert len({each.resource_version for each in found}) == 1
            assert len(store.by_index("kind", "Pod")) == 10
            reads += 1
        return reads

    def snapshot(version: int) -> list[pb.Event]:
        objects = [added(f"p{number}", version) for number in range(10)]
        return [RESET, *objects, event(pb.EVENT_TYPE_SYNCED, None, str(version))]

    service.play(snapshot(1))
    with (
        Client(service.address) as client,
        client.store("pods", indexes={"kind": "kind"}) as store,
        ThreadPoolExecutor(4) as threads,
    ):
        store.wait_synced()
        readers = [threads.submit(read, store) for _ in range(4)]
        for version in range(2, 40):
            service.play(snapshot(version))
        eventually(lambda: store.resource_version == "39")
        ended.set()
        assert all(reader.result(10) > 0 for reader in readers)


INTERRUPTED = """
import sys, threading
import kubeconnect

def block(_):
    print("handling", flush=True)
    if sys.argv[2] == "handler":
        threading.Event().wait(0.2)

with kubeconnect.Client(sys.argv[1]) as client:
    with client.store("pods") as store:
        store.subscribe(block)
        store.wait_synced()
        store.wait_closed()
"""

ABANDONED = """
import sys
import kubeconnect

client = kubeconnect.Client(sys.argv[1])
store = client.store("pods")
store.start()
store.subscribe(print)
store.wait_synced()
"""


def start(program: str, *arguments: str) -> subprocess.Popen[str]:
    source = str(Path(__file__).parents[1] / "src")
    return subprocess.Popen(
        [sys.executable, "-c", program, *arguments],
        env={**os.environ, "PYTHONPATH": source},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize("during", ["wait", "handler"])
def test_a_keyboard_interrupt_ends_the_program(service: FakeService, during: str) -> None:
    service.play([RESET, added("a"), SYNCED])
    process = start(INTERRUPTED, service.address, during)
    assert process.stdout is not None
    assert process.stdout.readline() == "handling\n"
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert errors.strip().endswith("KeyboardInterrupt")
    assert process.returncode in (1, 130, -signal.SIGINT)


def test_a_program_that_does_not_close_its_store_ends(service: FakeService) -> None:
    service.play([RESET, added("a"), SYNCED])
    process = start(ABANDONED, service.address)
    _, errors = process.communicate(timeout=30)
    assert (process.returncode, "Traceback" in errors) == (0, False)

"""Tests of behaviour that is specific to one of the two clients."""

from __future__ import annotations

import asyncio
import math
import os
import signal
import threading
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar

import pytest

from kubeconnect import Cancelled, Client, DeadlineExceeded, EventType, Freshness
from kubeconnect._concurrency.sync import Worker
from kubeconnect.aio import AsyncClient
from kubeconnect.v1 import watch_pb2 as pb
from tests.fake import THREADS, End, FakeService, Silence, event, of_watch

RESET = event(pb.EVENT_TYPE_RESET, None, "")
SYNCED = event(pb.EVENT_TYPE_SYNCED, None, "9")
BOOKMARK = event(pb.EVENT_TYPE_BOOKMARK, None, "10")


@pytest.fixture
def _reconnects_after_an_hour(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kubeconnect._watch_session.FIRST_DELAY_SECONDS", 3600.0)
    monkeypatch.setattr("kubeconnect._watch_session.MAX_DELAY_SECONDS", 3600.0)


async def test_another_task_can_close_a_watch(service: FakeService) -> None:
    service.play([SYNCED])
    async with AsyncClient(service.address) as client:
        events = client.watch("pods")
        synced = asyncio.Event()

        async def read() -> list[EventType]:
            seen = []
            async for each in events:
                seen.append(each.type)
                synced.set()
            return seen

        reader = asyncio.create_task(read())
        await synced.wait()
        await events.close()
        assert await reader == [EventType.SYNCED]


@pytest.mark.usefixtures("_reconnects_after_an_hour")
async def test_another_task_can_close_a_watch_between_two_streams(service: FakeService) -> None:
    service.play([SYNCED], End())
    async with AsyncClient(service.address) as client:
        events = client.watch("pods")
        await anext(events)
        reader = asyncio.create_task(anext(events, None))
        await asyncio.to_thread(service.watch_ended.wait, 10)
        await events.close()
        assert await asyncio.wait_for(reader, 10) is None


async def test_cancelled_reader_loses_no_event(service: FakeService) -> None:
    service.play([SYNCED])
    async with AsyncClient(service.address) as client, client.watch("pods") as events:
        await anext(events)
        reader = asyncio.create_task(anext(events))
        await asyncio.sleep(0)
        reader.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reader
        service.play([BOOKMARK])
        assert (await anext(events)).type is EventType.BOOKMARK


def test_an_async_client_needs_an_event_loop() -> None:
    with pytest.raises(RuntimeError, match="no running event loop"):
        AsyncClient("127.0.0.1:1")


async def test_token_function_can_be_async(service: FakeService) -> None:
    service.play([SYNCED])
    tokens = iter(["t1", "t2"])

    async def token() -> str:
        await asyncio.sleep(0)
        return next(tokens)

    async with AsyncClient(service.address, token=token) as client:
        await client.list("pods")
        async with client.watch("pods") as events:
            await anext(events)
    assert [each["authorization"] for each in service.metadata] == ["Bearer t1", "Bearer t2"]


async def test_watch_that_waits_for_a_token_can_be_closed(service: FakeService) -> None:
    requested = asyncio.Event()

    async def token() -> str:
        requested.set()
        await asyncio.Event().wait()
        return "never"

    async with AsyncClient(service.address, token=token) as client:
        events = client.watch("pods")
        reader = asyncio.create_task(anext(events, None))
        await requested.wait()
        await events.close()
        assert await asyncio.wait_for(reader, 10) is None
    assert service.metadata == []


async def test_reader_cancelled_while_waiting_for_a_token_can_continue(
    service: FakeService,
) -> None:
    service.play([SYNCED])
    requested, released = asyncio.Event(), asyncio.Event()

    async def token() -> str:
        requested.set()
        await released.wait()
        return "t1"

    async with AsyncClient(service.address, token=token) as client, client.watch("pods") as events:
        reader = asyncio.create_task(anext(events))
        await requested.wait()
        reader.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reader
        released.set()
        assert (await anext(events)).type is EventType.SYNCED


def test_another_thread_can_close_a_watch(service: FakeService) -> None:
    service.play([SYNCED])
    synced = threading.Event()
    with Client(service.address) as client, ThreadPoolExecutor(1) as threads:
        events = client.watch("pods")

        def read() -> list[EventType]:
            seen = []
            for each in events:
                seen.append(each.type)
                synced.set()
            return seen

        reader = threads.submit(read)
        assert synced.wait(10)
        events.close()
        assert reader.result(10) == [EventType.SYNCED]


@pytest.mark.usefixtures("_reconnects_after_an_hour")
def test_another_thread_can_close_a_watch_between_two_streams(service: FakeService) -> None:
    service.play([SYNCED], End())
    with Client(service.address) as client, ThreadPoolExecutor(1) as threads:
        events = client.watch("pods")
        next(events)
        reader = threads.submit(next, events, None)
        assert service.watch_ended.wait(10)
        events.close()
        assert reader.result(10) is None


def test_closing_a_client_cancels_its_calls(service: FakeService) -> None:
    service.stuck = True
    with Client(service.address) as client, ThreadPoolExecutor(1) as threads:
        call = threads.submit(client.list, "pods")
        assert service.begun.wait(10)
        client.close()
        assert isinstance(call.exception(10), Cancelled)


async def test_closing_an_async_client_cancels_its_calls(service: FakeService) -> None:
    service.stuck = True
    async with AsyncClient(service.address) as client:
        call = asyncio.ensure_future(client.list("pods"))
        assert await asyncio.to_thread(service.begun.wait, 10)
        await client.close()
        with pytest.raises(Cancelled, match=r"^the client is closed$"):
            await call


async def test_a_cancelled_task_of_a_closed_client_is_cancelled(service: FakeService) -> None:
    service.stuck = True
    async with AsyncClient(service.address) as client:
        call = asyncio.ensure_future(client.list("pods"))
        assert await asyncio.to_thread(service.begun.wait, 10)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call


def test_an_interrupt_is_raised_without_the_frames_of_grpc(service: FakeService) -> None:
    service.play([SYNCED])

    def interrupt() -> None:
        while events._stream._silent_at is None:  # until the main thread waits
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    with Client(service.address) as client, client.watch("pods") as events:
        next(events)
        threading.Thread(target=interrupt).start()
        with pytest.raises(KeyboardInterrupt) as caught:
            next(events)
    names = [frame.name for frame in traceback.extract_tb(caught.tb)]
    assert names == ["test_an_interrupt_is_raised_without_the_frames_of_grpc", "__next__"]
    assert caught.value.__suppress_context__


def _threads_but_those_of_the_service() -> set[threading.Thread]:
    return {each for each in threading.enumerate() if not each.name.startswith(THREADS)}


def test_a_watch_that_times_out_leaves_no_thread(service: FakeService) -> None:
    service.play([SYNCED])
    client_threads = _threads_but_those_of_the_service
    before = client_threads()
    with Client(service.address) as client:
        with pytest.raises(DeadlineExceeded):
            list(client.watch("pods", timeout=0.1))
        started = client_threads() - before
    for thread in started:
        thread.join(10)
    assert not [thread for thread in started if thread.is_alive()]


def test_abandoned_watch_ends_its_stream(service: FakeService) -> None:
    service.play([SYNCED], [BOOKMARK])
    with Client(service.address) as client:
        for event in client.watch("pods"):
            if event.type is EventType.BOOKMARK:
                break
        assert service.watch_ended.wait(10)


def test_another_thread_sees_that_a_watch_is_disconnected(
    service: FakeService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kubeconnect._watch_session.QUIET_SECONDS", 0.05)
    monkeypatch.setattr("kubeconnect._watch_session.FIRST_DELAY_SECONDS", 0.0)
    service.play([SYNCED], Silence())
    lost = threading.Event()
    with Client(service.address) as client, ThreadPoolExecutor(1) as threads:
        events = client.watch("pods", on_retry=lambda *_: lost.set())
        next(events)
        assert events.connection.connected
        reader = threads.submit(next, events, None)
        assert lost.wait(10)
        assert not events.connection.connected
        assert events.freshness == Freshness(stale=True, last_contact_time=None)
        events.close()
        assert reader.result(10) is None


def test_closing_a_client_ends_a_wait(service: FakeService) -> None:
    service.play(of_watch(0, "t1", RESET))
    with Client(service.address) as client, ThreadPoolExecutor(1) as threads:
        wait = threads.submit(
            client.wait_for, "pods", "web", "deleted", min_resource_version="7", timeout=math.inf
        )
        assert service.begun.wait(10)
        client.close()
        assert isinstance(wait.exception(10), Cancelled)


async def test_a_wait_can_be_cancelled(service: FakeService) -> None:
    service.play(of_watch(0, "t1", RESET))
    async with AsyncClient(service.address) as client:
        wait = asyncio.ensure_future(
            client.wait_for("pods", "web", "deleted", min_resource_version="7", timeout=math.inf)
        )
        assert await asyncio.to_thread(service.begun.wait, 10)
        wait.cancel()
        with pytest.raises(asyncio.CancelledError):
            await wait
        assert await asyncio.to_thread(service.watch_ended.wait, 10)


def test_a_worker_runs_in_a_copy_of_the_context_of_its_starter() -> None:
    variable = ContextVar("variable", default="")
    found: list[str] = []
    ended = threading.Event()

    def run() -> None:
        found.append(variable.get())
        variable.set("of the worker")
        ended.set()

    variable.set("of the creator")
    worker = Worker(run, "kubeconnect test")
    variable.set("of the starter")
    worker.start()
    assert ended.wait(20)
    assert worker.stop(20)
    assert found == ["of the starter"]
    assert variable.get() == "of the starter"

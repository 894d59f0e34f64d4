"""What can only happen to one of the two clients."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from kubeconnect import Client, EventType
from kubeconnect.aio import AsyncClient
from kubeconnect.v1 import resource_service_pb2 as pb
from tests.fake import FakeService, event

SYNCED = event(pb.EVENT_TYPE_SYNCED, None, "9")
BOOKMARK = event(pb.EVENT_TYPE_BOOKMARK, None, "10")


async def test_another_task_may_close_a_watch(service: FakeService) -> None:
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


async def test_a_cancelled_reader_loses_nothing(service: FakeService) -> None:
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


def test_another_thread_may_close_a_watch(service: FakeService) -> None:
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


def test_an_abandoned_watch_frees_the_stream(service: FakeService) -> None:
    service.play([SYNCED])
    with Client(service.address) as client:
        for _ in client.watch("pods"):
            break
        assert service.watch_ended.wait(10)

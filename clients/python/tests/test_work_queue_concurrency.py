"""Tests of work queues that several threads or tasks use."""

from __future__ import annotations

import asyncio
import signal
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from kubeconnect import QueueShutDown, WorkQueue
from kubeconnect.aio import AsyncWorkQueue


def blocked(queue: WorkQueue[str], count: int = 1) -> None:
    """Wait until this number of threads waits in the queue."""
    while len(queue._monitor._waiters) < count:  # type: ignore[attr-defined]
        time.sleep(0.001)


def test_another_thread_ends_a_blocked_get_with_a_key() -> None:
    queue = WorkQueue[str]()
    with ThreadPoolExecutor(1) as threads:
        found = threads.submit(queue.get)
        blocked(queue)
        queue.add("a")
        assert found.result(10) == "a"


def test_a_shorter_delay_ends_a_blocked_get_earlier() -> None:
    queue = WorkQueue[str]()
    queue.add_after("a", 3600)
    with ThreadPoolExecutor(1) as threads:
        found = threads.submit(queue.get)
        blocked(queue)
        queue.add_after("b", 0.001)
        assert found.result(10) == "b"


def test_done_ends_a_blocked_get() -> None:
    queue = WorkQueue[str]()
    queue.add("a")
    queue.get()
    queue.add("a")
    with ThreadPoolExecutor(1) as threads:
        found = threads.submit(queue.get)
        blocked(queue)
        queue.done("a")
        assert found.result(10) == "a"


def test_a_shutdown_ends_all_blocked_gets() -> None:
    queue = WorkQueue[str]()
    with ThreadPoolExecutor(3) as threads:
        found = [threads.submit(queue.get) for _ in range(3)]
        blocked(queue, 3)
        queue.shut_down()
        assert all(isinstance(each.exception(10), QueueShutDown) for each in found)


def test_the_last_done_ends_a_drain() -> None:
    queue = WorkQueue[str]()
    queue.add("a")
    queue.get()
    with ThreadPoolExecutor(1) as threads:
        drained = threads.submit(queue.shut_down_with_drain)
        blocked(queue)
        queue.done("a")
        drained.result(10)


def test_a_shutdown_ends_a_drain() -> None:
    queue = WorkQueue[str]()
    queue.add("a")
    queue.get()
    with ThreadPoolExecutor(1) as threads:
        drained = threads.submit(queue.shut_down_with_drain)
        blocked(queue)
        queue.shut_down()
        drained.result(10)


def test_an_interrupted_get_takes_no_key() -> None:
    queue = WorkQueue[str]()

    def interrupt() -> None:
        blocked(queue)
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        queue.get()
    thread.join()
    queue.add("a")
    assert queue.get(timeout=0) == "a"


def test_no_two_threads_process_the_same_key() -> None:
    queue = WorkQueue[int]()
    processed: Counter[int] = Counter()
    busy: set[int] = set()
    twice = []

    def work() -> None:
        for key in queue:
            if key in busy:
                twice.append(key)
            busy.add(key)
            processed[key] += 1
            time.sleep(0)
            busy.discard(key)
            queue.done(key)

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for number in range(4000):
        queue.add(number % 7)
        if number % 100 == 0:
            queue.add_after(number % 7, 0.001)
    queue.shut_down()
    for worker in workers:
        worker.join(10)
    assert not any(worker.is_alive() for worker in workers)
    assert set(processed) == set(range(7))
    assert twice == []


async def test_another_task_ends_a_blocked_get_with_a_key() -> None:
    queue = AsyncWorkQueue[str]()
    found = asyncio.create_task(queue.get())
    await asyncio.sleep(0)
    queue.add("a")
    assert await asyncio.wait_for(found, 10) == "a"


async def test_a_shutdown_ends_all_blocked_tasks() -> None:
    queue = AsyncWorkQueue[str]()
    found = [asyncio.create_task(queue.get()) for _ in range(3)]
    await asyncio.sleep(0)
    queue.shut_down()
    ended = await asyncio.wait_for(asyncio.gather(*found, return_exceptions=True), 10)
    assert all(isinstance(each, QueueShutDown) for each in ended)


async def test_a_cancelled_get_takes_neither_a_key_nor_a_wake_up() -> None:
    queue = AsyncWorkQueue[str]()
    first, second = asyncio.create_task(queue.get()), asyncio.create_task(queue.get())
    await asyncio.sleep(0)
    queue.add("a")
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    assert await asyncio.wait_for(second, 10) == "a"


async def test_a_cancelled_drain_leaves_the_queue_shut_down() -> None:
    queue = AsyncWorkQueue[str]()
    queue.add("a")
    await queue.get()
    with pytest.raises(asyncio.TimeoutError):
        await asyncio.wait_for(queue.shut_down_with_drain(), 0.01)
    assert queue.is_shut_down

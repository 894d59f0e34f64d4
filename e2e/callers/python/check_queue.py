"""Checks of WorkQueue against what the documentation says. See check_kit.py."""

from __future__ import annotations

import asyncio
import contextlib
import math
import random
import time
from typing import Any

from check_kit import Kit, equal, main, raises, result_of, until

from kubeconnect import QueueShutDown


async def _get(kit: Kit, queue: Any, timeout: float = 10) -> Any:
    """Get a key without blocking the event loop."""
    if kit.is_async:
        return await queue.get(timeout=timeout)
    return await asyncio.to_thread(queue.get, timeout)


async def check_order_and_duplicates(kit: Kit) -> None:
    """A waiting key is processed once, and keys in the order of their additions."""
    queue = kit.public("WorkQueue")()
    for key in "abacab":
        queue.add(key)
    got = [await _get(kit, queue) for _ in range(3)]
    equal(got, ["a", "b", "c"])
    await raises(TimeoutError, lambda: queue.get(timeout=0.05), "an empty queue")
    queue.add("a")  # while it is processed
    queue.add("a")
    await raises(TimeoutError, lambda: queue.get(timeout=0.05), "a key that is processed")
    queue.done("b")
    queue.done("a")
    equal(await _get(kit, queue), "a")
    queue.done("a")
    queue.done("c")
    await raises(TimeoutError, lambda: queue.get(timeout=0), "after all")
    equal((queue.unfinished_seconds, queue.longest_running_seconds), (0, 0))
    queue.add("x")
    equal(await result_of(queue.get(timeout=0)), "x", "no wait is needed")
    equal((queue.unfinished_seconds > 0, queue.longest_running_seconds > 0), (True, True))
    queue.done("x")
    queue.done("never added")


async def check_delays(kit: Kit) -> None:
    """A key is added after its delay, the earlier of two, and no key before its time."""
    queue = kit.public("WorkQueue")()
    began = time.monotonic()
    queue.add_after("late", 0.6)
    queue.add_after("soon", 30)
    queue.add_after("soon", 0.2)
    queue.add_after("soon", 40)
    queue.add_after("now", 0)
    queue.add_after("past", -1)
    equal([await _get(kit, queue), await _get(kit, queue)], ["now", "past"])
    equal(await _get(kit, queue), "soon")
    assert time.monotonic() - began >= 0.2
    equal(await _get(kit, queue), "late")
    assert time.monotonic() - began >= 0.6
    for delay in (math.inf, math.nan, -math.inf):
        await raises(ValueError, lambda d=delay: queue.add_after("x", d), str(delay))
    for key in ("now", "past", "soon", "late"):
        queue.done(key)
    await raises(TimeoutError, lambda: queue.get(timeout=0.1), "no key twice")


async def check_retries(kit: Kit) -> None:
    """The delay of a retry doubles up to its maximum; forget resets it."""
    queue = kit.public("WorkQueue")(base_delay=0.1, max_delay=0.3)
    for want in (0.1, 0.2, 0.3, 0.3):
        began = time.monotonic()
        queue.add_rate_limited("k")
        await _get(kit, queue)
        took = time.monotonic() - began
        assert want <= took, (want, took)
        queue.done("k")
    equal(queue.num_requeues("k"), 4)
    equal(queue.num_requeues("other"), 0)
    queue.forget("k")
    equal(queue.num_requeues("k"), 0)
    began = time.monotonic()
    queue.add_rate_limited("k", at_least=0.5)
    await _get(kit, queue)
    assert time.monotonic() - began >= 0.5
    equal(queue.num_requeues("k"), 1)


async def check_overall_rate(kit: Kit) -> None:
    """Retries of all keys together are limited after the first burst."""
    queue = kit.public("WorkQueue")(base_delay=0.001, max_delay=0.001, rate=10, burst=20)
    began = time.monotonic()
    for i in range(35):
        queue.add_rate_limited(i)
    times = []
    for _ in range(35):
        await _get(kit, queue)
        times.append(time.monotonic() - began)
    assert times[34] >= 1.3, times
    unlimited = kit.public("WorkQueue")(base_delay=0.001, rate=math.inf, burst=1)
    for i in range(300):
        unlimited.add_rate_limited(i)
    for _ in range(300):
        await _get(kit, unlimited, 2)
    default = kit.public("WorkQueue")(base_delay=0.001)
    for i in range(110):
        default.add_rate_limited(i)
    began = time.monotonic()
    for _ in range(110):
        await _get(kit, default)
    assert time.monotonic() - began >= 0.8, "the default is 10 a second after 100"


async def check_jitter(kit: Kit) -> None:
    """With a jitter of 0.5 a delay is up to a half shorter."""
    queue = kit.public("WorkQueue")(base_delay=0.4, max_delay=0.4, jitter=0.5)
    began = time.monotonic()
    for i in range(20):
        queue.add_rate_limited(i)
    times = []
    for _ in range(20):
        await _get(kit, queue)
        times.append(time.monotonic() - began)
    assert times[0] >= 0.2, times
    assert times[-1] - times[0] > 0.02, times


async def check_shut_down(kit: Kit) -> None:
    """The keys that wait are returned, additions and delayed keys are dropped."""
    queue = kit.public("WorkQueue")()
    queue.add("a")
    queue.add_after("later", 0.05)
    queue.shut_down()
    equal(queue.is_shut_down, True)
    queue.add("b")
    queue.add_after("c", 0)
    queue.add_rate_limited("d")
    equal(await _get(kit, queue), "a")
    queue.add("a")
    queue.done("a")
    await asyncio.sleep(0.15)
    await raises(QueueShutDown, lambda: queue.get(timeout=1))
    queue.shut_down()

    waiting = kit.public("WorkQueue")()
    getter = asyncio.ensure_future(_get(kit, waiting, 20))
    await asyncio.sleep(0.1)
    waiting.shut_down()
    await raises(QueueShutDown, lambda: getter, "a get that waits")


async def check_drain(kit: Kit) -> None:
    """A drain waits for the keys that workers have taken."""
    queue = kit.public("WorkQueue")()
    queue.add("a")
    await _get(kit, queue)
    began = time.monotonic()
    await raises(TimeoutError, lambda: queue.shut_down_with_drain(timeout=0.2), "drain")
    assert time.monotonic() - began >= 0.2
    await raises(QueueShutDown, lambda: queue.get(timeout=1))

    async def drain() -> None:
        if kit.is_async:
            await queue.shut_down_with_drain()
        else:
            await asyncio.to_thread(queue.shut_down_with_drain)

    draining = asyncio.ensure_future(drain())
    await asyncio.sleep(0.1)
    equal(draining.done(), False)
    queue.done("a")
    await asyncio.wait_for(draining, 5)

    stuck = kit.public("WorkQueue")()
    stuck.add("a")
    await _get(kit, stuck)
    queue = stuck
    draining = asyncio.ensure_future(drain())
    await asyncio.sleep(0.1)
    stuck.shut_down()
    await asyncio.wait_for(draining, 5)

    empty = kit.public("WorkQueue")()
    await result_of(empty.shut_down_with_drain(timeout=1))


async def check_workers(kit: Kit) -> None:
    """No key is with two workers, and the last state of each key is processed."""
    queue = kit.public("WorkQueue")(base_delay=0.001, rate=math.inf)
    dice = random.Random(1)
    added = dict.fromkeys(range(20), 0)
    processed = dict.fromkeys(range(20), -1)
    running: set[int] = set()
    faults: list[str] = []

    def begin(key: int) -> int:
        if key in running:
            faults.append(f"{key} is with two workers")
        running.add(key)
        return added[key]

    def end(key: int, seen: int) -> None:
        running.discard(key)
        if dice.random() < 0.2:
            queue.add_rate_limited(key)
        else:
            processed[key] = max(processed[key], seen)
            queue.forget(key)
        queue.done(key)

    async def work_async() -> None:
        async for key in queue:
            seen = begin(key)
            await asyncio.sleep(dice.random() / 500)
            end(key, seen)

    def work() -> None:
        for key in queue:
            seen = begin(key)
            time.sleep(dice.random() / 500)
            end(key, seen)

    workers = [
        asyncio.ensure_future(work_async() if kit.is_async else asyncio.to_thread(work))
        for _ in range(4)
    ]
    for _ in range(1500):
        key = dice.randrange(20)
        added[key] += 1
        queue.add(key) if dice.random() < 0.8 else queue.add_after(key, dice.random() / 50)
        if dice.random() < 0.2:
            await asyncio.sleep(0.001)
    with contextlib.suppress(AssertionError):
        await until(lambda: processed == added, "the last additions", 20)
    equal(processed, added)
    equal(faults, [])
    queue.shut_down()
    await asyncio.wait_for(asyncio.gather(*workers), 10)


async def check_arguments(kit: Kit) -> None:
    """Arguments without a meaning raise ValueError."""
    make = kit.public("WorkQueue")
    for arguments in (
        {"base_delay": -1},
        {"base_delay": 0},
        {"base_delay": 2, "max_delay": 1},
        {"jitter": 2},
        {"jitter": -0.1},
        {"rate": 0},
        {"burst": 0},
    ):
        await raises(ValueError, lambda a=arguments: make(**a), str(arguments))


if __name__ == "__main__":
    main(globals())

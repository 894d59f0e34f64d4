import math

import pytest

from kubeconnect import QueueShutDown
from kubeconnect.aio import AsyncWorkQueue


async def test_returns_keys_in_order() -> None:
    queue = AsyncWorkQueue[str]()
    queue.add("a")
    queue.add("b")
    queue.add("a")
    assert len(queue) == 2
    assert [await queue.get(), await queue.get()] == ["a", "b"]
    assert len(queue) == 0


async def test_a_key_that_is_processed_is_not_returned_again_before_it_is_done() -> None:
    queue = AsyncWorkQueue[str]()
    queue.add("a")
    assert await queue.get() == "a"
    queue.add("a")
    with pytest.raises(TimeoutError, match="no key was added within 0 seconds"):
        await queue.get(timeout=0)
    queue.done("a")
    assert await queue.get(timeout=0) == "a"


async def test_get_waits_for_a_delayed_key() -> None:
    queue = AsyncWorkQueue[str]()
    queue.add_after("b", 0.02)
    queue.add_after("a", 0.01)
    assert [await queue.get(60), await queue.get(60)] == ["a", "b"]


async def test_get_ends_after_its_timeout() -> None:
    queue = AsyncWorkQueue[str]()
    queue.add_after("a", 3600)
    with pytest.raises(TimeoutError):
        await queue.get(timeout=0.01)


async def test_a_retry_is_delayed_and_counted() -> None:
    queue = AsyncWorkQueue[str](base_delay=0.001)
    queue.add_rate_limited("a")
    assert queue.num_requeues("a") == 1
    assert await queue.get(60) == "a"
    queue.forget("a")
    assert queue.num_requeues("a") == 0


async def test_a_retry_is_delayed_by_at_least_what_is_asked() -> None:
    queue = AsyncWorkQueue[str](base_delay=0.001, max_delay=0.001)
    queue.add_rate_limited("b", at_least=0.02)
    queue.add_rate_limited("a")
    assert [await queue.get(60), await queue.get(60)] == ["a", "b"]


async def test_a_shutdown_ends_the_iteration_after_the_last_key() -> None:
    queue = AsyncWorkQueue[str]()
    queue.add("a")
    queue.add("b")
    queue.shut_down()
    queue.add("c")
    assert queue.is_shut_down
    seen = []
    async for key in queue:
        seen.append(key)
        queue.done(key)
    assert seen == ["a", "b"]
    with pytest.raises(QueueShutDown):
        await queue.get()


async def test_a_drain_of_a_queue_without_workers_returns() -> None:
    queue = AsyncWorkQueue[str]()
    queue.add("a")
    await queue.shut_down_with_drain()
    assert await queue.get() == "a"


async def test_a_drain_ends_after_its_timeout() -> None:
    queue = AsyncWorkQueue[str]()
    queue.add("a")
    await queue.get()
    with pytest.raises(TimeoutError, match="not drained in"):
        await queue.shut_down_with_drain(timeout=0.01)
    assert queue.is_shut_down


async def test_measures_the_work_in_progress() -> None:
    queue = AsyncWorkQueue[str]()
    queue.add("a")
    await queue.get()
    assert 0 <= queue.longest_running_seconds <= queue.unfinished_seconds
    queue.done("a")
    assert (queue.unfinished_seconds, queue.longest_running_seconds) == (0, 0)


@pytest.mark.parametrize(
    "limits",
    [{"base_delay": 0}, {"base_delay": 2000}, {"max_delay": math.inf}, {"rate": 0}, {"jitter": 2}],
)
async def test_refuses_limits_without_sense(limits: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="must be"):
        AsyncWorkQueue[str](**limits)  # type: ignore[arg-type]

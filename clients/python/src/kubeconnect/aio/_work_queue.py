"""A work queue."""

from __future__ import annotations

import math
from collections.abc import Hashable
from time import monotonic
from typing import Generic, TypeVar

from kubeconnect._concurrency.aio import AsyncMonitor
from kubeconnect._queue_state import (
    BASE_DELAY_SECONDS,
    MAX_DELAY_SECONDS,
    RETRIES_PER_SECOND,
    RETRY_BURST,
    QueueMetrics,
    QueueShutDown,
    QueueState,
)
from kubeconnect._rate_limits import ExponentialBackoff, TokenBucket

K = TypeVar("K", bound=Hashable)

MAX_WAIT_SECONDS = 3600.0
"""The longest single wait of a blocked call."""


class AsyncWorkQueue(Generic[K]):
    """A queue of keys to process, with the semantics of client-go's work queue.

    - A key that is added several times before it is processed is processed once.
    - Two workers never have the same key. A key that is added while it is processed is
      processed again after that.
    - Keys are processed in the order in which they were added.
    - A key may be added later (``add_after``), or after the delay of a retry
      (``add_rate_limited``).

    A worker calls ``done`` for each key that it gets. Iterate to get the keys up to the
    shutdown:

        async for key in queue:
            try:
                await process(key)
                queue.forget(key)
            except Exception:
                queue.add_rate_limited(key)
            finally:
                queue.done(key)

    The delay of a retry doubles with each retry of the key, from ``base_delay`` to
    ``max_delay`` seconds, until ``forget`` resets it. ``jitter`` is the part of each delay that
    is random, between 0 and 1: with 0.2 a delay is up to a fifth shorter. Retries of all keys
    together are limited to ``rate`` a second after a first ``burst``; ``math.inf`` as the rate
    means no limit.

    All methods may be called concurrently, but not from handlers of the module ``signal``.
    """

    def __init__(
        self,
        *,
        base_delay: float = BASE_DELAY_SECONDS,
        max_delay: float = MAX_DELAY_SECONDS,
        jitter: float = 0.0,
        rate: float = RETRIES_PER_SECOND,
        burst: int = RETRY_BURST,
        metrics: QueueMetrics | None = None,
    ) -> None:
        """Create an empty queue. ``metrics`` is called for each change of the queue; the default
        is no metrics. Raises ValueError for limits that are not positive, for a ``max_delay``
        that is less than ``base_delay``, and for a ``jitter`` that is not between 0 and 1.
        """
        self._state: QueueState[K] = QueueState(
            ExponentialBackoff(base_delay, max_delay, jitter=jitter),
            TokenBucket(rate, burst, monotonic),
            monotonic,
            metrics,
        )
        self._monitor = AsyncMonitor()

    def __repr__(self) -> str:
        """Return the number of keys that wait in the queue."""
        return f"<{type(self).__name__}: {len(self)} waiting>"

    def add(self, key: K) -> None:
        """Add a key, unless it waits in the queue already. Ignored after a shutdown."""
        with self._monitor:
            self._state.add(key)
            self._monitor.notify_all()

    def add_after(self, key: K, delay: float) -> None:
        """Add a key in ``delay`` seconds. Ignored after a shutdown, which also drops the keys
        whose time has not come.

        If the key is to be added later already, the earlier time applies. Raises ValueError
        if the delay is not finite.
        """
        with self._monitor:
            self._state.add_after(key, delay)
            self._monitor.notify_all()

    def add_rate_limited(self, key: K, *, at_least: float = 0.0) -> None:
        """Add a key after the delay of its next retry, and after ``at_least`` seconds."""
        with self._monitor:
            self._state.add_rate_limited(key, at_least)
            self._monitor.notify_all()

    def forget(self, key: K) -> None:
        """Reset the delay of the key's retries. Call it when the key was processed."""
        with self._monitor:
            self._state.forget(key)

    def num_requeues(self, key: K) -> int:
        """Return the number of retries of the key since ``forget``."""
        with self._monitor:
            return self._state.num_requeues(key)

    async def get(self, timeout: float | None = None) -> K:
        """Wait for a key and return it. Call ``done`` when it was processed.

        Raises TimeoutError after ``timeout`` seconds; None means no limit. Raises
        QueueShutDown when the queue is shut down and has no more keys.
        """
        end = math.inf if timeout is None else monotonic() + timeout
        with self._monitor:
            while not self._state.is_ready():
                if self._state.is_shut_down:
                    raise QueueShutDown("the work queue is shut down")
                rest = end - monotonic()
                if rest <= 0:
                    raise TimeoutError(f"no key was added within {timeout} seconds")
                await self._monitor.wait(_shortest(rest, self._state.seconds_to_next))
            return self._state.take()

    def __aiter__(self) -> AsyncWorkQueue[K]:
        """Return the queue itself: all iterations share it."""
        return self

    async def __anext__(self) -> K:
        """Wait for a key and return it, as ``get`` does. Ends when the queue is shut down."""
        try:
            return await self.get()
        except QueueShutDown:
            raise StopAsyncIteration from None

    def done(self, key: K) -> None:
        """End the processing of a key. If it was added meanwhile, it is processed again."""
        with self._monitor:
            self._state.done(key)
            self._monitor.notify_all()

    def shut_down(self) -> None:
        """Ignore all later additions, and end the workers: ``get`` returns the keys that wait
        already, and raises QueueShutDown after them. Ends ``shut_down_with_drain`` too.
        """
        with self._monitor:
            self._state.shut_down()
            self._monitor.notify_all()

    async def shut_down_with_drain(self, timeout: float | None = None) -> None:
        """Shut down, and wait until the keys that workers have taken are ``done``.

        Raises TimeoutError after ``timeout`` seconds; None means no limit.
        """
        end = math.inf if timeout is None else monotonic() + timeout
        with self._monitor:
            self._state.shut_down(drain=True)
            self._monitor.notify_all()
            while self._state.is_draining:
                rest = end - monotonic()
                if rest <= 0:
                    raise TimeoutError(f"the work queue was not drained in {timeout} seconds")
                await self._monitor.wait(_shortest(rest))

    @property
    def is_shut_down(self) -> bool:
        """Whether the queue is shut down. It may still have keys."""
        with self._monitor:
            return self._state.is_shut_down

    @property
    def unfinished_seconds(self) -> float:
        """The seconds that workers have spent on the keys that they process, in total."""
        with self._monitor:
            return self._state.unfinished_seconds

    @property
    def longest_running_seconds(self) -> float:
        """The seconds since the longest-running worker got its key; 0 if no key is processed."""
        with self._monitor:
            return self._state.longest_running_seconds

    def __len__(self) -> int:
        """Return the number of keys that ``get`` would return now."""
        with self._monitor:
            return len(self._state)


def _shortest(rest: float, delay: float | None = None) -> float:
    """Return the number of seconds to wait before the state is re-checked. It is bounded,
    because locks and event loops do not accept every number of seconds.
    """
    return min(rest, MAX_WAIT_SECONDS if delay is None else delay, MAX_WAIT_SECONDS)

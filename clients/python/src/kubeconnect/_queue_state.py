"""The state of a work queue, without any waiting."""

from __future__ import annotations

import heapq
import itertools
import math
from collections import deque
from collections.abc import Callable, Hashable
from typing import Generic, Protocol, TypeVar

from kubeconnect._rate_limits import ExponentialBackoff, TokenBucket

K = TypeVar("K", bound=Hashable)

BASE_DELAY_SECONDS = 0.005
"""The default delay of the first retry of a key."""

MAX_DELAY_SECONDS = 1000.0
"""The default limit of the delay of a retry."""

RETRIES_PER_SECOND = 10.0
"""The default rate of the retries of all keys together."""

RETRY_BURST = 100
"""The default number of retries that the rate does not delay."""


class QueueShutDown(Exception):
    """The work queue is shut down and has no more keys."""


class QueueMetrics(Protocol):
    """The measurements of a work queue. All durations are in seconds."""

    def added(self) -> None:
        """Count a key that was added and was not in the queue already."""

    def taken(self, waited: float) -> None:
        """Record the time between the addition of a key and the ``get`` that returns it."""

    def finished(self, worked: float) -> None:
        """Record the time between the ``get`` that returned a key and its ``done``."""

    def retried(self) -> None:
        """Count a key that was added with a delay."""


class QueueState(Generic[K]):
    """The state of a work queue, as in client-go's util/workqueue. Not safe for concurrent use.

    A key is in up to three places:

    - ``_dirty``: it was added and has to be processed.
    - ``_processing``: a worker has taken it and has not called ``done``.
    - ``_delayed``: it is added at a later time.

    ``_ready`` has the dirty keys that no worker has taken, in order. A key that is added
    while it is processed stays only in ``_dirty``, and becomes ready with its ``done``, so
    that two workers never have the same key.
    """

    def __init__(
        self,
        backoff: ExponentialBackoff[K],
        limit: TokenBucket,
        clock: Callable[[], float],
        metrics: QueueMetrics | None = None,
    ) -> None:
        """Begin empty. ``clock`` returns the time in seconds, and never goes back."""
        self._backoff = backoff
        self._limit = limit
        self._clock = clock
        self._metrics = metrics
        self._ready: deque[K] = deque()
        self._dirty: dict[K, float] = {}  # the time when each was added
        self._processing: dict[K, float] = {}  # the time when each was taken
        self._delayed: dict[K, float] = {}  # the time when each is to be added
        # The times of _delayed in order, and outdated times of keys that were moved forward.
        self._schedule: list[tuple[float, int, K]] = []
        self._sequence = itertools.count()
        self._shut_down = False
        self._draining = False

    def add(self, key: K) -> None:
        """Add the key, unless it is waiting already, or the queue is shut down."""
        if self._shut_down or key in self._dirty:
            return
        self._dirty[key] = self._clock()
        if self._metrics:
            self._metrics.added()
        if key not in self._processing:
            self._ready.append(key)

    def add_after(self, key: K, delay: float) -> None:
        """Add the key in ``delay`` seconds, or earlier if it is to be added earlier already."""
        if not math.isfinite(delay):
            raise ValueError(f"the delay must be a finite number of seconds, not {delay}")
        if self._shut_down:
            return
        if self._metrics:
            self._metrics.retried()
        if delay <= 0:
            self.add(key)
            return
        due = self._clock() + delay
        if due < self._delayed.get(key, math.inf):
            self._delayed[key] = due
            heapq.heappush(self._schedule, (due, next(self._sequence), key))
            self._drop_outdated()

    def add_rate_limited(self, key: K, at_least: float = 0.0) -> None:
        """Add the key after the delay of its next retry, and after ``at_least`` seconds."""
        delay = max(self._backoff.delay(key), self._limit.delay(), at_least)
        self.add_after(key, delay)

    def num_requeues(self, key: K) -> int:
        """Return the number of rate-limited additions since the key was last forgotten."""
        return self._backoff.failures(key)

    def forget(self, key: K) -> None:
        """Reset the delay of the key's next retry."""
        self._backoff.forget(key)

    def is_ready(self) -> bool:
        """Return whether ``take`` has a key. Adds the delayed keys whose time has come."""
        self._add_due()
        return bool(self._ready)

    def take(self) -> K:
        """Return the next key, which is being processed until ``done``."""
        key = self._ready.popleft()
        now = self._clock()
        self._processing[key] = now
        added = self._dirty.pop(key)
        if self._metrics:
            self._metrics.taken(now - added)
        return key

    def done(self, key: K) -> None:
        """End the processing of the key, which becomes ready if it was added meanwhile."""
        taken = self._processing.pop(key, None)
        if taken is None:
            return
        if self._metrics:
            self._metrics.finished(self._clock() - taken)
        if key in self._dirty:
            self._ready.append(key)

    def shut_down(self, *, drain: bool = False) -> None:
        """Ignore later additions, and drop the delayed keys. With ``drain``, begin to drain."""
        self._shut_down = True
        self._draining = drain
        self._delayed.clear()
        self._schedule.clear()

    @property
    def is_shut_down(self) -> bool:
        """Whether additions are ignored."""
        return self._shut_down

    @property
    def is_draining(self) -> bool:
        """Whether the queue drains, and keys are being processed."""
        return self._draining and bool(self._processing)

    @property
    def seconds_to_next(self) -> float | None:
        """The time until the next delayed key is added; None if no key is delayed."""
        self._pop_outdated()
        return max(self._schedule[0][0] - self._clock(), 0.0) if self._schedule else None

    @property
    def unfinished_seconds(self) -> float:
        """The time that workers have spent on the keys that they process, in total."""
        now = self._clock()
        return sum(now - taken for taken in self._processing.values())

    @property
    def longest_running_seconds(self) -> float:
        """The time since the longest-running worker has taken its key; 0 if there is none."""
        now = self._clock()
        return max((now - taken for taken in self._processing.values()), default=0.0)

    def __len__(self) -> int:
        """Return the number of keys that are ready."""
        self._add_due()
        return len(self._ready)

    def _add_due(self) -> None:
        now = self._clock()
        self._pop_outdated()
        while self._schedule and self._schedule[0][0] <= now:
            _, _, key = heapq.heappop(self._schedule)
            del self._delayed[key]
            self.add(key)
            self._pop_outdated()

    def _pop_outdated(self) -> None:
        while self._schedule and not self._is_current(self._schedule[0]):
            heapq.heappop(self._schedule)

    def _drop_outdated(self) -> None:
        """Bound the number of outdated times by the number of delayed keys."""
        if len(self._schedule) > 2 * len(self._delayed) + 16:
            self._schedule = [each for each in self._schedule if self._is_current(each)]
            heapq.heapify(self._schedule)

    def _is_current(self, entry: tuple[float, int, K]) -> bool:
        due, _, key = entry
        return self._delayed.get(key) == due

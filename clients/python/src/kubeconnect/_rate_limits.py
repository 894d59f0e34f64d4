"""The delays of the retries of a work queue, as in client-go."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)

MAX_DOUBLINGS = 64
"""More doublings than any maximum delay allows, and few enough that a float holds them."""


class ExponentialBackoff(Generic[K]):
    """A delay for each key, which doubles with each failure up to a maximum.

    client-go's ItemExponentialFailureRateLimiter, and jitter in addition.
    """

    def __init__(
        self,
        base: float,
        maximum: float,
        *,
        jitter: float = 0.0,
        random: Callable[[], float] = random.random,
    ) -> None:
        """Begin without failures.

        ``base`` is the first delay and ``maximum`` the longest one, in seconds. ``jitter``
        is the part of each delay that is random: with 0.2 a delay is up to a fifth shorter.
        ``random`` returns numbers in [0, 1).
        """
        if not 0 < base <= maximum < math.inf:
            raise ValueError(
                f"the base delay must be more than 0 and at most the maximum delay, "
                f"not {base} and {maximum}"
            )
        if not 0 <= jitter <= 1:
            raise ValueError(f"jitter must be between 0 and 1, not {jitter}")
        self._base = base
        self._maximum = maximum
        self._jitter = jitter
        self._random = random
        self._failures: dict[K, int] = {}

    def delay(self, key: K) -> float:
        """Count a failure of the key, and return the number of seconds to wait."""
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        delay = min(self._base * 2.0 ** min(failures, MAX_DOUBLINGS), self._maximum)
        return delay * (1 - self._jitter * self._random())

    def failures(self, key: K) -> int:
        """Return the number of failures of the key since it was last forgotten."""
        return self._failures.get(key, 0)

    def forget(self, key: K) -> None:
        """Reset the failures of the key."""
        self._failures.pop(key, None)


class TokenBucket:
    """A limit for all keys together: ``rate`` a second, and up to ``burst`` at once.

    Each call of ``delay`` takes a token. When there is none, the call reserves the next one
    that will be added, as ``Limiter.Reserve`` of golang.org/x/time/rate does.
    """

    def __init__(self, rate: float, burst: int, clock: Callable[[], float]) -> None:
        """Begin with a full bucket. ``math.inf`` as the rate means no limit.

        ``clock`` returns the time in seconds, and never goes back.
        """
        if not (rate > 0 and burst > 0):
            raise ValueError(f"rate and burst must be more than 0, not {rate} and {burst}")
        self._rate = rate
        self._burst = burst
        self._clock = clock
        self._tokens = float(burst)  # less than 0: reserved
        self._updated = clock()

    def delay(self) -> float:
        """Take a token, and return the number of seconds until it is available."""
        if math.isinf(self._rate):
            return 0.0
        now = self._clock()
        added = (now - self._updated) * self._rate
        self._tokens = min(self._tokens + added, self._burst) - 1
        self._updated = now
        return max(-self._tokens / self._rate, 0.0)

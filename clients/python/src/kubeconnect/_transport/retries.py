"""The retries of calls that change nothing."""

from __future__ import annotations

import random
from collections.abc import Callable

import grpc

from kubeconnect._errors import KubeconnectError

FIRST_DELAY_SECONDS = 0.1
"""The maximum delay after the first loss of the connection. It doubles with each further one."""

MAX_DELAY_SECONDS = 2.0
"""The maximum delay after a loss of the connection."""

_REJECTED = {grpc.StatusCode.RESOURCE_EXHAUSTED, grpc.StatusCode.UNAVAILABLE}


def retry_delay(
    error: KubeconnectError,
    rest: float | None,
    attempt: int,
    *,
    reached: bool,
    jitter: Callable[[], float] = random.random,
) -> float | None:
    """Return the number of seconds after which to make a call again that has failed; None if the
    error is final, or if the delay exceeds ``rest``, the rest of the caller's timeout (None: no
    limit). ``attempt`` is the number of earlier retries, and ``jitter`` returns random numbers in
    [0, 1).

    ``reached`` is whether the service was ever reached: a wrong address is reported immediately.
    """
    delay = _delay(error, attempt, jitter) if reached or error.status else None
    return delay if delay is not None and (rest is None or delay < rest) else None


def _delay(error: KubeconnectError, attempt: int, jitter: Callable[[], float]) -> float | None:
    if error.code in _REJECTED and error.retry_after_seconds is not None:
        return float(error.retry_after_seconds)
    # An error of the service has a Status, and one of the connection has none.
    if error.code is not grpc.StatusCode.UNAVAILABLE or error.status is not None:
        return None
    longest = min(MAX_DELAY_SECONDS, FIRST_DELAY_SECONDS * 2.0 ** min(attempt, 10))
    return longest * (0.5 + jitter() / 2)

"""Tests of the delays of retries."""

import grpc
import pytest

from kubeconnect import KubeconnectError, Status
from kubeconnect._transport.retries import retry_delay

Code = grpc.StatusCode
LOST = KubeconnectError(Code.UNAVAILABLE, "connection reset")
REJECTED = KubeconnectError(Code.UNAVAILABLE, "busy", Status(retry_after_seconds=3))


def delay(
    error: KubeconnectError, rest: float | None = 30.0, attempt: int = 0, *, reached: bool = True
) -> float | None:
    return retry_delay(error, rest, attempt, reached=reached, jitter=lambda: 1.0)


def test_a_lost_connection_is_retried_with_backoff() -> None:
    assert [delay(LOST, attempt=number) for number in (0, 1, 2, 9)] == [0.1, 0.2, 0.4, 2.0]


def test_a_service_that_was_never_reached_is_not_retried() -> None:
    assert delay(LOST, reached=False) is None
    assert delay(REJECTED, reached=False) == 3.0


def test_the_timeout_limits_the_delay() -> None:
    assert (delay(REJECTED, 3.0), delay(REJECTED, 3.1), delay(REJECTED, None)) == (None, 3.0, 3.0)
    assert delay(LOST, 0.05) is None


@pytest.mark.parametrize(
    "error",
    [
        KubeconnectError(Code.UNAVAILABLE, "no delay", Status(reason="ServiceUnavailable")),
        KubeconnectError(Code.INTERNAL, "reset"),
        KubeconnectError(Code.DEADLINE_EXCEEDED, "late"),
        KubeconnectError(Code.NOT_FOUND, "none", Status(retry_after_seconds=3)),
    ],
)
def test_other_errors_are_final(error: KubeconnectError) -> None:
    assert delay(error) is None

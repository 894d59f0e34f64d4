"""Tests of the delays of retries."""

import math

import pytest

from kubeconnect._rate_limits import ExponentialBackoff, TokenBucket
from tests.clock import Clock


def test_the_delay_of_a_key_doubles_up_to_the_maximum() -> None:
    backoff = ExponentialBackoff[str](0.005, 1000.0)
    delays = [backoff.delay("a") for _ in range(20)]
    assert delays[:4] == [0.005, 0.01, 0.02, 0.04]
    assert delays[17] == pytest.approx(0.005 * 2**17)
    assert delays[18:] == [1000.0, 1000.0]


def test_a_delay_stays_at_the_maximum_for_any_number_of_failures() -> None:
    backoff = ExponentialBackoff[str](0.005, 1000.0)
    for _ in range(5000):
        delay = backoff.delay("a")
    assert delay == 1000.0


def test_each_key_has_its_own_delay() -> None:
    backoff = ExponentialBackoff[str](1.0, 60.0)
    backoff.delay("a")
    assert (backoff.delay("a"), backoff.delay("b")) == (2.0, 1.0)
    assert (backoff.failures("a"), backoff.failures("b"), backoff.failures("c")) == (2, 1, 0)


def test_a_forgotten_key_begins_again() -> None:
    backoff = ExponentialBackoff[str](1.0, 60.0)
    backoff.delay("a")
    backoff.forget("a")
    backoff.forget("b")
    assert backoff.failures("a") == 0
    assert backoff.delay("a") == 1.0


def test_jitter_shortens_a_delay() -> None:
    numbers = iter([0.0, 0.5, 0.999])
    backoff = ExponentialBackoff[str](10.0, 10.0, jitter=0.2, random=lambda: next(numbers))
    assert [backoff.delay("a") for _ in range(3)] == pytest.approx([10.0, 9.0, 8.002])


@pytest.mark.parametrize(("base", "maximum"), [(0.0, 1.0), (2.0, 1.0), (1.0, math.inf)])
def test_refuses_delays_without_sense(base: float, maximum: float) -> None:
    with pytest.raises(ValueError, match="base delay"):
        ExponentialBackoff[str](base, maximum)


@pytest.mark.parametrize("jitter", [-0.1, 1.1])
def test_refuses_jitter_without_sense(jitter: float) -> None:
    with pytest.raises(ValueError, match="jitter"):
        ExponentialBackoff[str](1.0, 1.0, jitter=jitter)


def test_a_bucket_delays_what_exceeds_its_burst() -> None:
    bucket = TokenBucket(10.0, 3, Clock())
    assert [bucket.delay() for _ in range(5)] == pytest.approx([0.0, 0.0, 0.0, 0.1, 0.2])


def test_a_bucket_fills_with_time() -> None:
    clock = Clock()
    bucket = TokenBucket(10.0, 2, clock)
    for _ in range(4):
        bucket.delay()
    clock.advance(0.25)
    assert bucket.delay() == pytest.approx(0.05)
    clock.advance(3600.0)
    assert [bucket.delay() for _ in range(3)] == pytest.approx([0.0, 0.0, 0.1])


def test_a_bucket_without_a_limit_delays_nothing() -> None:
    bucket = TokenBucket(math.inf, 1, Clock())
    assert [bucket.delay() for _ in range(3)] == [0.0, 0.0, 0.0]


@pytest.mark.parametrize(("rate", "burst"), [(0.0, 1), (1.0, 0)])
def test_refuses_a_bucket_that_never_fills(rate: float, burst: int) -> None:
    with pytest.raises(ValueError, match="rate and burst"):
        TokenBucket(rate, burst, Clock())

"""Tests of the state of a work queue, without waiting."""

from __future__ import annotations

import math
import random

import pytest

from kubeconnect._queue_state import QueueState
from kubeconnect._rate_limits import ExponentialBackoff, TokenBucket
from tests.clock import Clock


class Measured:
    """Records the measurements of a queue."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, float]] = []

    def added(self) -> None:
        self.calls.append(("added", 0.0))

    def taken(self, waited: float) -> None:
        self.calls.append(("taken", waited))

    def finished(self, worked: float) -> None:
        self.calls.append(("finished", worked))

    def retried(self) -> None:
        self.calls.append(("retried", 0.0))


@pytest.fixture
def clock() -> Clock:
    return Clock(100.0)


@pytest.fixture
def queue(clock: Clock) -> QueueState[str]:
    return state(clock)


def state(clock: Clock, metrics: Measured | None = None) -> QueueState[str]:
    backoff = ExponentialBackoff[str](1.0, 8.0)
    return QueueState(backoff, TokenBucket(10.0, 100, clock), clock, metrics)


def take_all(queue: QueueState[str]) -> list[str]:
    taken = []
    while queue.is_ready():
        taken.append(queue.take())
    return taken


def test_returns_keys_in_the_order_of_their_addition(queue: QueueState[str]) -> None:
    for key in "abc":
        queue.add(key)
    assert len(queue) == 3
    assert take_all(queue) == ["a", "b", "c"]
    assert len(queue) == 0


def test_a_key_that_waits_is_not_added_again(queue: QueueState[str]) -> None:
    for key in "aba":
        queue.add(key)
    assert take_all(queue) == ["a", "b"]


def test_a_key_that_is_processed_waits_until_it_is_done(queue: QueueState[str]) -> None:
    queue.add("a")
    queue.take()
    queue.add("a")
    queue.add("a")
    assert not queue.is_ready()
    queue.done("a")
    assert take_all(queue) == ["a"]
    queue.done("a")
    assert not queue.is_ready()


def test_done_of_a_key_that_is_not_processed_has_no_effect(queue: QueueState[str]) -> None:
    queue.add("a")
    queue.done("a")
    queue.done("b")
    assert take_all(queue) == ["a"]


def test_a_delayed_key_is_added_in_time(queue: QueueState[str], clock: Clock) -> None:
    queue.add_after("b", 5.0)
    queue.add_after("a", 2.0)
    assert (queue.is_ready(), queue.seconds_to_next) == (False, 2.0)
    clock.advance(2.0)
    assert take_all(queue) == ["a"]
    assert queue.seconds_to_next == 3.0
    clock.advance(3.0)
    assert len(queue) == 1
    assert take_all(queue) == ["b"]
    assert queue.seconds_to_next is None


@pytest.mark.parametrize("delay", [0.0, -1.0])
def test_a_key_without_a_delay_is_added_at_once(queue: QueueState[str], delay: float) -> None:
    queue.add_after("a", delay)
    assert take_all(queue) == ["a"]


@pytest.mark.parametrize("delay", [math.inf, -math.inf, math.nan])
def test_refuses_a_delay_that_is_not_finite(queue: QueueState[str], delay: float) -> None:
    with pytest.raises(ValueError, match="finite"):
        queue.add_after("a", delay)


@pytest.mark.parametrize("delays", [(5.0, 2.0), (2.0, 5.0)])
def test_the_earlier_of_two_delays_applies(
    queue: QueueState[str], clock: Clock, delays: tuple[float, float]
) -> None:
    for delay in delays:
        queue.add_after("a", delay)
    clock.advance(2.0)
    assert take_all(queue) == ["a"]
    queue.done("a")
    clock.advance(3.0)
    assert not queue.is_ready()


def test_a_key_may_be_added_at_once_and_later(queue: QueueState[str], clock: Clock) -> None:
    queue.add_after("a", 2.0)
    queue.add("a")
    assert take_all(queue) == ["a"]
    queue.done("a")
    clock.advance(2.0)
    assert take_all(queue) == ["a"]


def test_a_delayed_key_that_is_processed_waits_until_it_is_done(
    queue: QueueState[str], clock: Clock
) -> None:
    queue.add_after("a", 2.0)
    queue.add("a")
    queue.take()
    clock.advance(2.0)
    assert not queue.is_ready()
    queue.done("a")
    assert take_all(queue) == ["a"]


def test_times_that_no_longer_apply_are_dropped(queue: QueueState[str]) -> None:
    for delay in range(5000, 0, -1):
        queue.add_after("a", delay)
    assert len(queue._schedule) <= 18
    assert queue.seconds_to_next == 1.0


def test_a_retry_waits_longer_each_time(queue: QueueState[str]) -> None:
    delays = []
    for _ in range(5):
        queue.add_rate_limited("a")
        delays.append(queue.seconds_to_next)
        queue.shut_down()
        queue._shut_down = False
    assert delays == [1.0, 2.0, 4.0, 8.0, 8.0]
    assert queue.num_requeues("a") == 5
    queue.forget("a")
    assert queue.num_requeues("a") == 0
    queue.add_rate_limited("a")
    assert queue.seconds_to_next == 1.0


def test_a_retry_waits_at_least_the_given_time(queue: QueueState[str]) -> None:
    queue.add_rate_limited("a", at_least=30.0)
    assert queue.seconds_to_next == 30.0


def test_all_retries_together_are_limited(clock: Clock) -> None:
    queue = QueueState(
        ExponentialBackoff[int](0.001, 0.001), TokenBucket(10.0, 5, clock), clock, None
    )
    for key in range(20):
        queue.add_rate_limited(key)
    clock.advance(0.001)
    assert len(queue) == 5
    clock.advance(1.0)
    assert len(queue) == 15


def test_a_shutdown_keeps_only_what_waits_already(queue: QueueState[str], clock: Clock) -> None:
    queue.add("a")
    queue.add_after("b", 1.0)
    queue.shut_down()
    queue.add("c")
    queue.add_after("d", 1.0)
    queue.add_rate_limited("e")
    clock.advance(60.0)
    assert queue.is_shut_down
    assert take_all(queue) == ["a"]


def test_a_key_that_was_added_before_the_shutdown_becomes_ready_after_it(
    queue: QueueState[str],
) -> None:
    queue.add("a")
    queue.take()
    queue.add("a")
    queue.shut_down()
    queue.done("a")
    assert take_all(queue) == ["a"]


def test_drains_until_all_keys_are_done(queue: QueueState[str]) -> None:
    queue.add("a")
    queue.add("b")
    assert take_all(queue) == ["a", "b"]
    queue.shut_down(drain=True)
    queue.done("a")
    assert queue.is_draining
    queue.done("b")
    assert not queue.is_draining


def test_a_second_shutdown_ends_the_draining(queue: QueueState[str]) -> None:
    queue.add("a")
    queue.take()
    queue.shut_down(drain=True)
    queue.shut_down()
    assert not queue.is_draining


def test_measures_what_happens(clock: Clock) -> None:
    metrics = Measured()
    queue = state(clock, metrics)
    queue.add("a")
    queue.add("a")
    clock.advance(2.0)
    queue.take()
    clock.advance(3.0)
    assert (queue.unfinished_seconds, queue.longest_running_seconds) == (3.0, 3.0)
    queue.add("b")
    queue.take()
    clock.advance(1.0)
    assert (queue.unfinished_seconds, queue.longest_running_seconds) == (5.0, 4.0)
    queue.done("a")
    queue.add_after("c", 1.0)
    assert metrics.calls == [
        ("added", 0.0),
        ("taken", 2.0),
        ("added", 0.0),
        ("taken", 0.0),
        ("finished", 4.0),
        ("retried", 0.0),
    ]
    queue.done("b")
    assert (queue.unfinished_seconds, queue.longest_running_seconds) == (0.0, 0.0)


class Model:
    """A work queue in the simplest form: lists that are searched from the beginning."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.waiting: list[str] = []  # dirty, in the order in which keys become ready
        self.processing: list[str] = []
        self.again: list[str] = []  # dirty and processing
        self.delayed: list[tuple[float, str]] = []
        self.shut = False

    def add(self, key: str) -> None:
        if self.shut or key in self.waiting or key in self.again:
            return
        (self.again if key in self.processing else self.waiting).append(key)

    def add_after(self, key: str, delay: float) -> None:
        if delay <= 0:
            self.add(key)
        elif not self.shut:
            times = [self.clock() + delay, *(time for time, each in self.delayed if each == key)]
            self.delayed = [each for each in self.delayed if each[1] != key] + [(min(times), key)]

    def ready(self) -> list[str]:
        due = [each for each in self.delayed if each[0] <= self.clock()]
        self.delayed = [each for each in self.delayed if each not in due]
        for _, key in sorted(due, key=lambda each: each[0]):
            self.add(key)
        return self.waiting

    def take(self) -> str:
        self.processing.append(self.waiting.pop(0))
        return self.processing[-1]

    def done(self, key: str) -> None:
        if key in self.processing:
            self.processing.remove(key)
            if key in self.again:
                self.again.remove(key)
                self.waiting.append(key)

    def shut_down(self) -> None:
        self.shut = True
        self.delayed = []


@pytest.mark.parametrize("seed", range(50))
def test_does_what_a_simple_model_does(seed: int) -> None:
    numbers = random.Random(seed)
    clock = Clock()
    queue, model = state(clock), Model(clock)
    added: dict[str, int] = {}
    taken: dict[str, int] = {}
    keys = [f"k{number}" for number in range(numbers.randint(1, 12))]
    for step in range(600):
        key = numbers.choice(keys)
        match numbers.randrange(6):
            case 0:
                queue.add(key)
                model.add(key)
                added[key] = step
            case 1:
                # No two times are equal: the order of equal times is not specified.
                delay = numbers.choice([-1, 0, 1, 5, 60]) + numbers.random() / 1000
                queue.add_after(key, delay)
                model.add_after(key, delay)
                added[key] = step
            case 2 | 3:
                clock.advance(numbers.choice([0.0, 0.5, 3.0]))
                assert queue.is_ready() == bool(model.ready())
                if queue.is_ready():
                    assert model.waiting[0] not in model.processing
                    found = queue.take()
                    assert found == model.take()
                    taken[found] = step
            case _:
                processed = numbers.choice(model.processing or keys)
                queue.done(processed)
                model.done(processed)
        assert len(queue) == len(model.ready())
        assert len(set(model.processing)) == len(model.processing)
    clock.advance(3600.0)
    for _ in range(3):
        for key in keys:
            queue.done(key)
        for key in take_all(queue):
            taken[key] = 600
    assert all(taken[key] >= step for key, step in added.items())
    queue.shut_down()
    model.shut_down()
    queue.add("late")
    model.add("late")
    assert (len(queue), model.ready().count("late")) == (0, 0)

"""Measurements of controllers for Prometheus, with the names of controller-runtime.

They are registered with the default registry of prometheus_client. Without that package
nothing is measured.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cache
from typing import Any, Protocol

from kubeconnect._queue_state import QueueMetrics

_RECONCILE_BUCKETS = (
    *(0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8),
    *(0.9, 1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0),
    *(15.0, 20.0, 25.0, 30.0, 40.0, 50.0, 60.0),
)
_QUEUE_BUCKETS = tuple(10.0**exponent for exponent in range(-8, 4))

RESULTS = ("success", "error", "requeue_after")
"""The results of a reconcile."""

_lock = threading.Lock()


class ControllerMetrics(Protocol):
    """The measurements of a controller."""

    @property
    def queue(self) -> QueueMetrics | None:
        """The measurements of its queue; None if nothing is measured."""

    def start(self, workers: int, queue: QueueStatus) -> None:
        """Record the number of workers, and begin to measure the queue."""

    def begin(self) -> None:
        """Count a worker that begins to reconcile."""

    def end(self, result: str, seconds: float) -> None:
        """Count a worker that has reconciled, with one of ``RESULTS``."""

    def stop(self) -> None:
        """Stop measuring the queue."""


class QueueStatus(Protocol):
    """The part of a work queue that is measured when metrics are read."""

    def __len__(self) -> int:
        """Return the number of keys that wait."""

    @property
    def unfinished_seconds(self) -> float:
        """The time that workers have spent on the keys that they process."""

    @property
    def longest_running_seconds(self) -> float:
        """The time since the longest-running worker got its key."""


def controller_metrics(controller: str) -> ControllerMetrics:
    """Return the measurements of the controller with this name."""
    with _lock:
        families = _families()
    return _Prometheus(families, controller) if families else _Unmeasured()


def leader_metric(lease: str) -> Callable[[bool], object]:
    """Return a function that records whether this process is the leader."""
    with _lock:
        families = _families()
    if families is None:
        return lambda leading: None
    gauge = families.leader.labels(name=lease)
    return lambda leading: gauge.set(int(leading))


class _Unmeasured:
    queue = None

    def start(self, workers: int, queue: QueueStatus) -> None:
        pass

    def begin(self) -> None:
        pass

    def end(self, result: str, seconds: float) -> None:
        pass

    def stop(self) -> None:
        pass


class _Families:
    """The metrics of all controllers of this process."""

    def __init__(self, prometheus: Any) -> None:
        counter, gauge, histogram = prometheus.Counter, prometheus.Gauge, prometheus.Histogram
        of_controller, of_queue = ["controller"], ["name", "controller"]
        self.reconciles = counter(
            "controller_runtime_reconcile_total",
            "Total number of reconciliations per controller",
            ["controller", "result"],
        )
        self.errors = counter(
            "controller_runtime_reconcile_errors_total",
            "Total number of reconciliation errors per controller",
            of_controller,
        )
        self.reconcile_seconds = histogram(
            "controller_runtime_reconcile_time_seconds",
            "Length of time per reconciliation per controller",
            of_controller,
            buckets=_RECONCILE_BUCKETS,
        )
        self.workers = gauge(
            "controller_runtime_max_concurrent_reconciles",
            "Maximum number of concurrent reconciles per controller",
            of_controller,
        )
        self.active = gauge(
            "controller_runtime_active_workers",
            "Number of currently used workers per controller",
            of_controller,
        )
        self.depth = gauge("workqueue_depth", "Current depth of workqueue", of_queue)
        self.adds = counter(
            "workqueue_adds_total", "Total number of adds handled by workqueue", of_queue
        )
        self.waited = histogram(
            "workqueue_queue_duration_seconds",
            "How long in seconds an item stays in workqueue before being requested",
            of_queue,
            buckets=_QUEUE_BUCKETS,
        )
        self.worked = histogram(
            "workqueue_work_duration_seconds",
            "How long in seconds processing an item from workqueue takes",
            of_queue,
            buckets=_QUEUE_BUCKETS,
        )
        self.unfinished = gauge(
            "workqueue_unfinished_work_seconds",
            "How many seconds of work is in progress that work_duration has not observed",
            of_queue,
        )
        self.longest = gauge(
            "workqueue_longest_running_processor_seconds",
            "How many seconds the longest running processor has been running",
            of_queue,
        )
        self.retries = counter(
            "workqueue_retries_total", "Total number of retries handled by workqueue", of_queue
        )
        self.leader = gauge(
            "leader_election_master_status",
            "Whether this process is the leader of the lease: 1 if it is, 0 if not",
            ["name"],
        )


@cache
def _families() -> _Families | None:
    try:
        import prometheus_client
    except ImportError:
        return None
    return _Families(prometheus_client)


class _QueueMetrics:
    def __init__(self, families: _Families, controller: str) -> None:
        labels = {"name": controller, "controller": controller}
        self._adds = families.adds.labels(**labels)
        self._waited = families.waited.labels(**labels)
        self._worked = families.worked.labels(**labels)
        self._retries = families.retries.labels(**labels)

    def added(self) -> None:
        self._adds.inc()

    def taken(self, waited: float) -> None:
        self._waited.observe(waited)

    def finished(self, worked: float) -> None:
        self._worked.observe(worked)

    def retried(self) -> None:
        self._retries.inc()


class _Prometheus:
    def __init__(self, families: _Families, controller: str) -> None:
        self.queue = _QueueMetrics(families, controller)
        labels = {"name": controller, "controller": controller}
        self._depth = families.depth.labels(**labels)
        self._unfinished = families.unfinished.labels(**labels)
        self._longest = families.longest.labels(**labels)
        self._workers = families.workers.labels(controller=controller)
        self._active = families.active.labels(controller=controller)
        self._seconds = families.reconcile_seconds.labels(controller=controller)
        self._errors = families.errors.labels(controller=controller)
        self._results = {
            result: families.reconciles.labels(controller=controller, result=result)
            for result in RESULTS
        }

    def start(self, workers: int, queue: QueueStatus) -> None:
        self._workers.set(workers)
        self._depth.set_function(lambda: len(queue))
        self._unfinished.set_function(lambda: queue.unfinished_seconds)
        self._longest.set_function(lambda: queue.longest_running_seconds)

    def begin(self) -> None:
        self._active.inc()

    def end(self, result: str, seconds: float) -> None:
        self._active.dec()
        self._seconds.observe(seconds)
        self._results[result].inc()
        if result == "error":
            self._errors.inc()

    def stop(self) -> None:
        """Stop measuring the queue, so that the metrics do not keep it in memory."""
        self._workers.set(0)
        for gauge in (self._depth, self._unfinished, self._longest):
            gauge.set_function(float)

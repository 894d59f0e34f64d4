"""Waiting and workers for threads."""

from __future__ import annotations

import queue
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from time import monotonic
from types import FrameType
from typing import Any, Generic, TypeVar

A = TypeVar("A")
R = TypeVar("R")
T = TypeVar("T")

SIGNAL_SECONDS = 0.5
"""The longest single wait of the main thread, in which Python runs signal handlers. A signal that
arrives immediately before the thread blocks does not wake it."""


class Monitor(threading.Condition):
    """A state that threads change, and whose changes threads wait for.

    ``with monitor:`` guards the state. All waiting threads are woken together: a thread that
    is interrupted at that moment takes no wake-up from another one.
    """

    def __init__(self) -> None:
        """Begin unlocked."""
        super().__init__(threading.Lock())

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until ``notify_all``, for at most ``timeout`` seconds. May return earlier."""
        if threading.current_thread() is threading.main_thread():
            timeout = SIGNAL_SECONDS if timeout is None else min(timeout, SIGNAL_SECONDS)
        return super().wait(timeout)


class Mailbox(Generic[T]):
    """Items from threads and signal handlers to one thread."""

    def __init__(self) -> None:
        """Begin empty."""
        # Its put is reentrant, so that a signal handler may call it.
        self._items: queue.SimpleQueue[T] = queue.SimpleQueue()

    def put(self, item: T) -> None:
        """Add an item."""
        self._items.put(item)

    def get(self) -> T:
        """Wait for the next item and return it."""
        while True:
            with suppress(queue.Empty):
                return self._items.get(timeout=SIGNAL_SECONDS)


class Workers:
    """Functions that run in threads of their own."""

    def __init__(self) -> None:
        """Begin without threads."""
        self._lock = threading.Lock()  # guards _threads
        self._threads: list[threading.Thread] = []

    def start(self, name: str, function: Callable[[], None]) -> None:
        """Run a function, which must not raise, in a thread with this name.

        The thread is a daemon, so that a function that does not return does not keep the
        program from ending.
        """
        thread = threading.Thread(target=function, name=name, daemon=True)
        with self._lock:
            thread.start()
            self._threads = [thread, *(each for each in self._threads if each.is_alive())]

    @property
    def running(self) -> int:
        """The number of functions that have not returned."""
        with self._lock:
            return sum(thread.is_alive() for thread in self._threads)

    def join(self, timeout: float | None = None, *, cancel: bool = False) -> None:
        """Wait until all functions have returned, for at most ``timeout`` seconds. ``cancel``
        has no effect, because a thread cannot be cancelled.
        """
        end = None if timeout is None else monotonic() + timeout
        with self._lock:
            threads = self._threads
        for thread in threads:
            if thread is not threading.current_thread():
                rest = None if end is None else max(end - monotonic(), 0.0)
                thread.join(None if rest is None else min(rest, threading.TIMEOUT_MAX))


def invoke(function: Callable[[A], R], argument: A) -> R:
    """Call a function of the user, and return its result."""
    return function(argument)


def is_cancellation(error: BaseException | None) -> bool:
    """Return False: a thread cannot be cancelled."""
    return False


@contextmanager
def stop_on_signals(stop: Callable[[], object]) -> Iterator[None]:
    """Call a function at SIGTERM or SIGINT. A second signal has the effect that it had before. A
    signal that is ignored, as SIGINT by ``nohup``, remains ignored.

    Has no effect outside of the main thread.
    """
    previous: dict[signal.Signals, Any] = {}

    def restore() -> None:
        for number in list(previous):
            signal.signal(number, previous.pop(number) or signal.SIG_DFL)

    def handle(number: int, frame: FrameType | None) -> None:
        restore()
        stop()

    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGTERM, signal.SIGINT):
            if signal.getsignal(number) is not signal.SIG_IGN:
                previous[number] = signal.signal(number, handle)
    try:
        yield
    finally:
        restore()

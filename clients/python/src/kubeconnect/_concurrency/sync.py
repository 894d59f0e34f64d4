"""What runs by itself, and waits, for threads."""

from __future__ import annotations

import math
import queue
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from contextvars import Context, copy_context
from time import monotonic
from types import FrameType
from typing import Any, Generic, TypeVar

R = TypeVar("R")
T = TypeVar("T")

SIGNAL_SECONDS = 0.5
"""The longest single wait of the main thread, in which Python runs signal handlers. A signal that
arrives immediately before the thread blocks does not wake it."""


def new_guard() -> AbstractContextManager[object]:
    """Return a lock. It is reentrant, because a signal handler may interrupt its holder."""
    return threading.RLock()


class Signal:
    """A wake-up call for one waiting thread. Calls before the wait are not lost."""

    def __init__(self) -> None:
        """Begin without a call."""
        self._event = threading.Event()

    def notify(self) -> None:
        """Wake the thread."""
        self._event.set()

    def wait(self) -> None:
        """Wait for a call since the last wait."""
        self._event.wait()
        self._event.clear()


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


class Worker:
    """A thread that runs a function, in a copy of the context of the caller of ``start``, as tasks
    of asyncio do. It is a daemon, so that a function that does not return does not keep the process
    from ending.
    """

    def __init__(self, function: Callable[[], object], name: str) -> None:
        """Store the function, which is not running yet."""
        self._function = function
        self._context = Context()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Run the function."""
        self._context = copy_context()
        self._thread.start()

    def _run(self) -> None:
        self._context.run(self._function)

    @property
    def running(self) -> bool:
        """Whether the function has begun and has not returned."""
        return self._thread.is_alive()

    def stop(self, timeout: float) -> bool:
        """Wait for the end of the function, which has been asked to return, for at most
        ``timeout`` seconds. Return whether it has ended, or is the caller.
        """
        if self._thread is threading.current_thread():
            return True
        if self._thread.ident is not None:
            self._thread.join(min(timeout, threading.TIMEOUT_MAX))
        return not self._thread.is_alive()


class Workers:
    """Functions that run in threads of their own."""

    def __init__(self) -> None:
        """Begin without threads."""
        self._lock = threading.Lock()  # guards _workers
        self._workers: list[Worker] = []

    def start(self, name: str, function: Callable[[], None]) -> None:
        """Run a function, which must not raise, in a thread with this name."""
        worker = Worker(function, name)
        with self._lock:
            worker.start()
            self._workers = [worker, *(each for each in self._workers if each.running)]

    @property
    def running(self) -> int:
        """The number of functions that have not returned."""
        with self._lock:
            return sum(worker.running for worker in self._workers)

    def join(self, timeout: float | None = None, *, cancel: bool = False) -> None:
        """Wait until all functions have returned, for at most ``timeout`` seconds. ``cancel``
        has no effect, because a thread cannot be cancelled.
        """
        end = math.inf if timeout is None else monotonic() + timeout
        with self._lock:
            workers = self._workers
        for worker in workers:
            worker.stop(max(end - monotonic(), 0.0))


def invoke(function: Callable[..., R], *arguments: Any) -> R:
    """Call a function of the user, and return its result."""
    return function(*arguments)


def call(function: Callable[..., object], *arguments: object) -> BaseException | None:
    """Call a function of the user, and return the exception that it raised; None if it did
    not.
    """
    try:
        function(*arguments)
    except BaseException as error:
        return error
    return None


def checkpoint() -> None:
    """Do nothing: threads take turns by themselves."""


def run_blocking(function: Callable[[], R]) -> R:
    """Call a function that blocks."""
    return function()


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

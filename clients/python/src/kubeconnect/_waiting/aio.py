"""Waiting and workers for asyncio."""

from __future__ import annotations

import asyncio
import inspect
import signal
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Generic, TypeVar

A = TypeVar("A")
R = TypeVar("R")
T = TypeVar("T")

CANCEL_SECONDS = 5.0
"""The time that a cancelled function has to end."""


class AsyncMonitor:
    """A state that tasks change, and whose changes tasks wait for.

    ``with monitor:`` guards the state. Tasks do not run at the same time, so that nothing is
    locked here. All waiting tasks are woken together: a task that is cancelled at that moment
    takes no wake-up from another one.
    """

    def __init__(self) -> None:
        """Begin without waiting tasks."""
        self._waiting: set[asyncio.Future[None]] = set()

    def __enter__(self) -> AsyncMonitor:
        """Return the monitor."""
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Have no effect."""

    def notify_all(self) -> None:
        """Wake all waiting tasks."""
        for waiting in self._waiting:
            if not waiting.done():
                waiting.set_result(None)

    async def wait(self, timeout: float | None = None) -> None:
        """Wait until ``notify_all``, for at most ``timeout`` seconds. May return earlier."""
        waiting = asyncio.get_running_loop().create_future()
        self._waiting.add(waiting)
        try:
            await asyncio.wait([waiting], timeout=timeout)
        finally:
            self._waiting.discard(waiting)


class AsyncMailbox(Generic[T]):
    """Items from tasks and signal handlers to one task."""

    def __init__(self) -> None:
        """Begin empty."""
        self._items: asyncio.Queue[T] = asyncio.Queue()

    def put(self, item: T) -> None:
        """Add an item."""
        self._items.put_nowait(item)

    async def get(self) -> T:
        """Wait for the next item and return it."""
        return await self._items.get()


class AsyncWorkers:
    """Functions that run in tasks of their own."""

    def __init__(self) -> None:
        """Begin without tasks."""
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, name: str, function: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Run a function, which must not raise, in a task with this name."""
        task = asyncio.create_task(function(), name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    @property
    def running(self) -> int:
        """The number of functions that have not returned."""
        return len(self._tasks)

    async def join(self, timeout: float | None = None, *, cancel: bool = False) -> None:
        """Wait until all functions have returned. They are cancelled after ``timeout`` seconds,
        at once with ``cancel``, and if this call is cancelled. A function that does not end
        then either is left behind.
        """
        tasks = self._tasks - {asyncio.current_task()}
        if not tasks:
            return
        try:
            await asyncio.wait(tasks, timeout=0 if cancel else timeout)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks, timeout=CANCEL_SECONDS)


async def invoke(function: Callable[[A], Awaitable[R] | R], argument: A) -> R:
    """Call a function of the user, which may be async, and return its result.

    An async function has its own task, so that the cancellation of something that it awaits is
    not mistaken for the cancellation of the caller.
    """
    result = function(argument)
    if not inspect.isawaitable(result):
        return result
    task: asyncio.Future[R] = asyncio.ensure_future(result)
    try:
        await asyncio.wait([task])
    except asyncio.CancelledError:
        task.cancel()
        await asyncio.wait([task], timeout=CANCEL_SECONDS)
        raise
    if task.cancelled():
        raise RuntimeError("the function was cancelled")
    return task.result()


def is_cancellation(error: BaseException | None) -> bool:
    """Return whether an exception cancels the task that receives it."""
    return isinstance(error, asyncio.CancelledError)


@contextmanager
def stop_on_signals(stop: Callable[[], object]) -> Iterator[None]:
    """Call a function at SIGTERM or SIGINT. A second signal has the effect that it had before. A
    signal that is ignored, as SIGINT by ``nohup``, remains ignored.

    Has no effect outside of the main thread, and where asyncio does not handle signals.
    """
    loop = asyncio.get_running_loop()
    previous: dict[signal.Signals, Any] = {}

    def restore() -> None:
        for number in list(previous):
            loop.remove_signal_handler(number)
            signal.signal(number, previous.pop(number) or signal.SIG_DFL)

    def handle() -> None:
        restore()
        stop()

    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGTERM, signal.SIGINT):
            before = signal.getsignal(number)
            if before is signal.SIG_IGN:
                continue
            try:
                loop.add_signal_handler(number, handle)
            except NotImplementedError:
                break
            previous[number] = before
    try:
        yield
    finally:
        restore()

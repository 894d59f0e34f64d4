"""What runs by itself, and waits, for asyncio."""

from __future__ import annotations

import asyncio
import inspect
import signal
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from types import TracebackType
from typing import Any, Generic, TypeVar

R = TypeVar("R")
T = TypeVar("T")

CANCEL_SECONDS = 5.0
"""The time that a cancelled function has to end."""

_running: ContextVar[AsyncWorker | None] = ContextVar("kubeconnect worker", default=None)


def new_guard() -> AbstractContextManager[object]:
    """Return a guard that does nothing: all tasks of an event loop run in one thread."""
    return nullcontext()


class AsyncSignal:
    """A wake-up call for one waiting task. Calls before the wait are not lost."""

    def __init__(self) -> None:
        """Begin without a call."""
        self._event = asyncio.Event()

    def notify(self) -> None:
        """Wake the task."""
        self._event.set()

    async def wait(self) -> None:
        """Wait for a call since the last wait."""
        await self._event.wait()
        self._event.clear()


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


class AsyncWorker:
    """A task that runs a function."""

    def __init__(self, function: Callable[[], Coroutine[Any, Any, object]], name: str) -> None:
        """Store the function, which is not running yet."""
        self._function = function
        self._name = name
        self._task: asyncio.Task[object] | None = None

    def start(self) -> None:
        """Run the function."""
        self._task = asyncio.get_running_loop().create_task(self._run(), name=self._name)

    async def _run(self) -> None:
        _running.set(self)
        await self._function()

    async def stop(self, timeout: float) -> bool:
        """Cancel the function, which has been asked to return, and wait for its end, for at
        most ``timeout`` seconds. Return whether it has ended, or is the caller.
        """
        if self._task is None or _running.get() is self:
            return True
        self._task.cancel()
        await asyncio.wait([self._task], timeout=timeout)
        return self._task.done()


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


async def invoke(function: Callable[..., Awaitable[R] | R], *arguments: Any) -> R:
    """Call a function of the user, which may be async, and return its result.

    An async function has its own task, so that the cancellation of something that it awaits is
    not mistaken for the cancellation of the caller.
    """
    result = function(*arguments)
    if not inspect.isawaitable(result):
        return result
    task: asyncio.Future[R] = asyncio.ensure_future(result)
    try:
        await asyncio.wait([task])
    except asyncio.CancelledError:
        task.cancel()
        await asyncio.wait([task], timeout=CANCEL_SECONDS)
        if task.done():
            task.cancelled() or task.exception()  # which asyncio would log otherwise
        raise
    if task.cancelled():
        raise RuntimeError("the function was cancelled")
    return task.result()


async def call(function: Callable[..., object], *arguments: object) -> BaseException | None:
    """Call a function of the user as ``invoke`` does, and return the exception that it raised;
    None if it did not.
    """
    try:
        await invoke(function, *arguments)
    except Exception as error:
        return error
    return None


async def checkpoint() -> None:
    """Let other tasks run."""
    await asyncio.sleep(0)


async def run_blocking(function: Callable[[], R]) -> R:
    """Call a function that blocks in another thread."""
    return await asyncio.to_thread(function)


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

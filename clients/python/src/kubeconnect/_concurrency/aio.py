"""Workers for asyncio."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar
from typing import Any, TypeVar

R = TypeVar("R")

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


async def call(function: Callable[..., object], *arguments: object) -> BaseException | None:
    """Call a function of the user, which may be async, and return the exception that it raised;
    None if it did not.

    An async function has its own task, so that the cancellation of something that it awaits is
    not mistaken for the cancellation of the caller.
    """
    try:
        result = function(*arguments)
    except Exception as error:
        return error
    if not inspect.isawaitable(result):
        return None
    task = asyncio.ensure_future(_awaited(result))
    try:
        await asyncio.wait([task])
    except asyncio.CancelledError:
        task.cancel()
        await asyncio.wait([task])
        task.cancelled() or task.exception()  # which asyncio would log otherwise
        raise
    return asyncio.CancelledError() if task.cancelled() else task.exception()


async def _awaited(result: Awaitable[object]) -> object:
    return await result


async def checkpoint() -> None:
    """Let other tasks run."""
    await asyncio.sleep(0)


async def run_blocking(function: Callable[[], R]) -> R:
    """Call a function that blocks in another thread."""
    return await asyncio.to_thread(function)

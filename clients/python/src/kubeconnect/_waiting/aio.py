"""Waiting and workers for asyncio."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from types import TracebackType
from typing import Any

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

    async def join(self, timeout: float | None = None) -> None:
        """Wait until all functions have returned. They are cancelled after ``timeout`` seconds,
        and if this call is cancelled. One that does not end then either is left behind.
        """
        tasks = self._tasks - {asyncio.current_task()}
        if not tasks:
            return
        try:
            await asyncio.wait(tasks, timeout=timeout)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks, timeout=CANCEL_SECONDS)

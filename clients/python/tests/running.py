"""Controllers that run while a test does something else."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType

from kubeconnect import Controller
from kubeconnect.aio import AsyncController

LIMIT_SECONDS = 20.0


class Running:
    """A controller that runs in a thread, and is stopped at the end."""

    def __init__(self, controller: Controller) -> None:
        self._controller = controller
        self._threads = ThreadPoolExecutor(1, "running controller")
        self._run = self._threads.submit(controller.run)

    def __enter__(self) -> Running:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._controller.stop()
        self._threads.shutdown()
        left = [each.name for each in threading.enumerate() if "kubeconnect" in each.name]
        assert left == [], left

    def result(self) -> None:
        """Wait for the end of the controller, and raise its error."""
        self._run.result(LIMIT_SECONDS)

    def until(self, condition: Callable[[], bool]) -> None:
        """Wait until the condition is true."""
        end = time.monotonic() + LIMIT_SECONDS
        while not condition():
            assert time.monotonic() < end, "the condition did not become true"
            time.sleep(0.001)


class AsyncRunning:
    """A controller that runs in a task, and is stopped at the end."""

    def __init__(self, controller: AsyncController) -> None:
        self._controller = controller
        self._run = asyncio.create_task(controller.run())

    async def __aenter__(self) -> AsyncRunning:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._controller.stop()
        await asyncio.wait([self._run])
        left = [each.get_name() for each in asyncio.all_tasks()]
        assert [name for name in left if "kubeconnect" in name] == [], left

    async def result(self) -> None:
        """Wait for the end of the controller, and raise its error."""
        await asyncio.wait_for(asyncio.shield(self._run), LIMIT_SECONDS)

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait until the condition is true."""
        end = time.monotonic() + LIMIT_SECONDS
        while not condition():
            assert time.monotonic() < end, "the condition did not become true"
            await asyncio.sleep(0.001)

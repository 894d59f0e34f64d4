"""The asyncio client in the form of the client with threads."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from types import TracebackType
from typing import Any, cast

from kubeconnect import Client
from kubeconnect.aio import AsyncClient, AsyncObjectList, AsyncStore, AsyncTable

# The values of the asyncio client that have methods to await, or are iterated.
_ASYNC = (AsyncClient, AsyncObjectList, AsyncStore, AsyncTable)


class Loop:
    """An event loop in a thread of its own."""

    def __init__(self) -> None:
        """Start the thread."""
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()

    def run(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        """Run a coroutine, and return its result."""
        future: Future[Any] = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        return future.result()

    def close(self) -> None:
        """End the thread."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


class Blocking:
    """An object of the asyncio client whose methods block."""

    def __init__(self, loop: Loop, target: Any) -> None:
        """Call the target within the loop."""
        self._loop = loop
        self._target = target

    def __getattr__(self, name: str) -> Any:
        """Return an attribute; a method that blocks if it is one."""
        value = getattr(self._target, name)
        if not inspect.ismethod(value):
            return value
        return lambda *args, **options: self._call(value, *args, **options)

    def _call(self, function: Callable[..., Any], *args: Any, **options: Any) -> Any:
        async def call() -> Any:
            result = function(*args, **options)
            return await result if inspect.isawaitable(result) else result

        result = self._loop.run(call())
        is_async = isinstance(result, _ASYNC) or hasattr(result, "__aenter__")
        return Blocking(self._loop, result) if is_async else result

    def __enter__(self) -> Blocking:
        """Enter the target."""
        self._call(self._target.__aenter__)
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Leave the target."""
        self._call(self._target.__aexit__, exc_type, exc, traceback)

    def __iter__(self) -> Iterator[Any]:
        """Iterate over the target."""
        if not hasattr(self._target, "__aiter__"):
            yield from self._target
            return
        iterator = self._call(self._target.__aiter__)
        target = iterator._target if isinstance(iterator, Blocking) else iterator
        while True:
            try:
                yield self._call(target.__anext__)
            except StopAsyncIteration:
                return

    def __next__(self) -> Any:
        """Return the next value of the target."""
        return self._call(self._target.__anext__)

    def __len__(self) -> int:
        """Return the length of the target."""
        return len(self._target)


@contextmanager
def blocking_client(address: str) -> Iterator[Client]:
    """Return an asyncio client whose methods block."""
    loop = Loop()
    try:
        client = loop.run(_create(address))
        with Blocking(loop, client) as blocking:
            yield cast(Client, blocking)
    finally:
        loop.close()


async def _create(address: str) -> AsyncClient:
    return AsyncClient(address)

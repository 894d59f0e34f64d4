"""Handlers of the changes of a store."""

from __future__ import annotations

import logging
from collections.abc import Callable
from types import TracebackType
from typing import Any, TypeAlias

from kubeconnect._concurrency.aio import AsyncSignal, AsyncWorker, call, checkpoint
from kubeconnect._errors import UnreadableObject
from kubeconnect._store_queue import Change
from kubeconnect._store_state import StoreState
from kubeconnect._stored import Stored, unpack, unpack_last
from kubeconnect._types import T

CLOSE_SECONDS = 5.0
"""The default time for which closing waits for the handlers that are running."""

OnAdd: TypeAlias = Callable[[T], object]
"""A handler that is called with an object."""
OnUpdate: TypeAlias = Callable[[T, T], object]
"""A handler that is called with the earlier and the later state of an object."""
OnDelete: TypeAlias = Callable[[T], object]
"""A handler that is called with the last state of an object."""

_logger = logging.getLogger("kubeconnect")


class AsyncSubscription:
    """Handlers that are called for the changes of a store. See ``AsyncStore.subscribe``.

    As a context manager it closes itself.
    """

    def __init__(
        self,
        state: StoreState,
        name: str,
        on_add: OnAdd[Any] | None,
        on_update: OnUpdate[Any] | None,
        on_delete: OnDelete[Any] | None,
        on_end: Callable[[AsyncSubscription], None],
    ) -> None:
        """Store the handlers of the store ``name``. ``on_end`` is called when the subscription is
        closed.
        """
        self._on_add = on_add
        self._on_update = on_update
        self._on_delete = on_delete
        self._on_end = on_end
        self._state = state
        self._name = name
        self._signal = AsyncSignal()
        self._closed = False
        self._errors = 0
        self._last_error: BaseException | None = None
        self._queue = state.subscribe(self._signal.notify)
        self._worker = AsyncWorker(self._run, f"kubeconnect handlers of {name}")

    def __repr__(self) -> str:
        """Return the store and the state of the subscription."""
        state = "closed" if self._closed else f"{self._errors} errors"
        return f"<{type(self).__name__} of {self._name}: {state}>"

    def start(self) -> None:
        """Begin to call the handlers. The store does this."""
        self._worker.start()

    async def __aenter__(self) -> AsyncSubscription:
        """Return the subscription."""
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close the subscription."""
        await self.close()

    @property
    def pending(self) -> int:
        """The number of objects for which handlers have still to be called. It is bounded by
        the number of objects.
        """
        return len(self._queue)

    @property
    def errors(self) -> int:
        """The number of calls of handlers that raised an exception."""
        return self._errors

    @property
    def last_error(self) -> BaseException | None:
        """The last exception of a handler; None if there was none."""
        return self._last_error

    async def close(self, timeout: float = CLOSE_SECONDS) -> None:
        """End the calls: no call begins afterwards. Closing it again has no effect.

        A call that is running is waited for, for at most ``timeout`` seconds, unless it is the
        one that closes the subscription. With asyncio it is cancelled.
        """
        self.end()
        await self.join(timeout)

    def end(self) -> None:
        """Begin no further call."""
        with self._state.guard:
            closed, self._closed = self._closed, True
        if not closed:
            self._on_end(self)
        self._state.unsubscribe(self._queue)
        self._signal.notify()

    async def join(self, timeout: float) -> bool:
        """Wait at most ``timeout`` seconds for the call that is running, and return whether it has
        ended.
        """
        return await self._worker.stop(timeout)

    async def _run(self) -> None:
        while not self._closed:
            await self._signal.wait()
            while not self._closed and (change := self._state.take(self._queue)) is not None:
                await self._deliver(change)
                await checkpoint()

    async def _deliver(self, change: Change) -> None:
        old, new = change.old, change.new
        before = None if old is None else unpack_last(old)
        if old is not None and (new is None or change.replaces):
            await self._call(self._on_delete, old, before)
            before = None
        if new is None or self._closed:
            return
        try:
            after = unpack(new)
        except UnreadableObject as error:
            self._count(new, error)
            return
        if before is None:
            await self._call(self._on_add, new, after)
        else:
            await self._call(self._on_update, new, before, after)

    async def _call(
        self, handler: Callable[..., object] | None, stored: Stored, *objects: object
    ) -> None:
        error = None if handler is None else await call(handler, *objects)
        if error is not None:
            self._count(stored, error)

    def _count(self, stored: Stored, error: BaseException) -> None:
        """Count and log an error, without the content of the object, which may be secret."""
        self._errors += 1
        self._state.count_handler_error()
        self._last_error = error
        _logger.error(
            "a handler of the store of %s failed for %r", self._name, stored, exc_info=error
        )

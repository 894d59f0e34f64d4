"""What keeps stores up to date: one stream, read by a worker of its own."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Sequence
from time import monotonic
from typing import Any

import grpc

from kubeconnect._concurrency.aio import AsyncWorker, call
from kubeconnect._connection import Connection, OnRetry
from kubeconnect._errors import Cancelled, DeadlineExceeded, KubeconnectError
from kubeconnect._events import Event
from kubeconnect._store_state import Position, StoreState
from kubeconnect._transport.aio import AsyncLatch
from kubeconnect._watch_session import now
from kubeconnect.aio._event_stream import AsyncResumableStream
from kubeconnect.aio._subscription import AsyncSubscription, OnAdd, OnDelete, OnUpdate

_logger = logging.getLogger("kubeconnect")


class AsyncFollowed:
    """The state of one store, and its subscriptions."""

    def __init__(self, name: str, state: StoreState) -> None:
        """Begin without subscriptions."""
        self.name = name
        self.state = state
        self.settled = AsyncLatch()  # set when the state is in sync, and at the end
        self.subscriptions: list[AsyncSubscription] = []
        self._closed = False

    def apply(self, event: Event[Any], token: str | None) -> None:
        """Apply an event, after which the stream resumes with ``token``."""
        self.state.apply(event, token)
        if self.state.synced and not self.settled.is_set():
            self.settled.set()

    def subscribe(
        self,
        on_add: OnAdd[Any] | None,
        on_update: OnUpdate[Any] | None,
        on_delete: OnDelete[Any] | None,
    ) -> AsyncSubscription:
        """Return a new subscription."""
        forget = self.subscriptions.remove
        with self.state.guard:
            subscription = AsyncSubscription(
                self.state, self.name, on_add, on_update, on_delete, forget
            )
            self.subscriptions.append(subscription)  # before it starts, so that it will be ended
            subscription.start()
            if self._closed:
                subscription.end()
        return subscription

    def end_subscriptions(self) -> list[AsyncSubscription]:
        """End the subscriptions, also later ones, and return those of now."""
        with self.state.guard:
            self._closed = True
            ending = list(self.subscriptions)
            for subscription in ending:
                subscription.end()
        return ending


class AsyncFollower:
    """Reads one stream and applies its steps to one or several stores."""

    def __init__(
        self,
        name: str,
        followed: Sequence[AsyncFollowed],
        position: Position,
        open_stream: Callable[[str | None, OnRetry], AsyncResumableStream[Any, Any, Any]],
        apply: Callable[[Any, str | None], None],
        on_retry: OnRetry | None,
        on_error: Callable[[Exception], object] | None,
        *,
        restores: bool,
    ) -> None:
        """``open_stream`` opens the stream at a resume token, and ``apply`` applies a step of
        it, after which the stream resumes with a token. ``restores`` is whether the stores begin
        with the objects of a dump, if there is one.
        """
        self._restores = restores
        self.followed = followed
        self.position = position
        self.stream: AsyncResumableStream[Any, Any, Any] | None = None
        self.error: Exception | None = None
        self.ended = AsyncLatch()
        self._name = name
        self._open_stream = open_stream
        self._apply = apply
        self._on_retry = on_retry
        self._on_error = on_error
        self._created = now()
        self._last_loss: KubeconnectError | None = None
        self._closed = False
        self._worker = AsyncWorker(self._run, f"kubeconnect store of {name}")

    @property
    def connection(self) -> Connection:
        """Whether the stream is connected, and since when."""
        return self.stream.connection if self.stream else Connection(False, self._created)

    def start(self) -> None:
        """Open the stream and begin to read it. Starting it again has no effect."""
        if self._closed:
            raise self._cancelled()
        if self.stream is None:
            self.stream = self._open_stream(self.position.token, self._note_loss)
            self._worker.start()

    async def close(self, timeout: float) -> None:
        """End the stream and the calls of all handlers, and wait for those that are running."""
        self._closed = True
        self._settle()
        if self.stream is not None:
            await self.stream.close()
        subscriptions = [
            subscription for each in self.followed for subscription in each.end_subscriptions()
        ]
        begin = monotonic()
        stopped = [await self._worker.stop(timeout)]
        for subscription in subscriptions:
            stopped.append(await subscription.join(max(begin + timeout - monotonic(), 0.0)))
        if not all(stopped):
            _logger.warning("a handler of the store of %s still runs", self._name)

    async def wait_synced(self, followed: Sequence[AsyncFollowed], timeout: float | None) -> None:
        """Wait until all of these stores are in sync. Raises the error that ended the stream."""
        if not self._closed:
            self._check_started()
        end = math.inf if timeout is None else monotonic() + timeout
        for each in followed:
            rest = None if timeout is None else max(end - monotonic(), 0.0)
            await each.settled.wait(rest)
        self.raise_error()
        if self._closed:
            raise self._cancelled()
        if not all(each.state.synced for each in followed):
            raise self._not_synced(timeout)

    def check_readable(self) -> None:
        """Raise RuntimeError if the stores were never started, and have no objects of a dump."""
        if not self._restores:
            self._check_started()

    def _check_started(self) -> None:
        if self.stream is None:
            raise RuntimeError(f"the store of {self._name} is not started: use it in a with block")

    async def wait_ended(self, timeout: float | None) -> None:
        """Wait for the end. Raises the error that ended the stream."""
        await self.ended.wait(timeout)
        self.raise_error()
        if not self.ended.is_set():
            message = f"the store of {self._name} is not closed after {timeout} seconds"
            raise DeadlineExceeded(grpc.StatusCode.DEADLINE_EXCEEDED, message)

    def raise_error(self) -> None:
        """Raise the error that ended the stream, if one has."""
        if self.error is not None:
            raise self.error.with_traceback(None)

    def check_open(self) -> None:
        """Raise the error that ended the stream, or Cancelled if it was closed."""
        self.raise_error()
        if self._closed:
            raise self._cancelled()

    async def _run(self) -> None:
        try:
            await self._follow()
        except Exception as error:
            if not self._closed:
                self.error = error
                _logger.error("the store of %s has ended: %s", self._name, error)
        except BaseException:  # the event loop ends, or a function exits
            self._closed = True
            raise
        finally:
            self._settle()
        if self.error is not None and self._on_error is not None:
            failure = await call(self._on_error, self.error)
            if failure is not None:
                _logger.error("on_error of the store of %s failed", self._name, exc_info=failure)

    async def _follow(self) -> None:
        if (stream := self.stream) is None:
            return
        async for step in stream:
            self._apply(step, stream.resume_token)

    def _note_loss(self, error: KubeconnectError, delay: float) -> None:
        self._last_loss = error
        if self._on_retry is None:
            return
        try:
            self._on_retry(error, delay)
        except Exception:
            _logger.exception("on_retry of the store of %s failed", self._name)

    def _settle(self) -> None:
        """Wake all that wait."""
        self.ended.set()
        for each in self.followed:
            each.settled.set()

    def _cancelled(self) -> Cancelled:
        message = f"the store of {self._name} is closed"
        return Cancelled(grpc.StatusCode.CANCELLED, message)

    def _not_synced(self, timeout: float | None) -> DeadlineExceeded:
        message = f"the store of {self._name} is not in sync after {timeout} seconds"
        if self._last_loss is not None:
            message += f"; the last error: {self._last_loss}"
        return DeadlineExceeded(grpc.StatusCode.DEADLINE_EXCEEDED, message)

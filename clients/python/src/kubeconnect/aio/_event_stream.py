"""Event streams that reconnect by themselves."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from time import monotonic
from types import TracebackType
from typing import Any, Generic, NoReturn, TypeAlias, TypeVar

import grpc

from kubeconnect._connection import Connection, OnRetry
from kubeconnect._errors import DeadlineExceeded, KubeconnectError, Unauthenticated, Unavailable
from kubeconnect._transport.aio import AsyncLatch, AsyncStream
from kubeconnect._transport.failures import TokenFailed, token_failed
from kubeconnect._transport.options import limit, remaining
from kubeconnect._watch_session import Request, Response, Session, Step, Watched

Self = TypeVar("Self", bound="AsyncEventStream[Any, Any, Any]")

OnEmpty: TypeAlias = Callable[[Watched], Awaitable[None]]
"""A function that is called with a selection whose first snapshot has no objects."""

TOLERANCE_SECONDS = 0.5
"""The time before the timeout of a watch in which the end of its stream counts as the timeout."""

_logger = logging.getLogger("kubeconnect")


class AsyncEventStream(Generic[Request, Response, Step]):
    """A stream of events that reconnects by itself.

    Iterate to receive events, and close the stream to end it. As a context manager it
    closes itself. Only one iteration may run at a time. ``close`` may be called
    concurrently, and ends the iteration.

    The iteration never ends by itself. With a ``timeout`` it raises DeadlineExceeded that
    many seconds after the watch was opened, and closes the stream. A stream that is lost,
    or silent for 12 seconds, is opened again after a delay and resumes at its last position;
    the iteration continues. The first message of a stream may take 60 seconds. A stream that
    is silent resumes over another connection, which may lead to another replica. If the
    service cannot resume at the position, it sends RESET and a new snapshot. A stream that is
    stale stays open: the service ends it when another replica is current.

    The iteration raises an error if the stream is rejected, or if it is lost and
    ``reconnect`` is False (in most cases Unavailable). It also raises if the first stream
    cannot be opened, unless the service sends a retry delay that is within the client's
    ``timeout``. If the credentials of a stream have expired, and can be renewed (files, a token
    function or a command), the stream is opened again until they are.

    A loss is reported by ``connection``, ``freshness`` and ``on_retry``. The logger
    "kubeconnect" logs it as a warning, or at the level INFO if the stream is opened again with
    new credentials or the service moves it to another replica. A loss is detected only while
    an iteration waits. The properties may be read from any thread.
    """

    def __init__(
        self,
        session: Session[Request, Response, Step],
        open_stream: Callable[[Request, bool, float | None], AsyncStream[Request, Response]],
        on_retry: OnRetry | None,
        on_empty: OnEmpty | None,
        timeout: float | None,
    ) -> None:
        """Open the first stream, with the session's request.

        ``open_stream`` is called with the request, whether to wait for a connection, and the
        number of seconds after which the stream ends. gRPC does not connect between calls,
        so later streams have to wait for it. ``on_empty`` is called before the SYNCED
        of an empty first snapshot is returned.
        """
        self._timeout = limit(timeout)
        self._begin = monotonic()
        self._session = session
        self._open_stream = open_stream
        self._on_retry = on_retry
        self._on_empty = on_empty
        self._stream = open_stream(session.open(), False, self._timeout)
        self._delay: float | None = None  # until a lost stream is opened again
        self._closed = AsyncLatch()

    async def __aenter__(self: Self) -> Self:
        """Return the stream."""
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close the stream."""
        await self.close()

    def __repr__(self) -> str:
        """Return the watched selection, and whether the stream is connected."""
        state = "connected" if self.connection.connected else "not connected"
        return f"<{type(self).__name__}: {self._session.selection}, {state}>"

    def __aiter__(self: Self) -> Self:
        """Return the stream itself: all iterations share it."""
        return self

    async def __anext__(self) -> Step:
        """Wait for the next step and return it."""
        try:
            return await self._next()
        except KeyboardInterrupt as interrupt:
            raise interrupt.with_traceback(None) from None  # without the frames of gRPC

    async def _next(self) -> Step:
        while not self._closed.is_set():
            if self._rest is not None and self._rest <= 0:
                await self._end()
            if (step := self._session.take()) is not None:
                empty = self._session.take_empty()
                if empty is not None and self._on_empty is not None:
                    await self._on_empty(empty)
                return step
            if self._session.is_outdated:
                self._delay = 0.0
            if self._delay is None:
                await self._receive()
            else:
                await self._reopen(self._delay)
        raise StopAsyncIteration

    @property
    def _rest(self) -> float | None:
        """The number of seconds until the timeout; None for no limit."""
        return remaining(self._timeout, self._begin)

    async def _end(self) -> NoReturn:
        await self.close()
        message = f"the watch of {self._session.selection} ended after {self._timeout:g} seconds"
        raise DeadlineExceeded(grpc.StatusCode.DEADLINE_EXCEEDED, message)

    @property
    def connection(self) -> Connection:
        """Whether the stream is connected, and since when. It is connected from its first
        message until it is lost or closed.
        """
        return self._session.connection

    async def close(self) -> None:
        """End the stream, locally and at the service. Closing it again has no effect."""
        self._closed.set()
        await self._stream.close()
        self._session.mark_lost()

    async def _receive(self) -> None:
        try:
            self._session.receive(await self._read())
        except KubeconnectError as error:
            if self._closed.is_set() or self._session.is_outdated:
                return
            if self._is_timeout(error):
                await self._end()
            self._note_loss(error)

    def _note_loss(self, error: KubeconnectError) -> None:
        """Report a loss, after which the stream is opened again; raise the error if it is final."""
        self._delay = self._session.delay_after(error)
        if self._delay is None:
            raise (isinstance(error, TokenFailed) and error.__cause__) or error
        self._report_loss(error, self._delay)

    def _is_timeout(self, error: KubeconnectError) -> bool:
        """Return whether the stream has ended because of the timeout. gRPC and the service may
        end it a little earlier.
        """
        if self._rest is None:
            return False
        early = TOLERANCE_SECONDS if isinstance(error, DeadlineExceeded) else 0.0
        return self._rest <= early

    async def _read(self) -> Response:
        try:
            response = await self._stream.read(self._session.quiet_seconds)
        except KubeconnectError:
            raise
        except Exception as error:
            raise token_failed(error) from error
        if response is None:
            if self._session.is_finite:
                await self.close()
            raise Unavailable(grpc.StatusCode.UNAVAILABLE, "the service ended the watch")
        return response

    def _report_loss(self, error: KubeconnectError, delay: float) -> None:
        renewed = isinstance(error, Unauthenticated) and not delay
        usual = renewed or error.reason == "StreamMoved"
        level = logging.INFO if usual else logging.WARNING
        _logger.log(level, "watch lost (%s); reconnecting in %.1f s", error, delay)
        if self._on_retry is not None:
            self._on_retry(error, delay)

    async def _reopen(self, delay: float) -> None:
        await self._stream.close()
        rest = self._rest
        await self._closed.wait(delay if rest is None else min(delay, rest))
        if self._closed.is_set() or self._rest == 0:
            return
        try:
            self._stream = self._open_stream(self._session.open(), True, self._rest)
        except Exception as error:  # there may be no token
            self._note_loss(error if isinstance(error, KubeconnectError) else token_failed(error))
            return
        self._delay = None
        if self._closed.is_set():  # close() ran meanwhile and has not closed this stream
            await self._stream.close()


class AsyncResumableStream(AsyncEventStream[Request, Response, Step]):
    """A stream that a program can resume after its own restart."""

    @property
    def resume_token(self) -> str | None:
        """The token to resume with after the last event; None if resuming is not possible.

        Store it together with your copy of the objects, and pass it to the same call
        after a restart. After a RESET it may be None: store that too, because your copy is
        incomplete then.
        """
        return self._session.resume_token

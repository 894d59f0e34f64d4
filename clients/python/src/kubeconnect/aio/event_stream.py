"""Streams that go on."""

from __future__ import annotations

import logging
from collections.abc import Callable
from types import TracebackType
from typing import Any, Generic, TypeVar

import grpc

from kubeconnect.connection import Connection, OnRetry
from kubeconnect.errors import KubeconnectError, Unauthenticated, Unavailable
from kubeconnect.transport.aio import AsyncLatch, AsyncStream
from kubeconnect.watch_session import Request, Response, Session, Step

Self = TypeVar("Self", bound="AsyncEventStream[Any, Any, Any]")

_logger = logging.getLogger("kubeconnect")


class AsyncEventStream(Generic[Request, Response, Step]):
    """What a session tells, step by step, over as many streams as that takes.

    Iterate to receive, close to end it: as a context manager it closes itself. One
    iteration at a time; ``close`` may be called meanwhile, and then the iteration ends.

    There is no limit of time, and the iteration never ends by itself. A stream
    that is lost, or silent for 12 seconds, is opened again after a while and
    continued where it was; the iteration just goes on. The first message of a stream may
    take 60 seconds. A stream that is silent, or has been told for ``max_staleness`` seconds
    that it is stale, is continued over another connection, which may lead to another
    replica. If the service does not remember the place to continue at, it says so by RESET.

    A stream that is refused raises the reason. So does one that cannot be opened for the
    first time, unless the service says when to come back, and that is within the client's
    ``timeout``; and one that is lost where ``reconnect`` is False: Unavailable, in
    most cases. Where the bearer token of a stream has ended, and the client has a function
    or a file for tokens, the stream is opened again, once, with a new one.

    ``connection``, ``freshness`` and ``on_retry`` report a loss, and so does a warning of the
    logger "kubeconnect". A loss is noticed only while an iteration waits. Any thread may
    read the properties meanwhile.
    """

    def __init__(
        self,
        session: Session[Request, Response, Step],
        open_stream: Callable[[Request, bool], AsyncStream[Request, Response]],
        on_retry: OnRetry | None,
    ) -> None:
        """Open the first stream for what the session asks.

        Whoever opens it is told whether to wait for a connection. gRPC gets no
        connection between calls, so the later ones have to wait for it.
        """
        self._session = session
        self._open_stream = open_stream
        self._on_retry = on_retry
        self._stream = open_stream(session.open(), False)
        self._delay: float | None = None  # until a lost stream is opened again
        self._closed = AsyncLatch()

    async def __aenter__(self: Self) -> Self:
        """Return it."""
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close it."""
        await self.close()

    def __aiter__(self: Self) -> Self:
        """Return it: its iterations share one stream."""
        return self

    async def __anext__(self) -> Step:
        """Wait for the next step."""
        while not self._closed.is_set():
            if (step := self._session.take()) is not None:
                return step
            if self._delay is None:
                await self._receive()
            else:
                await self._reopen(self._delay)
        raise StopAsyncIteration

    @property
    def resume_token(self) -> str:
        """Where to continue behind the last event; "" where that is impossible.

        Store it with what you have made of the events, and give it to the same call
        after a restart. Behind a RESET it may be "": store that too, for what you hold
        then is not whole.
        """
        return self._session.resume_token

    @property
    def connection(self) -> Connection:
        """Whether messages come, and since when: not yet, before the first one, and not any
        more, once the stream is lost or closed.
        """
        return self._session.connection

    async def close(self) -> None:
        """End the stream, here and at the service. Closing again does nothing."""
        self._closed.set()
        await self._stream.close()
        self._session.lose_contact()

    async def _receive(self) -> None:
        try:
            await self._leave_if_stale()
            self._session.receive(await self._read())
        except KubeconnectError as error:
            if self._closed.is_set():
                return
            self._delay = self._session.delay_after(error)
            if self._delay is None:
                raise
            self._report_loss(error, self._delay)

    async def _leave_if_stale(self) -> None:
        error = self._session.too_stale()
        if error is not None:
            await self._stream.leave()
            raise error

    async def _read(self) -> Response:
        response = await self._stream.read(self._session.quiet_seconds)
        if response is None:
            raise Unavailable(grpc.StatusCode.UNAVAILABLE, "the service has ended the watch")
        return response

    def _report_loss(self, error: KubeconnectError, delay: float) -> None:
        usual = isinstance(error, Unauthenticated) or error.reason == "StreamMoved"
        level = logging.INFO if usual else logging.WARNING
        _logger.log(level, "a watch was lost (%s); again in %.1f s", error, delay)
        if self._on_retry is not None:
            self._on_retry(error, delay)

    async def _reopen(self, delay: float) -> None:
        await self._stream.close()
        await self._closed.wait(delay)
        if self._closed.is_set():
            return
        self._stream = self._open_stream(self._session.open(), True)
        self._delay = None
        if self._closed.is_set():  # meanwhile, and so without this stream
            await self._stream.close()

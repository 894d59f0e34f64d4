"""Live events."""

from __future__ import annotations

from collections import deque
from types import TracebackType

import grpc

from kubeconnect.errors import Cancelled, Unavailable
from kubeconnect.events import Event
from kubeconnect.transport.aio import AsyncStream
from kubeconnect.v1 import resource_service_pb2 as pb
from kubeconnect.watch_session import WatchSession


class AsyncWatch:
    """A snapshot of a selection, and then every change to it.

    It begins with RESET, the snapshot as ADDED, and SYNCED; another RESET may
    come at any time, and means the same. Iterate to receive, close to end it: as a
    context manager it closes itself. One iteration at a time; ``close`` may be
    called meanwhile, and then the iteration ends.

    There is no limit of time. The iteration never ends by itself: a stream that
    is lost raises Unavailable, and one that is refused raises the reason at the
    first event. Then watch again from the beginning.
    """

    def __init__(
        self, session: WatchSession, stream: AsyncStream[pb.WatchRequest, pb.WatchResponse]
    ) -> None:
        """Read what the session has asked for."""
        self._session = session
        self._stream = stream
        self._events: deque[Event] = deque()
        self._closed = False

    async def __aenter__(self) -> AsyncWatch:
        """Return the watch."""
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close it."""
        await self.close()

    def __aiter__(self) -> AsyncWatch:
        """Return the watch: its iterations share one stream."""
        return self

    async def __anext__(self) -> Event:
        """Wait for the next event."""
        while not self._closed:
            if self._events:
                return self._events.popleft()
            await self._receive()
        raise StopAsyncIteration

    async def close(self) -> None:
        """End the stream, here and at the service. Closing again does nothing."""
        self._closed = True
        await self._stream.close()

    async def _receive(self) -> None:
        try:
            response = await self._stream.read()
        except Cancelled:
            if self._closed:
                return
            raise
        if response is None:
            raise Unavailable(grpc.StatusCode.UNAVAILABLE, "the service has ended the watch")
        self._events.extend(self._session.receive(response))

"""A container's log."""

from __future__ import annotations

from collections.abc import AsyncIterator
from types import TracebackType

from kubeconnect.errors import Cancelled
from kubeconnect.transport.aio import AsyncStream
from kubeconnect.v1 import pod_service_pb2 as pb


class AsyncLog:
    """What a container has written, as it comes.

    Iterate over the lines, without their ends, as text; what is not UTF-8 is replaced by
    U+FFFD. A line comes when it is whole. For bytes as they were written, and parts of
    lines too, there are ``pieces`` and ``read``. All of them take from one stream: use
    one, once.

    The iteration ends with the log; one that is followed ends with its container. Close
    it to end it before that: as a context manager it closes itself. A log that is lost
    raises Unavailable, within 20 seconds where the service does not answer any more, and
    Unauthenticated when its token ends; it is not opened again.
    """

    def __init__(self, stream: AsyncStream[pb.GetLogsRequest, pb.GetLogsResponse]) -> None:
        """Take over a stream that has begun."""
        self._stream = stream
        self._closed = False

    async def __aenter__(self) -> AsyncLog:
        """Return the log."""
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close it."""
        await self.close()

    async def __aiter__(self) -> AsyncIterator[str]:
        """Iterate over the lines."""
        line = bytearray()
        async for piece in self.pieces():
            *ends, rest = piece.split(b"\n")
            for end in ends:
                line += end
                yield line.decode(errors="replace")
                line.clear()
            line += rest
        if line:
            yield line.decode(errors="replace")

    async def pieces(self) -> AsyncIterator[bytes]:
        """Iterate over the bytes, in pieces of at most 64 KiB.

        A piece ends with a line, unless that is longer, or the log has stood still in the
        midst of it for a second.
        """
        while (response := await self._receive()) is not None:
            if response.data:
                yield response.data

    async def read(self) -> bytes:
        """Wait for the end of the log, and return all of it."""
        log = bytearray()
        async for piece in self.pieces():
            log += piece
        return bytes(log)

    async def close(self) -> None:
        """End the stream, here and at the service. Closing again does nothing."""
        self._closed = True
        await self._stream.close()

    async def _receive(self) -> pb.GetLogsResponse | None:
        if self._closed:
            return None
        try:
            return await self._stream.read()
        except Cancelled:
            if self._closed:
                return None
            raise

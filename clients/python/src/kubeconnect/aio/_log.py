"""A container's log."""

from __future__ import annotations

from collections.abc import AsyncIterator
from types import TracebackType

from kubeconnect._errors import Cancelled
from kubeconnect._transport.aio import AsyncStream
from kubeconnect.v1 import pod_service_pb2 as pb


class AsyncLog:
    """A stream of a container's log.

    Iterate over the lines as text, without line ends. Invalid UTF-8 is replaced by U+FFFD.
    A line is returned when it is complete. ``iter_bytes`` and ``read`` return the bytes
    unchanged, partial lines included. All three read from the same stream: use only one of
    them, once.

    The iteration ends with the log. A followed log ends with its container. Close the log
    to end it earlier. As a context manager it closes itself. A log that is lost raises
    Unavailable, within 20 seconds if the service does not respond any more, and
    Unauthenticated when its token expires. It is not opened again.
    """

    def __init__(self, stream: AsyncStream[pb.GetLogsRequest, pb.GetLogsResponse]) -> None:
        """Read from ``stream``, and close it with the log."""
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
        """Close the log."""
        await self.close()

    async def __aiter__(self) -> AsyncIterator[str]:
        """Iterate over the lines."""
        line = bytearray()
        async for chunk in self.iter_bytes():
            *ends, rest = chunk.split(b"\n")
            for end in ends:
                line += end
                yield line.decode(errors="replace")
                line.clear()
            line += rest
        if line:
            yield line.decode(errors="replace")

    async def iter_bytes(self) -> AsyncIterator[bytes]:
        """Iterate over the bytes, in chunks of at most 64 KiB.

        A chunk ends at the end of a line, unless the line is longer than that, or is
        incomplete for a second.
        """
        while (response := await self._receive()) is not None:
            if response.data:
                yield response.data

    async def read(self) -> bytes:
        """Wait for the end of the log and return all bytes."""
        log = bytearray()
        async for chunk in self.iter_bytes():
            log += chunk
        return bytes(log)

    async def close(self) -> None:
        """End the stream, locally and at the service. Closing it again has no effect."""
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

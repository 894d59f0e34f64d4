"""A command that runs in a container, or an attached client."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING

from kubeconnect._containers.channels import (
    CLOSE_STDIN,
    ERROR,
    OUTPUTS,
    data_messages,
    resize_message,
)
from kubeconnect._containers.outcomes import (
    EndedError,
    FinishedError,
    ended,
    exit_code,
    lost,
    timed_out,
)
from kubeconnect._containers.requests import StreamRequest
from kubeconnect._containers.results import OutputChunk
from kubeconnect._transport.options import remaining

if TYPE_CHECKING:
    from kubeconnect._containers.aio import AsyncWebSocket


class AsyncContainerSession:
    """A command that runs in a container, or a client that is attached to its main process.

    It is a context manager, which begins the command. Iterate over its output, as chunks of stdout
    and of stderr, until it ends. Then ``exit_code`` is set. Another task or thread may write at the
    same time, and must if the command does not read its input before it writes its output.

    The iteration raises an error if the command could not run, Unavailable if the connection is
    lost, and Cancelled if the session is closed meanwhile. Leaving the ``with`` block closes the
    connection. Whether a command that still runs is ended then depends on the container runtime.
    """

    def __init__(
        self,
        opener: Callable[[float | None], Awaitable[AsyncWebSocket]],
        request: StreamRequest,
        timeout: float | None,
    ) -> None:
        """Store the arguments. ``opener`` opens the connection within some seconds."""
        self._opener = opener
        self._request = request
        self._timeout = timeout
        self._begin = 0.0
        self._opened: AsyncWebSocket | None = None
        self._exit_code: int | None = None

    async def __aenter__(self) -> AsyncContainerSession:
        """Begin the command, or attach. Return the session."""
        if self._opened is not None:
            raise RuntimeError("a session can be entered only once")
        self._begin = monotonic()
        self._opened = await self._opener(self._timeout)
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close the session."""
        await self.close()

    @property
    def exit_code(self) -> int | None:
        """The exit code; None if the command has not ended, or if its output was not read to the
        end.
        """
        return self._exit_code

    async def write(self, data: bytes) -> None:
        """Send data to stdin. Waits while the command does not read. What is written after the
        command has ended is dropped.
        """
        if not self._request.stdin:
            raise ValueError("the session has no stdin: pass stdin=True")
        for message in data_messages(data):
            await self._send(message)

    async def close_stdin(self) -> None:
        """Close stdin: the command reads the end of its input."""
        if not self._request.stdin:
            raise ValueError("the session has no stdin: pass stdin=True")
        await self._send(CLOSE_STDIN)

    async def resize(self, *, width: int, height: int) -> None:
        """Set the ``width`` and the ``height`` of the terminal, in characters."""
        if not self._request.tty:
            raise ValueError("the session has no terminal: pass tty=True")
        await self._send(resize_message(width, height))

    async def read(self) -> OutputChunk | None:
        """Wait for output and return it; None after its end."""
        while self._exit_code is None:
            message = await self._receive()
            channel = message[0] if message else ERROR + 1
            if channel == ERROR:
                self._exit_code = exit_code(message[1:], self._socket.request_id)
            elif channel in OUTPUTS and len(message) > 1:
                return OutputChunk(OUTPUTS[channel], message[1:])
        return None

    async def __aiter__(self) -> AsyncIterator[OutputChunk]:
        """Iterate over the output until it ends."""
        while (chunk := await self.read()) is not None:
            yield chunk

    async def close(self) -> None:
        """Close the connection. Closing it again has no effect."""
        if self._opened is not None:
            await self._opened.close()

    @property
    def _socket(self) -> AsyncWebSocket:
        if self._opened is None:
            raise RuntimeError("use the session as a context manager, which begins it")
        return self._opened

    async def _send(self, message: bytes) -> None:
        socket = self._socket
        try:
            await socket.send(message)
        except FinishedError:
            pass  # the command has ended, and the reader gets its exit code
        except EndedError as error:
            raise ended(error, "the session", socket.request_id) from None

    async def _receive(self) -> bytes:
        socket = self._socket
        try:
            message = await socket.receive(remaining(self._timeout, self._begin))
        except TimeoutError:
            raise timed_out("the session ended", socket.request_id) from None
        except EndedError as error:
            raise ended(error, "the session", socket.request_id) from None
        if message is None:
            raise lost("the session", "the connection was closed", socket.request_id)
        return message

"""Connections to the ports of pods."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING

from kubeconnect._concurrency.aio import AsyncWorkers, call
from kubeconnect._containers.channels import PORT_DATA, PORT_ERROR, PortMessages, data_messages
from kubeconnect._containers.outcomes import EndedError, ended, port_failed
from kubeconnect._errors import KubeconnectError

if TYPE_CHECKING:
    from kubeconnect._containers.aio import AsyncListener, AsyncLocalConnection, AsyncWebSocket

MAX_CONNECTIONS = 100
"""The maximum number of connections that are forwarded at the same time."""

READ_BYTES = 32 * 1024

STOP_SECONDS = 5.0
"""The time that connections have to end when their forwarding is closed."""

_logger = logging.getLogger("kubeconnect")


class AsyncPortStream:
    """One connection to a port of a pod. It is a context manager, which opens it. One task or
    thread may read and another one write at the same time.

    The protocol cannot close one direction only: ``close`` ends both.
    """

    def __init__(self, opener: Callable[[], Awaitable[AsyncWebSocket]], port: int) -> None:
        """Store the arguments. ``opener`` opens the connection."""
        self._opener = opener
        self._port = port
        self._opened: AsyncWebSocket | None = None
        self._messages = PortMessages()
        self._ended = False

    async def __aenter__(self) -> AsyncPortStream:
        """Open the connection, and return it."""
        if self._opened is not None:
            raise RuntimeError("a connection can be opened only once")
        self._opened = await self._opener()
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close the connection."""
        await self.close()

    async def write(self, data: bytes) -> None:
        """Send data to the port."""
        socket = self._socket
        try:
            for message in data_messages(data):
                await socket.send(message)
        except EndedError as error:
            raise ended(error, "the connection", socket.request_id) from None

    async def read(self) -> bytes:
        """Wait for data and return it; no bytes if the pod has ended the connection.

        Raises Unavailable if the node could not connect to the port, or if the connection is lost,
        and Cancelled if it is closed meanwhile.
        """
        while not self._ended:
            message = await self._receive()
            if message is None:
                self._ended = True
                break
            channel, data = self._messages.split(message)
            if channel == PORT_ERROR and data:
                raise port_failed(data, self._port, self._socket.request_id)
            if channel == PORT_DATA and data:
                return data
        return b""

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Iterate over the data until the pod ends the connection."""
        while data := await self.read():
            yield data

    async def close(self) -> None:
        """Close the connection. Closing it again has no effect."""
        if self._opened is not None:
            await self._opened.close()

    @property
    def _socket(self) -> AsyncWebSocket:
        if self._opened is None:
            raise RuntimeError("use the connection as a context manager, which opens it")
        return self._opened

    async def _receive(self) -> bytes | None:
        socket = self._socket
        try:
            return await socket.receive()
        except EndedError as error:
            raise ended(error, "the connection", socket.request_id) from None


class AsyncPortForward:
    """A port of this host, on 127.0.0.1, whose connections lead to a port of a pod. It is a context
    manager, which listens.

    At most 100 connections are forwarded at the same time; further ones are closed at once. When
    the program closes its connection, or one direction of it, the connection to the pod ends too.
    """

    def __init__(
        self,
        connect: Callable[[], AsyncPortStream],
        local_port: int,
        on_error: Callable[[KubeconnectError], object] | None,
    ) -> None:
        """Store the arguments. ``connect`` returns a connection to the port of the pod."""
        self._connect = connect
        self._requested_port = local_port
        self._on_error = on_error or _log
        self._listening: AsyncListener | None = None
        self._accepting = AsyncWorkers()
        self._connections = AsyncWorkers()
        self._locals: set[AsyncLocalConnection] = set()
        self._remotes: set[AsyncPortStream] = set()
        self._closed = False

    async def __aenter__(self) -> AsyncPortForward:
        """Listen, and return the port. Raises OSError if the port of this host is in use."""
        from kubeconnect._containers.aio import AsyncListener

        if self._listening is not None:
            raise RuntimeError("a port can be forwarded only once")
        self._listening = AsyncListener(self._requested_port)
        self._accepting.start("kubeconnect port-forward", self._accept)
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close the port."""
        await self.close()

    @property
    def local_port(self) -> int:
        """The port of this host."""
        return self._listener.port

    @property
    def address(self) -> str:
        """The address of the port of this host, such as "127.0.0.1:49152"."""
        return f"127.0.0.1:{self.local_port}"

    async def close(self) -> None:
        """Accept no more connections, and end the present ones. Closing it again has no effect."""
        self._closed = True
        if self._listening is None:
            return
        self._listening.wake()
        await self._accepting.join(STOP_SECONDS, cancel=True)
        self._listening.close()
        for remote in list(self._remotes):
            await remote.close()
        for local in list(self._locals):
            local.shut_down()
        await self._connections.join(STOP_SECONDS, cancel=True)

    @property
    def _listener(self) -> AsyncListener:
        if self._listening is None:
            raise RuntimeError("use the forwarding as a context manager, which listens")
        return self._listening

    async def _accept(self) -> None:
        while (local := await self._listener.accept()) is not None:
            if self._connections.running < MAX_CONNECTIONS:
                self._begin(local)
            else:
                _logger.warning("closed a connection to %s: there are too many", self.address)
                local.close()

    def _begin(self, local: AsyncLocalConnection) -> None:
        async def serve() -> None:
            await self._serve(local)

        self._locals.add(local)
        self._connections.start("kubeconnect port-forward connection", serve)

    async def _serve(self, local: AsyncLocalConnection) -> None:
        try:
            async with self._connect() as remote:
                self._remotes.add(remote)
                try:
                    if not self._closed:
                        await self._exchange(local, remote)
                finally:
                    self._remotes.discard(remote)
        except KubeconnectError as error:
            local.shut_down(reset=True)
            await self._report(error)
        finally:
            self._locals.discard(local)
            local.close()

    async def _report(self, error: KubeconnectError) -> None:
        if not self._closed and (problem := await call(self._on_error, error)) is not None:
            _logger.error("on_error has failed", exc_info=problem)

    async def _exchange(self, local: AsyncLocalConnection, remote: AsyncPortStream) -> None:
        """Copy in both directions until one of both sides has ended the connection."""
        closed_here = failed = False

        async def upload() -> None:
            nonlocal closed_here
            with suppress(KubeconnectError):  # which the reader raises too
                while data := await local.read(READ_BYTES):
                    await remote.write(data)
                closed_here = True
                await remote.close()

        workers = AsyncWorkers()
        workers.start("kubeconnect port-forward upload", upload)
        try:
            while (data := await remote.read()) and await local.write(data):
                pass
        except KubeconnectError:
            failed = not closed_here
            if failed:
                raise
        finally:
            await remote.close()
            local.shut_down(reset=failed)
            await workers.join(STOP_SECONDS, cancel=True)


def _log(error: KubeconnectError) -> None:
    _logger.warning("a forwarded connection has failed: %s", error)

"""The I/O of connections into containers, for asyncio."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

import websockets.asyncio.client as client
from websockets.exceptions import (
    ConnectionClosed,
    ConnectionClosedOK,
    InvalidStatus,
    WebSocketException,
)
from websockets.typing import Subprotocol

from kubeconnect._address import Address
from kubeconnect._containers.outcomes import (
    ClosedError,
    FinishedError,
    LostError,
    Rejection,
    rejected,
    timed_out,
)
from kubeconnect._containers.requests import StreamRequest
from kubeconnect._containers.security import tls_context
from kubeconnect._containers.sockets import (
    CLOSE_SECONDS,
    LOGGER,
    PING_SECONDS,
    RECEIVE_BYTES,
    USER_AGENT,
    problem_of,
    protocol_error,
    rejection_of,
    unopened,
    url_of,
)
from kubeconnect._transport.failures import client_closed
from kubeconnect._transport.identity import Metadata, Presented

if TYPE_CHECKING:
    from kubeconnect.aio._calls import AsyncCloseable


class AsyncWebSocket:
    """A WebSocket. One task may receive and another one send at a time."""

    def __init__(self, connection: client.ClientConnection) -> None:
        """Use a connection that is open."""
        self._connection = connection
        self._closed = False
        self._sending = False
        headers = connection.response.headers if connection.response else {}
        self.request_id: str | None = headers.get("X-Request-Id")

    async def send(self, message: bytes) -> None:
        """Send a message. Raises FinishedError, LostError or ClosedError if the connection has
        ended.
        """
        self._sending = True
        try:
            await self._connection.send(message)
        except ConnectionClosedOK as error:
            raise self._ended(error) if self._closed else FinishedError() from None
        except ConnectionClosed as error:
            raise self._ended(error) from None
        finally:
            self._sending = False

    async def receive(self, timeout: float | None = None) -> bytes | None:
        """Wait for the next message and return it; None after the last one.

        Raises TimeoutError after ``timeout`` seconds, LostError if the connection is lost, and
        ClosedError if it is closed meanwhile by this program.
        """
        try:
            receiving = self._connection.recv(decode=False)
            message = await asyncio.wait_for(receiving, timeout)
        except asyncio.TimeoutError:
            raise TimeoutError from None
        except ConnectionClosedOK as error:
            if self._closed:
                raise self._ended(error) from None
            return None
        except ConnectionClosed as error:
            raise self._ended(error) from None
        return message

    def _ended(self, error: ConnectionClosed) -> ClosedError | LostError:
        return ClosedError() if self._closed else LostError(problem_of(error))

    async def close(self) -> None:
        """End the connection. A waiting receiver raises ClosedError."""
        self._closed = True
        if self._sending:  # the other side does not read, and so not that the connection ends
            self._connection.transport.abort()
        await self._connection.close()


class _Connection(client.ClientConnection):
    """A connection that follows no redirect, because it would send the credentials elsewhere."""

    async def handshake(self, *arguments: object, **options: object) -> None:
        try:
            await super().handshake(*arguments, **options)  # type: ignore[arg-type]
        except InvalidStatus as error:
            raise rejection_of(error) from None


class _Opening:
    """A WebSocket that is being opened."""

    def __init__(self, connecting: client.connect) -> None:
        """Begin to open it."""
        self._task = asyncio.ensure_future(connecting.__aenter__())  # whose close() is enough

    async def result(self) -> client.ClientConnection:
        """Wait until it is open, and return it. Raises Cancelled if it is closed before."""
        try:
            await asyncio.wait([self._task])
        except asyncio.CancelledError:
            await self.close()
            raise
        if self._task.cancelled():
            raise client_closed()
        return self._task.result()

    async def close(self) -> None:
        """Stop."""
        if not self._task.done():
            self._task.cancel()
            await asyncio.wait([self._task])


async def open_websocket(
    address: Address,
    roots: bytes | None,
    presented: Presented,
    trace: Metadata,
    request: StreamRequest,
    timeout: float | None,
    register: Callable[[AsyncCloseable], object],
) -> AsyncWebSocket:
    """Open a WebSocket within ``timeout`` seconds. What is registered ends that."""
    connecting = client.connect(
        url_of(address, request),
        ssl=tls_context(roots, presented.pair) if address.tls else None,
        subprotocols=[Subprotocol(request.protocol)],
        additional_headers=list(presented.metadata + trace),
        user_agent_header=USER_AGENT,
        compression=None,
        proxy=None if address.loopback else True,
        open_timeout=timeout,
        ping_interval=PING_SECONDS,
        ping_timeout=None,
        close_timeout=CLOSE_SECONDS,
        max_size=RECEIVE_BYTES,
        logger=LOGGER,
        create_connection=_Connection,
    )
    opening = _Opening(connecting)
    register(opening)
    try:
        connection = await opening.result()
    except Rejection as rejection:
        raise rejected(rejection, address) from None
    except (TimeoutError, asyncio.TimeoutError):
        raise timed_out(f"{address} responded") from None
    except (OSError, WebSocketException) as error:
        raise unopened(error, address) from None
    websocket = AsyncWebSocket(connection)
    if (unsupported := protocol_error(connection.subprotocol, request, address)) is not None:
        await websocket.close()
        raise unsupported
    return websocket


class AsyncListener:
    """A port of this host that programs connect to."""

    def __init__(self, port: int) -> None:
        """Listen on a port of 127.0.0.1; 0: on a free one."""
        self._socket = socket.create_server(("127.0.0.1", port))
        self._socket.setblocking(False)
        self.port: int = self._socket.getsockname()[1]

    async def accept(self) -> AsyncLocalConnection | None:
        """Wait for the next connection and return it."""
        while True:
            with suppress(ConnectionAbortedError):
                connection, _ = await asyncio.get_running_loop().sock_accept(self._socket)
                connection.setblocking(False)
                return AsyncLocalConnection(connection)

    def wake(self) -> None:
        """Do nothing: a task that waits for a connection is cancelled."""

    def close(self) -> None:
        """Close the port, which no task uses any more."""
        self._socket.close()


class AsyncLocalConnection:
    """A connection of a program of this host."""

    def __init__(self, connection: socket.socket) -> None:
        """Use a socket."""
        self._socket = connection

    async def read(self, size: int) -> bytes:
        """Wait for data and return at most ``size`` bytes; none if the connection has ended."""
        with suppress(OSError):
            return await asyncio.get_running_loop().sock_recv(self._socket, size)
        return b""

    async def write(self, data: bytes) -> bool:
        """Send data. Return whether the connection has not ended."""
        try:
            await asyncio.get_running_loop().sock_sendall(self._socket, data)
        except OSError:
            return False
        return True

    def shut_down(self, *, reset: bool = False) -> None:
        """End the connection, so that a task that reads returns. ``reset`` reports an error."""
        with suppress(OSError):
            if reset:
                linger = struct.pack("ii", 1, 0)
                self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            self._socket.shutdown(socket.SHUT_RD if reset else socket.SHUT_RDWR)

    def close(self) -> None:
        """Close the socket, which no task uses any more."""
        self._socket.close()

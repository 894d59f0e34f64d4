"""The I/O of connections into containers, for threads.

A WebSocket has an event loop in a thread of its own. With TLS two threads must not use one
connection at the same time, which a program does that sends while it receives.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import socket
import struct
import threading
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from kubeconnect._address import Address
from kubeconnect._concurrency.sync import SIGNAL_SECONDS
from kubeconnect._containers import aio
from kubeconnect._containers.outcomes import ClosedError
from kubeconnect._containers.requests import StreamRequest
from kubeconnect._containers.sockets import CLOSE_SECONDS
from kubeconnect._transport.failures import client_closed
from kubeconnect._transport.identity import Metadata, Presented

if TYPE_CHECKING:
    from kubeconnect._sync._calls import Closeable

R = TypeVar("R")


class WebSocket:
    """A WebSocket. One thread may receive and another one send at a time. Any thread may close
    it.
    """

    def __init__(self, loop: _Loop, websocket: aio.AsyncWebSocket) -> None:
        """Use a WebSocket that is open, and the loop that it belongs to."""
        self._loop = loop
        self._websocket = websocket
        self.request_id = websocket.request_id

    def send(self, message: bytes) -> None:
        """Send a message. Raises FinishedError, LostError or ClosedError if the connection has
        ended.
        """
        self._loop.call(lambda: self._websocket.send(message))

    def receive(self, timeout: float | None = None) -> bytes | None:
        """Wait for the next message and return it; None after the last one.

        Raises TimeoutError after ``timeout`` seconds, LostError if the connection is lost, and
        ClosedError if it is closed meanwhile by this program.
        """
        return self._loop.call(lambda: self._websocket.receive(timeout))

    def close(self) -> None:
        """End the connection. A waiting receiver raises ClosedError."""
        try:
            with suppress(ClosedError):
                self._loop.call(self._websocket.close)
        finally:
            self._loop.close()


class _Loop:
    """An event loop in a thread of its own."""

    def __init__(self) -> None:
        """Begin the thread."""
        self._lock = threading.Lock()  # guards _closed, and that no call begins after it is set
        self._closed = False
        self._running: concurrent.futures.Future[asyncio.AbstractEventLoop] = (
            concurrent.futures.Future()
        )
        self._stop = asyncio.Event()
        self._thread = threading.Thread(target=self._run, name="kubeconnect WebSocket", daemon=True)
        self._thread.start()
        self._loop = self._running.result()

    def _run(self) -> None:
        asyncio.run(self._main())

    async def _main(self) -> None:
        self._running.set_result(asyncio.get_running_loop())
        await self._stop.wait()

    def call(self, function: Callable[[], Coroutine[Any, Any, R]]) -> R:
        """Run a function in the loop, and return its result. Raises ClosedError if the loop is
        closed before or meanwhile.
        """
        with self._lock:
            if self._closed:
                raise ClosedError
            future = asyncio.run_coroutine_threadsafe(function(), self._loop)
        try:
            while not future.done():  # a signal may arrive immediately before each wait
                concurrent.futures.wait([future], timeout=SIGNAL_SECONDS)
        except BaseException:
            future.cancel()
            raise
        try:
            return future.result()
        except concurrent.futures.CancelledError:
            raise ClosedError from None

    def close(self) -> None:
        """End the thread, and all calls. Closing it again has no effect."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()


class _Opening:
    """A WebSocket that is being opened."""

    def __init__(self, loop: _Loop) -> None:
        """Use the loop that it belongs to."""
        self._loop: _Loop | None = loop

    def end(self) -> None:
        """Note that the WebSocket is open."""
        self._loop = None

    def close(self) -> None:
        """Stop."""
        if (loop := self._loop) is not None:
            loop.close()


def open_websocket(
    address: Address,
    roots: bytes | None,
    presented: Presented,
    trace: Metadata,
    request: StreamRequest,
    timeout: float | None,
    register: Callable[[Closeable], object],
) -> WebSocket:
    """Open a WebSocket within ``timeout`` seconds. What is registered ends that."""
    loop = _Loop()
    opening = _Opening(loop)
    register(opening)

    async def opened() -> aio.AsyncWebSocket:
        return await aio.open_websocket(
            address, roots, presented, trace, request, timeout, lambda opening: None
        )

    try:
        websocket = WebSocket(loop, loop.call(opened))
        opening.end()  # from here on the loop ends with the WebSocket
        return websocket
    except ClosedError:
        raise client_closed() from None
    except BaseException:
        loop.close()
        raise


class Listener:
    """A port of this host that programs connect to."""

    def __init__(self, port: int) -> None:
        """Listen on a port of 127.0.0.1; 0: on a free one."""
        self._socket = socket.create_server(("127.0.0.1", port))
        self.port: int = self._socket.getsockname()[1]
        self._woken = False

    def accept(self) -> LocalConnection | None:
        """Wait for the next connection and return it; None if ``wake`` was called."""
        while not self._woken:
            with suppress(ConnectionAbortedError):
                connection, _ = self._socket.accept()
                if not self._woken:
                    return LocalConnection(connection)
                connection.close()
        return None

    def wake(self) -> None:
        """Accept no more connections. A thread that waits for one returns."""
        if not self._woken:
            self._woken = True
            # A close would not wake that thread, but a connection does.
            with suppress(OSError):
                address = ("127.0.0.1", self.port)
                socket.create_connection(address, timeout=CLOSE_SECONDS).close()

    def close(self) -> None:
        """Close the port, which no thread uses any more."""
        self._socket.close()


class LocalConnection:
    """A connection of a program of this host."""

    def __init__(self, connection: socket.socket) -> None:
        """Use a socket."""
        self._socket = connection

    def read(self, size: int) -> bytes:
        """Wait for data and return at most ``size`` bytes; none if the connection has ended."""
        with suppress(OSError):
            return self._socket.recv(size)
        return b""

    def write(self, data: bytes) -> bool:
        """Send data. Return whether the connection has not ended."""
        try:
            self._socket.sendall(data)
        except OSError:
            return False
        return True

    def shut_down(self, *, reset: bool = False) -> None:
        """End the connection, so that a thread that reads returns. ``reset`` reports an error."""
        with suppress(OSError):
            if reset:
                linger = struct.pack("ii", 1, 0)
                self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            self._socket.shutdown(socket.SHUT_RD if reset else socket.SHUT_RDWR)

    def close(self) -> None:
        """Close the socket, which no thread uses any more."""
        self._socket.close()

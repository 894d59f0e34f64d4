"""A server of WebSockets into containers, with the faults of a test."""

from __future__ import annotations

import asyncio
import http
import json
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from websockets.asyncio.server import ServerConnection, serve
from websockets.datastructures import Headers
from websockets.http11 import Request, Response
from websockets.typing import Subprotocol

SUCCESS = b"\x03" + json.dumps({"status": "Success"}).encode()


class ContainerServer:
    """Sends ``messages`` to each WebSocket, and then ends it: "close" and "abort" end it at once,
    and "wait" when the client does. ``responses`` are sent in place of a WebSocket, one for each
    request.
    """

    def __init__(self) -> None:
        self.messages = [SUCCESS]
        self.then = "close"
        self.responses: list[Response] = []
        self.requests: list[Request] = []
        self.protocols = ["v5.channel.k8s.io", "v4.channel.k8s.io"]
        self.address = ""

    def reject(self, status: int, body: object = "", **headers: str) -> None:
        """Respond to the next request with an HTTP status."""
        content = body.encode() if isinstance(body, str) else json.dumps(body).encode()
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        fields = Headers({"Content-Length": str(len(content)), **named})
        phrase = http.HTTPStatus(status).phrase
        self.responses.append(Response(status, phrase, fields, content))

    def _process(self, connection: ServerConnection, request: Request) -> Response | None:
        self.requests.append(request)
        return self.responses.pop(0) if self.responses else None

    async def _handle(self, connection: ServerConnection) -> None:
        for message in self.messages:
            await connection.send(message)
        if self.then == "abort":
            connection.transport.abort()
        elif self.then == "wait":
            await connection.wait_closed()

    async def serve(
        self, context: ssl.SSLContext | None, ready: threading.Event, stop: asyncio.Event
    ) -> None:
        async with serve(
            self._handle,
            "localhost",
            0,
            ssl=context,
            process_request=self._process,
            select_subprotocol=self._select,
            close_timeout=0.1,
        ) as serving:
            port = next(iter(serving.sockets)).getsockname()[1]
            self.address = f"{'https' if context else 'http'}://localhost:{port}"
            ready.set()
            await stop.wait()

    def _select(self, connection: ServerConnection, offered: object) -> Subprotocol | None:
        assert isinstance(offered, list)
        return next((each for each in offered if each in self.protocols), None)


@contextmanager
def container_server(context: ssl.SSLContext | None = None) -> Iterator[ContainerServer]:
    """Run a server in a thread of its own."""
    server, ready = ContainerServer(), threading.Event()
    loop = asyncio.new_event_loop()
    stop = asyncio.Event()

    thread = threading.Thread(
        target=lambda: loop.run_until_complete(server.serve(context, ready, stop)), name="server"
    )
    thread.start()
    assert ready.wait(20)
    try:
        yield server
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join()
        loop.close()

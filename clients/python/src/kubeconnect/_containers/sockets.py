"""What the WebSockets of tasks and of threads have in common."""

from __future__ import annotations

import logging

import grpc
from websockets.exceptions import InvalidStatus

from kubeconnect import _errors as errors
from kubeconnect._address import Address
from kubeconnect._containers.outcomes import Rejection
from kubeconnect._containers.requests import StreamRequest
from kubeconnect._version import __version__

USER_AGENT = f"kubeconnect-python/{__version__}"

PING_SECONDS = 20.0
"""The interval of pings, which keep idle connections open in proxies. No reply is required, because
it arrives late if the program reads its output slowly."""

CLOSE_SECONDS = 2.0
"""The time that the other side has to reply when a connection is closed."""

RECEIVE_BYTES = 16 * 1024 * 1024
"""The maximum size of a received message. API servers send at most 32 KiB."""

LOGGER = logging.getLogger("kubeconnect.websockets")
"""The logger of the library, which would log the headers of requests, with tokens, as DEBUG."""
LOGGER.setLevel(logging.INFO)


def url_of(address: Address, request: StreamRequest) -> str:
    """Return the URL of a request."""
    return f"{'wss' if address.tls else 'ws'}://{address.authority}{request.path}"


def protocol_error(
    protocol: str | None, request: StreamRequest, address: Address
) -> errors.Unimplemented | None:
    """Return the exception for a server that does not use the protocol of the request; None if it
    does.
    """
    if protocol == request.protocol:
        return None
    message = f"the server at {address} does not support the protocol {request.protocol}"
    return errors.Unimplemented(grpc.StatusCode.UNIMPLEMENTED, message)


def rejection_of(error: InvalidStatus) -> Rejection:
    """Return the response that the server sent in place of a WebSocket."""
    response = error.response
    body = bytes(response.body or b"")
    return Rejection(response.status_code, body, response.headers.get("X-Request-Id"))


def unopened(problem: object, address: Address) -> errors.KubeconnectError:
    """Return the exception for a WebSocket that could not be opened."""
    message = f"kubeconnect is unreachable at {address}: {problem}"
    return errors.Unavailable(grpc.StatusCode.UNAVAILABLE, message)


def problem_of(error: Exception) -> str:
    """Return why a connection was lost."""
    return str(error) or type(error).__name__

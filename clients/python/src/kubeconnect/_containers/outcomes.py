"""How connections into containers are rejected and end: the Status of the API server."""

from __future__ import annotations

import json
from typing import Any

import grpc

from kubeconnect import _errors as errors
from kubeconnect._transport.failures import class_of
from kubeconnect.v1.status_pb2 import Status, StatusCause

_CODES = {
    400: grpc.StatusCode.INVALID_ARGUMENT,
    401: grpc.StatusCode.UNAUTHENTICATED,
    403: grpc.StatusCode.PERMISSION_DENIED,
    404: grpc.StatusCode.NOT_FOUND,
    405: grpc.StatusCode.UNIMPLEMENTED,
    409: grpc.StatusCode.ABORTED,
    410: grpc.StatusCode.OUT_OF_RANGE,
    422: grpc.StatusCode.INVALID_ARGUMENT,
    429: grpc.StatusCode.RESOURCE_EXHAUSTED,
    500: grpc.StatusCode.INTERNAL,
    501: grpc.StatusCode.UNIMPLEMENTED,
    502: grpc.StatusCode.UNAVAILABLE,
    503: grpc.StatusCode.UNAVAILABLE,
    504: grpc.StatusCode.DEADLINE_EXCEEDED,
}


class Rejection(Exception):
    """An HTTP response in place of a WebSocket."""

    def __init__(self, status: int, body: bytes, request_id: str | None) -> None:
        """Store the arguments as attributes."""
        super().__init__(status)
        self.status = status
        self.body = body
        self.request_id = request_id


class EndedError(Exception):
    """A WebSocket has ended."""


class LostError(EndedError):
    """The connection was lost. The message is the reason."""


class FinishedError(EndedError):
    """The connection was ended by the other side, as it should be."""


class ClosedError(EndedError):
    """The connection was closed by this program."""


def rejected(rejection: Rejection, address: object) -> errors.KubeconnectError:
    """Return the exception for an HTTP response of the service at ``address``."""
    parsed = _object(rejection.body)
    if parsed.get("kind") == "Status":
        return _error(parsed, rejection.status, rejection.request_id)
    body = rejection.body.decode(errors="replace").strip()[:500]
    message = f"the server at {address} responds with HTTP status {rejection.status}"
    if body and not body.startswith("<"):
        message += f": {body}"
    return _of_code(rejection.status, message, None, rejection.request_id)


def exit_code(status: bytes, request_id: str | None) -> int:
    """Return the exit code of a command from the Status that ends its connection. Raises the
    Status if the command did not run.
    """
    parsed = _object(status)
    if parsed.get("status") == "Success":
        return 0
    if parsed.get("reason") == "NonZeroExitCode":
        for cause in _causes(parsed):
            if cause.reason == "ExitCode" and cause.message.isdecimal():
                return int(cause.message)
    if not parsed:
        parsed = {"message": status.decode(errors="replace")}
    raise _error(parsed, 500, request_id)


def lost(what: str, problem: object, request_id: str | None) -> errors.Unavailable:
    """Return the exception for a connection that has ended too early."""
    message = f"the connection was lost before {what} ended: {problem}"
    return errors.Unavailable(grpc.StatusCode.UNAVAILABLE, message, request_id=request_id)


def ended(error: EndedError, what: str, request_id: str | None) -> errors.KubeconnectError:
    """Return the exception for a connection that has ended while it was used."""
    if isinstance(error, LostError):
        return lost(what, error, request_id)
    if isinstance(error, FinishedError):
        return lost(what, "the other side has ended it", request_id)
    message = f"{what} is closed"
    return errors.Cancelled(grpc.StatusCode.CANCELLED, message, request_id=request_id)


def timed_out(what: str, request_id: str | None = None) -> errors.DeadlineExceeded:
    """Return the exception for a connection that has no time left."""
    message = f"the timeout has passed before {what}"
    return errors.DeadlineExceeded(
        grpc.StatusCode.DEADLINE_EXCEEDED, message, request_id=request_id
    )


def port_failed(message: bytes, port: int, request_id: str | None) -> errors.Unavailable:
    """Return the exception for a port that the node could not connect to."""
    text = message.decode(errors="replace").strip()
    return errors.Unavailable(
        grpc.StatusCode.UNAVAILABLE, f"port {port} of the pod: {text}", request_id=request_id
    )


def _error(
    parsed: dict[str, Any], http_status: int, request_id: str | None
) -> errors.KubeconnectError:
    details = _dict(parsed.get("details"))
    code = parsed.get("code")
    status = Status(
        reason=_str(parsed.get("reason")),
        message=_str(parsed.get("message")),
        code=code if isinstance(code, int) and 0 < code < 1000 else http_status,
        group=_str(details.get("group")),
        kind=_str(details.get("kind")),
        name=_str(details.get("name")),
        uid=_str(details.get("uid")),
        causes=_causes(parsed),
    )
    delay = details.get("retryAfterSeconds")
    if isinstance(delay, int) and 0 < delay < 2**31:
        status.retry_after_seconds = delay
    return _of_code(status.code, status.message, status, request_id)


def _of_code(
    http_status: int, message: str, status: Status | None, request_id: str | None
) -> errors.KubeconnectError:
    """Return the exception of the class for an HTTP status and a reason."""
    reason = status.reason if status else ""
    code = _CODES.get(http_status, grpc.StatusCode.UNKNOWN)
    if reason == "AlreadyExists":
        code = grpc.StatusCode.ALREADY_EXISTS
    return class_of(code, reason)(code, message, status, request_id=request_id)


def _causes(parsed: dict[str, Any]) -> list[StatusCause]:
    causes = _dict(parsed.get("details")).get("causes")
    return [
        StatusCause(
            reason=_str(each.get("reason")),
            message=_str(each.get("message")),
            field=_str(each.get("field")),
        )
        for each in map(_dict, causes if isinstance(causes, list) else [])
    ]


def _object(text: bytes) -> dict[str, Any]:
    try:
        return _dict(json.loads(text))
    except ValueError:
        return {}


def _dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _str(value: object) -> str:
    return value if isinstance(value, str) else ""

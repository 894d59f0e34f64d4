"""Conversion of gRPC's errors to the package's exceptions."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import grpc
from google.protobuf.message import DecodeError
from google.rpc import status_pb2 as rpc_status

from kubeconnect import _errors as errors
from kubeconnect.v1.status_pb2 import Status

_DETAILS = "grpc-status-details-bin"
_REQUEST_ID = "x-request-id"

_CLASSES: dict[grpc.StatusCode, type[errors.KubeconnectError]] = {
    grpc.StatusCode.ABORTED: errors.Conflict,
    grpc.StatusCode.ALREADY_EXISTS: errors.AlreadyExists,
    grpc.StatusCode.CANCELLED: errors.Cancelled,
    grpc.StatusCode.DEADLINE_EXCEEDED: errors.DeadlineExceeded,
    grpc.StatusCode.INTERNAL: errors.Internal,
    grpc.StatusCode.INVALID_ARGUMENT: errors.InvalidArgument,
    grpc.StatusCode.NOT_FOUND: errors.NotFound,
    grpc.StatusCode.OUT_OF_RANGE: errors.Expired,
    grpc.StatusCode.PERMISSION_DENIED: errors.Forbidden,
    grpc.StatusCode.RESOURCE_EXHAUSTED: errors.ResourceExhausted,
    grpc.StatusCode.UNAUTHENTICATED: errors.Unauthenticated,
    grpc.StatusCode.UNAVAILABLE: errors.Unavailable,
    grpc.StatusCode.UNIMPLEMENTED: errors.Unimplemented,
}

# Exceptions of codes that have several reasons.
_NARROWER: dict[tuple[grpc.StatusCode, str], type[errors.KubeconnectError]] = {
    (grpc.StatusCode.INVALID_ARGUMENT, "Invalid"): errors.Invalid,
    (grpc.StatusCode.RESOURCE_EXHAUSTED, "TooManyRequests"): errors.TooManyRequests,
}


# Mistakes in the address or the certificates: what gRPC or its TLS library reports, and what to
# do.
_MISTAKES = (
    ("WRONG_VERSION_NUMBER", "the port does not use TLS: use http://"),
    (
        "CERTIFICATE_VERIFY_FAILED: (?P<why>.*)",
        "the certificate of the server is not trusted ({why}): pass its CA certificates as ca_file",
    ),
    (
        "Peer name (?P<host>.*) is not in peer certificate",
        "the certificate is not for {host}: use a name that the certificate has",
    ),
    (
        "missing selected ALPN property",
        "the server does not use HTTP/2: it is not kubeconnect, or a proxy in front of it",
    ),
)

# The same over plain text. These reports may have other causes.
_MISTAKES_OF_PLAIN_TEXT = (
    (
        "(?P<what>Failed parsing HTTP/2|.*http1.x server.*)",
        "{what}: the server is not kubeconnect, or if it uses TLS, use https://",
    ),
    ("(?P<what>Socket closed|.*reset by peer.*)", "{what}: if it uses TLS, use https://"),
)

# gRPC's error for a response of a server that is not one of gRPC.
_NOT_GRPC = re.compile(r"Received http2 header with status: (\d+)")

# How gRPC begins the error of a connection that could not be established.
_CONNECTING = re.compile(
    r"^failed to connect to all addresses; last error: [A-Z]+: [^ ]+: "
    r"(Failed to connect to remote host: )?(connect: )?"
)


def failure(error: grpc.RpcError, address: object) -> errors.KubeconnectError:
    """Return the exception for a gRPC error of a call to the service at ``address``."""
    code, message = error.code(), error.details() or ""
    initial = error.initial_metadata()  # type: ignore[attr-defined]  # not in its stubs
    metadata = [*(initial or ()), *(error.trailing_metadata() or ())]
    status = _status(metadata)
    kind = class_of(code, status.reason if status else "")
    if status:
        message = message or status.message
    elif answer := _NOT_GRPC.search(message):
        return _not_grpc(code, answer[1], address)
    request_id = next((value for key, value in metadata if key == _REQUEST_ID), None)
    return kind(code, unreachable(message, address), status, request_id=request_id)


def class_of(code: grpc.StatusCode, reason: str) -> type[errors.KubeconnectError]:
    """Return the class of the exceptions for a gRPC code and a reason of Kubernetes."""
    return _NARROWER.get((code, reason), _CLASSES.get(code, errors.KubeconnectError))


def unreachable(message: str, address: object) -> str:
    """Return gRPC's error of a connection that could not be established, with the address as the
    user writes it, and with what to do about a mistake; any other message unchanged.
    """
    begin = _CONNECTING.match(message)
    if begin is None:
        return message
    problem = message[begin.end() :]
    plain = str(address).startswith("http:")
    for report, mistake in _MISTAKES + (_MISTAKES_OF_PLAIN_TEXT if plain else ()):
        if found := re.search(report, problem):
            problem = mistake.format(**found.groupdict())
            break
    return f"kubeconnect is unreachable at {address}: {problem}"


def _not_grpc(code: grpc.StatusCode, status: str, address: object) -> errors.KubeconnectError:
    """Return the exception for a response with an HTTP status. Only 401 is about the caller: gRPC
    takes 403 for a missing permission, and 404 for a missing method.
    """
    message = (
        f"the server at {address} responds with HTTP status {status}, not as kubeconnect does: use "
        "the address of the kubeconnect service, not of the API server or of another server"
    )
    if code is grpc.StatusCode.UNAUTHENTICATED:
        return errors.Unauthenticated(code, message)
    return errors.Unavailable(grpc.StatusCode.UNAVAILABLE, message)


class TokenFailed(errors.Unauthenticated):
    """The caller's token function has failed, or has returned what is no token. ``__cause__`` is
    its exception.
    """


def token_failed(cause: Exception) -> TokenFailed:
    """Return the error for an exception of the token function."""
    message = f"the token function failed: {type(cause).__name__}: {cause}"
    error = TokenFailed(grpc.StatusCode.UNAUTHENTICATED, message)
    error.__cause__ = cause
    return error


def silent(seconds: float) -> errors.Unavailable:
    """Return the exception for a stream that was silent for this number of seconds."""
    return errors.Unavailable(
        grpc.StatusCode.UNAVAILABLE, f"no message received for {seconds:g} seconds"
    )


def client_closed() -> errors.Cancelled:
    """Return the exception for a call on a closed client."""
    return errors.Cancelled(grpc.StatusCode.CANCELLED, "the client is closed")


def _status(metadata: Iterable[Any]) -> Status | None:
    details = [value for key, value in metadata if key == _DETAILS]
    return _unpack(details[0]) if details else None


def _unpack(data: bytes) -> Status | None:
    status = Status()
    try:
        details = rpc_status.Status.FromString(data).details
        return status if any(detail.Unpack(status) for detail in details) else None
    except DecodeError:
        return None

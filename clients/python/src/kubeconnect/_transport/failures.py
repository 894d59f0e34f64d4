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
    kind = _CLASSES.get(code, errors.KubeconnectError)
    if status:
        kind = _NARROWER.get((code, status.reason), kind)
        message = message or status.message
    request_id = next((value for key, value in metadata if key == _REQUEST_ID), None)
    return kind(code, unreachable(message, address), status, request_id=request_id)


def unreachable(message: str, address: object) -> str:
    """Return gRPC's error of a connection that could not be established, with the address as the
    user writes it; any other message unchanged.
    """
    return _CONNECTING.sub(f"kubeconnect is unreachable at {address}: ", message)


class TokenFailed(errors.Unauthenticated):
    """The caller's token function has failed, or has returned what is no token."""

    def __init__(self, cause: Exception) -> None:
        """Store the exception of the function."""
        message = f"the token function failed: {type(cause).__name__}: {cause}"
        super().__init__(grpc.StatusCode.UNAUTHENTICATED, message)
        self.cause = cause


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

"""Errors in the form of the service."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NoReturn

import grpc
from google.rpc import status_pb2 as rpc_status

from kubeconnect import _errors as errors
from kubeconnect.v1.status_pb2 import Status, StatusCause

if TYPE_CHECKING:
    from kubeconnect.testing._resources import ResourceType

# The code, the reason and the HTTP code of each class.
_CODES: dict[type[errors.KubeconnectError], tuple[grpc.StatusCode, str, int]] = {
    errors.InvalidArgument: (grpc.StatusCode.INVALID_ARGUMENT, "BadRequest", 400),
    errors.Invalid: (grpc.StatusCode.INVALID_ARGUMENT, "Invalid", 422),
    errors.Unauthenticated: (grpc.StatusCode.UNAUTHENTICATED, "Unauthorized", 401),
    errors.Forbidden: (grpc.StatusCode.PERMISSION_DENIED, "Forbidden", 403),
    errors.NotFound: (grpc.StatusCode.NOT_FOUND, "NotFound", 404),
    errors.AlreadyExists: (grpc.StatusCode.ALREADY_EXISTS, "AlreadyExists", 409),
    errors.Conflict: (grpc.StatusCode.ABORTED, "Conflict", 409),
    errors.Expired: (grpc.StatusCode.OUT_OF_RANGE, "Expired", 410),
    errors.ResourceExhausted: (grpc.StatusCode.RESOURCE_EXHAUSTED, "RequestEntityTooLarge", 413),
    errors.TooManyRequests: (grpc.StatusCode.RESOURCE_EXHAUSTED, "TooManyRequests", 429),
    errors.Unimplemented: (grpc.StatusCode.UNIMPLEMENTED, "MethodNotAllowed", 405),
    errors.Unavailable: (grpc.StatusCode.UNAVAILABLE, "ServiceUnavailable", 503),
    errors.DeadlineExceeded: (grpc.StatusCode.DEADLINE_EXCEEDED, "Timeout", 504),
    errors.Internal: (grpc.StatusCode.INTERNAL, "InternalError", 500),
}


def failure(
    cls: type[errors.KubeconnectError],
    message: str,
    *,
    resource: ResourceType | None = None,
    kind: str = "",
    name: str = "",
    reason: str = "",
    causes: Iterable[StatusCause] = (),
    retry_after_seconds: int = 0,
) -> errors.KubeconnectError:
    """Return an error of a class, with the code and the reason that the service has for it.

    ``resource`` and ``name`` are of the object that the error is about. ``kind`` replaces the
    plural name of the resource, and ``reason`` the reason of the class.
    """
    if cls not in _CODES:
        raise ValueError(f"the fake service has no error {cls.__name__}")
    code, usual_reason, number = _CODES[cls]
    status = Status(
        reason=reason or usual_reason,
        message=message,
        code=number,
        group=resource.group if resource else "",
        kind=kind or (resource.plural if resource else ""),
        name=name,
        causes=causes,
        retry_after_seconds=retry_after_seconds,
    )
    return cls(code, message, status)


def bad_request(message: str) -> errors.KubeconnectError:
    """Return the error for a request that is malformed."""
    return failure(errors.InvalidArgument, message)


def unsupported(what: str) -> errors.KubeconnectError:
    """Return the error for what the real service supports, and the fake does not."""
    return failure(errors.Unimplemented, f"the fake service does not support {what}")


def not_found(resource: ResourceType, name: str) -> errors.KubeconnectError:
    """Return the error for an object that does not exist."""
    message = f'{resource.full_name} "{name}" not found'
    return failure(errors.NotFound, message, resource=resource, name=name)


def forbidden(
    resource: ResourceType, name: str, problem: str, causes: Iterable[StatusCause] = ()
) -> errors.KubeconnectError:
    """Return the error for a write that the API server never allows."""
    message = f'{resource.full_name} "{name}" is forbidden: {problem}'
    return failure(errors.Forbidden, message, resource=resource, name=name, causes=causes)


def conflict(resource: ResourceType, name: str, problem: str) -> errors.KubeconnectError:
    """Return the error for a write whose preconditions are not met."""
    message = f'Operation cannot be fulfilled on {resource.full_name} "{name}": {problem}'
    return failure(errors.Conflict, message, resource=resource, name=name)


def modified(resource: ResourceType, name: str) -> errors.KubeconnectError:
    """Return the error for a write to an outdated version of an object."""
    problem = (
        "the object has been modified; please apply your changes to the latest version and try "
        "again"
    )
    return conflict(resource, name, problem)


def invalid(
    resource: ResourceType, name: str, field: str, reason: str, problem: str
) -> errors.KubeconnectError:
    """Return the error for an object with an invalid field."""
    full = f"{resource.kind}.{resource.group}".rstrip(".")
    cause = StatusCause(reason=reason, message=problem, field=field)
    return failure(
        errors.Invalid,
        f'{full} "{name}" is invalid: {field}: {problem}',
        resource=resource,
        kind=resource.kind,
        name=name,
        causes=[cause],
    )


def status_of(error: errors.KubeconnectError) -> Status | None:
    """Return the status of an error; None if its class has no reason."""
    if error.status is None and (known := _CODES.get(type(error))):
        return Status(reason=known[1], message=error.message, code=known[2])
    return error.status


def abort(context: grpc.ServicerContext, error: errors.KubeconnectError) -> NoReturn:
    """End a call with an error."""
    if (status := status_of(error)) is not None:
        packed = rpc_status.Status(code=error.code.value[0], message=error.message)
        packed.details.add().Pack(status)
        context.set_trailing_metadata((("grpc-status-details-bin", packed.SerializeToString()),))
    context.abort(error.code, error.message)

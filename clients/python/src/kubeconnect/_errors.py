"""The exceptions that calls raise, one for each of the API's reasons."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import grpc

from kubeconnect.v1.status_pb2 import Status, StatusCause

if TYPE_CHECKING:
    from kubeconnect._objects import Object
    from kubeconnect._writes import PatchResult


class KubeconnectError(Exception):
    """The base class of all exceptions that calls raise.

    ``code`` is the gRPC code and ``message`` the message of the API server or the
    service. ``status`` is the Status of the error; None if neither the API server nor the
    service sent one, as for a lost connection. ``request_id`` is the ID with which the service
    logs the call, from the header ``X-Request-Id`` of the response; None if there was no
    response.
    """

    def __init__(
        self,
        code: grpc.StatusCode,
        message: str,
        status: Status | None = None,
        *,
        request_id: str | None = None,
    ) -> None:
        """Store the arguments as attributes."""
        super().__init__(code, message, status)
        self.code = code
        self.message = message
        self.status = status
        self.request_id = request_id

    def __str__(self) -> str:
        """Return the message, or the name of the code if there is none, with the number of
        omitted causes and the request ID.
        """
        text = self.message or self.code.name
        if omitted := self.omitted_cause_count:
            text += f" (and {omitted} more {'cause' if omitted == 1 else 'causes'})"
        return f"{text} (request_id: {self.request_id})" if self.request_id else text

    def __repr__(self) -> str:
        """Return the class, the code and the text of the error."""
        return f"<{type(self).__name__} {self.code.name}: {self}>"

    @property
    def reason(self) -> str | None:
        """The reason in Kubernetes' terms, such as "AlreadyExists"; None if unknown."""
        return self.status.reason or None if self.status else None

    @property
    def causes(self) -> tuple[StatusCause, ...]:
        """The single causes, such as each field that failed validation. The service bounds
        the size of an error: ``omitted_cause_count`` is the number of causes left out.
        """
        return tuple(self.status.causes) if self.status else ()

    @property
    def omitted_cause_count(self) -> int:
        """The number of causes that the service left out of ``causes``; 0 if none."""
        return self.status.omitted_cause_count if self.status else 0

    @property
    def retry_after_seconds(self) -> int | None:
        """The number of seconds after which to retry; None if the service sent none."""
        return self.status.retry_after_seconds or None if self.status else None


class InvalidArgument(KubeconnectError):
    """The request is malformed. The message names the invalid part."""


class Invalid(InvalidArgument):
    """The object failed validation. ``causes`` has one entry for each field."""


class Unauthenticated(KubeconnectError):
    """The credentials are missing, invalid or expired."""


class Forbidden(KubeconnectError):
    """The caller lacks a permission of the cluster's RBAC."""


class NotFound(KubeconnectError):
    """The object or the resource does not exist."""


class AlreadyExists(KubeconnectError):
    """An object with this name exists."""


class Conflict(KubeconnectError):
    """The object has changed, a precondition failed, or other managers own the fields."""


class Expired(KubeconnectError):
    """The page token has expired: list again from the first page."""


class ResourceExhausted(KubeconnectError):
    """A limit was reached, such as the size of a message."""


class TooManyRequests(ResourceExhausted):
    """The request was throttled: retry after ``retry_after_seconds``."""


class Unimplemented(KubeconnectError):
    """The service or the resource does not support the operation."""


class Unavailable(KubeconnectError):
    """The service or the API server is unreachable."""


class DeadlineExceeded(KubeconnectError):
    """The deadline was exceeded. A write may have been applied."""


class WaitTimeout(DeadlineExceeded):
    """The condition of a ``wait_for`` was not met in time, or can no longer be met.

    The message has the last state of the object. ``object`` is that state; None if the object
    was never seen.
    """

    def __init__(
        self,
        code: grpc.StatusCode,
        message: str,
        status: Status | None = None,
        object: Object | None = None,
    ) -> None:
        """Store the arguments as attributes."""
        super().__init__(code, message, status)
        self.object = object


class ApplyError(KubeconnectError):
    """Some objects of an ``apply_yaml`` were not applied. All others were.

    ``results`` has the result or the error of each object, in the order of the text, and
    ``errors`` the errors alone, whose messages name the objects. ``code``, ``status`` and
    ``request_id`` are those of the first error.
    """

    def __init__(self, results: Iterable[PatchResult | KubeconnectError]) -> None:
        """Store the results, of which at least one is an error."""
        self.results = tuple(results)
        self.errors = tuple(each for each in self.results if isinstance(each, KubeconnectError))
        first, message = self.errors[0], "; ".join(each.message for each in self.errors)
        if len(self.results) > 1:
            count = f"{len(self.errors)} of {len(self.results)} objects were not applied"
            message = f"{count}: {message}"
        super().__init__(first.code, message, first.status, request_id=first.request_id)

    def __reduce__(self) -> tuple[type[ApplyError], tuple[object]]:
        """Return how the error is copied: from its results."""
        return type(self), (self.results,)


class Cancelled(KubeconnectError):
    """The call was cancelled, for instance because the client was closed."""


class Internal(KubeconnectError):
    """An internal error of the service or the API server."""


class UnreadableObject(KubeconnectError):
    """The object exists, but its content could not be read."""

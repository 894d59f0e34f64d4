"""What can go wrong: an exception for each of the API's reasons."""

from __future__ import annotations

import grpc

from kubeconnect.v1.status_pb2 import Status, StatusCause


class KubeconnectError(Exception):
    """A call failed; the base of all exceptions that calls raise.

    ``code`` is the gRPC code, ``message`` the words of the API server or the
    service, and ``status`` the cluster's own account of it; None where the
    error has nothing to do with the cluster (a lost connection, say).
    """

    def __init__(self, code: grpc.StatusCode, message: str, status: Status | None = None) -> None:
        """Keep the three; they can be read under their names."""
        super().__init__(code, message, status)
        self.code = code
        self.message = message
        self.status = status

    def __str__(self) -> str:
        """Return the message, or the code where there is none, and how many causes are
        missing.
        """
        text = self.message or self.code.name
        if not (omitted := self.omitted_causes):
            return text
        return f"{text} (and {omitted} more {'cause' if omitted == 1 else 'causes'})"

    @property
    def reason(self) -> str:
        """The reason in Kubernetes' words, such as "AlreadyExists"; "" if unknown."""
        return self.status.reason if self.status else ""

    @property
    def causes(self) -> tuple[StatusCause, ...]:
        """Each single cause, such as every field that a validation refused. The service
        keeps an error short: ``omitted_causes`` is how many more there are.
        """
        return tuple(self.status.causes) if self.status else ()

    @property
    def omitted_causes(self) -> int:
        """How many causes the service left out of ``causes``; 0 where these are all."""
        return self.status.omitted_causes if self.status else 0

    @property
    def retry_after_seconds(self) -> int:
        """After how many seconds to try again; 0 where nobody said."""
        return self.status.retry_after_seconds if self.status else 0


class InvalidArgument(KubeconnectError):
    """The request is malformed; the message says where."""


class Invalid(InvalidArgument):
    """A validation refused the object; ``causes`` has one entry for each field."""


class Unauthenticated(KubeconnectError):
    """There are no credentials, or they are not valid, or no longer."""


class Forbidden(KubeconnectError):
    """The cluster's RBAC refuses."""


class NotFound(KubeconnectError):
    """There is no such object, or no such resource."""


class AlreadyExists(KubeconnectError):
    """There is an object under this name."""


class Conflict(KubeconnectError):
    """The object has changed, a precondition fails, or others own the fields."""


class Expired(KubeconnectError):
    """The page token is too old: list again from the first page."""


class ResourceExhausted(KubeconnectError):
    """A limit was reached, such as the size of a message."""


class TooManyRequests(ResourceExhausted):
    """Too many, too fast: try again after ``retry_after_seconds``."""


class Unimplemented(KubeconnectError):
    """The service, or the resource, does not offer that."""


class Unavailable(KubeconnectError):
    """The service, or the API server behind it, cannot be reached."""


class DeadlineExceeded(KubeconnectError):
    """There was no answer in time. A write may have happened."""


class Cancelled(KubeconnectError):
    """The call was cancelled, for instance because the client was closed."""


class Internal(KubeconnectError):
    """The service or the API server is at fault."""


class UnreadableObject(KubeconnectError):
    """The cluster holds the object, but its content could not be read."""

"""Live Kubernetes state: get, list, watch, create, update, patch and delete.

``Client`` is for threads, ``kubeconnect.aio.AsyncClient`` for asyncio; they offer
the same.
"""

from kubeconnect.errors import (
    AlreadyExists,
    Cancelled,
    Conflict,
    DeadlineExceeded,
    Expired,
    Forbidden,
    Internal,
    Invalid,
    InvalidArgument,
    KubeconnectError,
    NotFound,
    ResourceExhausted,
    TooManyRequests,
    Unauthenticated,
    Unavailable,
    Unimplemented,
    UnreadableObject,
)
from kubeconnect.events import Event, EventType
from kubeconnect.freshness import Freshness
from kubeconnect.objects import Object, ResourceKind
from kubeconnect.sync import Client, ObjectList, Watch
from kubeconnect.v1.status_pb2 import Status, StatusCause
from kubeconnect.writes import (
    CreateResult,
    DeleteCollectionResult,
    DeleteResult,
    FieldValidation,
    PatchResult,
    PatchType,
    PropagationPolicy,
    UpdateResult,
)

__all__ = [
    "AlreadyExists",
    "Cancelled",
    "Client",
    "Conflict",
    "CreateResult",
    "DeadlineExceeded",
    "DeleteCollectionResult",
    "DeleteResult",
    "Event",
    "EventType",
    "Expired",
    "FieldValidation",
    "Forbidden",
    "Freshness",
    "Internal",
    "Invalid",
    "InvalidArgument",
    "KubeconnectError",
    "NotFound",
    "Object",
    "ObjectList",
    "PatchResult",
    "PatchType",
    "PropagationPolicy",
    "ResourceExhausted",
    "ResourceKind",
    "Status",
    "StatusCause",
    "TooManyRequests",
    "Unauthenticated",
    "Unavailable",
    "Unimplemented",
    "UnreadableObject",
    "UpdateResult",
    "Watch",
]

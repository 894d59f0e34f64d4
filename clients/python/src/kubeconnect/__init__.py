"""Live Kubernetes state: get, list, watch and patch.

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
from kubeconnect.patches import PatchResult, PatchType
from kubeconnect.sync import Client, ObjectList, Watch
from kubeconnect.v1.status_pb2 import Status, StatusCause

__all__ = [
    "AlreadyExists",
    "Cancelled",
    "Client",
    "Conflict",
    "DeadlineExceeded",
    "Event",
    "EventType",
    "Expired",
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
    "ResourceExhausted",
    "ResourceKind",
    "Status",
    "StatusCause",
    "TooManyRequests",
    "Unauthenticated",
    "Unavailable",
    "Unimplemented",
    "UnreadableObject",
    "Watch",
]

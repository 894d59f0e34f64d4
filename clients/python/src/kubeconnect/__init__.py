"""Live Kubernetes state: get, list, watch, count, logs, create, update, patch and delete.

``Client`` is for threads and ``kubeconnect.aio.AsyncClient`` for asyncio. Both have the
same methods.
"""

from kubeconnect.connection import Connection
from kubeconnect.counts import CountResult, ObjectGroup
from kubeconnect.discovery import (
    CacheState,
    FailedGroup,
    ResourceType,
    ResourceTypesResult,
    SchemaResult,
)
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
from kubeconnect.logs import LogStream
from kubeconnect.objects import Object, ResourceKind
from kubeconnect.reads import Consistency, GetResult, Source
from kubeconnect.relations import Relation, RelationType, about, owned_by, owner_of, selected_by
from kubeconnect.sync import Client, Log, ObjectList, Table, Watch, WatchMany
from kubeconnect.tables import TableColumn, TableRow
from kubeconnect.v1.status_pb2 import Status, StatusCause
from kubeconnect.watch_spec import WatchSpec
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
    "CacheState",
    "Cancelled",
    "Client",
    "Conflict",
    "Connection",
    "Consistency",
    "CountResult",
    "CreateResult",
    "DeadlineExceeded",
    "DeleteCollectionResult",
    "DeleteResult",
    "Event",
    "EventType",
    "Expired",
    "FailedGroup",
    "FieldValidation",
    "Forbidden",
    "Freshness",
    "GetResult",
    "Internal",
    "Invalid",
    "InvalidArgument",
    "KubeconnectError",
    "Log",
    "LogStream",
    "NotFound",
    "Object",
    "ObjectGroup",
    "ObjectList",
    "PatchResult",
    "PatchType",
    "PropagationPolicy",
    "Relation",
    "RelationType",
    "ResourceExhausted",
    "ResourceKind",
    "ResourceType",
    "ResourceTypesResult",
    "SchemaResult",
    "Source",
    "Status",
    "StatusCause",
    "Table",
    "TableColumn",
    "TableRow",
    "TooManyRequests",
    "Unauthenticated",
    "Unavailable",
    "Unimplemented",
    "UnreadableObject",
    "UpdateResult",
    "Watch",
    "WatchMany",
    "WatchSpec",
    "about",
    "owned_by",
    "owner_of",
    "selected_by",
]

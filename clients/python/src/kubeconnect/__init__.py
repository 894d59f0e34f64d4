"""Live Kubernetes state: get, list, watch, count, logs, create, update, patch and delete.

``Client`` is for threads and ``kubeconnect.aio.AsyncClient`` for asyncio. Both have the
same methods. ``connect`` returns a client that finds the service and the credentials. The
arguments that several calls share are described at ``Client``.

``Event``, which a watch yields, is either an ``ObjectEvent`` or a ``StreamEvent``.
"""

from kubeconnect import _transport as _transport  # isort: skip  # before grpc is imported
from kubeconnect._access import AccessCheck, AccessDecision, Identity
from kubeconnect._aggregates import Aggregate, AggregateResult, Average, Max, Min, Sum
from kubeconnect._columns import Column
from kubeconnect._connection import Connection
from kubeconnect._containers.results import CopyError, ExecResult, OutputChunk
from kubeconnect._counts import CountResult, ObjectGroup
from kubeconnect._discovery import (
    CacheState,
    FailedGroupVersion,
    ResourceType,
    ResourceTypesResult,
    SchemaResult,
)
from kubeconnect._errors import (
    AlreadyExists,
    ApplyError,
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
    WaitTimeout,
)
from kubeconnect._events import Event, EventType, ObjectEvent, StreamEvent
from kubeconnect._freshness import Freshness
from kubeconnect._joins import Join, JoinType
from kubeconnect._leases import LeadershipLost
from kubeconnect._log_lines import LineFilter, LogEvent, LogEventType, LogLine
from kubeconnect._logs import LogStream
from kubeconnect._objects import JoinedObjects, Object, Resource
from kubeconnect._pages import Page, PageChange, PageChangeType
from kubeconnect._queue_state import QueueShutDown
from kubeconnect._reads import Consistency, GetResult, Source
from kubeconnect._reconciling import ObjectKey, owner_reference
from kubeconnect._relations import Relation, RelationType, about, owned_by, owner_of, selected_by
from kubeconnect._settings import ConfigurationError
from kubeconnect._sync import (
    Client,
    ContainerSession,
    Controller,
    LeaderElector,
    LivePage,
    Log,
    LogLines,
    ObjectList,
    PortForward,
    PortStream,
    Store,
    Stores,
    Subscription,
    Table,
    Watch,
    WatchCounts,
    WatchMany,
    WorkQueue,
    connect,
)
from kubeconnect._tables import TableColumn, TableRow
from kubeconnect._version import __version__
from kubeconnect._watch_spec import WatchSpec
from kubeconnect._writes import (
    CreateResult,
    DeleteCollectionResult,
    DeleteResult,
    FieldValidation,
    PatchResult,
    PatchType,
    PropagationPolicy,
    UpdateResult,
)
from kubeconnect.v1.status_pb2 import Status, StatusCause

__all__ = [
    "AccessCheck",
    "AccessDecision",
    "Aggregate",
    "AggregateResult",
    "AlreadyExists",
    "ApplyError",
    "Average",
    "CacheState",
    "Cancelled",
    "Client",
    "Column",
    "ConfigurationError",
    "Conflict",
    "Connection",
    "Consistency",
    "ContainerSession",
    "Controller",
    "CopyError",
    "CountResult",
    "CreateResult",
    "DeadlineExceeded",
    "DeleteCollectionResult",
    "DeleteResult",
    "Event",
    "EventType",
    "ExecResult",
    "Expired",
    "FailedGroupVersion",
    "FieldValidation",
    "Forbidden",
    "Freshness",
    "GetResult",
    "Identity",
    "Internal",
    "Invalid",
    "InvalidArgument",
    "Join",
    "JoinType",
    "JoinedObjects",
    "KubeconnectError",
    "LeaderElector",
    "LeadershipLost",
    "LineFilter",
    "LivePage",
    "Log",
    "LogEvent",
    "LogEventType",
    "LogLine",
    "LogLines",
    "LogStream",
    "Max",
    "Min",
    "NotFound",
    "Object",
    "ObjectEvent",
    "ObjectGroup",
    "ObjectKey",
    "ObjectList",
    "OutputChunk",
    "Page",
    "PageChange",
    "PageChangeType",
    "PatchResult",
    "PatchType",
    "PortForward",
    "PortStream",
    "PropagationPolicy",
    "QueueShutDown",
    "Relation",
    "RelationType",
    "Resource",
    "ResourceExhausted",
    "ResourceType",
    "ResourceTypesResult",
    "SchemaResult",
    "Source",
    "Status",
    "StatusCause",
    "Store",
    "Stores",
    "StreamEvent",
    "Subscription",
    "Sum",
    "Table",
    "TableColumn",
    "TableRow",
    "TooManyRequests",
    "Unauthenticated",
    "Unavailable",
    "Unimplemented",
    "UnreadableObject",
    "UpdateResult",
    "WaitTimeout",
    "Watch",
    "WatchCounts",
    "WatchMany",
    "WatchSpec",
    "WorkQueue",
    "__version__",
    "about",
    "connect",
    "owned_by",
    "owner_of",
    "owner_reference",
    "selected_by",
]

# Tracebacks and documentation show the public names.
for _name in __all__:
    if getattr(globals()[_name], "__module__", "").startswith(f"{__name__}._"):
        globals()[_name].__module__ = __name__

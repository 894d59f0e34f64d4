"""The client for asyncio. ``kubeconnect.Client`` is the same for threads."""

from kubeconnect.aio._client import AsyncClient
from kubeconnect.aio._connect import connect
from kubeconnect.aio._container_session import AsyncContainerSession
from kubeconnect.aio._controller import AsyncController
from kubeconnect.aio._leader_elector import AsyncLeaderElector
from kubeconnect.aio._live_page import AsyncLivePage
from kubeconnect.aio._log import AsyncLog
from kubeconnect.aio._log_lines import AsyncLogLines
from kubeconnect.aio._object_list import AsyncObjectList
from kubeconnect.aio._port_forward import AsyncPortForward, AsyncPortStream
from kubeconnect.aio._store import AsyncStore
from kubeconnect.aio._stores import AsyncStores
from kubeconnect.aio._subscription import AsyncSubscription
from kubeconnect.aio._table import AsyncTable
from kubeconnect.aio._watch import AsyncWatch
from kubeconnect.aio._watch_counts import AsyncWatchCounts
from kubeconnect.aio._watch_many import AsyncWatchMany
from kubeconnect.aio._work_queue import AsyncWorkQueue

__all__ = [
    "AsyncClient",
    "AsyncContainerSession",
    "AsyncController",
    "AsyncLeaderElector",
    "AsyncLivePage",
    "AsyncLog",
    "AsyncLogLines",
    "AsyncObjectList",
    "AsyncPortForward",
    "AsyncPortStream",
    "AsyncStore",
    "AsyncStores",
    "AsyncSubscription",
    "AsyncTable",
    "AsyncWatch",
    "AsyncWatchCounts",
    "AsyncWatchMany",
    "AsyncWorkQueue",
    "connect",
]

# Tracebacks and documentation show the public names.
for _name in __all__:
    globals()[_name].__module__ = __name__

"""The client for asyncio. ``kubeconnect.Client`` is the same for threads."""

from kubeconnect.aio.client import AsyncClient
from kubeconnect.aio.log import AsyncLog
from kubeconnect.aio.object_list import AsyncObjectList
from kubeconnect.aio.table import AsyncTable
from kubeconnect.aio.watch import AsyncWatch
from kubeconnect.aio.watch_many import AsyncWatchMany

__all__ = [
    "AsyncClient",
    "AsyncLog",
    "AsyncObjectList",
    "AsyncTable",
    "AsyncWatch",
    "AsyncWatchMany",
]

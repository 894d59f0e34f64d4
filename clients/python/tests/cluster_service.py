"""A fake service that stores objects and serves watches of them."""

from __future__ import annotations

import json
import queue
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import grpc

from kubeconnect.v1 import object_pb2, watch_pb2
from tests.fake import Failure, event, serve
from tests.lease_service import LeaseService

CRONTABS = object_pb2.Resource(
    group="stable.example.com", version="v1", kind="CronTab", plural="crontabs", namespaced=True
)
JOBS = object_pb2.Resource(group="batch", version="v1", kind="Job", plural="jobs", namespaced=True)
SECRETS = object_pb2.Resource(version="v1", kind="Secret", plural="secrets", namespaced=True)
CLUSTERS = object_pb2.Resource(
    group="stable.example.com", version="v1", kind="Cluster", plural="clusters", namespaced=False
)
WEBSITES = object_pb2.Resource(
    group="stable.example.com", version="v1", kind="Website", plural="websites", namespaced=True
)
DEPLOYMENTS = object_pb2.Resource(
    group="apps", version="v1", kind="Deployment", plural="deployments", namespaced=True
)
RESOURCES = {
    each.plural: each for each in (CRONTABS, JOBS, SECRETS, CLUSTERS, WEBSITES, DEPLOYMENTS)
}

SHORT_NAMES = {"ct": "crontabs"}

Change = tuple[str, watch_pb2.Event]


class Selection:
    """One watch of a stream."""

    def __init__(self, index: int, watch: watch_pb2.WatchSpec) -> None:
        self.index = index
        name = watch.resource.partition(".")[0]
        self.plural = SHORT_NAMES.get(name, name)
        self.namespace = watch.namespace

    def covers(self, obj: object_pb2.Object) -> bool:
        return self.namespace in ("", obj.namespace)


@dataclass
class ClusterService(LeaseService):
    """Stores objects by resource, and sends each change to all watches. Watches select by
    resource and namespace only.
    """

    stored: dict[str, dict[tuple[str, str], object_pb2.Object]] = field(default_factory=dict)
    latest: int = 100
    streams: list[queue.SimpleQueue[Change | Failure | None]] = field(default_factory=list)
    guard: threading.Lock = field(default_factory=threading.Lock)
    watch_failure: Failure | None = None
    silent: bool = False  # whether streams begin with nothing

    def store(
        self,
        plural: str,
        name: str,
        *,
        namespace: str = "demo",
        uid: str = "",
        owners: tuple[dict[str, Any], ...] = (),
        finalizers: tuple[str, ...] = (),
        deleting: bool = False,
        **content: Any,
    ) -> None:
        """Create or replace an object."""
        with self.guard:
            self.latest += 1
            key = (namespace, name)
            uid = uid or f"uid-{name}"
            metadata = {
                "name": name,
                "namespace": namespace,
                "uid": uid,
                "resourceVersion": str(self.latest),
                "ownerReferences": list(owners),
                "finalizers": list(finalizers),
            }
            if deleting:
                metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
            stored = object_pb2.Object(
                namespace=namespace,
                name=name,
                uid=uid,
                resource_version=str(self.latest),
                json=json.dumps({"metadata": metadata, **content}).encode(),
            )
            objects = self.stored.setdefault(plural, {})
            type = watch_pb2.EVENT_TYPE_MODIFIED if key in objects else watch_pb2.EVENT_TYPE_ADDED
            objects[key] = stored
            self._send((plural, event(type, stored, str(self.latest))))

    def remove(self, plural: str, name: str, *, namespace: str = "demo") -> None:
        with self.guard:
            self.latest += 1
            removed = self.stored[plural].pop((namespace, name))
            deleted = event(watch_pb2.EVENT_TYPE_DELETED, removed, str(self.latest))
            self._send((plural, deleted))

    def end_watches(self, failure: Failure) -> None:
        """End all streams with an error."""
        with self.guard:
            self._send(failure)

    def _send(self, change: Change | Failure | None) -> None:
        for stream in self.streams:
            stream.put(change)

    def WatchMany(
        self, request: watch_pb2.WatchManyRequest, context: grpc.ServicerContext
    ) -> Iterator[watch_pb2.WatchManyResponse]:
        self._begin(request, context)
        if self.watch_failure:
            self.watch_failure.abort(context)
        stream: queue.SimpleQueue[Change | Failure | None] = queue.SimpleQueue()
        if not context.add_callback(lambda: stream.put(None)):
            return
        watches = [Selection(*each) for each in enumerate(request.watches)]
        with self.guard:
            snapshots = [self._snapshot(each) for each in watches]
            self.streams.append(stream)
        if not self.silent:
            yield from snapshots
        while (change := stream.get()) is not None:
            if isinstance(change, Failure):
                change.abort(context)
            plural, sent = change
            for each in watches:
                if each.plural == plural and each.covers(sent.object):
                    yield self._response(each, [sent])

    def _snapshot(self, watch: Selection) -> watch_pb2.WatchManyResponse:
        version = str(self.latest)
        added = [
            event(watch_pb2.EVENT_TYPE_ADDED, each, each.resource_version)
            for each in self.stored.get(watch.plural, {}).values()
            if watch.covers(each)
        ]
        reset = event(watch_pb2.EVENT_TYPE_RESET, None, "")
        synced = event(watch_pb2.EVENT_TYPE_SYNCED, None, version)
        return self._response(watch, [reset, *added, synced])

    def _response(
        self, watch: Selection, events: list[watch_pb2.Event]
    ) -> watch_pb2.WatchManyResponse:
        return watch_pb2.WatchManyResponse(
            watch_index=watch.index,
            response=watch_pb2.WatchResponse(resource=RESOURCES[watch.plural], events=events),
            resume_token=f"t{self.latest}",
        )


def owner(name: str, *, controller: bool = True, **fields: str) -> dict[str, Any]:
    """Return an owner reference to a CronTab."""
    reference = {
        "apiVersion": "stable.example.com/v1",
        "kind": "CronTab",
        "name": name,
        "uid": f"uid-{name}",
        "controller": controller,
    }
    return {**reference, **fields}


@contextmanager
def serve_cluster() -> Iterator[ClusterService]:
    service = ClusterService()
    with serve(service=service):
        yield service

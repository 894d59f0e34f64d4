"""One watch: its position in the history, and the next response."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any, TypeAlias

from kubeconnect._errors import NotFound
from kubeconnect.testing._cluster import Change, Cluster
from kubeconnect.testing._contents import encode
from kubeconnect.testing._failures import bad_request, failure
from kubeconnect.testing._selections import Selection
from kubeconnect.v1 import consistency_pb2, object_pb2, watch_pb2

Position: TypeAlias = tuple[int, int]
"""An epoch, and a version within it."""


class Watcher:
    """Follows the changes of a selection. Guarded by the lock of the cluster."""

    def __init__(
        self,
        cluster: Cluster,
        selection: Selection,
        encoding: int,
        heartbeat: float,
        position: Position | None,
    ) -> None:
        """Begin after a position; None to begin with a snapshot."""
        self._cluster = cluster
        self._selection = selection
        self._encoding = encoding
        self._heartbeat = heartbeat
        self._position = position
        self._announced = False
        self._sent_at = 0.0
        self._was_paused: bool | None = None

    @property
    def position(self) -> Position | None:
        """The position up to which everything was returned; None if there is none."""
        return self._position

    @property
    def due(self) -> float:
        """The time, by the monotonic clock, of the next bookmark."""
        return self._sent_at + self._heartbeat

    def next(self) -> watch_pb2.WatchResponse | None:
        """Return what there is to send now; None if there is nothing. Raises NotFound if the
        resource is not served any more.
        """
        resource = self._selection.resource
        visible = self._cluster.visible
        if self._position is None or self._position[0] != self._cluster.epoch:
            events = list(self._snapshot(visible))
            self._announced = False
        else:
            changes = self._cluster.changes(resource, self._position[1], visible)
            events = [each for change in changes for each in self._events(change)]
        self._position = (self._cluster.epoch, visible)
        if not events and not self._cluster.registry.serves(resource):
            message = f"the fake service no longer serves {resource.full_name}"
            raise failure(NotFound, message, resource=resource)
        if not events and not self._is_due():
            return None
        return self._response(events or [self._mark(watch_pb2.EVENT_TYPE_BOOKMARK, visible)])

    def _is_due(self) -> bool:
        paused = self._cluster.paused_at is not None
        return not self._announced or time.monotonic() >= self.due or paused != self._was_paused

    def _response(self, events: list[watch_pb2.Event]) -> watch_pb2.WatchResponse:
        response = watch_pb2.WatchResponse(events=events)
        if not self._announced:
            response.resource.CopyFrom(self._selection.shown())
            response.source = consistency_pb2.SOURCE_CACHE
            response.warnings.extend(self._selection.warnings)
        if events[-1].type in (watch_pb2.EVENT_TYPE_SYNCED, watch_pb2.EVENT_TYPE_BOOKMARK):
            response.freshness.CopyFrom(freshness_of(self._cluster))
            self._was_paused = self._cluster.paused_at is not None
        self._announced = True
        self._sent_at = time.monotonic()
        return response

    def _snapshot(self, visible: int) -> Iterator[watch_pb2.Event]:
        objects = self._cluster.objects(self._selection.resource, visible)
        yield self._mark(watch_pb2.EVENT_TYPE_RESET, visible)
        for content in self._selection.select(objects):
            version = content["metadata"]["resourceVersion"]
            yield self._event(watch_pb2.EVENT_TYPE_ADDED, content, version)
        yield self._mark(watch_pb2.EVENT_TYPE_SYNCED, visible)

    def _events(self, change: Change) -> Iterator[watch_pb2.Event]:
        """Return the events of a change: of two objects if it replaced one by another."""
        before, after = change.before, change.after
        matched, matches = self._selection.matches(before), self._selection.matches(after)
        replaced = before and after and before["metadata"]["uid"] != after["metadata"]["uid"]
        if matched and before and (not matches or replaced):
            yield self._event(watch_pb2.EVENT_TYPE_DELETED, before, str(change.version))
        if matches and after and (not matched or replaced):
            yield self._event(watch_pb2.EVENT_TYPE_ADDED, after, str(change.version))
        elif matches and before and after and not self._is_equal(before, after):
            yield self._event(watch_pb2.EVENT_TYPE_MODIFIED, after, str(change.version))

    def _is_equal(self, before: dict[str, Any], after: dict[str, Any]) -> bool:
        return self._selection.view(before) == self._selection.view(after)

    def _event(
        self, type: watch_pb2.EventType, content: dict[str, Any], version: str
    ) -> watch_pb2.Event:
        message = encode(
            content, self._selection.view(content), self._encoding, self._selection.resource
        )
        return watch_pb2.Event(type=type, object=message, resource_version=version)

    def _mark(self, type: watch_pb2.EventType, version: int) -> watch_pb2.Event:
        return watch_pb2.Event(type=type, resource_version=str(version))


def freshness_of(cluster: Cluster) -> consistency_pb2.Freshness:
    """Return how current the cache of the service is."""
    freshness = consistency_pb2.Freshness(stale=cluster.paused_at is not None)
    if freshness.stale:
        freshness.last_contact_time.FromNanoseconds(int(cluster.paused_since * 1e9))
    else:
        freshness.last_contact_time.GetCurrentTime()
    return freshness


def check_patches(watch: watch_pb2.WatchRequest | watch_pb2.WatchSpec) -> None:
    """Raise InvalidArgument for a format of patches that the encoding does not have."""
    json = watch.encoding == object_pb2.ENCODING_JSON
    protobuf = watch.encoding == object_pb2.ENCODING_PROTOBUF
    if (watch.patch_format == watch_pb2.PATCH_FORMAT_JSON and not json) or (
        watch.patch_format == watch_pb2.PATCH_FORMAT_MERGE and protobuf
    ):
        raise bad_request("patch_format requires ENCODING_JSON, or for MERGE ENCODING_STRUCT")

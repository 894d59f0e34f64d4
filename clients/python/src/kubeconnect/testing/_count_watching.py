"""One watch of counts: what the client has, and the next response."""

from __future__ import annotations

import time

from kubeconnect.testing._cluster import Cluster
from kubeconnect.testing._counting import Counting, Values
from kubeconnect.testing._failures import bad_request
from kubeconnect.testing._selections import Selection
from kubeconnect.testing._watching import freshness_of
from kubeconnect.v1 import consistency_pb2, read_pb2, watch_counts_pb2

_INTERVALS = (100_000_000, 60_000_000_000)


class CountWatcher:
    """Follows the counts of a selection. Guarded by the lock of the cluster."""

    def __init__(
        self,
        cluster: Cluster,
        selection: Selection,
        request: watch_counts_pb2.WatchCountsRequest,
        heartbeat: float,
    ) -> None:
        """Begin with all groups. Changes are returned without a minimum interval. Raises
        InvalidArgument for what cannot be counted.
        """
        nanoseconds = request.min_interval.ToNanoseconds()
        if request.HasField("min_interval") and not _INTERVALS[0] <= nanoseconds <= _INTERVALS[1]:
            raise bad_request("invalid min_interval: give 100 ms to 60 s")
        self._cluster = cluster
        self._selection = selection
        self._counting = Counting(request)
        self._heartbeat = heartbeat
        self._epoch: int | None = None  # of the last response
        self._groups: dict[Values, read_pb2.ObjectGroup] = {}
        self._sent = watch_counts_pb2.WatchCountsResponse()
        self._sent_at = 0.0

    @property
    def due(self) -> float:
        """The time, by the monotonic clock, of the next response without changes."""
        return self._sent_at + self._heartbeat

    def next(self) -> watch_counts_pb2.WatchCountsResponse | None:
        """Return what there is to send now; None if there is nothing."""
        visible = self._cluster.visible
        objects = self._cluster.objects(self._selection.resource, visible)
        selected = self._selection.select(objects)
        groups = self._counting.groups(selected)
        reset = self._epoch != self._cluster.epoch
        response = watch_counts_pb2.WatchCountsResponse(
            reset=reset,
            groups=self._changed({} if reset else self._groups, groups),
            total_count=len(selected),
            aggregates=self._counting.aggregates.of(selected),
            resource_version=str(visible),
            freshness=freshness_of(self._cluster),
        )
        if reset:
            response.resource.CopyFrom(self._selection.shown())
            response.source = consistency_pb2.SOURCE_CACHE
            response.warnings.extend(self._selection.warnings)
        if not self._is_worth(response):
            return None
        self._epoch, self._groups, self._sent = self._cluster.epoch, groups, response
        self._sent_at = time.monotonic()
        return response

    def _is_worth(self, response: watch_counts_pb2.WatchCountsResponse) -> bool:
        """Return whether there is a change, or it is time for a response without one."""
        return (
            response.reset
            or bool(response.groups)
            or response.total_count != self._sent.total_count
            or list(response.aggregates) != list(self._sent.aggregates)
            or response.freshness.stale != self._sent.freshness.stale
            or time.monotonic() >= self.due
        )

    def _changed(
        self, before: dict[Values, read_pb2.ObjectGroup], after: dict[Values, read_pb2.ObjectGroup]
    ) -> list[read_pb2.ObjectGroup]:
        changed = [group for values, group in after.items() if before.get(values) != group]
        gone = [
            read_pb2.ObjectGroup(values=group.values, count=0)
            for values, group in before.items()
            if values not in after
        ]
        return changed + gone

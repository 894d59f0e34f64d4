"""The state of a watch of counts over all its streams, without any I/O."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime
from typing import Any, TypeAlias

from kubeconnect._aggregates import results_of
from kubeconnect._counts import CountResult, ObjectGroup, Scalar
from kubeconnect._errors import DeadlineExceeded, KubeconnectError
from kubeconnect._freshness import Freshness
from kubeconnect._stream_reader import StreamReader
from kubeconnect._value_order import sort_key
from kubeconnect._values import plain
from kubeconnect._watch_session import (
    Session,
    Watched,
    now,
    selection,
)
from kubeconnect.v1 import watch_counts_pb2 as pb
from kubeconnect.v1.watch_pb2 import WatchRequest

_Key: TypeAlias = tuple[tuple[type, Scalar], ...]
"""The values of a group with their types, because True equals 1."""


class CountsReader(StreamReader):
    """The counts after each message, over all streams. Not safe for concurrent use."""

    def __init__(self, group_by: tuple[str, ...], names: tuple[str, ...]) -> None:
        """Begin before the first message. ``names`` are those of the aggregates."""
        super().__init__()
        self._group_by = group_by
        self._names = names
        self._groups: dict[_Key, ObjectGroup] = {}
        self._ordered: tuple[ObjectGroup, ...] = ()

    def read(self, response: pb.WatchCountsResponse) -> CountResult | None:
        """Return the counts after a message; None for a message without counts."""
        self.read_state(response)
        if not (response.reset or response.resource_version):
            return None
        self._update_groups(response)
        return CountResult(
            resource=self.resource,
            total=response.total_count,
            aggregates=results_of(self._names, response.aggregates),
            group_by=self._group_by,
            groups=self._ordered,
            remaining_group_count=0,
            resource_version=response.resource_version,
            freshness=Freshness.from_message(response.freshness),
            source=self.source,
            warnings=self.warnings,
            namespaces=self.namespaces,
        )

    def _update_groups(self, response: pb.WatchCountsResponse) -> None:
        if response.reset:
            self._groups.clear()
        for message in response.groups:
            key = tuple((type(value), value) for value in map(plain, message.values))
            if message.count:
                self._groups[key] = ObjectGroup.from_message(message, self._names)
            else:
                self._groups.pop(key, None)
        if response.reset or response.groups:
            self._ordered = tuple(sorted(self._groups.values(), key=_place))


def _place(group: ObjectGroup) -> tuple[Any, ...]:
    """Return the key of the order of groups: the largest first, then by their values."""
    return -group.count, [sort_key(value) for value in group.values], list(map(str, group.values))


class CountsSession(Session[pb.WatchCountsRequest, pb.WatchCountsResponse, CountResult]):
    """The state of a watch of counts. It has no resume token: a stream begins with all groups."""

    def __init__(
        self,
        request: pb.WatchCountsRequest,
        names: tuple[str, ...],
        *,
        reconnect: bool = True,
        renews: bool = False,
        retry_budget: float = 0.0,
        jitter: Callable[[], float] = random.random,
        clock: Callable[[], datetime] = now,
    ) -> None:
        """Begin with the caller's request. ``names`` are those of the aggregates."""
        super().__init__(
            "",
            reconnect=reconnect,
            renews=renews,
            retry_budget=retry_budget,
            jitter=jitter,
            clock=clock,
        )
        self._request = request
        self._reader = CountsReader(tuple(request.group_by), names)
        self._version = request.min_resource_version
        self._counts: CountResult | None = None  # as last returned
        self._next: CountResult | None = None

    @property
    def request(self) -> pb.WatchCountsRequest:
        """The request to send. A later stream begins at the version of the last counts, so that
        the counts of another replica are not older.
        """
        request = pb.WatchCountsRequest()
        request.CopyFrom(self._request)
        request.min_resource_version = self._version
        return request

    def delay_after(self, error: KubeconnectError) -> float | None:
        """Return the number of seconds after which to call again; None if the error is final.

        If no replica reaches the version of the last counts in time, which happens after a backup
        of the cluster was restored, the next stream begins at any version.
        """
        if self._received and isinstance(error, DeadlineExceeded):
            self._version = ""
        return super().delay_after(error)

    @property
    def selection(self) -> str:
        """What is counted: "counts of pods demo"."""
        return f"counts of {selection(self._watched())}"

    def _watched(self) -> Watched:
        return WatchRequest(resource=self._request.resource, namespace=self._request.namespace)

    @property
    def reader(self) -> StreamReader:
        """What the service has reported of the stream."""
        return self._reader

    def receive(self, response: pb.WatchCountsResponse) -> None:
        """Queue the counts after a message for ``take``, if they have changed."""
        counts = self._reader.read(response)
        self._note_received()
        if counts is None:
            return
        self._version = counts.resource_version or self._version
        self._reset_failures()
        if self._counts is None and not counts.total:
            self._empty.append(self._watched())
        if self._counts is None or _shown(counts) != _shown(self._counts):
            self._next = self._counts = counts

    def take(self) -> CountResult | None:
        """Return the counts of the last message; None if they were taken, or have not changed."""
        counts, self._next = self._next, None
        return counts

    def _readers(self) -> Iterable[StreamReader]:
        return (self._reader,)


def _shown(counts: CountResult) -> CountResult:
    """Return the counts without what changes with each message."""
    freshness = Freshness(counts.freshness.stale, last_contact_time=None)
    return replace(counts, resource_version="", freshness=freshness)

"""What the messages of a stream report about the stream itself."""

from __future__ import annotations

from dataclasses import replace

from kubeconnect._freshness import Freshness
from kubeconnect._objects import Resource
from kubeconnect._reads import Source
from kubeconnect.v1 import watch_counts_pb2, watch_pb2


class StreamReader:
    """What was reported over all streams of a watch. Not safe for concurrent use."""

    def __init__(self) -> None:
        """Begin before the first message."""
        self._resource = Resource.from_message(watch_pb2.WatchResponse().resource)
        self._freshness: Freshness | None = None
        self._source: Source | None = None
        self._warnings: tuple[str, ...] = ()  # sent with the resource
        self._later_warnings: tuple[str, ...] = ()  # sent last since then
        self._namespaces: tuple[str, ...] = ()
        self._received = False

    @property
    def resource(self) -> Resource:
        """The resource and kind of the objects, as last reported."""
        return self._resource

    @property
    def freshness(self) -> Freshness | None:
        """The freshness that the service last reported; None before the first report. It is
        stale from the loss of a stream until the next report.
        """
        return self._freshness

    @property
    def source(self) -> Source | None:
        """Where the objects are read, as last reported; None before the first report."""
        return self._source

    @property
    def warnings(self) -> tuple[str, ...]:
        """The human-readable warnings: those sent with the resource, and the last ones since."""
        return self._warnings + self._later_warnings

    @property
    def namespaces(self) -> tuple[str, ...]:
        """The namespaces that the stream covers, as last sent; empty for all."""
        return self._namespaces

    def mark_lost(self) -> None:
        """Mark the freshness as stale, because the stream was lost."""
        if self._freshness is not None:
            self._freshness = replace(self._freshness, stale=True)
        elif self._received:
            self._freshness = Freshness(stale=True, last_contact_time=None)

    def read_state(
        self, response: watch_pb2.WatchResponse | watch_counts_pb2.WatchCountsResponse
    ) -> None:
        """Read what a message reports."""
        self._received = True
        self._read_coverage(response)
        if response.HasField("resource"):
            self._resource = Resource.from_message(response.resource)
            self._source = Source.from_message(response.source)
        if response.HasField("freshness"):
            self._freshness = Freshness.from_message(response.freshness)

    def _read_coverage(
        self, response: watch_pb2.WatchResponse | watch_counts_pb2.WatchCountsResponse
    ) -> None:
        """Read the warnings and namespaces. A response with the resource has all of them. Any
        other response may have changed ones, which replace the changed warnings of an
        earlier response, so that the number of warnings is bounded.
        """
        warnings, namespaces = tuple(response.warnings), tuple(response.namespaces)
        if response.HasField("resource"):
            self._warnings, self._later_warnings, self._namespaces = warnings, (), namespaces
            return
        self._later_warnings = warnings or self._later_warnings
        self._namespaces = namespaces or self._namespaces

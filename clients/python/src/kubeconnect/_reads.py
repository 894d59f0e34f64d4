"""Parameters and results of reads."""

from __future__ import annotations

import enum
import logging
from collections.abc import Iterable
from typing import Literal, TypeAlias

from kubeconnect._choices import Choice
from kubeconnect._columns import Column, Fields, several
from kubeconnect._freshness import Freshness
from kubeconnect._objects import Object, Resource
from kubeconnect.v1 import consistency_pb2, read_pb2

_logger = logging.getLogger("kubeconnect")


class Consistency(Choice):
    """How current a read must be. The strings are accepted too: ``consistency="latest"``."""

    CACHED = "cached", consistency_pb2.CONSISTENCY_CACHED
    """From the cache, which is usually milliseconds older than the cluster."""
    LATEST = "latest", consistency_pb2.CONSISTENCY_LATEST
    """As of the time of the call: from the API server, or for a long list from the cache when the
    API server has confirmed that it is current. Slower, and adds load to the API server. To read
    your own write, prefer ``min_resource_version``."""


ConsistencyLike: TypeAlias = Consistency | Literal["cached", "latest"]


class Source(enum.Enum):
    """Where a response was read."""

    CACHE = consistency_pb2.SOURCE_CACHE
    """From the cache."""
    API_SERVER = consistency_pb2.SOURCE_API_SERVER
    """From the API server: for LATEST unless the list is long, for subresources, and for resources
    that are not cached."""

    @classmethod
    def from_message(cls, message: consistency_pb2.Source) -> Source | None:
        """Return the source for the API's value; None if it is unspecified or unknown."""
        return _SOURCES.get(message)


_SOURCES: dict[int, Source] = {source.value: source for source in Source}


class GetResult(Object):
    """The result of a get: the object, with where it was read and how current it is.

    ``freshness`` is how current the cache was. ``source`` is where the object was read; None if the
    service did not report it.
    """

    __slots__ = ("freshness", "source")

    def __init__(self, message: read_pb2.GetResponse) -> None:
        """Create the result from the API's message."""
        super().__init__(message.object, Resource.from_message(message.resource))
        self.freshness = Freshness.from_message(message.freshness)
        self.source = Source.from_message(message.source)


def warn_if_empty(resource: str, filter: str | None, count: int, warnings: Iterable[str]) -> None:
    """Log why a filter has left out all objects: a mistyped field gives an empty result, which
    looks as if there were no such objects.
    """
    reasons = "; ".join(warnings)
    if filter and not count and reasons:
        # A program that shows the warnings of results itself can drop the record.
        _logger.warning("no %s match: %s", resource, reasons, extra={"of_result": True})


def order(order_by: str | None) -> str | None:
    """Return the order to send. Raises ValueError for the notation of other APIs, which would be
    the path of a field that no object has.
    """
    for each in order_by.split(",") if isinstance(order_by, str) else ():
        if (path := each.strip()).startswith(("-", "+")):
            suggestion = f"{path[1:]} desc" if path[0] == "-" else path[1:]
            raise ValueError(f'order_by: use "{suggestion}" in place of "{path}"')
    return order_by


def paths(fields: Fields | None) -> Iterable[str] | None:
    """Return the paths to send; None for all. Raises TypeError for a single str, because its
    characters would be sent as paths.
    """
    if fields is None:
        return None
    return [each.path if isinstance(each, Column) else each for each in several(fields)]

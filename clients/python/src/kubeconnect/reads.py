"""How something is read, and where the answer comes from."""

from __future__ import annotations

import enum
from collections.abc import Iterable

from kubeconnect.freshness import Freshness
from kubeconnect.objects import Object, ResourceKind
from kubeconnect.v1 import resource_service_pb2 as pb


class Consistency(enum.Enum):
    """How current a read must be."""

    CACHED = pb.CONSISTENCY_CACHED
    """From memory: what the cluster held a moment ago, usually milliseconds."""
    LATEST = pb.CONSISTENCY_LATEST
    """From the API server, as it is at the time of the call. Slower, and work for the API
    server: to see your own write, ``min_resource_version`` is the better way."""


class Source(enum.Enum):
    """Where an answer comes from."""

    CACHE = pb.SOURCE_CACHE
    """From memory."""
    API_SERVER = pb.SOURCE_API_SERVER
    """From the API server: for LATEST, for a subresource, and for what is not cached."""

    @classmethod
    def from_message(cls, message: pb.Source) -> Source | None:
        """Read the API's value; None if it is not told, or not known here."""
        return _SOURCES.get(message)


_SOURCES: dict[int, Source] = {source.value: source for source in Source}


class GetResult(Object):
    """One object as it was read.

    ``source`` says where, None if that is not told, and ``freshness`` how current it is.
    """

    __slots__ = ("freshness", "source")

    def __init__(self, message: pb.GetResponse) -> None:
        """Read the API's message."""
        super().__init__(message.object, ResourceKind.from_message(message.kind))
        self.freshness = Freshness.from_message(message.freshness)
        self.source = Source.from_message(message.source)


def paths(fields: Iterable[str]) -> Iterable[str]:
    """Return the paths to send. Raises TypeError for one str, whose letters would be sent."""
    if isinstance(fields, str):
        raise TypeError(f"paths are a list of str, such as [{fields!r}]")
    return fields

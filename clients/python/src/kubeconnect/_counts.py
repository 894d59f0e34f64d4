"""Counts of objects."""

from __future__ import annotations

from dataclasses import dataclass

from kubeconnect._freshness import Freshness
from kubeconnect._objects import Resource
from kubeconnect._reads import Source
from kubeconnect._values import plain
from kubeconnect.v1 import read_pb2 as pb


@dataclass(frozen=True)
class ObjectGroup:
    """A group of objects with the same values."""

    values: tuple[str | int | float | bool | None, ...]
    """One value for each path of ``group_by``; None if the objects have none."""
    count: int
    """The number of objects in the group."""


@dataclass(frozen=True)
class CountResult:
    """The number of objects that match a selection."""

    resource: Resource
    """The resource and kind of the counted objects."""
    total: int
    """The number of objects that match."""
    groups: tuple[ObjectGroup, ...]
    """The groups: the largest first, groups of equal size in order of their values."""
    remaining_group_count: int
    """The number of groups that were left out because there were more than ``max_groups``."""
    resource_version: str
    """The resource version of the count; an opaque string."""
    freshness: Freshness
    """How current the count is."""
    source: Source | None
    """Where the objects were counted; None if the service did not report it."""
    warnings: tuple[str, ...]
    """Human-readable warnings: that only some namespaces were counted, and for how many
    objects the filter has no value, and why."""
    namespaces: tuple[str, ...]
    """The namespaces that were counted, if all were requested and the caller is not allowed
    to list all of them; empty if the count is complete."""

    @classmethod
    def from_message(cls, message: pb.CountResponse) -> CountResult:
        """Return the result for the API's message."""
        return cls(
            resource=Resource.from_message(message.resource),
            total=message.total_count,
            groups=tuple(
                ObjectGroup(tuple(map(plain, group.values)), group.count)
                for group in message.groups
            ),
            remaining_group_count=message.remaining_group_count,
            resource_version=message.resource_version,
            freshness=Freshness.from_message(message.freshness),
            source=Source.from_message(message.source),
            warnings=tuple(message.warnings),
            namespaces=tuple(message.namespaces),
        )

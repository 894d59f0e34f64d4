"""How many objects there are."""

from __future__ import annotations

from dataclasses import dataclass

from kubeconnect.freshness import Freshness
from kubeconnect.objects import ResourceKind
from kubeconnect.reads import Source
from kubeconnect.v1 import resource_service_pb2 as pb
from kubeconnect.values import plain


@dataclass(frozen=True)
class ObjectGroup:
    """A number of objects that have the same values."""

    values: tuple[str | int | float | bool | None, ...]
    """One for each path of ``group_by``; None where there is none."""
    count: int
    """How many objects have them."""


@dataclass(frozen=True)
class CountResult:
    """How many objects match a selection."""

    kind: ResourceKind
    """What was counted."""
    total: int
    """How many objects match."""
    groups: tuple[ObjectGroup, ...]
    """How many have which values: the largest groups first, and those of one size in order
    of their values."""
    remaining_groups: int
    """How many groups were left out, for there were more than ``max_groups``."""
    resource_version: str
    """The version at which they were counted; an opaque string."""
    freshness: Freshness
    """How current that was."""
    source: Source | None
    """Where they were counted; None if not told."""
    warnings: tuple[str, ...]
    """For people: that only some namespaces were counted, and for how many objects the
    filter has no value, and why."""
    namespaces: tuple[str, ...]
    """The namespaces that were counted, where the caller asked for all and may not list all
    of them; empty where the count is complete."""

    @classmethod
    def from_message(cls, message: pb.CountObjectsResponse) -> CountResult:
        """Read the API's message."""
        return cls(
            kind=ResourceKind.from_message(message.kind),
            total=message.total,
            groups=tuple(
                ObjectGroup(tuple(map(plain, group.values)), group.count)
                for group in message.groups
            ),
            remaining_groups=message.remaining_groups,
            resource_version=message.resource_version,
            freshness=Freshness.from_message(message.freshness),
            source=Source.from_message(message.source),
            warnings=tuple(message.warnings),
            namespaces=tuple(message.namespaces),
        )

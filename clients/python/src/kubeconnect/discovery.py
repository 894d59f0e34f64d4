"""What the cluster serves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kubeconnect.freshness import Freshness
from kubeconnect.objects import ResourceKind
from kubeconnect.v1 import discovery_service_pb2 as pb
from kubeconnect.values import plain_dict


@dataclass(frozen=True)
class CacheState:
    """The state of the service's cache of one resource."""

    started: bool
    """Whether there is one: it starts at the first read, and ends when nobody has used it
    for a while."""
    synced: bool
    """Whether it holds a whole snapshot."""
    objects: int
    """How many objects it holds."""
    bytes: int
    """How many bytes they take in memory, roughly."""
    resource_version: str
    """The version that it has reached; an opaque string."""
    freshness: Freshness
    """How current it is."""

    @classmethod
    def from_message(cls, message: pb.CacheState) -> CacheState:
        """Read the API's message."""
        return cls(
            message.started,
            message.synced,
            message.objects,
            message.bytes,
            message.resource_version,
            Freshness.from_message(message.freshness),
        )


@dataclass(frozen=True)
class ResourceType:
    """A resource that the cluster serves."""

    kind: ResourceKind
    """Its names, in the version that the cluster prefers. All else is about that version."""
    versions: tuple[str, ...]
    """All versions that it is served in, the preferred one first."""
    singular: str
    """The name of one object, such as "pod"."""
    short_names: tuple[str, ...]
    """Short names, such as "po"."""
    categories: tuple[str, ...]
    """Categories, such as "all"."""
    verbs: tuple[str, ...]
    """What can be done with it, in the API server's words: "get", "list", "watch"."""
    subresources: tuple[str, ...]
    """Its subresources, such as "status", in order."""
    cache: CacheState | None
    """The state of its cache; None while there is none, and for callers who may not list
    the resource in all namespaces."""

    @classmethod
    def from_message(cls, message: pb.ResourceType) -> ResourceType:
        """Read the API's message."""
        return cls(
            kind=ResourceKind.from_message(message.kind),
            versions=tuple(message.versions),
            singular=message.singular,
            short_names=tuple(message.short_names),
            categories=tuple(message.categories),
            verbs=tuple(message.verbs),
            subresources=tuple(message.subresources),
            cache=CacheState.from_message(message.cache) if message.HasField("cache") else None,
        )


@dataclass(frozen=True)
class FailedGroup:
    """One version of an API group whose resources are not known."""

    group: str
    """The API group."""
    version: str
    """The API version."""
    message: str
    """Why, for people."""


@dataclass(frozen=True)
class ResourceTypesResult:
    """What the cluster serves."""

    types: tuple[ResourceType, ...]
    """The resources in order of group and name, each once, however many versions it has."""
    failed_groups: tuple[FailedGroup, ...]
    """What could not be found out: the resources of these are missing."""

    @classmethod
    def from_message(cls, message: pb.ListResourceTypesResponse) -> ResourceTypesResult:
        """Read the API's message."""
        return cls(
            tuple(map(ResourceType.from_message, message.resource_types)),
            tuple(
                FailedGroup(each.group, each.version, each.message)
                for each in message.failed_groups
            ),
        )


@dataclass(frozen=True)
class SchemaResult:
    """The schema of one kind."""

    kind: ResourceKind
    """What the schema describes."""
    schema: dict[str, Any]
    """The OpenAPI v3 schema. What it refers to lies beside it, where each "$ref" says:
    "#/components/schemas/NAME"."""

    @classmethod
    def from_message(cls, message: pb.GetSchemaResponse) -> SchemaResult:
        """Read the API's message."""
        return cls(ResourceKind.from_message(message.kind), plain_dict(message.schema))

"""The resources that the cluster serves, and their schemas."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kubeconnect._freshness import Freshness
from kubeconnect._objects import Resource
from kubeconnect._values import plain_dict
from kubeconnect.v1 import discovery_service_pb2 as pb


@dataclass(frozen=True)
class CacheState:
    """The state of the service's cache of one resource."""

    running: bool
    """Whether the cache exists. It starts at the first read, and stops when it has been
    unused for a while."""
    synced: bool
    """Whether the cache has a complete snapshot."""
    object_count: int
    """The number of cached objects."""
    size_bytes: int
    """The approximate size of the objects in memory, in bytes."""
    resource_version: str | None
    """The resource version that the cache has reached, an opaque string; None before its first
    snapshot."""
    freshness: Freshness
    """How current the cache is."""

    @classmethod
    def from_message(cls, message: pb.CacheState) -> CacheState:
        """Return the value for the API's message."""
        return cls(
            message.running,
            message.synced,
            message.object_count,
            message.size_bytes,
            message.resource_version or None,
            Freshness.from_message(message.freshness),
        )


@dataclass(frozen=True)
class ResourceType:
    """A resource that the cluster serves."""

    resource: Resource
    """Its names, in the version that the cluster prefers. The other fields are about that
    version."""
    versions: tuple[str, ...]
    """All versions in which it is served, the preferred one first."""
    singular: str
    """The name of one object, such as "pod"."""
    short_names: tuple[str, ...]
    """Short names, such as "po"."""
    categories: tuple[str, ...]
    """Categories, such as "all"."""
    verbs: tuple[str, ...]
    """The verbs that it supports, such as "get", "list" and "watch"."""
    subresources: tuple[str, ...]
    """Its subresources, such as "status", in order."""
    cache: CacheState | None
    """The state of its cache; None while there is no cache, and for callers that are not
    allowed to list the resource in all namespaces."""

    @classmethod
    def from_message(cls, message: pb.ResourceType) -> ResourceType:
        """Return the value for the API's message."""
        return cls(
            resource=Resource.from_message(message.resource),
            versions=tuple(message.versions),
            singular=message.singular,
            short_names=tuple(message.short_names),
            categories=tuple(message.categories),
            verbs=tuple(message.verbs),
            subresources=tuple(message.subresources),
            cache=CacheState.from_message(message.cache) if message.HasField("cache") else None,
        )


@dataclass(frozen=True)
class FailedGroupVersion:
    """A version of an API group for which discovery failed."""

    group: str
    """The API group."""
    version: str
    """The API version."""
    message: str
    """The reason, human-readable."""


@dataclass(frozen=True)
class ResourceTypesResult:
    """The resources that the cluster serves."""

    types: tuple[ResourceType, ...]
    """The resources in order of group and name, once for all their versions."""
    failed_group_versions: tuple[FailedGroupVersion, ...]
    """The group versions for which discovery failed: their resources are missing."""

    @classmethod
    def from_message(cls, message: pb.ListResourceTypesResponse) -> ResourceTypesResult:
        """Return the value for the API's message."""
        return cls(
            tuple(map(ResourceType.from_message, message.resource_types)),
            tuple(
                FailedGroupVersion(each.group, each.version, each.message)
                for each in message.failed_group_versions
            ),
        )


@dataclass(frozen=True)
class SchemaResult:
    """The schema of one kind."""

    resource: Resource
    """The resource and kind that the schema describes."""
    schema: dict[str, Any]
    """The OpenAPI v3 schema. Referenced schemas are included, at the path of each "$ref":
    "#/components/schemas/NAME"."""

    @classmethod
    def from_message(cls, message: pb.GetSchemaResponse) -> SchemaResult:
        """Return the value for the API's message."""
        return cls(Resource.from_message(message.resource), plain_dict(message.schema))

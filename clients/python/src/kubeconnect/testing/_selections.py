"""The objects that a read selects."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from google.protobuf.message import Message

from kubeconnect.testing._cluster import Cluster, Content, Key, owner_references
from kubeconnect.testing._contents import encode
from kubeconnect.testing._failures import bad_request, not_found, unsupported
from kubeconnect.testing._masks import Mask
from kubeconnect.testing._resources import ResourceType
from kubeconnect.testing._selectors import (
    Matches,
    field_matches,
    label_matches,
    selector_matches,
)
from kubeconnect.v1 import (
    object_pb2,
    read_pb2,
    relation_pb2,
    table_pb2,
    watch_counts_pb2,
    watch_pb2,
    write_pb2,
)

Selecting: TypeAlias = (
    read_pb2.ListRequest
    | read_pb2.CountRequest
    | watch_pb2.WatchRequest
    | watch_pb2.WatchSpec
    | watch_counts_pb2.WatchCountsRequest
    | table_pb2.GetTableRequest
    | write_pb2.DeleteCollectionRequest
)

Filters: TypeAlias = Mapping[str, Callable[[Any], object]]
"""The functions that evaluate the filters of a test, by their expression."""

_NOT_SELECTING = (
    "after",
    "encoding",
    "limit",
    "min_resource_version",
    "offset",
    "page_size",
    "page_token",
    "patch_format",
    "require_all_namespaces",
    "resume_token",
)


@dataclass
class Selection:
    """The conditions of a request. Guarded by the lock of the cluster."""

    resource: ResourceType
    namespace: str
    name: str
    conditions: list[Matches]
    mask: Mask
    metadata_only: bool
    digest: str
    """Identifies the selection in tokens."""
    filter: tuple[str, Callable[[Any], object]] | None = None
    without_value: set[Key] = field(default_factory=set)
    """The objects for which the filter has no value."""

    def matches(self, content: Content | None) -> bool:
        """Return whether a state of an object is selected."""
        if content is None:
            return False
        metadata = content["metadata"]
        if self.namespace and metadata.get("namespace") != self.namespace:
            return False
        if self.name and metadata["name"] != self.name:
            return False
        return all(matches(content) for matches in self.conditions) and self._passes(content)

    def _passes(self, content: Content) -> bool:
        if self.filter is None:
            return True
        metadata = content["metadata"]
        key = (metadata.get("namespace", ""), metadata["name"])
        self.without_value.discard(key)
        try:
            return bool(self.filter[1](content))
        except (LookupError, TypeError, AttributeError):
            self.without_value.add(key)
            return False

    @property
    def warnings(self) -> list[str]:
        """The warning about the objects for which the filter has no value."""
        count = len(self.without_value)
        return [f"the filter has no value for {count} objects, which are left out"] if count else []

    def select(self, objects: Mapping[Key, Content]) -> list[Content]:
        """Return the selected objects."""
        self.without_value.clear()
        return [content for content in objects.values() if self.matches(content)]

    def view(self, content: Content) -> dict[str, Any]:
        """Return the requested fields of an object."""
        return self.mask.apply(content)

    def encode(self, content: Content, encoding: int) -> object_pb2.Object:
        """Return the message of an object with the requested fields."""
        return encode(content, self.view(content), encoding, self.resource)

    def shown(self) -> object_pb2.Resource:
        """Return the resource of the objects, with the kind that they are sent as."""
        message = self.resource.to_message()
        if self.metadata_only:
            message.group, message.version = "meta.k8s.io", "v1"
            message.kind = "PartialObjectMetadata"
            package = "k8s.io.apimachinery.pkg.apis.meta.v1"
            message.protobuf_type = f"{package}.PartialObjectMetadata"
        return message


def selection_of(cluster: Cluster, request: Selecting, filters: Filters) -> Selection:
    """Return the selection of a request. Raises InvalidArgument and NotFound."""
    resource = cluster.registry.find(request.resource)
    name = getattr(request, "name", "")
    resource.check_namespace(request.namespace, required=bool(name))
    conditions = [
        label_matches(request.label_selector),
        field_matches(request.field_selector, resource),
    ]
    related = getattr(request, "related", None)
    if related is not None and related != relation_pb2.Relation():
        conditions.append(_related(cluster, resource, related))
    metadata_only = getattr(request, "metadata_only", False)
    expression = getattr(request, "filter", "")
    return Selection(
        resource=resource,
        namespace=request.namespace,
        name=name,
        conditions=conditions,
        mask=Mask(getattr(request, "fields", ()), metadata_only=metadata_only),
        metadata_only=metadata_only,
        digest=_digest(resource, request),
        filter=(expression, filter_of(expression, filters)) if expression else None,
    )


def filter_of(expression: str, filters: Filters) -> Callable[[Any], object]:
    """Return the function of a filter. Raises Unimplemented if there is none."""
    if expression not in filters:
        raise unsupported(
            f"the filter {expression!r}: it does not evaluate CEL; add a function for this filter "
            "with FakeService.add_filter"
        )
    return filters[expression]


def _digest(resource: ResourceType, request: Message) -> str:
    selecting = type(request)()
    selecting.CopyFrom(request)
    for name in _NOT_SELECTING:
        if name in request.DESCRIPTOR.fields_by_name:
            selecting.ClearField(name)
    selecting.resource = resource.full_name  # type: ignore[attr-defined]
    text = selecting.SerializeToString(deterministic=True)
    return hashlib.sha256(text).hexdigest()[:16]


def _related(cluster: Cluster, resource: ResourceType, relation: relation_pb2.Relation) -> Matches:
    other = cluster.registry.find(relation.resource)
    other.check_namespace(relation.namespace)
    found = cluster.find(other, (relation.namespace, relation.name))
    if found is None or relation.uid not in ("", found["metadata"]["uid"]):
        raise not_found(other, relation.name)
    if relation.type not in _RELATIONS:
        raise bad_request("related.type is required")
    return _RELATIONS[relation.type](cluster, resource, relation, other, found)


def _owned_by(
    cluster: Cluster,
    resource: ResourceType,
    relation: relation_pb2.Relation,
    other: ResourceType,
    owner: Content,
) -> Matches:
    owners = {owner["metadata"]["uid"]}
    pending = list(owners) if relation.transitive else []
    while pending:
        for dependent, key in cluster.dependents(pending.pop()):
            content = cluster.find(dependent, key)
            if content and (uid := content["metadata"]["uid"]) not in owners:
                owners.add(uid)
                pending.append(uid)
    return lambda content: any(each["uid"] in owners for each in owner_references(dict(content)))


def _selected_by(
    cluster: Cluster,
    resource: ResourceType,
    relation: relation_pb2.Relation,
    other: ResourceType,
    selecting: Content,
) -> Matches:
    selector = (selecting.get("spec") or {}).get("selector")
    if not selector:
        raise bad_request(f"related.type SELECTED_BY: {other.plural} have no selector")
    matches = selector_matches(selector)
    namespace = relation.namespace
    return lambda content: content["metadata"].get("namespace") == namespace and matches(content)


def _about(
    cluster: Cluster,
    resource: ResourceType,
    relation: relation_pb2.Relation,
    other: ResourceType,
    subject: Content,
) -> Matches:
    if resource.full_name != "events":
        raise bad_request(f"related.type ABOUT selects events: {resource.plural} are not events")
    uid = subject["metadata"]["uid"]
    return lambda content: (content.get("involvedObject") or {}).get("uid") == uid


def _owner_of(
    cluster: Cluster,
    resource: ResourceType,
    relation: relation_pb2.Relation,
    other: ResourceType,
    owned: Content,
) -> Matches:
    uids = {each["uid"] for each in owner_references(owned)}
    return lambda content: content["metadata"]["uid"] in uids


_RELATIONS: dict[int, Callable[..., Matches]] = {
    relation_pb2.RELATION_TYPE_OWNED_BY: _owned_by,
    relation_pb2.RELATION_TYPE_SELECTED_BY: _selected_by,
    relation_pb2.RELATION_TYPE_ABOUT: _about,
    relation_pb2.RELATION_TYPE_OWNER_OF: _owner_of,
}

"""Related objects of the rows of a list."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from kubeconnect._field_paths import FieldPath
from kubeconnect.testing._calls import Calls
from kubeconnect.testing._cluster import Cluster, Content, Key, owner_references
from kubeconnect.testing._contents import encode
from kubeconnect.testing._failures import bad_request
from kubeconnect.testing._masks import Mask, path_of
from kubeconnect.testing._resources import ResourceType
from kubeconnect.testing._selections import Filters, filter_of
from kubeconnect.testing._selectors import selector_matches
from kubeconnect.v1 import consistency_pb2, join_pb2, object_pb2, read_pb2, watch_pb2

_MAX_JOINS = 8
_MAX_LIMIT = 100
_LIMIT = 10
_MAX_LEVELS = 5
_NAME = re.compile(r"[A-Za-z0-9_-]{1,63}")
_LATEST = consistency_pb2.CONSISTENCY_LATEST
_WITH_PATH = (join_pb2.JOIN_TYPE_NAMED_BY, join_pb2.JOIN_TYPE_NAMES)


def joins_of(
    calls: Calls,
    filters: Filters,
    rows: ResourceType,
    request: read_pb2.ListRequest | watch_pb2.WatchRequest,
) -> list[Join]:
    """Return the joins of a list or a live page. Raises InvalidArgument for what are none."""
    if len(request.joins) > _MAX_JOINS:
        raise bad_request(f"{len(request.joins)} joins: give at most {_MAX_JOINS}")
    if len({each.name for each in request.joins}) < len(request.joins):
        raise bad_request("joins: give each of them another name")
    if request.joins and getattr(request, "consistency", None) == _LATEST:
        raise bad_request("joins are read from the cache: not with CONSISTENCY_LATEST")
    joins = [Join(calls, filters, rows, message, request.encoding) for message in request.joins]
    for join in joins:
        join.check()
    return joins


@dataclass
class Join:
    """One join of a list. Guarded by the lock of the cluster."""

    calls: Calls
    filters: Filters
    rows: ResourceType
    message: join_pb2.Join
    encoding: int

    @property
    def _cluster(self) -> Cluster:
        return self.calls.cluster

    @property
    def _related(self) -> ResourceType:
        return self._cluster.registry.find(self.message.resource)

    @property
    def _path(self) -> FieldPath:
        return path_of("joins", self.message.path)

    def check(self) -> None:
        """Raise InvalidArgument for what is no join, and NotFound for an unknown resource."""
        message, related = self.message, self._related
        problem = ""
        if not _NAME.fullmatch(message.name):
            problem = "the name has 1 to 63 letters, digits, _ and -"
        elif message.type not in _RELATED:
            problem = "type is required"
        elif bool(message.path) != (message.type in _WITH_PATH):
            problem = "path is for NAMED_BY and NAMES, which require it"
        elif not 0 <= message.limit <= _MAX_LIMIT or (message.limit and not message.fields):
            problem = f"limit is 0 to {_MAX_LIMIT}, and needs fields"
        elif message.type == join_pb2.JOIN_TYPE_SUBJECT_OF and self.rows.plural != "events":
            problem = "SUBJECT_OF is for events"
        elif message.type == join_pb2.JOIN_TYPE_NAMED_BY and (
            related.namespaced and not self.rows.namespaced
        ):
            problem = "NAMED_BY: only the related resource is namespaced"
        if problem:
            raise bad_request(f"join {message.name!r}: {problem}")

    def of(self, row: Content) -> object_pb2.JoinedObjects:
        """Return the related objects of a row."""
        message, related = self.message, self._related
        namespace = row["metadata"].get("namespace", "") if related.namespaced else ""
        if not self.calls.faults.is_allowed("list", related, namespace):
            return object_pb2.JoinedObjects(name=message.name, not_permitted=True)
        found = [each for each in _RELATED[message.type](self, row) if self._passes(each)]
        shown = found[: message.limit or _LIMIT] if message.fields else []
        mask = Mask(message.fields)
        objects = [encode(each, mask.apply(each), self.encoding, related) for each in shown]
        return object_pb2.JoinedObjects(name=message.name, count=len(found), objects=objects)

    def _passes(self, content: Content) -> bool:
        if not self.message.filter:
            return True
        try:
            return bool(filter_of(self.message.filter, self.filters)(content))
        except (LookupError, TypeError, AttributeError):
            return False

    def _all(self, row: Content) -> Iterator[Content]:
        """Iterate over the related resource, in the namespace of a namespaced row."""
        namespace = row["metadata"].get("namespace")
        for (of, _), content in self._cluster.objects(self._related).items():
            if namespace is None or not self._related.namespaced or of == namespace:
                yield content

    def _find(self, keys: Iterable[Key]) -> list[Content]:
        found = (self._cluster.find(self._related, key) for key in sorted(set(keys)))
        return [content for content in found if content is not None]

    def named_by(self, row: Content) -> list[Content]:
        """Return the objects that the row names."""
        namespace = row["metadata"].get("namespace", "") if self._related.namespaced else ""
        names = [each for each in self._path.values(row) if isinstance(each, str)]
        return self._find((namespace, name) for name in names)

    def names(self, row: Content) -> list[Content]:
        """Return the objects that name the row."""
        name, path = row["metadata"]["name"], self._path
        return [each for each in self._all(row) if name in path.values(each)]

    def selected_by(self, row: Content) -> list[Content]:
        """Return the objects that the row's selector selects."""
        selector = (row.get("spec") or {}).get("selector")
        if not selector:
            return []
        matches = selector_matches(selector)
        return [each for each in self._all(row) if matches(each)]

    def owner_of(self, row: Content) -> list[Content]:
        """Return the nearest owner of the related resource."""
        owned: Content | None = row
        for _ in range(_MAX_LEVELS):
            resource, owned = self._controller_of(owned)
            if owned is None:
                return []
            if resource.full_name == self._related.full_name:
                return [owned]
        return []

    def _controller_of(self, owned: Content | None) -> tuple[ResourceType, Content | None]:
        for reference in owner_references(owned):
            if owned is not None and reference.get("controller"):
                return self._referenced(reference, owned["metadata"].get("namespace", ""))
        return self._related, None

    def _referenced(
        self, reference: dict[str, Any], namespace: str
    ) -> tuple[ResourceType, Content | None]:
        resource = self._cluster.registry.of_kind(reference["apiVersion"], reference["kind"])
        key = (namespace if resource.namespaced else "", reference["name"])
        found = self._cluster.find(resource, key)
        same = found is not None and reference.get("uid") in (None, found["metadata"]["uid"])
        return resource, found if same else None

    def subject_of(self, row: Content) -> list[Content]:
        """Return the object that an event is about."""
        subject = row.get("involvedObject") or {}
        if not {"apiVersion", "kind", "name"} <= subject.keys():
            return []
        resource, found = self._referenced(subject, subject.get("namespace", ""))
        is_related = found and resource.full_name == self._related.full_name
        return [found] if found and is_related else []


_RELATED: dict[int, Callable[[Join, Content], list[Content]]] = {
    join_pb2.JOIN_TYPE_NAMED_BY: Join.named_by,
    join_pb2.JOIN_TYPE_NAMES: Join.names,
    join_pb2.JOIN_TYPE_OWNER_OF: Join.owner_of,
    join_pb2.JOIN_TYPE_SELECTED_BY: Join.selected_by,
    join_pb2.JOIN_TYPE_SUBJECT_OF: Join.subject_of,
}

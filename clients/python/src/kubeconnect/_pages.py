"""Pages that stay live."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias

from kubeconnect._freshness import Freshness
from kubeconnect._kinds import KindMessage
from kubeconnect._objects import Object, Resource
from kubeconnect._reconciling import ObjectKey, key_of
from kubeconnect._types import T
from kubeconnect.v1 import watch_pb2 as pb


class PageChangeType(enum.Enum):
    """The type of a change of a page."""

    ADDED = pb.EVENT_TYPE_ADDED
    """The object has entered the page."""
    MODIFIED = pb.EVENT_TYPE_MODIFIED
    """The object has changed, and perhaps its place too."""
    MOVED = pb.EVENT_TYPE_MOVED
    """The object has another place on the page, and is otherwise unchanged."""
    DELETED = pb.EVENT_TYPE_DELETED
    """The object has left the page, also if it still exists."""


@dataclass(frozen=True)
class PageChange(Generic[T]):
    """One change of a page. To change a copy of the page in the same way, apply the changes in
    order: remove the object of a DELETED at its ``index``, remove a MODIFIED or MOVED object from
    its place, and insert all but DELETED ones at their ``index``.
    """

    type: PageChangeType
    """The type of the change."""
    object: T
    """The object; for DELETED its last state on the page."""
    index: int
    """The place of the object on the page, from 0: after this change, or of a DELETED before it."""


@dataclass(frozen=True)
class Page(Generic[T]):
    """A page of a sorted selection, as it is at one resource version."""

    resource: Resource
    """The resource and kind of the objects."""
    objects: tuple[T, ...]
    """The objects of the page, in order."""
    total: int
    """The number of objects in the selection."""
    offset: int
    """The number of objects before the page."""
    changes: tuple[PageChange[T], ...]
    """What has changed since the page that was returned before. Of the first page, each object is
    ADDED."""
    resource_version: str
    """The resource version of the page; an opaque string."""
    freshness: Freshness
    """How current the page is."""
    warnings: tuple[str, ...]
    """Human-readable warnings: that the page covers only some namespaces, and for how many objects
    the filter has no value, and why."""
    namespaces: tuple[str, ...]
    """The namespaces that the page covers, if all were requested and the caller is not allowed to
    list all of them; empty if the selection is complete."""


PageObject: TypeAlias = Object | KindMessage | tuple[str | None, str]
"""An object, or its namespace and name, such as an ``ObjectKey``."""


@dataclass(frozen=True)
class Place:
    """The place of a page in the selection."""

    limit: int
    offset: int | None = None
    after: ObjectKey | None = None

    def moved(self, offset: int | None, after: PageObject | None, limit: int | None) -> Place:
        """Return the place of another page. Raises ValueError for a place that is none."""
        limit = self.limit if limit is None else limit
        if not limit > 0:
            raise ValueError(f"the limit of a page must be more than 0, not {limit}")
        if offset is not None and after is not None:
            raise ValueError("pass offset or after, not both")
        if offset is None and after is None:
            return Place(limit, self.offset, self.after)
        return Place(limit, offset, None if after is None else _key_of(after))


def _key_of(obj: PageObject) -> ObjectKey:
    if isinstance(obj, tuple):
        return ObjectKey(*obj)
    if isinstance(obj, (str, Mapping)) and not isinstance(obj, Object):
        raise TypeError("after is an object, or a tuple with its namespace and name")
    return key_of(obj)


AnyPage: TypeAlias = Page[Any]

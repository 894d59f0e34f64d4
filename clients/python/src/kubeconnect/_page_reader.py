"""A page after each message of its streams."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import grpc

from kubeconnect._errors import Internal
from kubeconnect._event_reader import DecodeEvent
from kubeconnect._freshness import Freshness
from kubeconnect._pages import AnyPage, Page, PageChange, PageChangeType
from kubeconnect._stream_reader import StreamReader
from kubeconnect.v1 import object_pb2
from kubeconnect.v1 import watch_pb2 as pb


@dataclass(frozen=True)
class _Item:
    """An object on the page, as it was sent and as it is returned."""

    message: object_pb2.Object
    object: Any

    @property
    def key(self) -> tuple[str, str]:
        return self.message.namespace, self.message.name


class PageReader(StreamReader):
    """The page after each message, over all streams. Not safe for concurrent use.

    The changes are collected until the page is taken. If the service sends the page again, after a
    RESET, they are the difference to the page that was taken last.
    """

    def __init__(self, decode: DecodeEvent) -> None:
        """Begin before the first message. ``decode`` returns the object of an event."""
        super().__init__()
        self._decode = decode
        self._items: list[_Item] = []
        self._changes: list[PageChange[Any]] = []
        self._taken: list[_Item] = []  # the items of the page that was taken last
        self._is_new = False  # whether there was a RESET since then
        self._is_complete = False  # whether the items are those of a page
        self._state = pb.PageState()

    @property
    def is_complete(self) -> bool:
        """Whether the page is complete: not within changes that need several messages."""
        return self._is_complete

    def read(self, response: pb.WatchResponse) -> None:
        """Read a message. Raises Internal if an event does not fit to the page, which must then be
        sent again.
        """
        self.read_state(response)
        for event in response.events:
            self._apply(event)
        if response.HasField("page"):
            self._state = response.page
            self._is_complete = True

    def differs_from(self, page: AnyPage) -> bool:
        """Return whether the page differs from the one that was taken last."""
        if self._is_new and any(_difference(self._taken, self._items)):
            return True
        freshness = self.freshness
        stale = page.freshness.stale if freshness is None else freshness.stale
        return bool(self._changes) or (
            (self._state.total_count, self._state.offset, stale, self.warnings, self.namespaces)
            != (page.total, page.offset, page.freshness.stale, page.warnings, page.namespaces)
        )

    def take(self) -> AnyPage:
        """Return the page, with its changes since it was taken before."""
        changes = list(_difference(self._taken, self._items)) if self._is_new else self._changes
        self._taken, self._changes, self._is_new = list(self._items), [], False
        return Page(
            resource=self.resource,
            objects=tuple(item.object for item in self._items),
            total=self._state.total_count,
            offset=self._state.offset,
            changes=tuple(changes),
            resource_version=self._state.resource_version,
            freshness=self.freshness or Freshness(stale=False, last_contact_time=None),
            warnings=self.warnings,
            namespaces=self.namespaces,
        )

    def _apply(self, event: pb.Event) -> None:
        if event.type == pb.EVENT_TYPE_RESET:
            self._items, self._changes = [], []
            self._is_new, self._is_complete = True, False
        elif event.type == pb.EVENT_TYPE_ADDED:
            self._insert(self._item(event), event)
        elif event.type == pb.EVENT_TYPE_MODIFIED:
            self._remove(event)
            self._insert(self._item(event), event)
        elif event.type == pb.EVENT_TYPE_MOVED:
            self._insert(self._remove(event), event)
        elif event.type == pb.EVENT_TYPE_DELETED:
            self._delete(event.index)

    def _item(self, event: pb.Event) -> _Item:
        return _Item(event.object, self._decode(event, self.resource))

    def _remove(self, event: pb.Event) -> _Item:
        key = (event.object.namespace, event.object.name)
        for index, item in enumerate(self._items):
            if item.key == key:
                return self._items.pop(index)
        raise _does_not_fit(f"{event.object.name} is not on the page")

    def _insert(self, item: _Item, event: pb.Event) -> None:
        if event.index > len(self._items):
            raise _does_not_fit(f"{item.message.name} has the place {event.index}")
        self._items.insert(event.index, item)
        self._note(PageChange(PageChangeType(event.type), item.object, event.index))

    def _delete(self, index: int) -> None:
        if index >= len(self._items):
            raise _does_not_fit(f"there is no object at {index}")
        self._note(PageChange(PageChangeType.DELETED, self._items.pop(index).object, index))

    def _note(self, change: PageChange[Any]) -> None:
        self._is_complete = False
        if not self._is_new:
            self._changes.append(change)


def _does_not_fit(problem: str) -> Internal:
    return Internal(grpc.StatusCode.INTERNAL, f"invalid response: {problem}")


def _difference(before: list[_Item], after: list[_Item]) -> Iterator[PageChange[Any]]:
    """Iterate over the changes that lead from one page to another."""
    kept = {(item.key, item.message.uid) for item in after}
    items = list(before)
    for index in reversed(range(len(items))):
        if (items[index].key, items[index].message.uid) not in kept:
            yield PageChange(PageChangeType.DELETED, items.pop(index).object, index)
    for index, item in enumerate(after):
        place = next((n for n in range(index, len(items)) if items[n].key == item.key), None)
        if place is None:
            yield PageChange(PageChangeType.ADDED, item.object, index)
        elif items.pop(place).message != item.message:
            yield PageChange(PageChangeType.MODIFIED, item.object, index)
        elif place != index:
            yield PageChange(PageChangeType.MOVED, item.object, index)
        items.insert(index, item)

"""The objects of a store, without any I/O."""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

from kubeconnect._event_reader import newer
from kubeconnect._events import Event, EventType
from kubeconnect._objects import Resource, is_same
from kubeconnect._store_indexes import IndexBy, Indexes, Key, Values
from kubeconnect._store_queue import Change, ChangeQueue
from kubeconnect._stored import Stored, equal, unpack


class Position:
    """The resume token that belongs to the objects of one or several stores."""

    def __init__(self, *, shared: bool = False) -> None:
        """Begin without a token. A ``shared`` token belongs to several stores."""
        self.token: str | None = None
        self._shared = shared

    def advance(self, token: str | None) -> bool:
        """Store the token, and return whether it shows that the objects are complete up to the
        newest version that was received.

        The service sends no token while it sends the latest states of objects, which are not
        in the order of their versions. Several watches have a token all the time.
        """
        complete = token is not None and token != self.token and not self._shared
        self.token = token
        return complete


class _Update(NamedTuple):
    """A change of a stored object."""

    change: Change
    values: Values
    """The values of the new object, for the indexes."""
    noted: bool = True
    """Whether the change is one for subscribers: not if only the resource version of a
    projection differs."""


class StoreState:
    """The objects of one selection, as its events leave them.

    A snapshot replaces the objects when it is complete: between RESET and SYNCED readers see the
    earlier objects. Only what differs is a change, and only changes are noted in the queues of
    the subscribers. An object that was deleted and created again under its name has another
    UID, and is one change from the old object to the new one. The deletion of an object that has
    another UID than the one that is held is ignored: it is that of its predecessor.

    ``apply`` must be called by one thread or task only, which owns ``_snapshot`` and
    ``_received_version``. ``guard`` guards all other attributes. It is held for the change
    itself, and not while objects are decoded, compared or indexed. All queues have to be used
    with the guard held.

    The stored objects are never decoded, so that each keeps only its encoded content: readers
    receive copies. A copy of an Object shares the encoded content and is decoded on access, and
    a message is decoded for each reader. A reader that changes what it has decoded does not
    change the store. Subscribers take the changes as they are stored.
    """

    def __init__(
        self,
        indexes: Mapping[str, IndexBy[Any]],
        guard: AbstractContextManager[object],
        position: Position,
    ) -> None:
        """Begin without objects. Raises ValueError for an invalid field path of an index."""
        self.guard = guard
        self.synced = False
        self.handler_errors = 0
        self.resource_version: str | None = None
        self.resource: Resource | None = None
        self._position = position
        self._objects: dict[Key, Stored] = {}
        self._indexes = Indexes(indexes)
        self._queues: list[ChangeQueue] = []
        self._snapshot: dict[Key, tuple[Stored, Values]] | None = None
        self._received_version = ""  # the newest one since the last RESET

    @property
    def within_snapshot(self) -> bool:
        """Whether a snapshot has begun that is not complete."""
        return self._snapshot is not None

    @property
    def index_errors(self) -> int:
        """The number of exceptions of index functions."""
        return self._indexes.errors

    def __len__(self) -> int:
        """Return the number of objects."""
        return len(self._objects)

    def get(self, key: Key) -> Any:
        """Return an object; None if there is none of this name."""
        with self.guard:
            found = self._objects.get(key)
        return None if found is None else unpack(found)

    def all(self, namespace: str | None = None) -> Iterator[Any]:
        """Return all objects of this moment, or those of one namespace. Each is unpacked when
        it is reached; the iteration may continue after an UnreadableObject.
        """
        found = self.stored()
        if namespace:
            found = [obj for obj in found if obj.namespace == namespace]
        return map(unpack, found)

    def by_index(self, name: str, value: Hashable) -> Iterator[Any]:
        """Return the objects with a value. Raises KeyError for an unknown index."""
        with self.guard:
            found = [self._objects[key] for key in self._indexes.keys(name, value)]
        return map(unpack, found)

    def index_values(self, name: str) -> list[Hashable]:
        """Return the values that some object has. Raises KeyError for an unknown index."""
        with self.guard:
            return self._indexes.all_values(name)

    def subscribe(self, wake: Callable[[], None]) -> ChangeQueue:
        """Return a queue that begins with all objects, as additions."""
        with self.guard:
            queue = ChangeQueue(self._objects, wake)
            self._queues.append(queue)
        return queue

    def unsubscribe(self, queue: ChangeQueue) -> None:
        """Note no further changes in a queue."""
        with self.guard:
            if queue in self._queues:
                self._queues.remove(queue)

    def take(self, queue: ChangeQueue) -> Change | None:
        """Take the next change of a queue, as it is stored; None if there is none."""
        with self.guard:
            return queue.take(self._objects)

    def count_handler_error(self) -> None:
        """Count an exception of a subscriber."""
        with self.guard:
            self.handler_errors += 1

    def restore(
        self, resource: Resource | None, version: str | None, objs: Iterable[Stored]
    ) -> None:
        """Begin with the objects of an earlier store. The state is not in sync with them."""
        self.resource = resource
        updates = [_Update(self._change_to(obj), self._indexes.values(obj)) for obj in objs]
        with self.guard:
            self.resource_version, self._received_version = version, version or ""
            self._commit(updates)

    def stored(self) -> list[Stored]:
        """Return the stored objects themselves, which must not be decoded."""
        with self.guard:
            return list(self._objects.values())

    def apply(self, event: Event[Any], token: str | None) -> None:
        """Apply an event, and store the resume token that belongs to the objects after it."""
        updates = list(self._updates(event))
        with self.guard:
            self._commit(updates)
            self._update_progress(event, complete=self._position.advance(token))

    def _updates(self, event: Event[Any]) -> Iterator[_Update]:
        """Return the updates of the visible objects."""
        if event.type is EventType.RESET:
            self._snapshot = {}
        elif event.type is EventType.SYNCED and self._snapshot is not None:
            yield from self._differences(self._snapshot)
        elif event.object is not None and self._snapshot is not None:
            self._add_to(self._snapshot, event.object, event.type)
        elif event.object is not None:
            yield from self._difference(event.object, event.type)

    def _add_to(
        self, snapshot: dict[Key, tuple[Stored, Values]], obj: Stored, type: EventType
    ) -> None:
        """Apply an event of a snapshot. An object that has not changed is kept."""
        change = self._change_to(obj)
        if type is EventType.DELETED:
            if (held := snapshot.get(change.key)) and is_same(held[0].uid, obj.uid):
                del snapshot[change.key]
        elif change.old is not None and _identical(change.old, obj):
            snapshot[change.key] = change.old, ()
        else:
            snapshot[change.key] = obj, self._indexes.values(obj)

    def _difference(self, obj: Stored, type: EventType) -> Iterator[_Update]:
        """Return the update of an event outside of snapshots, which may have been applied
        before the stream was lost.
        """
        change = self._change_to(obj)
        if type is EventType.DELETED:
            if change.old is not None and is_same(change.old.uid, obj.uid):
                yield _Update(Change(change.key, change.old, None), ())
        elif change.old is None or not _identical(change.old, obj):
            yield _Update(change, self._indexes.values(obj), not equal(change.old, obj))

    def _differences(self, snapshot: Mapping[Key, tuple[Stored, Values]]) -> Iterator[_Update]:
        """Return the updates that make the objects those of the snapshot: deletions first."""
        for key, old in self._objects.items():
            if key not in snapshot:
                yield _Update(Change(key, old, None), ())
        for key, (new, values) in snapshot.items():
            if (before := self._objects.get(key)) is not new:
                yield _Update(Change(key, before, new), values, not equal(before, new))

    def _change_to(self, obj: Stored) -> Change:
        """Return the change to a received object, which shares what it can with the others."""
        if self.resource is not None and obj.resource in (self.resource, _UNNAMED):
            obj.resource = self.resource
        elif obj.resource != _UNNAMED:
            self.resource = obj.resource
        if obj.namespace is not None:
            obj.namespace = sys.intern(obj.namespace)
        old = self._objects.get((obj.namespace or "", obj.name))
        if old is not None:
            obj.name = old.name
            obj.uid = old.uid if old.uid == obj.uid else obj.uid
        return Change((obj.namespace or "", obj.name), old, obj)

    def _commit(self, updates: Iterable[_Update]) -> None:
        for (key, old, new), values, noted in updates:
            if new is None:
                del self._objects[key]
                self._indexes.remove(key)
            else:
                self._objects[key] = new
                self._indexes.put(key, values)
            for queue in self._queues if noted else ():
                queue.note(Change(key, old, new))

    def _update_progress(self, event: Event[Any], *, complete: bool) -> None:
        """Update the versions. ``complete`` is whether the resume token shows that the objects
        are complete up to the newest version; a mark shows it too.
        """
        version = event.resource_version or ""
        if event.type is EventType.RESET:
            self._received_version = ""
        self._received_version = newer(self._received_version, version)
        # A BOOKMARK without a version is sent before the service has a snapshot.
        mark = event.type is EventType.BOOKMARK and version != ""
        if event.type is EventType.SYNCED:
            self._snapshot, mark = None, True
        if self._snapshot is None and (mark or complete):
            self.resource_version = self._received_version or None
            self.synced = self.synced or mark


def _identical(old: Stored, new: Stored) -> bool:
    """Return whether a received object has nothing that the stored one does not have."""
    return old.resource_version == new.resource_version and equal(old, new)


_UNNAMED = Resource("", "", "", "", False)
"""The resource of objects whose resource the service has not sent."""

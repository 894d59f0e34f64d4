"""The changes that the events of a watch are, without any I/O."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from kubeconnect import Event, EventType, Object

Key = tuple[str | None, str]


@dataclass(frozen=True)
class Change:
    """What happened to one object."""

    type: str
    """ADDED, MODIFIED or DELETED."""
    object: Object
    """The object, of DELETED in its last state that is known."""
    initial: bool = False
    """Whether the object existed when the watch began."""


class ChangeTracker:
    """Knows the objects of a selection, and reports what has changed.

    A new snapshot, after the service could not resume the watch, is compared with the objects
    that are known, so that nothing is reported twice and no deletion is left out.
    """

    def __init__(self) -> None:
        """Begin without objects."""
        self._known: dict[Key, Object] = {}
        self._snapshot: dict[Key, Object] | None = None
        self.synced = False

    def apply(self, event: Event) -> list[Change]:
        """Return the changes of an event."""
        if event.type is EventType.RESET:
            self._snapshot = {}
        elif event.type is EventType.SYNCED and self._snapshot is not None:
            changes = list(self._replace(self._snapshot))
            self._snapshot, self.synced = None, True
            return changes
        elif event.object is not None:
            return self._apply_object(event.object, deleted=event.type is EventType.DELETED)
        return []

    def _apply_object(self, object: Object, *, deleted: bool) -> list[Change]:
        key = (object.namespace, object.name)
        if self._snapshot is not None:
            if deleted:
                self._snapshot.pop(key, None)
            else:
                self._snapshot[key] = object
            return []
        if deleted:
            known = self._known.pop(key, None)
            return [Change("DELETED", known if object.error else object)] if known else []
        return list(self._put(key, object))

    def _replace(self, snapshot: dict[Key, Object]) -> Iterator[Change]:
        for key in self._known.keys() - snapshot.keys():
            yield Change("DELETED", self._known.pop(key))
        for key, object in snapshot.items():
            yield from self._put(key, object)

    def _put(self, key: Key, object: Object) -> Iterator[Change]:
        known = self._known.get(key)
        self._known[key] = object
        if known is None:
            yield Change("ADDED", object, initial=not self.synced)
        elif known.uid != object.uid:
            yield Change("DELETED", known)
            yield Change("ADDED", object)
        elif known.resource_version != object.resource_version:
            yield Change("MODIFIED", object)


def latest(changes: Iterable[Change]) -> list[Change]:
    """Return one change for each object, by UID: what has happened to it in all."""
    combined: dict[str, Change] = {}
    for change in changes:
        before = combined.pop(change.object.uid, None)
        if before is None or before.type != "ADDED":
            combined[change.object.uid] = change
        elif change.type != "DELETED":
            combined[change.object.uid] = Change("ADDED", change.object, before.initial)
    return list(combined.values())

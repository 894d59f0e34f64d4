"""The objects of the fake cluster, and the history of their changes."""

from __future__ import annotations

import threading
import time
from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass
from typing import Any, TypeAlias

from kubeconnect.testing._resources import Registry, ResourceType

Content: TypeAlias = dict[str, Any]
"""An object as JSON. It is never changed after it was recorded."""

Key: TypeAlias = tuple[str, str]
"""The namespace and the name of an object."""


@dataclass(frozen=True)
class Change:
    """One change of an object."""

    version: int
    key: Key
    before: Content | None
    after: Content | None


class Cluster:
    """The objects by resource, at each version.

    ``changed`` guards everything, and is notified of each change. Its lock may be taken again by
    the thread that holds it. All methods and attributes need the lock.
    """

    def __init__(self) -> None:
        """Begin without objects."""
        self.changed = threading.Condition(threading.RLock())
        self.registry = Registry()
        self.version = 100
        self.epoch = 0
        """The number of times that the history was lost. Positions are valid within an epoch."""
        self.paused_at: int | None = None
        """The version at which the cache of the service has stopped; None if it follows."""
        self.paused_since = 0.0
        self._objects: defaultdict[str, dict[Key, Content]] = defaultdict(dict)
        self._changes: defaultdict[str, list[Change]] = defaultdict(list)
        self._dependents: defaultdict[str, dict[tuple[str, Key], ResourceType]] = defaultdict(dict)

    def pause(self) -> None:
        """Stop the cache of the service at the current version."""
        self.paused_at, self.paused_since = self.version, time.time()
        self.changed.notify_all()

    def resume(self) -> None:
        """Let the cache of the service follow again."""
        self.paused_at = None
        self.changed.notify_all()

    @property
    def visible(self) -> int:
        """The version that the cache of the service has reached."""
        return self.version if self.paused_at is None else self.paused_at

    def find(self, resource: ResourceType, key: Key) -> Content | None:
        """Return the current state of an object; None if it does not exist."""
        return self._objects[resource.full_name].get(key)

    def objects(self, resource: ResourceType, version: int | None = None) -> dict[Key, Content]:
        """Return the objects at a version, by default the newest, ordered by key."""
        objects = dict(self._objects[resource.full_name])
        if version is not None:
            for change in reversed(self.changes(resource, version)):
                objects.pop(change.key, None)
                if change.before is not None:
                    objects[change.key] = change.before
        return dict(sorted(objects.items()))

    def changes(
        self, resource: ResourceType, after: int, through: int | None = None
    ) -> list[Change]:
        """Return the changes after a version, up to another one, by default the newest."""
        changes = self._changes[resource.full_name]
        begin = bisect_right(changes, after, key=lambda change: change.version)
        end = len(changes)
        if through is not None:
            end = bisect_right(changes, through, key=lambda change: change.version)
        return changes[begin:end]

    def record(self, resource: ResourceType, key: Key, content: Content | None) -> Content | None:
        """Store the new state of an object, with its new version; None deletes the object."""
        objects = self._objects[resource.full_name]
        self.version += 1
        before = objects.pop(key, None)
        if content is not None:
            metadata = {**content["metadata"], "resourceVersion": str(self.version)}
            content = objects[key] = {**content, "metadata": metadata}
        self._index(resource, key, before, content)
        change = Change(self.version, key, before, content)
        self._changes[resource.full_name].append(change)
        self.changed.notify_all()
        return content

    def _index(
        self, resource: ResourceType, key: Key, before: Content | None, after: Content | None
    ) -> None:
        for reference in owner_references(before):
            self._dependents[reference["uid"]].pop((resource.full_name, key), None)
        for reference in owner_references(after):
            self._dependents[reference["uid"]][resource.full_name, key] = resource

    def dependents(self, uid: str) -> list[tuple[ResourceType, Key]]:
        """Return the objects that the object with a UID owns."""
        found = self._dependents.get(uid) or {}
        return [(resource, key) for (_, key), resource in found.items()]

    def begin_epoch(self) -> None:
        """Lose the history: positions of before are not valid any more."""
        self.epoch += 1
        self.changed.notify_all()


def owner_references(content: Content | None) -> list[Content]:
    """Return the references of an object to its owners."""
    return [] if content is None else content["metadata"].get("ownerReferences") or []

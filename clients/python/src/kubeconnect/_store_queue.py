"""The calls that a subscriber of a store has not received yet, without any I/O."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from kubeconnect._store_indexes import Key
from kubeconnect._stored import Stored, equal


class Change(NamedTuple):
    """A difference between two states of one object. One of the two is not None."""

    key: Key
    old: Stored | None
    new: Stored | None

    @property
    def replaces(self) -> bool:
        """Whether the old object was deleted, and the new one created under its name."""
        return self.old is not None and self.new is not None and self.old.uid != self.new.uid


class ChangeQueue:
    """The objects that a subscriber has to be called for, in the order of their first change.

    For each of these objects the queue keeps the state that the subscriber last received, and
    nothing of the states after it: the new state is read from the store when it is taken. So
    the size of the queue is at most the number of objects that the store has or that the
    subscriber has received, however far the subscriber is behind.
    """

    def __init__(self, keys: Iterable[Key], wake: Callable[[], None]) -> None:
        """Begin with objects that the subscriber has not received. ``wake`` is called after
        each change.
        """
        self._received: dict[Key, Stored | None] = dict.fromkeys(keys)
        self._wake = wake
        if self._received:
            wake()

    def __len__(self) -> int:
        """Return the number of objects that the subscriber has to be called for."""
        return len(self._received)

    def note(self, change: Change) -> None:
        """Note a change of the store."""
        if change.key not in self._received:
            self._received[change.key] = change.old
        elif change.new is None and self._received[change.key] is None:
            del self._received[change.key]  # the subscriber has never received it
        self._wake()

    def take(self, objects: Mapping[Key, Stored]) -> Change | None:
        """Remove the first object and return its change since the subscriber last received it;
        None if there is none. ``objects`` are the objects of the store.
        """
        while self._received:
            key = next(iter(self._received))
            old, new = self._received.pop(key), objects.get(key)
            if not equal(old, new):
                return Change(key, old, new)
        return None

"""The state of a wait for a condition, without any I/O."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import grpc

from kubeconnect._conditions import Condition, check
from kubeconnect._errors import WaitTimeout
from kubeconnect._events import Event, EventType
from kubeconnect._messages import as_object
from kubeconnect._objects import Object, is_same
from kubeconnect._reconciling import uid_of
from kubeconnect._watch_spec import WatchSpec

STATE, MATCH = "state", "match"


class WaitSession:
    """A wait for one object.

    The watch STATE has the object in any state. If the service evaluates the condition, the
    watch MATCH has the object while it matches.
    """

    def __init__(self, resource: str, path: str, condition: Condition[Any]) -> None:
        """Begin without an event. ``path`` is the name, with the namespace if there is one."""
        if callable(condition):
            function = condition
            self._check = check(lambda _: function(self.found))
        else:
            self._check = check(condition)
        text = condition if isinstance(condition, str) else "the condition"
        self._goal = f"{text} of {resource} {path}"
        self._exists = False
        self.found: Any = None
        """The last state of the object, as it was received: an Object or a message. None if it
        was never seen."""
        self.object: Object | None = None
        """The same as an Object, by which it is judged."""

    def watches(self, spec: WatchSpec[Any]) -> dict[str, WatchSpec[Any]]:
        """Return the watches that the wait needs."""
        metadata_only = self._check.metadata_only and isinstance(spec.resource, str)
        state = replace(spec, metadata_only=metadata_only)
        if self._check.filter is None:
            return {STATE: state}
        return {STATE: state, MATCH: replace(spec, filter=self._check.filter)}

    def receive(self, key: str, event: Event[Any]) -> bool:
        """Read an event, and return whether the condition is met.

        Raises WaitTimeout if the condition will not be met without another change.
        """
        if key == MATCH:
            return self._receive_match(event)
        if event.type is EventType.RESET:
            self._exists = False
        elif event.type is EventType.SYNCED:
            return self._check.by_absence and not self._exists
        elif event.type is EventType.DELETED:
            if self._exists and not is_same(uid_of(self.found), uid_of(event.object)):
                return False  # its predecessor
            self._exists = False
            # The deletion may have happened while disconnected, and then has no content.
            if not _is_bare(event.object):
                self._see(event.object)
            return self._check.by_absence
        elif event.object:
            return self._receive_state(event.object)
        return False

    def _receive_match(self, event: Event[Any]) -> bool:
        if event.object is None or event.type is EventType.DELETED:
            return False
        self._see(event.object)
        return True

    def _see(self, found: Any) -> Object:
        self.found = found
        self.object = found if isinstance(found, Object) else as_object(found)
        return self.object

    def _receive_state(self, found: Any) -> bool:
        state = self._see(found)
        self._exists = True
        if self._check.is_met(state):
            return True
        if (failure := self._check.failure(state)) is not None:
            raise self._error(f"waiting for {self._goal} failed: {failure}")
        return False

    def timeout(self, seconds: float) -> WaitTimeout:
        """Return the error of a wait that took too long, with the last state."""
        return self._error(f"{self._goal}: not met within {seconds:g} seconds")

    def _error(self, problem: str) -> WaitTimeout:
        if self.object is None:
            state = "it does not exist"
        elif not self._exists:
            state = "it was deleted"
        else:
            state = self._check.describe(self.object)
        message = f"{problem}; last state: {state}"
        return WaitTimeout(grpc.StatusCode.DEADLINE_EXCEEDED, message, object=self.object)


def _is_bare(found: Any) -> bool:
    """Return whether a deleted object was sent without content."""
    if isinstance(found, Object):
        return found.error is not None
    return not found.metadata.HasField("creationTimestamp")

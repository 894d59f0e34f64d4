"""The state of a wait for a condition, without any I/O."""

from __future__ import annotations

from dataclasses import replace

import grpc

from kubeconnect._conditions import Condition, check
from kubeconnect._errors import WaitTimeout
from kubeconnect._events import Event, EventType
from kubeconnect._objects import Object
from kubeconnect._watch_spec import WatchSpec

STATE, MATCH = "state", "match"


class WaitSession:
    """A wait for one object.

    The watch STATE has the object in any state. If the service evaluates the condition, the
    watch MATCH has the object while it matches.
    """

    def __init__(self, resource: str, path: str, condition: Condition) -> None:
        """Begin without an event. ``path`` is the name, with the namespace if there is one."""
        self._check = check(condition)
        text = condition if isinstance(condition, str) else "the condition"
        self._goal = f"{text} of {resource} {path}"
        self._exists = False
        self.object: Object | None = None
        """The last state of the object; None if it was never seen."""

    def watches(self, spec: WatchSpec) -> dict[str, WatchSpec]:
        """Return the watches that the wait needs."""
        state = replace(spec, metadata_only=self._check.metadata_only)
        if self._check.filter is None:
            return {STATE: state}
        return {STATE: state, MATCH: replace(spec, filter=self._check.filter)}

    def receive(self, key: str, event: Event) -> bool:
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
            self._exists = False
            # The deletion may have happened while disconnected, and then has no content.
            self.object = self.object if event.object.error else event.object
            return self._check.by_absence
        elif event.object:
            return self._receive_state(event.object)
        return False

    def _receive_match(self, event: Event) -> bool:
        if event.object is None or event.type is EventType.DELETED:
            return False
        self.object = event.object
        return True

    def _receive_state(self, object: Object) -> bool:
        self.object = object
        self._exists = True
        if self._check.is_met(object):
            return True
        if (failure := self._check.failure(object)) is not None:
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

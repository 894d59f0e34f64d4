"""Whole objects from a watch that is sent patches."""

from __future__ import annotations

import json
from typing import Any

import grpc

from kubeconnect.errors import KubeconnectError
from kubeconnect.v1 import object_pb2
from kubeconnect.v1 import resource_service_pb2 as pb


class HeldObjects:
    """What a watch has told: what the patches to come are to. Not safe for concurrent use."""

    def __init__(self) -> None:
        """Hold nothing."""
        self._objects: dict[tuple[str, str], object_pb2.Object] = {}

    def whole(self, event: pb.Event) -> pb.Event:
        """Return the event with its object whole, and hold what it tells.

        Raises KubeconnectError where a patch is to what is not held.
        """
        key = (event.object.namespace, event.object.name)
        if event.patch:
            event = self._patched(event, self._objects.get(key))
        if event.type == pb.EVENT_TYPE_RESET:
            self._objects.clear()
        elif event.type == pb.EVENT_TYPE_DELETED:
            self._objects.pop(key, None)
        elif event.type in (pb.EVENT_TYPE_ADDED, pb.EVENT_TYPE_MODIFIED):
            self._objects[key] = event.object
        return event

    def _patched(self, event: pb.Event, held: object_pb2.Object | None) -> pb.Event:
        if held is None or not held.json or held.uid != event.object.uid:
            message = f"a patch to {event.object.name}, which is not held"
            raise KubeconnectError(grpc.StatusCode.DATA_LOSS, message)
        content = merge(json.loads(held.json), json.loads(event.object.json))
        whole = pb.Event(type=event.type, object=event.object)
        whole.resource_version = event.resource_version
        whole.object.json = json.dumps(content, separators=(",", ":")).encode()
        return whole


def merge(target: Any, patch: Any) -> Any:
    """Return what a JSON merge patch (RFC 7386) makes of a value, which is used up."""
    if not isinstance(patch, dict):
        return patch
    if not isinstance(target, dict):
        target = {}
    for name, value in patch.items():
        if value is None:
            target.pop(name, None)
        else:
            target[name] = merge(target.get(name), value)
    return target

"""Reconstruction of complete objects from the patches of a watch."""

from __future__ import annotations

import json
import re
from typing import Any

import grpc

from kubeconnect._errors import KubeconnectError
from kubeconnect._objects import is_same
from kubeconnect.v1 import object_pb2, watch_pb2

_PATH = re.compile(r"(/([^/~]|~[01])*)+")
_INDEX = re.compile(r"0|[1-9][0-9]*")


class ObjectCache:
    """The objects that a watch has delivered, to which later patches are applied. Not safe for
    concurrent use.
    """

    def __init__(self) -> None:
        """Begin without objects."""
        self._objects: dict[tuple[str, str], object_pb2.Object] = {}

    def complete(self, event: watch_pb2.Event) -> watch_pb2.Event:
        """Return the event with its complete object, and cache the object.

        Raises KubeconnectError if the object of a patch is not cached, or the patch does not
        apply to it. All objects are dropped then, because the change in that patch is lost.
        """
        key = (event.object.namespace, event.object.name)
        if event.patch_format:
            try:
                event = self._patched(event, self._objects.get(key))
            except KubeconnectError:
                self._objects.clear()
                raise
        if event.type == watch_pb2.EVENT_TYPE_RESET:
            self._objects.clear()
        elif event.type == watch_pb2.EVENT_TYPE_DELETED:
            if (cached := self._objects.get(key)) and is_same(cached.uid, event.object.uid):
                del self._objects[key]
        elif event.type in (watch_pb2.EVENT_TYPE_ADDED, watch_pb2.EVENT_TYPE_MODIFIED):
            self._objects[key] = event.object
        return event

    def _patched(self, event: watch_pb2.Event, cached: object_pb2.Object | None) -> watch_pb2.Event:
        name = event.object.name
        if event.patch_format != watch_pb2.PATCH_FORMAT_JSON:
            raise _data_loss(f"patch of {name} has a format that was not requested")
        if cached is None or not cached.json or cached.uid != event.object.uid:
            raise _data_loss(f"patch of {name}, which is not cached")
        try:
            content = json.loads(cached.json)
            apply_patch(content, json.loads(event.object.json))
        except ValueError as error:
            raise _data_loss(f"patch of {name} does not apply: {error}") from error
        completed = watch_pb2.Event(type=event.type, object=event.object)
        completed.resource_version = event.resource_version
        completed.object.json = json.dumps(content, separators=(",", ":")).encode()
        return completed


def apply_patch(target: Any, operations: Any) -> None:
    """Apply a JSON patch (RFC 6902) of "add", "remove" and "replace" to a value, in place.

    Raises ValueError at the first operation that does not apply.
    """
    if not isinstance(operations, list):
        raise ValueError("not a list of operations")
    for operation in operations:
        match operation:
            case {"op": "add", "path": str(path), "value": value}:
                container, key = _find(target, path, adding=True)
                if isinstance(container, list):
                    container.insert(key, value)
                else:
                    container[key] = value
            case {"op": "remove", "path": str(path)}:
                container, key = _find(target, path)
                del container[key]
            case {"op": "replace", "path": str(path), "value": value}:
                container, key = _find(target, path)
                container[key] = value
            case _:
                raise ValueError("an operation is not add, remove or replace")


def _find(target: Any, path: str, *, adding: bool = False) -> tuple[Any, Any]:
    """Return the object or list that contains the target of a path (RFC 6901), and the key or
    index in it.
    """
    if not _PATH.fullmatch(path):
        raise ValueError(f"{path!r} is not a path")
    *parents, last = [name.replace("~1", "/").replace("~0", "~") for name in path.split("/")[1:]]
    for name in parents:
        target = target[_key(target, name, path)]
    return target, _key(target, last, path, adding=adding)


def _key(container: Any, name: str, path: str, *, adding: bool = False) -> str | int:
    if isinstance(container, dict) and (adding or name in container):
        return name
    if (
        isinstance(container, list)
        and _INDEX.fullmatch(name)
        and int(name) < len(container) + adding
    ):
        return int(name)
    raise ValueError(f"path {path!r} does not exist")


def _data_loss(message: str) -> KubeconnectError:
    return KubeconnectError(grpc.StatusCode.DATA_LOSS, message)

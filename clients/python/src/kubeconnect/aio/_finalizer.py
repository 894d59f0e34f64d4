"""Finalizers of controllers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from typing import Any, TypeAlias

from kubeconnect._concurrency.aio import invoke
from kubeconnect._errors import NotFound
from kubeconnect._kinds import KindMessage
from kubeconnect._objects import Object
from kubeconnect._reconciling import ObjectKey, Requeue, key_of, requeue_seconds, uid_of
from kubeconnect._writes import PatchType
from kubeconnect.aio._client import AsyncClient

Finalize: TypeAlias = Callable[[Any], Awaitable[Requeue] | Requeue]
"""A function that is called with an object that is being deleted."""


class AsyncFinalizer:
    """Keeps the objects of a resource from being deleted before a function has finalized them."""

    def __init__(self, client: AsyncClient, resource: str, name: str, function: Finalize) -> None:
        """Call ``function`` before the finalizer ``name`` is removed."""
        self._client = client
        self._resource = resource
        self._name = name
        self._function = function
        self._finalized: dict[ObjectKey, str] = {}  # UIDs, while the store has the objects

    def protects(self, obj: Object | KindMessage) -> bool:
        """Return whether the object has the finalizer."""
        return self._name in _finalizers(obj)

    async def add(self, obj: Object | KindMessage) -> None:
        """Add the finalizer. The change leads to the next call of the controller."""
        await self._replace(obj, [*_finalizers(obj), self._name])

    def is_due(self, obj: Object | KindMessage) -> bool:
        """Return whether the object is being deleted."""
        if isinstance(obj, Object):
            return obj.deleting
        return obj.metadata.HasField("deletionTimestamp")

    async def finalize(self, obj: Object | KindMessage) -> float | None:
        """Call the function, and remove the finalizer, unless the function has returned the
        delay after which to call it again. Return that delay. Nothing is done for an object whose
        finalizer was removed already, which the store may not know yet.
        """
        if not self.protects(obj) or self._finalized.get(key_of(obj)) == uid_of(obj):
            return None
        delay = requeue_seconds(await invoke(self._function, obj))
        if delay is None:
            await self._replace(obj, [each for each in _finalizers(obj) if each != self._name])
            self._finalized[key_of(obj)] = uid_of(obj)
        return delay

    def forget(self, key: ObjectKey) -> None:
        """Forget an object that the store does not have any more."""
        self._finalized.pop(key, None)

    async def _replace(self, obj: Object | KindMessage, finalizers: Iterable[str]) -> None:
        """Write the finalizers, unless the object has changed since it was read, or is gone."""
        with suppress(NotFound):
            await self._client.patch(
                self._resource,
                key_of(obj).name,
                {"metadata": {"finalizers": list(finalizers)}},
                type=PatchType.MERGE,
                namespace=key_of(obj).namespace,
                uid=uid_of(obj),
                resource_version=_version(obj),
            )


def _version(obj: Object | KindMessage) -> str:
    return obj.resource_version if isinstance(obj, Object) else obj.metadata.resourceVersion


def _finalizers(obj: Object | KindMessage) -> list[str]:
    if isinstance(obj, Object):
        return list(obj["metadata"].get("finalizers") or [])
    return list(obj.metadata.finalizers)

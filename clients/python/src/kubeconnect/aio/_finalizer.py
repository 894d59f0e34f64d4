"""Finalizers of controllers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import TypeAlias

from kubeconnect._concurrency.aio import invoke
from kubeconnect._objects import Object
from kubeconnect._reconciling import Requeue, requeue_seconds
from kubeconnect._writes import PatchType
from kubeconnect.aio._client import AsyncClient

Finalize: TypeAlias = Callable[[Object], Awaitable[Requeue] | Requeue]
"""A function that is called with an object that is being deleted."""


class AsyncFinalizer:
    """Keeps the objects of a resource from being deleted before a function has finalized them."""

    def __init__(self, client: AsyncClient, resource: str, name: str, function: Finalize) -> None:
        """Call ``function`` before the finalizer ``name`` is removed."""
        self._client = client
        self._resource = resource
        self._name = name
        self._function = function

    def protects(self, obj: Object) -> bool:
        """Return whether the object has the finalizer."""
        return self._name in _finalizers(obj)

    async def add(self, obj: Object) -> None:
        """Add the finalizer. The change leads to the next call of the controller."""
        await self._replace(obj, [*_finalizers(obj), self._name])

    async def finalize(self, obj: Object) -> float | None:
        """Call the function, and remove the finalizer, unless the function has returned the
        delay after which to call it again. Return that delay.
        """
        if not self.protects(obj):
            return None
        delay = requeue_seconds(await invoke(self._function, obj))
        if delay is None:
            await self._replace(obj, [each for each in _finalizers(obj) if each != self._name])
        return delay

    async def _replace(self, obj: Object, finalizers: Iterable[str]) -> None:
        """Write the finalizers, unless the object has changed since it was read."""
        await self._client.patch(
            self._resource,
            obj.name,
            {"metadata": {"finalizers": list(finalizers)}},
            type=PatchType.MERGE,
            namespace=obj.namespace,
            uid=obj.uid,
            resource_version=obj.resource_version,
        )


def _finalizers(obj: Object) -> list[str]:
    found: list[str] = obj["metadata"].get("finalizers") or []
    return found

"""The keys that a controller reconciles, and the objects that lead to them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Any, NamedTuple, TypeAlias

from kubeconnect._objects import Object, Resource

Requeue: TypeAlias = float | timedelta | None
"""The result of a reconcile: the delay after which to reconcile the key again, in seconds or as
a timedelta; None to wait for a change."""


class ObjectKey(NamedTuple):
    """The namespace and name of an object."""

    namespace: str | None
    """The namespace; None for a cluster-scoped object."""
    name: str
    """The name."""

    def __str__(self) -> str:
        """Return "namespace/name", or the name of a cluster-scoped object."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


Mapper: TypeAlias = Callable[[Object], Iterable[tuple[str | None, str]]]
"""A function that returns the keys to reconcile when an object has changed."""

OWNER_INDEX = "kubeconnect.owner"
"""The index of owned objects by the UID of their controller."""


def key_of(obj: Object) -> ObjectKey:
    """Return the key of an object."""
    return ObjectKey(obj.namespace, obj.name)


def owner_reference(owner: Object) -> dict[str, Any]:
    """Return the owner reference of an object whose controller is ``owner``, for
    ``metadata.ownerReferences``. It is deleted after its owner.
    """
    return {
        "apiVersion": owner.resource.api_version,
        "kind": owner.resource.kind,
        "name": owner.name,
        "uid": owner.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }


def owner_uid(obj: Object) -> str | None:
    """Return the UID of the object's controller; None if it has none."""
    reference = _controller(obj)
    return reference.get("uid") if reference else None


def owner_key(obj: Object, owner: Resource | None) -> ObjectKey | None:
    """Return the key of the object's controller, if that is of the resource ``owner``.

    None also if the resource is not known yet. There is no object of it then, and when there
    is one, its own addition leads to its key.
    """
    reference = _controller(obj)
    if reference is None or owner is None:
        return None
    group = reference.get("apiVersion", "").rpartition("/")[0]
    if (group, reference.get("kind")) != (owner.group, owner.kind):
        return None
    return ObjectKey(obj.namespace if owner.namespaced else None, reference["name"])


def _controller(obj: Object) -> dict[str, Any] | None:
    """Return the owner reference of the object's controller. There is at most one."""
    if obj.error:
        return None
    references = obj["metadata"].get("ownerReferences") or ()
    return next((each for each in references if each.get("controller")), None)


def requeue_seconds(result: object) -> float | None:
    """Return the result of a reconcile in seconds. Raises TypeError for any other result."""
    if result is None:
        return None
    if isinstance(result, timedelta):
        return result.total_seconds()
    if isinstance(result, int | float) and not isinstance(result, bool):
        return float(result)
    raise TypeError(
        f"the reconcile function returned {result!r}: return None, or a delay in seconds or as a "
        "timedelta"
    )

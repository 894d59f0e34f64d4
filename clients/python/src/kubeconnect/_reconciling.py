"""The keys that a controller reconciles, and the objects that lead to them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from kubeconnect._kinds import KindMessage, kind_of
from kubeconnect._objects import Object, Resource

if TYPE_CHECKING:
    from kubeconnect.k8s.meta.v1 import OwnerReference

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


Mapper: TypeAlias = Callable[[Any], Iterable[tuple[str | None, str]]]
"""A function that returns the keys to reconcile when an object has changed."""

OWNER_INDEX = "kubeconnect.owner"
"""The index of owned objects by the UID of their controller."""


def key_of(obj: Object | KindMessage) -> ObjectKey:
    """Return the key of an object."""
    if isinstance(obj, Object):
        return ObjectKey(obj.namespace, obj.name)
    return ObjectKey(obj.metadata.namespace or None, obj.metadata.name)


def owner_reference(owner: Object | KindMessage) -> dict[str, Any]:
    """Return the owner reference of an object whose controller is ``owner``, for
    ``metadata.ownerReferences``: ``OwnerReference(**owner_reference(owner))`` in a message. The
    object is deleted after its owner.
    """
    kind = owner.resource if isinstance(owner, Object) else kind_of(owner)
    return {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "name": key_of(owner).name,
        "uid": uid_of(owner),
        "controller": True,
        "blockOwnerDeletion": True,
    }


def uid_of(obj: Object | KindMessage) -> str:
    """Return the UID of an object."""
    return obj.uid if isinstance(obj, Object) else obj.metadata.uid


def owner_uid(obj: Object | KindMessage) -> str | None:
    """Return the UID of the object's controller; None if it has none."""
    reference = _controller(obj)
    return reference.get("uid") if reference else None


def owner_key(obj: Object | KindMessage, owner: Resource | None) -> ObjectKey | None:
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
    return ObjectKey(key_of(obj).namespace if owner.namespaced else None, reference["name"])


def _controller(obj: Object | KindMessage) -> dict[str, Any] | None:
    """Return the owner reference of the object's controller. There is at most one."""
    if not isinstance(obj, Object):
        found = (each for each in obj.metadata.ownerReferences if each.controller)
        return next((_as_dict(each) for each in found), None)
    if obj.error:
        return None
    references = obj["metadata"].get("ownerReferences") or ()
    return next((each for each in references if each.get("controller")), None)


def _as_dict(reference: OwnerReference) -> dict[str, Any]:
    return {
        "apiVersion": reference.apiVersion,
        "kind": reference.kind,
        "name": reference.name,
        "uid": reference.uid,
    }


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

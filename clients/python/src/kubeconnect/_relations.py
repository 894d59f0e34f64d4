"""Relations between objects."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from kubeconnect.v1 import relation_pb2 as pb


class RelationType(enum.Enum):
    """The type of a relation to another object."""

    OWNED_BY = pb.RELATION_TYPE_OWNED_BY
    """See ``owned_by``."""
    SELECTED_BY = pb.RELATION_TYPE_SELECTED_BY
    """See ``selected_by``."""
    ABOUT = pb.RELATION_TYPE_ABOUT
    """See ``about``."""
    OWNER_OF = pb.RELATION_TYPE_OWNER_OF
    """See ``owner_of``."""


@dataclass(frozen=True)
class Relation:
    """Selects objects by their relation to another object, which must exist.

    ``owned_by``, ``selected_by``, ``about`` and ``owner_of`` create relations. The other
    object is named as in ``Client.get``, and the caller needs the permission to get it. With
    a ``uid`` the object must have that UID. It is read when the call begins.
    """

    type: RelationType
    """The type of the relation."""
    resource: str
    """The resource of the other object, named as in kubectl."""
    name: str
    """The name of the other object."""
    namespace: str | None = None
    """The namespace of the other object; None if it has none."""
    uid: str | None = None
    """The UID that the other object must have; None for any."""
    transitive: bool = False
    """Whether objects that are related indirectly are selected too; for ``owned_by`` only."""

    def to_message(self) -> pb.Relation:
        """Return the API's message."""
        return pb.Relation(
            type=self.type.value,
            resource=self.resource,
            namespace=self.namespace,
            name=self.name,
            uid=self.uid,
            transitive=self.transitive,
        )


def owned_by(
    resource: str,
    name: str,
    *,
    namespace: str | None = None,
    uid: str | None = None,
    transitive: bool = False,
) -> Relation:
    """Select the objects that this object owns. With a ``uid`` it must have that UID.

    With ``transitive`` also those that it owns indirectly, such as the pods of a
    deployment, which its replica sets own. A watch does not support ``transitive``: use
    ``selected_by`` there.
    """
    return Relation(RelationType.OWNED_BY, resource, name, namespace, uid, transitive)


def selected_by(
    resource: str, name: str, *, namespace: str | None = None, uid: str | None = None
) -> Relation:
    """Select the objects that match this object's own selector: the pods of a service, a
    deployment, a job or a disruption budget. With a ``uid`` it must have that UID. The call
    raises InvalidArgument if the kind has no selector.
    """
    return Relation(RelationType.SELECTED_BY, resource, name, namespace, uid)


def about(
    resource: str, name: str, *, namespace: str | None = None, uid: str | None = None
) -> Relation:
    """Select the events about this object. Only for the resource "events". With a ``uid`` the
    object must have that UID.
    """
    return Relation(RelationType.ABOUT, resource, name, namespace, uid)


def owner_of(
    resource: str, name: str, *, namespace: str | None = None, uid: str | None = None
) -> Relation:
    """Select the owners of this object. With a ``uid`` it must have that UID."""
    return Relation(RelationType.OWNER_OF, resource, name, namespace, uid)

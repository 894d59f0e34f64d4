"""What objects have to do with each other."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from kubeconnect.v1 import resource_service_pb2 as pb


class RelationType(enum.Enum):
    """What objects have to do with another one."""

    OWNED_BY = pb.RELATION_TYPE_OWNED_BY
    SELECTED_BY = pb.RELATION_TYPE_SELECTED_BY
    ABOUT = pb.RELATION_TYPE_ABOUT
    OWNER_OF = pb.RELATION_TYPE_OWNER_OF


@dataclass(frozen=True)
class Relation:
    """Selects objects by what they have to do with another one, which must be there.

    Made by ``owned_by``, ``selected_by``, ``about`` and ``owner_of``. The other object is
    named as in ``Client.get``, and you must have the right to get it; with a ``uid`` it
    must have that. It is looked up when the call begins.
    """

    type: RelationType
    resource: str
    name: str
    namespace: str = ""
    uid: str = ""
    transitive: bool = False

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
    resource: str, name: str, *, namespace: str = "", uid: str = "", transitive: bool = False
) -> Relation:
    """Select what this object owns.

    With ``transitive`` over any number of owners: the pods of a deployment, which its
    replica sets own. Not in a watch, where ``selected_by`` selects these.
    """
    return Relation(RelationType.OWNED_BY, resource, name, namespace, uid, transitive)


def selected_by(resource: str, name: str, *, namespace: str = "", uid: str = "") -> Relation:
    """Select what this object's own selector selects: the pods of a service, a deployment,
    a job or a disruption budget. Raises InvalidArgument if its kind has no selector.
    """
    return Relation(RelationType.SELECTED_BY, resource, name, namespace, uid)


def about(resource: str, name: str, *, namespace: str = "", uid: str = "") -> Relation:
    """Select the events about this object; for the resource "events" only."""
    return Relation(RelationType.ABOUT, resource, name, namespace, uid)


def owner_of(resource: str, name: str, *, namespace: str = "", uid: str = "") -> Relation:
    """Select what owns this object."""
    return Relation(RelationType.OWNER_OF, resource, name, namespace, uid)

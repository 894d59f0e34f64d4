"""Related objects that are returned with each object of a list."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Literal, TypeAlias

from kubeconnect._choices import Choice
from kubeconnect._reads import paths
from kubeconnect._requests import checked
from kubeconnect.v1 import join_pb2 as pb


class JoinType(Choice):
    """How related objects relate to a row, which is an object of the list. The strings are
    accepted too: ``Join("named_by", ...)``.
    """

    NAMED_BY = "named_by", pb.JOIN_TYPE_NAMED_BY
    """The objects that the row names at ``path``: the node of a pod by "spec.nodeName"."""
    NAMES = "names", pb.JOIN_TYPE_NAMES
    """The objects that name the row at ``path``: the pods of a node by "spec.nodeName"."""
    OWNER_OF = "owner_of", pb.JOIN_TYPE_OWNER_OF
    """The nearest owner of the row that is of ``resource``: the deployment of a pod, through its
    replica set."""
    SELECTED_BY = "selected_by", pb.JOIN_TYPE_SELECTED_BY
    """The objects that the row's own selector selects: the pods of a deployment or service."""
    SUBJECT_OF = "subject_of", pb.JOIN_TYPE_SUBJECT_OF
    """The object that the row, an event, is about."""


JoinTypeLike: TypeAlias = (
    JoinType | Literal["named_by", "names", "owner_of", "selected_by", "subject_of"]
)


@dataclass(frozen=True)
class Join:
    """The related objects of another resource that ``list`` returns with each object, in
    ``Object.joined``. The node of a pod, with its labels, is
    ``Join("named_by", "nodes", path="spec.nodeName", fields=["metadata.labels"])``.
    """

    type: JoinTypeLike
    """How the related objects relate to the row."""
    resource: str
    """The resource of the related objects, named as in kubectl. It must be one that the service
    caches."""
    _: KW_ONLY
    path: str | None = None
    """The path of the names, for "named_by" and "names"."""
    fields: Iterable[str] | None = None
    """The paths of the fields of related objects to return; None for no objects, only their
    number."""
    filter: str | None = None
    """A CEL expression over ``object`` that must be true for a related object."""
    limit: int | None = None
    """The maximum number of related objects to return for each row, up to 100; the default is 10.
    All are counted."""

    def to_message(self, name: str) -> pb.Join:
        """Return the API's message. Raises TypeError and ValueError for what is no join."""
        return checked(pb.Join)(
            name=name,
            type=JoinType.number_of(self.type),
            resource=self.resource,
            path=self.path,
            fields=paths(self.fields),
            filter=self.filter,
            limit=self.limit,
        )


def messages_of(joins: Mapping[str, Join] | None) -> list[pb.Join]:
    """Return the API's messages. Raises TypeError for what are no named joins."""
    if not isinstance(joins or {}, Mapping):
        raise TypeError('joins must be a mapping with a name for each, such as {"node": Join(...)}')
    return [_checked(name, join).to_message(name) for name, join in (joins or {}).items()]


def _checked(name: str, join: object) -> Join:
    if not isinstance(join, Join):
        raise TypeError(f"the join {name} is a Join, not {join!r}")
    return join

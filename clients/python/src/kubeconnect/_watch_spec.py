"""The specification of one watch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, Generic, TypeVar, cast

from kubeconnect._kinds import KindMessage
from kubeconnect._messages import encoding_of, resource_name
from kubeconnect._reads import paths
from kubeconnect._relations import Relation
from kubeconnect._requests import checked
from kubeconnect._types import T_co
from kubeconnect.v1 import watch_pb2 as pb

M = TypeVar("M", pb.WatchRequest, pb.WatchSpec)


@dataclass(frozen=True)
class WatchSpec(Generic[T_co]):
    """One of the watches of ``Client.watch_many``: the arguments of ``Client.watch``."""

    resource: str | type[T_co]
    """The resource, named as in kubectl, or the class of a built-in kind."""
    _: KW_ONLY
    namespace: str | None = None
    """The namespace; None for all that the caller is allowed to watch."""
    name: str | None = None
    """The name of a single object; None for all."""
    label_selector: str | None = None
    """A selector of labels, as in kubectl."""
    field_selector: str | None = None
    """A selector of fields, as in kubectl."""
    filter: str | None = None
    """A CEL expression over ``object``. An object for which it has no value does not match."""
    related: Relation | None = None
    """A relation to another object, which is evaluated when the stream begins."""
    fields: Iterable[str] | None = None
    """The paths of the fields to deliver; None for all."""
    metadata_only: bool = False
    """Whether only the metadata of objects is delivered."""
    min_resource_version: str | None = None
    """The version that the first snapshot must have reached; None for any."""
    patches: bool = False
    """Whether changed objects are sent as patches, which the watch applies."""
    require_all_namespaces: bool = False
    """Whether the watch raises Forbidden if the caller is not allowed to watch all namespaces."""

    def to_message(self, message: type[M], *, resumes: bool) -> M:
        """Return the API's message, without a resume token. A watch that resumes requests no
        patches, because it has no objects cached.

        Raises TypeError for a class that is not a kind, and ValueError for what a class cannot
        be watched with.
        """
        resource = resource_of(self)
        if not isinstance(resource, str) and (self.metadata_only or self.patches):
            raise ValueError("metadata_only and patches need a resource by its name, not a class")
        return checked(message)(
            resource=resource_name(resource),
            namespace=self.namespace,
            name=self.name,
            label_selector=self.label_selector,
            field_selector=self.field_selector,
            filter=self.filter,
            related=self.related.to_message() if self.related else None,
            fields=paths(self.fields),
            metadata_only=self.metadata_only,
            min_resource_version=self.min_resource_version,
            encoding=encoding_of(resource),
            patch_format=pb.PATCH_FORMAT_JSON if self.patches and not resumes else None,
            require_all_namespaces=self.require_all_namespaces,
        )


def check_keyed(watches: object) -> None:
    """Raise TypeError unless the watches have keys."""
    if not isinstance(watches, Mapping):
        raise TypeError('watches must be a mapping with a key for each, such as {"pods": ...}')


def resource_of(spec: WatchSpec[Any]) -> str | type[KindMessage]:
    """Return the name or the class of the resource of a watch."""
    if not isinstance(spec, WatchSpec):
        raise TypeError(f"a watch among several is a WatchSpec, not {spec!r}")
    return cast("str | type[KindMessage]", spec.resource)

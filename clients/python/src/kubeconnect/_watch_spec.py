"""The specification of one watch."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass

from kubeconnect._reads import paths
from kubeconnect._relations import Relation
from kubeconnect.v1 import watch_pb2 as pb
from kubeconnect.v1.object_pb2 import ENCODING_JSON


@dataclass(frozen=True)
class WatchSpec:
    """One of the watches of ``Client.watch_many``: the arguments of ``Client.watch``."""

    resource: str
    _: KW_ONLY
    namespace: str | None = None
    name: str | None = None
    label_selector: str | None = None
    field_selector: str | None = None
    filter: str | None = None
    related: Relation | None = None
    fields: Iterable[str] | None = None
    metadata_only: bool = False
    min_resource_version: str | None = None
    patches: bool = False
    require_all_namespaces: bool = False

    def to_message(self, *, resumes: bool) -> pb.WatchRequest:
        """Return the API's message. A watch that resumes requests no patches, because it has no
        objects cached.
        """
        return pb.WatchRequest(
            resource=self.resource,
            namespace=self.namespace,
            name=self.name,
            label_selector=self.label_selector,
            field_selector=self.field_selector,
            filter=self.filter,
            related=self.related.to_message() if self.related else None,
            fields=paths(self.fields),
            metadata_only=self.metadata_only,
            min_resource_version=self.min_resource_version,
            encoding=ENCODING_JSON,
            patch_format=pb.PATCH_FORMAT_JSON if self.patches and not resumes else None,
            require_all_namespaces=self.require_all_namespaces,
        )

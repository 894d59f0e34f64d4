"""What the controllers of a cluster do after a write: garbage collection, the end of namespaces,
and the resources of CustomResourceDefinitions. All of it is done within the write.
"""

from __future__ import annotations

from typing import Any

from kubeconnect.testing._cluster import Cluster, Content, Key, owner_references
from kubeconnect.testing._resources import ResourceType
from kubeconnect.testing._writes import DEFINITIONS, WriteOptions, Writes
from kubeconnect.v1 import write_pb2

_FOREGROUND = "foregroundDeletion"
_FINALIZERS: dict[int, str] = {
    write_pb2.PROPAGATION_POLICY_FOREGROUND: _FOREGROUND,
    write_pb2.PROPAGATION_POLICY_ORPHAN: "orphan",
}
_CLEANUP = "customresourcecleanup.apiextensions.k8s.io"


class Collector:
    """Deletes objects with the objects that they own. Guarded by the lock of the cluster."""

    def __init__(self, cluster: Cluster, writes: Writes) -> None:
        """Follow the writes to a cluster."""
        self._cluster = cluster
        self._writes = writes
        writes.written = self._after_write
        writes.created = self._after_create

    def delete(
        self,
        resource: ResourceType,
        key: Key,
        options: WriteOptions,
        *,
        policy: int = write_pb2.PROPAGATION_POLICY_BACKGROUND,
        grace_seconds: int | None = None,
    ) -> Content:
        """Delete an object by a propagation policy, and return its last state."""
        if not policy and resource.has("orphans"):
            policy = write_pb2.PROPAGATION_POLICY_ORPHAN
        before = self._cluster.find(resource, key)
        owned = self._cluster.dependents(before["metadata"]["uid"]) if before else []
        finalizer = _FINALIZERS.get(policy)
        left = self._writes.delete(
            resource,
            key,
            options,
            grace_seconds=grace_seconds,
            finalizer=_CLEANUP if resource.full_name == DEFINITIONS else finalizer,
            waits=resource.full_name == "namespaces",
        )
        if finalizer is None or options.dry_run:
            return left
        if finalizer == _FOREGROUND:
            for dependent, dependent_key in owned:
                self._delete_dependent(dependent, dependent_key)
            self._finish_foreground(resource, key)
        else:
            self._orphan(left["metadata"]["uid"])
            self._remove_finalizer(resource, key, finalizer)
        return left

    def _after_write(
        self, resource: ResourceType, before: Content | None, after: Content | None
    ) -> None:
        if resource.full_name == DEFINITIONS:
            self._follow_definition(resource, before, after)
        if resource.full_name == "namespaces" and after and _is_deleting(after):
            self._empty_namespace(after["metadata"]["name"])
        if after is None and before is not None:
            self._collect(before)
            self._finish_definition(resource)

    def _after_create(self, resource: ResourceType, content: Content) -> None:
        """Delete an object whose owners do not exist."""
        references = owner_references(content)
        namespace = content["metadata"].get("namespace", "")
        if references and all(self._is_absent(each, namespace) for each in references):
            self.delete(resource, (namespace, content["metadata"]["name"]), WriteOptions())

    def _is_absent(self, reference: Content, namespace: str) -> bool:
        """Return whether the owner of an object does not exist, although its kind is served."""
        kind = (reference.get("apiVersion"), reference.get("kind"))
        for resource in self._cluster.registry:
            if (resource.api_version, resource.kind) == kind:
                key = (namespace if resource.namespaced else "", reference["name"])
                found = self._cluster.find(resource, key)
                return found is None or found["metadata"]["uid"] != reference["uid"]
        return False

    def _collect(self, removed: Content) -> None:
        """Delete what a deleted object owned, and finish what waited for it."""
        for resource, key in self._cluster.dependents(removed["metadata"]["uid"]):
            self._delete_dependent(resource, key)
        for reference in owner_references(removed):
            for resource in list(self._cluster.registry):
                if f"{resource.api_version} {resource.kind}" == (
                    f"{reference.get('apiVersion')} {reference.get('kind')}"
                ):
                    namespace = removed["metadata"].get("namespace", "")
                    owner = (namespace if resource.namespaced else "", reference["name"])
                    self._finish_foreground(resource, owner)
        if namespace := removed["metadata"].get("namespace"):
            self._finish_namespace(namespace)

    def _delete_dependent(self, resource: ResourceType, key: Key) -> None:
        """Delete an object, unless it has another owner that exists and stays."""
        content = self._cluster.find(resource, key)
        if content is None:
            return
        staying = [each for each in owner_references(content) if self._stays(each, key[0])]
        if staying:
            self._set_owners(resource, key, staying)
        elif not _is_deleting(content):
            self.delete(resource, key, WriteOptions())

    def _stays(self, reference: Content, namespace: str) -> bool:
        for resource in self._cluster.registry:
            if resource.kind != reference.get("kind"):
                continue
            owner_key = (namespace if resource.namespaced else "", reference["name"])
            owner = self._cluster.find(resource, owner_key)
            if owner and owner["metadata"]["uid"] == reference["uid"]:
                return not _is_deleting(owner)
        return False

    def _orphan(self, uid: str) -> None:
        for resource, key in self._cluster.dependents(uid):
            content = self._cluster.find(resource, key)
            kept = [each for each in owner_references(content) if each["uid"] != uid]
            self._set_owners(resource, key, kept)

    def _set_owners(self, resource: ResourceType, key: Key, owners: list[Content]) -> None:
        def change(content: Content) -> Content:
            metadata = {**content["metadata"], "ownerReferences": owners}
            return {**content, "metadata": metadata}

        self._writes.update(resource, key, change, WriteOptions())

    def _finish_foreground(self, resource: ResourceType, key: Key) -> None:
        """Remove an object that waits for the deletion of what it owns, if nothing is left."""
        content = self._cluster.find(resource, key)
        finalizers = (content or {"metadata": {}})["metadata"].get("finalizers") or []
        if content is not None and _FOREGROUND in finalizers and not self._is_blocked(content):
            self._remove_finalizer(resource, key, _FOREGROUND)

    def _remove_finalizer(self, resource: ResourceType, key: Key, finalizer: str) -> None:
        """Remove a finalizer, and with the last one the object."""

        def change(content: Content) -> Content:
            metadata = content["metadata"]
            kept = [each for each in metadata.get("finalizers") or () if each != finalizer]
            return {**content, "metadata": {**metadata, "finalizers": kept}}

        if self._cluster.find(resource, key) is not None:
            self._writes.update(resource, key, change, WriteOptions())

    def _is_blocked(self, owner: Content) -> bool:
        uid = owner["metadata"]["uid"]
        for resource, key in self._cluster.dependents(uid):
            for reference in owner_references(self._cluster.find(resource, key)):
                if reference["uid"] == uid and reference.get("blockOwnerDeletion"):
                    return True
        return False

    def _empty_namespace(self, namespace: str) -> None:
        for resource in list(self._cluster.registry):
            for key in self._cluster.objects(resource) if resource.namespaced else ():
                content = self._cluster.find(resource, key)
                if key[0] == namespace and content and not _is_deleting(content):
                    self.delete(resource, key, WriteOptions(), grace_seconds=0)
        self._finish_namespace(namespace)

    def _finish_namespace(self, namespace: str) -> None:
        """Remove a deleted namespace that has no objects."""
        namespaces = self._cluster.registry.find("namespaces")
        content = self._cluster.find(namespaces, ("", namespace))
        if content is None or not _is_deleting(content) or self._has_objects(namespace):
            return
        self._writes.remove(namespaces, ("", namespace))

    def _has_objects(self, namespace: str) -> bool:
        return any(
            key[0] == namespace
            for resource in self._cluster.registry
            if resource.namespaced
            for key in self._cluster.objects(resource)
        )

    def _follow_definition(
        self, resource: ResourceType, before: Content | None, after: Content | None
    ) -> None:
        registry = self._cluster.registry
        old = resource_of_definition(before) if before else None
        new = resource_of_definition(after) if after else None
        if after and new and _is_deleting(after):
            self._empty_definition(new)
        if old and not new:
            for key in self._cluster.objects(old):
                self._writes.remove(old, key)
            registry.remove(old)
            self._cluster.changed.notify_all()
        if new and after and new != old:
            registry.add(new)
            conditions = [{"type": "NamesAccepted", "status": "True"}]
            conditions.append({"type": "Established", "status": "True"})
            status = {"acceptedNames": after["spec"]["names"], "conditions": conditions}
            key = ("", after["metadata"]["name"])
            self._cluster.record(resource, key, {**after, "status": status})

    def _empty_definition(self, defined: ResourceType) -> None:
        """Delete the objects of a resource whose definition is deleted."""
        for key, content in self._cluster.objects(defined).items():
            if not _is_deleting(content):
                self.delete(defined, key, WriteOptions())
        self._finish_definition(defined)

    def _finish_definition(self, defined: ResourceType) -> None:
        """Remove a deleted definition that has no objects."""
        definitions = self._cluster.registry.find(DEFINITIONS)
        key = ("", defined.full_name)
        content = self._cluster.find(definitions, key)
        if content and _is_deleting(content) and not self._cluster.objects(defined):
            self._remove_finalizer(definitions, key, _CLEANUP)


def _is_deleting(content: Content) -> bool:
    return "deletionTimestamp" in content["metadata"]


def resource_of_definition(definition: Content) -> ResourceType:
    """Return the resource that a CustomResourceDefinition defines, in its stored version."""
    spec: dict[str, Any] = definition["spec"]
    names = spec["names"]
    version = next(each for each in spec["versions"] if each.get("storage"))
    return ResourceType(
        group=spec["group"],
        version=version["name"],
        kind=names["kind"],
        plural=names["plural"],
        namespaced=spec["scope"] == "Namespaced",
        short_names=tuple(names.get("shortNames") or ()),
        categories=tuple(names.get("categories") or ()),
        subresources=tuple(sorted(version.get("subresources") or ())),
        fields=tuple(
            each["jsonPath"].lstrip(".") for each in version.get("selectableFields") or ()
        ),
        schema=(version.get("schema") or {}).get("openAPIV3Schema"),
    )

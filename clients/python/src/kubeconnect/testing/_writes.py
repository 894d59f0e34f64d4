"""Writes to the fake cluster, by the rules of the API server."""

from __future__ import annotations

import random
import uuid
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone

from kubeconnect._errors import AlreadyExists, Internal, Invalid, InvalidArgument, KubeconnectError
from kubeconnect.testing._apply import Manager, Ownership
from kubeconnect.testing._cluster import Cluster, Content, Key
from kubeconnect.testing._failures import (
    bad_request,
    conflict,
    failure,
    forbidden,
    invalid,
    modified,
    not_found,
)
from kubeconnect.testing._fields import known_fields
from kubeconnect.testing._keyed_data import check_keys, without_text
from kubeconnect.testing._metadata import check_metadata
from kubeconnect.testing._resources import ResourceType
from kubeconnect.v1 import write_pb2
from kubeconnect.v1.status_pb2 import StatusCause

_SUFFIX = "bcdfghjklmnpqrstvwxz2456789"
_ASSIGNED = (
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "generation",
)
"""The metadata that only the API server sets."""
_FIRST_STATUS: dict[str, Content] = {
    "pods": {"phase": "Pending"},
    "namespaces": {"phase": "Active"},
}
_ANY_VERSION = ("", "0")
DEFINITIONS = "customresourcedefinitions.apiextensions.k8s.io"
_PERMANENT = ("default", "kube-public", "kube-system")
"""The namespaces that cannot be deleted."""
POD_GRACE_SECONDS = 30


@dataclass(frozen=True)
class Preconditions:
    """The conditions of a write; "" for any."""

    uid: str = ""
    resource_version: str = ""


@dataclass(frozen=True)
class WriteOptions:
    """The options of a write."""

    manager: str = "kubeconnect"
    dry_run: bool = False
    preconditions: Preconditions = Preconditions()
    validation: int = 0
    """The handling of unknown fields: a FieldValidation of the API."""
    is_patch: bool = False
    applies: bool = False
    """Whether unknown fields are always rejected."""
    warnings: list[str] = field(default_factory=list)
    """Receives the warnings of the write."""


class Writes:
    """Creates, changes and deletes objects. Guarded by the lock of the cluster."""

    def __init__(self, cluster: Cluster) -> None:
        """Write to a cluster."""
        self._cluster = cluster
        self._owners: defaultdict[str, Ownership] = defaultdict(Ownership)
        self.written: Callable[[ResourceType, Content | None, Content | None], None] = (
            lambda resource, before, after: None
        )
        """Called after each write with the states before and after it."""
        self.created: Callable[[ResourceType, Content], None] = lambda resource, content: None
        """Called after an object was created by a client."""

    def put(self, resource: ResourceType, content: Content) -> Content:
        """Create or replace an object as the cluster does: with its status, and unconditionally."""
        content = without_text(resource, content)
        metadata = content["metadata"]
        key = (metadata.get("namespace", ""), metadata["name"])
        before = self._cluster.find(resource, key)
        given = {each: metadata[each] for each in _ASSIGNED if metadata.get(each) is not None}
        if before is None:
            content = _identified(resource, content, key)
            content = {**content, "metadata": {**content["metadata"], **given}}
        else:
            old = before["metadata"]
            kept = {each: old[each] for each in _ASSIGNED if each in old}
            content = _typed(resource, content, {**kept, **metadata})
            content = content if "generation" in given else _counted(resource, before, content)
        return self._save(resource, before, content, Manager("cluster", applies=False))

    def create(
        self,
        resource: ResourceType,
        namespace: str,
        body: Content,
        options: WriteOptions,
        manager: Manager | None = None,
    ) -> Content:
        """Create an object. Raises AlreadyExists, Invalid, and NotFound for the namespace."""
        _check_kind(resource, body, InvalidArgument)
        body = _known(resource, body, options)
        metadata = body.get("metadata") or {}
        namespace = namespace_of(resource, namespace, metadata)
        if metadata.get("resourceVersion"):
            raise failure(Internal, "resourceVersion should not be set on objects to be created")
        name = metadata.get("name") or _generated(resource, metadata)
        content = _identified(resource, body, (namespace, name))
        if "status" in resource.subresources:
            content = _with_status(resource, content, _FIRST_STATUS.get(resource.plural))
        _check_valid(resource, content)
        self._check_namespace(resource, namespace, name)
        self._check_definition(resource, name)
        if self._cluster.find(resource, (namespace, name)) is not None:
            message = f'{resource.full_name} "{name}" already exists'
            raise failure(AlreadyExists, message, resource=resource, name=name)
        if options.dry_run:
            return content
        saved = self._save(resource, None, content, manager or _updater(options))
        self.created(resource, saved)
        return saved

    def update(
        self,
        resource: ResourceType,
        key: Key,
        change: Callable[[Content], Content],
        options: WriteOptions,
        *,
        status: bool = False,
        owner: Manager | None = None,
    ) -> Content:
        """Replace an object by what ``change`` returns for it; with ``status`` only its status,
        else all but its status. Raises NotFound, Conflict and Invalid.
        """
        before = self._find(resource, key)
        check_preconditions(resource, before, options.preconditions)
        wanted = change(before)
        _check_kind(resource, wanted, Invalid if options.is_patch else InvalidArgument)
        wanted = _known(resource, wanted, options)
        if resource.has("versioned") and not options.preconditions.resource_version:
            _check_versioned(resource, before, wanted)
        self._check_identity(resource, before, wanted)
        content = _merged(resource, before, wanted, status=status)
        _check_valid(resource, content, before)
        if content == before:
            return before
        content = _counted(resource, before, content)
        if options.dry_run:
            return content
        if _is_finished(content["metadata"]):
            self._remove(resource, key)
            return content
        return self._save(resource, before, content, owner or _updater(options))

    def apply(
        self,
        resource: ResourceType,
        key: Key,
        body: Content,
        options: WriteOptions,
        *,
        force: bool,
        status: bool,
    ) -> tuple[Content, bool]:
        """Apply a configuration, and return the object, and whether it was created."""
        manager = Manager(options.manager, applies=True)
        before = self._cluster.find(resource, key)
        named = {**(body.get("metadata") or {}), "name": key[1]}
        if before is None and not status:
            check_absent(resource, key[1], options.preconditions)
            created = self.create(resource, key[0], {**body, "metadata": named}, options, manager)
            if not options.dry_run:
                owners = self._owners[created["metadata"]["uid"]]
                owners.apply(manager, created, body, lists=resource.built_in, force=True)
            return created, True
        uid = self._find(resource, key)["metadata"]["uid"]
        owners = self._owners[uid].copy()

        def change(target: Content) -> Content:
            result = owners.apply(manager, target, body, lists=resource.built_in, force=force)
            given = {each: named[each] for each in ("resourceVersion", "uid") if each in named}
            return {**result, "metadata": {**result["metadata"], **given}}

        applied = self.update(resource, key, change, options, status=status, owner=manager)
        if not options.dry_run:
            self._owners[uid] = owners
        return applied, False

    def delete(
        self,
        resource: ResourceType,
        key: Key,
        options: WriteOptions,
        *,
        grace_seconds: int | None = None,
        finalizer: str | None = None,
        waits: bool = False,
    ) -> Content:
        """Delete an object, and return its last state; with ``deletionTimestamp`` if it still
        exists. ``finalizer`` is added to it. With ``waits`` it exists until it is removed. Raises
        NotFound and Conflict.
        """
        before = self._find(resource, key)
        if resource.full_name == "namespaces" and key[1] in _PERMANENT:
            raise forbidden(resource, key[1], "this namespace may not be deleted")
        _check_deletable(resource, before, options.preconditions)
        metadata = dict(before["metadata"])
        seconds = _grace(resource, before, grace_seconds)
        finalizers = list(metadata.get("finalizers") or ())
        if finalizer and finalizer not in finalizers:
            finalizers.append(finalizer)
        if options.dry_run:
            return before
        if not (finalizers or seconds or waits):
            self._remove(resource, key)
            return before
        if finalizers:
            metadata["finalizers"] = finalizers
        if "deletionTimestamp" in metadata and finalizers == before["metadata"].get("finalizers"):
            return before
        metadata.setdefault("deletionTimestamp", _time(seconds))
        if not waits:
            metadata["deletionGracePeriodSeconds"] = seconds
        if "generation" in metadata:
            metadata["generation"] += 1
        content = {**before, "metadata": metadata}
        if waits:
            content["status"] = {**(before.get("status") or {}), "phase": "Terminating"}
        saved = self._cluster.record(resource, key, content)
        assert saved is not None
        self.written(resource, before, saved)
        return saved

    def remove(self, resource: ResourceType, key: Key) -> Content:
        """Remove an object at once, whatever its finalizers are. Raises NotFound."""
        before = self._find(resource, key)
        self._remove(resource, key)
        return before

    def _remove(self, resource: ResourceType, key: Key) -> None:
        before = self._cluster.find(resource, key)
        assert before is not None
        self._owners.pop(before["metadata"]["uid"], None)
        self._cluster.record(resource, key, None)
        self.written(resource, before, None)

    def _save(
        self, resource: ResourceType, before: Content | None, content: Content, manager: Manager
    ) -> Content:
        metadata = content["metadata"]
        key = (metadata.get("namespace", ""), metadata["name"])
        if not manager.applies:
            self._owners[metadata["uid"]].record(manager, before, content, lists=resource.built_in)
        saved = self._cluster.record(resource, key, content)
        assert saved is not None
        self.written(resource, before, saved)
        return saved

    def _find(self, resource: ResourceType, key: Key) -> Content:
        found = self._cluster.find(resource, key)
        if found is None:
            raise not_found(resource, key[1])
        return found

    def _check_namespace(self, resource: ResourceType, namespace: str, name: str) -> None:
        namespaces = self._cluster.registry.find("namespaces")
        if not namespace:
            return
        found = self._cluster.find(namespaces, ("", namespace))
        if found is None:
            raise not_found(namespaces, namespace)
        if "deletionTimestamp" in found["metadata"]:
            problem = (
                f"unable to create new content in namespace {namespace} because it is being "
                "terminated"
            )
            cause = StatusCause(
                reason="NamespaceTerminating",
                message=f"namespace {namespace} is being terminated",
                field="metadata.namespace",
            )
            raise forbidden(resource, name, problem, [cause])

    def _check_definition(self, resource: ResourceType, name: str) -> None:
        """Raise Forbidden if the definition of a custom resource is deleted."""
        definitions = self._cluster.registry.find(DEFINITIONS)
        found = self._cluster.find(definitions, ("", resource.full_name))
        if found and "deletionTimestamp" in found["metadata"]:
            problem = "create not allowed while custom resource definition is terminating"
            raise forbidden(resource, name, problem)

    def _check_identity(self, resource: ResourceType, before: Content, wanted: Content) -> None:
        metadata, name = wanted.get("metadata") or {}, before["metadata"]["name"]
        check_name(name, metadata)
        namespace_of(resource, before["metadata"].get("namespace", ""), metadata)
        version = before["metadata"]["resourceVersion"]
        if metadata.get("resourceVersion") not in (None, *_ANY_VERSION, version):
            raise modified(resource, name)


def _check_versioned(resource: ResourceType, before: Content, wanted: Content) -> None:
    """Raise Invalid if an update does not name the version of the object."""
    if (wanted.get("metadata") or {}).get("resourceVersion") in (None, *_ANY_VERSION):
        problem = "Invalid value: 0: must be specified for an update"
        name = before["metadata"]["name"]
        raise invalid(resource, name, "metadata.resourceVersion", "FieldValueInvalid", problem)


def _known(resource: ResourceType, content: Content, options: WriteOptions) -> Content:
    cls = Invalid if options.is_patch else InvalidArgument
    validation = write_pb2.FIELD_VALIDATION_STRICT if options.applies else options.validation
    content, warnings = known_fields(resource, content, validation, cls)
    options.warnings.extend(warnings)
    return without_text(resource, content)


def _updater(options: WriteOptions) -> Manager:
    return Manager(options.manager, applies=False)


def check_name(name: str, metadata: Content) -> None:
    """Raise InvalidArgument if an object has another name than the request."""
    if (metadata.get("name") or name) != name:
        raise bad_request(
            f"the name of the object ({metadata['name']}) does not match the name on the URL "
            f"({name})"
        )


def namespace_of(resource: ResourceType, namespace: str, metadata: Content) -> str:
    """Return the namespace of a write, in the request or in the object."""
    found = metadata.get("namespace") or ""
    if namespace and found and namespace != found:
        raise bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )
    resource.check_namespace(namespace or found)
    return namespace or found


def check_preconditions(
    resource: ResourceType, content: Content, preconditions: Preconditions
) -> None:
    """Raise Conflict unless the object meets the preconditions."""
    metadata = content["metadata"]
    if preconditions.uid and preconditions.uid != metadata["uid"]:
        problem = f"its UID is not {preconditions.uid}, as the precondition requires"
        raise conflict(resource, metadata["name"], problem)
    wanted = preconditions.resource_version
    if wanted and wanted != metadata["resourceVersion"]:
        raise modified(resource, metadata["name"])


def check_absent(resource: ResourceType, name: str, preconditions: Preconditions) -> None:
    """Raise Conflict if the preconditions of a write, which could create the object, need it."""
    if preconditions.uid:
        problem = f"its UID is not {preconditions.uid}, as the precondition requires"
        raise conflict(resource, name, problem)
    if version := preconditions.resource_version:
        problem = f"there is no object with the required resource version {version}"
        raise conflict(resource, name, problem)


def _check_deletable(
    resource: ResourceType, content: Content, preconditions: Preconditions
) -> None:
    metadata = content["metadata"]
    checks = (
        ("UID", preconditions.uid, metadata["uid"], "deleted and then recreated"),
        (
            "ResourceVersion",
            preconditions.resource_version,
            metadata["resourceVersion"],
            "modified",
        ),
    )
    for name, wanted, found, cause in checks:
        if wanted and wanted != found:
            problem = (
                f"the {name} in the precondition ({wanted}) does not match the {name} in record "
                f"({found}). The object might have been {cause}"
            )
            raise conflict(resource, metadata["name"], problem)


def _check_kind(resource: ResourceType, body: Content, rejection: type[KubeconnectError]) -> None:
    api_version = body.get("apiVersion") or resource.api_version
    kind = body.get("kind") or resource.kind
    if (api_version, kind) != (resource.api_version, resource.kind):
        version = api_version.rpartition("/")[2]
        message = (
            f'{kind} in version "{version}" cannot be handled as a {resource.kind}: it must have '
            f'apiVersion "{resource.api_version}" and kind "{resource.kind}"'
        )
        raise failure(rejection, message)


def _check_valid(resource: ResourceType, content: Content, before: Content | None = None) -> None:
    metadata = content["metadata"]
    name = metadata["name"]
    check_metadata(resource, content)
    check_keys(resource, content, before)
    finalizers = metadata.get("finalizers") or []
    if before is None:
        return
    if metadata.get("deletionTimestamp") != before["metadata"].get("deletionTimestamp"):
        problem = "Invalid value: field is immutable"
        raise invalid(resource, name, "metadata.deletionTimestamp", "FieldValueInvalid", problem)
    if metadata["uid"] != before["metadata"]["uid"]:
        problem = f'Invalid value: "{metadata["uid"]}": field is immutable'
        raise invalid(resource, name, "metadata.uid", "FieldValueInvalid", problem)
    added = set(finalizers) - set(before["metadata"].get("finalizers") or ())
    if added and "deletionTimestamp" in metadata:
        problem = (
            "Forbidden: no new finalizers can be added if the object is being deleted, found new "
            f"finalizers {', '.join(sorted(added))}"
        )
        raise invalid(resource, name, "metadata.finalizers", "FieldValueForbidden", problem)


def _generated(resource: ResourceType, metadata: Content) -> str:
    if not (prefix := metadata.get("generateName")):
        problem = "Required value: name or generateName is required"
        raise invalid(resource, "", "metadata.name", "FieldValueRequired", problem)
    return f"{prefix}{''.join(random.choices(_SUFFIX, k=5))}"


def _identified(resource: ResourceType, body: Content, key: Key) -> Content:
    """Return an object with the metadata that the API server gives to a new object."""
    given = {
        name: value
        for name, value in (body.get("metadata") or {}).items()
        if name not in ("resourceVersion", "managedFields", *_ASSIGNED)
        and value not in (None, {}, [])
    }
    metadata = {**given, "name": key[1]}
    if key[0]:
        metadata["namespace"] = key[0]
    metadata["uid"] = str(uuid.uuid4())
    metadata["creationTimestamp"] = _time()
    if resource.has("generation"):
        metadata["generation"] = 1
    content = _typed(resource, body, metadata)
    return _as_namespace(content) if resource.full_name == "namespaces" else content


def _as_namespace(content: Content) -> Content:
    spec = {**(content.get("spec") or {}), "finalizers": ["kubernetes"]}
    return {**_labeled(content), "spec": spec, "status": {"phase": "Active"}}


def _labeled(content: Content) -> Content:
    """Return a namespace with the label that has its name."""
    metadata = content["metadata"]
    labels = {**(metadata.get("labels") or {}), "kubernetes.io/metadata.name": metadata["name"]}
    return {**content, "metadata": {**metadata, "labels": labels}}


def _typed(resource: ResourceType, body: Content, metadata: Content) -> Content:
    rest = {key: value for key, value in body.items() if value is not None}
    head = {"kind": resource.kind, "apiVersion": resource.api_version, "metadata": metadata}
    return {**head, **{key: value for key, value in rest.items() if key not in head}}


def _with_status(resource: ResourceType, content: Content, status: Content | None) -> Content:
    rest = {key: value for key, value in content.items() if key != "status"}
    if status is None and resource.built_in:
        status = {}
    return rest if status is None else {**rest, "status": status}


def _merged(resource: ResourceType, before: Content, wanted: Content, *, status: bool) -> Content:
    """Return an object after an update, with the fields that the update cannot change."""
    if status:
        return _with_status(resource, before, wanted.get("status"))
    old, new = before["metadata"], wanted.get("metadata") or {}
    kept = {each: old[each] for each in _ASSIGNED if each in old}
    checked_later = ("uid", "deletionTimestamp")
    kept.update({each: new[each] for each in checked_later if new.get(each)})
    given = {
        key: value
        for key, value in new.items()
        if key not in ("managedFields", *_ASSIGNED) and value not in (None, {}, [])
    }
    identity = {key: old[key] for key in ("name", "namespace", "resourceVersion") if key in old}
    content = _typed(resource, wanted, {**given, **identity, **kept})
    if resource.full_name == "namespaces":
        content = _labeled(content)
    if "status" in resource.subresources:
        content = _with_status(resource, content, before.get("status"))
    return content


def _counted(resource: ResourceType, before: Content, content: Content) -> Content:
    """Return an object with a new generation if its specification has changed."""
    if not resource.has("generation"):
        return content
    rest = ("metadata", "status") if "status" in resource.subresources else ("metadata",)
    old, new = ({k: v for k, v in each.items() if k not in rest} for each in (before, content))
    generation = before["metadata"].get("generation", 1) + (old != new)
    return {**content, "metadata": {**content["metadata"], "generation": generation}}


def _grace(resource: ResourceType, content: Content, seconds: int | None) -> int:
    """Return the seconds for which a deleted object remains. Only pods that run on a node do."""
    spec = content.get("spec") or {}
    finished = (content.get("status") or {}).get("phase") in ("Succeeded", "Failed")
    if resource.full_name != "pods" or not spec.get("nodeName") or finished:
        return 0
    if seconds is not None:
        return seconds
    return int(spec.get("terminationGracePeriodSeconds", POD_GRACE_SECONDS))


def _is_finished(metadata: Content) -> bool:
    """Return whether the last finalizer of a deleted object was removed."""
    waits = metadata.get("finalizers") or metadata.get("deletionGracePeriodSeconds")
    return "deletionTimestamp" in metadata and not waits


def _time(later: int = 0) -> str:
    moment = datetime.now(timezone.utc) + timedelta(seconds=later)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")

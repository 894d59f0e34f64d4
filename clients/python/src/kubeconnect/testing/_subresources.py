"""Changes of objects, and of their subresources."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from kubeconnect._errors import (
    Invalid,
    InvalidArgument,
    KubeconnectError,
    NotFound,
    TooManyRequests,
)
from kubeconnect.testing._calls import Calls
from kubeconnect.testing._cluster import Cluster, Content, Key
from kubeconnect.testing._contents import to_json
from kubeconnect.testing._failures import bad_request, failure, not_found, unsupported
from kubeconnect.testing._patching import PatchFailed, json_patch, merge_patch, strategic_patch
from kubeconnect.testing._resources import ResourceType
from kubeconnect.testing._scale import read_scale, scale_of, with_scale
from kubeconnect.testing._selectors import selector_matches
from kubeconnect.testing._writes import Preconditions, WriteOptions, check_name
from kubeconnect.v1 import object_pb2, write_pb2

Change: TypeAlias = Callable[[Content], Content]


def check(resource: ResourceType, subresource: str) -> None:
    """Raise an error unless the fake has this subresource."""
    if subresource not in resource.subresources:
        message = f'the fake service has no subresource "{subresource}" of {resource.full_name}'
        raise failure(NotFound, message, resource=resource)


def read(resource: ResourceType, content: Content, subresource: str) -> Content:
    """Return a subresource of an object."""
    check(resource, subresource)
    if subresource == "scale":
        return read_scale(resource, content)
    if subresource == "status":
        return content
    raise unsupported(f'reads of the subresource "{subresource}"')


def update(
    calls: Calls,
    resource: ResourceType,
    key: Key,
    subresource: str,
    change: Change,
    options: WriteOptions,
) -> Content:
    """Replace an object, or a subresource, by what ``change`` returns for it."""
    if subresource:
        check(resource, subresource)
    if subresource == "scale":
        scaled: Change = lambda content: with_scale(resource, content, change(scale_of(content)))  # noqa: E731
        return calls.writes.update(resource, key, scaled, options)
    if subresource not in ("", "status"):
        raise unsupported(f'writes of the subresource "{subresource}"')
    return calls.writes.update(resource, key, change, options, status=subresource == "status")


def patching(resource: ResourceType, name: str, type: int, patch: Any) -> Change:
    """Return the change of a patch. Raises InvalidArgument for a malformed one."""
    if type == write_pb2.PATCH_TYPE_JSON:
        return lambda content: _json_patched(resource, name, content, patch)
    names: dict[int, str] = {
        write_pb2.PATCH_TYPE_MERGE: "PATCH_TYPE_MERGE",
        write_pb2.PATCH_TYPE_STRATEGIC_MERGE: "PATCH_TYPE_STRATEGIC_MERGE",
    }
    if type not in names:
        raise bad_request("type is required: give the format of the patch")
    if not isinstance(patch, dict):
        raise bad_request(f"the patch is a list: {names[type]} takes an object")
    if type == write_pb2.PATCH_TYPE_MERGE:
        return lambda content: _checked(name, merge_patch(content, patch))
    if not resource.built_in:
        message = (
            f"{resource.full_name} do not support strategic merge patches, use PATCH_TYPE_MERGE, "
            "PATCH_TYPE_JSON or PATCH_TYPE_APPLY"
        )
        raise failure(InvalidArgument, message, reason="UnsupportedMediaType")
    return lambda content: _checked(name, strategic_patch(content, patch))


def _json_patched(resource: ResourceType, name: str, content: Content, patch: Any) -> Content:
    try:
        return _checked(name, json_patch(content, patch))
    except PatchFailed as problem:
        message = (
            f'{resource.kind} "{name}" is invalid: the JSON patch cannot be applied: a "test" '
            "failed, or a path is not there; read the object again and create the patch for its "
            "current state"
        )
        raise failure(
            Invalid, message, resource=resource, kind=resource.kind, name=name
        ) from problem


def _checked(name: str, content: Any) -> Content:
    if not isinstance(content, dict) or not isinstance(content.get("metadata"), dict):
        raise bad_request("the patch leaves no object with metadata")
    if not (content.get("apiVersion") and content["metadata"].get("name")):
        raise _nameless(name)
    return content


def _nameless(name: str) -> KubeconnectError:
    problem = "was undeterminable: name must be provided"
    return bad_request(f"the name of the object ({name} based on URL) {problem}")


def apply(
    calls: Calls,
    resource: ResourceType,
    key: Key,
    request: write_pb2.PatchRequest,
    body: Any,
    options: WriteOptions,
) -> tuple[Content, bool]:
    """Apply a configuration, and return the object, and whether it was created."""
    if not request.field_manager:
        raise bad_request(
            "field_manager is required for PATCH_TYPE_APPLY: it will own the fields of the patch"
        )
    kind = (resource.api_version, resource.kind)
    if not isinstance(body, dict) or (body.get("apiVersion"), body.get("kind")) != kind:
        raise bad_request(
            f"the patch is not for {resource.plural}: with PATCH_TYPE_APPLY it must have "
            f'apiVersion "{kind[0]}" and kind "{kind[1]}"'
        )
    creates = not request.subresource and calls.cluster.find(resource, key) is None
    _check_identity(key, body, creates=creates)
    if request.subresource:
        check(resource, request.subresource)
    if request.subresource not in ("", "status"):
        raise unsupported(f'apply of the subresource "{request.subresource}"')
    return calls.writes.apply(
        resource, key, body, options, force=request.force, status=request.subresource == "status"
    )


def _check_identity(key: Key, body: Content, *, creates: bool) -> None:
    """Raise InvalidArgument unless a configuration is for the object of the request. It needs the
    name to create the object.
    """
    metadata = body.get("metadata") or {}
    if creates and not metadata.get("name"):
        raise _nameless(key[1])
    check_name(key[1], metadata)
    if (metadata.get("namespace") or key[0]) != key[0]:
        raise bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )


def create(
    calls: Calls,
    resource: ResourceType,
    key: Key,
    request: write_pb2.CreateRequest,
    body: Content,
) -> write_pb2.CreateResponse:
    """Create a subresource: the eviction of a pod."""
    check(resource, request.subresource)
    if request.subresource != "eviction":
        raise unsupported(f'writes of the subresource "{request.subresource}"')
    pod = calls.cluster.find(resource, key)
    if pod is None:
        raise not_found(resource, key[1])
    _check_budgets(calls.cluster, pod)
    given = body.get("deleteOptions") or {}
    wanted = given.get("preconditions") or {}
    preconditions = Preconditions(wanted.get("uid") or "", wanted.get("resourceVersion") or "")
    options = WriteOptions(dry_run=request.dry_run, preconditions=preconditions)
    calls.collector.delete(resource, key, options, grace_seconds=given.get("gracePeriodSeconds"))
    status = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "code": 201,
    }
    return write_pb2.CreateResponse(
        resource=object_pb2.Resource(version="v1", kind="Status", plural="pods", namespaced=True),
        object=object_pb2.Object(json=to_json(status)),
    )


def _check_budgets(cluster: Cluster, pod: Content) -> None:
    """Raise TooManyRequests if a disruption budget allows no disruption of a pod that is ready."""
    status = pod.get("status") or {}
    ready = any(
        each.get("type") == "Ready" and each.get("status") == "True"
        for each in status.get("conditions") or ()
    )
    namespace = pod["metadata"]["namespace"]
    budgets = cluster.registry.find("poddisruptionbudgets")
    for key, budget in cluster.objects(budgets).items():
        selector = (budget.get("spec") or {}).get("selector")
        if key[0] != namespace or not selector or not selector_matches(selector)(pod):
            continue
        allowed = (budget.get("status") or {}).get("disruptionsAllowed", 0)
        if ready and allowed <= 0:
            message = "Cannot evict pod as it would violate the pod's disruption budget."
            raise failure(TooManyRequests, message)

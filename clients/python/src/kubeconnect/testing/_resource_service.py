"""The RPCs of ResourceService."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import grpc

from kubeconnect._errors import Unimplemented
from kubeconnect.testing import _streams, _subresources
from kubeconnect.testing._calls import Calls
from kubeconnect.testing._cluster import Content, Key
from kubeconnect.testing._contents import decode_body, decode_patch, encode
from kubeconnect.testing._counting import fill_count
from kubeconnect.testing._failures import bad_request, failure, not_found
from kubeconnect.testing._independent import watch_independent
from kubeconnect.testing._joining import joins_of
from kubeconnect.testing._masks import Mask
from kubeconnect.testing._reading import Listing
from kubeconnect.testing._resources import ResourceType
from kubeconnect.testing._selections import Filters, Selection, selection_of
from kubeconnect.testing._watching import freshness_of
from kubeconnect.testing._writes import (
    Preconditions,
    WriteOptions,
    check_absent,
    check_name,
    namespace_of,
)
from kubeconnect.v1 import (
    consistency_pb2,
    object_pb2,
    read_pb2,
    table_pb2,
    watch_counts_pb2,
    watch_pb2,
    write_pb2,
)
from kubeconnect.v1.resource_service_pb2_grpc import ResourceServiceServicer

_LATEST = consistency_pb2.CONSISTENCY_LATEST


class ResourceService(ResourceServiceServicer):
    """Serves the objects of the fake cluster."""

    def __init__(self, calls: Calls, filters: Filters) -> None:
        """Serve with the filters of a test."""
        self._calls = calls
        self._cluster = calls.cluster
        self._filters = filters

    def Get(
        self, request: read_pb2.GetRequest, context: grpc.ServicerContext
    ) -> read_pb2.GetResponse:
        with self._calls.begin(context):
            resource = self._calls.resource("get", request.resource, request.namespace)
            self._calls.check_subresource(request.subresource)
            key = _key(resource, request.namespace, request.name)
            self._calls.await_version(request.min_resource_version, context)
            latest = request.consistency == _LATEST or bool(request.subresource)
            version = None if latest else self._cluster.visible
            content = self._at(resource, key, version)
            shown = resource.to_message()
            if request.subresource:
                content = _subresources.read(resource, content, request.subresource)
                shown.kind, group = content["kind"], content["apiVersion"].rpartition("/")
                shown.group, shown.version = group[0], group[2]
            mask = Mask(request.fields, metadata_only=request.metadata_only)
            selection = Selection(resource, "", "", [], mask, request.metadata_only, "")
            if request.metadata_only:
                shown = selection.shown()
            response = read_pb2.GetResponse(
                resource=shown,
                object=encode(content, mask.apply(content), request.encoding, resource),
            )
            self._set_source(response, latest)
            return response

    def List(
        self, request: read_pb2.ListRequest, context: grpc.ServicerContext
    ) -> read_pb2.ListResponse:
        with self._calls.begin(context):
            selection = self._select("list", request, context)
            latest = request.consistency == _LATEST
            listing = Listing(
                self._cluster,
                selection,
                request.page_token,
                request.page_size,
                self._cluster.version if latest else self._cluster.visible,
            )
            response = read_pb2.ListResponse(resource=selection.shown())
            joins = joins_of(self._calls, self._filters, selection.resource, request)
            listing.fill(request, response, joins)
            response.warnings.extend(selection.warnings)
            self._set_source(response, latest)
            return response

    def Count(
        self, request: read_pb2.CountRequest, context: grpc.ServicerContext
    ) -> read_pb2.CountResponse:
        with self._calls.begin(context):
            selection = self._select("count", request, context)
            latest = request.consistency == _LATEST
            version = self._cluster.version if latest else self._cluster.visible
            selected = selection.select(self._cluster.objects(selection.resource, version))
            response = read_pb2.CountResponse(resource=selection.shown())
            fill_count(selected, request, response)
            response.resource_version = str(version)
            response.warnings.extend(selection.warnings)
            self._set_source(response, latest)
            return response

    def GetTable(
        self, request: table_pb2.GetTableRequest, context: grpc.ServicerContext
    ) -> table_pb2.GetTableResponse:
        with self._calls.begin(context):
            self._calls.resource("table", request.resource, request.namespace)
            selection = selection_of(self._cluster, request, self._filters)
            listing = Listing(
                self._cluster,
                selection,
                request.page_token,
                request.page_size,
                self._cluster.version,
            )
            if request.name and not listing.contents:
                raise not_found(selection.resource, request.name)
            response = table_pb2.GetTableResponse(resource=selection.shown())
            listing.fill_table(response)
            return response

    def Watch(self, request: watch_pb2.WatchRequest, context: grpc.ServicerContext) -> Any:
        return _streams.watch(self._calls, self._filters, request, context)

    def WatchMany(self, request: watch_pb2.WatchManyRequest, context: grpc.ServicerContext) -> Any:
        serve = watch_independent if request.independent else _streams.watch_many
        return serve(self._calls, self._filters, request, context)

    def WatchCounts(
        self, request: watch_counts_pb2.WatchCountsRequest, context: grpc.ServicerContext
    ) -> Any:
        return _streams.watch(self._calls, self._filters, request, context)

    def Create(
        self, request: write_pb2.CreateRequest, context: grpc.ServicerContext
    ) -> write_pb2.CreateResponse:
        with self._calls.begin(context):
            resource = self._calls.resource("create", request.resource, request.namespace)
            self._calls.check_subresource(request.subresource)
            if not request.subresource:
                resource.check_namespace(request.namespace, required=False)
            body = decode_body(request, resource)
            if request.subresource:
                key = _key(resource, request.namespace, request.name)
                return _subresources.create(self._calls, resource, key, request, body)
            options = _options(request)
            content = self._calls.writes.create(resource, request.namespace, body, options)
            return write_pb2.CreateResponse(
                resource=resource.to_message(),
                object=encode(content, content, request.encoding, resource),
                warnings=options.warnings,
            )

    def Update(
        self, request: write_pb2.UpdateRequest, context: grpc.ServicerContext
    ) -> write_pb2.UpdateResponse:
        with self._calls.begin(context):
            resource = self._calls.resource("update", request.resource, request.namespace)
            self._calls.check_subresource(request.subresource)
            body = decode_body(request, resource)
            metadata = body.get("metadata") or {}
            namespace = namespace_of(resource, request.namespace, metadata)
            key = _key(resource, namespace, request.name or metadata.get("name", ""))
            check_name(key[1], metadata)
            options = _options(request)
            _check_versions(options.preconditions, metadata)
            response = write_pb2.UpdateResponse()
            if (
                resource.has("upsert")
                and not request.subresource
                and self._cluster.find(resource, key) is None
            ):
                given = Preconditions(
                    uid=options.preconditions.uid or metadata.get("uid") or "",
                    resource_version=options.preconditions.resource_version
                    or metadata.get("resourceVersion")
                    or "",
                )
                check_absent(resource, key[1], given)
                content = self._calls.writes.create(resource, namespace, body, options)
                response.created = True
            else:
                body_uid = metadata.get("uid") or ""
                if not options.preconditions.uid and not request.subresource:
                    options = replace(
                        options, preconditions=replace(options.preconditions, uid=body_uid)
                    )
                content = _subresources.update(
                    self._calls, resource, key, request.subresource, lambda _: body, options
                )
            _set_written(response, resource, content, request)
            response.warnings.extend(options.warnings)
            return response

    def Patch(
        self, request: write_pb2.PatchRequest, context: grpc.ServicerContext
    ) -> write_pb2.PatchResponse:
        with self._calls.begin(context):
            resource = self._calls.resource("patch", request.resource, request.namespace)
            self._calls.check_subresource(request.subresource)
            key = _key(resource, request.namespace, request.name)
            patch = decode_patch(request)
            response = write_pb2.PatchResponse()
            options = _options(request)
            if request.type == write_pb2.PATCH_TYPE_APPLY:
                content, response.created = _subresources.apply(
                    self._calls, resource, key, request, patch, options
                )
            else:
                if request.force:
                    raise bad_request("force is for PATCH_TYPE_APPLY only")
                change = _subresources.patching(resource, key[1], request.type, patch)
                content = _subresources.update(
                    self._calls, resource, key, request.subresource, change, options
                )
            _set_written(response, resource, content, request)
            response.warnings.extend(options.warnings)
            return response

    def Delete(
        self, request: write_pb2.DeleteRequest, context: grpc.ServicerContext
    ) -> write_pb2.DeleteResponse:
        with self._calls.begin(context):
            resource = self._calls.resource("delete", request.resource, request.namespace)
            key = _key(resource, request.namespace, request.name)
            content = self._calls.collector.delete(
                resource,
                key,
                WriteOptions(
                    dry_run=request.dry_run, preconditions=_preconditions(request.preconditions)
                ),
                policy=request.propagation_policy,
                grace_seconds=_grace(request),
            )
            response = write_pb2.DeleteResponse(resource=resource.to_message())
            exists = not request.dry_run and self._cluster.find(resource, key) is not None
            if exists or "deletionTimestamp" in content["metadata"] or resource.has("returned"):
                response.object.CopyFrom(encode(content, content, request.encoding, resource))
            if not request.dry_run:
                version = content["metadata"]["resourceVersion"]
                response.resource_version = version if exists else str(self._cluster.version)
            return response

    def DeleteCollection(
        self, request: write_pb2.DeleteCollectionRequest, context: grpc.ServicerContext
    ) -> write_pb2.DeleteCollectionResponse:
        with self._calls.begin(context):
            resource = self._calls.resource("deletecollection", request.resource, request.namespace)
            if "deletecollection" not in resource.verbs:
                message = f"{resource.full_name} do not support deletecollection"
                raise failure(Unimplemented, message, resource=resource)
            resource.check_namespace(request.namespace)
            selection = selection_of(self._cluster, request, self._filters)
            selected = selection.select(self._cluster.objects(resource))
            for content in selected:
                metadata = content["metadata"]
                key = (metadata.get("namespace", ""), metadata["name"])
                if self._cluster.find(resource, key) is None:
                    continue  # another object owned it
                self._calls.collector.delete(
                    resource,
                    key,
                    WriteOptions(dry_run=request.dry_run),
                    policy=request.propagation_policy,
                    grace_seconds=_grace(request),
                )
            version = "" if request.dry_run else str(self._cluster.version)
            return write_pb2.DeleteCollectionResponse(
                deleted_count=len(selected), resource_version=version
            )

    def _select(
        self,
        call: str,
        request: read_pb2.ListRequest | read_pb2.CountRequest,
        context: grpc.ServicerContext,
    ) -> Selection:
        self._calls.resource(call, request.resource, request.namespace)
        self._calls.await_version(request.min_resource_version, context)
        return selection_of(self._cluster, request, self._filters)

    def _at(self, resource: ResourceType, key: Key, version: int | None) -> Content:
        if version is None or version == self._cluster.version:
            content = self._cluster.find(resource, key)
        else:
            content = self._cluster.objects(resource, version).get(key)
        if content is None:
            raise not_found(resource, key[1])
        return content

    def _set_source(
        self,
        response: read_pb2.GetResponse | read_pb2.ListResponse | read_pb2.CountResponse,
        latest: bool,
    ) -> None:
        if latest:
            response.source = consistency_pb2.SOURCE_API_SERVER
            response.freshness.last_contact_time.GetCurrentTime()
        else:
            response.source = consistency_pb2.SOURCE_CACHE
            response.freshness.CopyFrom(freshness_of(self._cluster))


def _key(resource: ResourceType, namespace: str, name: str) -> Key:
    resource.check_namespace(namespace)
    if not name:
        raise bad_request(f"name is required: give the name of one of the {resource.plural}")
    if name in (".", "..") or set(name) & set("/%"):
        raise bad_request(f'invalid name "{name}": it is not a part of a path')
    return namespace, name


def _preconditions(message: write_pb2.Preconditions) -> Preconditions:
    if message.resource_version == "0":
        raise bad_request("preconditions.resource_version is 0, which no object has")
    return Preconditions(message.uid, message.resource_version)


def _options(
    request: write_pb2.CreateRequest | write_pb2.UpdateRequest | write_pb2.PatchRequest,
) -> WriteOptions:
    preconditions = Preconditions()
    if not isinstance(request, write_pb2.CreateRequest):
        preconditions = _preconditions(request.preconditions)
    manager = request.field_manager or "kubeconnect"
    return WriteOptions(
        manager,
        request.dry_run,
        preconditions,
        request.field_validation,
        is_patch=isinstance(request, write_pb2.PatchRequest),
        applies=getattr(request, "type", None) == write_pb2.PATCH_TYPE_APPLY,
    )


def _check_versions(preconditions: Preconditions, metadata: Content) -> None:
    given, wanted = metadata.get("resourceVersion"), preconditions.resource_version
    if given and wanted and given != wanted:
        raise bad_request(
            f'preconditions require metadata.resourceVersion "{wanted}", but the object has '
            f'"{given}": give one of them'
        )


def _grace(
    request: write_pb2.DeleteRequest | write_pb2.DeleteCollectionRequest,
) -> int | None:
    return request.grace_period_seconds if request.HasField("grace_period_seconds") else None


def _set_written(
    response: write_pb2.UpdateResponse | write_pb2.PatchResponse,
    resource: ResourceType,
    content: Content,
    request: write_pb2.UpdateRequest | write_pb2.PatchRequest,
) -> None:
    response.resource.CopyFrom(resource.to_message())
    shown = content
    if request.subresource == "scale":
        shown = _subresources.read(resource, content, "scale")
        response.resource.kind = "Scale"
        response.resource.group, response.resource.version = "autoscaling", "v1"
    encoding = request.encoding
    if request.subresource == "scale" and encoding == object_pb2.ENCODING_PROTOBUF:
        encoding = object_pb2.ENCODING_JSON
    response.object.CopyFrom(encode(content, shown, encoding, resource))

"""The client."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from datetime import datetime
from types import TracebackType

from kubeconnect._access import (
    AccessAnswer,
    AccessQuestion,
    Identity,
    access_answers,
    access_request,
)
from kubeconnect._address import Address
from kubeconnect._bodies import ObjectBody, PatchBody, encode_body
from kubeconnect._connection import OnRetry
from kubeconnect._counts import CountResult
from kubeconnect._discovery import ResourceTypesResult, SchemaResult
from kubeconnect._logs import LogStream, since
from kubeconnect._reads import Consistency, GetResult, paths
from kubeconnect._relations import Relation
from kubeconnect._transport.aio import AsyncToken, AsyncTransport
from kubeconnect._transport.options import deadline
from kubeconnect._watch_many_session import K, WatchManySession
from kubeconnect._watch_session import MAX_STALENESS_SECONDS, WatchSession
from kubeconnect._watch_spec import WatchSpec
from kubeconnect._writes import (
    CreateResult,
    DeleteCollectionResult,
    DeleteResult,
    FieldValidation,
    PatchResult,
    PatchType,
    PropagationPolicy,
    UpdateResult,
)
from kubeconnect.aio._log import AsyncLog
from kubeconnect.aio._object_list import AsyncObjectList
from kubeconnect.aio._table import AsyncTable
from kubeconnect.aio._watch import AsyncWatch
from kubeconnect.aio._watch_many import AsyncWatchMany
from kubeconnect.v1 import access_service_pb2 as access_pb
from kubeconnect.v1 import discovery_service_pb2 as discovery_pb
from kubeconnect.v1 import pod_service_pb2 as pod_pb
from kubeconnect.v1 import resource_service_pb2 as pb
from kubeconnect.v1.object_pb2 import ENCODING_JSON

DEFAULT_TIMEOUT = 30.0
"""The default time limit of a call, in seconds."""


class AsyncClient:
    """A client that reads and writes the objects of any resource of the cluster.

    A resource is named as in kubectl: "pods", "po", "Pod", "deployments.apps". Without a
    namespace, ``list``, ``watch`` and ``count`` cover all namespaces, ``create`` and
    ``update`` use the namespace in the object's metadata, if there is one, and all other
    calls expect a resource without namespaces.

    "All namespaces" means the namespaces that the caller is allowed to list. If these are
    not all namespaces of the cluster, the response lists them in ``namespaces`` and has a
    human-readable warning in ``warnings``. With ``require_all_namespaces`` the call raises
    Forbidden instead, and a watch raises it when the permission is revoked.

    ``label_selector`` and ``field_selector`` work as in kubectl. ``filter`` is a CEL
    expression over ``object``, such as "object.spec.replicas > 3". If the expression has no
    value for an object, because a field is missing, the object matches neither the
    expression nor its negation: test for the field with
    "has(object.status.conditions)". ``related`` selects objects by their relation to another
    object: see ``owned_by``, ``selected_by``, ``about`` and ``owner_of``. An object must
    match all conditions.

    ``fields`` are the paths to return of each object, in kubectl's notation:
    ["metadata.name", "spec.containers[*].image"]. The default is all fields. With
    ``metadata_only`` an object is returned as a PartialObjectMetadata, which has its
    metadata and nothing else.

    A write with ``dry_run`` is validated and admitted but not persisted, and returns the
    result it would have. ``field_manager`` is the manager that owns the written fields, at
    most 128 characters; the default is "kubeconnect". ``uid`` and ``resource_version`` are
    preconditions: if the object does not have them, the write raises Conflict. After
    DeadlineExceeded or Unavailable, the write may or may not have been applied.

    To read your own write, pass the resource version of its result to a read as
    ``min_resource_version``. The read waits until the cache has reached that version, and
    raises DeadlineExceeded after five seconds.

    A read that is rejected with a retry delay, because a limit is reached, is retried after
    that delay if its ``timeout`` allows. A write is not retried.

    A ``timeout`` is in seconds, and ``math.inf`` means no limit. The default is the
    client's timeout. Watches and logs have no timeout. All calls raise subclasses of
    KubeconnectError: NotFound, Forbidden, Unavailable, DeadlineExceeded and others.
    """

    def __init__(
        self,
        address: str,
        *,
        token: AsyncToken | None = None,
        token_file: str | os.PathLike[str] | None = None,
        ca_file: str | os.PathLike[str] | None = None,
        timeout: float = DEFAULT_TIMEOUT,
    ) -> None:
        """Create a client. The connection is opened with the first call.

        ``address`` is "http://host:port", "https://host:port", or "host:port",
        which uses plain text on loopback and TLS everywhere else. ``ca_file`` contains the
        CA certificates, in PEM, that must have signed the service's certificate. The
        default is gRPC's own root certificates.

        ``token`` is sent as a bearer token with each call. It may be a function that
        returns the token, if the token is renewed. The function is called for each call and
        each stream, so it should cache the token while that is valid. Exceptions of the
        function are raised by the calls. ``token_file`` is the path of a file with the
        token, such as one that Kubernetes mounts into a pod. The file is read again when it
        has changed. A call that is rejected as Unauthenticated is retried once if the token
        is a different one by then.

        Raises ValueError for an invalid address, and for a token that would be sent to
        another host in plain text. Raises OSError for a file that cannot be read.
        """
        self._timeout = timeout
        self._transport = AsyncTransport(Address.parse(address), token, token_file, ca_file)

    async def __aenter__(self) -> AsyncClient:
        """Return the client."""
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close the client."""
        await self.close()

    async def close(self) -> None:
        """Close the connection. Calls and watches on it are cancelled."""
        await self._transport.close()

    async def get(
        self,
        resource: str,
        name: str,
        *,
        namespace: str | None = None,
        subresource: str | None = None,
        fields: Iterable[str] | None = None,
        metadata_only: bool = False,
        min_resource_version: str | None = None,
        consistency: Consistency = Consistency.CACHED,
        timeout: float | None = None,
    ) -> GetResult:
        """Return one object, or its ``subresource`` ("status", "scale").

        A subresource is read from the API server. Raises NotFound if the object does not
        exist.
        """
        request = pb.GetRequest(
            resource=resource,
            name=name,
            namespace=namespace,
            subresource=subresource,
            fields=paths(fields),
            metadata_only=metadata_only,
            min_resource_version=min_resource_version,
            consistency=consistency.value,
            encoding=ENCODING_JSON,
        )
        response = await self._transport.read(
            self._transport.resources.Get, request, deadline(timeout, self._timeout)
        )
        return GetResult(response)

    async def list(
        self,
        resource: str,
        *,
        namespace: str | None = None,
        label_selector: str | None = None,
        field_selector: str | None = None,
        filter: str | None = None,
        related: Relation | None = None,
        fields: Iterable[str] | None = None,
        metadata_only: bool = False,
        order_by: str | None = None,
        min_resource_version: str | None = None,
        consistency: Consistency = Consistency.CACHED,
        require_all_namespaces: bool = False,
        page_size: int | None = None,
        timeout: float | None = None,
    ) -> AsyncObjectList:
        """Return the objects that match. Waits for the first page only.

        ``order_by`` is "path" or "path desc", or several of these with commas:
        "status.phase, metadata.creationTimestamp desc". Equal objects are in the default
        order. ``page_size`` is the maximum number of objects in a page; the default is as
        many as fit into about 3 MiB. ``timeout`` applies to each page.
        """
        request = pb.ListRequest(
            resource=resource,
            namespace=namespace,
            label_selector=label_selector,
            field_selector=field_selector,
            filter=filter,
            related=related.to_message() if related else None,
            fields=paths(fields),
            metadata_only=metadata_only,
            order_by=order_by,
            min_resource_version=min_resource_version,
            consistency=consistency.value,
            require_all_namespaces=require_all_namespaces,
            page_size=page_size,
            encoding=ENCODING_JSON,
        )
        seconds = deadline(timeout, self._timeout)
        first = await self._transport.read(self._transport.resources.List, request, seconds)
        return AsyncObjectList(self._transport, request, first, seconds)

    def watch(
        self,
        resource: str,
        *,
        namespace: str | None = None,
        name: str | None = None,
        label_selector: str | None = None,
        field_selector: str | None = None,
        filter: str | None = None,
        related: Relation | None = None,
        fields: Iterable[str] | None = None,
        metadata_only: bool = False,
        min_resource_version: str | None = None,
        patches: bool = False,
        require_all_namespaces: bool = False,
        resume_token: str | None = None,
        reconnect: bool = True,
        max_staleness: float = MAX_STALENESS_SECONDS,
        on_retry: OnRetry | None = None,
    ) -> AsyncWatch:
        """Watch a selection, or the single object ``name``.

        A change that does not touch ``fields``, or the metadata with ``metadata_only``,
        produces no event. ``related`` is evaluated when the stream begins.

        ``resume_token``, from an earlier watch of the same selection, resumes after the
        events that the earlier watch delivered. Store the objects of ADDED and MODIFIED
        events, ignore the deletion of objects that you do not have, and clear your copy at
        RESET. The ``kind`` of objects is not sent again: its fields are "" up to a RESET.

        With ``patches`` the service sends changed objects as patches, where possible. The
        events still have complete objects: the watch caches all delivered objects and
        applies the patches to them. A watch that begins with a ``resume_token`` has no
        objects cached, and is sent complete objects.

        A lost stream is opened again; with ``reconnect=False`` the error is raised instead.
        A stream that the service reports as stale for ``max_staleness`` seconds is opened
        again over another connection, because the API server may be unreachable for one
        replica only; ``math.inf`` turns this off. The time doubles for each further replica
        that is stale too, up to 32 times. ``on_retry`` is called with the error and the
        number of seconds until the next attempt. It must return soon. Errors are raised with
        the first event.
        """
        spec = WatchSpec(
            resource,
            namespace=namespace,
            name=name,
            label_selector=label_selector,
            field_selector=field_selector,
            filter=filter,
            related=related,
            fields=fields,
            metadata_only=metadata_only,
            min_resource_version=min_resource_version,
            patches=patches,
            require_all_namespaces=require_all_namespaces,
        )
        request = spec.to_message(resumes=bool(resume_token))
        request.resume_token = resume_token or ""
        transport = self._transport
        return AsyncWatch(
            WatchSession(
                request,
                reconnect=reconnect,
                renews=transport.renews_token,
                max_staleness=max_staleness,
                retry_budget=self._timeout,
            ),
            lambda request, wait: transport.stream(
                transport.resources.Watch, request, wait_for_ready=wait
            ),
            on_retry,
        )

    def watch_many(
        self,
        watches: Mapping[K, WatchSpec],
        *,
        resume_token: str | None = None,
        reconnect: bool = True,
        max_staleness: float = MAX_STALENESS_SECONDS,
        on_retry: OnRetry | None = None,
    ) -> AsyncWatchMany[K]:
        """Watch up to 100 selections in one stream. Yields (key, event) with the keys of
        ``watches``.

        Each watch begins with a RESET and delivers the same events as ``watch``. There is
        no order between the events of different watches. If one watch is rejected or ends,
        all of them do.

        ``resume_token``, from an earlier call with the same watches in the same order,
        resumes each of them, as in ``watch``. A watch that cannot be resumed begins
        with RESET. ``reconnect``, ``max_staleness`` and ``on_retry`` are as in ``watch``. The
        stream is stale if one of its watches is.
        """
        requests = [spec.to_message(resumes=bool(resume_token)) for spec in watches.values()]
        request = pb.WatchManyRequest(watches=requests, resume_token=resume_token or "")
        transport = self._transport
        return AsyncWatchMany(
            WatchManySession(
                tuple(watches),
                request,
                reconnect=reconnect,
                renews=transport.renews_token,
                max_staleness=max_staleness,
                retry_budget=self._timeout,
            ),
            lambda request, wait: transport.stream(
                transport.resources.WatchMany, request, wait_for_ready=wait
            ),
            on_retry,
        )

    def logs(
        self,
        name: str,
        *,
        namespace: str,
        container: str | None = None,
        follow: bool = False,
        previous: bool = False,
        since_seconds: int | None = None,
        since_time: datetime | None = None,
        tail_lines: int | None = None,
        limit_bytes: int | None = None,
        timestamps: bool = False,
        stream: LogStream = LogStream.ALL,
    ) -> AsyncLog:
        """Read the log of a pod's container. ``container`` may be left out if the pod has
        only one.

        With ``follow`` the log continues until the container ends. ``previous`` reads the
        log of the container's previous run. ``since_seconds`` or ``since_time``, which is
        rounded down to a whole second, and ``tail_lines`` set the beginning,
        ``limit_bytes`` the end. ``timestamps`` prefixes each line with its time.

        Errors are raised with the first line.
        """
        request = pod_pb.GetLogsRequest(
            name=name,
            namespace=namespace,
            container=container,
            follow=follow,
            previous=previous,
            since_seconds=since_seconds,
            since_time=since(since_time),
            tail_lines=tail_lines,
            limit_bytes=limit_bytes,
            timestamps=timestamps,
            stream=stream.value,
        )
        return AsyncLog(self._transport.stream(self._transport.pods.GetLogs, request))

    async def count(
        self,
        resource: str,
        *,
        namespace: str | None = None,
        label_selector: str | None = None,
        field_selector: str | None = None,
        filter: str | None = None,
        related: Relation | None = None,
        group_by: Iterable[str] | None = None,
        max_groups: int | None = None,
        min_resource_version: str | None = None,
        consistency: Consistency = Consistency.CACHED,
        require_all_namespaces: bool = False,
        timeout: float | None = None,
    ) -> CountResult:
        """Count the objects that match, in total and grouped by the values of paths.

        ``group_by`` are up to 8 paths as in ``fields``: ["spec.nodeName", "status.phase"].
        ``max_groups`` is the maximum number of groups to return, the largest groups first;
        the default is 1,000, and the limit 10,000.
        """
        request = pb.CountObjectsRequest(
            resource=resource,
            namespace=namespace,
            label_selector=label_selector,
            field_selector=field_selector,
            filter=filter,
            related=related.to_message() if related else None,
            group_by=paths(group_by),
            max_groups=max_groups,
            min_resource_version=min_resource_version,
            consistency=consistency.value,
            require_all_namespaces=require_all_namespaces,
        )
        response = await self._transport.read(
            self._transport.resources.CountObjects, request, deadline(timeout, self._timeout)
        )
        return CountResult.from_message(response)

    async def table(
        self,
        resource: str,
        *,
        namespace: str | None = None,
        name: str | None = None,
        label_selector: str | None = None,
        field_selector: str | None = None,
        page_size: int | None = None,
        timeout: float | None = None,
    ) -> AsyncTable:
        """Return the objects that match, or the single object ``name``, as the table that the
        API server prints for kubectl. Waits for the first page only.

        The table is always read from the API server. ``page_size`` is the maximum number of
        rows in a page; the default is 500, which is also the limit. ``timeout`` applies to each
        page.
        """
        request = pb.GetTableRequest(
            resource=resource,
            namespace=namespace,
            name=name,
            label_selector=label_selector,
            field_selector=field_selector,
            page_size=page_size,
        )
        seconds = deadline(timeout, self._timeout)
        first = await self._transport.read(self._transport.resources.GetTable, request, seconds)
        return AsyncTable(self._transport, request, first, seconds)

    async def create(
        self,
        resource: str,
        object: ObjectBody,
        *,
        namespace: str | None = None,
        name: str | None = None,
        subresource: str | None = None,
        dry_run: bool = False,
        field_manager: str | None = None,
        field_validation: FieldValidation = FieldValidation.WARN,
        timeout: float | None = None,
    ) -> CreateResult:
        """Create an object, or a ``subresource`` ("eviction", "token") of the object ``name``.

        ``object`` is a mapping, which is sent as JSON, or JSON or YAML as str or bytes,
        which is sent unchanged. Its kind may be left out. Its name is taken from its
        metadata: ``name`` is for subresources.

        Raises AlreadyExists if an object with this name exists. Raises Invalid, with a cause
        for each field, if the object is rejected by validation.
        """
        request = pb.CreateRequest(
            resource=resource,
            namespace=namespace,
            name=name,
            subresource=subresource,
            data=encode_body(object),
            dry_run=dry_run,
            field_manager=field_manager,
            field_validation=field_validation.value,
            encoding=ENCODING_JSON,
        )
        response = await self._transport.unary(
            self._transport.resources.Create, request, deadline(timeout, self._timeout)
        )
        return CreateResult.from_message(response)

    async def update(
        self,
        resource: str,
        object: ObjectBody,
        *,
        namespace: str | None = None,
        name: str | None = None,
        subresource: str | None = None,
        uid: str | None = None,
        resource_version: str | None = None,
        dry_run: bool = False,
        field_manager: str | None = None,
        field_validation: FieldValidation = FieldValidation.WARN,
        timeout: float | None = None,
    ) -> UpdateResult:
        """Replace an object, or its ``subresource`` ("status", "scale"), with ``object``.

        ``object`` has the forms accepted by ``create``. ``name`` defaults to the name in
        its metadata. A resource version in its metadata is a precondition too.

        Raises Conflict if the object has changed since that version: read it again. Raises
        NotFound if the object does not exist, and Invalid, with a cause for each field, if
        the object is rejected by validation.
        """
        request = pb.UpdateRequest(
            resource=resource,
            namespace=namespace,
            name=name,
            subresource=subresource,
            data=encode_body(object),
            dry_run=dry_run,
            field_manager=field_manager,
            field_validation=field_validation.value,
            preconditions=pb.Preconditions(uid=uid, resource_version=resource_version),
            encoding=ENCODING_JSON,
        )
        response = await self._transport.unary(
            self._transport.resources.Update, request, deadline(timeout, self._timeout)
        )
        return UpdateResult.from_message(response)

    async def patch(
        self,
        resource: str,
        name: str,
        body: PatchBody,
        *,
        type: PatchType,
        namespace: str | None = None,
        subresource: str | None = None,
        uid: str | None = None,
        resource_version: str | None = None,
        dry_run: bool = False,
        field_manager: str | None = None,
        force: bool = False,
        field_validation: FieldValidation = FieldValidation.WARN,
        timeout: float | None = None,
    ) -> PatchResult:
        """Change parts of one object, or of its ``subresource`` ("status", "scale").

        ``type`` is the format of ``body``. A mapping or a list is sent as JSON, bytes and
        str are sent unchanged. APPLY needs a ``field_manager``, and with ``force`` takes
        ownership of fields from other managers.

        Raises Conflict if a precondition fails, or, with a cause for each field, if other
        managers own the fields. Raises Invalid, with a cause for each field, if the result
        is rejected by validation.
        """
        request = pb.PatchRequest(
            resource=resource,
            name=name,
            namespace=namespace,
            subresource=subresource,
            type=type.value,
            data=encode_body(body),
            dry_run=dry_run,
            field_manager=field_manager,
            force=force,
            field_validation=field_validation.value,
            preconditions=pb.Preconditions(uid=uid, resource_version=resource_version),
            encoding=ENCODING_JSON,
        )
        response = await self._transport.unary(
            self._transport.resources.Patch, request, deadline(timeout, self._timeout)
        )
        return PatchResult.from_message(response)

    async def delete(
        self,
        resource: str,
        name: str,
        *,
        namespace: str | None = None,
        uid: str | None = None,
        resource_version: str | None = None,
        propagation: PropagationPolicy | None = None,
        grace_period_seconds: int | None = None,
        dry_run: bool = False,
        timeout: float | None = None,
    ) -> DeleteResult:
        """Delete one object.

        ``propagation`` sets what happens to the objects that it owns; the default is the
        kind's own, usually BACKGROUND. ``grace_period_seconds`` is the time that the object
        has to shut down, 0 for none; the default is the kind's own, 30 seconds for pods.

        Pass the result's ``resource_version`` to a read as ``min_resource_version`` to make
        sure that the read sees the deletion.

        Raises NotFound if the object does not exist, and Conflict if a precondition fails.
        """
        request = pb.DeleteRequest(
            resource=resource,
            name=name,
            namespace=namespace,
            preconditions=pb.Preconditions(uid=uid, resource_version=resource_version),
            propagation_policy=propagation.value if propagation else None,
            grace_period_seconds=grace_period_seconds,
            dry_run=dry_run,
            encoding=ENCODING_JSON,
        )
        response = await self._transport.unary(
            self._transport.resources.Delete, request, deadline(timeout, self._timeout)
        )
        return DeleteResult.from_message(response)

    async def delete_collection(
        self,
        resource: str,
        *,
        namespace: str | None = None,
        label_selector: str | None = None,
        field_selector: str | None = None,
        propagation: PropagationPolicy | None = None,
        grace_period_seconds: int | None = None,
        dry_run: bool = False,
        timeout: float | None = None,
    ) -> DeleteCollectionResult:
        """Delete the objects that match. Without selectors, all objects of the namespace.

        The other arguments are as in ``delete``. The call is not atomic: some objects may
        have been deleted when it raises.
        """
        request = pb.DeleteCollectionRequest(
            resource=resource,
            namespace=namespace,
            label_selector=label_selector,
            field_selector=field_selector,
            propagation_policy=propagation.value if propagation else None,
            grace_period_seconds=grace_period_seconds,
            dry_run=dry_run,
        )
        response = await self._transport.unary(
            self._transport.resources.DeleteCollection, request, deadline(timeout, self._timeout)
        )
        return DeleteCollectionResult.from_message(response)

    async def resource_types(
        self, *, group: str | None = None, category: str | None = None, timeout: float | None = None
    ) -> ResourceTypesResult:
        """Return the resources that the cluster serves, as ``kubectl api-resources`` does.

        ``group`` restricts the result to one API group, "core" for the core group.
        ``category`` restricts it to one category, such as "all".
        """
        request = discovery_pb.ListResourceTypesRequest(group=group, category=category)
        response = await self._transport.read(
            self._transport.discovery.ListResourceTypes, request, deadline(timeout, self._timeout)
        )
        return ResourceTypesResult.from_message(response)

    async def schema(self, resource: str, *, timeout: float | None = None) -> SchemaResult:
        """Return the OpenAPI v3 schema of a resource's kind. Raises NotFound if it has none."""
        request = discovery_pb.GetSchemaRequest(resource=resource)
        response = await self._transport.read(
            self._transport.discovery.GetSchema, request, deadline(timeout, self._timeout)
        )
        return SchemaResult.from_message(response)

    async def who_am_i(self, *, timeout: float | None = None) -> Identity:
        """Return the identity of the caller.

        Raises Unauthenticated if the cluster cannot authenticate the caller. If the service
        does not authenticate callers, this is the identity of the service itself.
        """
        response = await self._transport.read(
            self._transport.access.WhoAmI,
            access_pb.WhoAmIRequest(),
            deadline(timeout, self._timeout),
        )
        return Identity.from_message(response)

    async def check_access(
        self, questions: Iterable[AccessQuestion], *, timeout: float | None = None
    ) -> tuple[AccessAnswer, ...]:
        """Return whether the caller is allowed to perform each of several actions, at most
        100, in the order of the questions.

        The answers may be ten seconds old, or older if the operator allows that. The call
        raises if one of the questions cannot be evaluated, for example because its resource
        does not exist. Each question counts as one call against the caller's rate limit.
        """
        request = access_request(questions)
        response = await self._transport.read(
            self._transport.access.CheckAccess, request, deadline(timeout, self._timeout)
        )
        return access_answers(request, response)

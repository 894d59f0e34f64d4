"""The client."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from datetime import datetime
from types import TracebackType

from kubeconnect.address import Address
from kubeconnect.aio.log import AsyncLog
from kubeconnect.aio.object_list import AsyncObjectList
from kubeconnect.aio.table import AsyncTable
from kubeconnect.aio.watch import AsyncWatch
from kubeconnect.aio.watch_many import AsyncWatchMany
from kubeconnect.bodies import ObjectBody, PatchBody, encode_body
from kubeconnect.connection import OnRetry
from kubeconnect.counts import CountResult
from kubeconnect.discovery import ResourceTypesResult, SchemaResult
from kubeconnect.logs import LogStream, since
from kubeconnect.reads import Consistency, GetResult, paths
from kubeconnect.relations import Relation
from kubeconnect.transport.aio import AsyncToken, AsyncTransport
from kubeconnect.transport.options import deadline
from kubeconnect.v1 import discovery_service_pb2 as discovery_pb
from kubeconnect.v1 import pod_service_pb2 as pod_pb
from kubeconnect.v1 import resource_service_pb2 as pb
from kubeconnect.v1.object_pb2 import ENCODING_JSON
from kubeconnect.watch_many_session import K, WatchManySession
from kubeconnect.watch_session import MAX_STALENESS_SECONDS, WatchSession
from kubeconnect.watch_spec import WatchSpec
from kubeconnect.writes import (
    CreateResult,
    DeleteCollectionResult,
    DeleteResult,
    FieldValidation,
    PatchResult,
    PatchType,
    PropagationPolicy,
    UpdateResult,
)

DEFAULT_TIMEOUT = 30.0
"""How long a call may take, in seconds."""


class AsyncClient:
    """Reads and changes the objects of any resource of the cluster.

    A resource is named as in kubectl: "pods", "po", "Pod", "deployments.apps". A
    namespace that is left out means all namespaces in ``list``, ``watch`` and ``count``; the
    one in the object's metadata, if there is one, in ``create`` and ``update``; and a
    resource without namespaces in all other calls.

    All namespaces are those that the caller may list. Where these are not all of the
    cluster's, the answer's ``namespaces`` names them, and ``warnings`` says it to people.
    With ``require_all_namespaces`` the call raises Forbidden instead, and a watch does so
    when the permission ends.

    Selections are what they are in kubectl: ``label_selector``, ``field_selector``. To
    these ``filter`` adds a CEL expression over ``object``, such as
    "object.spec.replicas > 3". An object for which it has no value, because a field is
    missing, does not match, nor does it match the negation: test for the field with
    "has(object.status.conditions)". ``related`` adds
    what objects have to do with another one: see ``owned_by`` and its like. All that is
    given must hold.

    ``fields`` are the paths to answer of each object, in kubectl's notation:
    ["metadata.name", "spec.containers[*].image"]; left out, all. With ``metadata_only`` an
    object comes as a PartialObjectMetadata: its metadata and nothing else.

    A write with ``dry_run`` is checked and admitted, and answered with what it would
    lead to, but not made. ``field_manager`` is in whose name the fields are owned, at
    most 128 characters; left out, "kubeconnect". ``uid`` and ``resource_version`` are
    preconditions: the write is made only if the object has them, else it raises
    Conflict. After DeadlineExceeded or Unavailable a write may have been made.

    To read your own write, give the version of its answer to a read as
    ``min_resource_version``: the read waits until it sees that, and raises
    DeadlineExceeded where that takes more than five seconds.

    A read that is refused with the time to come back at, because a limit is reached, is made
    again then, if its ``timeout`` allows. A change is not.

    A ``timeout`` is in seconds, and ``math.inf`` means none; left out, it is the
    client's. A watch and a log have none. All calls raise a KubeconnectError that says what
    went wrong: NotFound, Forbidden, Unavailable, DeadlineExceeded and so on.
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
        """Set up a client; the connection is made with the first call.

        ``address`` is "http://host:port", "https://host:port", or "host:port",
        which is plain text on loopback and TLS everywhere else. ``ca_file`` has the
        certificates, in PEM, that the service's own must be signed by; left out,
        gRPC's usual ones.

        ``token`` is sent as a bearer token with each call. It may be a function that
        returns the token, where that is renewed: it is called for each call and each
        stream, so it should keep the token as long as that is valid. ``token_file`` is a
        file with the token in its stead, such as one that Kubernetes mounts into a pod; it
        is read again when it has changed. What the function raises, calls raise. A call
        that is refused as Unauthenticated is made again, once, if there is another token
        by then.

        Raises ValueError for an address that cannot be understood, and for a token
        that would go to another host in plain text; OSError for a file that cannot be read.
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
        """Close it."""
        await self.close()

    async def close(self) -> None:
        """Close the connection; calls and watches on it are cancelled."""
        await self._transport.close()

    async def get(
        self,
        resource: str,
        name: str,
        *,
        namespace: str = "",
        subresource: str = "",
        fields: Iterable[str] = (),
        metadata_only: bool = False,
        min_resource_version: str = "",
        consistency: Consistency = Consistency.CACHED,
        timeout: float | None = None,
    ) -> GetResult:
        """Return one object, or its ``subresource`` ("status", "scale").

        A subresource is read from the API server. Raises NotFound if it is not there.
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
        namespace: str = "",
        label_selector: str = "",
        field_selector: str = "",
        filter: str = "",
        related: Relation | None = None,
        fields: Iterable[str] = (),
        metadata_only: bool = False,
        order_by: str = "",
        min_resource_version: str = "",
        consistency: Consistency = Consistency.CACHED,
        require_all_namespaces: bool = False,
        page_size: int = 0,
        timeout: float | None = None,
    ) -> AsyncObjectList:
        """Return the objects that match; waits for the first page only.

        ``order_by`` is "path" or "path desc", several with commas: "status.phase,
        metadata.creationTimestamp desc"; what is equal is in the default order. ``page_size``
        is the most that a page may have; 0 means as many as fit into about 3 MiB.
        ``timeout`` holds for each page.
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
        namespace: str = "",
        name: str = "",
        label_selector: str = "",
        field_selector: str = "",
        filter: str = "",
        related: Relation | None = None,
        fields: Iterable[str] = (),
        metadata_only: bool = False,
        min_resource_version: str = "",
        patches: bool = False,
        require_all_namespaces: bool = False,
        resume_token: str | None = None,
        reconnect: bool = True,
        max_staleness: float = MAX_STALENESS_SECONDS,
        on_retry: OnRetry | None = None,
    ) -> AsyncWatch:
        """Watch a selection, or the one object that ``name`` names.

        A change of nothing under ``fields``, or in the metadata with ``metadata_only``, is
        not told. ``related`` is what it is when the stream begins.

        ``resume_token``, from an earlier watch of the same selection, continues
        behind what that one has told. Then hold what comes as ADDED or MODIFIED,
        ignore the deletion of what you do not hold, and begin anew at RESET. The
        ``kind`` of objects is not told again: its fields are "" up to a RESET.

        With ``patches`` the service sends of a changed object only what has changed, where
        it can. You see whole objects all the same: the watch holds all that it has told,
        and applies them. One that begins with a ``resume_token`` holds nothing, and is
        sent whole objects.

        A stream that is lost is opened again; with ``reconnect=False`` that raises
        instead. A stream that the service calls stale for ``max_staleness`` seconds is opened
        again over another connection, for the cluster may have been lost to one replica only;
        ``math.inf`` for never. The time doubles for each replica that is stale too, up to 32
        times. ``on_retry`` is called with the error, and with the seconds until then. It
        must return soon. Errors come with the first event.
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
                patience=self._timeout,
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
        """Watch up to 100 selections in one stream: (key, event), the key being yours.

        Each watch begins with a RESET and is told as ``watch`` would tell it; among each
        other they have no order. When one of them is refused or ends, all do.

        ``resume_token``, from an earlier call with the same watches in the same order,
        continues each of them, as in ``watch``. One that cannot be resumed there begins
        with RESET. ``reconnect``, ``max_staleness`` and ``on_retry`` are as in ``watch``; the
        stream is stale where one of its watches is.
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
                patience=self._timeout,
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
        container: str = "",
        follow: bool = False,
        previous: bool = False,
        since_seconds: int | None = None,
        since_time: datetime | None = None,
        tail_lines: int | None = None,
        limit_bytes: int | None = None,
        timestamps: bool = False,
        stream: LogStream = LogStream.ALL,
    ) -> AsyncLog:
        """Read what a pod's container has written; ``container`` may be left out if it is
        the only one.

        With ``follow`` the log goes on until the container ends. ``previous`` is the log
        of its run before. ``since_seconds`` or ``since_time``, of which fractions of a
        second are left off, and ``tail_lines`` say where to begin, ``limit_bytes`` where
        to end. ``timestamps`` puts the time before each line.

        Errors come with the first line.
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
        namespace: str = "",
        label_selector: str = "",
        field_selector: str = "",
        filter: str = "",
        related: Relation | None = None,
        group_by: Iterable[str] = (),
        max_groups: int = 0,
        min_resource_version: str = "",
        consistency: Consistency = Consistency.CACHED,
        require_all_namespaces: bool = False,
        timeout: float | None = None,
    ) -> CountResult:
        """Count the objects that match, in all and by the values of paths.

        ``group_by`` are up to 8 paths as in ``fields``: ["spec.nodeName", "status.phase"].
        ``max_groups`` is how many groups to answer, those with the most objects first; 0
        means 1,000, and the most are 10,000.
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
        namespace: str = "",
        name: str = "",
        label_selector: str = "",
        field_selector: str = "",
        page_size: int = 0,
        timeout: float | None = None,
    ) -> AsyncTable:
        """Return the objects that match, or the one that ``name`` names, as the API server
        prints them and kubectl shows them; waits for the first page only.

        They are read from the API server, each time. ``page_size`` is the most that a page
        may have; 0 means 500, which is the most. ``timeout`` holds for each page.
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
        namespace: str = "",
        name: str = "",
        subresource: str = "",
        dry_run: bool = False,
        field_manager: str = "",
        field_validation: FieldValidation = FieldValidation.WARN,
        timeout: float | None = None,
    ) -> CreateResult:
        """Make an object; or a ``subresource`` ("eviction", "token") of the one named.

        ``object`` is a mapping, which is sent as JSON, or JSON or YAML as str or bytes,
        which are sent as they are; its kind may be left out. Its metadata name it:
        ``name`` is for subresources.

        Raises AlreadyExists if there is one under its name; Invalid, with a cause for
        each field, where it is refused.
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
        namespace: str = "",
        name: str = "",
        subresource: str = "",
        uid: str = "",
        resource_version: str = "",
        dry_run: bool = False,
        field_manager: str = "",
        field_validation: FieldValidation = FieldValidation.WARN,
        timeout: float | None = None,
    ) -> UpdateResult:
        """Replace an object, or its ``subresource`` ("status", "scale"), by this one.

        ``object`` is written as for ``create``. Its metadata name it, unless ``name``
        does. A resource version in its metadata is a precondition too.

        Raises Conflict if the object has changed since that version: read it again;
        NotFound if it is not there; Invalid, with a cause for each field, where it is
        refused.
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
        namespace: str = "",
        subresource: str = "",
        uid: str = "",
        resource_version: str = "",
        dry_run: bool = False,
        field_manager: str = "",
        force: bool = False,
        field_validation: FieldValidation = FieldValidation.WARN,
        timeout: float | None = None,
    ) -> PatchResult:
        """Change parts of one object, or of its ``subresource`` ("status", "scale").

        ``body`` is written as ``type`` says: a mapping or a list is sent as JSON,
        bytes and str as they are. APPLY needs a ``field_manager``, and with ``force``
        takes fields over from others.

        Raises Conflict where a precondition does not hold, and, with a cause for each
        field, where others own fields; Invalid, with a cause for each field, where the
        result is refused.
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
        namespace: str = "",
        uid: str = "",
        resource_version: str = "",
        propagation: PropagationPolicy | None = None,
        grace_period_seconds: int | None = None,
        dry_run: bool = False,
        timeout: float | None = None,
    ) -> DeleteResult:
        """Delete one object.

        ``propagation`` says what becomes of the objects that it owns; left out, the
        kind's own default, usually BACKGROUND. ``grace_period_seconds`` is how many
        seconds the object has to end itself, 0 for none; left out, the kind's own
        default, 30 for pods.

        Give the result's ``resource_version`` to a read as ``min_resource_version`` to have
        it see the deletion.

        Raises NotFound if it is not there, and Conflict where a precondition does not
        hold.
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
        namespace: str = "",
        label_selector: str = "",
        field_selector: str = "",
        propagation: PropagationPolicy | None = None,
        grace_period_seconds: int | None = None,
        dry_run: bool = False,
        timeout: float | None = None,
    ) -> DeleteCollectionResult:
        """Delete the objects that match: without selectors, all of the namespace.

        The rest is as for ``delete``. This is not one step: some may be gone when it
        raises.
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
        self, *, group: str = "", category: str = "", timeout: float | None = None
    ) -> ResourceTypesResult:
        """Return the resources that the cluster serves, as ``kubectl api-resources`` does.

        ``group`` is one API group, "core" for the one without a name; ``category`` is one
        category, such as "all".
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

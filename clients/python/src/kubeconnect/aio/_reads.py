"""The calls of a client that read objects once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import overload

from kubeconnect._aggregates import Aggregates, messages_of
from kubeconnect._columns import Fields, kept
from kubeconnect._counts import CountResult
from kubeconnect._joins import Join
from kubeconnect._joins import messages_of as joins_of
from kubeconnect._kinds import KindMessage
from kubeconnect._messages import M, decode, decoder_of, encoding_of, resource_name
from kubeconnect._objects import Resource
from kubeconnect._reads import Consistency, ConsistencyLike, GetResult, order, paths, warn_if_empty
from kubeconnect._relations import Relation
from kubeconnect._requests import checked
from kubeconnect._transport.options import deadline
from kubeconnect.aio._calls import AsyncCalls
from kubeconnect.aio._object_list import AsyncObjectList
from kubeconnect.aio._table import AsyncTable
from kubeconnect.v1 import read_pb2, table_pb2


class AsyncReads(AsyncCalls):
    """The reads of a client."""

    @overload
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
        consistency: ConsistencyLike = Consistency.CACHED,
        timeout: float | None = None,
    ) -> GetResult: ...
    @overload
    async def get(
        self,
        resource: type[M],
        name: str,
        *,
        namespace: str | None = None,
        fields: Iterable[str] | None = None,
        min_resource_version: str | None = None,
        consistency: ConsistencyLike = Consistency.CACHED,
        timeout: float | None = None,
    ) -> M: ...
    async def get(
        self,
        resource: str | type[M],
        name: str,
        *,
        namespace: str | None = None,
        subresource: str | None = None,
        fields: Iterable[str] | None = None,
        metadata_only: bool = False,
        min_resource_version: str | None = None,
        consistency: ConsistencyLike = Consistency.CACHED,
        timeout: float | None = None,
    ) -> GetResult | M:
        """Return one object, or its ``subresource`` ("status", "scale"). ``get(Pod, name)``
        returns a message of ``kubeconnect.k8s``.

        A subresource is read from the API server. Raises NotFound if the object does not
        exist.
        """
        request = checked(read_pb2.GetRequest)(
            resource=resource_name(resource),
            name=name,
            namespace=namespace,
            subresource=subresource,
            fields=paths(fields),
            metadata_only=metadata_only,
            min_resource_version=min_resource_version,
            consistency=Consistency.number_of(consistency),
            encoding=encoding_of(resource),
        )
        response = await self._transport.read(
            self._transport.resources.Get, request, deadline(timeout, self._timeout)
        )
        if isinstance(resource, str):
            return GetResult(response)
        return decode(resource, response.object, Resource.from_message(response.resource))

    @overload
    async def list(
        self,
        resource: str,
        *,
        namespace: str | None = None,
        label_selector: str | None = None,
        field_selector: str | None = None,
        filter: str | None = None,
        related: Relation | None = None,
        joins: Mapping[str, Join] | None = None,
        fields: Fields | None = None,
        metadata_only: bool = False,
        order_by: str | None = None,
        min_resource_version: str | None = None,
        consistency: ConsistencyLike = Consistency.CACHED,
        require_all_namespaces: bool = False,
        page_size: int | None = None,
        timeout: float | None = None,
    ) -> AsyncObjectList: ...
    @overload
    async def list(
        self,
        resource: type[M],
        *,
        namespace: str | None = None,
        label_selector: str | None = None,
        field_selector: str | None = None,
        filter: str | None = None,
        related: Relation | None = None,
        fields: Fields | None = None,
        order_by: str | None = None,
        min_resource_version: str | None = None,
        consistency: ConsistencyLike = Consistency.CACHED,
        require_all_namespaces: bool = False,
        page_size: int | None = None,
        timeout: float | None = None,
    ) -> AsyncObjectList[M]: ...
    async def list(
        self,
        resource: str | type[M],
        *,
        namespace: str | None = None,
        label_selector: str | None = None,
        field_selector: str | None = None,
        filter: str | None = None,
        related: Relation | None = None,
        joins: Mapping[str, Join] | None = None,
        fields: Fields | None = None,
        metadata_only: bool = False,
        order_by: str | None = None,
        min_resource_version: str | None = None,
        consistency: ConsistencyLike = Consistency.CACHED,
        require_all_namespaces: bool = False,
        page_size: int | None = None,
        timeout: float | None = None,
    ) -> AsyncObjectList | AsyncObjectList[M]:
        """Return the objects that match. Waits for the first page only. ``list(Pod)`` returns
        messages of ``kubeconnect.k8s``.

        ``order_by`` is "path" or "path desc", or several of these with commas:
        "status.phase, metadata.creationTimestamp desc". Equal objects are in the default
        order. ``page_size`` is the maximum number of objects in a page; the default is as
        many as fit into about 3 MiB. ``timeout`` applies to each page. ``fields`` may also be
        the columns of ``to_pandas`` and the like: {"node": "spec.nodeName"}.

        If a ``filter`` leaves out all objects because it has no value for them, the logger
        "kubeconnect" warns with the reason.

        ``joins`` are up to 8 kinds of related objects to return with each object, in
        ``Object.joined``, by names that you choose. See ``Join``. They need a resource by its
        name, and do not select or order the objects.
        """
        if joins and not isinstance(resource, str):
            raise ValueError("joins need a resource by its name, not a class")
        fields = kept(fields)
        request = checked(read_pb2.ListRequest)(
            resource=resource_name(resource),
            namespace=namespace,
            label_selector=label_selector,
            field_selector=field_selector,
            filter=filter,
            related=related.to_message() if related else None,
            joins=joins_of(joins),
            fields=paths(fields),
            metadata_only=metadata_only,
            order_by=order(order_by),
            min_resource_version=min_resource_version,
            consistency=Consistency.number_of(consistency),
            require_all_namespaces=require_all_namespaces,
            page_size=page_size,
            encoding=encoding_of(resource),
        )
        seconds = deadline(timeout, self._timeout)
        first = await self._transport.read(self._transport.resources.List, request, seconds)
        warn_if_empty(request.resource, filter, len(first.objects), first.warnings)
        return AsyncObjectList(
            self._transport, request, first, seconds, decoder_of(resource), fields
        )

    async def count(
        self,
        resource: str | type[KindMessage],
        *,
        namespace: str | None = None,
        label_selector: str | None = None,
        field_selector: str | None = None,
        filter: str | None = None,
        related: Relation | None = None,
        group_by: Iterable[str] | None = None,
        aggregates: Aggregates | None = None,
        max_groups: int | None = None,
        min_resource_version: str | None = None,
        consistency: ConsistencyLike = Consistency.CACHED,
        require_all_namespaces: bool = False,
        timeout: float | None = None,
    ) -> CountResult:
        """Count the objects that match, in total and grouped by the values of paths.

        ``group_by`` are up to 8 paths as in ``fields``: ["spec.nodeName", "status.phase"].
        ``aggregates`` are up to 8 values to compute, in total and for each group, by names that you
        choose: {"cpu": Sum("spec.containers[*].resources.requests.cpu")}. See ``Sum``,
        ``Average``, ``Min`` and ``Max``.
        ``max_groups`` is the maximum number of groups to return, the largest groups first;
        the default is 1,000, and the limit 10,000.
        """
        request = checked(read_pb2.CountRequest)(
            resource=resource_name(resource),
            namespace=namespace,
            label_selector=label_selector,
            field_selector=field_selector,
            filter=filter,
            related=related.to_message() if related else None,
            group_by=paths(group_by),
            aggregates=messages_of(aggregates),
            max_groups=max_groups,
            min_resource_version=min_resource_version,
            consistency=Consistency.number_of(consistency),
            require_all_namespaces=require_all_namespaces,
        )
        response = await self._transport.read(
            self._transport.resources.Count, request, deadline(timeout, self._timeout)
        )
        warn_if_empty(request.resource, filter, response.total_count, response.warnings)
        return CountResult.from_message(response, tuple(request.group_by), tuple(aggregates or ()))

    async def table(
        self,
        resource: str | type[KindMessage],
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
        request = checked(table_pb2.GetTableRequest)(
            resource=resource_name(resource),
            namespace=namespace,
            name=name,
            label_selector=label_selector,
            field_selector=field_selector,
            page_size=page_size,
        )
        seconds = deadline(timeout, self._timeout)
        first = await self._transport.read(self._transport.resources.GetTable, request, seconds)
        return AsyncTable(self._transport, request, first, seconds)

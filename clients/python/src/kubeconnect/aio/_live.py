"""The calls of a client that follow counts and pages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, overload

from kubeconnect._aggregates import Aggregates, messages_of
from kubeconnect._connection import OnRetry
from kubeconnect._counts_session import CountsSession
from kubeconnect._joins import Join
from kubeconnect._joins import messages_of as joins_of
from kubeconnect._kinds import KindMessage
from kubeconnect._messages import M, event_decoder_of, resource_name
from kubeconnect._page_session import PageSession
from kubeconnect._pages import PageObject, Place
from kubeconnect._reads import order, paths
from kubeconnect._relations import Relation
from kubeconnect._requests import checked, duration
from kubeconnect._watch_spec import WatchSpec
from kubeconnect.aio._live_page import AsyncLivePage
from kubeconnect.aio._streams import AsyncStreams
from kubeconnect.aio._watch_counts import AsyncWatchCounts
from kubeconnect.v1 import watch_counts_pb2, watch_pb2

PAGE_LIMIT = 50
"""The default of the maximum number of objects on a live page."""


class AsyncLive(AsyncStreams):
    """The live counts and pages of a client."""

    def watch_counts(
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
        min_interval: float | None = None,
        min_resource_version: str | None = None,
        require_all_namespaces: bool = False,
        reconnect: bool = True,
        on_retry: OnRetry | None = None,
        timeout: float | None = None,
    ) -> AsyncWatchCounts:
        """Follow the counts of a selection: yields the complete result of ``count``, first as it is
        now, and again after every change.

        ``group_by`` and ``aggregates`` are as in ``count``; all groups are returned, of which there
        may be 10,000. ``min_interval`` is the minimum time between two changes in seconds, from
        0.1 to 60; the default is one second. ``reconnect``, ``on_retry`` and ``timeout`` are as
        in ``watch``. ``related`` is evaluated when a stream begins.
        """
        names = tuple(aggregates or ())
        request = checked(watch_counts_pb2.WatchCountsRequest)(
            resource=resource_name(resource),
            namespace=namespace,
            label_selector=label_selector,
            field_selector=field_selector,
            filter=filter,
            related=related.to_message() if related else None,
            group_by=paths(group_by),
            aggregates=messages_of(aggregates),
            min_interval=duration(min_interval),
            min_resource_version=min_resource_version,
            require_all_namespaces=require_all_namespaces,
        )
        transport = self._transport
        session = CountsSession(
            request,
            names,
            reconnect=reconnect,
            renews=transport.renews,
            retry_budget=self._timeout,
        )
        return AsyncWatchCounts(
            session,
            transport.opener(transport.resources.WatchCounts),
            on_retry,
            self._warn_if_missing,
            timeout,
        )

    @overload
    def live_page(
        self,
        resource: str,
        *,
        namespace: str | None = None,
        label_selector: str | None = None,
        field_selector: str | None = None,
        filter: str | None = None,
        related: Relation | None = None,
        joins: Mapping[str, Join] | None = None,
        fields: Iterable[str] | None = None,
        metadata_only: bool = False,
        order_by: str | None = None,
        limit: int = PAGE_LIMIT,
        offset: int | None = None,
        after: PageObject | None = None,
        min_resource_version: str | None = None,
        require_all_namespaces: bool = False,
        reconnect: bool = True,
        on_retry: OnRetry | None = None,
        timeout: float | None = None,
    ) -> AsyncLivePage: ...
    @overload
    def live_page(
        self,
        resource: type[M],
        *,
        namespace: str | None = None,
        label_selector: str | None = None,
        field_selector: str | None = None,
        filter: str | None = None,
        related: Relation | None = None,
        fields: Iterable[str] | None = None,
        order_by: str | None = None,
        limit: int = PAGE_LIMIT,
        offset: int | None = None,
        after: PageObject | None = None,
        min_resource_version: str | None = None,
        require_all_namespaces: bool = False,
        reconnect: bool = True,
        on_retry: OnRetry | None = None,
        timeout: float | None = None,
    ) -> AsyncLivePage[M]: ...
    def live_page(
        self,
        resource: str | type[M],
        *,
        namespace: str | None = None,
        label_selector: str | None = None,
        field_selector: str | None = None,
        filter: str | None = None,
        related: Relation | None = None,
        joins: Mapping[str, Join] | None = None,
        fields: Iterable[str] | None = None,
        metadata_only: bool = False,
        order_by: str | None = None,
        limit: int = PAGE_LIMIT,
        offset: int | None = None,
        after: PageObject | None = None,
        min_resource_version: str | None = None,
        require_all_namespaces: bool = False,
        reconnect: bool = True,
        on_retry: OnRetry | None = None,
        timeout: float | None = None,
    ) -> AsyncLivePage | AsyncLivePage[M]:
        """Follow a page of a sorted selection: yields the ``Page``, first as it is now, and again
        after every change. The pages of ``live_page(Pod)`` have messages of ``kubeconnect.k8s``.

        ``order_by`` is as in ``list``. ``limit`` is the maximum number of objects on the page, from
        1 to 500. The page begins after ``offset`` objects, or after the object ``after``, which may
        be an object or its namespace and name, and keeps its place before the page when that
        object is deleted. Raises NotFound if there is no such object. ``AsyncLivePage.scroll`` goes
        to another page.

        ``joins`` are as in ``list``. An object whose related objects have changed has changed.

        A change that does not touch ``fields``, or the metadata with ``metadata_only``, does not
        change an object of the page. The resource must be one that the service caches.
        ``reconnect``, ``on_retry`` and ``timeout`` are as in ``watch``.
        """
        spec: WatchSpec[Any] = WatchSpec(
            resource,
            namespace=namespace,
            label_selector=label_selector,
            field_selector=field_selector,
            filter=filter,
            related=related,
            fields=fields,
            metadata_only=metadata_only,
            min_resource_version=min_resource_version,
            require_all_namespaces=require_all_namespaces,
        )
        request = spec.to_message(watch_pb2.WatchRequest, resumes=False)
        request.order_by = order(order_by) or ""
        if joins and not isinstance(resource, str):
            raise ValueError("joins need a resource by its name, not a class")
        request.joins.extend(joins_of(joins))
        transport = self._transport
        session = PageSession(
            request,
            Place(limit).moved(offset, after, limit),
            reconnect=reconnect,
            renews=transport.renews,
            retry_budget=self._timeout,
            decode=event_decoder_of(resource),
        )
        return AsyncLivePage(
            session,
            transport.opener(transport.resources.Watch),
            on_retry,
            self._warn_if_missing,
            timeout,
        )

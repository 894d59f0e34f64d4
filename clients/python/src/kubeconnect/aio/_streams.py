"""The calls of a client that open streams."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, overload

from kubeconnect._connection import OnRetry
from kubeconnect._errors import KubeconnectError, NotFound
from kubeconnect._event_reader import DecodeEvent
from kubeconnect._logs import LogStream, LogStreamLike, since
from kubeconnect._messages import M, event_decoder_of
from kubeconnect._relations import Relation
from kubeconnect._requests import checked
from kubeconnect._transport.options import limit
from kubeconnect._watch_many_session import K, WatchManySession
from kubeconnect._watch_session import Watched, WatchSession, selection
from kubeconnect._watch_spec import WatchSpec, check_keyed, resource_of
from kubeconnect.aio._calls import AsyncCalls
from kubeconnect.aio._event_stream import OnEmpty
from kubeconnect.aio._log import AsyncLog
from kubeconnect.aio._watch import AsyncWatch
from kubeconnect.aio._watch_many import AsyncWatchMany
from kubeconnect.v1 import pod_service_pb2 as pod_pb
from kubeconnect.v1 import read_pb2
from kubeconnect.v1 import watch_pb2 as pb
from kubeconnect.v1.object_pb2 import ENCODING_JSON

CHECK_SECONDS = 2.0
"""The time limit of the check whether the namespace of a watch exists."""

_logger = logging.getLogger("kubeconnect")


class AsyncStreams(AsyncCalls):
    """The watches and logs of a client."""

    @overload
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
        on_retry: OnRetry | None = None,
        timeout: float | None = None,
    ) -> AsyncWatch: ...
    @overload
    def watch(
        self,
        resource: type[M],
        *,
        namespace: str | None = None,
        name: str | None = None,
        label_selector: str | None = None,
        field_selector: str | None = None,
        filter: str | None = None,
        related: Relation | None = None,
        fields: Iterable[str] | None = None,
        min_resource_version: str | None = None,
        require_all_namespaces: bool = False,
        resume_token: str | None = None,
        reconnect: bool = True,
        on_retry: OnRetry | None = None,
        timeout: float | None = None,
    ) -> AsyncWatch[M]: ...
    def watch(
        self,
        resource: str | type[M],
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
        on_retry: OnRetry | None = None,
        timeout: float | None = None,
    ) -> AsyncWatch | AsyncWatch[M]:
        """Watch a selection, or the single object ``name``. The events of ``watch(Pod)`` have
        messages of ``kubeconnect.k8s``.

        A change that does not touch ``fields``, or the metadata with ``metadata_only``,
        produces no event. ``related`` is evaluated when the stream begins.

        ``resume_token``, from an earlier watch of the same selection, resumes after the
        events that the earlier watch delivered. Store the objects of ADDED and MODIFIED
        events, ignore the deletion of objects that you do not have, and clear your copy at
        RESET. The ``resource`` of objects is not sent again: its fields are "" up to a RESET.

        With ``patches`` the service sends changed objects as patches, where possible. The
        events still have complete objects: the watch caches all delivered objects and
        applies the patches to them. A watch that begins with a ``resume_token`` has no
        objects cached, and is sent complete objects.

        A lost stream is opened again; with ``reconnect=False`` the error is raised instead.
        ``on_retry`` is called with the error and the number of seconds until the next
        attempt. It must return soon. Errors are raised with the first event.

        ``timeout`` is the number of seconds after which the iteration raises
        DeadlineExceeded; the default is no limit.

        If the first snapshot is empty, the logger "kubeconnect" warns of a ``name`` or a
        namespace that does not exist.
        """
        spec: WatchSpec[Any] = WatchSpec(
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
        return self._watch(
            spec,
            event_decoder_of(resource),
            resume_token=resume_token,
            reconnect=reconnect,
            on_retry=on_retry,
            timeout=timeout,
        )

    def _watch(
        self,
        spec: WatchSpec[Any],
        decode: DecodeEvent,
        *,
        resume_token: str | None = None,
        reconnect: bool = True,
        on_retry: OnRetry | None = None,
        timeout: float | None = None,
    ) -> AsyncWatch[Any]:
        """Watch as ``watch`` does. ``decode`` returns the object of an event."""
        request = spec.to_message(pb.WatchRequest, resumes=bool(resume_token))
        request.resume_token = resume_token or ""
        transport = self._transport
        return AsyncWatch(
            WatchSession(
                request,
                reconnect=reconnect,
                renews=transport.renews,
                retry_budget=self._timeout,
                decode=decode,
            ),
            transport.opener(transport.resources.Watch),
            on_retry,
            self._warn_if_missing,
            timeout,
        )

    @overload
    def watch_many(
        self,
        watches: Mapping[K, WatchSpec],
        *,
        resume_token: str | None = None,
        reconnect: bool = True,
        on_retry: OnRetry | None = None,
        timeout: float | None = None,
    ) -> AsyncWatchMany[K]: ...
    @overload
    def watch_many(
        self,
        watches: Mapping[K, WatchSpec[M]],
        *,
        resume_token: str | None = None,
        reconnect: bool = True,
        on_retry: OnRetry | None = None,
        timeout: float | None = None,
    ) -> AsyncWatchMany[K, M]: ...
    @overload
    def watch_many(
        self,
        watches: Mapping[K, WatchSpec[Any]],
        *,
        resume_token: str | None = None,
        reconnect: bool = True,
        on_retry: OnRetry | None = None,
        timeout: float | None = None,
    ) -> AsyncWatchMany[K, Any]: ...
    def watch_many(
        self,
        watches: Mapping[K, WatchSpec[Any]],
        *,
        resume_token: str | None = None,
        reconnect: bool = True,
        on_retry: OnRetry | None = None,
        timeout: float | None = None,
    ) -> AsyncWatchMany[K, Any]:
        """Watch up to 100 selections in one stream. Yields (key, event) with the keys of
        ``watches``.

        Each watch begins with a RESET and delivers the same events as ``watch``. There is
        no order between the events of different watches. If one watch is rejected or ends,
        all of them do.

        ``resume_token``, from an earlier call with the same watches in the same order,
        resumes each of them, as in ``watch``. A watch that cannot be resumed begins
        with RESET. ``reconnect``, ``on_retry`` and ``timeout`` are as in ``watch``. The stream
        is stale if one of its watches is.

        The events of ``WatchSpec(Pod)`` have messages of ``kubeconnect.k8s``. Among watches of
        several classes, test events with ``isinstance(event.object, Pod)``.
        """
        return self._watch_many(
            watches,
            resume_token=resume_token,
            reconnect=reconnect,
            on_retry=on_retry,
            on_empty=self._warn_if_missing,
            timeout=timeout,
        )

    def _watch_many(
        self,
        watches: Mapping[K, WatchSpec[Any]],
        *,
        decode: Sequence[DecodeEvent] | None = None,
        resume_token: str | None = None,
        reconnect: bool = True,
        on_retry: OnRetry | None = None,
        on_empty: OnEmpty | None = None,
        timeout: float | None = None,
    ) -> AsyncWatchMany[K, Any]:
        """Watch as ``watch_many`` does, with another check of empty snapshots, and with
        functions that return the objects of the events of each watch.
        """
        check_keyed(watches)
        decode = decode or [event_decoder_of(resource_of(spec)) for spec in watches.values()]
        resumes = bool(resume_token)
        specs = [spec.to_message(pb.WatchSpec, resumes=resumes) for spec in watches.values()]
        request = checked(pb.WatchManyRequest)(watches=specs, resume_token=resume_token or "")
        transport = self._transport
        return AsyncWatchMany(
            WatchManySession(
                tuple(watches),
                request,
                reconnect=reconnect,
                renews=transport.renews,
                retry_budget=self._timeout,
                decode=decode,
            ),
            transport.opener(transport.resources.WatchMany),
            on_retry,
            on_empty,
            timeout,
        )

    async def _warn_if_missing(self, watch: Watched) -> None:
        """Log a warning if a selection without objects has a name, or a namespace that does not
        exist.
        """
        if watch.namespace and not await self._namespace_exists(watch.namespace):
            problem = f'there is no namespace "{watch.namespace}" so far'
        elif watch.name:
            problem = "there is no such object so far"
        else:
            return
        _logger.warning("watch of %s: %s", selection(watch), problem)

    async def _namespace_exists(self, name: str) -> bool:
        """Return whether a namespace exists, or the caller is not allowed to know."""
        request = checked(read_pb2.GetRequest)(
            resource="namespaces", name=name, metadata_only=True, encoding=ENCODING_JSON
        )
        try:
            await self._transport.unary(self._transport.resources.Get, request, CHECK_SECONDS)
        except NotFound:
            return False
        except KubeconnectError:
            pass
        return True

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
        stream: LogStreamLike = LogStream.ALL,
        timeout: float | None = None,
    ) -> AsyncLog:
        """Read the log of a pod's container. ``container`` may be left out if the pod has
        only one.

        With ``follow`` the log continues until the container ends. ``previous`` reads the
        log of the container's previous run. ``since_seconds`` or ``since_time``, which is
        rounded down to a whole second, and ``tail_lines`` set the beginning,
        ``limit_bytes`` the end. ``timestamps`` prefixes each line with its time.
        ``timeout`` is the number of seconds after which reading raises DeadlineExceeded; the
        default is no limit.

        Errors are raised with the first line.
        """
        request = checked(pod_pb.GetLogsRequest)(
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
            stream=LogStream.number_of(stream),
        )
        return AsyncLog(
            self._transport.stream(self._transport.pods.GetLogs, request, timeout=limit(timeout))
        )

"""The calls of a client that read the logs of several pods."""

from __future__ import annotations

import logging
from datetime import datetime

from kubeconnect._connection import OnRetry
from kubeconnect._log_lines import LineFilter, LogEvent, LogEventType, OnLogEvent
from kubeconnect._log_lines_session import LogLinesSession
from kubeconnect._logs import since
from kubeconnect._relations import Relation
from kubeconnect._requests import checked
from kubeconnect.aio._calls import AsyncCalls
from kubeconnect.aio._log_lines import AsyncLogLines
from kubeconnect.v1 import log_lines_pb2 as pb

_logger = logging.getLogger("kubeconnect")


class AsyncLogs(AsyncCalls):
    """The logs of several pods."""

    def log_lines(
        self,
        name: str | None = None,
        *,
        namespace: str | None = None,
        label_selector: str | None = None,
        field_selector: str | None = None,
        filter: str | None = None,
        related: Relation | None = None,
        container: str | None = None,
        exclude_container: str | None = None,
        follow: bool = False,
        previous: bool = False,
        since_seconds: int | None = None,
        since_time: datetime | None = None,
        tail_lines: int | None = None,
        line_filter: LineFilter | None = None,
        limit_lines: int | None = None,
        limit_lines_per_pod: int | None = None,
        limit_bytes: int | None = None,
        max_logs: int | None = None,
        min_resource_version: str | None = None,
        require_all_namespaces: bool = False,
        on_event: OnLogEvent | None = None,
        reconnect: bool = True,
        on_retry: OnRetry | None = None,
        timeout: float | None = None,
    ) -> AsyncLogLines:
        """Read the logs of the containers of a selection of pods, or of the pod ``name``, as lines
        with their pod and container. ``related`` may select the pods of a workload:
        ``selected_by("deployments", "web", namespace="demo")``.

        ``container`` and ``exclude_container`` are regular expressions (RE2) that must match the
        whole name of a container; the default is all containers. With ``follow`` the logs continue
        with later runs of these containers, and with pods that join the selection. ``previous``
        reads the previous runs. ``since_seconds`` or ``since_time``, which is rounded down to a
        whole second, and ``tail_lines`` set the beginning of each log. ``line_filter`` selects
        lines.

        ``limit_lines``, ``limit_lines_per_pod`` and ``limit_bytes`` end the logs. ``max_logs`` is
        the number of logs that are read at a time, by default 50 and at most 128: the call raises
        InvalidArgument if there are more when it begins, and later ones wait.

        ``on_event`` is called with each ``LogEvent``, before the lines that follow it. It must
        return soon. Without it, the logger "kubeconnect" warns of logs that cannot be read.
        ``reconnect`` and ``on_retry`` are as in ``watch``. ``timeout`` is the number of seconds
        after which the iteration raises DeadlineExceeded; the default is no limit.
        """
        request = checked(pb.GetLogLinesRequest)(
            name=name,
            namespace=namespace,
            label_selector=label_selector,
            field_selector=field_selector,
            filter=filter,
            related=related.to_message() if related else None,
            container=container,
            exclude_container=exclude_container,
            follow=follow,
            previous=previous,
            since_seconds=since_seconds,
            since_time=since(since_time),
            tail_lines=tail_lines,
            line_filter=line_filter.to_message() if line_filter else None,
            limit_lines=limit_lines,
            limit_lines_per_pod=limit_lines_per_pod,
            limit_bytes=limit_bytes,
            max_logs=max_logs,
            min_resource_version=min_resource_version,
            require_all_namespaces=require_all_namespaces,
        )
        transport = self._transport
        session = LogLinesSession(
            request,
            on_event or _warn_of,
            reconnect=reconnect,
            renews=transport.renews,
            retry_budget=self._timeout,
        )
        return AsyncLogLines(
            session,
            transport.opener(transport.pods.GetLogLines),
            on_retry,
            None,
            timeout,
        )


def _warn_of(event: LogEvent) -> None:
    if event.type in (LogEventType.FAILED, LogEventType.LINES_LOST):
        _logger.warning("%s", event)

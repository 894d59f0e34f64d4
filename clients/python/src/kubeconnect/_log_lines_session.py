"""The state of the logs of several pods over all streams, without any I/O."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from typing import TypeAlias

from kubeconnect._log_lines import LogEvent, LogLine, OnLogEvent
from kubeconnect._stream_reader import StreamReader
from kubeconnect._watch_session import Session, now
from kubeconnect.v1 import log_lines_pb2 as pb

MAX_POSITIONS = 4096
"""The maximum number of containers of which the service accepts positions."""

_Key: TypeAlias = tuple[str, str, str]


class LogLinesSession(Session[pb.GetLogLinesRequest, pb.GetLogLinesResponse, LogLine]):
    """The state of the logs of several pods. Each later stream begins after the last line of each
    container that was received.
    """

    def __init__(
        self,
        request: pb.GetLogLinesRequest,
        on_event: OnLogEvent,
        *,
        reconnect: bool = True,
        renews: bool = False,
        retry_budget: float = 0.0,
        jitter: Callable[[], float] = random.random,
        clock: Callable[[], datetime] = now,
    ) -> None:
        """Begin with the caller's request. ``on_event`` is called by ``take`` with each event."""
        super().__init__(
            "",
            reconnect=reconnect,
            renews=renews,
            retry_budget=retry_budget,
            jitter=jitter,
            clock=clock,
        )
        self._request = request
        self._on_event = on_event
        self._begin = clock()
        self._pending: deque[LogEvent | LogLine] = deque()
        self._positions: dict[_Key, pb.LogPosition] = {}
        self._line_count = 0
        self._byte_count = 0
        self._limit_reached = False
        self.warnings: tuple[str, ...] = ()
        """The human-readable warnings, as last sent."""
        self.namespaces: tuple[str, ...] = ()
        """The namespaces that the logs cover, as last sent; empty for all."""

    @property
    def request(self) -> pb.GetLogLinesRequest:
        """The request to send: the caller's request at first, later one that continues it."""
        if not self._received:
            return self._request
        request = pb.GetLogLinesRequest()
        request.CopyFrom(self._request)
        request.resume_after.extend(self._positions.values())
        if request.HasField("since_seconds"):
            since = self._begin - timedelta(seconds=request.since_seconds)
            request.since_time.FromDatetime(since)
            request.ClearField("since_seconds")
        if request.HasField("limit_lines"):
            request.limit_lines = max(1, request.limit_lines - self._line_count)
        if request.HasField("limit_bytes"):
            request.limit_bytes = max(1, request.limit_bytes - self._byte_count)
        return request

    @property
    def selection(self) -> str:
        """Whose logs are read: "logs of pods demo"."""
        where = filter(None, (self._request.namespace, self._request.name))
        return f"logs of pods {'/'.join(where)}".rstrip()

    @property
    def is_finite(self) -> bool:
        """Whether the end of a stream is the end of the logs: they are not followed, or a limit is
        reached.
        """
        return not self._request.follow or self._limit_reached

    def receive(self, response: pb.GetLogLinesResponse) -> None:
        """Queue the events and lines of one message for ``take``."""
        self._note_received()
        self.warnings = tuple(response.warnings) or self.warnings
        if response.covers_all or response.namespaces:
            self.namespaces = tuple(response.namespaces)
        for message in response.events:
            self._receive_event(message)
        for line in response.lines:
            self._receive_line(line)
        for position in response.positions:
            self._note_position(position)
        if response.lines or response.positions:
            self._reset_failures()

    def _receive_event(self, message: pb.LogEvent) -> None:
        event = LogEvent.from_message(message)
        if event is not None:
            self._pending.append(event)
        if message.type == pb.LOG_EVENT_TYPE_LIMIT_REACHED and not message.pod:
            self._limit_reached = True

    def _receive_line(self, line: pb.LogLine) -> None:
        self._pending.append(LogLine.from_message(line))
        self._line_count += 1
        self._byte_count += len(line.text)
        self._note_position(
            pb.LogPosition(
                namespace=line.namespace,
                pod=line.pod,
                container=line.container,
                time=line.time,
                sequence=line.sequence,
            )
        )

    def _note_position(self, position: pb.LogPosition) -> None:
        """Note the position of a container. Beyond the limit, those that have not changed for the
        longest time are dropped.
        """
        key = (position.namespace, position.pod, position.container)
        self._positions.pop(key, None)
        self._positions[key] = position
        if len(self._positions) > MAX_POSITIONS:
            del self._positions[next(iter(self._positions))]

    def take(self) -> LogLine | None:
        """Return the next line; None if there is none. Events before it are reported."""
        while self._pending:
            step = self._pending.popleft()
            if isinstance(step, LogLine):
                return step
            self._on_event(step)
        return None

    def _readers(self) -> Iterable[StreamReader]:
        return ()

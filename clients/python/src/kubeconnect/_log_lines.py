"""The lines of the logs of several pods."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import TypeAlias

from kubeconnect._requests import checked
from kubeconnect.v1 import log_lines_pb2 as pb


@dataclass(frozen=True)
class LogLine:
    """A line of the log of a container."""

    namespace: str
    """The pod's namespace."""
    pod: str
    """The pod's name."""
    container: str
    """The container's name."""
    time: datetime
    """The time at which the node recorded the line, in UTC, rounded down to a microsecond."""
    timestamp: str
    """The same time with nanoseconds, as ``kubectl logs --timestamps`` prints it."""
    raw: bytes
    """The bytes that the container wrote, without the line end."""
    cut: bool
    """Whether the line is longer than 64 KiB and continues with the next line of the container."""
    context: bool
    """Whether the line does not match the filter, and is near a line that does."""
    gap: bool
    """Whether lines were left out before this one, between lines that match and those near them."""

    @property
    def text(self) -> str:
        """The line as text. Invalid UTF-8 is replaced by U+FFFD."""
        return self.raw.decode(errors="replace")

    def __str__(self) -> str:
        """Return the text."""
        return self.text

    @classmethod
    def from_message(cls, message: pb.LogLine) -> LogLine:
        """Return the line for the API's message."""
        time = message.time.ToDatetime(timezone.utc)
        return cls(
            namespace=message.namespace,
            pod=message.pod,
            container=message.container,
            time=time,
            timestamp=f"{time:%Y-%m-%dT%H:%M:%S}.{message.time.nanos:09d}Z",
            raw=message.text,
            cut=message.cut,
            context=message.context,
            gap=message.gap,
        )


class LogEventType(enum.Enum):
    """What has happened to the log of a container."""

    BEGAN = pb.LOG_EVENT_TYPE_BEGAN
    """The log of a run of the container is opened. Its lines follow."""
    ENDED = pb.LOG_EVENT_TYPE_ENDED
    """The log has ended, for the ``reason``: that of the container's termination, "Read" for one
    that still runs, "PodDeleted", "PodNotSelected" or "LimitReached"."""
    WAITING = pb.LOG_EVENT_TYPE_WAITING
    """There is no log to read yet."""
    FAILED = pb.LOG_EVENT_TYPE_FAILED
    """The log could not be read, or was cut off. A followed log is opened again, unless the
    ``reason`` is "Forbidden" or "NotFound"."""
    LINES_LOST = pb.LOG_EVENT_TYPE_LINES_LOST
    """Lines may be missing: the container has restarted more than once while its log was not
    read."""
    LIMIT_REACHED = pb.LOG_EVENT_TYPE_LIMIT_REACHED
    """A limit of lines or bytes is reached, of all logs or of a pod."""


@dataclass(frozen=True)
class LogEvent:
    """What has happened to the log of a container."""

    type: LogEventType
    """The type of the event."""
    namespace: str
    """The pod's namespace; "" if the event is of all logs."""
    pod: str
    """The pod's name; "" if the event is of all logs."""
    pod_uid: str
    """The pod's UID. A pod that is created again under its name has another one."""
    container: str
    """The container's name; "" if the event is of all containers of a pod."""
    restart_count: int
    """How often the container has been restarted before this run."""
    reason: str
    """The machine-readable reason."""
    message: str
    """A description for people."""
    exit_code: int | None
    """The exit code of a container that has terminated."""

    @classmethod
    def from_message(cls, message: pb.LogEvent) -> LogEvent | None:
        """Return the event for the API's message; None for a type that is not known."""
        if message.type not in _EVENT_TYPES:
            return None
        return cls(
            type=LogEventType(message.type),
            namespace=message.namespace,
            pod=message.pod,
            pod_uid=message.pod_uid,
            container=message.container,
            restart_count=message.restart_count,
            reason=message.reason,
            message=message.message,
            exit_code=message.exit_code if message.HasField("exit_code") else None,
        )

    def __str__(self) -> str:
        """Return the log, and what has happened to it."""
        log = "/".join(filter(None, (self.namespace, self.pod, self.container)))
        what = self.type.name.lower().replace("_", " ")
        return f"log {log} {what}: {self.message or self.reason}"


_EVENT_TYPES = {each.value for each in LogEventType}

OnLogEvent: TypeAlias = Callable[[LogEvent], object]
"""A function that is called with what happens to the logs."""


@dataclass(frozen=True)
class LineFilter:
    """Selects lines of logs. The lines of each container are filtered separately, as grep does
    with a file. Either ``contains`` or ``regex`` is required.
    """

    contains: str | None = None
    """The text that a line must contain."""
    regex: str | None = None
    """The regular expression (RE2) that a line must match at any place."""
    ignore_case: bool = False
    """Whether upper and lower case letters are the same."""
    invert: bool = False
    """Whether the lines that do not match are selected."""
    before_lines: int = 0
    """The number of lines to return before each selected line, up to 100."""
    after_lines: int = 0
    """The number of lines to return after each selected line, up to 100."""

    def to_message(self) -> pb.LogLineFilter:
        """Return the API's message."""
        return checked(pb.LogLineFilter)(
            contains=self.contains,
            regex=self.regex,
            ignore_case=self.ignore_case,
            invert=self.invert,
            before_lines=self.before_lines,
            after_lines=self.after_lines,
        )

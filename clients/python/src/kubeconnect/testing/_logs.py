"""The logs that a test writes, and their lines."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from kubeconnect.testing._calls import Calls
from kubeconnect.testing._cluster import Content
from kubeconnect.testing._failures import bad_request, not_found, unsupported
from kubeconnect.testing._selections import Filters, Selection, selection_of
from kubeconnect.v1 import log_lines_pb2 as pb
from kubeconnect.v1 import watch_pb2

LogKey: TypeAlias = tuple[str, str, str]
"""The namespace, the pod and the container."""

_MAX_LOGS = 50
_UNSUPPORTED = ("previous", "since_seconds", "since_time", "limit_lines_per_pod", "limit_bytes")


@dataclass
class Log:
    """The log of a container."""

    data: bytes = b""
    ended: bool = False
    times: list[int] = field(default_factory=list)
    """The time of each line in nanoseconds."""

    def write(self, data: bytes) -> None:
        """Append to the log."""
        self.data += data
        lines = len(self.data.splitlines())
        self.times += [time.time_ns()] * (lines - len(self.times))

    def lines(self) -> list[tuple[int, int, bytes]]:
        """Return the time, the sequence and the text of each complete line."""
        *texts, rest = self.data.split(b"\n")
        if rest and self.ended:
            texts.append(rest)
        found: list[tuple[int, int, bytes]] = []
        for at, text in zip(self.times, texts, strict=False):
            same = found and found[-1][0] == at
            found.append((at, found[-1][1] + 1 if same else 0, text))
        return found


class LineReader:
    """The lines of the logs of a selection of pods. Guarded by the lock of the cluster."""

    def __init__(
        self,
        calls: Calls,
        filters: Filters,
        logs: dict[LogKey, Log],
        request: pb.GetLogLinesRequest,
    ) -> None:
        """Begin at the positions of the request. Raises the error of the call."""
        self._calls = calls
        self._logs = logs
        self._request = request
        self._matches = _matches(request)
        self._selection = _selection(calls, filters, request)
        self._included = _names(request.container or ".*")
        self._excluded = _names(request.exclude_container) if request.exclude_container else None
        self._begun: dict[LogKey, int] = {}  # the number of lines of each log that were read
        self._ended: set[LogKey] = set()
        self._rest = request.limit_lines if request.HasField("limit_lines") else None
        self._is_first = True
        if len(self._keys()) > (request.max_logs or _MAX_LOGS):
            raise bad_request(f"more than {request.max_logs or _MAX_LOGS} logs: select fewer")

    @property
    def is_complete(self) -> bool:
        """Whether nothing follows."""
        return self._rest == 0 or not self._request.follow

    def next(self) -> pb.GetLogLinesResponse | None:
        """Return what there is to send now; None if there is nothing."""
        response = pb.GetLogLinesResponse(covers_all=self._is_first)
        lines = [line for key in self._keys() for line in self._read(key, response.events)]
        lines.sort(key=lambda line: line.time.ToNanoseconds())
        if self._rest is not None:
            lines = lines[: self._rest]
            self._rest -= len(lines)
        response.lines.extend(lines)
        if self._rest == 0:
            response.events.add(type=pb.LOG_EVENT_TYPE_LIMIT_REACHED, reason="LimitReached")
        if not (response.events or response.lines or self._is_first):
            return None
        self._is_first = False
        return response

    def _keys(self) -> list[LogKey]:
        objects = self._calls.cluster.objects(self._selection.resource)
        return [
            (pod["metadata"]["namespace"], pod["metadata"]["name"], container)
            for pod in self._selection.select(objects)
            for container in containers_of(pod)
            if self._included(container) and not (self._excluded and self._excluded(container))
        ]

    def _read(self, key: LogKey, events: Any) -> Iterator[pb.LogLine]:
        log = self._logs.setdefault(key, Log())
        lines = log.lines()
        if key not in self._begun:
            events.append(_event(pb.LOG_EVENT_TYPE_BEGAN, key))
            self._begun[key] = self._start(key, lines)
        for at, sequence, text in lines[self._begun[key] :]:
            if self._matches(text):
                yield _line(key, at, sequence, text)
        self._begun[key] = len(lines)
        if (log.ended or not self._request.follow) and key not in self._ended:
            self._ended.add(key)
            reason = "Completed" if log.ended else "Read"
            events.append(_event(pb.LOG_EVENT_TYPE_ENDED, key, reason))

    def _start(self, key: LogKey, lines: list[tuple[int, int, bytes]]) -> int:
        """Return the number of lines to leave out."""
        for position in self._request.resume_after:
            if (position.namespace, position.pod, position.container) == key:
                last = (position.time.ToNanoseconds(), position.sequence)
                return sum((at, sequence) <= last for at, sequence, _ in lines)
        if self._is_first and self._request.HasField("tail_lines"):
            return max(len(lines) - self._request.tail_lines, 0)
        return 0


def containers_of(pod: Content) -> list[str]:
    """Return the names of the containers of a pod."""
    spec = pod.get("spec") or {}
    kinds = ("initContainers", "containers", "ephemeralContainers")
    return [each["name"] for kind in kinds for each in spec.get(kind) or ()]


def _selection(calls: Calls, filters: Filters, request: pb.GetLogLinesRequest) -> Selection:
    pods = calls.resource("logs", "pods", request.namespace)
    for name in _UNSUPPORTED:
        has_presence = request.DESCRIPTOR.fields_by_name[name].has_presence
        if request.HasField(name) if has_presence else getattr(request, name):
            raise unsupported(f"{name} in GetLogLines")
    selecting = watch_pb2.WatchRequest(
        resource="pods",
        namespace=request.namespace,
        name=request.name,
        label_selector=request.label_selector,
        field_selector=request.field_selector,
        filter=request.filter,
        related=request.related if request.HasField("related") else None,
    )
    selection = selection_of(calls.cluster, selecting, filters)
    key = (request.namespace, request.name)
    if request.name and not request.follow and calls.cluster.find(pods, key) is None:
        raise not_found(pods, request.name)
    return selection


def _names(pattern: str) -> Callable[[str], object]:
    try:
        return re.compile(pattern).fullmatch
    except re.error as error:
        raise bad_request(f"invalid regular expression {pattern!r}: {error}") from error


def _matches(request: pb.GetLogLinesRequest) -> Callable[[bytes], bool]:
    """Return the function that selects lines. Raises InvalidArgument for what is no filter."""
    if not request.HasField("line_filter"):
        return lambda text: True
    wanted = request.line_filter
    if bool(wanted.contains) == bool(wanted.regex):
        raise bad_request("line_filter: give either contains or regex")
    if wanted.before_lines or wanted.after_lines:
        raise unsupported("before_lines and after_lines in GetLogLines")
    pattern = wanted.regex or re.escape(wanted.contains)
    flags = re.IGNORECASE if wanted.ignore_case else 0
    try:
        search = re.compile(pattern.encode(), flags).search
    except re.error as error:
        raise bad_request(f"invalid regular expression {pattern!r}: {error}") from error
    return lambda text: (search(text) is None) == wanted.invert


def _line(key: LogKey, at: int, sequence: int, text: bytes) -> pb.LogLine:
    namespace, pod, container = key
    line = pb.LogLine(
        namespace=namespace, pod=pod, container=container, sequence=sequence, text=text
    )
    line.time.FromNanoseconds(at)
    return line


def _event(type: pb.LogEventType, key: LogKey, reason: str = "") -> pb.LogEvent:
    namespace, pod, container = key
    return pb.LogEvent(type=type, namespace=namespace, pod=pod, container=container, reason=reason)

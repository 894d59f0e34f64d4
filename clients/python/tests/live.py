"""Messages of live counts and live pages."""

from __future__ import annotations

from google.protobuf.struct_pb2 import Value

from kubeconnect.v1 import (
    consistency_pb2,
    log_lines_pb2,
    object_pb2,
    read_pb2,
    watch_counts_pb2,
    watch_pb2,
)
from tests.fake import PODS, pod

FRESH = consistency_pb2.Freshness()
STALE = consistency_pb2.Freshness(stale=True)


def total(number: float, exact: str) -> read_pb2.AggregateResult:
    """Return the result of an aggregate."""
    return read_pb2.AggregateResult(value=Value(number_value=number), exact=exact, value_count=1)


def group(value: str | float | bool, count: int) -> read_pb2.ObjectGroup:
    """Return a group with one value."""
    if isinstance(value, str):
        message = Value(string_value=value)
    elif isinstance(value, bool):
        message = Value(bool_value=value)
    else:
        message = Value(number_value=value)
    return read_pb2.ObjectGroup(values=[message], count=count)


def counts(
    version: str,
    *groups: read_pb2.ObjectGroup,
    total: int = 3,
    reset: bool = False,
    freshness: consistency_pb2.Freshness = FRESH,
) -> watch_counts_pb2.WatchCountsResponse:
    """Return a message of live counts."""
    return watch_counts_pb2.WatchCountsResponse(
        resource=PODS if reset else None,
        source=consistency_pb2.SOURCE_CACHE if reset else None,
        reset=reset,
        groups=groups,
        total_count=total,
        resource_version=version,
        freshness=freshness,
    )


def placed(
    type: watch_pb2.EventType, name: str, index: int = 0, version: str = "7"
) -> watch_pb2.Event:
    """Return an event of a page."""
    found = pod(name, version=version)
    if type == watch_pb2.EVENT_TYPE_MOVED:
        found = object_pb2.Object(namespace="demo", name=name, uid=f"uid-{name}")
    return watch_pb2.Event(type=type, object=found, index=index, resource_version=version)


def left(index: int) -> watch_pb2.Event:
    """Return the event of an object that leaves its place on a page."""
    return watch_pb2.Event(type=watch_pb2.EVENT_TYPE_DELETED, index=index, resource_version="9")


def state(total: int, offset: int = 0, version: str = "9") -> watch_pb2.PageState:
    """Return the state of a page."""
    return watch_pb2.PageState(total_count=total, offset=offset, resource_version=version)


def page(
    token: str,
    *events: watch_pb2.Event,
    state: watch_pb2.PageState | None = None,
    freshness: consistency_pb2.Freshness | None = None,
) -> watch_pb2.WatchResponse:
    """Return a message of a page."""
    return watch_pb2.WatchResponse(
        resource=PODS, events=events, resume_token=token, page=state, freshness=freshness
    )


def line(
    pod: str, text: str, *, at: int = 1, sequence: int = 0, container: str = "main"
) -> log_lines_pb2.LogLine:
    """Return a line of a log, which was written at a time in seconds."""
    message = log_lines_pb2.LogLine(
        namespace="demo", pod=pod, container=container, sequence=sequence, text=text.encode()
    )
    message.time.seconds, message.time.nanos = at, 5
    return message


def began(
    pod: str, type: log_lines_pb2.LogEventType = log_lines_pb2.LOG_EVENT_TYPE_BEGAN
) -> log_lines_pb2.LogEvent:
    """Return an event of a log."""
    return log_lines_pb2.LogEvent(
        type=type, namespace="demo", pod=pod, container="main", reason="Started"
    )

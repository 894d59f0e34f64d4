import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from kubeconnect.v1 import relation_pb2 as _relation_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class LogEventType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    LOG_EVENT_TYPE_UNSPECIFIED: _ClassVar[LogEventType]
    LOG_EVENT_TYPE_BEGAN: _ClassVar[LogEventType]
    LOG_EVENT_TYPE_ENDED: _ClassVar[LogEventType]
    LOG_EVENT_TYPE_WAITING: _ClassVar[LogEventType]
    LOG_EVENT_TYPE_FAILED: _ClassVar[LogEventType]
    LOG_EVENT_TYPE_LINES_LOST: _ClassVar[LogEventType]
    LOG_EVENT_TYPE_LIMIT_REACHED: _ClassVar[LogEventType]
LOG_EVENT_TYPE_UNSPECIFIED: LogEventType
LOG_EVENT_TYPE_BEGAN: LogEventType
LOG_EVENT_TYPE_ENDED: LogEventType
LOG_EVENT_TYPE_WAITING: LogEventType
LOG_EVENT_TYPE_FAILED: LogEventType
LOG_EVENT_TYPE_LINES_LOST: LogEventType
LOG_EVENT_TYPE_LIMIT_REACHED: LogEventType

class GetLogLinesRequest(_message.Message):
    __slots__ = ("namespace", "name", "label_selector", "field_selector", "filter", "related", "require_all_namespaces", "min_resource_version", "container", "exclude_container", "follow", "previous", "since_seconds", "since_time", "tail_lines", "line_filter", "limit_lines", "limit_lines_per_pod", "limit_bytes", "max_logs", "resume_after")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    LABEL_SELECTOR_FIELD_NUMBER: _ClassVar[int]
    FIELD_SELECTOR_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    RELATED_FIELD_NUMBER: _ClassVar[int]
    REQUIRE_ALL_NAMESPACES_FIELD_NUMBER: _ClassVar[int]
    MIN_RESOURCE_VERSION_FIELD_NUMBER: _ClassVar[int]
    CONTAINER_FIELD_NUMBER: _ClassVar[int]
    EXCLUDE_CONTAINER_FIELD_NUMBER: _ClassVar[int]
    FOLLOW_FIELD_NUMBER: _ClassVar[int]
    PREVIOUS_FIELD_NUMBER: _ClassVar[int]
    SINCE_SECONDS_FIELD_NUMBER: _ClassVar[int]
    SINCE_TIME_FIELD_NUMBER: _ClassVar[int]
    TAIL_LINES_FIELD_NUMBER: _ClassVar[int]
    LINE_FILTER_FIELD_NUMBER: _ClassVar[int]
    LIMIT_LINES_FIELD_NUMBER: _ClassVar[int]
    LIMIT_LINES_PER_POD_FIELD_NUMBER: _ClassVar[int]
    LIMIT_BYTES_FIELD_NUMBER: _ClassVar[int]
    MAX_LOGS_FIELD_NUMBER: _ClassVar[int]
    RESUME_AFTER_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    name: str
    label_selector: str
    field_selector: str
    filter: str
    related: _relation_pb2.Relation
    require_all_namespaces: bool
    min_resource_version: str
    container: str
    exclude_container: str
    follow: bool
    previous: bool
    since_seconds: int
    since_time: _timestamp_pb2.Timestamp
    tail_lines: int
    line_filter: LogLineFilter
    limit_lines: int
    limit_lines_per_pod: int
    limit_bytes: int
    max_logs: int
    resume_after: _containers.RepeatedCompositeFieldContainer[LogPosition]
    def __init__(self, namespace: _Optional[str] = ..., name: _Optional[str] = ..., label_selector: _Optional[str] = ..., field_selector: _Optional[str] = ..., filter: _Optional[str] = ..., related: _Optional[_Union[_relation_pb2.Relation, _Mapping]] = ..., require_all_namespaces: bool = ..., min_resource_version: _Optional[str] = ..., container: _Optional[str] = ..., exclude_container: _Optional[str] = ..., follow: bool = ..., previous: bool = ..., since_seconds: _Optional[int] = ..., since_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., tail_lines: _Optional[int] = ..., line_filter: _Optional[_Union[LogLineFilter, _Mapping]] = ..., limit_lines: _Optional[int] = ..., limit_lines_per_pod: _Optional[int] = ..., limit_bytes: _Optional[int] = ..., max_logs: _Optional[int] = ..., resume_after: _Optional[_Iterable[_Union[LogPosition, _Mapping]]] = ...) -> None: ...

class LogLineFilter(_message.Message):
    __slots__ = ("contains", "regex", "ignore_case", "invert", "before_lines", "after_lines")
    CONTAINS_FIELD_NUMBER: _ClassVar[int]
    REGEX_FIELD_NUMBER: _ClassVar[int]
    IGNORE_CASE_FIELD_NUMBER: _ClassVar[int]
    INVERT_FIELD_NUMBER: _ClassVar[int]
    BEFORE_LINES_FIELD_NUMBER: _ClassVar[int]
    AFTER_LINES_FIELD_NUMBER: _ClassVar[int]
    contains: str
    regex: str
    ignore_case: bool
    invert: bool
    before_lines: int
    after_lines: int
    def __init__(self, contains: _Optional[str] = ..., regex: _Optional[str] = ..., ignore_case: bool = ..., invert: bool = ..., before_lines: _Optional[int] = ..., after_lines: _Optional[int] = ...) -> None: ...

class GetLogLinesResponse(_message.Message):
    __slots__ = ("events", "lines", "positions", "warnings", "namespaces", "covers_all")
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    LINES_FIELD_NUMBER: _ClassVar[int]
    POSITIONS_FIELD_NUMBER: _ClassVar[int]
    WARNINGS_FIELD_NUMBER: _ClassVar[int]
    NAMESPACES_FIELD_NUMBER: _ClassVar[int]
    COVERS_ALL_FIELD_NUMBER: _ClassVar[int]
    events: _containers.RepeatedCompositeFieldContainer[LogEvent]
    lines: _containers.RepeatedCompositeFieldContainer[LogLine]
    positions: _containers.RepeatedCompositeFieldContainer[LogPosition]
    warnings: _containers.RepeatedScalarFieldContainer[str]
    namespaces: _containers.RepeatedScalarFieldContainer[str]
    covers_all: bool
    def __init__(self, events: _Optional[_Iterable[_Union[LogEvent, _Mapping]]] = ..., lines: _Optional[_Iterable[_Union[LogLine, _Mapping]]] = ..., positions: _Optional[_Iterable[_Union[LogPosition, _Mapping]]] = ..., warnings: _Optional[_Iterable[str]] = ..., namespaces: _Optional[_Iterable[str]] = ..., covers_all: bool = ...) -> None: ...

class LogLine(_message.Message):
    __slots__ = ("namespace", "pod", "container", "time", "sequence", "text", "cut", "context", "gap")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    POD_FIELD_NUMBER: _ClassVar[int]
    CONTAINER_FIELD_NUMBER: _ClassVar[int]
    TIME_FIELD_NUMBER: _ClassVar[int]
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    CUT_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_FIELD_NUMBER: _ClassVar[int]
    GAP_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    pod: str
    container: str
    time: _timestamp_pb2.Timestamp
    sequence: int
    text: bytes
    cut: bool
    context: bool
    gap: bool
    def __init__(self, namespace: _Optional[str] = ..., pod: _Optional[str] = ..., container: _Optional[str] = ..., time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., sequence: _Optional[int] = ..., text: _Optional[bytes] = ..., cut: bool = ..., context: bool = ..., gap: bool = ...) -> None: ...

class LogPosition(_message.Message):
    __slots__ = ("namespace", "pod", "container", "time", "sequence")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    POD_FIELD_NUMBER: _ClassVar[int]
    CONTAINER_FIELD_NUMBER: _ClassVar[int]
    TIME_FIELD_NUMBER: _ClassVar[int]
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    pod: str
    container: str
    time: _timestamp_pb2.Timestamp
    sequence: int
    def __init__(self, namespace: _Optional[str] = ..., pod: _Optional[str] = ..., container: _Optional[str] = ..., time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., sequence: _Optional[int] = ...) -> None: ...

class LogEvent(_message.Message):
    __slots__ = ("type", "namespace", "pod", "pod_uid", "container", "restart_count", "reason", "message", "exit_code")
    TYPE_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    POD_FIELD_NUMBER: _ClassVar[int]
    POD_UID_FIELD_NUMBER: _ClassVar[int]
    CONTAINER_FIELD_NUMBER: _ClassVar[int]
    RESTART_COUNT_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    EXIT_CODE_FIELD_NUMBER: _ClassVar[int]
    type: LogEventType
    namespace: str
    pod: str
    pod_uid: str
    container: str
    restart_count: int
    reason: str
    message: str
    exit_code: int
    def __init__(self, type: _Optional[_Union[LogEventType, str]] = ..., namespace: _Optional[str] = ..., pod: _Optional[str] = ..., pod_uid: _Optional[str] = ..., container: _Optional[str] = ..., restart_count: _Optional[int] = ..., reason: _Optional[str] = ..., message: _Optional[str] = ..., exit_code: _Optional[int] = ...) -> None: ...

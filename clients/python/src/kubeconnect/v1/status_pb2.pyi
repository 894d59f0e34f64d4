from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Status(_message.Message):
    __slots__ = ("reason", "message", "code", "group", "kind", "name", "causes", "retry_after_seconds", "uid", "omitted_cause_count")
    REASON_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    CODE_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    CAUSES_FIELD_NUMBER: _ClassVar[int]
    RETRY_AFTER_SECONDS_FIELD_NUMBER: _ClassVar[int]
    UID_FIELD_NUMBER: _ClassVar[int]
    OMITTED_CAUSE_COUNT_FIELD_NUMBER: _ClassVar[int]
    reason: str
    message: str
    code: int
    group: str
    kind: str
    name: str
    causes: _containers.RepeatedCompositeFieldContainer[StatusCause]
    retry_after_seconds: int
    uid: str
    omitted_cause_count: int
    def __init__(self, reason: _Optional[str] = ..., message: _Optional[str] = ..., code: _Optional[int] = ..., group: _Optional[str] = ..., kind: _Optional[str] = ..., name: _Optional[str] = ..., causes: _Optional[_Iterable[_Union[StatusCause, _Mapping]]] = ..., retry_after_seconds: _Optional[int] = ..., uid: _Optional[str] = ..., omitted_cause_count: _Optional[int] = ...) -> None: ...

class StatusCause(_message.Message):
    __slots__ = ("reason", "message", "field")
    REASON_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    FIELD_FIELD_NUMBER: _ClassVar[int]
    reason: str
    message: str
    field: str
    def __init__(self, reason: _Optional[str] = ..., message: _Optional[str] = ..., field: _Optional[str] = ...) -> None: ...

from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class JoinType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    JOIN_TYPE_UNSPECIFIED: _ClassVar[JoinType]
    JOIN_TYPE_NAMED_BY: _ClassVar[JoinType]
    JOIN_TYPE_NAMES: _ClassVar[JoinType]
    JOIN_TYPE_OWNER_OF: _ClassVar[JoinType]
    JOIN_TYPE_SELECTED_BY: _ClassVar[JoinType]
    JOIN_TYPE_SUBJECT_OF: _ClassVar[JoinType]
JOIN_TYPE_UNSPECIFIED: JoinType
JOIN_TYPE_NAMED_BY: JoinType
JOIN_TYPE_NAMES: JoinType
JOIN_TYPE_OWNER_OF: JoinType
JOIN_TYPE_SELECTED_BY: JoinType
JOIN_TYPE_SUBJECT_OF: JoinType

class Join(_message.Message):
    __slots__ = ("name", "type", "resource", "path", "fields", "filter", "limit")
    NAME_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    RESOURCE_FIELD_NUMBER: _ClassVar[int]
    PATH_FIELD_NUMBER: _ClassVar[int]
    FIELDS_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    name: str
    type: JoinType
    resource: str
    path: str
    fields: _containers.RepeatedScalarFieldContainer[str]
    filter: str
    limit: int
    def __init__(self, name: _Optional[str] = ..., type: _Optional[_Union[JoinType, str]] = ..., resource: _Optional[str] = ..., path: _Optional[str] = ..., fields: _Optional[_Iterable[str]] = ..., filter: _Optional[str] = ..., limit: _Optional[int] = ...) -> None: ...

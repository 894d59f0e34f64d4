import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Consistency(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CONSISTENCY_UNSPECIFIED: _ClassVar[Consistency]
    CONSISTENCY_CACHED: _ClassVar[Consistency]
    CONSISTENCY_LATEST: _ClassVar[Consistency]

class Source(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SOURCE_UNSPECIFIED: _ClassVar[Source]
    SOURCE_CACHE: _ClassVar[Source]
    SOURCE_API_SERVER: _ClassVar[Source]
CONSISTENCY_UNSPECIFIED: Consistency
CONSISTENCY_CACHED: Consistency
CONSISTENCY_LATEST: Consistency
SOURCE_UNSPECIFIED: Source
SOURCE_CACHE: Source
SOURCE_API_SERVER: Source

class Freshness(_message.Message):
    __slots__ = ("stale", "last_contact_time")
    STALE_FIELD_NUMBER: _ClassVar[int]
    LAST_CONTACT_TIME_FIELD_NUMBER: _ClassVar[int]
    stale: bool
    last_contact_time: _timestamp_pb2.Timestamp
    def __init__(self, stale: bool = ..., last_contact_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

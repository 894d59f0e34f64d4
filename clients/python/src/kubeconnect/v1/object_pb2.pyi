from google.protobuf import struct_pb2 as _struct_pb2
from kubeconnect.v1 import status_pb2 as _status_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Encoding(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ENCODING_UNSPECIFIED: _ClassVar[Encoding]
    ENCODING_STRUCT: _ClassVar[Encoding]
    ENCODING_JSON: _ClassVar[Encoding]
    ENCODING_PROTOBUF: _ClassVar[Encoding]
ENCODING_UNSPECIFIED: Encoding
ENCODING_STRUCT: Encoding
ENCODING_JSON: Encoding
ENCODING_PROTOBUF: Encoding

class Object(_message.Message):
    __slots__ = ("namespace", "name", "uid", "resource_version", "struct", "json", "protobuf", "error", "joined")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    UID_FIELD_NUMBER: _ClassVar[int]
    RESOURCE_VERSION_FIELD_NUMBER: _ClassVar[int]
    STRUCT_FIELD_NUMBER: _ClassVar[int]
    JSON_FIELD_NUMBER: _ClassVar[int]
    PROTOBUF_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    JOINED_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    name: str
    uid: str
    resource_version: str
    struct: _struct_pb2.Struct
    json: bytes
    protobuf: bytes
    error: _status_pb2.Status
    joined: _containers.RepeatedCompositeFieldContainer[JoinedObjects]
    def __init__(self, namespace: _Optional[str] = ..., name: _Optional[str] = ..., uid: _Optional[str] = ..., resource_version: _Optional[str] = ..., struct: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., json: _Optional[bytes] = ..., protobuf: _Optional[bytes] = ..., error: _Optional[_Union[_status_pb2.Status, _Mapping]] = ..., joined: _Optional[_Iterable[_Union[JoinedObjects, _Mapping]]] = ...) -> None: ...

class JoinedObjects(_message.Message):
    __slots__ = ("name", "count", "objects", "not_permitted")
    NAME_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    OBJECTS_FIELD_NUMBER: _ClassVar[int]
    NOT_PERMITTED_FIELD_NUMBER: _ClassVar[int]
    name: str
    count: int
    objects: _containers.RepeatedCompositeFieldContainer[Object]
    not_permitted: bool
    def __init__(self, name: _Optional[str] = ..., count: _Optional[int] = ..., objects: _Optional[_Iterable[_Union[Object, _Mapping]]] = ..., not_permitted: bool = ...) -> None: ...

class Resource(_message.Message):
    __slots__ = ("group", "version", "kind", "plural", "namespaced", "protobuf_type")
    GROUP_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    PLURAL_FIELD_NUMBER: _ClassVar[int]
    NAMESPACED_FIELD_NUMBER: _ClassVar[int]
    PROTOBUF_TYPE_FIELD_NUMBER: _ClassVar[int]
    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool
    protobuf_type: str
    def __init__(self, group: _Optional[str] = ..., version: _Optional[str] = ..., kind: _Optional[str] = ..., plural: _Optional[str] = ..., namespaced: bool = ..., protobuf_type: _Optional[str] = ...) -> None: ...

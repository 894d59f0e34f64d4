from google.protobuf import struct_pb2 as _struct_pb2
from kubeconnect.v1 import consistency_pb2 as _consistency_pb2
from kubeconnect.v1 import object_pb2 as _object_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ListResourceTypesRequest(_message.Message):
    __slots__ = ("group", "category")
    GROUP_FIELD_NUMBER: _ClassVar[int]
    CATEGORY_FIELD_NUMBER: _ClassVar[int]
    group: str
    category: str
    def __init__(self, group: _Optional[str] = ..., category: _Optional[str] = ...) -> None: ...

class ListResourceTypesResponse(_message.Message):
    __slots__ = ("resource_types", "failed_group_versions")
    RESOURCE_TYPES_FIELD_NUMBER: _ClassVar[int]
    FAILED_GROUP_VERSIONS_FIELD_NUMBER: _ClassVar[int]
    resource_types: _containers.RepeatedCompositeFieldContainer[ResourceType]
    failed_group_versions: _containers.RepeatedCompositeFieldContainer[FailedGroupVersion]
    def __init__(self, resource_types: _Optional[_Iterable[_Union[ResourceType, _Mapping]]] = ..., failed_group_versions: _Optional[_Iterable[_Union[FailedGroupVersion, _Mapping]]] = ...) -> None: ...

class FailedGroupVersion(_message.Message):
    __slots__ = ("group", "version", "message")
    GROUP_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    group: str
    version: str
    message: str
    def __init__(self, group: _Optional[str] = ..., version: _Optional[str] = ..., message: _Optional[str] = ...) -> None: ...

class ResourceType(_message.Message):
    __slots__ = ("resource", "singular", "short_names", "categories", "verbs", "subresources", "cache", "versions")
    RESOURCE_FIELD_NUMBER: _ClassVar[int]
    SINGULAR_FIELD_NUMBER: _ClassVar[int]
    SHORT_NAMES_FIELD_NUMBER: _ClassVar[int]
    CATEGORIES_FIELD_NUMBER: _ClassVar[int]
    VERBS_FIELD_NUMBER: _ClassVar[int]
    SUBRESOURCES_FIELD_NUMBER: _ClassVar[int]
    CACHE_FIELD_NUMBER: _ClassVar[int]
    VERSIONS_FIELD_NUMBER: _ClassVar[int]
    resource: _object_pb2.Resource
    singular: str
    short_names: _containers.RepeatedScalarFieldContainer[str]
    categories: _containers.RepeatedScalarFieldContainer[str]
    verbs: _containers.RepeatedScalarFieldContainer[str]
    subresources: _containers.RepeatedScalarFieldContainer[str]
    cache: CacheState
    versions: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, resource: _Optional[_Union[_object_pb2.Resource, _Mapping]] = ..., singular: _Optional[str] = ..., short_names: _Optional[_Iterable[str]] = ..., categories: _Optional[_Iterable[str]] = ..., verbs: _Optional[_Iterable[str]] = ..., subresources: _Optional[_Iterable[str]] = ..., cache: _Optional[_Union[CacheState, _Mapping]] = ..., versions: _Optional[_Iterable[str]] = ...) -> None: ...

class CacheState(_message.Message):
    __slots__ = ("running", "synced", "object_count", "size_bytes", "resource_version", "freshness")
    RUNNING_FIELD_NUMBER: _ClassVar[int]
    SYNCED_FIELD_NUMBER: _ClassVar[int]
    OBJECT_COUNT_FIELD_NUMBER: _ClassVar[int]
    SIZE_BYTES_FIELD_NUMBER: _ClassVar[int]
    RESOURCE_VERSION_FIELD_NUMBER: _ClassVar[int]
    FRESHNESS_FIELD_NUMBER: _ClassVar[int]
    running: bool
    synced: bool
    object_count: int
    size_bytes: int
    resource_version: str
    freshness: _consistency_pb2.Freshness
    def __init__(self, running: bool = ..., synced: bool = ..., object_count: _Optional[int] = ..., size_bytes: _Optional[int] = ..., resource_version: _Optional[str] = ..., freshness: _Optional[_Union[_consistency_pb2.Freshness, _Mapping]] = ...) -> None: ...

class GetSchemaRequest(_message.Message):
    __slots__ = ("resource",)
    RESOURCE_FIELD_NUMBER: _ClassVar[int]
    resource: str
    def __init__(self, resource: _Optional[str] = ...) -> None: ...

class GetSchemaResponse(_message.Message):
    __slots__ = ("resource", "schema")
    RESOURCE_FIELD_NUMBER: _ClassVar[int]
    SCHEMA_FIELD_NUMBER: _ClassVar[int]
    resource: _object_pb2.Resource
    schema: _struct_pb2.Struct
    def __init__(self, resource: _Optional[_Union[_object_pb2.Resource, _Mapping]] = ..., schema: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ...) -> None: ...

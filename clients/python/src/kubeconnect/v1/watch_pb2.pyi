from kubeconnect.v1 import consistency_pb2 as _consistency_pb2
from kubeconnect.v1 import join_pb2 as _join_pb2
from kubeconnect.v1 import object_pb2 as _object_pb2
from kubeconnect.v1 import relation_pb2 as _relation_pb2
from kubeconnect.v1 import status_pb2 as _status_pb2
from kubeconnect.v1 import watch_counts_pb2 as _watch_counts_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class EventType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    EVENT_TYPE_UNSPECIFIED: _ClassVar[EventType]
    EVENT_TYPE_ADDED: _ClassVar[EventType]
    EVENT_TYPE_MODIFIED: _ClassVar[EventType]
    EVENT_TYPE_DELETED: _ClassVar[EventType]
    EVENT_TYPE_RESET: _ClassVar[EventType]
    EVENT_TYPE_SYNCED: _ClassVar[EventType]
    EVENT_TYPE_BOOKMARK: _ClassVar[EventType]
    EVENT_TYPE_MOVED: _ClassVar[EventType]

class PatchFormat(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PATCH_FORMAT_UNSPECIFIED: _ClassVar[PatchFormat]
    PATCH_FORMAT_JSON: _ClassVar[PatchFormat]
    PATCH_FORMAT_MERGE: _ClassVar[PatchFormat]
EVENT_TYPE_UNSPECIFIED: EventType
EVENT_TYPE_ADDED: EventType
EVENT_TYPE_MODIFIED: EventType
EVENT_TYPE_DELETED: EventType
EVENT_TYPE_RESET: EventType
EVENT_TYPE_SYNCED: EventType
EVENT_TYPE_BOOKMARK: EventType
EVENT_TYPE_MOVED: EventType
PATCH_FORMAT_UNSPECIFIED: PatchFormat
PATCH_FORMAT_JSON: PatchFormat
PATCH_FORMAT_MERGE: PatchFormat

class WatchRequest(_message.Message):
    __slots__ = ("resource", "namespace", "label_selector", "field_selector", "filter", "fields", "encoding", "min_resource_version", "name", "resume_token", "metadata_only", "related", "patch_format", "require_all_namespaces", "limit", "order_by", "offset", "after", "joins")
    RESOURCE_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    LABEL_SELECTOR_FIELD_NUMBER: _ClassVar[int]
    FIELD_SELECTOR_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    FIELDS_FIELD_NUMBER: _ClassVar[int]
    ENCODING_FIELD_NUMBER: _ClassVar[int]
    MIN_RESOURCE_VERSION_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    RESUME_TOKEN_FIELD_NUMBER: _ClassVar[int]
    METADATA_ONLY_FIELD_NUMBER: _ClassVar[int]
    RELATED_FIELD_NUMBER: _ClassVar[int]
    PATCH_FORMAT_FIELD_NUMBER: _ClassVar[int]
    REQUIRE_ALL_NAMESPACES_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    ORDER_BY_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    JOINS_FIELD_NUMBER: _ClassVar[int]
    resource: str
    namespace: str
    label_selector: str
    field_selector: str
    filter: str
    fields: _containers.RepeatedScalarFieldContainer[str]
    encoding: _object_pb2.Encoding
    min_resource_version: str
    name: str
    resume_token: str
    metadata_only: bool
    related: _relation_pb2.Relation
    patch_format: PatchFormat
    require_all_namespaces: bool
    limit: int
    order_by: str
    offset: int
    after: ObjectName
    joins: _containers.RepeatedCompositeFieldContainer[_join_pb2.Join]
    def __init__(self, resource: _Optional[str] = ..., namespace: _Optional[str] = ..., label_selector: _Optional[str] = ..., field_selector: _Optional[str] = ..., filter: _Optional[str] = ..., fields: _Optional[_Iterable[str]] = ..., encoding: _Optional[_Union[_object_pb2.Encoding, str]] = ..., min_resource_version: _Optional[str] = ..., name: _Optional[str] = ..., resume_token: _Optional[str] = ..., metadata_only: bool = ..., related: _Optional[_Union[_relation_pb2.Relation, _Mapping]] = ..., patch_format: _Optional[_Union[PatchFormat, str]] = ..., require_all_namespaces: bool = ..., limit: _Optional[int] = ..., order_by: _Optional[str] = ..., offset: _Optional[int] = ..., after: _Optional[_Union[ObjectName, _Mapping]] = ..., joins: _Optional[_Iterable[_Union[_join_pb2.Join, _Mapping]]] = ...) -> None: ...

class ObjectName(_message.Message):
    __slots__ = ("namespace", "name")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    name: str
    def __init__(self, namespace: _Optional[str] = ..., name: _Optional[str] = ...) -> None: ...

class PageState(_message.Message):
    __slots__ = ("total_count", "offset", "resource_version")
    TOTAL_COUNT_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    RESOURCE_VERSION_FIELD_NUMBER: _ClassVar[int]
    total_count: int
    offset: int
    resource_version: str
    def __init__(self, total_count: _Optional[int] = ..., offset: _Optional[int] = ..., resource_version: _Optional[str] = ...) -> None: ...

class WatchResponse(_message.Message):
    __slots__ = ("resource", "events", "resume_token", "freshness", "source", "warnings", "namespaces", "page")
    RESOURCE_FIELD_NUMBER: _ClassVar[int]
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    RESUME_TOKEN_FIELD_NUMBER: _ClassVar[int]
    FRESHNESS_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    WARNINGS_FIELD_NUMBER: _ClassVar[int]
    NAMESPACES_FIELD_NUMBER: _ClassVar[int]
    PAGE_FIELD_NUMBER: _ClassVar[int]
    resource: _object_pb2.Resource
    events: _containers.RepeatedCompositeFieldContainer[Event]
    resume_token: str
    freshness: _consistency_pb2.Freshness
    source: _consistency_pb2.Source
    warnings: _containers.RepeatedScalarFieldContainer[str]
    namespaces: _containers.RepeatedScalarFieldContainer[str]
    page: PageState
    def __init__(self, resource: _Optional[_Union[_object_pb2.Resource, _Mapping]] = ..., events: _Optional[_Iterable[_Union[Event, _Mapping]]] = ..., resume_token: _Optional[str] = ..., freshness: _Optional[_Union[_consistency_pb2.Freshness, _Mapping]] = ..., source: _Optional[_Union[_consistency_pb2.Source, str]] = ..., warnings: _Optional[_Iterable[str]] = ..., namespaces: _Optional[_Iterable[str]] = ..., page: _Optional[_Union[PageState, _Mapping]] = ...) -> None: ...

class Event(_message.Message):
    __slots__ = ("type", "object", "resource_version", "patch_format", "index")
    TYPE_FIELD_NUMBER: _ClassVar[int]
    OBJECT_FIELD_NUMBER: _ClassVar[int]
    RESOURCE_VERSION_FIELD_NUMBER: _ClassVar[int]
    PATCH_FORMAT_FIELD_NUMBER: _ClassVar[int]
    INDEX_FIELD_NUMBER: _ClassVar[int]
    type: EventType
    object: _object_pb2.Object
    resource_version: str
    patch_format: PatchFormat
    index: int
    def __init__(self, type: _Optional[_Union[EventType, str]] = ..., object: _Optional[_Union[_object_pb2.Object, _Mapping]] = ..., resource_version: _Optional[str] = ..., patch_format: _Optional[_Union[PatchFormat, str]] = ..., index: _Optional[int] = ...) -> None: ...

class WatchManyRequest(_message.Message):
    __slots__ = ("watches", "resume_token", "counts", "independent")
    WATCHES_FIELD_NUMBER: _ClassVar[int]
    RESUME_TOKEN_FIELD_NUMBER: _ClassVar[int]
    COUNTS_FIELD_NUMBER: _ClassVar[int]
    INDEPENDENT_FIELD_NUMBER: _ClassVar[int]
    watches: _containers.RepeatedCompositeFieldContainer[WatchSpec]
    resume_token: str
    counts: _containers.RepeatedCompositeFieldContainer[_watch_counts_pb2.WatchCountsRequest]
    independent: bool
    def __init__(self, watches: _Optional[_Iterable[_Union[WatchSpec, _Mapping]]] = ..., resume_token: _Optional[str] = ..., counts: _Optional[_Iterable[_Union[_watch_counts_pb2.WatchCountsRequest, _Mapping]]] = ..., independent: bool = ...) -> None: ...

class WatchSpec(_message.Message):
    __slots__ = ("resource", "namespace", "label_selector", "field_selector", "filter", "fields", "encoding", "min_resource_version", "name", "metadata_only", "related", "patch_format", "require_all_namespaces", "limit", "order_by", "offset", "after", "joins", "own_resume_token")
    RESOURCE_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    LABEL_SELECTOR_FIELD_NUMBER: _ClassVar[int]
    FIELD_SELECTOR_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    FIELDS_FIELD_NUMBER: _ClassVar[int]
    ENCODING_FIELD_NUMBER: _ClassVar[int]
    MIN_RESOURCE_VERSION_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    METADATA_ONLY_FIELD_NUMBER: _ClassVar[int]
    RELATED_FIELD_NUMBER: _ClassVar[int]
    PATCH_FORMAT_FIELD_NUMBER: _ClassVar[int]
    REQUIRE_ALL_NAMESPACES_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    ORDER_BY_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    JOINS_FIELD_NUMBER: _ClassVar[int]
    OWN_RESUME_TOKEN_FIELD_NUMBER: _ClassVar[int]
    resource: str
    namespace: str
    label_selector: str
    field_selector: str
    filter: str
    fields: _containers.RepeatedScalarFieldContainer[str]
    encoding: _object_pb2.Encoding
    min_resource_version: str
    name: str
    metadata_only: bool
    related: _relation_pb2.Relation
    patch_format: PatchFormat
    require_all_namespaces: bool
    limit: int
    order_by: str
    offset: int
    after: ObjectName
    joins: _containers.RepeatedCompositeFieldContainer[_join_pb2.Join]
    own_resume_token: str
    def __init__(self, resource: _Optional[str] = ..., namespace: _Optional[str] = ..., label_selector: _Optional[str] = ..., field_selector: _Optional[str] = ..., filter: _Optional[str] = ..., fields: _Optional[_Iterable[str]] = ..., encoding: _Optional[_Union[_object_pb2.Encoding, str]] = ..., min_resource_version: _Optional[str] = ..., name: _Optional[str] = ..., metadata_only: bool = ..., related: _Optional[_Union[_relation_pb2.Relation, _Mapping]] = ..., patch_format: _Optional[_Union[PatchFormat, str]] = ..., require_all_namespaces: bool = ..., limit: _Optional[int] = ..., order_by: _Optional[str] = ..., offset: _Optional[int] = ..., after: _Optional[_Union[ObjectName, _Mapping]] = ..., joins: _Optional[_Iterable[_Union[_join_pb2.Join, _Mapping]]] = ..., own_resume_token: _Optional[str] = ...) -> None: ...

class WatchManyResponse(_message.Message):
    __slots__ = ("watch_index", "response", "resume_token", "counts", "error")
    WATCH_INDEX_FIELD_NUMBER: _ClassVar[int]
    RESPONSE_FIELD_NUMBER: _ClassVar[int]
    RESUME_TOKEN_FIELD_NUMBER: _ClassVar[int]
    COUNTS_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    watch_index: int
    response: WatchResponse
    resume_token: str
    counts: _watch_counts_pb2.WatchCountsResponse
    error: _status_pb2.Status
    def __init__(self, watch_index: _Optional[int] = ..., response: _Optional[_Union[WatchResponse, _Mapping]] = ..., resume_token: _Optional[str] = ..., counts: _Optional[_Union[_watch_counts_pb2.WatchCountsResponse, _Mapping]] = ..., error: _Optional[_Union[_status_pb2.Status, _Mapping]] = ...) -> None: ...

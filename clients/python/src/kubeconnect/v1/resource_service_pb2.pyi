import datetime

from google.protobuf import struct_pb2 as _struct_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from kubeconnect.v1 import object_pb2 as _object_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
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

class RelationType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    RELATION_TYPE_UNSPECIFIED: _ClassVar[RelationType]
    RELATION_TYPE_OWNED_BY: _ClassVar[RelationType]
    RELATION_TYPE_SELECTED_BY: _ClassVar[RelationType]
    RELATION_TYPE_ABOUT: _ClassVar[RelationType]
    RELATION_TYPE_OWNER_OF: _ClassVar[RelationType]

class EventType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    EVENT_TYPE_UNSPECIFIED: _ClassVar[EventType]
    EVENT_TYPE_ADDED: _ClassVar[EventType]
    EVENT_TYPE_MODIFIED: _ClassVar[EventType]
    EVENT_TYPE_DELETED: _ClassVar[EventType]
    EVENT_TYPE_RESET: _ClassVar[EventType]
    EVENT_TYPE_SYNCED: _ClassVar[EventType]
    EVENT_TYPE_BOOKMARK: _ClassVar[EventType]

class PatchType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PATCH_TYPE_UNSPECIFIED: _ClassVar[PatchType]
    PATCH_TYPE_JSON: _ClassVar[PatchType]
    PATCH_TYPE_MERGE: _ClassVar[PatchType]
    PATCH_TYPE_STRATEGIC_MERGE: _ClassVar[PatchType]
    PATCH_TYPE_APPLY: _ClassVar[PatchType]

class FieldValidation(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    FIELD_VALIDATION_UNSPECIFIED: _ClassVar[FieldValidation]
    FIELD_VALIDATION_IGNORE: _ClassVar[FieldValidation]
    FIELD_VALIDATION_WARN: _ClassVar[FieldValidation]
    FIELD_VALIDATION_STRICT: _ClassVar[FieldValidation]

class PropagationPolicy(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PROPAGATION_POLICY_UNSPECIFIED: _ClassVar[PropagationPolicy]
    PROPAGATION_POLICY_ORPHAN: _ClassVar[PropagationPolicy]
    PROPAGATION_POLICY_BACKGROUND: _ClassVar[PropagationPolicy]
    PROPAGATION_POLICY_FOREGROUND: _ClassVar[PropagationPolicy]
CONSISTENCY_UNSPECIFIED: Consistency
CONSISTENCY_CACHED: Consistency
CONSISTENCY_LATEST: Consistency
SOURCE_UNSPECIFIED: Source
SOURCE_CACHE: Source
SOURCE_API_SERVER: Source
RELATION_TYPE_UNSPECIFIED: RelationType
RELATION_TYPE_OWNED_BY: RelationType
RELATION_TYPE_SELECTED_BY: RelationType
RELATION_TYPE_ABOUT: RelationType
RELATION_TYPE_OWNER_OF: RelationType
EVENT_TYPE_UNSPECIFIED: EventType
EVENT_TYPE_ADDED: EventType
EVENT_TYPE_MODIFIED: EventType
EVENT_TYPE_DELETED: EventType
EVENT_TYPE_RESET: EventType
EVENT_TYPE_SYNCED: EventType
EVENT_TYPE_BOOKMARK: EventType
PATCH_TYPE_UNSPECIFIED: PatchType
PATCH_TYPE_JSON: PatchType
PATCH_TYPE_MERGE: PatchType
PATCH_TYPE_STRATEGIC_MERGE: PatchType
PATCH_TYPE_APPLY: PatchType
FIELD_VALIDATION_UNSPECIFIED: FieldValidation
FIELD_VALIDATION_IGNORE: FieldValidation
FIELD_VALIDATION_WARN: FieldValidation
FIELD_VALIDATION_STRICT: FieldValidation
PROPAGATION_POLICY_UNSPECIFIED: PropagationPolicy
PROPAGATION_POLICY_ORPHAN: PropagationPolicy
PROPAGATION_POLICY_BACKGROUND: PropagationPolicy
PROPAGATION_POLICY_FOREGROUND: PropagationPolicy

class Relation(_message.Message):
    __slots__ = ("type", "resource", "namespace", "name", "uid", "transitive")
    TYPE_FIELD_NUMBER: _ClassVar[int]
    RESOURCE_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    UID_FIELD_NUMBER: _ClassVar[int]
    TRANSITIVE_FIELD_NUMBER: _ClassVar[int]
    type: RelationType
    resource: str
    namespace: str
    name: str
    uid: str
    transitive: bool
    def __init__(self, type: _Optional[_Union[RelationType, str]] = ..., resource: _Optional[str] = ..., namespace: _Optional[str] = ..., name: _Optional[str] = ..., uid: _Optional[str] = ..., transitive: bool = ...) -> None: ...

class GetRequest(_message.Message):
    __slots__ = ("resource", "namespace", "name", "subresource", "encoding", "fields", "min_resource_version", "consistency", "metadata_only")
    RESOURCE_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    SUBRESOURCE_FIELD_NUMBER: _ClassVar[int]
    ENCODING_FIELD_NUMBER: _ClassVar[int]
    FIELDS_FIELD_NUMBER: _ClassVar[int]
    MIN_RESOURCE_VERSION_FIELD_NUMBER: _ClassVar[int]
    CONSISTENCY_FIELD_NUMBER: _ClassVar[int]
    METADATA_ONLY_FIELD_NUMBER: _ClassVar[int]
    resource: str
    namespace: str
    name: str
    subresource: str
    encoding: _object_pb2.Encoding
    fields: _containers.RepeatedScalarFieldContainer[str]
    min_resource_version: str
    consistency: Consistency
    metadata_only: bool
    def __init__(self, resource: _Optional[str] = ..., namespace: _Optional[str] = ..., name: _Optional[str] = ..., subresource: _Optional[str] = ..., encoding: _Optional[_Union[_object_pb2.Encoding, str]] = ..., fields: _Optional[_Iterable[str]] = ..., min_resource_version: _Optional[str] = ..., consistency: _Optional[_Union[Consistency, str]] = ..., metadata_only: bool = ...) -> None: ...

class GetResponse(_message.Message):
    __slots__ = ("kind", "object", "freshness", "source")
    KIND_FIELD_NUMBER: _ClassVar[int]
    OBJECT_FIELD_NUMBER: _ClassVar[int]
    FRESHNESS_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    kind: _object_pb2.ResourceKind
    object: _object_pb2.Object
    freshness: Freshness
    source: Source
    def __init__(self, kind: _Optional[_Union[_object_pb2.ResourceKind, _Mapping]] = ..., object: _Optional[_Union[_object_pb2.Object, _Mapping]] = ..., freshness: _Optional[_Union[Freshness, _Mapping]] = ..., source: _Optional[_Union[Source, str]] = ...) -> None: ...

class ListRequest(_message.Message):
    __slots__ = ("resource", "namespace", "label_selector", "field_selector", "filter", "fields", "encoding", "min_resource_version", "consistency", "order_by", "page_size", "page_token", "metadata_only", "related", "require_all_namespaces")
    RESOURCE_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    LABEL_SELECTOR_FIELD_NUMBER: _ClassVar[int]
    FIELD_SELECTOR_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    FIELDS_FIELD_NUMBER: _ClassVar[int]
    ENCODING_FIELD_NUMBER: _ClassVar[int]
    MIN_RESOURCE_VERSION_FIELD_NUMBER: _ClassVar[int]
    CONSISTENCY_FIELD_NUMBER: _ClassVar[int]
    ORDER_BY_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    METADATA_ONLY_FIELD_NUMBER: _ClassVar[int]
    RELATED_FIELD_NUMBER: _ClassVar[int]
    REQUIRE_ALL_NAMESPACES_FIELD_NUMBER: _ClassVar[int]
    resource: str
    namespace: str
    label_selector: str
    field_selector: str
    filter: str
    fields: _containers.RepeatedScalarFieldContainer[str]
    encoding: _object_pb2.Encoding
    min_resource_version: str
    consistency: Consistency
    order_by: str
    page_size: int
    page_token: str
    metadata_only: bool
    related: Relation
    require_all_namespaces: bool
    def __init__(self, resource: _Optional[str] = ..., namespace: _Optional[str] = ..., label_selector: _Optional[str] = ..., field_selector: _Optional[str] = ..., filter: _Optional[str] = ..., fields: _Optional[_Iterable[str]] = ..., encoding: _Optional[_Union[_object_pb2.Encoding, str]] = ..., min_resource_version: _Optional[str] = ..., consistency: _Optional[_Union[Consistency, str]] = ..., order_by: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ..., metadata_only: bool = ..., related: _Optional[_Union[Relation, _Mapping]] = ..., require_all_namespaces: bool = ...) -> None: ...

class ListResponse(_message.Message):
    __slots__ = ("kind", "objects", "next_page_token", "resource_version", "remaining", "freshness", "source", "warnings", "namespaces")
    KIND_FIELD_NUMBER: _ClassVar[int]
    OBJECTS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    RESOURCE_VERSION_FIELD_NUMBER: _ClassVar[int]
    REMAINING_FIELD_NUMBER: _ClassVar[int]
    FRESHNESS_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    WARNINGS_FIELD_NUMBER: _ClassVar[int]
    NAMESPACES_FIELD_NUMBER: _ClassVar[int]
    kind: _object_pb2.ResourceKind
    objects: _containers.RepeatedCompositeFieldContainer[_object_pb2.Object]
    next_page_token: str
    resource_version: str
    remaining: int
    freshness: Freshness
    source: Source
    warnings: _containers.RepeatedScalarFieldContainer[str]
    namespaces: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, kind: _Optional[_Union[_object_pb2.ResourceKind, _Mapping]] = ..., objects: _Optional[_Iterable[_Union[_object_pb2.Object, _Mapping]]] = ..., next_page_token: _Optional[str] = ..., resource_version: _Optional[str] = ..., remaining: _Optional[int] = ..., freshness: _Optional[_Union[Freshness, _Mapping]] = ..., source: _Optional[_Union[Source, str]] = ..., warnings: _Optional[_Iterable[str]] = ..., namespaces: _Optional[_Iterable[str]] = ...) -> None: ...

class CountObjectsRequest(_message.Message):
    __slots__ = ("resource", "namespace", "label_selector", "field_selector", "filter", "related", "group_by", "max_groups", "min_resource_version", "consistency", "require_all_namespaces")
    RESOURCE_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    LABEL_SELECTOR_FIELD_NUMBER: _ClassVar[int]
    FIELD_SELECTOR_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    RELATED_FIELD_NUMBER: _ClassVar[int]
    GROUP_BY_FIELD_NUMBER: _ClassVar[int]
    MAX_GROUPS_FIELD_NUMBER: _ClassVar[int]
    MIN_RESOURCE_VERSION_FIELD_NUMBER: _ClassVar[int]
    CONSISTENCY_FIELD_NUMBER: _ClassVar[int]
    REQUIRE_ALL_NAMESPACES_FIELD_NUMBER: _ClassVar[int]
    resource: str
    namespace: str
    label_selector: str
    field_selector: str
    filter: str
    related: Relation
    group_by: _containers.RepeatedScalarFieldContainer[str]
    max_groups: int
    min_resource_version: str
    consistency: Consistency
    require_all_namespaces: bool
    def __init__(self, resource: _Optional[str] = ..., namespace: _Optional[str] = ..., label_selector: _Optional[str] = ..., field_selector: _Optional[str] = ..., filter: _Optional[str] = ..., related: _Optional[_Union[Relation, _Mapping]] = ..., group_by: _Optional[_Iterable[str]] = ..., max_groups: _Optional[int] = ..., min_resource_version: _Optional[str] = ..., consistency: _Optional[_Union[Consistency, str]] = ..., require_all_namespaces: bool = ...) -> None: ...

class CountObjectsResponse(_message.Message):
    __slots__ = ("kind", "total", "groups", "remaining_groups", "resource_version", "freshness", "source", "warnings", "namespaces")
    KIND_FIELD_NUMBER: _ClassVar[int]
    TOTAL_FIELD_NUMBER: _ClassVar[int]
    GROUPS_FIELD_NUMBER: _ClassVar[int]
    REMAINING_GROUPS_FIELD_NUMBER: _ClassVar[int]
    RESOURCE_VERSION_FIELD_NUMBER: _ClassVar[int]
    FRESHNESS_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    WARNINGS_FIELD_NUMBER: _ClassVar[int]
    NAMESPACES_FIELD_NUMBER: _ClassVar[int]
    kind: _object_pb2.ResourceKind
    total: int
    groups: _containers.RepeatedCompositeFieldContainer[ObjectGroup]
    remaining_groups: int
    resource_version: str
    freshness: Freshness
    source: Source
    warnings: _containers.RepeatedScalarFieldContainer[str]
    namespaces: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, kind: _Optional[_Union[_object_pb2.ResourceKind, _Mapping]] = ..., total: _Optional[int] = ..., groups: _Optional[_Iterable[_Union[ObjectGroup, _Mapping]]] = ..., remaining_groups: _Optional[int] = ..., resource_version: _Optional[str] = ..., freshness: _Optional[_Union[Freshness, _Mapping]] = ..., source: _Optional[_Union[Source, str]] = ..., warnings: _Optional[_Iterable[str]] = ..., namespaces: _Optional[_Iterable[str]] = ...) -> None: ...

class ObjectGroup(_message.Message):
    __slots__ = ("values", "count")
    VALUES_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    values: _containers.RepeatedCompositeFieldContainer[_struct_pb2.Value]
    count: int
    def __init__(self, values: _Optional[_Iterable[_Union[_struct_pb2.Value, _Mapping]]] = ..., count: _Optional[int] = ...) -> None: ...

class GetTableRequest(_message.Message):
    __slots__ = ("resource", "namespace", "name", "label_selector", "field_selector", "page_size", "page_token")
    RESOURCE_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    LABEL_SELECTOR_FIELD_NUMBER: _ClassVar[int]
    FIELD_SELECTOR_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    resource: str
    namespace: str
    name: str
    label_selector: str
    field_selector: str
    page_size: int
    page_token: str
    def __init__(self, resource: _Optional[str] = ..., namespace: _Optional[str] = ..., name: _Optional[str] = ..., label_selector: _Optional[str] = ..., field_selector: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class GetTableResponse(_message.Message):
    __slots__ = ("kind", "columns", "rows", "next_page_token", "remaining", "resource_version", "warnings")
    KIND_FIELD_NUMBER: _ClassVar[int]
    COLUMNS_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    REMAINING_FIELD_NUMBER: _ClassVar[int]
    RESOURCE_VERSION_FIELD_NUMBER: _ClassVar[int]
    WARNINGS_FIELD_NUMBER: _ClassVar[int]
    kind: _object_pb2.ResourceKind
    columns: _containers.RepeatedCompositeFieldContainer[TableColumn]
    rows: _containers.RepeatedCompositeFieldContainer[TableRow]
    next_page_token: str
    remaining: int
    resource_version: str
    warnings: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, kind: _Optional[_Union[_object_pb2.ResourceKind, _Mapping]] = ..., columns: _Optional[_Iterable[_Union[TableColumn, _Mapping]]] = ..., rows: _Optional[_Iterable[_Union[TableRow, _Mapping]]] = ..., next_page_token: _Optional[str] = ..., remaining: _Optional[int] = ..., resource_version: _Optional[str] = ..., warnings: _Optional[_Iterable[str]] = ...) -> None: ...

class TableColumn(_message.Message):
    __slots__ = ("name", "type", "format", "description", "priority")
    NAME_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    FORMAT_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    name: str
    type: str
    format: str
    description: str
    priority: int
    def __init__(self, name: _Optional[str] = ..., type: _Optional[str] = ..., format: _Optional[str] = ..., description: _Optional[str] = ..., priority: _Optional[int] = ...) -> None: ...

class TableRow(_message.Message):
    __slots__ = ("cells", "namespace", "name", "uid", "resource_version")
    CELLS_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    UID_FIELD_NUMBER: _ClassVar[int]
    RESOURCE_VERSION_FIELD_NUMBER: _ClassVar[int]
    cells: _containers.RepeatedCompositeFieldContainer[_struct_pb2.Value]
    namespace: str
    name: str
    uid: str
    resource_version: str
    def __init__(self, cells: _Optional[_Iterable[_Union[_struct_pb2.Value, _Mapping]]] = ..., namespace: _Optional[str] = ..., name: _Optional[str] = ..., uid: _Optional[str] = ..., resource_version: _Optional[str] = ...) -> None: ...

class WatchRequest(_message.Message):
    __slots__ = ("resource", "namespace", "label_selector", "field_selector", "filter", "fields", "encoding", "min_resource_version", "name", "resume_token", "metadata_only", "related", "patches", "require_all_namespaces")
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
    PATCHES_FIELD_NUMBER: _ClassVar[int]
    REQUIRE_ALL_NAMESPACES_FIELD_NUMBER: _ClassVar[int]
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
    related: Relation
    patches: PatchType
    require_all_namespaces: bool
    def __init__(self, resource: _Optional[str] = ..., namespace: _Optional[str] = ..., label_selector: _Optional[str] = ..., field_selector: _Optional[str] = ..., filter: _Optional[str] = ..., fields: _Optional[_Iterable[str]] = ..., encoding: _Optional[_Union[_object_pb2.Encoding, str]] = ..., min_resource_version: _Optional[str] = ..., name: _Optional[str] = ..., resume_token: _Optional[str] = ..., metadata_only: bool = ..., related: _Optional[_Union[Relation, _Mapping]] = ..., patches: _Optional[_Union[PatchType, str]] = ..., require_all_namespaces: bool = ...) -> None: ...

class WatchManyRequest(_message.Message):
    __slots__ = ("watches", "resume_token")
    WATCHES_FIELD_NUMBER: _ClassVar[int]
    RESUME_TOKEN_FIELD_NUMBER: _ClassVar[int]
    watches: _containers.RepeatedCompositeFieldContainer[WatchRequest]
    resume_token: str
    def __init__(self, watches: _Optional[_Iterable[_Union[WatchRequest, _Mapping]]] = ..., resume_token: _Optional[str] = ...) -> None: ...

class WatchManyResponse(_message.Message):
    __slots__ = ("watch", "response", "resume_token")
    WATCH_FIELD_NUMBER: _ClassVar[int]
    RESPONSE_FIELD_NUMBER: _ClassVar[int]
    RESUME_TOKEN_FIELD_NUMBER: _ClassVar[int]
    watch: int
    response: WatchResponse
    resume_token: str
    def __init__(self, watch: _Optional[int] = ..., response: _Optional[_Union[WatchResponse, _Mapping]] = ..., resume_token: _Optional[str] = ...) -> None: ...

class WatchResponse(_message.Message):
    __slots__ = ("kind", "events", "resume_token", "freshness", "source", "warnings", "namespaces")
    KIND_FIELD_NUMBER: _ClassVar[int]
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    RESUME_TOKEN_FIELD_NUMBER: _ClassVar[int]
    FRESHNESS_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    WARNINGS_FIELD_NUMBER: _ClassVar[int]
    NAMESPACES_FIELD_NUMBER: _ClassVar[int]
    kind: _object_pb2.ResourceKind
    events: _containers.RepeatedCompositeFieldContainer[Event]
    resume_token: str
    freshness: Freshness
    source: Source
    warnings: _containers.RepeatedScalarFieldContainer[str]
    namespaces: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, kind: _Optional[_Union[_object_pb2.ResourceKind, _Mapping]] = ..., events: _Optional[_Iterable[_Union[Event, _Mapping]]] = ..., resume_token: _Optional[str] = ..., freshness: _Optional[_Union[Freshness, _Mapping]] = ..., source: _Optional[_Union[Source, str]] = ..., warnings: _Optional[_Iterable[str]] = ..., namespaces: _Optional[_Iterable[str]] = ...) -> None: ...

class Freshness(_message.Message):
    __slots__ = ("stale", "last_contact")
    STALE_FIELD_NUMBER: _ClassVar[int]
    LAST_CONTACT_FIELD_NUMBER: _ClassVar[int]
    stale: bool
    last_contact: _timestamp_pb2.Timestamp
    def __init__(self, stale: bool = ..., last_contact: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class Event(_message.Message):
    __slots__ = ("type", "object", "resource_version", "patch")
    TYPE_FIELD_NUMBER: _ClassVar[int]
    OBJECT_FIELD_NUMBER: _ClassVar[int]
    RESOURCE_VERSION_FIELD_NUMBER: _ClassVar[int]
    PATCH_FIELD_NUMBER: _ClassVar[int]
    type: EventType
    object: _object_pb2.Object
    resource_version: str
    patch: PatchType
    def __init__(self, type: _Optional[_Union[EventType, str]] = ..., object: _Optional[_Union[_object_pb2.Object, _Mapping]] = ..., resource_version: _Optional[str] = ..., patch: _Optional[_Union[PatchType, str]] = ...) -> None: ...

class Preconditions(_message.Message):
    __slots__ = ("uid", "resource_version")
    UID_FIELD_NUMBER: _ClassVar[int]
    RESOURCE_VERSION_FIELD_NUMBER: _ClassVar[int]
    uid: str
    resource_version: str
    def __init__(self, uid: _Optional[str] = ..., resource_version: _Optional[str] = ...) -> None: ...

class PatchRequest(_message.Message):
    __slots__ = ("resource", "namespace", "name", "subresource", "type", "value", "data", "dry_run", "field_manager", "force", "field_validation", "preconditions", "encoding")
    RESOURCE_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    SUBRESOURCE_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    DRY_RUN_FIELD_NUMBER: _ClassVar[int]
    FIELD_MANAGER_FIELD_NUMBER: _ClassVar[int]
    FORCE_FIELD_NUMBER: _ClassVar[int]
    FIELD_VALIDATION_FIELD_NUMBER: _ClassVar[int]
    PRECONDITIONS_FIELD_NUMBER: _ClassVar[int]
    ENCODING_FIELD_NUMBER: _ClassVar[int]
    resource: str
    namespace: str
    name: str
    subresource: str
    type: PatchType
    value: _struct_pb2.Value
    data: bytes
    dry_run: bool
    field_manager: str
    force: bool
    field_validation: FieldValidation
    preconditions: Preconditions
    encoding: _object_pb2.Encoding
    def __init__(self, resource: _Optional[str] = ..., namespace: _Optional[str] = ..., name: _Optional[str] = ..., subresource: _Optional[str] = ..., type: _Optional[_Union[PatchType, str]] = ..., value: _Optional[_Union[_struct_pb2.Value, _Mapping]] = ..., data: _Optional[bytes] = ..., dry_run: bool = ..., field_manager: _Optional[str] = ..., force: bool = ..., field_validation: _Optional[_Union[FieldValidation, str]] = ..., preconditions: _Optional[_Union[Preconditions, _Mapping]] = ..., encoding: _Optional[_Union[_object_pb2.Encoding, str]] = ...) -> None: ...

class PatchResponse(_message.Message):
    __slots__ = ("kind", "object", "warnings", "created")
    KIND_FIELD_NUMBER: _ClassVar[int]
    OBJECT_FIELD_NUMBER: _ClassVar[int]
    WARNINGS_FIELD_NUMBER: _ClassVar[int]
    CREATED_FIELD_NUMBER: _ClassVar[int]
    kind: _object_pb2.ResourceKind
    object: _object_pb2.Object
    warnings: _containers.RepeatedScalarFieldContainer[str]
    created: bool
    def __init__(self, kind: _Optional[_Union[_object_pb2.ResourceKind, _Mapping]] = ..., object: _Optional[_Union[_object_pb2.Object, _Mapping]] = ..., warnings: _Optional[_Iterable[str]] = ..., created: bool = ...) -> None: ...

class CreateRequest(_message.Message):
    __slots__ = ("resource", "namespace", "name", "subresource", "struct", "data", "protobuf", "dry_run", "field_manager", "field_validation", "encoding")
    RESOURCE_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    SUBRESOURCE_FIELD_NUMBER: _ClassVar[int]
    STRUCT_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    PROTOBUF_FIELD_NUMBER: _ClassVar[int]
    DRY_RUN_FIELD_NUMBER: _ClassVar[int]
    FIELD_MANAGER_FIELD_NUMBER: _ClassVar[int]
    FIELD_VALIDATION_FIELD_NUMBER: _ClassVar[int]
    ENCODING_FIELD_NUMBER: _ClassVar[int]
    resource: str
    namespace: str
    name: str
    subresource: str
    struct: _struct_pb2.Struct
    data: bytes
    protobuf: bytes
    dry_run: bool
    field_manager: str
    field_validation: FieldValidation
    encoding: _object_pb2.Encoding
    def __init__(self, resource: _Optional[str] = ..., namespace: _Optional[str] = ..., name: _Optional[str] = ..., subresource: _Optional[str] = ..., struct: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., data: _Optional[bytes] = ..., protobuf: _Optional[bytes] = ..., dry_run: bool = ..., field_manager: _Optional[str] = ..., field_validation: _Optional[_Union[FieldValidation, str]] = ..., encoding: _Optional[_Union[_object_pb2.Encoding, str]] = ...) -> None: ...

class CreateResponse(_message.Message):
    __slots__ = ("kind", "object", "warnings")
    KIND_FIELD_NUMBER: _ClassVar[int]
    OBJECT_FIELD_NUMBER: _ClassVar[int]
    WARNINGS_FIELD_NUMBER: _ClassVar[int]
    kind: _object_pb2.ResourceKind
    object: _object_pb2.Object
    warnings: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, kind: _Optional[_Union[_object_pb2.ResourceKind, _Mapping]] = ..., object: _Optional[_Union[_object_pb2.Object, _Mapping]] = ..., warnings: _Optional[_Iterable[str]] = ...) -> None: ...

class UpdateRequest(_message.Message):
    __slots__ = ("resource", "namespace", "name", "subresource", "struct", "data", "protobuf", "dry_run", "field_manager", "field_validation", "preconditions", "encoding")
    RESOURCE_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    SUBRESOURCE_FIELD_NUMBER: _ClassVar[int]
    STRUCT_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    PROTOBUF_FIELD_NUMBER: _ClassVar[int]
    DRY_RUN_FIELD_NUMBER: _ClassVar[int]
    FIELD_MANAGER_FIELD_NUMBER: _ClassVar[int]
    FIELD_VALIDATION_FIELD_NUMBER: _ClassVar[int]
    PRECONDITIONS_FIELD_NUMBER: _ClassVar[int]
    ENCODING_FIELD_NUMBER: _ClassVar[int]
    resource: str
    namespace: str
    name: str
    subresource: str
    struct: _struct_pb2.Struct
    data: bytes
    protobuf: bytes
    dry_run: bool
    field_manager: str
    field_validation: FieldValidation
    preconditions: Preconditions
    encoding: _object_pb2.Encoding
    def __init__(self, resource: _Optional[str] = ..., namespace: _Optional[str] = ..., name: _Optional[str] = ..., subresource: _Optional[str] = ..., struct: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., data: _Optional[bytes] = ..., protobuf: _Optional[bytes] = ..., dry_run: bool = ..., field_manager: _Optional[str] = ..., field_validation: _Optional[_Union[FieldValidation, str]] = ..., preconditions: _Optional[_Union[Preconditions, _Mapping]] = ..., encoding: _Optional[_Union[_object_pb2.Encoding, str]] = ...) -> None: ...

class UpdateResponse(_message.Message):
    __slots__ = ("kind", "object", "warnings", "created")
    KIND_FIELD_NUMBER: _ClassVar[int]
    OBJECT_FIELD_NUMBER: _ClassVar[int]
    WARNINGS_FIELD_NUMBER: _ClassVar[int]
    CREATED_FIELD_NUMBER: _ClassVar[int]
    kind: _object_pb2.ResourceKind
    object: _object_pb2.Object
    warnings: _containers.RepeatedScalarFieldContainer[str]
    created: bool
    def __init__(self, kind: _Optional[_Union[_object_pb2.ResourceKind, _Mapping]] = ..., object: _Optional[_Union[_object_pb2.Object, _Mapping]] = ..., warnings: _Optional[_Iterable[str]] = ..., created: bool = ...) -> None: ...

class DeleteRequest(_message.Message):
    __slots__ = ("resource", "namespace", "name", "preconditions", "propagation_policy", "grace_period_seconds", "dry_run", "encoding")
    RESOURCE_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    PRECONDITIONS_FIELD_NUMBER: _ClassVar[int]
    PROPAGATION_POLICY_FIELD_NUMBER: _ClassVar[int]
    GRACE_PERIOD_SECONDS_FIELD_NUMBER: _ClassVar[int]
    DRY_RUN_FIELD_NUMBER: _ClassVar[int]
    ENCODING_FIELD_NUMBER: _ClassVar[int]
    resource: str
    namespace: str
    name: str
    preconditions: Preconditions
    propagation_policy: PropagationPolicy
    grace_period_seconds: int
    dry_run: bool
    encoding: _object_pb2.Encoding
    def __init__(self, resource: _Optional[str] = ..., namespace: _Optional[str] = ..., name: _Optional[str] = ..., preconditions: _Optional[_Union[Preconditions, _Mapping]] = ..., propagation_policy: _Optional[_Union[PropagationPolicy, str]] = ..., grace_period_seconds: _Optional[int] = ..., dry_run: bool = ..., encoding: _Optional[_Union[_object_pb2.Encoding, str]] = ...) -> None: ...

class DeleteResponse(_message.Message):
    __slots__ = ("kind", "object", "warnings", "resource_version")
    KIND_FIELD_NUMBER: _ClassVar[int]
    OBJECT_FIELD_NUMBER: _ClassVar[int]
    WARNINGS_FIELD_NUMBER: _ClassVar[int]
    RESOURCE_VERSION_FIELD_NUMBER: _ClassVar[int]
    kind: _object_pb2.ResourceKind
    object: _object_pb2.Object
    warnings: _containers.RepeatedScalarFieldContainer[str]
    resource_version: str
    def __init__(self, kind: _Optional[_Union[_object_pb2.ResourceKind, _Mapping]] = ..., object: _Optional[_Union[_object_pb2.Object, _Mapping]] = ..., warnings: _Optional[_Iterable[str]] = ..., resource_version: _Optional[str] = ...) -> None: ...

class DeleteCollectionRequest(_message.Message):
    __slots__ = ("resource", "namespace", "label_selector", "field_selector", "propagation_policy", "grace_period_seconds", "dry_run")
    RESOURCE_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    LABEL_SELECTOR_FIELD_NUMBER: _ClassVar[int]
    FIELD_SELECTOR_FIELD_NUMBER: _ClassVar[int]
    PROPAGATION_POLICY_FIELD_NUMBER: _ClassVar[int]
    GRACE_PERIOD_SECONDS_FIELD_NUMBER: _ClassVar[int]
    DRY_RUN_FIELD_NUMBER: _ClassVar[int]
    resource: str
    namespace: str
    label_selector: str
    field_selector: str
    propagation_policy: PropagationPolicy
    grace_period_seconds: int
    dry_run: bool
    def __init__(self, resource: _Optional[str] = ..., namespace: _Optional[str] = ..., label_selector: _Optional[str] = ..., field_selector: _Optional[str] = ..., propagation_policy: _Optional[_Union[PropagationPolicy, str]] = ..., grace_period_seconds: _Optional[int] = ..., dry_run: bool = ...) -> None: ...

class DeleteCollectionResponse(_message.Message):
    __slots__ = ("deleted", "warnings", "resource_version")
    DELETED_FIELD_NUMBER: _ClassVar[int]
    WARNINGS_FIELD_NUMBER: _ClassVar[int]
    RESOURCE_VERSION_FIELD_NUMBER: _ClassVar[int]
    deleted: int
    warnings: _containers.RepeatedScalarFieldContainer[str]
    resource_version: str
    def __init__(self, deleted: _Optional[int] = ..., warnings: _Optional[_Iterable[str]] = ..., resource_version: _Optional[str] = ...) -> None: ...

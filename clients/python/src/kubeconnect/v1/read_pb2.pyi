from google.protobuf import struct_pb2 as _struct_pb2
from kubeconnect.v1 import consistency_pb2 as _consistency_pb2
from kubeconnect.v1 import join_pb2 as _join_pb2
from kubeconnect.v1 import object_pb2 as _object_pb2
from kubeconnect.v1 import relation_pb2 as _relation_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class AggregateFunction(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    AGGREGATE_FUNCTION_UNSPECIFIED: _ClassVar[AggregateFunction]
    AGGREGATE_FUNCTION_SUM: _ClassVar[AggregateFunction]
    AGGREGATE_FUNCTION_AVERAGE: _ClassVar[AggregateFunction]
    AGGREGATE_FUNCTION_MIN: _ClassVar[AggregateFunction]
    AGGREGATE_FUNCTION_MAX: _ClassVar[AggregateFunction]
AGGREGATE_FUNCTION_UNSPECIFIED: AggregateFunction
AGGREGATE_FUNCTION_SUM: AggregateFunction
AGGREGATE_FUNCTION_AVERAGE: AggregateFunction
AGGREGATE_FUNCTION_MIN: AggregateFunction
AGGREGATE_FUNCTION_MAX: AggregateFunction

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
    consistency: _consistency_pb2.Consistency
    metadata_only: bool
    def __init__(self, resource: _Optional[str] = ..., namespace: _Optional[str] = ..., name: _Optional[str] = ..., subresource: _Optional[str] = ..., encoding: _Optional[_Union[_object_pb2.Encoding, str]] = ..., fields: _Optional[_Iterable[str]] = ..., min_resource_version: _Optional[str] = ..., consistency: _Optional[_Union[_consistency_pb2.Consistency, str]] = ..., metadata_only: bool = ...) -> None: ...

class GetResponse(_message.Message):
    __slots__ = ("resource", "object", "freshness", "source")
    RESOURCE_FIELD_NUMBER: _ClassVar[int]
    OBJECT_FIELD_NUMBER: _ClassVar[int]
    FRESHNESS_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    resource: _object_pb2.Resource
    object: _object_pb2.Object
    freshness: _consistency_pb2.Freshness
    source: _consistency_pb2.Source
    def __init__(self, resource: _Optional[_Union[_object_pb2.Resource, _Mapping]] = ..., object: _Optional[_Union[_object_pb2.Object, _Mapping]] = ..., freshness: _Optional[_Union[_consistency_pb2.Freshness, _Mapping]] = ..., source: _Optional[_Union[_consistency_pb2.Source, str]] = ...) -> None: ...

class ListRequest(_message.Message):
    __slots__ = ("resource", "namespace", "label_selector", "field_selector", "filter", "fields", "encoding", "min_resource_version", "consistency", "order_by", "page_size", "page_token", "metadata_only", "related", "require_all_namespaces", "joins")
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
    JOINS_FIELD_NUMBER: _ClassVar[int]
    resource: str
    namespace: str
    label_selector: str
    field_selector: str
    filter: str
    fields: _containers.RepeatedScalarFieldContainer[str]
    encoding: _object_pb2.Encoding
    min_resource_version: str
    consistency: _consistency_pb2.Consistency
    order_by: str
    page_size: int
    page_token: str
    metadata_only: bool
    related: _relation_pb2.Relation
    require_all_namespaces: bool
    joins: _containers.RepeatedCompositeFieldContainer[_join_pb2.Join]
    def __init__(self, resource: _Optional[str] = ..., namespace: _Optional[str] = ..., label_selector: _Optional[str] = ..., field_selector: _Optional[str] = ..., filter: _Optional[str] = ..., fields: _Optional[_Iterable[str]] = ..., encoding: _Optional[_Union[_object_pb2.Encoding, str]] = ..., min_resource_version: _Optional[str] = ..., consistency: _Optional[_Union[_consistency_pb2.Consistency, str]] = ..., order_by: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ..., metadata_only: bool = ..., related: _Optional[_Union[_relation_pb2.Relation, _Mapping]] = ..., require_all_namespaces: bool = ..., joins: _Optional[_Iterable[_Union[_join_pb2.Join, _Mapping]]] = ...) -> None: ...

class ListResponse(_message.Message):
    __slots__ = ("resource", "objects", "next_page_token", "resource_version", "remaining_item_count", "freshness", "source", "warnings", "namespaces")
    RESOURCE_FIELD_NUMBER: _ClassVar[int]
    OBJECTS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    RESOURCE_VERSION_FIELD_NUMBER: _ClassVar[int]
    REMAINING_ITEM_COUNT_FIELD_NUMBER: _ClassVar[int]
    FRESHNESS_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    WARNINGS_FIELD_NUMBER: _ClassVar[int]
    NAMESPACES_FIELD_NUMBER: _ClassVar[int]
    resource: _object_pb2.Resource
    objects: _containers.RepeatedCompositeFieldContainer[_object_pb2.Object]
    next_page_token: str
    resource_version: str
    remaining_item_count: int
    freshness: _consistency_pb2.Freshness
    source: _consistency_pb2.Source
    warnings: _containers.RepeatedScalarFieldContainer[str]
    namespaces: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, resource: _Optional[_Union[_object_pb2.Resource, _Mapping]] = ..., objects: _Optional[_Iterable[_Union[_object_pb2.Object, _Mapping]]] = ..., next_page_token: _Optional[str] = ..., resource_version: _Optional[str] = ..., remaining_item_count: _Optional[int] = ..., freshness: _Optional[_Union[_consistency_pb2.Freshness, _Mapping]] = ..., source: _Optional[_Union[_consistency_pb2.Source, str]] = ..., warnings: _Optional[_Iterable[str]] = ..., namespaces: _Optional[_Iterable[str]] = ...) -> None: ...

class CountRequest(_message.Message):
    __slots__ = ("resource", "namespace", "label_selector", "field_selector", "filter", "related", "group_by", "max_groups", "min_resource_version", "consistency", "require_all_namespaces", "aggregates")
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
    AGGREGATES_FIELD_NUMBER: _ClassVar[int]
    resource: str
    namespace: str
    label_selector: str
    field_selector: str
    filter: str
    related: _relation_pb2.Relation
    group_by: _containers.RepeatedScalarFieldContainer[str]
    max_groups: int
    min_resource_version: str
    consistency: _consistency_pb2.Consistency
    require_all_namespaces: bool
    aggregates: _containers.RepeatedCompositeFieldContainer[Aggregate]
    def __init__(self, resource: _Optional[str] = ..., namespace: _Optional[str] = ..., label_selector: _Optional[str] = ..., field_selector: _Optional[str] = ..., filter: _Optional[str] = ..., related: _Optional[_Union[_relation_pb2.Relation, _Mapping]] = ..., group_by: _Optional[_Iterable[str]] = ..., max_groups: _Optional[int] = ..., min_resource_version: _Optional[str] = ..., consistency: _Optional[_Union[_consistency_pb2.Consistency, str]] = ..., require_all_namespaces: bool = ..., aggregates: _Optional[_Iterable[_Union[Aggregate, _Mapping]]] = ...) -> None: ...

class CountResponse(_message.Message):
    __slots__ = ("resource", "total_count", "groups", "remaining_group_count", "resource_version", "freshness", "source", "warnings", "namespaces", "aggregates")
    RESOURCE_FIELD_NUMBER: _ClassVar[int]
    TOTAL_COUNT_FIELD_NUMBER: _ClassVar[int]
    GROUPS_FIELD_NUMBER: _ClassVar[int]
    REMAINING_GROUP_COUNT_FIELD_NUMBER: _ClassVar[int]
    RESOURCE_VERSION_FIELD_NUMBER: _ClassVar[int]
    FRESHNESS_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    WARNINGS_FIELD_NUMBER: _ClassVar[int]
    NAMESPACES_FIELD_NUMBER: _ClassVar[int]
    AGGREGATES_FIELD_NUMBER: _ClassVar[int]
    resource: _object_pb2.Resource
    total_count: int
    groups: _containers.RepeatedCompositeFieldContainer[ObjectGroup]
    remaining_group_count: int
    resource_version: str
    freshness: _consistency_pb2.Freshness
    source: _consistency_pb2.Source
    warnings: _containers.RepeatedScalarFieldContainer[str]
    namespaces: _containers.RepeatedScalarFieldContainer[str]
    aggregates: _containers.RepeatedCompositeFieldContainer[AggregateResult]
    def __init__(self, resource: _Optional[_Union[_object_pb2.Resource, _Mapping]] = ..., total_count: _Optional[int] = ..., groups: _Optional[_Iterable[_Union[ObjectGroup, _Mapping]]] = ..., remaining_group_count: _Optional[int] = ..., resource_version: _Optional[str] = ..., freshness: _Optional[_Union[_consistency_pb2.Freshness, _Mapping]] = ..., source: _Optional[_Union[_consistency_pb2.Source, str]] = ..., warnings: _Optional[_Iterable[str]] = ..., namespaces: _Optional[_Iterable[str]] = ..., aggregates: _Optional[_Iterable[_Union[AggregateResult, _Mapping]]] = ...) -> None: ...

class ObjectGroup(_message.Message):
    __slots__ = ("values", "count", "aggregates")
    VALUES_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    AGGREGATES_FIELD_NUMBER: _ClassVar[int]
    values: _containers.RepeatedCompositeFieldContainer[_struct_pb2.Value]
    count: int
    aggregates: _containers.RepeatedCompositeFieldContainer[AggregateResult]
    def __init__(self, values: _Optional[_Iterable[_Union[_struct_pb2.Value, _Mapping]]] = ..., count: _Optional[int] = ..., aggregates: _Optional[_Iterable[_Union[AggregateResult, _Mapping]]] = ...) -> None: ...

class Aggregate(_message.Message):
    __slots__ = ("function", "path")
    FUNCTION_FIELD_NUMBER: _ClassVar[int]
    PATH_FIELD_NUMBER: _ClassVar[int]
    function: AggregateFunction
    path: str
    def __init__(self, function: _Optional[_Union[AggregateFunction, str]] = ..., path: _Optional[str] = ...) -> None: ...

class AggregateResult(_message.Message):
    __slots__ = ("value", "exact", "value_count", "omitted_value_count")
    VALUE_FIELD_NUMBER: _ClassVar[int]
    EXACT_FIELD_NUMBER: _ClassVar[int]
    VALUE_COUNT_FIELD_NUMBER: _ClassVar[int]
    OMITTED_VALUE_COUNT_FIELD_NUMBER: _ClassVar[int]
    value: _struct_pb2.Value
    exact: str
    value_count: int
    omitted_value_count: int
    def __init__(self, value: _Optional[_Union[_struct_pb2.Value, _Mapping]] = ..., exact: _Optional[str] = ..., value_count: _Optional[int] = ..., omitted_value_count: _Optional[int] = ...) -> None: ...

import datetime

from google.protobuf import duration_pb2 as _duration_pb2
from kubeconnect.v1 import consistency_pb2 as _consistency_pb2
from kubeconnect.v1 import object_pb2 as _object_pb2
from kubeconnect.v1 import read_pb2 as _read_pb2
from kubeconnect.v1 import relation_pb2 as _relation_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class WatchCountsRequest(_message.Message):
    __slots__ = ("resource", "namespace", "label_selector", "field_selector", "filter", "related", "group_by", "min_resource_version", "require_all_namespaces", "aggregates", "min_interval")
    RESOURCE_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    LABEL_SELECTOR_FIELD_NUMBER: _ClassVar[int]
    FIELD_SELECTOR_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    RELATED_FIELD_NUMBER: _ClassVar[int]
    GROUP_BY_FIELD_NUMBER: _ClassVar[int]
    MIN_RESOURCE_VERSION_FIELD_NUMBER: _ClassVar[int]
    REQUIRE_ALL_NAMESPACES_FIELD_NUMBER: _ClassVar[int]
    AGGREGATES_FIELD_NUMBER: _ClassVar[int]
    MIN_INTERVAL_FIELD_NUMBER: _ClassVar[int]
    resource: str
    namespace: str
    label_selector: str
    field_selector: str
    filter: str
    related: _relation_pb2.Relation
    group_by: _containers.RepeatedScalarFieldContainer[str]
    min_resource_version: str
    require_all_namespaces: bool
    aggregates: _containers.RepeatedCompositeFieldContainer[_read_pb2.Aggregate]
    min_interval: _duration_pb2.Duration
    def __init__(self, resource: _Optional[str] = ..., namespace: _Optional[str] = ..., label_selector: _Optional[str] = ..., field_selector: _Optional[str] = ..., filter: _Optional[str] = ..., related: _Optional[_Union[_relation_pb2.Relation, _Mapping]] = ..., group_by: _Optional[_Iterable[str]] = ..., min_resource_version: _Optional[str] = ..., require_all_namespaces: bool = ..., aggregates: _Optional[_Iterable[_Union[_read_pb2.Aggregate, _Mapping]]] = ..., min_interval: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class WatchCountsResponse(_message.Message):
    __slots__ = ("resource", "reset", "groups", "total_count", "aggregates", "resource_version", "freshness", "source", "warnings", "namespaces")
    RESOURCE_FIELD_NUMBER: _ClassVar[int]
    RESET_FIELD_NUMBER: _ClassVar[int]
    GROUPS_FIELD_NUMBER: _ClassVar[int]
    TOTAL_COUNT_FIELD_NUMBER: _ClassVar[int]
    AGGREGATES_FIELD_NUMBER: _ClassVar[int]
    RESOURCE_VERSION_FIELD_NUMBER: _ClassVar[int]
    FRESHNESS_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    WARNINGS_FIELD_NUMBER: _ClassVar[int]
    NAMESPACES_FIELD_NUMBER: _ClassVar[int]
    resource: _object_pb2.Resource
    reset: bool
    groups: _containers.RepeatedCompositeFieldContainer[_read_pb2.ObjectGroup]
    total_count: int
    aggregates: _containers.RepeatedCompositeFieldContainer[_read_pb2.AggregateResult]
    resource_version: str
    freshness: _consistency_pb2.Freshness
    source: _consistency_pb2.Source
    warnings: _containers.RepeatedScalarFieldContainer[str]
    namespaces: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, resource: _Optional[_Union[_object_pb2.Resource, _Mapping]] = ..., reset: bool = ..., groups: _Optional[_Iterable[_Union[_read_pb2.ObjectGroup, _Mapping]]] = ..., total_count: _Optional[int] = ..., aggregates: _Optional[_Iterable[_Union[_read_pb2.AggregateResult, _Mapping]]] = ..., resource_version: _Optional[str] = ..., freshness: _Optional[_Union[_consistency_pb2.Freshness, _Mapping]] = ..., source: _Optional[_Union[_consistency_pb2.Source, str]] = ..., warnings: _Optional[_Iterable[str]] = ..., namespaces: _Optional[_Iterable[str]] = ...) -> None: ...

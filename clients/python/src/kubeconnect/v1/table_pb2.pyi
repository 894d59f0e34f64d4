from google.protobuf import struct_pb2 as _struct_pb2
from kubeconnect.v1 import object_pb2 as _object_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

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
    __slots__ = ("resource", "columns", "rows", "next_page_token", "remaining_item_count", "resource_version", "warnings")
    RESOURCE_FIELD_NUMBER: _ClassVar[int]
    COLUMNS_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    REMAINING_ITEM_COUNT_FIELD_NUMBER: _ClassVar[int]
    RESOURCE_VERSION_FIELD_NUMBER: _ClassVar[int]
    WARNINGS_FIELD_NUMBER: _ClassVar[int]
    resource: _object_pb2.Resource
    columns: _containers.RepeatedCompositeFieldContainer[TableColumn]
    rows: _containers.RepeatedCompositeFieldContainer[TableRow]
    next_page_token: str
    remaining_item_count: int
    resource_version: str
    warnings: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, resource: _Optional[_Union[_object_pb2.Resource, _Mapping]] = ..., columns: _Optional[_Iterable[_Union[TableColumn, _Mapping]]] = ..., rows: _Optional[_Iterable[_Union[TableRow, _Mapping]]] = ..., next_page_token: _Optional[str] = ..., remaining_item_count: _Optional[int] = ..., resource_version: _Optional[str] = ..., warnings: _Optional[_Iterable[str]] = ...) -> None: ...

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

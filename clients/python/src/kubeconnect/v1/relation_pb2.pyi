from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class RelationType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    RELATION_TYPE_UNSPECIFIED: _ClassVar[RelationType]
    RELATION_TYPE_OWNED_BY: _ClassVar[RelationType]
    RELATION_TYPE_SELECTED_BY: _ClassVar[RelationType]
    RELATION_TYPE_ABOUT: _ClassVar[RelationType]
    RELATION_TYPE_OWNER_OF: _ClassVar[RelationType]
RELATION_TYPE_UNSPECIFIED: RelationType
RELATION_TYPE_OWNED_BY: RelationType
RELATION_TYPE_SELECTED_BY: RelationType
RELATION_TYPE_ABOUT: RelationType
RELATION_TYPE_OWNER_OF: RelationType

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

from google.protobuf import struct_pb2 as _struct_pb2
from kubeconnect.v1 import object_pb2 as _object_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

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
    __slots__ = ("resource", "object", "warnings")
    RESOURCE_FIELD_NUMBER: _ClassVar[int]
    OBJECT_FIELD_NUMBER: _ClassVar[int]
    WARNINGS_FIELD_NUMBER: _ClassVar[int]
    resource: _object_pb2.Resource
    object: _object_pb2.Object
    warnings: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, resource: _Optional[_Union[_object_pb2.Resource, _Mapping]] = ..., object: _Optional[_Union[_object_pb2.Object, _Mapping]] = ..., warnings: _Optional[_Iterable[str]] = ...) -> None: ...

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
    __slots__ = ("resource", "object", "warnings", "created")
    RESOURCE_FIELD_NUMBER: _ClassVar[int]
    OBJECT_FIELD_NUMBER: _ClassVar[int]
    WARNINGS_FIELD_NUMBER: _ClassVar[int]
    CREATED_FIELD_NUMBER: _ClassVar[int]
    resource: _object_pb2.Resource
    object: _object_pb2.Object
    warnings: _containers.RepeatedScalarFieldContainer[str]
    created: bool
    def __init__(self, resource: _Optional[_Union[_object_pb2.Resource, _Mapping]] = ..., object: _Optional[_Union[_object_pb2.Object, _Mapping]] = ..., warnings: _Optional[_Iterable[str]] = ..., created: bool = ...) -> None: ...

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
    __slots__ = ("resource", "object", "warnings", "created")
    RESOURCE_FIELD_NUMBER: _ClassVar[int]
    OBJECT_FIELD_NUMBER: _ClassVar[int]
    WARNINGS_FIELD_NUMBER: _ClassVar[int]
    CREATED_FIELD_NUMBER: _ClassVar[int]
    resource: _object_pb2.Resource
    object: _object_pb2.Object
    warnings: _containers.RepeatedScalarFieldContainer[str]
    created: bool
    def __init__(self, resource: _Optional[_Union[_object_pb2.Resource, _Mapping]] = ..., object: _Optional[_Union[_object_pb2.Object, _Mapping]] = ..., warnings: _Optional[_Iterable[str]] = ..., created: bool = ...) -> None: ...

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
    __slots__ = ("resource", "object", "warnings", "resource_version")
    RESOURCE_FIELD_NUMBER: _ClassVar[int]
    OBJECT_FIELD_NUMBER: _ClassVar[int]
    WARNINGS_FIELD_NUMBER: _ClassVar[int]
    RESOURCE_VERSION_FIELD_NUMBER: _ClassVar[int]
    resource: _object_pb2.Resource
    object: _object_pb2.Object
    warnings: _containers.RepeatedScalarFieldContainer[str]
    resource_version: str
    def __init__(self, resource: _Optional[_Union[_object_pb2.Resource, _Mapping]] = ..., object: _Optional[_Union[_object_pb2.Object, _Mapping]] = ..., warnings: _Optional[_Iterable[str]] = ..., resource_version: _Optional[str] = ...) -> None: ...

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
    __slots__ = ("deleted_count", "warnings", "resource_version")
    DELETED_COUNT_FIELD_NUMBER: _ClassVar[int]
    WARNINGS_FIELD_NUMBER: _ClassVar[int]
    RESOURCE_VERSION_FIELD_NUMBER: _ClassVar[int]
    deleted_count: int
    warnings: _containers.RepeatedScalarFieldContainer[str]
    resource_version: str
    def __init__(self, deleted_count: _Optional[int] = ..., warnings: _Optional[_Iterable[str]] = ..., resource_version: _Optional[str] = ...) -> None: ...

class Preconditions(_message.Message):
    __slots__ = ("uid", "resource_version")
    UID_FIELD_NUMBER: _ClassVar[int]
    RESOURCE_VERSION_FIELD_NUMBER: _ClassVar[int]
    uid: str
    resource_version: str
    def __init__(self, uid: _Optional[str] = ..., resource_version: _Optional[str] = ...) -> None: ...

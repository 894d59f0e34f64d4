"""Objects between JSON and the messages of the API."""

from __future__ import annotations

import importlib
import json
from collections.abc import Mapping
from typing import Any, cast

from google.protobuf.json_format import MessageToDict
from google.protobuf.message import DecodeError, Message

from kubeconnect._kinds import find_kind
from kubeconnect.testing._cluster import Content
from kubeconnect.testing._failures import bad_request, unsupported
from kubeconnect.testing._resources import ResourceType
from kubeconnect.v1 import object_pb2, write_pb2

_GROUP_MODULES = {"": "core"}


def encode(
    content: Content, view: Mapping[str, Any], encoding: int, resource: ResourceType
) -> object_pb2.Object:
    """Return the API's message of an object, with the content ``view`` in an encoding."""
    metadata = content["metadata"]
    message = object_pb2.Object(
        namespace=metadata.get("namespace", ""),
        name=metadata["name"],
        uid=metadata["uid"],
        resource_version=metadata.get("resourceVersion", ""),
    )
    if encoding == object_pb2.ENCODING_JSON:
        message.json = to_json(view)
    elif encoding == object_pb2.ENCODING_PROTOBUF:
        _set_protobuf(message, view, resource)
    else:
        message.struct.update(view)
    return message


def to_json(view: Mapping[str, Any]) -> bytes:
    """Return an object as the bytes of its JSON."""
    return json.dumps(view, separators=(",", ":"), ensure_ascii=False).encode()


def _set_protobuf(
    message: object_pb2.Object, view: Mapping[str, Any], resource: ResourceType
) -> None:
    from kubeconnect.testing._from_json import from_dict  # loads kubeconnect.k8s

    cls = message_class(resource)
    if view.get("kind") == "PartialObjectMetadata":
        cls = importlib.import_module("kubeconnect.k8s.meta.v1").PartialObjectMetadata
    if cls is None:
        message.json = to_json(view)
    else:
        message.protobuf = from_dict(cls, view).SerializeToString()


def message_class(resource: ResourceType) -> type[Message] | None:
    """Return the class of a built-in kind in ``kubeconnect.k8s``; None if there is none."""
    if not resource.protobuf_type:
        return None
    package = _GROUP_MODULES.get(resource.group, resource.group.partition(".")[0])
    module = importlib.import_module(f"kubeconnect.k8s.{package}.{resource.version}")
    return cast("type[Message] | None", getattr(module, resource.kind, None))


def decode_body(
    request: write_pb2.CreateRequest | write_pb2.UpdateRequest, resource: ResourceType
) -> Content:
    """Return the object in the body of a write. Raises InvalidArgument if there is none."""
    body = request.WhichOneof("body")
    if body == "struct":
        return cast(Content, _whole_numbers(MessageToDict(request.struct)))
    if body == "data":
        return _mapping(decode_data(request.data))
    if body == "protobuf":
        return _decode_protobuf(request.protobuf, resource)
    raise bad_request("the object is required: give it as struct, data or protobuf")


def decode_patch(request: write_pb2.PatchRequest) -> Any:
    """Return the patch of a request. Raises InvalidArgument if there is none."""
    body = request.WhichOneof("body")
    if body == "value":
        return _whole_numbers(MessageToDict(request.value))
    if body == "data":
        return decode_data(request.data)
    raise bad_request("the patch is required: give it as value or data")


def decode_data(data: bytes) -> Any:
    """Return the value of JSON or YAML. Raises InvalidArgument if it is neither."""
    try:
        return json.loads(data)
    except ValueError as problem:
        if data.lstrip()[:1] in (b"{", b"["):
            raise bad_request(f"data is not the JSON of an object: {problem}") from problem
    try:
        import yaml  # optional
    except ImportError as problem:
        raise unsupported("YAML without PyYAML: pip install 'kubeconnect[yaml]'") from problem
    try:
        return yaml.load(data, Loader=_loader(yaml))
    except yaml.YAMLError as problem:
        raise bad_request(f"data is neither JSON nor YAML: {problem}") from problem


def _loader(yaml: Any) -> Any:
    """Return a loader that reads times as texts, as the API server does."""

    class Loader(yaml.SafeLoader):  # type: ignore[misc]
        pass

    Loader.yaml_implicit_resolvers = {
        first: [each for each in resolvers if each[0] != "tag:yaml.org,2002:timestamp"]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }
    return Loader


def _mapping(value: Any) -> Content:
    if not isinstance(value, dict):
        raise bad_request(
            f"data is neither JSON nor YAML of an object: it has the type {type(value).__name__}"
        )
    return value


def _decode_protobuf(data: bytes, resource: ResourceType) -> Content:
    from kubeconnect.k8s.helpers import to_dict

    cls = message_class(resource)
    if cls is None:
        raise bad_request(f"{resource.full_name} have no protobuf form")
    try:
        return to_dict(cls.FromString(data))
    except DecodeError as problem:
        raise bad_request(f"protobuf is not a {cls.__name__}: {problem}") from problem


def _whole_numbers(value: Any) -> Any:
    """Return a value of a Struct, whose numbers are all floats, as JSON."""
    if isinstance(value, dict):
        return {key: _whole_numbers(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_whole_numbers(each) for each in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def copy_of(value: Any) -> Any:
    """Return a copy of a value of JSON."""
    if isinstance(value, Mapping):
        return {key: copy_of(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [copy_of(each) for each in value]
    return value


def kind_message(value: Any) -> bool:
    """Return whether a value is a message of ``kubeconnect.k8s``."""
    return isinstance(value, Message) and find_kind(type(value)) is not None

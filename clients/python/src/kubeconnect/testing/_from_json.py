"""Kubernetes JSON in the form of protobuf messages."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from typing import Any, TypeAlias

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from kubeconnect.k8s import _json
from kubeconnect.testing._failures import bad_request

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_DURATION_PART = re.compile(r"([0-9.]+)(h|ms|m|s|us|µs|ns)")
_NANOSECONDS = {
    "h": 3600 * 10**9,
    "m": 60 * 10**9,
    "s": 10**9,
    "ms": 10**6,
    "us": 10**3,
    "µs": 10**3,
    "ns": 1,
}


Path: TypeAlias = tuple[str | int, ...]
"""The names of fields and keys, and the indexes of lists, from the outermost on."""


def from_dict(cls: type[Message], content: Mapping[str, Any]) -> Message:
    """Return the message of an object. Fields that the message does not have are dropped.

    Raises InvalidArgument for a value of the wrong type.
    """
    return parse(cls, content)[0]


def parse(cls: type[Message], content: Mapping[str, Any]) -> tuple[Message, list[Path]]:
    """Return the message of an object, and the paths of the fields that the message does not have.

    Raises InvalidArgument for a value of the wrong type.
    """
    message = cls()
    paths = _set_fields(message, content, ())
    return message, [path for path in paths if path not in (("apiVersion",), ("kind",))]


def _set_fields(message: Message, content: Any, path: Path) -> list[Path]:
    """Set the fields of a message, and return the paths of those that it does not have."""
    if not isinstance(content, Mapping):
        raise _wrong_type(path, content, "an object")
    message.SetInParent()
    fields = _json_fields(message)
    unknown: list[Path] = []
    for name, value in content.items():
        if name not in fields:
            unknown.append((*path, name))
        elif value is not None:
            owner, field = fields[name]
            unknown += _set_field(owner(message), field, value, (*path, name))
    return unknown


def _json_fields(message: Message) -> dict[str, Any]:
    """Return the fields by their names in JSON, each with a function that returns the message that
    has it. The fields of inlined messages are fields of the message.
    """
    inline = _json._rules(message.DESCRIPTOR).inline
    found: dict[str, Any] = {}
    for field in message.DESCRIPTOR.fields:
        if field.name in inline:
            inner = _json_fields(getattr(message, field.name))
            for name, (owner, each) in inner.items():
                found[name] = (_through(field.name, owner), each)
        else:
            found[field.json_name] = (lambda owner: owner, field)
    return found


def _through(name: str, owner: Any) -> Any:
    return lambda message: owner(getattr(message, name))


def _set_field(message: Message, field: FieldDescriptor, value: Any, path: Path) -> list[Path]:
    kind = field.message_type
    target: Any = getattr(message, field.name)
    if kind is not None and kind.GetOptions().map_entry:
        return _set_map(target, kind.fields_by_name["value"], value, path)
    if isinstance(target, Message):
        target.SetInParent()
        return _set_message(target, value, path)
    if not isinstance(target, (str, bytes, int, float)):
        return _set_list(target, field, value, path)
    setattr(message, field.name, _scalar(field, value, path))
    return []


def _set_map(target: Any, field: FieldDescriptor, value: Any, path: Path) -> list[Path]:
    if not isinstance(value, Mapping):
        raise _wrong_type(path, value, "an object")
    unknown: list[Path] = []
    for key, each in value.items():
        if field.message_type is None:
            each = _TYPES[field.cpp_type]() if each is None else each
            target[key] = _scalar(field, each, (*path, key))
        else:
            unknown += _set_message(target[key], each, (*path, key))
    return unknown


def _set_list(target: Any, field: FieldDescriptor, value: Any, path: Path) -> list[Path]:
    if not isinstance(value, list):
        raise _wrong_type(path, value, "a list")
    unknown: list[Path] = []
    for index, each in enumerate(value):
        if field.message_type is None:
            target.append(_scalar(field, each, (*path, index)))
        else:
            unknown += _set_message(target.add(), each, (*path, index))
    return unknown


def _set_message(target: Any, value: Any, path: Path) -> list[Path]:
    name = target.DESCRIPTOR.full_name
    if special := _SPECIAL.get(name):
        try:
            special(target, value)
        except (TypeError, ValueError) as problem:
            raise _wrong_type(path, value, f"a {target.DESCRIPTOR.name}") from problem
        return []
    if _json._is_list(target.DESCRIPTOR):
        target.items.extend(value)
        return []
    return _set_fields(target, value, path)


def _scalar(field: FieldDescriptor, value: Any, path: Path) -> Any:
    expected = _TYPES[field.cpp_type]
    if field.type == FieldDescriptor.TYPE_BYTES:
        return _base64(value, path)
    is_bool = isinstance(value, bool)
    if not isinstance(value, expected) or (is_bool and expected is not bool):
        raise _wrong_type(path, value, _NAMES[expected])
    return value


_TYPES: dict[int, Any] = {
    FieldDescriptor.CPPTYPE_INT32: int,
    FieldDescriptor.CPPTYPE_INT64: int,
    FieldDescriptor.CPPTYPE_UINT32: int,
    FieldDescriptor.CPPTYPE_UINT64: int,
    FieldDescriptor.CPPTYPE_DOUBLE: (int, float),
    FieldDescriptor.CPPTYPE_FLOAT: (int, float),
    FieldDescriptor.CPPTYPE_BOOL: bool,
    FieldDescriptor.CPPTYPE_STRING: str,
}
_NAMES: dict[Any, str] = {
    int: "an integer",
    (int, float): "a number",
    bool: "a boolean",
    str: "a string",
}


def _base64(value: Any, path: Path) -> bytes:
    try:
        return base64.b64decode(value, validate=True)
    except (TypeError, ValueError) as problem:
        raise _wrong_type(path, value, "base64") from problem


def _wrong_type(path: Path, value: Any, expected: str) -> Exception:
    where = ".".join(map(str, path)) or "the object"
    return bad_request(f"{where} is {json.dumps(value)}, and must be {expected}")


def _time(message: Any, value: str) -> None:
    since = datetime.fromisoformat(_microseconds(value).replace("Z", "+00:00")) - _EPOCH
    seconds, rest = divmod(since, timedelta(seconds=1))
    message.seconds, message.nanos = seconds, rest.microseconds * 1000


def _microseconds(value: str) -> str:
    """Return a time with six digits in the fraction of its seconds, which Python 3.10 needs."""
    return re.sub(r"\.(\d+)", lambda match: f".{match[1][:6]:0<6}", value)


def _duration(message: Any, value: str) -> None:
    parts = _DURATION_PART.findall(value)
    total = sum(float(number) * _NANOSECONDS[unit] for number, unit in parts)
    message.duration = round(-total if value.startswith("-") else total)


def _quantity(message: Any, value: str | float) -> None:
    from kubeconnect.k8s.helpers import to_quantity

    message.CopyFrom(to_quantity(str(value)))


def _int_or_string(message: Any, value: int | str) -> None:
    if isinstance(value, str):
        message.type, message.strVal = 1, value
    else:
        message.type, message.intVal = 0, value


def _fields_v1(message: Any, value: Any) -> None:
    message.Raw = json.dumps(value).encode()


def _raw_extension(message: Any, value: Any) -> None:
    message.raw = json.dumps(value).encode()


_META = "k8s.io.apimachinery.pkg"
_SPECIAL: dict[str, Any] = {
    f"{_META}.apis.meta.v1.Time": _time,
    f"{_META}.apis.meta.v1.MicroTime": _time,
    f"{_META}.apis.meta.v1.Duration": _duration,
    f"{_META}.apis.meta.v1.FieldsV1": _fields_v1,
    f"{_META}.api.resource.Quantity": _quantity,
    f"{_META}.runtime.RawExtension": _raw_extension,
    f"{_META}.util.intstr.IntOrString": _int_or_string,
}

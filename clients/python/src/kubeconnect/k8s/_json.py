"""Messages in the form of Kubernetes JSON."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from functools import lru_cache, partial
from typing import Any, NamedTuple, cast

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message

from kubeconnect._kinds import find_kind
from kubeconnect.k8s._build import JSON_RULES

_MACHINERY = "k8s.io.apimachinery.pkg"
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def to_dict(message: Message, *, zeros: bool = False) -> dict[str, Any]:
    """Return a message as Kubernetes writes it in JSON, with ``apiVersion`` and ``kind`` if it
    is an object.

    Fields that are not set are left out. So are those that Kubernetes leaves out if they are
    zero, such as ``hostNetwork``, even if they are set, unless ``zeros`` is true. The dict is a
    copy. Unknown fields, of an API server that is newer than this package, are left out.
    """
    fields = _fields(message, zeros)
    if kind := find_kind(type(message)):
        return {"apiVersion": kind.api_version, "kind": kind.kind, **fields}
    return fields


# The types of fields that are not repeated. (Versions of protobuf differ in how a descriptor says
# so.)
_SINGULAR = (Message, str, bytes, int, float)


class _Rules(NamedTuple):
    """The rules of one message."""

    inline: frozenset[str]
    omitted: frozenset[str]


@lru_cache(maxsize=None)
def _rules(descriptor: Descriptor) -> _Rules:
    rules, prefix = JSON_RULES[descriptor.file.package], f"{descriptor.name}."

    def of_message(names: str) -> frozenset[str]:
        return frozenset(
            name.removeprefix(prefix) for name in names.split() if name.startswith(prefix)
        )

    return _Rules(of_message(rules.inline), of_message(rules.omitted))


@lru_cache(maxsize=None)
def _is_list(descriptor: Descriptor) -> bool:
    return descriptor.name in JSON_RULES[descriptor.file.package].lists.split()


def members(message: Message) -> Iterator[tuple[str, Any]]:
    """Return the members of a message in JSON. Their values may contain messages, which have
    members themselves.
    """
    if kind := find_kind(type(message)):
        yield from (("apiVersion", kind.api_version), ("kind", kind.kind))
    yield from _members(message, _simple)


def _fields(message: Message, zeros: bool) -> dict[str, Any]:
    return dict(_members(message, partial(_value, zeros=zeros), zeros))


def _members(
    message: Message, convert: Callable[[Message], Any], zeros: bool = False
) -> Iterator[tuple[str, Any]]:
    """Return the members of a message; ``convert`` converts the messages that it contains."""
    rules = _rules(message.DESCRIPTOR)
    for field, content in message.ListFields():
        if field.name in rules.inline:
            yield from _members(content, convert, zeros)
        elif zeros or content or field.name not in rules.omitted:
            value = _of_field(field, content, convert)
            if value is not None:
                yield field.json_name, value  # type: ignore[attr-defined]


def _of_field(field: FieldDescriptor, content: Any, convert: Callable[[Message], Any]) -> Any:
    if field.message_type is not None and field.message_type.GetOptions().map_entry:
        value = field.message_type.fields_by_name["value"]
        of_value = convert if value.message_type is not None else _scalar
        return {key: of_value(content[key]) for key in content}
    of_element = convert if field.message_type is not None else _scalar
    if isinstance(content, _SINGULAR):
        return of_element(cast(Any, content))
    return [of_element(each) for each in content]


def _scalar(value: Any) -> Any:
    return base64.b64encode(value).decode() if isinstance(value, bytes) else value


def _value(message: Message, zeros: bool = False) -> Any:
    simple = _simple(message)
    return _fields(simple, zeros) if isinstance(simple, Message) else simple


def _simple(message: Message) -> Any:
    """Return the value of a message that is no object in JSON; the message itself if it is."""
    if special := _SPECIAL.get(message.DESCRIPTOR.full_name):
        return special(message)
    if _is_list(message.DESCRIPTOR):
        return list(message.items)  # type: ignore[attr-defined]
    return message


def _time(message: Any) -> str | None:
    return _timestamp(message, "seconds")


def _micro_time(message: Any) -> str | None:
    return _timestamp(message, "microseconds")


def _timestamp(message: Any, precision: str) -> str | None:
    if not message.HasField("seconds"):
        return None
    time = _EPOCH + timedelta(seconds=message.seconds, microseconds=message.nanos // 1000)
    return f"{time.replace(tzinfo=None).isoformat(timespec=precision)}Z"


def _duration(message: Any) -> str:
    """Return a duration as Go writes it: "1h2m3.5s", "1.5ms"."""
    nanoseconds = abs(message.duration)
    sign = "-" if message.duration < 0 else ""
    if nanoseconds < 10**9:
        units = ((10**6, "ms"), (10**3, "µs"), (1, "ns"))
        size, unit = next((each for each in units if nanoseconds >= each[0]), (1, "s"))
        return f"{sign}{_fraction(nanoseconds, size)}{unit}"
    minutes, rest = divmod(nanoseconds, 60 * 10**9)
    hours, minutes_left = divmod(minutes, 60)
    text = f"{_fraction(rest, 10**9)}s"
    if minutes:
        text = f"{minutes_left}m{text}"
    return f"{sign}{f'{hours}h' if hours else ''}{text}"


def _fraction(value: int, size: int) -> str:
    whole, rest = divmod(value, size)
    digits = str(rest).rjust(len(str(size)) - 1, "0").rstrip("0")
    return f"{whole}.{digits}" if digits and size > 1 else str(whole)


def _int_or_string(message: Any) -> int | str:
    value: int | str = message.strVal if message.type else message.intVal
    return value


_SPECIAL: dict[str, Callable[[Any], Any]] = {
    f"{_MACHINERY}.apis.meta.v1.Time": _time,
    f"{_MACHINERY}.apis.meta.v1.MicroTime": _micro_time,
    f"{_MACHINERY}.apis.meta.v1.Duration": _duration,
    f"{_MACHINERY}.apis.meta.v1.FieldsV1": lambda message: json.loads(message.Raw or b"null"),
    f"{_MACHINERY}.api.resource.Quantity": lambda message: message.string or "0",
    f"{_MACHINERY}.runtime.RawExtension": lambda message: json.loads(message.raw or b"null"),
    f"{_MACHINERY}.util.intstr.IntOrString": _int_or_string,
}

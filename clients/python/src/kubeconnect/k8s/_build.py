"""Creation of the message classes of the generated modules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from google.protobuf.descriptor import Descriptor, FileDescriptor
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import Message
from google.protobuf.reflection import GeneratedProtocolMessageType

from kubeconnect._kinds import GroupVersionKind, register

# Not the default pool: other generated code for the same .proto files may be there, and two
# files with the same messages cannot be in one pool.
_POOL = DescriptorPool()


@dataclass(frozen=True)
class JsonRules:
    """The differences between the messages of a package and their JSON form, as names separated
    by blanks.
    """

    inline: str
    """The fields ("Message.field") whose content is a part of the enclosing object."""
    lists: str
    """The messages that are lists."""
    omitted: str
    """The scalar fields ("Message.field") whose zero value is omitted."""


JSON_RULES: dict[str, JsonRules] = {}
"""The rules of each loaded package, by its full name."""


def messages(
    namespace: dict[str, Any],
    serialized: bytes,
    *,
    group: str | None = None,
    version: str = "",
    kinds: str = "",
    inline: str = "",
    lists: str = "",
    omitted: str = "",
) -> FileDescriptor:
    """Create the classes of a serialized file descriptor in the namespace of a module."""
    file: FileDescriptor = _POOL.AddSerializedFile(serialized)  # type: ignore[no-untyped-call]
    for name, descriptor in file.message_types_by_name.items():
        namespace[name] = _class(name, descriptor, namespace["__name__"])
    for kind in kinds.split():
        register(namespace[kind], GroupVersionKind(group or "", version, kind))
    JSON_RULES[file.package] = JsonRules(inline, lists, omitted)
    return file


def _class(name: str, descriptor: Descriptor, module: str) -> type[Message]:
    attributes = {"DESCRIPTOR": descriptor, "__module__": module}
    create: Any = GeneratedProtocolMessageType
    cls: type[Message] = create(name, (Message,), attributes)
    return cls

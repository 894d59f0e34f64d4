"""Objects as the API server prints them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kubeconnect.v1 import resource_service_pb2 as pb
from kubeconnect.values import plain


@dataclass(frozen=True)
class TableColumn:
    """What a column holds."""

    name: str
    """The heading, such as "Status"."""
    type: str
    """OpenAPI's type: "string", "integer", "number", "boolean", "array", "date"."""
    format: str
    """OpenAPI's format; "name" is the object's name."""
    description: str
    """What it is, for people."""
    priority: int
    """0: always shown; greater: shown where there is room, as by ``kubectl -o wide``."""

    @classmethod
    def from_message(cls, message: pb.TableColumn) -> TableColumn:
        """Read the API's message."""
        return cls(
            message.name, message.type, message.format, message.description, message.priority
        )


@dataclass(frozen=True)
class TableRow:
    """One object."""

    cells: tuple[Any, ...]
    """One for each column, as in JSON."""
    namespace: str
    """The object's namespace; "" if it has none."""
    name: str
    """The object's name."""
    uid: str
    """The object's UID."""
    resource_version: str
    """The object's version; an opaque string."""

    @classmethod
    def from_message(cls, message: pb.TableRow) -> TableRow:
        """Read the API's message."""
        cells = tuple(map(plain, message.cells))
        return cls(cells, message.namespace, message.name, message.uid, message.resource_version)

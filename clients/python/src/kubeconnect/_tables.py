"""Columns and rows of tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kubeconnect._values import plain
from kubeconnect.v1 import table_pb2 as pb


@dataclass(frozen=True)
class TableColumn:
    """A column of a table."""

    name: str
    """The heading, such as "Status"."""
    type: str
    """OpenAPI's type: "string", "integer", "number", "boolean", "array", "date"."""
    format: str | None
    """OpenAPI's format, if there is one; "name" marks the object's name."""
    description: str
    """A human-readable description."""
    priority: int
    """0: always shown. Greater: shown in wide output only, as by ``kubectl -o wide``."""

    @classmethod
    def from_message(cls, message: pb.TableColumn) -> TableColumn:
        """Return the value for the API's message."""
        return cls(
            message.name,
            message.type,
            message.format or None,
            message.description,
            message.priority,
        )


@dataclass(frozen=True)
class TableRow:
    """A row of a table: one object."""

    cells: tuple[Any, ...]
    """A JSON value for each column."""
    namespace: str | None
    """The object's namespace; None for a cluster-scoped object."""
    name: str
    """The object's name."""
    uid: str
    """The object's UID."""
    resource_version: str
    """The object's version; an opaque string."""

    @classmethod
    def from_message(cls, message: pb.TableRow) -> TableRow:
        """Return the value for the API's message."""
        cells = tuple(map(plain, message.cells))
        namespace = message.namespace or None
        return cls(cells, namespace, message.name, message.uid, message.resource_version)

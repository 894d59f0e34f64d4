"""The columns of records and data frames."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, get_args

from kubeconnect._field_paths import FieldPath

ColumnType: TypeAlias = Literal[
    "string", "int", "float", "bool", "time", "quantity", "decimal", "json"
]

Aggregate: TypeAlias = Literal["sum", "min", "max", "count", "first"]


def _check(what: str, value: object, known: tuple[str, ...]) -> None:
    if value is not None and value not in known:
        raise ValueError(f"unknown {what} {value!r}: write one of {', '.join(known)}")


@dataclass(frozen=True)
class Column:
    """A column of records or of a data frame: a field path, and optionally its type.

    ``Column("spec.containers[*].resources.requests.cpu", "quantity", "sum")`` is the sum of the
    CPU requests of all containers. Raises ValueError for an invalid path, type or aggregate.
    """

    path: str
    """The field path, such as "spec.nodeName". A path with "[*]" leads to a list of values."""
    type: ColumnType | None = None
    """The type of the values; None derives it from them.

    ``"time"`` is a ``datetime`` in UTC. ``"quantity"`` is the number of a quantity, ``0.5`` for
    "500m", and ``"decimal"`` is the same as a ``Decimal``. These two are never derived.
    ``"json"`` is the value as it is, such as a dict.
    """
    aggregate: Aggregate | None = None
    """What to compute from the values at a path with "[*]"; None is the list of them.

    Without values, "sum" and "count" are 0, and the others are None.
    """
    parsed: FieldPath = field(init=False, repr=False, compare=False)
    """The parsed path."""

    def __post_init__(self) -> None:
        """Parse the path."""
        object.__setattr__(self, "parsed", FieldPath(self.path))
        _check("type", self.type, get_args(ColumnType))
        _check("aggregate", self.aggregate, get_args(Aggregate))
        if self.aggregate and self.parsed.is_single:
            raise ValueError(
                f"{self.path!r} leads to one value: an aggregate needs a path with [*]"
            )


Fields: TypeAlias = Mapping[str, "str | Column"] | Iterable["str | Column"]
"""Fields of objects: columns by name, or paths that are also the names."""

IDENTITY = ("namespace", "name")
"""The first columns."""

DEFAULTS = {
    "uid": Column("metadata.uid", "string"),
    "created": Column("metadata.creationTimestamp", "time"),
    "labels": Column("metadata.labels", "json"),
}
"""The columns after the identity if no fields are given."""


def columns_of(fields: Fields | None) -> dict[str, Column]:
    """Return the columns by name. Raises ValueError for an invalid path, and for two columns of
    the same name.
    """
    if fields is None:
        return DEFAULTS
    if isinstance(fields, Mapping):
        return {name: _column(each) for name, each in fields.items()}
    columns: dict[str, Column] = {}
    for column in map(_column, several(fields)):
        if column.path in columns:
            raise ValueError(f"two columns have the name {column.path!r}: name them in a dict")
        columns[column.path] = column
    return columns


def check_selected(columns: Iterable[Column], selected: Iterable[str]) -> None:
    """Raise ValueError for a column that objects with only the selected fields do not have."""
    try:
        available = list(map(FieldPath, selected))
    except ValueError:
        return  # the service accepts more notations
    for column in columns:
        if not any(each.covers(column.parsed) or column.parsed.covers(each) for each in available):
            raise ValueError(
                f"{column.path!r} is not among the fields of the list: add it to list(fields=...)"
            )


def kept(fields: Fields | None) -> Fields | None:
    """Return fields that can be iterated over several times."""
    return fields if fields is None or isinstance(fields, Mapping | str) else tuple(fields)


def several(fields: Fields) -> Iterable[str | Column]:
    """Return the paths and columns of fields. Raises TypeError for a single str, because its
    characters would be taken as paths.
    """
    if isinstance(fields, str):
        raise TypeError(f"paths must be a list of str, such as [{fields!r}]")
    return fields.values() if isinstance(fields, Mapping) else fields


def _column(field: str | Column) -> Column:
    return field if isinstance(field, Column) else Column(field)

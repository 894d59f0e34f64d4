"""Columns with their values, and how they are read from objects and tables."""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import chain, count
from typing import Any, NoReturn, TypeAlias

from kubeconnect._column_values import converter, derived_type
from kubeconnect._columns import IDENTITY, Column, ColumnType, Fields, check_selected, columns_of
from kubeconnect._kinds import KindMessage
from kubeconnect._messages import message_to_dict
from kubeconnect._objects import Object
from kubeconnect._tables import TableColumn, TableRow

Row: TypeAlias = tuple[Any, ...]
"""The namespace and name of an object, and its value for each column."""

_NUMBERS = ("int", "float", "quantity", "decimal")


@dataclass(frozen=True)
class TypedColumn:
    """A column with its values."""

    name: str
    type: ColumnType
    """The type of the values, or of the elements of the values."""
    is_list: bool
    """Whether each value is a list."""
    values: Sequence[Any]
    """A value for each row. None is a missing value."""


class RowReader:
    """Reads rows from objects, and returns their columns."""

    def __init__(
        self,
        fields: Fields | None,
        *,
        namespaced: bool | None = None,
        selected: Collection[str] = (),
    ) -> None:
        """Read these fields. Raises ValueError if they are invalid.

        ``namespaced`` is whether the objects are in namespaces; None derives it from them.
        ``selected`` are the only fields that the objects have; none for all.
        """
        self._columns = columns_of(fields)
        if selected and fields is not None:
            check_selected(self._columns.values(), selected)
        self._namespaced = namespaced
        self._readers = [_reader(column) for column in self._columns.values()]

    def row(self, obj: Any) -> Row:
        """Return the row of an object. Raises UnreadableObject if its content is needed, and
        cannot be read.
        """
        if isinstance(obj, Object):
            content = obj.to_dict() if self._readers else {}
            return (obj.namespace, obj.name, *[read(content) for read in self._readers])
        content = dict(obj) if isinstance(obj, Mapping) else message_to_dict(obj)
        metadata = content.get("metadata") or {}
        identity = (metadata.get("namespace") or None, metadata.get("name"))
        return (*identity, *[read(content) for read in self._readers])

    def columns(self, rows: Sequence[Row]) -> list[TypedColumn]:
        """Return the columns. Raises ValueError for a value that is not of its column's type."""
        read = zip(*rows, strict=True) if rows else ((),) * (len(IDENTITY) + len(self._readers))
        namespaces, names, *contents = read
        identity = {"namespace": namespaces, "name": names}
        if not self._are_namespaced(namespaces):
            del identity["namespace"]
        typed = [
            TypedColumn(name, "string", is_list=False, values=values)
            for name, values in identity.items()
            if name not in self._columns
        ]
        for (name, column), values in zip(self._columns.items(), contents, strict=True):
            typed.append(_typed(name, column, values, rows))
        return typed

    def _are_namespaced(self, namespaces: Sequence[str | None]) -> bool:
        if self._namespaced is not None:
            return self._namespaced
        return not namespaces or any(namespaces)


def read_columns(
    objects: Iterable[Mapping[str, Any] | KindMessage], fields: Fields | None
) -> list[TypedColumn]:
    """Return the columns of some objects."""
    reader = RowReader(fields)
    return reader.columns([reader.row(each) for each in objects])


def _reader(column: Column) -> Callable[[Any], Any]:
    path = column.parsed
    if path.is_single:
        return path.value
    return lambda content: [each for each in path.values(content) if each is not None]


def _typed(name: str, column: Column, values: Sequence[Any], rows: Sequence[Row]) -> TypedColumn:
    type = _type(name, column, values)
    is_list = not column.parsed.is_single and column.aggregate is None
    compute = _value_of(column, type)
    try:
        return TypedColumn(name, type, is_list, list(map(compute, values)))
    except ValueError:
        _raise_first_error(name, compute, values, rows)


def _type(name: str, column: Column, values: Sequence[Any]) -> ColumnType:
    """Return the type of the elements of a column. Raises ValueError if they have no aggregate."""
    if column.aggregate == "count":
        return "int"
    elements = values if column.parsed.is_single else chain.from_iterable(values)
    type = column.type or derived_type(elements)
    if column.aggregate == "sum" and type not in _NUMBERS:
        if not column.type and not any(values):
            return "int"
        raise ValueError(f"column {name!r}: values of the type {type} have no sum")
    if column.aggregate in ("min", "max") and type == "json":
        raise ValueError(f"column {name!r}: lists and objects have no {column.aggregate}")
    return type


def _value_of(column: Column, type: ColumnType) -> Callable[[Any], Any]:
    """Return the function that computes the value of a row."""
    convert, finish = converter(type), _FINISH.get(type, _same)
    if column.parsed.is_single:
        return lambda value: None if value is None else finish(convert(value))
    if column.aggregate is None:
        return lambda values: [finish(convert(each)) for each in values]
    if column.aggregate == "count":
        return len
    aggregate = _AGGREGATES[column.aggregate]

    def compute(values: list[Any]) -> Any:
        value = aggregate([convert(each) for each in values])
        return None if value is None else finish(value)

    return compute


def _raise_first_error(
    name: str, compute: Callable[[Any], Any], values: Sequence[Any], rows: Sequence[Row]
) -> NoReturn:
    for value, row in zip(values, rows, strict=True):
        try:
            compute(value)
        except ValueError as error:
            path = "/".join(filter(None, row[: len(IDENTITY)]))
            raise ValueError(f"column {name!r} of {path}: {error}") from None
    raise AssertionError("no value is invalid")


def _same(value: Any) -> Any:
    return value


# Quantities are added as Decimals, so that their sums are exact.
_FINISH: dict[str, Callable[[Any], Any]] = {"quantity": float, "decimal": Decimal, "float": float}

_AGGREGATES: dict[str, Callable[[list[Any]], Any]] = {
    "sum": sum,
    "min": lambda values: min(values, default=None),
    "max": lambda values: max(values, default=None),
    "first": lambda values: next(iter(values), None),
}


def read_values(name: str, values: Sequence[Any]) -> TypedColumn:
    """Return the column of single values, whose type is derived from them."""
    type = derived_type(values)
    convert = _value_of(_CELL, type)
    return TypedColumn(name, type, is_list=False, values=list(map(convert, values)))


def read_table(
    columns: Iterable[TableColumn], rows: Sequence[TableRow], *, namespaced: bool
) -> list[TypedColumn]:
    """Return the columns of a table. If several have the same name, the second is "Name_2"."""
    typed = []
    if namespaced:
        namespaces = [row.namespace for row in rows]
        typed.append(TypedColumn("Namespace", "string", is_list=False, values=namespaces))
    for index, column in enumerate(columns):
        cells = [row.cells[index] for row in rows]
        type = _cell_type(column, cells)
        convert = _value_of(_CELL, type)
        name = _unused(column.name, {each.name for each in typed})
        typed.append(TypedColumn(name, type, is_list=False, values=list(map(convert, cells))))
    return typed


_CELL = Column("cell")

_CELL_TYPES: dict[str, ColumnType] = {
    "integer": "int",
    "number": "float",
    "boolean": "bool",
    "string": "string",
}


def _cell_type(column: TableColumn, cells: Iterable[Any]) -> ColumnType:
    """Return the declared type of a column if all of its cells are of that type."""
    declared, derived = _CELL_TYPES.get(column.type), derived_type(cells)
    if declared == "string" or (declared == "float" and derived == "int"):
        return declared
    is_empty = all(cell is None for cell in cells)
    return declared if declared and is_empty else derived


def _unused(name: str, used: Container[str]) -> str:
    numbered = (f"{name}_{number}" for number in count(2))
    return next(each for each in chain([name], numbered) if each not in used)

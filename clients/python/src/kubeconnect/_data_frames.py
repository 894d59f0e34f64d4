"""Typed columns as records and as the tables of pandas, polars and pyarrow.

These libraries are optional, and are imported when they are used.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

    from kubeconnect._typed_columns import TypedColumn

_DIGITS, _FRACTION_DIGITS = 38, 9
"""Of decimals. The fraction of a quantity has no more digits."""

_PANDAS_TYPES = {
    "string": "string",
    "int": "Int64",
    "float": "float64",
    "bool": "boolean",
    "time": "datetime64[us, UTC]",
    "quantity": "float64",
}


def records_of(columns: Sequence[TypedColumn]) -> list[dict[str, Any]]:
    """Return a dict for each row."""
    names = [column.name for column in columns]
    rows = zip(*[column.values for column in columns], strict=True)
    return [dict(zip(names, row, strict=True)) for row in rows]


def pandas_of(columns: Sequence[TypedColumn]) -> pandas.DataFrame:
    """Return a DataFrame of pandas. Raises ImportError if pandas is not installed."""
    pd = _import("pandas", "to_pandas", "pandas")
    series = {each.name: pd.Series(each.values, dtype=_pandas_type(each)) for each in columns}
    frame: pandas.DataFrame = pd.DataFrame(series)
    return frame


def _pandas_type(column: TypedColumn) -> str:
    return "object" if column.is_list else _PANDAS_TYPES.get(column.type, "object")


def polars_of(columns: Sequence[TypedColumn]) -> polars.DataFrame:
    """Return a DataFrame of polars. Raises ImportError if polars is not installed."""
    pl = _import("polars", "to_polars", "polars")
    types = {
        "string": pl.String,
        "int": pl.Int64,
        "float": pl.Float64,
        "bool": pl.Boolean,
        "time": pl.Datetime("us", "UTC"),
        "quantity": pl.Float64,
        "decimal": pl.Decimal(_DIGITS, _FRACTION_DIGITS),
        "json": pl.String,
    }

    def series(column: TypedColumn) -> Any:
        type = types[column.type]
        dtype = pl.List(type) if column.is_list else type
        return pl.Series(column.name, _without_json(column), dtype=dtype)

    frame: polars.DataFrame = pl.DataFrame([series(column) for column in columns])
    return frame


def arrow_of(columns: Sequence[TypedColumn]) -> pyarrow.Table:
    """Return a Table of pyarrow. Raises ImportError if pyarrow is not installed."""
    pa = _import("pyarrow", "to_arrow", "arrow")
    types = {
        "string": pa.string(),
        "int": pa.int64(),
        "float": pa.float64(),
        "bool": pa.bool_(),
        "time": pa.timestamp("us", tz="UTC"),
        "quantity": pa.float64(),
        "decimal": pa.decimal128(_DIGITS, _FRACTION_DIGITS),
        "json": pa.string(),
    }

    def array(column: TypedColumn) -> Any:
        type = types[column.type]
        return pa.array(_without_json(column), type=pa.list_(type) if column.is_list else type)

    return pa.table({column.name: array(column) for column in columns})


def _without_json(column: TypedColumn) -> Sequence[Any]:
    """Return the values, with JSON values as JSON texts."""
    if column.type != "json":
        return column.values
    from kubeconnect._column_values import json_of  # slow to import

    if column.is_list:
        return [[json_of(element) for element in each] for each in column.values]
    return [None if each is None else json_of(each) for each in column.values]


def _import(library: str, function: str, extra: str) -> Any:
    try:
        return importlib.import_module(library)
    except ImportError as error:
        install = f"pip install 'kubeconnect[{extra}]'"
        raise ImportError(f"{function} needs {library}: {install}") from error

"""Objects as records and data frames: ``to_records``, ``to_pandas``, ``to_polars``, ``to_arrow``.

The functions take any iterable of objects: of a list, a store, messages of ``kubeconnect.k8s``
and dicts. Lists and tables have methods with the same names. ``Fields`` are columns by name, or
paths that are also the names of their columns. ``ColumnType`` is the type of a column, and
``Aggregate`` is how the values of a path with "[*]" become one value:

    to_pandas(store, {"node": "spec.nodeName", "cpu": Column(path, "quantity", "sum")})

The first columns are the ``namespace``, unless the objects have none, and the ``name``. Columns of
``fields`` that have these names replace them. Without ``fields`` the others are ``uid``,
``created`` and ``labels``.

==========  ==================  ====================  ===================  =====================
type        records             pandas                polars               Arrow
==========  ==================  ====================  ===================  =====================
string      str                 string                String               string
int         int                 Int64                 Int64                int64
float       float               float64               Float64              double
bool        bool                boolean               Boolean              bool
time        datetime in UTC     datetime64[us, UTC]   Datetime(us, UTC)    timestamp(us, UTC)
quantity    float               float64               Float64              double
decimal     Decimal             Decimal objects       Decimal(38, 9)       decimal128(38, 9)
json        the value           objects               JSON in String       JSON in string
==========  ==================  ====================  ===================  =====================

A missing value is None, or what the library uses for it. A path with "[*]" is a column of lists,
unless it has an aggregate. A type that is not given is derived from the values: strings are times
if all of them are, and values of several types are strings. A column without any value is a
string column.

A type that is given converts the values: int, float and bool accept text such as "80" and "true",
int accepts booleans and whole numbers such as 2.0, and string accepts any value, as JSON if it is
not a string.

All functions raise ValueError for an invalid path, for two columns of the same name and for a
value that is not of the type of its column, and UnreadableObject for an object whose content
cannot be read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from kubeconnect._columns import Aggregate, Column, ColumnType, Fields
from kubeconnect._data_frames import arrow_of, pandas_of, polars_of, records_of
from kubeconnect._kinds import KindMessage
from kubeconnect._typed_columns import read_columns

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

__all__ = [
    "Aggregate",
    "Column",
    "ColumnType",
    "Fields",
    "to_arrow",
    "to_pandas",
    "to_polars",
    "to_records",
]


def to_records(
    objects: Iterable[Mapping[str, Any] | KindMessage], fields: Fields | None = None
) -> list[dict[str, Any]]:
    """Return a dict for each object, with the names of the columns as keys."""
    return records_of(read_columns(objects, fields))


def to_pandas(
    objects: Iterable[Mapping[str, Any] | KindMessage], fields: Fields | None = None
) -> pandas.DataFrame:
    """Return a DataFrame of pandas. Raises ImportError if pandas is not installed."""
    return pandas_of(read_columns(objects, fields))


def to_polars(
    objects: Iterable[Mapping[str, Any] | KindMessage], fields: Fields | None = None
) -> polars.DataFrame:
    """Return a DataFrame of polars. Raises ImportError if polars is not installed."""
    return polars_of(read_columns(objects, fields))


def to_arrow(
    objects: Iterable[Mapping[str, Any] | KindMessage], fields: Fields | None = None
) -> pyarrow.Table:
    """Return a Table of pyarrow. Raises ImportError if pyarrow is not installed."""
    return arrow_of(read_columns(objects, fields))

"""Counts of objects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from kubeconnect._aggregates import AggregateResult, results_of
from kubeconnect._data_frames import arrow_of, pandas_of, polars_of, records_of
from kubeconnect._freshness import Freshness
from kubeconnect._objects import Resource
from kubeconnect._reads import Source
from kubeconnect._values import plain
from kubeconnect.v1 import read_pb2 as pb

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

    from kubeconnect._typed_columns import TypedColumn

Scalar: TypeAlias = str | int | float | bool | None


@dataclass(frozen=True)
class ObjectGroup:
    """A group of objects with the same values."""

    values: tuple[Scalar, ...]
    """One value for each path of ``group_by``; None if the objects have none."""
    count: int
    """The number of objects in the group."""
    aggregates: Mapping[str, AggregateResult] = field(default_factory=dict, hash=False)
    """The aggregates of the objects in the group, by the names of the request."""

    @classmethod
    def from_message(cls, message: pb.ObjectGroup, names: tuple[str, ...]) -> ObjectGroup:
        """Return the group for the API's message, whose aggregates have these names."""
        values = tuple(map(plain, message.values))
        return cls(values, message.count, results_of(names, message.aggregates))


@dataclass(frozen=True)
class CountResult:
    """The number of objects that match a selection, and the aggregates over them."""

    resource: Resource
    """The resource and kind of the counted objects."""
    total: int
    """The number of objects that match."""
    aggregates: Mapping[str, AggregateResult] = field(hash=False)
    """The aggregates of all objects that match, by the names of the request. An object that belongs
    to several groups is included once."""
    group_by: tuple[str, ...]
    """The paths by whose values the objects are grouped."""
    groups: tuple[ObjectGroup, ...]
    """The groups: the largest first, groups of equal size in order of their values."""
    remaining_group_count: int
    """The number of groups that were left out because there were more than ``max_groups``."""
    resource_version: str
    """The resource version of the count; an opaque string."""
    freshness: Freshness
    """How current the count is."""
    source: Source | None
    """Where the objects were counted; None if the service did not report it."""
    warnings: tuple[str, ...]
    """Human-readable warnings: that only some namespaces were counted, and for how many
    objects the filter has no value, and why."""
    namespaces: tuple[str, ...]
    """The namespaces that were counted, if all were requested and the caller is not allowed
    to list all of them; empty if the count is complete."""

    @classmethod
    def from_message(
        cls, message: pb.CountResponse, group_by: tuple[str, ...], names: tuple[str, ...]
    ) -> CountResult:
        """Return the result for the API's message. ``names`` are those of the aggregates."""
        return cls(
            resource=Resource.from_message(message.resource),
            total=message.total_count,
            aggregates=results_of(names, message.aggregates),
            group_by=group_by,
            groups=tuple(ObjectGroup.from_message(each, names) for each in message.groups),
            remaining_group_count=message.remaining_group_count,
            resource_version=message.resource_version,
            freshness=Freshness.from_message(message.freshness),
            source=Source.from_message(message.source),
            warnings=tuple(message.warnings),
            namespaces=tuple(message.namespaces),
        )

    def to_records(self) -> list[dict[str, Any]]:
        """Return a dict for each group: its values by their paths, its ``count``, and its
        aggregates by name, which are floats if they are numbers or quantities. Without
        ``group_by`` there is one dict, for all objects.
        """
        return records_of(self._columns())

    def to_pandas(self) -> pandas.DataFrame:
        """Return a DataFrame of pandas with a row for each group, as ``to_records``.

        Raises ImportError if pandas is not installed.
        """
        return pandas_of(self._columns())

    def to_polars(self) -> polars.DataFrame:
        """Return a DataFrame of polars with a row for each group, as ``to_records``.

        Raises ImportError if polars is not installed.
        """
        return polars_of(self._columns())

    def to_arrow(self) -> pyarrow.Table:
        """Return a Table of pyarrow with a row for each group, as ``to_records``.

        Raises ImportError if pyarrow is not installed.
        """
        return arrow_of(self._columns())

    def _columns(self) -> list[TypedColumn]:
        from kubeconnect._count_columns import read_count  # slow to import

        return read_count(self)

"""The columns of a count."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kubeconnect._aggregates import AggregateResult
from kubeconnect._counts import CountResult, ObjectGroup
from kubeconnect._typed_columns import TypedColumn, read_values


def read_count(result: CountResult) -> list[TypedColumn]:
    """Return the columns of a count, with a row for each group.

    Raises ValueError if an aggregate has the name of another column.
    """
    columns = list(_columns(result))
    names = [column.name for column in columns]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"two columns have the name {name!r}: give the aggregate another name")
    return columns


def _columns(result: CountResult) -> Iterator[TypedColumn]:
    total = ObjectGroup((), result.total, result.aggregates)
    groups = result.groups if result.group_by else (total,)
    for index, path in enumerate(result.group_by):
        yield read_values(path, [group.values[index] for group in groups])
    yield TypedColumn("count", "int", is_list=False, values=[group.count for group in groups])
    for name in result.aggregates:
        yield _of_aggregate(name, [group.aggregates[name] for group in groups])


def _of_aggregate(name: str, results: Sequence[AggregateResult]) -> TypedColumn:
    values = [result.value for result in results]
    numbers = [None if each.exact is None else float(each.exact) for each in results]
    is_numeric = all(each.value is None or each.exact is not None for each in results)
    if is_numeric and any(number is not None for number in numbers):
        return TypedColumn(name, "quantity", is_list=False, values=numbers)
    return read_values(name, values)

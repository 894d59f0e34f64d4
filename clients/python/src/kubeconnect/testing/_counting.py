"""Counts of selected objects."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any, TypeAlias

from kubeconnect._field_paths import FieldPath
from kubeconnect._value_order import sort_key
from kubeconnect.testing._aggregating import Aggregates
from kubeconnect.testing._cluster import Content
from kubeconnect.testing._failures import bad_request
from kubeconnect.testing._masks import path_of, scalars, to_value
from kubeconnect.v1 import read_pb2, watch_counts_pb2

_GROUPS = 1000
_MAX_GROUPS = 10_000
_MAX_PATHS = 8

Values: TypeAlias = tuple[tuple[type, Any], ...]
"""The values of a group with their types, because True equals 1."""


class Counting:
    """How the objects of a request are counted."""

    def __init__(
        self, request: read_pb2.CountRequest | watch_counts_pb2.WatchCountsRequest
    ) -> None:
        """Parse the paths and aggregates. Raises InvalidArgument for what are none."""
        if len(request.group_by) > _MAX_PATHS:
            raise bad_request(f"group_by: give not more than {_MAX_PATHS} paths")
        self._paths = [(text, path_of("group_by", text)) for text in request.group_by]
        self.aggregates = Aggregates(request.aggregates)

    def groups(self, selected: Sequence[Content]) -> dict[Values, read_pb2.ObjectGroup]:
        """Return the groups of the selected objects: the largest first."""
        if not self._paths:
            return {}
        members: dict[Values, list[Content]] = {}
        for content in selected:
            for values in product(*(_distinct(text, path, content) for text, path in self._paths)):
                members.setdefault(values, []).append(content)
        ordered = sorted(members.items(), key=lambda each: (-len(each[1]), _order(each[0])))
        return {
            values: read_pb2.ObjectGroup(
                values=[to_value(value) for _, value in values],
                count=len(contents),
                aggregates=self.aggregates.of(contents),
            )
            for values, contents in ordered
        }


def fill_count(
    selected: Sequence[Content], request: read_pb2.CountRequest, response: read_pb2.CountResponse
) -> None:
    """Add the counts of the selected objects to a response."""
    if not 0 <= request.max_groups <= _MAX_GROUPS:
        raise bad_request(f"invalid max_groups {request.max_groups}: give 0 to {_MAX_GROUPS}")
    counting = Counting(request)
    groups = list(counting.groups(selected).values())
    shown = groups[: request.max_groups or _GROUPS]
    response.total_count = len(selected)
    response.groups.extend(shown)
    response.remaining_group_count = len(groups) - len(shown)
    response.aggregates.extend(counting.aggregates.of(selected))


def _distinct(text: str, path: FieldPath, content: Content) -> list[tuple[type, Any]]:
    read = scalars("group_by", text, path.values(content))
    return list(dict.fromkeys((type(value), value) for value in read)) or [(type(None), None)]


def _order(values: Values) -> list[Any]:
    return [(sort_key(value), str(value)) for _, value in values]

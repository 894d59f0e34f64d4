"""Values that a count computes over its objects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, TypeAlias

import grpc

from kubeconnect._errors import Internal
from kubeconnect._requests import checked
from kubeconnect._values import plain
from kubeconnect.v1 import read_pb2 as pb

if TYPE_CHECKING:
    from decimal import Decimal


@dataclass(frozen=True)
class Aggregate:
    """A value that a count computes: see ``Sum``, ``Average``, ``Min`` and ``Max``."""

    path: str
    """The path of the values, as in ``fields``. All values of an object are included, such as
    those of each of its containers."""

    _function: ClassVar[pb.AggregateFunction] = pb.AGGREGATE_FUNCTION_UNSPECIFIED

    def to_message(self) -> pb.Aggregate:
        """Return the API's message."""
        return checked(pb.Aggregate)(function=self._function, path=self.path)


class Sum(Aggregate):
    """The sum of the numbers and quantities ("500m", "2Gi") at a path:
    ``Sum("spec.containers[*].resources.requests.cpu")``. A string counts as Kubernetes reads
    quantities: rounded to billionths, away from 0.
    """

    _function = pb.AGGREGATE_FUNCTION_SUM


class Average(Aggregate):
    """The sum of the numbers and quantities at a path, divided by their number."""

    _function = pb.AGGREGATE_FUNCTION_AVERAGE


class Min(Aggregate):
    """The smallest number or quantity at a path, or the first string in the order of
    ``order_by``: ``Min("metadata.creationTimestamp")`` is the oldest time.
    """

    _function = pb.AGGREGATE_FUNCTION_MIN


class Max(Aggregate):
    """The largest number or quantity at a path, or the last string in the order of ``order_by``.
    Strings come after numbers and quantities.
    """

    _function = pb.AGGREGATE_FUNCTION_MAX


Aggregates: TypeAlias = Mapping[str, Aggregate]
"""Aggregates by the names that the caller chooses."""


@dataclass(frozen=True)
class AggregateResult:
    """The result of a ``Sum``, ``Average``, ``Min`` or ``Max``."""

    value: str | int | float | bool | None
    """For Sum and Average a number, rounded to a float. For Min and Max the value as it is in the
    object, such as "500m". None if there is no value."""
    exact: Decimal | None
    """The exact number; None if the result is not a number or quantity. An Average is rounded to
    20 digits after the decimal point."""
    value_count: int
    """The number of values that are included."""
    omitted_value_count: int
    """The number of values that Sum and Average leave out, because they are not numbers or
    quantities. Missing values are not counted."""

    @classmethod
    def from_message(cls, message: pb.AggregateResult) -> AggregateResult:
        """Return the result for the API's message."""
        from decimal import Decimal  # slow to import

        exact = Decimal(message.exact) if message.exact else None
        value = plain(message.value)
        return cls(value, exact, message.value_count, message.omitted_value_count)


def messages_of(aggregates: Aggregates | None) -> list[pb.Aggregate]:
    """Return the API's messages. Raises TypeError for what are not named aggregates."""
    if not isinstance(aggregates or {}, Mapping):
        example = '{"cpu": Sum("spec.containers[*].resources.requests.cpu")}'
        raise TypeError(f"aggregates must be a mapping with a name for each, such as {example}")
    return [_checked(name, each).to_message() for name, each in (aggregates or {}).items()]


def _checked(name: str, aggregate: object) -> Aggregate:
    if not isinstance(aggregate, Aggregate):
        raise TypeError(f"the aggregate {name} is a Sum, Average, Min or Max, not {aggregate!r}")
    return aggregate


def results_of(
    names: tuple[str, ...], messages: Iterable[pb.AggregateResult]
) -> dict[str, AggregateResult]:
    """Return the results by name. Raises Internal unless there is one for each name."""
    results = list(map(AggregateResult.from_message, messages))
    if len(results) != len(names):
        problem = f"invalid response: {len(results)} aggregates for {len(names)} that were sent"
        raise Internal(grpc.StatusCode.INTERNAL, problem)
    return dict(zip(names, results, strict=True))

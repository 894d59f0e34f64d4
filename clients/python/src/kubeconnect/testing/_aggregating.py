"""Sums, averages, minima and maxima of the values of objects."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from decimal import Decimal, localcontext
from typing import Any

from kubeconnect._field_paths import FieldPath
from kubeconnect._value_order import quantity, sort_key
from kubeconnect.testing._cluster import Content
from kubeconnect.testing._failures import bad_request
from kubeconnect.testing._masks import path_of, scalars, to_value
from kubeconnect.v1 import read_pb2

_MAX_AGGREGATES = 8
_DIGITS = 400
_FRACTION = Decimal(1).scaleb(-20)


class Aggregates:
    """The aggregates of a request."""

    def __init__(self, messages: Iterable[read_pb2.Aggregate]) -> None:
        """Parse the aggregates. Raises InvalidArgument for what are none."""
        wanted = [(each.function, each.path) for each in messages]
        if len(wanted) > _MAX_AGGREGATES or len(set(wanted)) < len(wanted):
            problem = "give each function and path once, and not more than"
            raise bad_request(f"aggregates: {problem} {_MAX_AGGREGATES}")
        self._wanted = [_parsed(function, path) for function, path in wanted]

    def of(self, contents: Iterable[Content]) -> list[read_pb2.AggregateResult]:
        """Return the results over some objects."""
        found: list[list[Any]] = [[] for _ in self._wanted]
        for content in contents:
            for values, (_, text, path) in zip(found, self._wanted, strict=True):
                read = scalars("aggregates", text, path.values(content))
                values.extend(each for each in read if each is not None)
        return [compute(values) for values, (compute, *_) in zip(found, self._wanted, strict=True)]


_Compute = Callable[[list[Any]], read_pb2.AggregateResult]


def _parsed(function: int, text: str) -> tuple[_Compute, str, FieldPath]:
    if function not in _FUNCTIONS:
        raise bad_request("aggregates: function is required: SUM, AVERAGE, MIN or MAX")
    return _FUNCTIONS[function], text, path_of("aggregates", text)


def _sum(values: list[Any]) -> read_pb2.AggregateResult:
    return _of_numbers(values, lambda each: sum(each, Decimal()))


def _average(values: list[Any]) -> read_pb2.AggregateResult:
    return _of_numbers(values, lambda each: (sum(each, Decimal()) / len(each)).quantize(_FRACTION))


def _of_numbers(
    values: list[Any], compute: Callable[[list[Decimal]], Decimal]
) -> read_pb2.AggregateResult:
    numbers = [each for each in map(_number, values) if each is not None]
    result = read_pb2.AggregateResult(
        value_count=len(numbers), omitted_value_count=len(values) - len(numbers)
    )
    if numbers:
        with localcontext() as context:
            context.prec = _DIGITS
            exact = compute(numbers)
        result.value.number_value = float(exact)
        result.exact = _text(exact)
    else:
        result.value.CopyFrom(to_value(None))
    return result


def _min(values: list[Any]) -> read_pb2.AggregateResult:
    return _of_value(min(values, key=sort_key, default=None), len(values))


def _max(values: list[Any]) -> read_pb2.AggregateResult:
    return _of_value(max(values, key=sort_key, default=None), len(values))


def _of_value(value: Any, count: int) -> read_pb2.AggregateResult:
    number = _number(value)
    exact = "" if number is None else _text(number)
    return read_pb2.AggregateResult(value=to_value(value), exact=exact, value_count=count)


def _number(value: Any) -> Decimal | None:
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, (int, float)):
        return Decimal(str(value))
    return quantity(value)


def _text(number: Decimal) -> str:
    text = f"{number:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


_FUNCTIONS: dict[int, _Compute] = {
    read_pb2.AGGREGATE_FUNCTION_SUM: _sum,
    read_pb2.AGGREGATE_FUNCTION_AVERAGE: _average,
    read_pb2.AGGREGATE_FUNCTION_MIN: _min,
    read_pb2.AGGREGATE_FUNCTION_MAX: _max,
}

"""The types of values of columns: how they are derived, and the conversion to them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from datetime import datetime, timezone
from decimal import Decimal
from functools import lru_cache
from typing import Any

from kubeconnect._columns import ColumnType

_TIME = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d+))?(Z|[+-]\d\d:\d\d)")
_INTEGER = re.compile(r"[+-]?\d+")
_INT64 = range(-(2**63), 2**63)
_SCALARS = {str, int, float, bool}


def derived_type(values: Iterable[Any]) -> ColumnType:
    """Return the type of JSON values. Without any value it is a string.

    Strings that are all times are times. Values of several types, none of which is a list or an
    object, are strings.
    """
    values = [value for value in values if value is not None]
    types = set(map(type, values))
    if types == {str}:
        return "time" if _are_times(values) else "string"
    if types == {bool}:
        return "bool"
    if types == {int}:
        return "int" if min(values) in _INT64 and max(values) in _INT64 else "float"
    if types and types <= {int, float}:
        return "float"
    return "string" if types <= _SCALARS else "json"


def _are_times(values: list[str]) -> bool:
    try:
        return all(map(_time, values))
    except ValueError:
        return False


def converter(type: ColumnType) -> Callable[[Any], Any]:
    """Return the function that converts a JSON value, which raises ValueError if it cannot."""
    return _CONVERTERS[type]


def json_of(value: Any) -> str:
    """Return a value as JSON."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _string(value: Any) -> str:
    return value if isinstance(value, str) else json_of(value)


def _int(value: Any) -> int:
    if isinstance(value, str) and _INTEGER.fullmatch(value):
        value = int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, int) and value in _INT64:
        return int(value)
    raise ValueError(f"{value!r} is not an integer of 64 bits")


def _float(value: Any) -> float:
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        try:
            return float(value)
        except (ValueError, OverflowError):
            pass
    raise ValueError(f"{value!r} is not a number")


def _bool(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if value in ("true", "false"):
        return bool(value == "true")
    raise ValueError(f"{value!r} is not a boolean")


def _time(value: Any) -> datetime:
    match = _TIME.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise ValueError(f'{value!r} is not a time, such as "2026-01-02T12:31:07Z"')
    text, fraction, zone = match.groups()
    if fraction:
        text = f"{text}.{fraction[:6]:0<6}"
    if zone == "Z":
        return datetime.fromisoformat(f"{text}+00:00")
    try:
        return datetime.fromisoformat(f"{text}{zone}").astimezone(timezone.utc)
    except OverflowError as error:
        raise ValueError(f"{value!r} is out of range") from error


def _decimal(value: Any) -> Decimal:
    if isinstance(value, str):
        return _quantity(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return Decimal(str(value))
    raise ValueError(f'{value!r} is not a quantity, such as "500m"')


@lru_cache(maxsize=4096)
def _quantity(text: str) -> Decimal:
    from kubeconnect.k8s._quantity import parse  # importing kubeconnect does not import k8s

    return parse(text).value


def _json(value: Any) -> Any:
    return value


_CONVERTERS: dict[ColumnType, Callable[[Any], Any]] = {
    "string": _string,
    "int": _int,
    "float": _float,
    "bool": _bool,
    "time": _time,
    "quantity": _decimal,  # a float only after the aggregate, so that sums are exact
    "decimal": _decimal,
    "json": _json,
}

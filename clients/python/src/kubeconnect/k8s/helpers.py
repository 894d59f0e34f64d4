"""Conversions between messages and Python values.

| message | from the message | to the message |
| --- | --- | --- |
| meta.v1.Time | ``to_datetime`` | ``to_time`` |
| meta.v1.MicroTime | ``to_datetime`` | ``to_micro_time`` |
| quantity.Quantity | ``to_decimal`` | ``to_quantity`` |
| map of Quantity | ``to_decimals`` | ``to_quantities`` |
| intstr.IntOrString | ``to_int_or_str`` | ``to_int_or_string`` |
| any message | ``to_dict`` | the class itself |

Maps of str are used as they are: ``pod.metadata.labels["app"] = "web"``,
``ObjectMeta(labels={"app": "web"})``.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from decimal import Decimal

from kubeconnect.k8s import _quantity
from kubeconnect.k8s._json import to_dict
from kubeconnect.k8s.intstr import IntOrString
from kubeconnect.k8s.meta.v1 import MicroTime, Time
from kubeconnect.k8s.quantity import Quantity

__all__ = [
    "to_datetime",
    "to_decimal",
    "to_decimals",
    "to_dict",
    "to_int_or_str",
    "to_int_or_string",
    "to_micro_time",
    "to_quantities",
    "to_quantity",
    "to_time",
]

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_STRING = 1
"""The type of an IntOrString that is a string; 0 is an integer."""


def to_datetime(time: Time | MicroTime) -> datetime | None:
    """Return a time in UTC; None for a time that is not set.

    ``HasField`` does not report whether a time is set: the API server also sends times that
    are not set, as empty messages.
    """
    if not time.HasField("seconds"):
        return None
    return _EPOCH + timedelta(seconds=time.seconds, microseconds=time.nanos // 1000)


def to_time(value: datetime) -> Time:
    """Return a Time, which has no fractions of a second: they are dropped.

    Raises ValueError for a datetime without a time zone.
    """
    return Time(seconds=_since_epoch(value) // timedelta(seconds=1), nanos=0)


def to_micro_time(value: datetime) -> MicroTime:
    """Return a MicroTime. Raises ValueError for a datetime without a time zone."""
    seconds, rest = divmod(_since_epoch(value), timedelta(seconds=1))
    return MicroTime(seconds=seconds, nanos=rest.microseconds * 1000)


def _since_epoch(value: datetime) -> timedelta:
    if value.tzinfo is None:
        raise ValueError(f"{value!r} has no time zone: add one, such as timezone.utc")
    return value - _EPOCH


def to_decimal(quantity: Quantity | str) -> Decimal:
    """Return the value of a quantity: Decimal("0.5") for "500m", Decimal(1024) for "1Ki".

    The value is the one that Kubernetes uses: fractions are rounded up to a multiple of
    0.000000001, away from zero, and values with a binary suffix
    are at most 2**63 - 1. A Quantity that is not set is 0.

    Raises ValueError for a text that is not a quantity.
    """
    text = quantity if isinstance(quantity, str) else quantity.string or "0"
    return _quantity.parse(text).value


def to_decimals(quantities: Mapping[str, Quantity]) -> dict[str, Decimal]:
    """Return the values of a map of quantities, such as ``resources.limits``."""
    return {name: to_decimal(quantity) for name, quantity in quantities.items()}


def to_quantity(value: Decimal | int | str, *, binary: bool = False) -> Quantity:
    """Return a Quantity in the canonical form of Kubernetes: "500m" for Decimal("0.5").

    With ``binary`` a number is written with a binary suffix, where that is exact: "512Mi".
    A text keeps its type of suffix, and may have any form that Kubernetes accepts: "0.5Gi"
    becomes "512Mi".

    Raises ValueError for a text that is not a quantity, and for a number that is not finite.
    """
    if isinstance(value, str):
        parsed = _quantity.parse(value)
    else:
        parsed = _quantity.of_number(Decimal(value), binary=binary)
    return Quantity(string=parsed.canonical())


def to_quantities(values: Mapping[str, Decimal | int | str]) -> dict[str, Quantity]:
    """Return quantities for a map field: ``limits=to_quantities({"cpu": "500m"})``."""
    return {name: to_quantity(value) for name, value in values.items()}


def to_int_or_str(value: IntOrString) -> int | str:
    """Return the integer or the string, such as the number or the name of a port."""
    return value.strVal if value.type == _STRING else value.intVal


def to_int_or_string(value: int | str) -> IntOrString:
    """Return an IntOrString."""
    if isinstance(value, str):
        return IntOrString(type=_STRING, strVal=value)
    return IntOrString(type=0, intVal=value)

"""The order of values: that of ``order_by``, and of the groups of a count."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from decimal import Decimal

_DIGITS = re.compile(r"(\d+)", re.ASCII)
_MAY_BE_QUANTITY = re.compile(r"[0-9+.-][^eE]*([eE][+-]?0*[0-9]{0,3})?", re.ASCII)
_MAX_QUANTITY_LENGTH = 64


def sort_key(value: Any) -> tuple[Any, ...]:
    """Return the key of a value: missing values first, then booleans, numbers and quantities, and
    texts in natural order.
    """
    if value is None:
        return (0,)
    if isinstance(value, bool):
        return (1, value)
    if isinstance(value, (int, float)):
        return (2, value)
    number = quantity(value)
    return (3, _natural(value), value) if number is None else (2, number)


def quantity(text: str) -> Decimal | None:
    """Return the number of a quantity; None for another text."""
    if len(text) > _MAX_QUANTITY_LENGTH or not _MAY_BE_QUANTITY.fullmatch(text):
        return None
    from kubeconnect.k8s import _quantity  # slow to import

    try:
        return _quantity.parse(text).value
    except ValueError:
        return None


def _natural(text: str) -> list[tuple[int, int]]:
    """Return the characters of a text, with numbers in place of digits: "web-2" comes before
    "web-10".
    """
    key: list[tuple[int, int]] = []
    for part in _DIGITS.split(text):
        if part.isdecimal() and part.isascii():
            key.append((ord("0"), int(part)))
        else:
            key += [(ord(char), 0) for char in part]
    return key

"""Quantities: parsing and canonical form, as in k8s.io/apimachinery/pkg/api/resource."""

from __future__ import annotations

import enum
import re
from dataclasses import dataclass
from decimal import Decimal

_TEXT = re.compile(
    r"([+-]?)([0-9]*)(?:\.([0-9]*))?(?:([numkMGTPE]|[KMGTPE]i)?|[eE]([+-]?[0-9]+))"
)

_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4, "Pi": 5, "Ei": 6}

_SMALLEST_EXPONENT = -9
_LARGEST_EXPONENT = 18
_LARGEST_BINARY = 2**63 - 1


class Format(enum.Enum):
    """The type of suffix of a quantity."""

    DECIMAL = "12M"
    BINARY = "12Mi"
    EXPONENT = "12e6"


@dataclass(frozen=True)
class ParsedQuantity:
    """The number ``unscaled * 10**exponent``, where ``exponent`` is at least -9."""

    unscaled: int
    exponent: int
    format: Format

    @property
    def value(self) -> Decimal:
        """The number, without trailing zeros in its fraction. Whole numbers are written out,
        unless they are very large.
        """
        if self.unscaled == 0:
            return Decimal(0)
        unscaled, exponent = _without_zeros(self.unscaled, self.exponent)
        if 0 < exponent <= 100:
            unscaled, exponent = unscaled * 10**exponent, 0
        sign, digits = int(unscaled < 0), tuple(map(int, str(abs(unscaled))))
        return Decimal((sign, digits, exponent))

    def canonical(self) -> str:
        """Return the canonical form: no fractional digits, and the largest possible suffix."""
        if self.unscaled == 0:
            return "0"
        if self.format is Format.BINARY and (text := self._binary()):
            return text
        unscaled, exponent = _without_zeros(self.unscaled, self.exponent)
        suffixed = self.format is not Format.EXPONENT
        limit = min(exponent, _LARGEST_EXPONENT) if suffixed else exponent
        target = limit - limit % 3
        number = unscaled * 10 ** (exponent - target)
        if suffixed:
            return f"{number}{_suffix_of(target)}"
        return f"{number}e{target}" if target else str(number)

    def _binary(self) -> str | None:
        """Return the form with a binary suffix; None if it would have to be rounded, or would be limited."""
        unscaled, exponent = _without_zeros(self.unscaled, self.exponent)
        if exponent < 0 or not 1024 <= abs(number := unscaled * 10**exponent) <= _LARGEST_BINARY:
            return None
        power = 0
        while number % 1024 == 0 and power < len(_BINARY):
            number, power = number // 1024, power + 1
        return f"{number}{next((name for name, each in _BINARY.items() if each == power), '')}"


def parse(text: str) -> ParsedQuantity:
    """Parse a quantity. Raises ValueError for a text that is not a quantity.

    Unlike Kubernetes, this does not accept a text without digits, such as "Ki", as 0.
    """
    match = _TEXT.fullmatch(text)
    if not match or not (match[2] or match[3]):
        raise ValueError(f'{text!r} is not a quantity, such as "500m", "1.5Gi" or "1e3"')
    sign, whole, fraction, suffix, exponent = (each or "" for each in match.groups())
    unscaled = int(f"{whole}{fraction}")
    scale = -len(fraction)
    if exponent:
        if not -(2**31) <= int(exponent) < 2**31:
            raise ValueError(f"the exponent of {text!r} is too large")
        format, scale = Format.EXPONENT, scale + int(exponent)
    elif suffix in _BINARY:
        format, unscaled = Format.BINARY, unscaled * 1024 ** _BINARY[suffix]
    else:
        format, scale = Format.DECIMAL, scale + _DECIMAL[suffix]
    unscaled, scale = _rounded_up(unscaled, scale)
    if format is Format.BINARY:
        unscaled, scale, format = _binary_limits(unscaled, scale)
    return ParsedQuantity(-unscaled if sign == "-" else unscaled, scale, format)


def of_number(value: Decimal, *, binary: bool) -> ParsedQuantity:
    """Return the quantity with this value. Raises ValueError if the value is not finite."""
    sign, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int):
        raise ValueError(f"{value} is not a finite number")
    unscaled, exponent = _rounded_up(int("".join(map(str, digits))), exponent)
    format = Format.BINARY if binary else Format.DECIMAL
    return ParsedQuantity(-unscaled if sign else unscaled, exponent, format)


def _rounded_up(unscaled: int, exponent: int) -> tuple[int, int]:
    """Return a number of which no fraction below the smallest exponent remains."""
    excess = _SMALLEST_EXPONENT - exponent
    if excess <= 0 or unscaled == 0:
        return unscaled, max(exponent, _SMALLEST_EXPONENT)
    if excess > len(str(unscaled)):
        return 1, _SMALLEST_EXPONENT
    return -(-unscaled // 10**excess), _SMALLEST_EXPONENT


def _binary_limits(unscaled: int, exponent: int) -> tuple[int, int, Format]:
    """Limit a number with a binary suffix. A number below 1 has a decimal suffix."""
    if unscaled > _LARGEST_BINARY * 10**-exponent:
        return _LARGEST_BINARY, 0, Format.BINARY
    below_one = 0 < unscaled < 10**-exponent
    return unscaled, exponent, Format.DECIMAL if below_one else Format.BINARY


def _without_zeros(unscaled: int, exponent: int) -> tuple[int, int]:
    """Move all factors of ten to the exponent."""
    stripped = str(unscaled).rstrip("0")
    return int(stripped), exponent + len(str(unscaled)) - len(stripped)


def _suffix_of(exponent: int) -> str:
    return next(suffix for suffix, each in _DECIMAL.items() if each == exponent)

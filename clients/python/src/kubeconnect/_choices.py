"""Parameters with a fixed set of values."""

from __future__ import annotations

import enum
from typing import Any, NoReturn, TypeVar

Self = TypeVar("Self", bound="Choice")


class Choice(str, enum.Enum):
    """The base of enums whose members are strings. A parameter accepts the member and the string.

    ``number`` is the API's value.
    """

    number: Any

    def __new__(cls: type[Self], name: str, number: int = 0) -> Self:
        """Create a member that equals its name."""
        member = str.__new__(cls, name)
        member._value_ = name
        member.number = number
        return member

    def __str__(self) -> str:
        """Return the string."""
        return str.__str__(self)

    @classmethod
    def _missing_(cls, value: object) -> NoReturn:
        choices = ", ".join(f'"{member}"' for member in cls)
        raise ValueError(f"{value!r} is not a valid {cls.__name__}: use one of {choices}")

    @classmethod
    def number_of(cls, value: str) -> Any:
        """Return the API's value of a member or its string. Raises ValueError for another."""
        return cls(value).number

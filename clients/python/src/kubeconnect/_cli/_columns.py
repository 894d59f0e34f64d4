"""Columns that the user names: ``-o custom-columns=NAME:.metadata.name,NODE:.spec.nodeName``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kubeconnect import Object
from kubeconnect._field_paths import FieldPath

PREFIX = "custom-columns="


@dataclass(frozen=True)
class Columns:
    """Headings and the field path of each."""

    headings: tuple[str, ...]
    paths: tuple[str, ...]

    @classmethod
    def parse(cls, output: str) -> Columns:
        """Parse the value of -o. Raises ValueError if it is invalid."""
        columns = [each.partition(":") for each in output.removeprefix(PREFIX).split(",")]
        for heading, _, path in columns:
            if not (heading and path):
                raise ValueError('columns are HEADING:PATH, such as "NODE:.spec.nodeName"')
            FieldPath(path)
        return cls(tuple(each[0] for each in columns), tuple(each[2] for each in columns))

    def cells(self, object: Object) -> list[Any]:
        """Return the cells of an object: None for a missing field."""
        content = object.to_dict()
        return [_cell(list(FieldPath(path).values(content))) for path in self.paths]


def _cell(values: list[Any]) -> Any:
    if len(values) < 2:
        return values[0] if values else None
    return ",".join(each if isinstance(each, str) else str(each) for each in values)

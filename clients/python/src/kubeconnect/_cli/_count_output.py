"""The output of ``count``."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import click

from kubeconnect import AggregateResult, CountResult, ObjectGroup
from kubeconnect._cli._failures import note, warn
from kubeconnect._cli._objects import as_json, as_yaml
from kubeconnect._cli._tables import print_table
from kubeconnect._cli._terminal import is_terminal


class CountPrinter:
    """Prints counts, and each warning once."""

    def __init__(self, paths: Sequence[str], limit: int | None, output: str, *, live: bool) -> None:
        """Print at most ``limit`` groups by these paths. With ``live`` there are several counts."""
        self._paths = paths
        self._limit = limit
        self._output = output
        self._live = live
        self._warned: set[str] = set()
        self._is_first = True

    def show(self, result: CountResult) -> None:
        """Print counts."""
        groups = result.groups[: self._limit]
        if self._output == "table":
            self._separate()
            self._print_table(result, groups)
            if more := result.remaining_group_count + len(result.groups) - len(groups):
                note(f"... and {more} more groups")
        else:
            self._print_document(_content(result, groups))
        self._warn([*result.warnings, *_without_values(result), *_omitted(result)])

    def _separate(self) -> None:
        """Clear a terminal, or separate a table from the one before."""
        if self._live and is_terminal(sys.stdout):
            click.clear()
        elif not self._is_first:
            sys.stdout.write("\n")
        self._is_first = False

    def _print_table(self, result: CountResult, groups: Sequence[ObjectGroup]) -> None:
        if not (self._paths or result.aggregates):
            sys.stdout.write(f"{result.total}\n")
            return
        names = list(map(_heading_of_aggregate, result.aggregates))
        headings = [*map(heading, self._paths), "COUNT", *names]
        total = ObjectGroup((), result.total, result.aggregates)
        rows = groups if self._paths else [total]
        print_table(headings, [_row(each) for each in rows])

    def _print_document(self, value: dict[str, Any]) -> None:
        if self._output == "yaml":
            sys.stdout.write("---\n" * self._live + as_yaml(value))
        else:
            sys.stdout.write(as_json(value, indent=None if self._live else 4) + "\n")

    def _warn(self, warnings: Sequence[str]) -> None:
        warn(each for each in warnings if each not in self._warned)
        self._warned.update(warnings)


def heading(path: str) -> str:
    """Return the heading of the column of a path: its last name."""
    name = path.rstrip("]}'\"*[").replace("'", ".").replace('"', ".")
    return name.rsplit(".", 1)[-1].rsplit("[", 1)[-1].upper() or path.upper()


def _heading_of_aggregate(name: str) -> str:
    function, _, path = name.removesuffix(")").partition("(")
    return f"{function.upper()}({heading(path)})"


def _row(group: ObjectGroup) -> tuple[Any, ...]:
    return (*group.values, group.count, *map(_number, group.aggregates.values()))


def _number(result: AggregateResult) -> Any:
    """Return a result as JSON: a whole number exactly, and a minimum or maximum as it is in the
    object.
    """
    exact = result.exact
    if exact is not None and not isinstance(result.value, str) and exact == exact.to_integral():
        return int(exact)
    return result.value


def _content(result: CountResult, groups: Sequence[ObjectGroup]) -> dict[str, Any]:
    content: dict[str, Any] = {"total": result.total, **_named(result.aggregates)}
    if result.group_by:
        content["groups"] = [
            {"values": list(each.values), "count": each.count, **_named(each.aggregates)}
            for each in groups
        ]
    return content


def _named(aggregates: Mapping[str, AggregateResult]) -> dict[str, Any]:
    values = {name: _number(each) for name, each in aggregates.items()}
    return {"aggregates": values} if values else {}


def _without_values(result: CountResult) -> Iterator[str]:
    """Return warnings of paths at which no object has a value, because they may be mistyped."""
    if not result.total:
        return
    for index, path in enumerate(result.group_by):
        if all(group.values[index] is None for group in result.groups):
            yield f"no object has a value at {path}"
    for name, each in result.aggregates.items():
        if not each.value_count + each.omitted_value_count:
            yield f"{name}: no object has a value"


def _omitted(result: CountResult) -> Iterator[str]:
    for name, each in result.aggregates.items():
        if each.omitted_value_count:
            yield f"{name}: {each.omitted_value_count} values are no numbers, and are left out"

"""Objects as YAML, JSON, lines of JSON, or names."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from kubeconnect import Object, Resource
from kubeconnect._cli import INSTALL
from kubeconnect._cli._terminal import has_control, shown

OBJECT_FORMATS = ("yaml", "json", "jsonl", "name")
NAME_FIELDS = ("metadata.name", "metadata.resourceVersion")
"""The fields that names need. With the version, a watch has an event for each change."""

_CONTROL = re.compile(r"[^\n -~]")


def print_objects(objects: Iterable[Object], output: str, *, single: bool) -> None:
    """Print objects in one of ``OBJECT_FORMATS``. Unless ``single``, YAML and JSON are a List."""
    for text in _texts(objects, output, single):
        sys.stdout.write(text)


def object_name(resource: Resource, name: str) -> str:
    """Return the name of an object with its kind, as -o name of kubectl."""
    kind = resource.kind.lower()
    return shown(f"{kind}.{resource.group}/{name}" if resource.group else f"{kind}/{name}")


def as_json(object: dict[str, Any], *, indent: int | None = None) -> str:
    """Return a JSON text, in which characters that control a terminal are escaped."""
    separators = None if indent else (",", ":")
    text = json.dumps(object, indent=indent, separators=separators, ensure_ascii=False)
    return _CONTROL.sub(_escape, text) if has_control(text) else text


def as_yaml(value: Any) -> str:
    """Return a YAML document as kubectl writes it, without characters that control a terminal.
    Raises ImportError without PyYAML.
    """
    return _yaml_writer()(value)


def content(object: Object) -> dict[str, Any]:
    """Return the complete object with its ``apiVersion`` and ``kind`` first."""
    kind = {"apiVersion": object.resource.api_version, "kind": object.resource.kind}
    return {**kind, **object.to_dict()}


def _escape(match: re.Match[str]) -> str:
    return match[0] if match[0].isprintable() else json.dumps(match[0])[1:-1]


def _texts(objects: Iterable[Object], output: str, single: bool) -> Iterator[str]:
    if output == "name":
        return (f"{object_name(each.resource, each.name)}\n" for each in objects)
    if output == "jsonl":
        return (as_json(content(each)) + "\n" for each in objects)
    if single:
        write = as_yaml if output == "yaml" else _indented
        return (write(content(each)) for each in objects)
    return _yaml_list(objects) if output == "yaml" else _json_list(objects)


def _indented(value: dict[str, Any]) -> str:
    return as_json(value, indent=4) + "\n"


def _yaml_list(objects: Iterable[Object]) -> Iterator[str]:
    write = _yaml_writer()
    head = "apiVersion: v1\nitems:"
    empty = True
    for each in objects:
        yield (head + "\n" if empty else "") + write([content(each)])
        empty = False
    yield (head + " []\n" if empty else "") + "kind: List\n"


def _json_list(objects: Iterable[Object]) -> Iterator[str]:
    yield '{\n    "apiVersion": "v1",\n    "items": ['
    separator = "\n"
    for each in objects:
        text = as_json(content(each), indent=4)
        yield separator + "\n".join(" " * 8 + line for line in text.split("\n"))
        separator = ",\n"
    yield "]" if separator == "\n" else "\n    ]"
    yield ',\n    "kind": "List"\n}\n'


def _yaml_writer() -> Callable[[Any], str]:
    try:
        import yaml  # optional
    except ImportError as error:
        raise ImportError(f"-o yaml needs PyYAML: {INSTALL}") from error

    class Dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]
        def ignore_aliases(self, data: Any) -> bool:
            return True

    def text(dumper: Any, value: str) -> Any:
        # YAML has no block for lines that end with spaces.
        style = "|" if "\n" in value and " \n" not in value else None
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)

    Dumper.add_representer(str, text)

    def write(value: Any) -> str:
        dumped: str = yaml.dump(value, Dumper=Dumper, width=2**20, allow_unicode=True)
        if has_control(dumped):
            dumped = yaml.dump(value, Dumper=Dumper, width=2**20, allow_unicode=False)
        return dumped

    return write

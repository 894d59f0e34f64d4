"""Objects to apply, which name their resource themselves."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kubeconnect._bodies import encode_body

_SEPARATOR = re.compile(r"^---[ \t]*(?:#.*)?\r?$", re.MULTILINE)


@dataclass(frozen=True)
class Manifest:
    """One object to apply."""

    group: str
    """The API group; "" for the core group."""
    version: str
    """The API version, such as "v1"."""
    kind: str
    """The kind, such as "Deployment"."""
    namespace: str | None
    """The namespace in the metadata; None if there is none."""
    name: str
    """The name in the metadata."""
    data: bytes
    """The object as JSON or YAML."""

    @property
    def resource(self) -> str:
        """The resource in the form Kind.version.group, which names it without discovery."""
        return f"{self.kind}.{self.version}.{self.group}"

    def __str__(self) -> str:
        """Return the kind and name."""
        path = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return f"{self.kind} {path}"

    @classmethod
    def from_object(cls, object: Mapping[str, Any], data: bytes | None = None) -> Manifest:
        """Return the manifest of an object, of which ``data`` is the JSON or YAML.

        The managed fields of an object that was read are left out, because the API server
        rejects them. Raises ValueError if the object does not name itself.
        """
        metadata = object.get("metadata")
        metadata = metadata if isinstance(metadata, Mapping) else {}
        group, _, version = _text(object, "apiVersion").rpartition("/")
        kind, name = _text(object, "kind"), _text(metadata, "name", "metadata.name")
        if data is None:
            kept = {key: value for key, value in metadata.items() if key != "managedFields"}
            data = encode_body({**object, "metadata": kept})
        return cls(group, version, kind, metadata.get("namespace") or None, name, data)


def read_yaml(text: str | bytes) -> list[Manifest]:
    """Return the manifests of all documents of a YAML text.

    A document is sent unchanged, because versions of YAML differ in what they read. Raises
    ValueError for a document that is not YAML, or not an object that names itself, and
    ImportError if PyYAML is not installed.
    """
    text = text.decode() if isinstance(text, bytes) else text
    return list(_manifests(_SEPARATOR.split(text)))


def _manifests(documents: list[str]) -> Iterator[Manifest]:
    line = 0  # the number of lines before the document
    for number, document in enumerate(documents, 1):
        try:
            parsed = _parse(document, line)
            if parsed is None:
                continue
            if isinstance(parsed, str):
                raise ValueError("it is not an object: pass the content of a file, not its path")
            if not isinstance(parsed, Mapping):
                raise ValueError("it is not an object")
            if parsed.get("kind") == "List" and isinstance(parsed.get("items"), list):
                yield from map(Manifest.from_object, parsed["items"])
            else:
                yield Manifest.from_object(parsed, document.encode())
        except ValueError as error:
            begin = line + 1 + document.startswith("\n")  # behind the separator
            raise ValueError(f"document {number} (line {begin}): {error}") from error
        line += document.count("\n")


def _parse(document: str, line: int) -> Any:
    """Return the content of a document that begins after this number of lines."""
    try:
        import yaml  # optional
    except ImportError as error:
        raise ImportError("apply_yaml needs PyYAML: pip install 'kubeconnect[yaml]'") from error
    try:
        return yaml.safe_load(document)
    except yaml.YAMLError as error:
        if isinstance(error, yaml.MarkedYAMLError):
            for mark in filter(None, {error.context_mark, error.problem_mark}):
                mark.line += line
        raise ValueError(f"it is not YAML: {error}") from error


def _text(object: Mapping[str, Any], key: str, path: str = "") -> str:
    value = object.get(key)
    if not isinstance(value, str) or not value:
        raise ValueError(f"an object to apply needs {path or key}, not {value!r}")
    return value

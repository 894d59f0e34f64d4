"""The rules of the API server for the metadata of objects."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kubeconnect.testing._cluster import Content, owner_references
from kubeconnect.testing._failures import invalid
from kubeconnect.testing._resources import ResourceType

_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_SUBDOMAIN = re.compile(rf"{_LABEL.pattern}(\.{_LABEL.pattern})*")
_WORD = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")
_FINALIZERS = ("kubernetes", "foregroundDeletion", "orphan")
_SHORT_NAMES = ("namespaces", "services")
"""The resources whose names are parts of DNS names."""

Problem = tuple[str, str, str]
"""The field, the reason and the description."""


def check_metadata(resource: ResourceType, content: Content) -> None:
    """Raise Invalid for metadata that the API server rejects."""
    metadata = content["metadata"]
    for field, reason, description in _problems(resource, metadata):
        name = f"metadata.{field}"
        raise invalid(resource, metadata["name"], name, reason, description)


def _problems(resource: ResourceType, metadata: Content) -> Iterator[Problem]:
    if problem := _name_problem(resource, metadata["name"]):
        yield "name", "FieldValueInvalid", f'Invalid value: "{metadata["name"]}": {problem}'
    for field in ("labels", "annotations"):
        for key, value in (metadata.get(field) or {}).items():
            if problem := label_key_problem(key):
                yield field, "FieldValueInvalid", f'Invalid value: "{key}": {problem}'
            elif field == "labels" and (problem := label_value_problem(value)):
                yield field, "FieldValueInvalid", f'Invalid value: "{value}": {problem}'
    yield from _owner_problems(metadata)
    for number, each in enumerate(metadata.get("finalizers") or ()):
        if "/" not in each and each not in _FINALIZERS:
            problem = "name is neither a standard finalizer name nor is it fully qualified"
            description = f'Invalid value: "{each}": {problem}'
            yield f"finalizers[{number}]", "FieldValueInvalid", description


def _name_problem(resource: ResourceType, name: str) -> str:
    if resource.group == "rbac.authorization.k8s.io":
        return "it is not a part of a path" if not _is_path_part(name) else ""
    if resource.full_name not in _SHORT_NAMES:
        characters = "subdomain must consist of lower case alphanumeric characters, '-' or '.'"
        return _dns_problem(name, _SUBDOMAIN, 253, characters)
    if _SUBDOMAIN.fullmatch(name) and "." in name:
        return "must not contain dots"
    characters = "label must consist of lower case alphanumeric characters or '-'"
    return _dns_problem(name, _LABEL, 63, characters)


def _is_path_part(name: str) -> bool:
    return name not in (".", "..") and not set(name) & set("/%")


def _dns_problem(name: str, pattern: re.Pattern[str], limit: int, characters: str) -> str:
    if len(name) > limit:
        return f"must be no more than {limit} characters"
    if pattern.fullmatch(name):
        return ""
    end = "and must start and end with an alphanumeric character"
    return f"a lowercase RFC 1123 {characters}, {end}"


def label_key_problem(key: str) -> str:
    """Return what is wrong with the key of a label or an annotation; "" if it is right."""
    prefix, separator, name = key.rpartition("/")
    if separator and not (_SUBDOMAIN.fullmatch(prefix) and len(prefix) <= 253):
        return "the part before '/' must be a DNS subdomain of at most 253 characters"
    if not _WORD.fullmatch(name):
        return (
            "name part must consist of alphanumeric characters, '-', '_' or '.', and must start "
            "and end with an alphanumeric character"
        )
    return "name part must be no more than 63 bytes" if len(name) > 63 else ""


def label_value_problem(value: str) -> str:
    """Return what is wrong with the value of a label; "" if it is right."""
    if len(value) > 63:
        return "must be no more than 63 bytes"
    if not value or _WORD.fullmatch(value):
        return ""
    return (
        "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "
        "'.', and must start and end with an alphanumeric character"
    )


def _owner_problems(metadata: Content) -> Iterator[Problem]:
    owners = owner_references({"metadata": metadata})
    for number, owner in enumerate(owners):
        for field in ("apiVersion", "kind", "name", "uid"):
            if not owner.get(field):
                path = f"ownerReferences[{number}].{field}"
                yield path, "FieldValueRequired", "Required value: must not be empty"
    if sum(bool(owner.get("controller")) for owner in owners) > 1:
        description = "Invalid value: only one reference can have controller set to true"
        yield "ownerReferences", "FieldValueInvalid", description

"""ConfigMaps and Secrets."""

from __future__ import annotations

import base64
import re

from kubeconnect.testing._cluster import Content
from kubeconnect.testing._failures import invalid
from kubeconnect.testing._resources import ResourceType

_KEY = re.compile(r"[-._a-zA-Z0-9]{1,253}")
_FIELDS = {"configmaps": ("data", "binaryData"), "secrets": ("data",)}


def without_text(resource: ResourceType, content: Content) -> Content:
    """Return a Secret with its stringData in its data, and with a type; others as they are."""
    if resource.full_name != "secrets":
        return content
    rest = {key: value for key, value in content.items() if key != "stringData"}
    text = content.get("stringData") or {}
    encoded = {key: base64.b64encode(value.encode()).decode() for key, value in text.items()}
    data = {**(content.get("data") or {}), **encoded}
    rest = {**rest, "data": data} if data else rest
    return {**rest, "type": content.get("type") or "Opaque"}


def check_keys(resource: ResourceType, content: Content, before: Content | None) -> None:
    """Raise Invalid for a key that could not be the name of a file, and for a change of what is
    immutable.
    """
    name = content["metadata"]["name"]
    for field in _FIELDS.get(resource.full_name, ()):
        for key in content.get(field) or ():
            if not _KEY.fullmatch(key) or key == "." or key.startswith(".."):
                problem = (
                    f'Invalid value: "{key}": a valid config key must consist of alphanumeric '
                    "characters, '-', '_' or '.'"
                )
                raise invalid(resource, name, f"{field}[{key}]", "FieldValueInvalid", problem)
            if field == "binaryData" and key in (content.get("data") or ()):
                problem = f'Invalid value: "{key}": duplicate of key present in binaryData'
                raise invalid(resource, name, f"data[{key}]", "FieldValueInvalid", problem)
    if before is not None:
        _check_immutable(resource, before, content)


def _check_immutable(resource: ResourceType, before: Content, content: Content) -> None:
    fields = _FIELDS.get(resource.full_name, ())
    name = content["metadata"]["name"]
    if resource.full_name == "secrets" and before.get("type") != content.get("type"):
        problem = f'Invalid value: "{content.get("type")}": field is immutable'
        raise invalid(resource, name, "type", "FieldValueInvalid", problem)
    for field in ("immutable", *fields) if fields and before.get("immutable") else ():
        if before.get(field) != content.get(field):
            problem = "Forbidden: field is immutable when `immutable` is set"
            raise invalid(resource, name, field, "FieldValueForbidden", problem)

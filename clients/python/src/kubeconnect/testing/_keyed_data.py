"""The keys of ConfigMaps and Secrets."""

from __future__ import annotations

import re

from kubeconnect.testing._cluster import Content
from kubeconnect.testing._failures import invalid
from kubeconnect.testing._resources import ResourceType

_KEY = re.compile(r"[-._a-zA-Z0-9]{1,253}")
_FIELDS = {"configmaps": ("data", "binaryData"), "secrets": ("data",)}


def check_keys(resource: ResourceType, content: Content) -> None:
    """Raise Invalid for a key that could not be the name of a file."""
    for field in _FIELDS.get(resource.full_name, ()):
        for key in content.get(field) or ():
            if not _KEY.fullmatch(key) or key == "." or key.startswith(".."):
                problem = (
                    f'Invalid value: "{key}": a valid config key must consist of alphanumeric '
                    "characters, '-', '_' or '.'"
                )
                name = content["metadata"]["name"]
                raise invalid(resource, name, f"{field}[{key}]", "FieldValueInvalid", problem)

"""The resources that the fake service serves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

from kubeconnect._errors import NotFound
from kubeconnect.testing._builtin_resources import BUILT_IN_RESOURCES, SELECTABLE_FIELDS
from kubeconnect.testing._failures import bad_request, failure
from kubeconnect.v1 import object_pb2

VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")


@dataclass(frozen=True)
class ResourceType:
    """A resource, with the rules by which the API server treats its objects."""

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool = True
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: tuple[str, ...] = ()
    traits: tuple[str, ...] = ("generation", "versioned")
    fields: tuple[str, ...] = ()
    """The fields of field selectors, in addition to the name and namespace."""
    built_in: bool = False
    schema: Mapping[str, Any] | None = field(default=None, compare=False)
    """The OpenAPI schema; None if it is not known."""

    @property
    def api_version(self) -> str:
        """Group and version in the form of an object's ``apiVersion``: "apps/v1"."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def full_name(self) -> str:
        """The plural name with the group: "deployments.apps"."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def verbs(self) -> tuple[str, ...]:
        """The verbs that the API server supports for the resource."""
        if (self.group, self.plural) == ("", "namespaces"):
            return tuple(verb for verb in VERBS if verb != "deletecollection")
        return VERBS

    @property
    def protobuf_type(self) -> str:
        """The name of the kind's protobuf message; "" if it has none."""
        if not self.built_in or self.group == "apiextensions.k8s.io":
            return ""
        package = self.group.partition(".")[0] or "core"
        return f"k8s.io.api.{package}.{self.version}.{self.kind}"

    def has(self, trait: str) -> bool:
        """Return whether the API server treats the objects in this way."""
        return trait in self.traits

    def is_named(self, name: str) -> bool:
        """Return whether the lower-case name, in kubectl's syntax, names the resource."""
        head, _, rest = name.partition(".")
        kind = self.kind.lower()
        if head not in (self.plural, kind, *self.short_names):
            return False
        versioned = f"{self.version}.{self.group}"
        return self.group.startswith(rest) or rest in (self.version, versioned)

    def to_message(self) -> object_pb2.Resource:
        """Return the API's message."""
        return object_pb2.Resource(
            group=self.group,
            version=self.version,
            kind=self.kind,
            plural=self.plural,
            namespaced=self.namespaced,
            protobuf_type=self.protobuf_type,
        )

    def check_namespace(self, namespace: str, *, required: bool = True) -> None:
        """Raise an error unless a request has a namespace if and only if it must."""
        if namespace and not self.namespaced:
            raise bad_request(f"{self.plural} have no namespaces: leave the namespace out")
        if required and self.namespaced and not namespace:
            raise bad_request(f"namespace is required: {self.plural} are namespaced")


class Registry:
    """The resources that are served. Guarded by the lock of the cluster."""

    def __init__(self) -> None:
        """Begin with the built-in resources."""
        self._types = list(_built_in())

    def __iter__(self) -> Iterator[ResourceType]:
        """Iterate over the resources, ordered by group and name."""
        return iter(sorted(self._types, key=lambda each: (each.group, each.plural)))

    def add(self, resource: ResourceType) -> None:
        """Serve a resource, in the place of one with the same group and name."""
        self.remove(resource)
        self._types.append(resource)

    def remove(self, resource: ResourceType) -> None:
        """End to serve a resource."""
        name = resource.full_name
        self._types = [each for each in self._types if each.full_name != name]

    def serves(self, resource: ResourceType) -> bool:
        """Return whether the resource is served."""
        return any(
            (each.full_name, each.version) == (resource.full_name, resource.version)
            for each in self._types
        )

    def find(self, name: str) -> ResourceType:
        """Return the resource of a name in kubectl's syntax. Raises NotFound."""
        if not name:
            raise bad_request(
                'resource is required: give one in kubectl\'s syntax, such as "pods" or '
                '"deployments.apps"'
            )
        found = next((each for each in self._types if each.is_named(name.lower())), None)
        if found is None:
            raise failure(
                NotFound, f'the fake service serves no resource "{name}"{self._like(name)}'
            )
        return found

    def of_kind(self, api_version: str, kind: str) -> ResourceType:
        """Return the resource of a kind. Raises NotFound."""
        group, _, version = api_version.rpartition("/")
        return self.find(f"{kind}.{version}.{group}")

    def _like(self, name: str) -> str:
        similar = get_close_matches(name.lower(), [each.full_name for each in self._types], 2)
        if not similar:
            return ": add it with FakeService.add_resource"
        return "; did you mean " + " or ".join(f'"{each}"' for each in similar) + "?"


def _built_in() -> Iterator[ResourceType]:
    for line in BUILT_IN_RESOURCES.split():
        group, version, kind, plural, scope, *lists = line.split("|")
        short_names, categories, subresources, traits = (_items(each) for each in lists)
        yield ResourceType(
            group="" if group == "-" else group,
            version=version,
            kind=kind,
            plural=plural,
            namespaced=scope == "namespaced",
            short_names=short_names,
            categories=categories,
            subresources=subresources,
            traits=traits,
            fields=SELECTABLE_FIELDS.get(plural, ()),
            built_in=True,
        )


def _items(text: str) -> tuple[str, ...]:
    return tuple(text.split(",")) if text else ()

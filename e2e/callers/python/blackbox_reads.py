"""Scenarios of reads."""

from __future__ import annotations

import json
from typing import Any

from blackbox_common import World, equal, eventually, labeled, raises

import kubeconnect
from kubeconnect import Join, about, owned_by, owner_of, owner_reference, selected_by
from kubeconnect.k8s.core.v1 import ConfigMap, Pod


def an_object_is_read(world: World) -> None:
    """An object has its identity outside of its content, and is found by all names."""
    created = world.create("web", data={"color": "red"}, metadata=labeled(app="web"))
    read = world.client.get(
        "configmaps",
        "web",
        namespace=world.namespace,
        min_resource_version=created.resource_version,
    )
    equal((read.name, read.namespace, read.uid), ("web", world.namespace, created.uid))
    equal(read.resource_version, created.resource_version)
    equal(read["data"], {"color": "red"})
    equal(read["apiVersion"], "v1")
    equal(read["kind"], "ConfigMap")
    equal(read.labels, {"app": "web"})
    assert read.created is not None
    equal(read.source, kubeconnect.Source.CACHE)
    assert not read.freshness.stale
    for name in ("cm", "ConfigMap", "configmap", "CONFIGMAPS", "ConfigMap.v1.", "configmaps.v1"):
        equal(world.client.get(name, "web", namespace=world.namespace).uid, created.uid)


def missing_things_are_not_found(world: World) -> None:
    """Errors of reads have their classes and reasons."""
    client, namespace = world.client, world.namespace
    with raises(kubeconnect.NotFound, "NotFound"):
        client.get("configmaps", "nobody", namespace=namespace)
    with raises(kubeconnect.NotFound, "NotFound"):
        client.get("configmaps", "nobody", namespace=namespace, consistency="latest")
    with raises(kubeconnect.NotFound, "NotFound"):
        client.list("foos.example.com")
    with raises(kubeconnect.InvalidArgument, "BadRequest"):
        client.get("configmaps", "web")
    with raises(kubeconnect.InvalidArgument, "BadRequest"):
        client.get("nodes", "web", namespace=namespace)
    with raises(kubeconnect.InvalidArgument, "BadRequest"):
        client.list("namespaces", namespace=namespace)
    with raises(kubeconnect.InvalidArgument, "BadRequest"):
        client.get("", "web")
    with raises(kubeconnect.InvalidArgument, "BadRequest"):
        client.list("configmaps", page_size=-1)
    with raises(kubeconnect.InvalidArgument, "BadRequest"):
        client.list("configmaps", min_resource_version="x")
    with raises(kubeconnect.NotFound, "NotFound"):
        client.get("configmaps", "nobody", namespace=namespace, subresource="scale")
    with raises(kubeconnect.InvalidArgument, "BadRequest"):
        client.get("pods", "nobody", namespace=namespace, subresource="log")


def a_read_waits_for_a_version(world: World) -> None:
    """A read sees the write whose version it names, and fails if the version does not come."""
    for number in range(20):
        version = world.create(f"web-{number}", metadata=labeled(app="web")).resource_version
        listed = world.client.list(
            "configmaps",
            namespace=world.namespace,
            label_selector="app=web",
            min_resource_version=version,
        )
        equal(len(listed), number + 1)
        assert int(listed.resource_version) >= int(version)
    future = str(int(version) + 10_000_000)
    with raises(kubeconnect.DeadlineExceeded):
        world.client.list("configmaps", min_resource_version=future, timeout=1)


def a_list_has_pages_of_one_snapshot(world: World) -> None:
    """Pages are complete, ordered by name, and do not see later changes."""
    names = [f"web-{number}" for number in range(7)]
    for name in names:
        version = world.create(name, metadata=labeled(app="web")).resource_version
    listed = world.client.list(
        "configmaps",
        namespace=world.namespace,
        label_selector="app=web",
        page_size=2,
        min_resource_version=version,
    )
    equal(listed.total, 7)
    world.client.delete("configmaps", "web-5", namespace=world.namespace)
    created = world.create("web-9", metadata=labeled(app="web"))
    equal([each.name for each in listed], names)
    again = world.client.list(
        "configmaps",
        namespace=world.namespace,
        label_selector="app=web",
        min_resource_version=created.resource_version,
    )
    equal([each.name for each in again], [*names[:5], "web-6", "web-9"])


def selectors_select(world: World) -> None:
    """Label selectors and field selectors select, and are checked."""
    world.create("web-1", metadata=labeled(app="web", tier="front"))
    world.create("web-2", metadata=labeled(app="web"))
    world.create("db", metadata=labeled(app="db", size="10"))
    version = world.create("none").resource_version

    def names(**selection: Any) -> list[str]:
        listed = world.client.list(
            "configmaps", namespace=world.namespace, min_resource_version=version, **selection
        )
        return [each.name for each in listed if each.name != "kube-root-ca.crt"]

    for selector, wanted in {
        "app=web": ["web-1", "web-2"],
        "app==web": ["web-1", "web-2"],
        "app!=web": ["db", "none"],
        "app": ["db", "web-1", "web-2"],
        "!app": ["none"],
        "app in (web,db),tier": ["web-1"],
        "app notin (web)": ["db", "none"],
        "size>9": ["db"],
        "size>10": [],
        "size<11": ["db"],
        " app = web , tier != front ": ["web-2"],
        "app=": [],
        "app=web,app=db": [],
        "": ["db", "none", "web-1", "web-2"],
    }.items():
        equal((selector, names(label_selector=selector)), (selector, wanted))
    for selector in ("x y", "=", "app=web,", "app in web", "app=we b", "app in (web", "app>x"):
        with raises(kubeconnect.InvalidArgument, "BadRequest"):
            names(label_selector=selector)
    equal(names(field_selector="metadata.name=db"), ["db"])
    equal(names(field_selector="metadata.name!=db", label_selector="app"), ["web-1", "web-2"])
    equal(
        names(field_selector=f"metadata.namespace={world.namespace}", label_selector="!app"),
        ["none"],
    )
    for selector in ("data.color=red", "metadata.name", "metadata.labels.app=web"):
        with raises(kubeconnect.InvalidArgument, "BadRequest"):
            names(field_selector=selector)
    pods = "status.phase=Running,spec.nodeName!=n1,spec.hostNetwork=false"
    equal(list(world.client.list("pods", namespace=world.namespace, field_selector=pods)), [])


def fields_are_projected(world: World) -> None:
    """A read returns the fields that it names, and those that enclose them."""
    data = {"color": "red", "app.name": "web"}
    annotations = {"a": "b", "example.com/c": "d"}
    world.create("web", data=data, metadata={**labeled(app="web"), "annotations": annotations})

    def read(*fields: str) -> object:
        return world.client.get(
            "configmaps", "web", namespace=world.namespace, fields=fields, consistency="latest"
        ).to_dict()

    equal(read("data.color"), {"data": {"color": "red"}})
    equal(
        read("data.color", "metadata.name"), {"data": {"color": "red"}, "metadata": {"name": "web"}}
    )
    equal(read("data['app.name']"), {"data": {"app.name": "web"}})
    equal(
        read("metadata.annotations['example.com/c']"),
        {"metadata": {"annotations": {"example.com/c": "d"}}},
    )
    equal(read("{.data}"), {"data": data})
    equal(read("data[*]"), {"data": data})
    equal(read("data.none", "spec.none"), {})
    equal(read("metadata.labels", "metadata.labels.app"), {"metadata": {"labels": {"app": "web"}}})
    for path in ("data[0]", "data..color"):
        with raises(kubeconnect.InvalidArgument, "BadRequest"):
            read(path)
    metadata = world.client.get(
        "configmaps", "web", namespace=world.namespace, metadata_only=True, consistency="latest"
    )
    equal(metadata["kind"], "PartialObjectMetadata")
    equal(sorted(metadata), ["apiVersion", "kind", "metadata"])
    equal(metadata.resource.kind, "PartialObjectMetadata")
    with raises(kubeconnect.InvalidArgument, "BadRequest"):
        world.client.get(
            "configmaps", "web", namespace=world.namespace, metadata_only=True, fields=["data"]
        )


def objects_are_ordered_and_counted(world: World) -> None:
    """Values are ordered by their type and value, and counted in groups."""
    world.define_crontabs()
    specs: dict[str, dict[str, object]] = {
        "a": {"size": "500m", "web": "web-10"},
        "b": {"size": 2, "web": "web-9", "on": True},
        "c": {"size": "1Gi", "web": "web-9"},
        "d": {},
    }
    for name, spec in specs.items():
        version = world.client.create(
            world.crontabs, {"metadata": {"name": name}, "spec": spec}, namespace=world.namespace
        ).object.resource_version

    def names(order_by: str) -> str:
        listed = world.client.list(
            world.crontabs,
            namespace=world.namespace,
            order_by=order_by,
            min_resource_version=version,
        )
        return "".join(each.name for each in listed)

    equal(names("spec.size"), "dabc")
    equal(names("spec.size desc"), "cbad")
    equal(names("spec.web, metadata.name desc"), "dcba")
    equal(names("spec.on"), "acdb")
    with raises(kubeconnect.InvalidArgument, "BadRequest"):
        names("spec")
    count = world.client.count(
        world.crontabs,
        namespace=world.namespace,
        group_by=["spec.web", "spec.on"],
        min_resource_version=version,
    )
    equal(count.total, 4)
    found = [(each.values, each.count) for each in count.groups]
    wanted = [((None, None), 1), (("web-9", None), 1), (("web-9", True), 1), (("web-10", None), 1)]
    equal(found, wanted)
    few = world.client.count(
        world.crontabs, namespace=world.namespace, group_by=["spec.web"], max_groups=1
    )
    equal([(each.values, each.count) for each in few.groups], [(("web-9",), 2)])


def related_objects_are_listed(world: World) -> None:
    """Objects are selected by their relations to others."""
    client, namespace = world.client, world.namespace
    owner = world.create("owner")
    owned = world.create("owned", metadata={"ownerReferences": [owner_reference(owner)]})
    second = world.create("second", metadata={"ownerReferences": [owner_reference(owned)]})
    version = second.resource_version

    def names(relation: kubeconnect.Relation) -> list[str]:
        listed = client.list(
            "configmaps", namespace=namespace, related=relation, min_resource_version=version
        )
        return [each.name for each in listed]

    equal(names(owned_by("configmaps", "owner", namespace=namespace)), ["owned"])
    transitive = owned_by("configmaps", "owner", namespace=namespace, transitive=True)
    equal(names(transitive), ["owned", "second"])
    equal(names(owner_of("configmaps", "second", namespace=namespace)), ["owned"])
    service = {
        "metadata": {"name": "web"},
        "spec": {"selector": {"app": "x"}, "ports": [{"port": 80}]},
    }
    client.create("services", service, namespace=namespace)
    eventually(lambda: world.exists("web", "services"))
    selected = selected_by("services", "web", namespace=namespace)
    equal([each.name for each in client.list("pods", namespace=namespace, related=selected)], [])
    with raises(kubeconnect.NotFound, "NotFound"):
        names(owned_by("configmaps", "nobody", namespace=namespace))
    with raises(kubeconnect.InvalidArgument, "BadRequest"):
        names(selected_by("configmaps", "owner", namespace=namespace))
    with raises(kubeconnect.InvalidArgument, "BadRequest"):
        names(about("configmaps", "owner", namespace=namespace))


def messages_are_read(world: World) -> None:
    """Built-in kinds are protobuf messages for callers that ask for them."""
    created = world.create("web", data={"color": "red"}, binaryData={"key": "AAEC"})
    message = world.client.get(ConfigMap, "web", namespace=world.namespace, consistency="latest")
    equal(message.metadata.uid, created.uid)
    equal(dict(message.data), {"color": "red"})
    equal(dict(message.binaryData), {"key": b"\x00\x01\x02"})
    equal([each.metadata.name for each in world.client.list(Pod, namespace=world.namespace)], [])
    message.data["color"] = "blue"
    updated = world.client.update(message).object
    equal(updated.data["color"], "blue")
    equal(json.loads(world.get("web").raw)["binaryData"], {"key": "AAEC"})


def related_objects_are_joined(world: World) -> None:
    """Objects of a list have their related objects, with their number."""
    owner = world.create("owner", data={"color": "red"})
    metadata = {"ownerReferences": [owner_reference(owner)]}
    world.create("owned", metadata=metadata, data={"uses": "owner"})
    version = world.create("other", data={"uses": "nobody"}).resource_version
    listed = world.client.list(
        "configmaps",
        namespace=world.namespace,
        field_selector="metadata.name!=kube-root-ca.crt",
        joins={
            "owner": Join("owner_of", "configmaps", fields=["data.color"]),
            "used": Join("named_by", "configmaps", path="data.uses"),
            "users": Join("names", "configmaps", path="data.uses", fields=["metadata.name"]),
            "namespace": Join("named_by", "namespaces", path="metadata.namespace"),
        },
        min_resource_version=version,
    )
    rows = {each.name: each.joined for each in listed}
    first = rows["owned"]["owner"].first
    assert first is not None
    equal((first.name, first.to_dict()), ("owner", {"data": {"color": "red"}}))
    equal(
        {name: each["owner"].count for name, each in rows.items()},
        {"other": 0, "owned": 1, "owner": 0},
    )
    equal(
        {name: each["used"].count for name, each in rows.items()},
        {"other": 0, "owned": 1, "owner": 0},
    )
    equal([each.name for each in rows["owner"]["users"].objects], ["owned"])
    equal({each["namespace"].count for each in rows.values()}, {1})
    assert not any(each.not_permitted for row in rows.values() for each in row.values())


def joins_that_are_none_are_rejected(world: World) -> None:
    """A list has errors for joins that it cannot have."""
    for join in (
        Join("owner_of", "configmaps", path="data.uses"),
        Join("named_by", "configmaps"),
        Join("named_by", "configmaps", path="data.uses", limit=3),
        Join("subject_of", "configmaps"),
        Join("owner_of", "configmaps", fields=["data"], limit=101),
    ):
        with raises(kubeconnect.InvalidArgument, "BadRequest"):
            world.client.list("configmaps", namespace=world.namespace, joins={"a": join})
    with raises(kubeconnect.InvalidArgument, "BadRequest"):
        world.client.list("configmaps", joins={"a b": Join("owner_of", "configmaps")})
    with raises(kubeconnect.NotFound, "NotFound"):
        world.client.list("configmaps", joins={"a": Join("owner_of", "foos.example.com")})


def what_is_served_is_listed(world: World) -> None:
    """Discovery, tables, identity and permissions answer."""
    types = {each.resource.plural: each for each in world.client.resource_types(group="core").types}
    equal(types["pods"].short_names, ("po",))
    equal(types["pods"].singular, "pod")
    equal(types["configmaps"].resource.namespaced, True)
    equal(types["configmaps"].resource.protobuf_type, "k8s.io.api.core.v1.ConfigMap")
    assert {"get", "list", "watch", "create", "delete"} <= set(types["configmaps"].verbs)
    world.create("web")
    table = world.client.table("configmaps", namespace=world.namespace)
    columns = [each.name for each in table.columns]
    equal((columns[0], columns[-1]), ("Name", "Age"))
    assert "web" in [row.cells[0] for row in table]
    assert world.client.who_am_i().username
    assert world.client.can_i("list", "configmaps", namespace=world.namespace)


SCENARIOS = (
    an_object_is_read,
    missing_things_are_not_found,
    a_read_waits_for_a_version,
    a_list_has_pages_of_one_snapshot,
    selectors_select,
    fields_are_projected,
    objects_are_ordered_and_counted,
    related_objects_are_listed,
    related_objects_are_joined,
    joins_that_are_none_are_rejected,
    messages_are_read,
    what_is_served_is_listed,
)

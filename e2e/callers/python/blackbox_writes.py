"""Scenarios of writes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from blackbox_common import World, equal, eventually, labeled, raises

import kubeconnect
from kubeconnect import owner_reference


def an_object_is_created(world: World) -> None:
    """A create returns what the API server stored, and rejects what it would reject."""
    client, namespace = world.client, world.namespace
    created = world.create("web", data={"color": "red"})
    assert created.uid
    assert created.created is not None
    with raises(kubeconnect.AlreadyExists, "AlreadyExists"):
        world.create("web")
    generated = client.create(
        "configmaps", {"metadata": {"generateName": "web-"}}, namespace=namespace
    ).object
    assert generated.name.startswith("web-")
    assert len(generated.name) > len("web-")
    body: dict[str, Any] = {"metadata": {"name": "web"}}
    with raises(kubeconnect.NotFound, "NotFound"):
        client.create("configmaps", body, namespace="missing-namespace")
    with raises(kubeconnect.InvalidArgument, "BadRequest"):
        client.create("configmaps", body)
    with raises(kubeconnect.InvalidArgument, "BadRequest"):
        client.create(
            "configmaps", {"metadata": {"name": "x", "namespace": "y"}}, namespace=namespace
        )
    with raises(kubeconnect.Invalid, "Invalid"):
        client.create("configmaps", {"metadata": {}}, namespace=namespace)
    with raises(kubeconnect.Invalid, "Invalid"):
        world.create("Not_A_Name")
    with raises(kubeconnect.Invalid, "Invalid"):
        world.create("other", metadata={"finalizers": ["not-qualified"]})
    with raises(kubeconnect.InvalidArgument, "BadRequest"):
        client.create(
            "configmaps", {"kind": "Secret", "apiVersion": "v1", **body}, namespace=namespace
        )
    with raises(kubeconnect.InvalidArgument, "BadRequest"):
        client.create("configmaps", "{", namespace=namespace)
    with raises(kubeconnect.InvalidArgument, "BadRequest"):
        client.create("configmaps", "[]", namespace=namespace)
    with raises(kubeconnect.Internal):
        world.create("other", metadata={"resourceVersion": "5"})
    dry = client.create(
        "configmaps", {"metadata": {"name": "dry"}}, namespace=namespace, dry_run=True
    )
    equal(dry.object.name, "dry")
    assert not world.exists("dry")
    yaml = "metadata:\n  name: yaml\ndata:\n  since: '2026-01-01'\n"
    equal(
        client.create("configmaps", yaml, namespace=namespace).object["data"],
        {"since": "2026-01-01"},
    )


def metadata_is_validated(world: World) -> None:
    """Names, labels, annotations and owners have rules."""
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "1"}
    no_uid = {key: owner[key] for key in ("apiVersion", "kind", "name")}
    two = [{**owner, "controller": True}, {**owner, "uid": "2", "controller": True}]
    for metadata in (
        labeled(app="a b"),
        labeled(app="x" * 64),
        {"labels": {"a b": "c"}},
        {"labels": {"a/b/c": "d"}},
        {"annotations": {"a b": "c"}},
        {"ownerReferences": [no_uid]},
        {"ownerReferences": two},
    ):
        with raises(kubeconnect.Invalid, "Invalid"):
            world.create("web", metadata=metadata)
    for metadata in ({"labels": {"a": 1}}, {"labels": ["a"]}):
        with raises(kubeconnect.InvalidArgument, "BadRequest"):
            world.create("web", metadata=metadata)
    client, namespace = world.client, world.namespace
    for resource, name in (("configmaps", "a" * 254), ("namespaces", "a.b"), ("roles", "a/b")):
        of = None if resource == "namespaces" else namespace
        with raises(kubeconnect.Invalid, "Invalid"):
            client.create(resource, {"metadata": {"name": name}}, namespace=of)
    label = {"metadata": {"labels": {"kubernetes.io/metadata.name": "another"}}}
    patched = client.patch("namespaces", namespace, label, type="merge").object
    equal(patched.labels["kubernetes.io/metadata.name"], namespace)
    with raises(kubeconnect.Forbidden, "Forbidden"):
        client.delete("namespaces", "default")


def secrets_have_text_and_bytes(world: World) -> None:
    """The text of a Secret is stored as base64, and what is immutable does not change."""
    client, namespace = world.client, world.namespace
    body = {"metadata": {"name": "key"}, "stringData": {"a": "b"}}
    created = client.create("secrets", body, namespace=namespace).object
    equal((created["data"], created["type"]), ({"a": "Yg=="}, "Opaque"))
    assert "stringData" not in created

    def patch(resource: str, body: dict[str, Any]) -> kubeconnect.Object:
        return client.patch(resource, "key", body, namespace=namespace, type="merge").object

    equal(patch("secrets", {"stringData": {"c": "d"}})["data"], {"a": "Yg==", "c": "ZA=="})
    with raises(kubeconnect.Invalid, "Invalid"):
        patch("secrets", {"type": "another"})
    other = {"metadata": {"name": "other"}, "data": {"a": "$$$"}}
    with raises(kubeconnect.InvalidArgument, "BadRequest"):
        client.create("secrets", other, namespace=namespace)
    world.create("key", data={"a": "b"}, immutable=True)
    equal(patch("configmaps", {"metadata": labeled(app="web")}).labels, {"app": "web"})
    for change in ({"data": {"a": "c"}}, {"immutable": False}):
        with raises(kubeconnect.Invalid, "Invalid"):
            patch("configmaps", change)
    with raises(kubeconnect.Invalid, "Invalid"):
        world.create("both", data={"a": "b"}, binaryData={"a": "AA=="})


def unknown_fields_are_reported(world: World) -> None:
    """Unknown fields are dropped with a warning, or rejected; wrong types are rejected."""
    client, namespace = world.client, world.namespace
    body = {"metadata": {"name": "web"}, "dat": {}, "data": {"color": "red"}}
    result = client.create("configmaps", body, namespace=namespace)
    equal(result.warnings, ('unknown field "dat"',))
    assert "dat" not in result.object
    quiet = {**body, "metadata": {"name": "quiet"}}
    equal(
        client.create("configmaps", quiet, namespace=namespace, field_validation="ignore").warnings,
        (),
    )
    strict = {**body, "metadata": {"name": "strict"}}
    with raises(kubeconnect.InvalidArgument, "BadRequest"):
        client.create("configmaps", strict, namespace=namespace, field_validation="strict")
    with raises(kubeconnect.InvalidArgument, "BadRequest"):
        world.create("wrong", data={"color": 7})
    with raises(kubeconnect.Invalid, "Invalid"):
        client.patch("configmaps", "web", {"data": {"a": 7}}, namespace=namespace, type="merge")


def empty_fields_are_left_out(world: World) -> None:
    """The API server leaves out the empty lists and maps of built-in kinds."""
    client, namespace = world.client, world.namespace
    created = world.create("web", data={}, metadata={**labeled(), "annotations": {}})
    equal(sorted(created), ["apiVersion", "kind", "metadata"])
    assert not {"labels", "annotations"} & created.metadata.keys()
    world.create("full", data={"a": "1"})
    patch = {"data": {"a": None}}
    left = client.patch("configmaps", "full", patch, namespace=namespace, type="merge").object
    assert "data" not in left
    spec = {"containers": [{**container("a"), "args": []}], "nodeSelector": {"none": "none"}}
    pod = client.create(
        "pods", {"metadata": {"name": "web"}, "spec": {**spec, "nodeName": ""}}, namespace=namespace
    ).object
    assert "args" not in pod["spec"]["containers"][0]
    assert "nodeName" not in pod["spec"]


def updates_conflict(world: World) -> None:
    """An update replaces the version that was read, and no other."""
    client, namespace = world.client, world.namespace
    first = world.create("web", data={"color": "red"})
    second = client.update("configmaps", {**first, "data": {"color": "blue"}}).object
    assert int(second.resource_version) > int(first.resource_version)
    equal((second.uid, second.created), (first.uid, first.created))
    with raises(kubeconnect.Conflict, "Conflict"):
        client.update("configmaps", {**first, "data": {"color": "green"}})
    equal(client.update("configmaps", second).object.resource_version, second.resource_version)
    body = {"metadata": {"name": "web"}, "data": {"color": "white"}}
    with raises(kubeconnect.Conflict, "Conflict"):
        client.update("configmaps", body, namespace=namespace, uid="another")
    with raises(kubeconnect.Conflict, "Conflict"):
        client.update(
            "configmaps", body, namespace=namespace, resource_version=first.resource_version
        )
    with raises(kubeconnect.Conflict, "Conflict"):
        other = {**body, "metadata": {"name": "web", "uid": "another"}}
        client.update("configmaps", other, namespace=namespace)
    with raises(kubeconnect.InvalidArgument, "BadRequest"):
        client.update("configmaps", body, name="another", namespace=namespace)
    with raises(kubeconnect.NotFound, "NotFound"):
        client.update("configmaps", {"metadata": {"name": "nobody"}}, namespace=namespace)
    equal(client.update("configmaps", body, namespace=namespace).object["data"], {"color": "white"})


def some_kinds_are_created_by_updates(world: World) -> None:
    """An update creates a missing lease, unless it names a version."""
    client, namespace = world.client, world.namespace
    body = {"metadata": {"name": "web"}, "spec": {"holderIdentity": "me"}}
    with raises(kubeconnect.Conflict, "Conflict"):
        client.update("leases", body, namespace=namespace, resource_version="7")
    created = client.update("leases", body, namespace=namespace)
    assert created.created
    updated = client.update(
        "leases", body, namespace=namespace, resource_version=created.object.resource_version
    )
    assert not updated.created


def some_kinds_are_updated_at_a_version_only(world: World) -> None:
    """An update of a lease, or of a custom resource, names the version of the object."""
    world.define_crontabs()
    client, namespace = world.client, world.namespace
    body = {"metadata": {"name": "web"}}
    for resource in ("leases", world.crontabs):
        read = client.create(resource, body, namespace=namespace).object
        with raises(kubeconnect.Invalid, "Invalid"):
            client.update(resource, body, namespace=namespace)
        label = {"metadata": {"labels": {"a": "b"}}}
        client.patch(resource, "web", label, namespace=namespace, type="merge")
        with raises(kubeconnect.Conflict, "Conflict"):
            client.update(resource, read)
        client.update(resource, world.get("web", resource))


def patches_change_parts(world: World) -> None:
    """Merge patches and JSON patches change parts of an object."""
    client, namespace = world.client, world.namespace
    created = world.create("web", data={"a": "1", "b": "2"}, metadata=labeled(app="web"))

    def patch(body: Any, type: Any, **options: Any) -> Any:
        result = client.patch("configmaps", "web", body, namespace=namespace, type=type, **options)
        return result.object.get("data")

    equal(patch({"data": {"a": None, "c": "3"}}, "merge"), {"b": "2", "c": "3"})
    equal(patch([{"op": "replace", "path": "/data/b", "value": "4"}], "json"), {"b": "4", "c": "3"})
    add = [
        {"op": "test", "path": "/data/b", "value": "4"},
        {"op": "add", "path": "/data/y", "value": ""},
        {"op": "add", "path": "/metadata/labels/example.com~1app", "value": "x"},
    ]
    equal(patch(add, "json"), {"b": "4", "c": "3", "y": ""})
    equal(world.get("web").labels, {"app": "web", "example.com/app": "x"})
    move = [
        {"op": "move", "from": "/data/y", "path": "/data/z"},
        {"op": "remove", "path": "/data/c"},
        {"op": "remove", "path": "/metadata/labels/example.com~1app"},
    ]
    equal(patch(move, "json"), {"b": "4", "z": ""})
    with raises(kubeconnect.Invalid, "Invalid"):
        patch([{"op": "add", "path": "/data/x~1y", "value": ""}], "json")
    equal(patch({"data": {"z": None}}, "strategic"), {"b": "4"})
    equal(world.get("web").labels, {"app": "web"})
    with raises(kubeconnect.Invalid, "Invalid"):
        patch([{"op": "test", "path": "/data/b", "value": "5"}], "json")
    with raises(kubeconnect.Invalid, "Invalid"):
        patch([{"op": "remove", "path": "/data/none"}], "json")
    with raises(kubeconnect.InvalidArgument, "BadRequest"):
        patch([{"op": "destroy", "path": "/data/none"}], "json")
    with raises(kubeconnect.InvalidArgument, "BadRequest"):
        patch({}, "json")
    with raises(kubeconnect.InvalidArgument, "BadRequest"):
        patch([], "merge")
    for wrong in (
        {"metadata": {"name": "another"}},
        {"metadata": {"name": None}},
        {"apiVersion": None},
    ):
        with raises(kubeconnect.InvalidArgument, "BadRequest"):
            patch(wrong, "merge")
    with raises(kubeconnect.Invalid, "Invalid"):
        patch({"kind": "Secret"}, "merge")
    with raises(kubeconnect.Invalid, "Invalid"):
        patch({"metadata": {"uid": "another"}}, "merge")
    with raises(kubeconnect.Conflict, "Conflict"):
        patch(
            {"metadata": {"resourceVersion": created.resource_version}, "data": {"b": "6"}}, "merge"
        )
    with raises(kubeconnect.Conflict, "Conflict"):
        patch({"data": {"b": "6"}}, "merge", uid="another")
    with raises(kubeconnect.InvalidArgument, "BadRequest"):
        patch({"data": {"b": "6"}}, "merge", force=True)
    with raises(kubeconnect.NotFound, "NotFound"):
        client.patch("configmaps", "nobody", {"data": {}}, namespace=namespace, type="merge")
    before = world.get("web").resource_version
    patch({"data": {"b": "4"}}, "merge")
    equal(world.get("web").resource_version, before)


def lists_are_merged_by_their_keys(world: World) -> None:
    """Strategic merge patches and apply merge the containers of a template by their names."""
    client, namespace = world.client, world.namespace
    labels = {"app": "web"}
    template = {
        "metadata": {"labels": labels},
        "spec": {"containers": [container("a"), container("b")]},
    }
    spec = {"replicas": 0, "selector": {"matchLabels": labels}, "template": template}
    client.create("deployments", {"metadata": {"name": "web"}, "spec": spec}, namespace=namespace)

    def containers(obj: kubeconnect.Object) -> list[str]:
        found = obj["spec"]["template"]["spec"]["containers"]
        return [f"{each['name']}={each['image']}" for each in found]

    def patched(*items: Any) -> list[str]:
        patch = {"spec": {"template": {"spec": {"containers": items}}}}
        result = client.patch("deployments", "web", patch, namespace=namespace, type="strategic")
        return containers(result.object)

    equal(patched(container("b", "new")), ["a=old", "b=new"])
    equal(patched(container("c")), ["c=old", "a=old", "b=new"])
    equal(patched({"name": "a", "$patch": "delete"}), ["c=old", "b=new"])
    applied = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": namespace},
        "spec": {"template": {"spec": {"containers": [container("d")]}}},
    }
    equal(
        sorted(containers(client.apply(applied, field_manager="me").object)),
        ["b=new", "c=old", "d=old"],
    )
    applied["spec"] = {"template": {"spec": {"containers": [container("c", "mine")]}}}
    with raises(kubeconnect.Conflict, "Conflict"):
        client.apply(applied, field_manager="me")
    result = client.apply(applied, field_manager="me", force=True)
    equal(sorted(containers(result.object)), ["b=new", "c=mine"])
    with raises(kubeconnect.InvalidArgument):
        world.define_crontabs()
        body = {"metadata": {"name": "web"}}
        client.create(world.crontabs, body, namespace=namespace)
        client.patch(world.crontabs, "web", {"spec": {}}, namespace=namespace, type="strategic")


def container(name: str, image: str = "old") -> dict[str, Any]:
    """Return a container."""
    return {"name": name, "image": image}


def applied_items_have_owners(world: World) -> None:
    """Apply adds, changes and removes items within items, and selectors as a whole."""
    client, namespace = world.client, world.namespace
    labels = {"app": "web"}
    first = {**container("a"), "env": [{"name": "A", "value": "1"}]}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [first]}}
    spec = {"replicas": 0, "selector": {"matchLabels": labels}, "template": template}
    client.create("deployments", {"metadata": {"name": "web"}, "spec": spec}, namespace=namespace)
    metadata = {"name": "web", "namespace": namespace}
    head = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata}

    def apply(pod: dict[str, Any], manager: str = "me", **options: Any) -> Any:
        body = {**head, "spec": {"template": {"spec": pod}}}
        applied = client.apply(body, field_manager=manager, **options).object
        return applied["spec"]["template"]["spec"]

    def of_container(pod: dict[str, Any], field: str) -> Any:
        return pod["containers"][0].get(field)

    def own(**fields: Any) -> dict[str, Any]:
        return {"containers": [{"name": "a", **fields}]}

    values = [{"name": "B", "value": "2"}, {"name": "C", "value": "3"}]
    both = of_container(apply(own(env=values)), "env")
    equal(both, [{"name": "A", "value": "1"}, *values])
    equal(of_container(apply(own(env=values[:1])), "env"), both[:2])
    equal(of_container(apply(own()), "env"), both[:1])
    mount = {"name": "v", "mountPath": "/v"}
    mounted = apply({**own(volumeMounts=[mount]), "volumes": [{"name": "v", "emptyDir": {}}]})
    equal(of_container(mounted, "volumeMounts"), [mount])
    equal(of_container(apply(own()), "volumeMounts"), None)
    ports = of_container(apply(own(ports=[{"containerPort": 80}, {"containerPort": 81}])), "ports")
    equal([each["containerPort"] for each in ports], [80, 81])
    equal(apply({"nodeSelector": {"a": "b"}})["nodeSelector"], {"a": "b"})
    with raises(kubeconnect.Conflict, "Conflict"):
        apply({"nodeSelector": {"a": "b", "c": "d"}}, "other")
    for wrong in (
        {"unknown": 1},
        own(ports=[{"containerPort": 82}, {"containerPort": 82}]),
        {"containers": [{"image": "x"}]},
    ):
        with raises(kubeconnect.Invalid, "Invalid"):
            apply(wrong)
    unchanged = apply({"containers": []})
    equal([each["name"] for each in unchanged["containers"]], ["a"])
    equal(apply({"imagePullSecrets": [{"name": "s"}]})["imagePullSecrets"], [{"name": "s"}])
    both = [{"name": "s"}, {"name": "t"}]
    equal(apply({"imagePullSecrets": both[1:]}, "other")["imagePullSecrets"], both)
    equal(apply({})["imagePullSecrets"], both[1:])
    kept = apply({"nodeSelector": {"c": "d"}})
    equal([each["name"] for each in kept["containers"]], ["a"])


def applied_fields_have_owners(world: World) -> None:
    """Apply creates, changes and removes the fields of its manager, and conflicts with others."""
    client, namespace = world.client, world.namespace
    metadata = {"name": "web", "namespace": namespace}
    head = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}

    def apply(manager: str, data: dict[str, str], **options: Any) -> dict[str, str]:
        applied = client.apply({**head, "data": data}, field_manager=manager, **options)
        found: dict[str, str] = applied.object.get("data") or {}
        return found

    assert client.apply({**head, "data": {"a": "1"}}, field_manager="first").created
    assert not client.apply({**head, "data": {"a": "1"}}, field_manager="first").created
    equal(apply("first", {"a": "1", "b": "2"}), {"a": "1", "b": "2"})
    equal(apply("first", {"b": "2"}), {"b": "2"})
    equal(apply("second", {"c": "3"}), {"b": "2", "c": "3"})
    causes = conflicts(lambda: apply("second", {"b": "4"}))
    equal([(each.field, each.reason) for each in causes], [(".data.b", "FieldManagerConflict")])
    assert "first" in causes[0].message
    equal(apply("second", {"b": "2"}), {"b": "2"})
    equal(apply("first", {}), {"b": "2"})
    client.patch("configmaps", "web", {"data": {"d": "5"}}, namespace=namespace, type="merge")
    with raises(kubeconnect.Conflict, "Conflict"):
        apply("second", {"d": "6"})
    equal(apply("second", {"d": "6"}, force=True), {"d": "6"})
    equal(apply("second", {"d": "7"}, dry_run=True), {"d": "7"})
    equal(world.get("web")["data"], {"d": "6"})
    other = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata}
    with raises(kubeconnect.InvalidArgument, "BadRequest"):
        client.patch(
            "configmaps", "web", other, namespace=namespace, type="apply", field_manager="x"
        )
    with raises(kubeconnect.InvalidArgument, "BadRequest"):
        client.patch("configmaps", "web", head, namespace=namespace, type="apply")
    for wrong in ({"name": "another"}, {"name": "web", "namespace": "another"}):
        with raises(kubeconnect.InvalidArgument, "BadRequest"):
            client.patch(
                "configmaps",
                "web",
                {**head, "metadata": wrong},
                namespace=namespace,
                type="apply",
                field_manager="x",
            )
    with raises(kubeconnect.Conflict, "Conflict"):
        nobody = {**head, "metadata": {"name": "nobody"}}
        client.patch(
            "configmaps",
            "nobody",
            nobody,
            namespace=namespace,
            type="apply",
            field_manager="x",
            uid="another",
        )
    with raises(kubeconnect.NotFound, "NotFound"):
        client.apply({**head, "metadata": {"name": "web", "namespace": "missing-namespace"}})
    nameless = {"apiVersion": "v1", "kind": "ConfigMap"}
    options: dict[str, Any] = {"namespace": namespace, "type": "apply", "field_manager": "x"}
    client.patch("configmaps", "web", nameless, **options)
    with raises(kubeconnect.InvalidArgument, "BadRequest"):
        client.patch("configmaps", "absent", nameless, **options)


def conflicts(write: Callable[[], object]) -> Sequence[Any]:
    """Return the causes of the conflict of a write; none if it succeeds."""
    try:
        write()
    except kubeconnect.Conflict as error:
        return error.causes
    return ()


def the_status_is_written_apart(world: World) -> None:
    """The status changes by its subresource only, and the generation by the rest only."""
    world.define_crontabs()
    client, namespace, resource = world.client, world.namespace, world.crontabs

    def state(obj: kubeconnect.Object) -> tuple[Any, ...]:
        return obj.metadata["generation"], obj.get("spec"), obj.get("status"), obj.labels

    body = {"metadata": {"name": "web"}, "spec": {"a": 1}, "status": {"b": 1}}
    created = client.create(resource, body, namespace=namespace).object
    equal(state(created), (1, {"a": 1}, None, {}))

    def patch(body: Any, **options: Any) -> tuple[Any, ...]:
        patched = client.patch(resource, "web", body, namespace=namespace, type="merge", **options)
        return state(patched.object)

    equal(patch({"spec": {"a": 2}, "status": {"b": 2}}), (2, {"a": 2}, None, {}))
    equal(patch({"metadata": {"labels": {"x": "y"}}}), (2, {"a": 2}, None, {"x": "y"}))
    status = {"spec": {"a": 3}, "status": {"b": 3}, "metadata": {"labels": {"x": "z"}}}
    equal(patch(status, subresource="status"), (2, {"a": 2}, {"b": 3}, {"x": "y"}))
    equal(patch({"spec": {"a": 4}}), (3, {"a": 4}, {"b": 3}, {"x": "y"}))
    read = world.get("web", resource)
    updated = client.update(resource, {**read, "status": {"b": 5}}, subresource="status").object
    equal(state(updated), (3, {"a": 4}, {"b": 5}, {"x": "y"}))
    with raises(kubeconnect.Conflict, "Conflict"):
        client.update(resource, {**read, "status": {"b": 6}}, subresource="status")


def a_workload_is_scaled(world: World) -> None:
    """The Scale of an object is read and written."""
    world.define_crontabs()
    client, namespace, resource = world.client, world.namespace, world.crontabs
    body = {"metadata": {"name": "web"}, "spec": {"replicas": 2}}
    created = client.create(resource, body, namespace=namespace).object
    scale = client.get(resource, "web", namespace=namespace, subresource="scale")
    equal((scale["kind"], scale["spec"], scale.uid), ("Scale", {"replicas": 2}, created.uid))
    scaled = client.scale(resource, "web", 5, namespace=namespace).object
    equal((scaled["kind"], scaled["spec"]["replicas"]), ("Scale", 5))
    equal(world.get("web", resource)["spec"]["replicas"], 5)
    with raises(kubeconnect.NotFound, "NotFound"):
        client.scale(resource, "nobody", 5, namespace=namespace)


def a_deletion_has_preconditions(world: World) -> None:
    """A deletion is of the object that it names, by UID and version."""
    client, namespace = world.client, world.namespace
    created = world.create("web")
    with raises(kubeconnect.Conflict, "Conflict"):
        client.delete("configmaps", "web", namespace=namespace, uid="another")
    with raises(kubeconnect.Conflict, "Conflict"):
        client.delete("configmaps", "web", namespace=namespace, resource_version="1")
    client.delete("configmaps", "web", namespace=namespace, dry_run=True)
    assert world.exists("web")
    result = client.delete("configmaps", "web", namespace=namespace, uid=created.uid)
    equal(result.object, None)
    assert int(result.resource_version or 0) > int(created.resource_version)
    with raises(kubeconnect.NotFound, "NotFound"):
        client.get(
            "configmaps", "web", namespace=namespace, min_resource_version=result.resource_version
        )
    with raises(kubeconnect.NotFound, "NotFound"):
        client.delete("configmaps", "web", namespace=namespace)
    assert world.create("web").uid != created.uid


def finalizers_delay_a_deletion(world: World) -> None:
    """An object with finalizers exists until the last one is removed."""
    client, namespace = world.client, world.namespace
    world.create("web", metadata={"finalizers": ["example.com/a", "example.com/b"]})
    left = client.delete("configmaps", "web", namespace=namespace).object
    assert left is not None
    assert left.deleting
    version = left.resource_version
    again = client.delete("configmaps", "web", namespace=namespace).object
    equal(again and again.resource_version, version)

    def set_finalizers(*names: str) -> kubeconnect.Object:
        patch = {"metadata": {"finalizers": names}}
        return client.patch("configmaps", "web", patch, namespace=namespace, type="merge").object

    with raises(kubeconnect.Invalid, "Invalid"):
        set_finalizers("example.com/a", "example.com/c")
    set_finalizers("example.com/b")
    assert world.get("web").deleting
    set_finalizers()
    assert not world.exists("web")


def owned_objects_are_collected(world: World) -> None:
    """What an object owns is deleted with it, or before it, or remains."""
    client, namespace = world.client, world.namespace
    for policy in ("background", "foreground", "orphan"):
        owner = world.create(policy)
        references = [owner_reference(owner)]
        owned = f"{policy}-owned"
        world.create(owned, metadata={"ownerReferences": references})
        client.delete("configmaps", policy, namespace=namespace, propagation_policy=policy)
        client.wait_for("configmaps", policy, "deleted", namespace=namespace, timeout=60)
        if policy == "orphan":
            equal(world.get(owned).metadata.get("ownerReferences"), None)
        else:
            client.wait_for("configmaps", owned, "deleted", namespace=namespace, timeout=60)


def what_has_no_owner_is_collected(world: World) -> None:
    """An object whose owner does not exist is deleted."""
    uid = "11111111-1111-4111-8111-111111111111"
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "nobody", "uid": uid}
    world.create("web", metadata={"ownerReferences": [owner]})
    world.client.wait_for("configmaps", "web", "deleted", namespace=world.namespace, timeout=60)


def a_definition_waits_for_its_objects(world: World) -> None:
    """A definition that is deleted is served until its objects are gone, but not added to."""
    world.define_crontabs()
    client, namespace, resource = world.client, world.namespace, world.crontabs
    body = {"metadata": {"name": "web", "finalizers": ["example.com/a"]}}
    client.create(resource, body, namespace=namespace)
    client.delete("customresourcedefinitions", resource)
    eventually(lambda: world.get("web", resource).deleting)
    with raises(kubeconnect.Forbidden, "Forbidden"):
        client.create(resource, {"metadata": {"name": "new"}}, namespace=namespace)
    patch = {"metadata": {"finalizers": None}}
    client.patch(resource, "web", patch, namespace=namespace, type="merge")
    client.wait_for("customresourcedefinitions", resource, "deleted", timeout=60)


def a_selection_is_deleted(world: World) -> None:
    """All objects that match are deleted, in one namespace."""
    client, namespace = world.client, world.namespace
    for name in ("web-1", "web-2", "db"):
        world.create(name, metadata=labeled(app=name.partition("-")[0]))
    result = client.delete_collection(
        "configmaps", namespace=namespace, label_selector="app=web", dry_run=True
    )
    equal(result.deleted_count, 2)
    assert world.exists("web-1")
    result = client.delete_collection("configmaps", namespace=namespace, label_selector="app=web")
    equal(result.deleted_count, 2)
    equal([world.exists(name) for name in ("web-1", "web-2", "db")], [False, False, True])
    with raises(kubeconnect.InvalidArgument, "BadRequest"):
        client.delete_collection("configmaps")


def a_namespace_is_emptied(world: World) -> None:
    """The objects of a deleted namespace are deleted, and none can be created."""
    client = world.client
    name = f"{world.namespace}-other"
    created = client.create("namespaces", {"metadata": {"name": name}}).object
    equal(created.labels["kubernetes.io/metadata.name"], name)
    body = {"metadata": {"name": "web", "finalizers": ["example.com/a"]}}
    client.create("configmaps", body, namespace=name)
    client.delete("namespaces", name)

    def is_deleting() -> bool:
        found = client.get("configmaps", "web", namespace=name, consistency="latest")
        return found.deleting

    eventually(is_deleting)
    with raises(kubeconnect.Forbidden, "Forbidden"):
        client.create("configmaps", {"metadata": {"name": "new"}}, namespace=name)
    patch = {"metadata": {"finalizers": None}}
    client.patch("configmaps", "web", patch, namespace=name, type="merge")
    client.wait_for("namespaces", name, "deleted", timeout=60)


def a_pod_is_evicted(world: World) -> None:
    """A pod that no node runs is gone after its eviction."""
    client, namespace = world.client, world.namespace
    spec = {"containers": [container("a")], "nodeSelector": {"none": "none"}}
    pod = client.create("pods", {"metadata": {"name": "web"}, "spec": spec}, namespace=namespace)
    equal(pod.object["status"]["phase"], "Pending")
    with raises(kubeconnect.NotFound, "NotFound"):
        client.evict("nobody", namespace=namespace)
    equal(client.evict("web", namespace=namespace).object["status"], "Success")
    assert not world.exists("web", "pods")


SCENARIOS = (
    an_object_is_created,
    metadata_is_validated,
    secrets_have_text_and_bytes,
    unknown_fields_are_reported,
    empty_fields_are_left_out,
    updates_conflict,
    some_kinds_are_created_by_updates,
    some_kinds_are_updated_at_a_version_only,
    patches_change_parts,
    lists_are_merged_by_their_keys,
    applied_items_have_owners,
    applied_fields_have_owners,
    the_status_is_written_apart,
    a_workload_is_scaled,
    a_deletion_has_preconditions,
    finalizers_delay_a_deletion,
    owned_objects_are_collected,
    what_has_no_owner_is_collected,
    a_definition_waits_for_its_objects,
    a_selection_is_deleted,
    a_namespace_is_emptied,
    a_pod_is_evicted,
)

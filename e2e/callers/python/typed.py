"""A program that writes, reads and watches messages, and checks types of the cluster's schemas.

python typed.py ADDRESS NAMESPACE

It prints each step as a line of JSON.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import pkgutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import mypy.api
from steps import report

import kubeconnect.k8s
from kubeconnect import Client, EventType, KubeconnectError
from kubeconnect.k8s import KindMessage, kind_of
from kubeconnect.k8s.apps.v1 import Deployment, DeploymentSpec
from kubeconnect.k8s.core.v1 import (
    Container,
    PodSpec,
    PodTemplateSpec,
    ResourceRequirements,
)
from kubeconnect.k8s.helpers import to_datetime, to_decimals, to_dict, to_quantities
from kubeconnect.k8s.meta.v1 import LabelSelector, ObjectMeta
from kubeconnect.types import main as write_types


def main(address: str, namespace: str) -> None:
    """Make all steps."""
    with Client(address) as client:
        write(client, namespace)
        compare(client)
    check_types(address)


def write(client: Client, namespace: str) -> None:
    """Create, update, apply and watch a Deployment."""
    web = client.create(deployment("web"), namespace=namespace).object
    (container,) = web.spec.template.spec.containers
    requests = to_decimals(container.resources.requests)
    report(
        "created",
        uid=web.metadata.uid,
        created=str(to_datetime(web.metadata.creationTimestamp)),
        deleted=to_datetime(web.metadata.deletionTimestamp),
        requests={key: str(each) for key, each in requests.items()},
    )
    with client.watch(Deployment, namespace=namespace) as events:
        for event in events:
            if event.type is EventType.SYNCED:
                break
        update(client, namespace)
        applied = Deployment(metadata=ObjectMeta(name="web", annotations={"applied": "yes"}))
        client.apply(applied, namespace=namespace, field_manager="typed")
        for event in events:
            if event.object and "applied" in event.object.metadata.annotations:
                report(
                    "watched",
                    annotations=dict(event.object.metadata.annotations),
                    replicas=event.object.spec.replicas,
                )
                break


def update(client: Client, namespace: str) -> None:
    """Read and update the Deployment, which controllers change too."""
    while True:
        web = client.get(Deployment, "web", namespace=namespace, consistency="latest")
        web.metadata.annotations["step"] = "updated"
        web.spec.replicas = 0
        with contextlib.suppress(kubeconnect.Conflict):
            client.update(web)
            return


def deployment(name: str) -> Deployment:
    """Return a Deployment."""
    container = Container(
        name="main",
        image="example.com/web:1",
        resources=ResourceRequirements(requests=to_quantities({"cpu": "0.5", "memory": "0.5Gi"})),
    )
    return Deployment(
        metadata=ObjectMeta(name=name),
        spec=DeploymentSpec(
            replicas=1,
            selector=LabelSelector(matchLabels={"app": name}),
            template=PodTemplateSpec(
                metadata=ObjectMeta(labels={"app": name}), spec=PodSpec(containers=[container])
            ),
        ),
    )


def compare(client: Client) -> None:
    """Compare the objects of all kinds in both encodings."""
    compared, kinds, different = 0, 0, []
    for cls in classes():
        try:
            messages = client.list(cls).all()
            objects = client.list(kind_of(cls).resource).all()
        except KubeconnectError:
            continue  # not served, or cannot be listed
        kinds += 1
        found = {(each.uid, each.resource_version): each for each in objects}
        for message in messages:
            metadata = message.metadata
            other = found.get((metadata.uid, metadata.resourceVersion))
            if metadata.uid and other:
                compared += 1
                if without_null(to_dict(message)) != without_null(identified(cls, other)):
                    different.append(f"{kind_of(cls).resource} {metadata.name}")
    report("compared", kinds=kinds, objects=compared, different=different)


def classes() -> list[Any]:
    """Return the classes of all kinds."""
    found = []
    for module in pkgutil.walk_packages(kubeconnect.k8s.__path__, "kubeconnect.k8s."):
        for each in vars(importlib.import_module(module.name)).values():
            with contextlib.suppress(TypeError):
                kind_of(each)
                found.append(each)
    return found


def identified(cls: type[KindMessage], other: kubeconnect.Object) -> dict[str, Any]:
    """Return an object as JSON, with its kind."""
    kind = kind_of(cls)
    return {"apiVersion": kind.api_version, "kind": kind.kind, **other}


def without_null(value: Any) -> Any:
    """Return a JSON value without members that are null."""
    if isinstance(value, dict):
        return {key: without_null(each) for key, each in value.items() if each is not None}
    return [without_null(each) for each in value] if isinstance(value, list) else value


def check_types(address: str) -> None:
    """Check the TypedDicts of all resources with mypy."""
    written = io.StringIO()
    with contextlib.redirect_stdout(written):
        code = write_types(["--all", "--address", address])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cluster.py"
        path.write_text(written.getvalue())
        command = ["--strict", "--config-file=", f"--cache-dir={folder}", str(path)]
        output, error, failed = mypy.api.run(command)
    count = written.getvalue().count("(TypedDict")
    report("checked", code=code, types=count, failed=failed, output=output[-500:] + error)


if __name__ == "__main__":
    main(*sys.argv[1:])

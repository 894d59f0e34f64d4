"""What a program asks a cluster beside lists and watches of selectors.

python questions.py ADDRESS NAMESPACE

Each answer is told as a line of JSON.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from kubeconnect import (
    Client,
    Consistency,
    EventType,
    PatchType,
    Source,
    about,
    owned_by,
    owner_of,
    selected_by,
)

SMALL = "object.data.size != '2'"


def main(address: str, namespace: str) -> None:
    """Ask all questions."""
    with Client(address) as client:
        list_some_fields(client, namespace)
        watch_some_fields(client, namespace)
        list_relatives(client, namespace)
        count_pods(client, namespace)
        read_at_the_api_server(client, namespace)
        get_metadata(client, namespace)
        print_pods(client, namespace)
        discover(client)


def list_some_fields(client: Client, namespace: str) -> None:
    """List by an expression, in an order, some fields."""
    sizes = client.list(
        "configmaps",
        namespace=namespace,
        filter=SMALL,
        fields=["data.size"],
        order_by="data.size desc",
        page_size=1,
    )
    contents = [each.to_dict() for each in sizes]
    tell("listed", contents=contents, total=sizes.total, warnings=sizes.warnings)


def watch_some_fields(client: Client, namespace: str) -> None:
    """Watch by an expression some fields: of a change beside them nothing is told."""
    changes = []
    with client.watch(
        "configmaps", namespace=namespace, filter=SMALL, fields=["data.size"]
    ) as events:
        for event in events:
            if event.type is EventType.SYNCED:
                change(client, namespace, "large", {"metadata": {"labels": {"a": "b"}}})
                change(client, namespace, "small", {"data": {"size": "1"}})
                change(client, namespace, "small", {"data": {"size": "2"}})
            elif event.object:
                changes.append([event.type.name, event.object.name])
            if event.type is EventType.DELETED:
                break
    tell("watched", changes=changes)


def change(client: Client, namespace: str, name: str, patch: dict[str, Any]) -> None:
    """Change one object."""
    client.patch("configmaps", name, patch, namespace=namespace, type=PatchType.MERGE)


def list_relatives(client: Client, namespace: str) -> None:
    """List and watch what has to do with a Deployment."""
    web = {"resource": "deployments", "name": "web", "namespace": namespace}
    pods = client.list("pods", related=owned_by(**web, transitive=True))
    first = next(iter(pods))
    owners = client.list(
        "replicasets", related=owner_of("pods", first.name, namespace=namespace, uid=first.uid)
    )
    events = client.list("events", namespace=namespace, related=about(**web))
    selected = []
    with client.watch("pods", related=selected_by(**web)) as snapshot:
        for event in snapshot:
            if event.type is EventType.SYNCED:
                break
            if event.object:
                selected.append(event.object.name)
    tell(
        "related",
        owned=sorted(pod.name for pod in pods),
        owners=[each.name for each in owners],
        selected=sorted(selected),
        subjects=sorted({event["involvedObject"]["name"] for event in events}),
    )


def count_pods(client: Client, namespace: str) -> None:
    """Count, in all and by values."""
    count = client.count(
        "pods", namespace=namespace, group_by=["metadata.labels.app", "metadata.labels.none"]
    )
    groups = [{"values": group.values, "count": group.count} for group in count.groups]
    tell("counted", total=count.total, groups=groups, remaining=count.remaining_groups)


def read_at_the_api_server(client: Client, namespace: str) -> None:
    """Read an object from memory and at the API server, and its subresource."""
    cached = client.get("deployments", "web", namespace=namespace)
    latest = client.get("deployments", "web", namespace=namespace, consistency=Consistency.LATEST)
    scale = client.get("deployments", "web", namespace=namespace, subresource="scale")
    answers = [cached, latest, scale]
    tell(
        "latest",
        version=latest.resource_version,
        replicas=scale["spec"]["replicas"],
        kind=scale["kind"],
        atAPIServer=[answer.source is Source.API_SERVER for answer in answers],
    )


def get_metadata(client: Client, namespace: str) -> None:
    """Get an object's metadata and nothing else."""
    large = client.get("configmaps", "large", namespace=namespace, metadata_only=True)
    tell("metadata", kind=large["kind"], members=sorted(large), name=large["metadata"]["name"])


def print_pods(client: Client, namespace: str) -> None:
    """Read a table, two rows for a page."""
    table = client.table("pods", namespace=namespace, page_size=2)
    tell(
        "printed",
        columns=[column.name for column in table.columns],
        names=[row.cells[0] for row in table],
    )


def discover(client: Client) -> None:
    """Ask what the cluster serves."""
    types = client.resource_types(group="apps").types
    schema = client.schema("deployments").schema
    tell(
        "discovered",
        resources=[each.kind.resource for each in types],
        members=sorted(schema["properties"]),
    )


def tell(step: str, **what: Any) -> None:
    """Print one line."""
    print(json.dumps({"step": step, **what}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])

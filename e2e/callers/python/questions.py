"""A program that uses the reads other than lists and watches of selectors.

python questions.py ADDRESS NAMESPACE

It prints each result as a line of JSON.
"""

from __future__ import annotations

import sys
from typing import Any

from steps import report

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
    """Run all reads."""
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
    """List some fields of objects, by a filter and in an order."""
    sizes = client.list(
        "configmaps",
        namespace=namespace,
        filter=SMALL,
        fields=["data.size"],
        order_by="data.size desc",
        page_size=1,
    )
    contents = [each.to_dict() for each in sizes]
    report("listed", contents=contents, total=sizes.total, warnings=sizes.warnings)


def watch_some_fields(client: Client, namespace: str) -> None:
    """Watch some fields of objects, by a filter. A change of other fields produces no event."""
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
    report("watched", changes=changes)


def change(client: Client, namespace: str, name: str, patch: dict[str, Any]) -> None:
    """Change one object."""
    client.patch("configmaps", name, patch, namespace=namespace, type=PatchType.MERGE)


def list_relatives(client: Client, namespace: str) -> None:
    """List and watch the objects related to a Deployment."""
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
    report(
        "related",
        owned=sorted(pod.name for pod in pods),
        owners=[each.name for each in owners],
        selected=sorted(selected),
        subjects=sorted({event["involvedObject"]["name"] for event in events}),
    )


def count_pods(client: Client, namespace: str) -> None:
    """Count pods, in total and by values."""
    count = client.count(
        "pods", namespace=namespace, group_by=["metadata.labels.app", "metadata.labels.none"]
    )
    groups = [{"values": group.values, "count": group.count} for group in count.groups]
    report("counted", total=count.total, groups=groups, remaining=count.remaining_group_count)


def read_at_the_api_server(client: Client, namespace: str) -> None:
    """Read an object from the cache and from the API server, and its subresource."""
    cached = client.get("deployments", "web", namespace=namespace)
    latest = client.get("deployments", "web", namespace=namespace, consistency=Consistency.LATEST)
    scale = client.get("deployments", "web", namespace=namespace, subresource="scale")
    results = [cached, latest, scale]
    report(
        "latest",
        version=latest.resource_version,
        replicas=scale["spec"]["replicas"],
        kind=scale["kind"],
        atAPIServer=[result.source is Source.API_SERVER for result in results],
    )


def get_metadata(client: Client, namespace: str) -> None:
    """Get only the metadata of an object."""
    large = client.get("configmaps", "large", namespace=namespace, metadata_only=True)
    report("metadata", kind=large["kind"], members=sorted(large), name=large["metadata"]["name"])


def print_pods(client: Client, namespace: str) -> None:
    """Read a table, two rows per page."""
    table = client.table("pods", namespace=namespace, page_size=2)
    report(
        "printed",
        columns=[column.name for column in table.columns],
        names=[row.cells[0] for row in table],
    )


def discover(client: Client) -> None:
    """Read the resource types and a schema of the cluster."""
    types = client.resource_types(group="apps").types
    schema = client.schema("deployments").schema
    report(
        "discovered",
        resources=[each.resource.plural for each in types],
        members=sorted(schema["properties"]),
    )


if __name__ == "__main__":
    main(*sys.argv[1:])

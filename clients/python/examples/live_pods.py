"""Print the pods of a cluster, and then their changes.

python live_pods.py http://127.0.0.1:8080 [namespace]
"""

from __future__ import annotations

import sys

import kubeconnect


def main(address: str, namespace: str = "") -> None:
    """List, then watch until Ctrl-C."""
    with kubeconnect.Client(address) as client:
        pods = client.list("pods", namespace=namespace)
        print(f"{pods.total} pods at version {pods.resource_version}")
        for pod in pods:
            print(f"  {pod.namespace}/{pod.name}")
        with client.watch("pods", namespace=namespace) as events:
            for event in events:
                print(line(event), flush=True)


def line(event: kubeconnect.Event) -> str:
    """Return an event as one line of text."""
    if event.object is None:
        return f"{event.type.name} at version {event.resource_version}"
    return f"{event.type.name} {event.object.namespace}/{event.object.name}"


if __name__ == "__main__":
    if not 2 <= len(sys.argv) <= 3:
        sys.exit(__doc__)
    try:
        main(*sys.argv[1:])
    except KeyboardInterrupt:
        pass
    except kubeconnect.KubeconnectError as error:
        sys.exit(f"{type(error).__name__}: {error}")

from contextlib import ExitStack

import kubeconnect

CLUSTERS = {
    "north": "http://127.0.0.1:8080",
    "south": "http://127.0.0.1:8080",
}

with ExitStack() as stack:
    for cluster, address in CLUSTERS.items():
        client = stack.enter_context(kubeconnect.Client(address))
        print(cluster, client.count("pods", filter="object.status.phase != 'Running'").total)

import kubeconnect
from kubeconnect import EventType

with kubeconnect.Client("http://127.0.0.1:8080") as client:
    with client.watch("deployments.apps", namespace="shop") as events:
        names: set[str] = set()
        for event in events:
            if event.type is EventType.RESET:
                names.clear()
            elif event.type is EventType.DELETED:
                names.discard(event.object.name)
            elif event.object:
                names.add(event.object.name)
                print(event.type.name, event.object.name, event.object["spec"]["replicas"])
            elif event.type is EventType.SYNCED:
                print("synced:", len(names), "deployments")

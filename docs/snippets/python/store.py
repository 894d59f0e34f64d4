import kubeconnect

with kubeconnect.Client("http://127.0.0.1:8080") as client:
    with client.store("pods", namespace="shop", indexes={"app": "metadata.labels.app"}) as pods:
        pods.wait_synced(timeout=60)
        print(len(pods), "pods,", len(pods.by_index("app", "web")), "of web")
        pods.subscribe(
            on_add=lambda pod: print("added", pod.name),
            on_update=lambda old, new: print("changed", new.name),
            on_delete=lambda pod: print("deleted", pod.name),
        )
        pods.wait_closed()

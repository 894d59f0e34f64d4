import kubeconnect

with kubeconnect.Client("http://127.0.0.1:8080") as client:
    for pod in client.list("pods", namespace="shop"):
        print(pod.name, pod["status"]["phase"])

    with client.watch("pods", namespace="shop") as events:
        for event in events:
            print(event.type.name, event.object and event.object.name)

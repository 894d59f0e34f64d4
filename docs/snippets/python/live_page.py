import kubeconnect

with kubeconnect.Client("http://127.0.0.1:8080") as client:
    with client.live_page(
        "pods",
        order_by="metadata.creationTimestamp desc",
        fields=["status.phase"],
        limit=10,
    ) as live:
        for page in live:
            print(len(page.objects), "of", page.total, "pods")
            for pod in page.objects:
                print(" ", pod.namespace, pod.name, pod["status"]["phase"])

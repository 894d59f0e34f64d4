import kubeconnect

NOT_READY = """
    !has(object.status.conditions)
    || !object.status.conditions.exists(c, c.type == 'Ready' && c.status == 'True')
"""

with kubeconnect.Client("http://127.0.0.1:8080") as client:
    pods = client.list(
        "pods",
        filter=NOT_READY,
        fields=["spec.nodeName", "status.phase"],
        order_by="metadata.creationTimestamp desc",
    )
    for pod in pods:
        print(pod.namespace, pod.name, pod["status"]["phase"])
    print(pods.total, "pods are not ready", *pods.warnings)

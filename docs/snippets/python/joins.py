import kubeconnect
from kubeconnect import Join

joins = {
    "node": Join("named_by", "nodes", path="spec.nodeName", fields=["metadata.labels"]),
    "deployment": Join("owner_of", "deployments", fields=["spec.replicas"]),
}
with kubeconnect.Client("http://127.0.0.1:8080") as client:
    for pod in client.list("pods", namespace="shop", joins=joins):
        node, deployment = pod.joined["node"].first, pod.joined["deployment"].first
        print(pod.name, "on", node and node.name, "of", deployment and deployment.name)
